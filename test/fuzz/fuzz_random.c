/*
 * Random numbers of the fuzzers: splitmix64.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz_random.h"

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

rng_t rng_seeded(uint64_t seed, int purpose, uint64_t a, uint64_t b)
{
    rng_t rng = {mix(mix(mix(mix(seed) ^ (uint64_t) purpose) ^ a) ^ b)};

    return rng;
}

uint64_t rng_next(rng_t *rng)
{
    rng->state += 0x9e3779b97f4a7c15u;
    return mix(rng->state);
}

uint32_t rng_below(rng_t *rng, uint32_t n)
{
    return (uint32_t) (((rng_next(rng) >> 32) * n) >> 32);
}

bool rng_chance(rng_t *rng, uint32_t percent)
{
    return rng_below(rng, 100) < percent;
}

uint32_t rng_size(rng_t *rng, uint32_t n)
{
    uint32_t bits = 0;

    while (n >> bits > 1) {
        ++bits;
    }
    n = 1 + rng_below(rng, n);
    n >>= rng_below(rng, bits + 1);
    return n > 0 ? n : 1;
}
