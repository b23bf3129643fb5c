/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The gets of the micro-benchmark of "Transparent Caching for RMA Systems" (Di Girolamo, Vella,
 * Hoefler; IPDPS 2017, section IV-A): a set of N = 1000 gets of different data, of 2^0 .. 2^16
 * bytes, of which Z are drawn by the normal distribution N(N/2, N/4).
 */
#ifndef OMPI_LOCALITY_PAPER_H
#define OMPI_LOCALITY_PAPER_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define PAPER_DIFFERENT 1000
#define PAPER_LARGEST 65536
#define PAPER_SEED 20170529
#define PAPER_LINE 64 /* data of different gets shares no line */

struct paper_get {
    size_t offset, bytes;
};

static inline double paper_uniform(uint64_t *state) /* splitmix64, 0..1 without 1 */
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double) ((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* One of n, drawn by N(n/2, n/4); what lies outside is drawn again. */
static inline int paper_draw(int n, uint64_t *state)
{
    for (;;) {
        double radius = sqrt(-2 * log(1 - paper_uniform(state)));
        double i = floor(n / 2. + radius * cos(2 * acos(-1) * paper_uniform(state)) * n / 4.);
        if (0 <= i && i < n) {
            return (int) i;
        }
    }
}

/* Step 1 of the paper. @return bytes from the first to the last */
static inline size_t paper_gets(struct paper_get gets[PAPER_DIFFERENT], uint64_t seed)
{
    size_t end = 0;

    for (int i = 0; i < PAPER_DIFFERENT; ++i) {
        gets[i].bytes = (size_t) 1 << (int) (paper_uniform(&seed) * 17);
        gets[i].offset = end;
        end += (gets[i].bytes + PAPER_LINE - 1) / PAPER_LINE * PAPER_LINE;
    }
    return end;
}

/* Step 2: which of the gets are made, one after the other. */
static inline void paper_sequence(int *sequence, long z, uint64_t seed)
{
    seed = ~seed;
    for (long i = 0; i < z; ++i) {
        sequence[i] = paper_draw(PAPER_DIFFERENT, &seed);
    }
}

#endif
