/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Misses of the processes of a node with a cache each, and with one cache of the same size in all
 * (mca-osc-cached/node), on the cores alone: bench/apps/lcc.c is replayed, for one node.
 *
 *     node [--scale=N] [--edge-factor=N] [--seed=N] [--nodes=N] [--ranks=N] [--mates=1]
 *          [--permille=N,...] [--faster=N]
 *
 * The graph is R-MAT with 2^scale vertices (14), split by blocks over nodes (2) times ranks (8).
 * For each of its vertices v and each neighbour u of v, a process gets the neighbours of u, when u
 * belongs to another node; with one node, or with --mates, when it belongs to another process.
 * A process has --permille thousandths (10, 20, 50, 100) of the bytes of all lists. The next get is
 * that of the process that is ready first: a miss takes --faster times as long as a hit, or as a
 * get from the own one of several nodes (1: they take turns).
 *
 * Quantities: hits in percent, of private caches and of the shared one, and misses private/shared.
 */
#include "core.h"
#include "node/core/osc_cached_shared.h"

typedef struct {
    uint32_t from, to;
} edge_t;

typedef struct {
    uint64_t at, end; /* neighbours left of the vertex */
    uint32_t vertex, last;
    uint64_t ready; /* when; UINT64_MAX: it has no gets left */
} walk_t;

static uint32_t vertices;
static uint64_t *begin; /* of the neighbours of each vertex */
static uint32_t *neighbour;
static char *bytes;
static bool mates; /* are asked, too */
static uint64_t miss_time;

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return osc_cached_key_mix(*state);
}

static int compare(const void *a, const void *b)
{
    const edge_t *one = a, *other = b;

    return (one->from != other->from) ? (one->from < other->from ? -1 : 1)
           : (one->to != other->to)   ? (one->to < other->to ? -1 : 1)
                                      : 0;
}

/* Graph500's quadrants; the names of vertices are scrambled; loops and doubles are left out. */
static void make_graph(long scale, long edge_factor, uint64_t seed)
{
    uint64_t count = (uint64_t) edge_factor << scale, used = 0;
    edge_t *edges = core_memory(2 * count * sizeof(*edges));
    uint32_t *names, other;

    vertices = UINT32_C(1) << scale;
    names = core_memory(vertices * sizeof(*names));
    for (uint32_t i = 0; i < vertices; ++i) {
        uint32_t j = (uint32_t) (next_random(&seed) % (i + 1));

        names[i] = names[j];
        names[j] = i;
    }
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t from = 0, to = 0;

        for (long level = 0; level < scale; ++level) {
            uint32_t part = (uint32_t) (next_random(&seed) % 100);

            from = 2 * from + (76 <= part);
            to = 2 * to + ((57 <= part && part < 76) || 95 <= part);
        }
        edges[2 * i] = (edge_t){names[from], names[to]};
        edges[2 * i + 1] = (edge_t){names[to], names[from]};
    }
    qsort(edges, 2 * count, sizeof(*edges), compare);
    begin = core_memory((vertices + 1) * sizeof(*begin));
    neighbour = core_memory(2 * count * sizeof(*neighbour));
    other = 0;
    for (uint64_t i = 0; i < 2 * count; ++i) {
        if (edges[i].from == edges[i].to || (0 < i && 0 == compare(&edges[i - 1], &edges[i]))) {
            continue;
        }
        while (other < edges[i].from) {
            begin[++other] = used;
        }
        neighbour[used++] = edges[i].to;
    }
    while (other < vertices) {
        begin[++other] = used;
    }
    free(names);
    free(edges);
}

/* The next list that a process of node 0 gets, or false. */
static bool next_get(walk_t *walk, long rank, long nodes, long ranks, uint32_t *wanted)
{
    uint32_t block = (vertices + (uint32_t) (nodes * ranks) - 1) / (uint32_t) (nodes * ranks);

    for (;;) {
        while (walk->at < walk->end) {
            uint32_t u = neighbour[walk->at++], owner = u / block;

            if ((1 < nodes && !mates ? owner / (uint32_t) ranks != 0 : owner != (uint32_t) rank)
                && begin[u] < begin[u + 1]) {
                *wanted = u;
                return true;
            }
        }
        if (walk->vertex == walk->last) {
            return false;
        }
        walk->at = begin[walk->vertex];
        walk->end = begin[++walk->vertex];
    }
}

static bool grow(void *context, uint64_t offset, uint64_t more)
{
    (void) context;
    (void) offset;
    (void) more;
    return true;
}

/* One get of a list. @return whether it hits */
static bool is_hit(struct core *own, osc_cached_shared_t *shared, uint32_t u)
{
    osc_cached_key_t key = {begin[u] * sizeof(*neighbour), 0, 0};
    osc_cached_buffer_t buffer = {.address = bytes};
    size_t size = (size_t) (begin[u + 1] - begin[u]) * sizeof(*neighbour);

    if (NULL == shared) {
        return OSC_CACHED_HIT == core_get(own, key.address, bytes, size);
    }
    if (osc_cached_shared_hit(shared, key, 0, bytes, size, NULL, NULL, NULL, true)) {
        return true;
    }
    (void) osc_cached_shared_publish(shared, key, osc_cached_shared_stamp(shared, 0, 0, 0), &buffer,
                                     size, NULL);
    return false;
}

