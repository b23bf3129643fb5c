/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Local clustering coefficients of an R-MAT graph with MPI one-sided communication.
 *
 *     mpirun -np 2 lcc [--scale=N] [--edge-factor=N] [--seed=N] [--check]
 *
 * The graph (2^scale vertices, edge-factor times as many edges, undirected, no loops, no multiple
 * edges) is split by blocks of vertices.  Each process exposes its part in two windows: where the
 * neighbours of each of its vertices begin, and the neighbours themselves, sorted.  For each of its
 * vertices v and each neighbour u of v it fetches u's list and counts what both lists share.  Hubs
 * are fetched again and again: that is the locality a cache can use.
 *
 * Plain MPI-3 RMA; knows nothing of any cache.  --check compares with a serial run on rank 0.
 */

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t vertices; /* in all */
    int64_t block;    /* vertices per process, the last one may have fewer */
    int64_t first;    /* my first vertex */
    int64_t count;    /* my vertices */
    int64_t *begin;   /* count + 1 entries: index of the first neighbour */
    int64_t *neighbour;
} graph_t;

typedef struct {
    long scale, edge_factor, seed;
    bool check;
} options_t;

static void *allocate(size_t bytes)
{
    void *memory = malloc(0 < bytes ? bytes : 1);

    if (NULL == memory) {
        fprintf(stderr, "lcc: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* splitmix64: the i-th random number needs no state, so every process can make every edge */
static uint64_t random_at(uint64_t seed, uint64_t i)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xbf58476d1ce4e5b9u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Graph500's R-MAT quadrants: 57, 19, 19 and 5 per cent */
static void make_edge(const options_t *options, uint64_t edge, int64_t *from, int64_t *to)
{
    *from = *to = 0;
    for (int bit = 0; bit < options->scale; ++bit) {
        uint64_t percent = random_at((uint64_t) options->seed, edge * 64 + bit) % 100;

        *from = 2 * *from + (percent >= 76);
        *to = 2 * *to + ((percent >= 57 && percent < 76) || percent >= 95);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

/* The part of the graph that starts at vertex first: adjacency lists, sorted, each neighbour once
 */
static graph_t make_graph(const options_t *options, int64_t block, int64_t first, int64_t count)
{
    graph_t g = {(int64_t) 1 << options->scale, block, first, count, NULL, NULL};
    uint64_t edges = (uint64_t) g.vertices * (uint64_t) options->edge_factor;
    int64_t *fill = allocate((size_t) count * sizeof(*fill)), used = 0;
    int64_t from, to;

    g.begin = calloc((size_t) count + 1, sizeof(*g.begin));
    if (NULL == g.begin) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    /* twice over the edges: count the neighbours, then place them */
    for (int pass = 0; pass < 2; ++pass) {
        for (uint64_t e = 0; e < edges; ++e) {
            make_edge(options, e, &from, &to);
            for (int side = 0; side < 2 && from != to; ++side) {
                int64_t v = (0 == side ? from : to) - first, u = 0 == side ? to : from;

                if (0 <= v && v < count) {
                    if (0 == pass) {
                        ++g.begin[v + 1];
                    } else {
                        g.neighbour[fill[v]++] = u;
                    }
                }
            }
        }
        if (0 == pass) {
            for (int64_t v = 0; v < count; ++v) {
                fill[v] = g.begin[v];
                g.begin[v + 1] += g.begin[v];
            }
            g.neighbour = allocate((size_t) g.begin[count] * sizeof(*g.neighbour));
        }
    }
    for (int64_t v = 0; v < count; ++v) {
        int64_t old = g.begin[v], end = fill[v];

        g.begin[v] = used;
        qsort(g.neighbour + old, (size_t) (end - old), sizeof(*g.neighbour), compare);
        for (int64_t i = old; i < end; ++i) {
            if (i == old || g.neighbour[i] != g.neighbour[i - 1]) {
                g.neighbour[used++] = g.neighbour[i];
            }
        }
    }
    g.begin[count] = used;
    free(fill);
    return g;
}

static void free_graph(graph_t *g)
{
    free(g->begin);
    free(g->neighbour);
}

static int64_t count_common(const int64_t *a, int64_t na, const int64_t *b, int64_t nb)
{
    int64_t common = 0;

    for (int64_t i = 0, j = 0; i < na && j < nb;) {
        if (a[i] == b[j]) {
            ++common, ++i, ++j;
        } else if (a[i] < b[j]) {
            ++i;
        } else {
            ++j;
        }
    }
    return common;
}

/* What is compared between two runs: sums that do not depend on who computed what */
typedef struct {
    uint64_t triangles; /* each counted six times */
    uint64_t checksum;  /* over (vertex, its count) */
    double lcc;         /* sum of the coefficients */
} result_t;

static void add_vertex(result_t *result, int64_t vertex, int64_t degree, int64_t common)
{
    result->triangles += (uint64_t) common;
    result->checksum += random_at((uint64_t) common, (uint64_t) vertex);
    if (1 < degree) {
        result->lcc += (double) common / (double) (degree * (degree - 1));
    }
}

static result_t serial_run(const options_t *options)
{
    int64_t vertices = (int64_t) 1 << options->scale;
    graph_t g = make_graph(options, vertices, 0, vertices);
    result_t result = {0, 0, 0.0};

    for (int64_t v = 0; v < vertices; ++v) {
        int64_t degree = g.begin[v + 1] - g.begin[v], common = 0;

        for (int64_t i = g.begin[v]; i < g.begin[v + 1]; ++i) {
            int64_t u = g.neighbour[i];
            common += count_common(g.neighbour + g.begin[v], degree, g.neighbour + g.begin[u],
                                   g.begin[u + 1] - g.begin[u]);
        }
        add_vertex(&result, v, degree, common);
    }
    free_graph(&g);
    return result;
}

typedef struct {
    result_t result;
    double communication; /* seconds in MPI_Get and MPI_Win_flush */
    uint64_t gets;
} work_t;

static void fetch(void *to, int count, int target, int64_t at, MPI_Win win, work_t *work)
{
    double start = MPI_Wtime();

    MPI_Get(to, count, MPI_INT64_T, target, (MPI_Aint) at, count, MPI_INT64_T, win);
    MPI_Win_flush(target, win);
    work->communication += MPI_Wtime() - start;
    ++work->gets;
}

static work_t distributed_run(const graph_t *g, MPI_Win begins, MPI_Win neighbours)
{
    work_t work = {{0, 0, 0.0}, 0.0, 0};
    int64_t *list = NULL, room = 0, range[2];

    for (int64_t v = 0; v < g->count; ++v) {
        int64_t degree = g->begin[v + 1] - g->begin[v], common = 0;

        for (int64_t i = g->begin[v]; i < g->begin[v + 1]; ++i) {
            int64_t u = g->neighbour[i], length;
            int owner = (int) (u / g->block);

            fetch(range, 2, owner, u - owner * g->block, begins, &work);
            length = range[1] - range[0];
            if (room < length) {
                free(list);
                list = allocate((size_t) length * sizeof(*list));
                room = length;
            }
            fetch(list, (int) length, owner, range[0], neighbours, &work);
            common += count_common(g->neighbour + g->begin[v], degree, list, length);
        }
        add_vertex(&work.result, g->first + v, degree, common);
    }
    free(list);
    return work;
}

static void read_options(int argc, char **argv, options_t *options)
{
    for (int i = 1; i < argc; ++i) {
        char rest;

        if (1 == sscanf(argv[i], "--scale=%ld%c", &options->scale, &rest)
            || 1 == sscanf(argv[i], "--edge-factor=%ld%c", &options->edge_factor, &rest)
            || 1 == sscanf(argv[i], "--seed=%ld%c", &options->seed, &rest)) {
            continue;
        }
        if (0 == strcmp(argv[i], "--check")) {
            options->check = true;
            continue;
        }
        fprintf(stderr,
                "lcc: unknown argument %s\n"
                "usage: lcc [--scale=N] [--edge-factor=N] [--seed=N] [--check]\n",
                argv[i]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (options->scale < 1 || options->scale > 30 || options->edge_factor < 1
        || options->edge_factor > 1024) {
        fprintf(stderr, "lcc: --scale is 1 to 30, --edge-factor is 1 to 1024\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int argc, char **argv)
{
    options_t options = {10, 16, 1, false};
    int rank, size, wrong = 0;
    MPI_Win begins, neighbours;
    work_t work, total;
    double start, seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_options(argc, argv, &options);

    int64_t vertices = (int64_t) 1 << options.scale;
    int64_t block = (vertices + size - 1) / size, first = rank * block;
    int64_t count = first >= vertices ? 0 : first + block > vertices ? vertices - first : block;
    graph_t g = make_graph(&options, block, first, count);

    MPI_Win_create(g.begin, (MPI_Aint) ((count + 1) * (int64_t) sizeof(int64_t)), sizeof(int64_t),
                   MPI_INFO_NULL, MPI_COMM_WORLD, &begins);
    MPI_Win_create(g.neighbour, (MPI_Aint) (g.begin[count] * (int64_t) sizeof(int64_t)),
                   sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &neighbours);
    MPI_Win_set_name(begins, "begins");
    MPI_Win_set_name(neighbours, "neighbours");
    MPI_Win_lock_all(MPI_MODE_NOCHECK, begins);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, neighbours);

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    work = distributed_run(&g, begins, neighbours);
    seconds = MPI_Wtime() - start;

    MPI_Win_unlock_all(neighbours);
    MPI_Win_unlock_all(begins);
    MPI_Win_free(&neighbours);
    MPI_Win_free(&begins);

    MPI_Reduce(&work.result.triangles, &total.result.triangles, 2, MPI_UINT64_T, MPI_SUM, 0,
               MPI_COMM_WORLD);
    MPI_Reduce(&work.result.lcc, &total.result.lcc, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&work.communication, &total.communication, 1, MPI_DOUBLE, MPI_MAX, 0,
               MPI_COMM_WORLD);
    MPI_Reduce(0 == rank ? MPI_IN_PLACE : &seconds, &seconds, 1, MPI_DOUBLE, MPI_MAX, 0,
               MPI_COMM_WORLD);
    MPI_Reduce(&work.gets, &total.gets, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);

    if (0 == rank) {
        printf("vertices %lld\nprocesses %d\ngets %llu\n", (long long) vertices, size,
               (unsigned long long) total.gets);
        printf("triangles %llu\nchecksum %016llx\nmean_lcc %.12f\n",
               (unsigned long long) total.result.triangles / 6,
               (unsigned long long) total.result.checksum, total.result.lcc / (double) vertices);
        printf("communication_seconds %.6f\ntotal_seconds %.6f\n", total.communication, seconds);
        if (options.check) {
            result_t serial = serial_run(&options);

            wrong = serial.triangles != total.result.triangles
                    || serial.checksum != total.result.checksum;
            printf("check %s\n", wrong ? "WRONG" : "ok");
        }
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free_graph(&g);
    MPI_Finalize();
    return wrong;
}
