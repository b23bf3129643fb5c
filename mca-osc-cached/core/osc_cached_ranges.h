/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Ranges of memory, which may overlap, and the question whether a buffer overlaps one of them.
 *
 *     ranges by start   | 0..8 | 4..32 | 16..24 | 64..72 |
 *     reach             |    8 |    32 |     32 |     72 |   the largest end so far
 *                                               ^ gap 3: a buffer that ends at 64 at the latest
 *                                                 and begins at 32 at the earliest
 *
 * The last range that starts before the end of a buffer tells by its reach: one binary search. The
 * gap in which the last buffer lay is asked first, so that a program that always uses the same
 * buffers pays the same for any number of ranges.
 *
 * Readers take no lock. One thread at a time may change the ranges, while any number of others ask:
 * a change makes the sequence number odd, and then even again. A reader that sees an odd number, or
 * another one at the end than at the beginning, learns that the ranges are being changed; what it
 * has read meanwhile counts for nothing. Arrays grow by doubling and are freed at the end, so that
 * a late reader never reads freed memory; together the old ones are no larger than the present one.
 *
 * Invariants (osc_cached_ranges_verify returns the number of the first broken one):
 *  I1 ranges are sorted by start. I2 reach is the largest end of a range and those before it.
 *  I3 the sequence number is even.
 */
#ifndef OSC_CACHED_RANGES_H
#define OSC_CACHED_RANGES_H

#include "osc_cached_alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic uintptr_t start;
    _Atomic uintptr_t reach;
    uintptr_t end;
    const void *owner;
} osc_cached_range_t;

typedef struct osc_cached_ranges_array_t {
    uint32_t max; /**< size of the array */
    _Atomic uint32_t count;
    struct osc_cached_ranges_array_t *replaced; /**< the smaller one before it */
    osc_cached_range_t ranges[];
} osc_cached_ranges_array_t;

/** All 0 at the start. */
typedef struct {
    _Atomic uint64_t sequence; /**< odd: being changed */
    _Atomic uint32_t gap;      /**< ranges before the gap in which the last buffer lay */
    osc_cached_ranges_array_t *_Atomic array;
} osc_cached_ranges_t;

typedef enum {
    OSC_CACHED_RANGES_APART,
    OSC_CACHED_RANGES_OVERLAP,
    OSC_CACHED_RANGES_CHANGING /**< ask again when nobody changes them */
} osc_cached_ranges_answer_t;

/** Add a range. @return OSC_CACHED_OK or OSC_CACHED_NO_MEMORY */
int osc_cached_ranges_add(osc_cached_ranges_t *ranges, const osc_cached_alloc_t *alloc,
                          const void *owner, uintptr_t start, uintptr_t end);

/** Remove the ranges of an owner: those with this start, or all. */
void osc_cached_ranges_remove(osc_cached_ranges_t *ranges, const void *owner, bool all,
                              uintptr_t start);

/** Whether a range has bytes between two addresses, the second one not included. */
osc_cached_ranges_answer_t osc_cached_ranges_ask(osc_cached_ranges_t *ranges, uintptr_t from,
                                                 uintptr_t to);

/** The same for ranges of others than this owner; nobody changes them meanwhile. */
bool osc_cached_ranges_others(const osc_cached_ranges_t *ranges, const void *owner, uintptr_t from,
                              uintptr_t to);

/** The first start and the last end; false: there are no ranges. */
bool osc_cached_ranges_hull(const osc_cached_ranges_t *ranges, uintptr_t *from, uintptr_t *to);

/** Forget all; nobody else uses them. */
void osc_cached_ranges_destroy(osc_cached_ranges_t *ranges, const osc_cached_alloc_t *alloc);

/** @return 0, or the number of the first broken invariant */
int osc_cached_ranges_verify(const osc_cached_ranges_t *ranges);

#endif /* OSC_CACHED_RANGES_H */
