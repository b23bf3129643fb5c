/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Local clustering coefficients, or the number of triangles, of a graph that is spread over the
 * processes, with MPI one-sided communication.
 *
 *     mpirun -np 2 lcc [--scale=N] [--edge-factor=N] [--seed=N] [--graph=FILE] [--triangles]
 *                      [--batch=N] [--limit=N] [--check]
 *
 * The graph is an R-MAT graph with 2^scale vertices and edge-factor times as many edges, or a real
 * one from a file (graph_file.h says which formats).  It is split by blocks of vertices.  Each
 * process exposes its part in two windows: where the neighbours of each of its vertices begin, and
 * the neighbours themselves.  For each of its vertices v and each neighbour u of v a process
 * fetches the neighbours of u, unless it has them in its own part, and counts those that are
 * neighbours of v too.  Hubs are fetched again and again: that is the locality a cache can use.
 *
 * --triangles counts each triangle once, at its vertex with the lowest number: only neighbours with
 * a larger number are stored and fetched, so fetches are fewer and shorter.
 * --batch=N fetches for N neighbours at a time before it waits (default 1: one after the other).
 * --limit=N does at most N vertices per process, spread over its part, for an idea of a large graph
 * in bounded time.  All results are then about these vertices.
 * --check compares with a serial run on rank 0, which has the whole graph in its memory.
 *
 * Plain MPI-3 RMA; knows nothing of any cache.
 *
 * What is printed: vertices, edges (each once, no loops), processes, processed (vertices), gets and
 * their bytes (all processes together), triangles (limited: triangles at the processed vertices,
 * under the name counted), checksum over (vertex, its triangles), mean_lcc, and of the slowest
 * process communication_seconds (in MPI_Get and MPI_Win_flush), total_seconds and vertex_seconds
 * (the total per processed vertex).
 */

#include "graph_file.h"

typedef struct {
    long scale, edge_factor, seed, triangles, batch, limit, check;
    const char *file;
} options_t;

/* How the vertices are spread: blocks of the same size, the last ones may have fewer. */
typedef struct {
    uint64_t vertices, block;
    uint64_t limit; /* vertices to process in each block, 0: all */
} partition_t;

/* What is compared between two runs: sums that do not depend on who computed what */
typedef struct {
    uint64_t processed; /* vertices */
    uint64_t common;    /* pairs of a vertex' neighbours that are neighbours */
    uint64_t checksum;  /* over (vertex, its common) */
    uint64_t lcc;       /* sum of the coefficients, in units of 2^-32: exact in any order */
} result_t;

/* What one process needs to walk over its part. */
typedef struct {
    const partition_t *partition;
    const graph_t *part;
    MPI_Win begins, neighbours;
    uint64_t batch;
    uint8_t *mark;        /* of each vertex of the graph: is it a neighbour of the present one? */
    uint64_t (*range)[2]; /* for each of a batch: where its neighbours begin and end */
    graph_vertex_t *fetched; /* the neighbours of a batch */
    uint64_t room;           /* of fetched, in vertices */
    uint64_t gets, bytes;
    double communication; /* seconds */
} walk_t;

static uint64_t part_size(const partition_t *p, int rank)
{
    uint64_t first = (uint64_t) rank * p->block;

    return first >= p->vertices             ? 0
           : first + p->block > p->vertices ? p->vertices - first
                                            : p->block;
}

static uint64_t part_processed(const partition_t *p, int rank)
{
    uint64_t size = part_size(p, rank);

    return 0 == p->limit || size < p->limit ? size : p->limit;
}

static void add_vertex(result_t *result, uint64_t vertex, uint64_t degree, uint64_t common)
{
    ++result->processed;
    result->common += common;
    result->checksum += app_random_at(common, vertex);
    if (1 < degree) {
        result->lcc += (uint64_t) ((double) common / (double) (degree * (degree - 1)) * 0x1p32);
    }
}

static void get(walk_t *walk, void *to, uint64_t count, MPI_Datatype type, size_t size, int target,
                uint64_t at, MPI_Win window)
{
    MPI_Get(to, (int) count, type, target, (MPI_Aint) at, (int) count, type, window);
    ++walk->gets;
    walk->bytes += count * size;
}

/* Where the neighbours of the vertices u[0 .. count - 1] are in their owners' parts. */
static void fetch_ranges(walk_t *walk, const graph_vertex_t *u, uint64_t count)
{
    uint64_t block = walk->partition->block, gets = walk->gets;

    for (uint64_t i = 0; i < count; ++i) {
        int owner = (int) (u[i] / block);
        uint64_t at = u[i] % block;

        if (owner == app_rank) {
            memcpy(walk->range[i], walk->part->begin + at, sizeof(walk->range[i]));
        } else {
            get(walk, walk->range[i], 2, MPI_UINT64_T, sizeof(uint64_t), owner, at, walk->begins);
        }
    }
    if (gets < walk->gets) {
        MPI_Win_flush_all(walk->begins);
    }
}

