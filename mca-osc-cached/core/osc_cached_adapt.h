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
 * Defaults are from bench/micro/sweep.c (5 seeds; hits of 4,000 or of 100,000 gets; see there for
 * the workloads; Neoverse-V1):
 *
 *     interval            128   32: +27 hits from 200 slots, 256: -116, 512: -278, 1024: -858
 *     conflict_threshold  0.02  0.001 to 0.02: the same; 0.05: -18 hits from 200, 0.2: -159
 *     index_increase      2     1.25: -125 hits from 200 slots and 8 resizes for 4; 4: +18, but a
 *                               sparse index shrinks less (C6): -1.0 %
 *     index_decrease      0.5   a sparse index: 0.1 +0.2 %, 0.25 -0.2 %, 0.75 -1.3 %
 *     sparsity            0.25  to 0.375: the same; 0.2: -1.9 %, 0.05: -9.1 %, when a sparse index
 *                               has the memory that the storage lacks
 *     capacity_threshold  0.02  0.001 to 0.02: the same; 0.05: -8 hits, 0.1: -182, and zipf -2.2 %
 *     memory_increase     2     1.25: -15 hits, 5.6 MiB for 6.9; 4: the same hits, 12.7 MiB
 *     memory_decrease     0.5   at a free_threshold of 0.6, when data comes and goes: 20 resizes;
 *                               0.25: 30, 0.75: 34, 0.9: 75
 *     stable_threshold    0.9   no effect on hits from 0.5 to 0.99
 *     free_threshold      0.8   0.7: 20 resizes for 2 when data comes and goes, and 5.9 MiB for 7.9
 *
 * With them the paper's micro-benchmark (4,000 gets, 4 MiB at the start, 50 seeds) has 3,019 hits
 * from 200 slots, 3,009 from 400, 3,063 from 1,000 to 4,000, and never less than 2,940; with fixed
 * sizes 981, 1,785, and 2,804 to 2,821. A growth costs 1.2 ms per MiB of the present size, most of
 * it the page faults of the new one.
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
 *  C7 before `interval` gets only bounds count. (The cache lets the index grow earlier when it had
 *     more conflicts already than a whole interval may have.)
 *  C8 a growth that its bound cuts to less than 1/8 of the size is not made, if the factor asks for
 *     more: each growth copies all.
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
