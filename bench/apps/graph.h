/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Undirected graphs for the example programs: a list of edges, made (R-MAT) or read from a file
 * (graph_file.h), and adjacency lists of a part of the vertices.
 */
#ifndef OMPI_LOCALITY_GRAPH_H
#define OMPI_LOCALITY_GRAPH_H

#include "app.h"

typedef uint32_t graph_vertex_t; /* 32 bits: half the bytes to fetch */

typedef struct {
    graph_vertex_t from, to;
} graph_edge_t;

/* Loops and multiple edges are allowed here, and left out of the adjacency lists. */
typedef struct {
    uint64_t vertices, count;
    graph_edge_t *edge;
} graph_edges_t;

/* The vertices first .. first + count - 1 with their neighbours, sorted, each once. */
typedef struct {
    uint64_t first, count;
    uint64_t *begin; /* count + 1 entries: index of the first neighbour */
    graph_vertex_t *neighbour;
} graph_t;

/*
 * R-MAT's edge number i with Graph500's quadrants (57, 19, 19 and 5 per cent).  One random number
 * decides four levels, 16 bits each.
 */
static graph_edge_t graph_rmat_edge(uint64_t seed, long scale, uint64_t i)
{
    const uint32_t a = 37356, ab = 49807, abc = 62259; /* 57, 76 and 95 per cent of 65536 */
    graph_edge_t edge = {0, 0};
    uint64_t bits = 0;

    for (long level = 0; level < scale; ++level) {
        uint32_t dice;

        bits = 0 == level % 4 ? app_random_at(seed, i * 8 + (uint64_t) level / 4) : bits >> 16;
        dice = bits & 0xffff;
        edge.from = 2 * edge.from + (dice >= ab);
        edge.to = 2 * edge.to + ((dice >= a) ^ (dice >= ab) ^ (dice >= abc));
    }
    return edge;
}

/*
 * Another number for each vertex, one to one: R-MAT's hubs have low numbers, and would all be in
 * the first process' part.  Graph500 does the same.
 */
static graph_vertex_t graph_scramble(graph_vertex_t vertex, uint64_t seed, long scale)
{
    graph_vertex_t mask = (graph_vertex_t) ((UINT64_C(1) << scale) - 1);

    for (uint64_t round = 0; round < 3; ++round) {
        vertex = (vertex * 0x9e3779b1u + (graph_vertex_t) app_random_at(seed, ~round)) & mask;
        vertex ^= vertex >> (scale + 1) / 2;
    }
    return vertex;
}

/* 2^scale vertices; the same edges in every process. */
static graph_edges_t graph_make_rmat(uint64_t seed, long scale, long edge_factor)
{
    graph_edges_t edges = {UINT64_C(1) << scale, (uint64_t) edge_factor << scale, NULL};

    edges.edge = app_allocate(edges.count * sizeof(*edges.edge));
    for (uint64_t i = 0; i < edges.count; ++i) {
        graph_edge_t edge = graph_rmat_edge(seed, scale, i);

        edges.edge[i].from = graph_scramble(edge.from, seed, scale);
        edges.edge[i].to = graph_scramble(edge.to, seed, scale);
    }
    return edges;
}

static int graph_compare(const void *a, const void *b)
{
    graph_vertex_t x = *(const graph_vertex_t *) a, y = *(const graph_vertex_t *) b;

    return (x > y) - (x < y);
}

/* Sorts each list of g and leaves each neighbour once; end[v] is where the list of v ends now. */
static void graph_sort_lists(graph_t *g, const uint64_t *end)
{
    uint64_t used = 0;

    for (uint64_t v = 0; v < g->count; ++v) {
        uint64_t old = g->begin[v];

        g->begin[v] = used;
        qsort(g->neighbour + old, end[v] - old, sizeof(*g->neighbour), graph_compare);
        for (uint64_t i = old; i < end[v]; ++i) {
            if (i == old || g->neighbour[i] != g->neighbour[used - 1]) {
                g->neighbour[used++] = g->neighbour[i];
            }
        }
    }
    g->begin[g->count] = used;
}

/*
 * The adjacency lists of a part of the vertices.  Upward: only the neighbours with a larger number
 * than the vertex, so that each edge is in one list.
 */
static graph_t graph_make_part(const graph_edges_t *edges, uint64_t first, uint64_t count,
                               bool upward)
{
    graph_t g = {first, count, app_allocate((count + 1) * sizeof(*g.begin)), NULL};
    uint64_t *end = app_allocate(count * sizeof(*end));

    /* twice over the edges: count the neighbours, then place them */
    for (int pass = 0; pass < 2; ++pass) {
        for (uint64_t i = 0; i < 2 * edges->count; ++i) {
            graph_edge_t edge = edges->edge[i / 2];
            graph_vertex_t from = i % 2 ? edge.to : edge.from, to = i % 2 ? edge.from : edge.to;
            uint64_t v = from - first;

            if (v >= count || from == to || (upward && from > to)) {
                continue;
            }
            if (0 == pass) {
                ++g.begin[v + 1];
            } else {
                g.neighbour[end[v]++] = to;
            }
        }
        if (0 == pass) {
            for (uint64_t v = 0; v < count; ++v) {
                end[v] = g.begin[v];
                g.begin[v + 1] += g.begin[v];
            }
            g.neighbour = app_allocate(g.begin[count] * sizeof(*g.neighbour));
        }
    }
    graph_sort_lists(&g, end);
    free(end);
    return g;
}

static void graph_free(graph_t *g)
{
    free(g->begin);
    free(g->neighbour);
}

#endif
