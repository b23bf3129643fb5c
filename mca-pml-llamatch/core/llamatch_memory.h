/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What all parts of the matching core share: status values, the cache line, where memory comes
 * from, and sums with sizes and bits.
 */
#ifndef LLAMATCH_MEMORY_H
#define LLAMATCH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/** What a core function can report. A search that finds nothing is no error. */
typedef enum {
    LLAMATCH_OK = 0,
    LLAMATCH_NOT_FOUND = 1,
    LLAMATCH_ERR_NO_MEMORY = -1,
    LLAMATCH_ERR_ARGUMENT = -2,
    LLAMATCH_ERR_SYSTEM = -3 /**< the system refused something: a thread, a binding */
} llamatch_status_t;

/** Bytes of a cache line. */
#define LLAMATCH_LINE 64

/** Where memory comes from. alloc returns NULL on failure; free gets the same size back. */
typedef struct llamatch_allocator {
    void *(*alloc)(void *context, size_t alignment, size_t bytes);
    void (*free)(void *context, void *memory, size_t bytes);
    void *context;
} llamatch_allocator_t;

static inline size_t llamatch_round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

static inline uint32_t llamatch_smaller(uint32_t a, uint32_t b)
{
    return (a < b) ? a : b;
}

/** The lowest bits set, as many as told. */
static inline uint64_t llamatch_low_bits(uint32_t bits)
{
    return (64 <= bits) ? UINT64_MAX : ((uint64_t) 1 << bits) - 1;
}

#endif /* LLAMATCH_MEMORY_H */
