/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Bits of a word that is not 0.
 */
#ifndef OSC_CACHED_BITS_H
#define OSC_CACHED_BITS_H

#include <stdint.h>

/** Number of the highest bit that is set. */
static inline uint32_t osc_cached_log2(uint32_t word)
{
#if defined(__GNUC__)
    return 31 - (uint32_t) __builtin_clz(word);
#else
    uint32_t log = 0;

    while (1 < word >> log) {
        ++log;
    }
    return log;
#endif
}

/** Number of the lowest bit that is set. */
static inline uint32_t osc_cached_lowest_bit(uint64_t word)
{
#if defined(__GNUC__)
    return (uint32_t) __builtin_ctzll(word);
#else
    uint32_t bit = 0;

    while (0 == (word >> bit & 1)) {
        ++bit;
    }
    return bit;
#endif
}

#endif /* OSC_CACHED_BITS_H */