/* The neighbours of those that others own, one after the other in fetched. */
static void fetch_neighbours(walk_t *walk, const graph_vertex_t *u, uint64_t count)
{
    uint64_t block = walk->partition->block, gets = walk->gets, used = 0;

    for (uint64_t i = 0; i < count; ++i) {
        used += u[i] / block == (uint64_t) app_rank ? 0 : walk->range[i][1] - walk->range[i][0];
    }
    if (walk->room < used) {
        free(walk->fetched);
        walk->room = 2 * used;
        walk->fetched = app_allocate(walk->room * sizeof(*walk->fetched));
    }
    used = 0;
    for (uint64_t i = 0; i < count; ++i) {
        int owner = (int) (u[i] / block);
        uint64_t length = walk->range[i][1] - walk->range[i][0];

        if (owner != app_rank && 0 < length) {
            get(walk, walk->fetched + used, length, MPI_UINT32_T, sizeof(graph_vertex_t), owner,
                walk->range[i][0], walk->neighbours);
            used += length;
        }
    }
    if (gets < walk->gets) {
        MPI_Win_flush_all(walk->neighbours);
    }
}

static uint64_t count_marked(const uint8_t *mark, const graph_vertex_t *list, uint64_t length)
{
    uint64_t marked = 0;

    for (uint64_t i = 0; i < length; ++i) {
        marked += mark[list[i]];
    }
    return marked;
}

static bool all_here(const walk_t *walk, const graph_vertex_t *u, uint64_t count)
{
    uint64_t i = 0;

    while (i < count && u[i] / walk->partition->block == (uint64_t) app_rank) {
        ++i;
    }
    return i == count;
}

/* A batch of neighbours of the marked vertex: how many of their neighbours are marked. */
static uint64_t visit_batch(walk_t *walk, const graph_vertex_t *u, uint64_t count)
{
    uint64_t block = walk->partition->block, common = 0, used = 0;
    bool timed = !all_here(walk, u, count); /* the clock takes as long as reading what is here */
    double start = timed ? MPI_Wtime() : 0.0;

    fetch_ranges(walk, u, count);
    fetch_neighbours(walk, u, count);
    walk->communication += timed ? MPI_Wtime() - start : 0.0;
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t length = walk->range[i][1] - walk->range[i][0];

        if (u[i] / block == (uint64_t) app_rank) {
            common += count_marked(walk->mark, walk->part->neighbour + walk->range[i][0], length);
        } else {
            common += count_marked(walk->mark, walk->fetched + used, length);
            used += length;
        }
    }
    return common;
}

static result_t walk_part(walk_t *walk)
{
    const graph_t *part = walk->part;
    uint64_t processed = part_processed(walk->partition, app_rank);
    result_t result = {0, 0, 0, 0};

    for (uint64_t i = 0; i < processed; ++i) {
        uint64_t v = i * part->count / processed, degree = part->begin[v + 1] - part->begin[v];
        const graph_vertex_t *u = part->neighbour + part->begin[v];
        uint64_t common = 0;

        for (uint64_t j = 0; j < degree; ++j) {
            walk->mark[u[j]] = 1;
        }
        for (uint64_t j = 0; j < degree; j += walk->batch) {
            common += visit_batch(walk, u + j, degree - j < walk->batch ? degree - j : walk->batch);
        }
        for (uint64_t j = 0; j < degree; ++j) {
            walk->mark[u[j]] = 0;
        }
        add_vertex(&result, part->first + v, degree, common);
    }
    return result;
}

/* Two sorted lists, by another algorithm than above: how much they share. */
static uint64_t count_common(const graph_vertex_t *a, const graph_vertex_t *a_end,
                             const graph_vertex_t *b, const graph_vertex_t *b_end)
{
    uint64_t common = 0;

    while (a < a_end && b < b_end) {
        graph_vertex_t x = *a, y = *b;

        common += x == y;
        a += x <= y;
        b += y <= x;
    }
    return common;
}

static result_t serial_run(const graph_edges_t *edges, const partition_t *p, bool upward)
{
    graph_t g = graph_make_part(edges, 0, edges->vertices, upward);
    result_t result = {0, 0, 0, 0};

    for (int rank = 0; rank < app_size; ++rank) {
        for (uint64_t i = 0; i < part_processed(p, rank); ++i) {
            uint64_t v =
                (uint64_t) rank * p->block + i * part_size(p, rank) / part_processed(p, rank);
            const graph_vertex_t *list = g.neighbour + g.begin[v],
                                 *end = g.neighbour + g.begin[v + 1];
            uint64_t common = 0;

            for (const graph_vertex_t *u = list; u < end; ++u) {
                common += count_common(list, end, g.neighbour + g.begin[*u],
                                       g.neighbour + g.begin[*u + 1]);
            }
            add_vertex(&result, v, (uint64_t) (end - list), common);
        }
    }
    graph_free(&g);
    return result;
}

