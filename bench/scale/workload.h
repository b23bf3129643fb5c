/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process does in bench/scale: the same in the simulation and in the measured run. Whole
 * numbers only, so that it is the same on every machine.
 */
#ifndef OMPI_LOCALITY_WORKLOAD_H
#define OMPI_LOCALITY_WORKLOAD_H

#include <stdint.h>
#include <stdio.h>

enum {
    WORKLOAD_GETS = 20000,
    WORKLOAD_BLOCKS = 1024, /* of the memory of each process */
    WORKLOAD_BYTES = 256,   /* of a block, and of a get */
    WORKLOAD_HALO = 64,     /* blocks that neighbours read */
    WORKLOAD_UPDATES = 8,   /* accumulates of each process to rank 0, each with a flush */
    WORKLOAD_PAGES = 4,     /* blocks of mode coherent that all processes read */
    WORKLOAD_PAGE = 4096,   /* bytes of such a block */
    WORKLOAD_RECEIVES = 32  /* posted for each peer; messages come in the opposite order */
};

/* The budget of the cache of a process, osc_cached_memory. */
#define WORKLOAD_MEMORY (4 << 20)

enum { WORKLOAD_NEIGHBOURS, WORKLOAD_UNIFORM, WORKLOAD_POWER_LAW, WORKLOAD_PATTERNS };

static const char *const workload_patterns[WORKLOAD_PATTERNS] = {"neighbours", "uniform",
                                                                 "power law"};

typedef struct {
    uint64_t random;
    uint32_t ranks; /* at least 2; this one is 0 */
    uint32_t pattern;
} workload_t;

/* splitmix64 */
static inline uint64_t workload_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The n-th of the six neighbours in a cube of processes. */
static inline uint32_t workload_neighbour(uint32_t ranks, uint32_t n)
{
    uint32_t edge = 1, step, at;

    while ((uint64_t) (edge + 1) * (edge + 1) * (edge + 1) <= ranks) {
        ++edge;
    }
    step = (n / 2 == 0) ? 1 : (n / 2 == 1) ? edge : edge * edge;
    at = (n % 2 == 0) ? step % ranks : (ranks - step % ranks) % ranks;
    return 0 == at ? 1 : at;
}

/*
 * The next get of rank 0.
 *
 * neighbours  the first 64 blocks of six processes
 * uniform     any block of any other process
 * power law   item i of all blocks is read about in proportion to 1/i: first how many digits (of
 *             base 2) i has, then which one. Items go round the processes, so that each of them has
 *             its share of what is read often
 */
static inline void workload_next(workload_t *workload, uint32_t *target, uint32_t *block)
{
    uint32_t others = workload->ranks - 1;
    uint64_t items = (uint64_t) others * WORKLOAD_BLOCKS, item, digits = 0;

    switch (workload->pattern) {
    case WORKLOAD_NEIGHBOURS:
        *target = workload_neighbour(workload->ranks,
                                     (uint32_t) (workload_random(&workload->random) % 6));
        *block = (uint32_t) (workload_random(&workload->random) % WORKLOAD_HALO);
        return;
    case WORKLOAD_UNIFORM:
        item = workload_random(&workload->random) % items;
        break;
    default:
        while (items >> digits > 1) {
            ++digits;
        }
        do {
            item = UINT64_C(1) << workload_random(&workload->random) % (digits + 1);
            item += workload_random(&workload->random) % item - 1;
        } while (item >= items);
    }
    *target = 1 + (uint32_t) (item % others);
    *block = (uint32_t) (item / others);
}

/* A line of the results. */
static inline void workload_tell(const char *part, uint32_t ranks, const char *pattern,
                                 const char *quantity, double value)
{
    printf("%s\t%u\t%s\t%s\t%.15g\n", part, ranks, pattern, quantity, value);
}

#endif
