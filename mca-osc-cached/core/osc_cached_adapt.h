/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * How large the index and the storage should be (CLaMPI paper, III-E1): a pure function of what
 * was counted during an interval of gets.
 *
 *     index grows      conflicting / gets > conflict_threshold
 *     index shrinks    occupied / visited < sparsity, as few entries, and no growth of anything
 *     storage grows    (capacity + failing) / gets > capacity_threshold
 *     storage shrinks  hits / gets > stable_threshold, free / bytes > free_threshold, and no growth
 *
 * The paper's changes empty the cache. Ours keep every entry, so that growing early costs little:
 * defaults decide after few gets.
 *
 * Contract:
 *  C1 present sizes are returned unless one of the four rules above or a bound demands another.
 *  C2 the result is within the bounds, except that a size above its maximum is not reduced below
 *     what its contents need (C3); it never grows. A minimum above the maximum counts as equal.
 *  C3 a reduced size holds its contents at a load of at most 3/4.
 *  C4 growing and shrinking are by at least 16 slots or 64 bytes, unless a bound or C3 is nearer;
 *     new sizes are multiples of these, unless they are bounds.
 *  C5 nothing shrinks in an interval in which something grows; a size shrinks only if the misses
 *     that make it grow are at most a quarter of what growing takes.
 *  C6 what made a size grow does not let it shrink: a size shrinks only if, divided by the factor
 *     it grows with, it would still be less than 3/4 full, whatever sparsity and free_threshold
 *     say. With C3: the same data makes the same size grow and shrink once each, at the most.
 *  C7 before `interval` gets only bounds count.
 */
#ifndef OSC_CACHED_ADAPT_H
#define OSC_CACHED_ADAPT_H

#include <stdint.h>

/** Ratios are of gets if not stated otherwise. */
typedef struct {
    uint32_t interval;         /**< gets between two decisions, at least 1 */
    double conflict_threshold; /**< 0..1 */
    double index_increase;     /**< factor, 1.01..16 */
    double index_decrease;     /**< factor, 0.01..0.99 */
    double sparsity;           /**< 0..1, of visited positions that were occupied */
    double capacity_threshold; /**< 0..1 */
    double memory_increase;    /**< factor, 1.01..16 */
    double memory_decrease;    /**< factor, 0.01..0.99 */
    double stable_threshold;   /**< 0..1, of hits */
    double free_threshold;     /**< 0..1, of the storage's bytes */
} osc_cached_adapt_params_t;

extern const osc_cached_adapt_params_t osc_cached_adapt_defaults;

/** Counted since the last decision. */
typedef struct {
    uint64_t gets, hits, conflicting, capacity, failing;
    uint64_t visited, occupied; /**< positions seen by evictions */
    uint32_t index_slots;
    /** At the most since the last decision: after an invalidation the present number says nothing
     * of what is needed. Not below the present number. The same for storage_used. */
    uint32_t index_entries;
    uint64_t storage_bytes;
    uint64_t storage_used;             /**< bytes, see index_entries */
    uint32_t slots_min, slots_max;     /**< bounds: the budget */
    uint64_t storage_min, storage_max; /**< bytes */
} osc_cached_adapt_window_t;

typedef struct {
    uint32_t index_slots;
    uint64_t storage_bytes;
} osc_cached_adapt_sizes_t;

/** What the sizes should be from now on: equal to the present ones when nothing is to change. */
osc_cached_adapt_sizes_t osc_cached_adapt_decide(const osc_cached_adapt_params_t *params,
                                                 const osc_cached_adapt_window_t *window);

/** @return NULL, or the name of the first field that is outside of the range given above */
const char *osc_cached_adapt_params_check(const osc_cached_adapt_params_t *params);

#endif /* OSC_CACHED_ADAPT_H */