/* All gets of node 0. @return misses */
static uint64_t replay(long nodes, long ranks, struct core *cores, osc_cached_shared_t *shared,
                       uint64_t *gets)
{
    uint32_t block = (vertices + (uint32_t) (nodes * ranks) - 1) / (uint32_t) (nodes * ranks), u;
    walk_t *walks = core_memory((size_t) ranks * sizeof(*walks));
    uint64_t misses = 0;

    for (long i = 0; i < ranks; ++i) {
        uint64_t last = (uint64_t) (i + 1) * block;

        walks[i].vertex = (uint32_t) i * block;
        walks[i].last = (last < vertices) ? (uint32_t) last : vertices;
    }
    *gets = 0;
    for (;;) {
        bool hit, near;
        long next = 0;

        for (long i = 1; i < ranks; ++i) {
            next = (walks[i].ready < walks[next].ready) ? i : next;
        }
        if (UINT64_MAX == walks[next].ready) {
            break;
        }
        if (!next_get(&walks[next], next, nodes, ranks, &u)) {
            walks[next].ready = UINT64_MAX;
            continue;
        }
        hit = is_hit(&cores[next], shared, u);
        near = 1 < nodes && u / block < (uint32_t) ranks;
        walks[next].ready += (hit || near) ? 1 : miss_time;
        misses += !hit;
        ++*gets;
    }
    free(walks);
    return misses;
}

static void print(const char *what, long permille, const char *quantity, const char *unit,
                  double value)
{
    printf("node\t%s\t%ld\t%s\t%s\t%.5g\t%.5g\t%.5g\t1\n", what, permille, quantity, unit, value,
           value, value);
}

static void compare_caches(long nodes, long ranks, long permille)
{
    uint64_t all = begin[vertices] * sizeof(*neighbour), each = all * (uint64_t) permille / 1000;
    osc_cached_config_t config = core_fixed(vertices, each, OSC_CACHED_SCHEME_DUEL);
    osc_cached_shared_config_t pool = {.memory = each * (uint64_t) ranks,
                                       .max_memory = each * (uint64_t) ranks,
                                       .slots = 1u << 10,
                                       .targets = 1,
                                       .seed = 1};
    struct core *cores = core_memory((size_t) ranks * sizeof(*cores));
    osc_cached_shared_t shared;
    uint64_t gets, alone, together;
    char what[64];
    void *memory;

    while (pool.slots < 2 * vertices) {
        pool.slots *= 2;
    }
    pool.max_slots = pool.slots;
    for (long i = 0; i < ranks; ++i) {
        core_open(&cores[i], &config);
    }
    memory = aligned_alloc(64, osc_cached_shared_size(&pool) / 64 * 64 + 64);
    if (NULL == memory) {
        fprintf(stderr, "no memory for the segment\n");
        exit(1);
    }
    memset(memory, 0, osc_cached_shared_size(&pool));
    if (OSC_CACHED_OK != osc_cached_shared_create(&shared, memory, &pool, grow, NULL)) {
        fprintf(stderr, "cannot make a segment of %llu bytes\n", (unsigned long long) pool.memory);
        exit(1);
    }
    alone = replay(nodes, ranks, cores, NULL, &gets);
    together = replay(nodes, ranks, cores, &shared, &gets);
    snprintf(what, sizeof(what), "%ld x %ld", nodes, ranks);
    print(what, permille, "hits, private", "%", 100 * (1 - (double) alone / (double) gets));
    print(what, permille, "hits, shared", "%", 100 * (1 - (double) together / (double) gets));
    print(what, permille, "misses private/shared", "", (double) alone / (double) together);
    for (long i = 0; i < ranks; ++i) {
        core_close(&cores[i]);
    }
    free(memory);
    free(cores);
}

int main(int argc, char **argv)
{
    const char *list;
    char *end;

    core_arguments(argc, argv,
                   "node [--scale=N] [--edge-factor=N] [--seed=N] [--nodes=N] [--ranks=N]"
                   " [--mates=1] [--permille=N,...] [--faster=N]");
    mates = NULL != micro_option("mates", NULL);
    miss_time = (uint64_t) micro_positive("faster", 1);
    make_graph(micro_positive("scale", 14), micro_positive("edge-factor", 16),
               (uint64_t) micro_positive("seed", 1));
    bytes = core_memory(begin[vertices] * sizeof(*neighbour));
    for (list = micro_option("permille", "10,20,50,100"); '\0' != *list; list = end) {
        long permille = strtol(list + (',' == *list), &end, 10);

        if (0 >= permille || end == list) {
            fprintf(stderr, "%s: --permille is a list of numbers\n", argv[0]);
            return 2;
        }
        compare_caches(micro_positive("nodes", 2), micro_positive("ranks", 8), permille);
    }
    free(bytes);
    free(begin);
    free(neighbour);
    return 0;
}