static void read_options(int argc, char **argv, options_t *o)
{
    const app_number_t numbers[] = {
        {"scale", &o->scale, 1, 26},       {"edge-factor", &o->edge_factor, 1, 1024},
        {"seed", &o->seed, 0, LONG_MAX},   {"batch", &o->batch, 1, 1000000},
        {"limit", &o->limit, 1, LONG_MAX}, {"triangles", &o->triangles, 0, 0},
        {"check", &o->check, 0, 0},        {NULL, NULL, 0, 0}};
    const app_text_t texts[] = {{"graph", &o->file}, {NULL, NULL}};

    app_read_arguments(argc, argv, numbers, texts,
                       "lcc [--scale=N] [--edge-factor=N] [--seed=N] [--graph=FILE] [--triangles] "
                       "[--batch=N] [--limit=N] [--check]");
}

/* Collective: on rank 0, the sum over all processes. */
static result_t sum_results(const result_t *mine)
{
    result_t all = {app_sum(mine->processed), app_sum(mine->common), app_sum(mine->checksum),
                    app_sum(mine->lcc)};

    return all;
}

/* Collective: a copy of an array in the memory of a new window. */
static void *expose(const void *array, uint64_t count, size_t unit, const char *name,
                    MPI_Win *window)
{
    void *memory;

    MPI_Win_allocate((MPI_Aint) (count * unit), (int) unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     window);
    if (0 < count) {
        memcpy(memory, array, count * unit);
    }
    MPI_Win_set_name(*window, name);
    app_connect(*window, count * unit);
    return memory;
}

/* Collective. */
static result_t distributed_run(const options_t *o, const partition_t *p, const graph_t *part)
{
    graph_t exposed = *part;
    walk_t walk = {.partition = p, .part = &exposed, .batch = (uint64_t) o->batch};
    double start, seconds;
    result_t result;

    walk.mark = app_allocate(p->vertices);
    walk.range = app_allocate(walk.batch * sizeof(*walk.range));
    exposed.begin =
        expose(part->begin, part->count + 1, sizeof(*part->begin), "begins", &walk.begins);
    exposed.neighbour = expose(part->neighbour, part->begin[part->count], sizeof(*part->neighbour),
                               "neighbours", &walk.neighbours);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, walk.begins);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, walk.neighbours);

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    result = walk_part(&walk);
    seconds = MPI_Wtime() - start;

    MPI_Win_unlock_all(walk.neighbours);
    MPI_Win_unlock_all(walk.begins);
    MPI_Win_free(&walk.neighbours);
    MPI_Win_free(&walk.begins);
    free(walk.mark);
    free(walk.range);
    free(walk.fetched);

    app_report_count("gets", app_sum(walk.gets));
    app_report_count("bytes", app_sum(walk.bytes));
    app_report_seconds("communication_seconds", app_slowest(walk.communication));
    app_report_seconds("total_seconds", app_slowest(seconds));
    app_report_seconds(
        "vertex_seconds",
        app_slowest(0 == result.processed ? 0.0 : seconds / (double) result.processed));
    return sum_results(&result);
}

static void report_result(const options_t *o, const result_t *all)
{
    uint64_t times = o->triangles ? 1 : 0 < o->limit ? 2 : 6; /* that each triangle was counted */

    app_report_count("processed", all->processed);
    app_report_count(0 < o->limit ? "counted" : "triangles", all->common / times);
    app_report_count("checksum", all->checksum);
    if (0 == app_rank && !o->triangles) {
        printf("mean_lcc %.9f\n", (double) all->lcc / 0x1p32 / (double) all->processed);
    }
}

int main(int argc, char **argv)
{
    options_t o = {10, 16, 1, 0, 1, 0, 0, NULL};
    graph_edges_t edges;
    bool right = true;

    app_begin(&argc, &argv, MPI_THREAD_SINGLE);
    read_options(argc, argv, &o);
    edges = NULL == o.file ? graph_make_rmat((uint64_t) o.seed, o.scale, o.edge_factor)
                           : graph_read_file(o.file);

    uint64_t block = (edges.vertices + (uint64_t) app_size - 1) / (uint64_t) app_size;
    partition_t p = {edges.vertices, block, (uint64_t) o.limit};
    graph_t part =
        graph_make_part(&edges, (uint64_t) app_rank * block, part_size(&p, app_rank), o.triangles);

    app_report_count("vertices", edges.vertices);
    app_report_count("edges", app_sum(part.begin[part.count]) / (o.triangles ? 1 : 2));
    app_report_count("processes", (uint64_t) app_size);
    result_t all = distributed_run(&o, &p, &part);
    report_result(&o, &all);
    if (o.check && 0 == app_rank) {
        result_t serial = serial_run(&edges, &p, o.triangles);
        right = 0 == memcmp(&serial, &all, sizeof(all));
    }
    graph_free(&part);
    free(edges.edge);
    return app_end(o.check, right);
}
