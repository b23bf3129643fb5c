/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers of the tests of osc/cached's core, their seed, and how many operations a model
 * runs.
 */
#ifndef OSC_CACHED_TEST_RANDOM_H
#define OSC_CACHED_TEST_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* xorshift64*: small, and the same everywhere. */
static inline uint32_t random_below(uint64_t *state, uint32_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t) (((*state * UINT64_C(2685821657736338717)) >> 33) % below);
}

static inline uint64_t seed_get(uint64_t fallback)
{
    const char *text = getenv("OSC_CACHED_SEED");
    uint64_t seed = (NULL != text) ? strtoull(text, NULL, 0) : fallback;

    return (0 != seed) ? seed : 1; /* 0 is xorshift's fixed point */
}

/* Of a plan's share of all operations: 10^7, or fewer where that would take minutes. */
static inline uint32_t operations_of(uint64_t share, uint64_t shares)
{
    const char *text = getenv("OSC_CACHED_OPERATIONS");
    uint64_t operations = (NULL != text) ? strtoull(text, NULL, 0) : 10000000;

    return (uint32_t) (operations * share / shares + 1);
}

#endif /* OSC_CACHED_TEST_RANDOM_H */
