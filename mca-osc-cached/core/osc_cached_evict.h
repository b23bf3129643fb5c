/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Which entry leaves when there is no room (CLaMPI paper, III-C2 and III-D): the one with the
 * lowest score of a few, so that the cost does not grow with the cache.
 *
 *     R = R_P x R_T         lower: leaves first
 *     R_T = last / now      how recently a get matched the entry, in numbers of gets
 *     R_P = min(|average - d_c| / average, 1)
 *                           how badly the hole that it would leave suits an average get: d_c is
 *                           the free space next to it
 *
 * The scheme picks both factors or one. A factor that is 0 / 0 counts as 1.
 *
 * For lack of storage, the few are those at M neighbouring positions of the index from a random
 * one on, in a circle: hashing has shuffled the entries, so any M positions are a random sample.
 * When none of them can leave, the scan goes on to the first that can.
 * For lack of index slots, they are the first steps of the refused insertion's path.
 *
 * Nothing is divided per candidate: average and now are the same for all, so that scores order as
 * min(|average - d_c|, average) x last does.
 *
 * Contract:
 *  C1 an entry that is NEVER a victim is not returned.
 *  C2 an entry that is a victim FIRST is returned as soon as it is seen.
 *  C3 else the returned one has the lowest score of the evictable ones seen, the first such when
 *     several have it. (Scores are compared as doubles: exactly while their product before the
 *     division is below 2^53, with a relative error of 2^-52 above.)
 *  C4 _sample sees M positions (all, when there are fewer), and more only until the first evictable
 *     one, at most 64 x M, none twice; each position is equally likely to be the first.
 *  C5 _path sees the first 4 x M steps, or fewer if the path is shorter.
 *  C6 the view is called for occupied positions only, once per position, in order.
 *  C7 nothing changes but the state of the index's random generator.
 *
 * A sample of 0 counts as 1.
 *
 * Measured (Neoverse-V1, gcc 12 -O2, median of batches of 64, M = 16, index 90 % full, a view that
 * reads an entry and its storage descriptor): 150 ns with 1,500 slots, 115 ns when the view is
 * inlined; 1.2 and 0.9 us with 1,000,000 slots, where each entry is two cache misses.
 *
 * The paper's micro-benchmark, 100,000 gets, 4 MiB and 1,500 slots fixed (bench/micro/sweep.c, 10
 * seeds), by scheme and most evictions per get; full is the mean occupancy:
 *
 *                      1                  2                  4                  16
 *     full         89.7 % hits, 97.9  86.3 % hits, 96.6  80.6 % hits, 94.7  65.7 % hits, 92.7
 *     temporal     89.6         97.9  86.3         96.3  80.6         94.8  65.3         93.0
 *     positional   88.7         97.8  85.1         96.6  79.3         94.9  63.2         92.4
 *
 * More evictions per get let more large entries in, and each of them drives out many small ones.
 * The share of bytes that are hits stays the same (59 to 62 %). M from 4 to 128: 89.4 to 90.5 %.
 */
#ifndef OSC_CACHED_EVICT_H
#define OSC_CACHED_EVICT_H

#include "osc_cached_index.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    OSC_CACHED_SCHEME_FULL,
    OSC_CACHED_SCHEME_TEMPORAL,
    OSC_CACHED_SCHEME_POSITIONAL,
    OSC_CACHED_SCHEME_DUEL /**< osc_cached_duel.h; here the same as full */
} osc_cached_scheme_t;

/** Whether an entry may leave. */
typedef enum {
    OSC_CACHED_VICTIM_NEVER, /**< pending: rule A9 */
    OSC_CACHED_VICTIM_FIRST, /**< invalidated: costs nothing */
    OSC_CACHED_VICTIM_BY_SCORE
} osc_cached_victim_t;

/** What a score needs to know of an entry. */
typedef struct {
    osc_cached_victim_t victim;
    uint64_t last;     /**< number of the last get that matched */
    uint64_t adjacent; /**< d_c, bytes */
} osc_cached_evict_view_t;

/** Tell about an entry. last and adjacent matter only for a victim by score. */
typedef void (*osc_cached_evict_view_fn_t)(void *context, uint32_t entry,
                                           osc_cached_evict_view_t *view);

typedef struct {
    osc_cached_scheme_t scheme;
    uint32_t sample;  /**< M, positions */
    uint64_t now;     /**< number of this get */
    uint64_t average; /**< bytes, mean get size */
    void *context;    /**< of the view function */
} osc_cached_evict_query_t;

/** The scan of _sample goes on for at most this many times M positions, ... */
#define OSC_CACHED_EVICT_SCAN 64u
/** ... that of _path for this many times M steps. */
#define OSC_CACHED_EVICT_STEPS 4u

/** What is compared: R x average x now, without the factors that the scheme leaves out. */
static inline double osc_cached_evict_rank(const osc_cached_evict_query_t *query,
                                           const osc_cached_evict_view_t *view)
{
    uint64_t average = query->average;
    uint64_t off = (view->adjacent > average) ? view->adjacent - average : average - view->adjacent;
    double positional = (double) ((off < average) ? off : average);
    double temporal = (double) view->last;

    if (0 == average || OSC_CACHED_SCHEME_TEMPORAL == query->scheme) {
        positional = 1;
    }
    if (0 == query->now || OSC_CACHED_SCHEME_POSITIONAL == query->scheme) {
        temporal = 1;
    }
    return positional * temporal;
}

/** The best victim so far. */
typedef struct {
    double rank;
    uint32_t where; /**< position or step, or OSC_CACHED_INDEX_NONE */
    bool final;     /**< none can be better */
} osc_cached_evict_best_t;

static inline osc_cached_evict_best_t osc_cached_evict_none(void)
{
    osc_cached_evict_best_t best = {0, OSC_CACHED_INDEX_NONE, false};

    return best;
}

static inline void osc_cached_evict_consider(const osc_cached_evict_query_t *query,
                                             osc_cached_evict_view_fn_t view_of, uint32_t entry,
                                             uint32_t where, osc_cached_evict_best_t *best)
{
    osc_cached_evict_view_t view;
    double rank;

    view_of(query->context, entry, &view);
    if (OSC_CACHED_VICTIM_BY_SCORE != view.victim) {
        if (OSC_CACHED_VICTIM_FIRST == view.victim) {
            best->where = where;
            best->final = true;
        }
        return;
    }
    rank = osc_cached_evict_rank(query, &view);
    if (OSC_CACHED_INDEX_NONE == best->where || rank < best->rank) {
        best->rank = rank;
        best->where = where;
    }
}

/**
 * A victim among M positions of the index from a random one on.
 *
 * @param view_of   an argument, so that it can be inlined
 * @param visited   the number of positions seen is added to it,
 * @param occupied  and to this how many of them held an entry (the paper's q is the ratio)
 * @return its position, or OSC_CACHED_INDEX_NONE
 */
static inline uint32_t osc_cached_evict_sample(osc_cached_index_t *index,
                                               const osc_cached_evict_query_t *query,
                                               osc_cached_evict_view_fn_t view_of,
                                               uint32_t *visited, uint32_t *occupied)
{
    uint32_t slots = osc_cached_index_num_slots(index);
    uint32_t sample = (0 == query->sample) ? 1 : query->sample;
    uint32_t limit =
        (sample <= slots / OSC_CACHED_EVICT_SCAN) ? sample * OSC_CACHED_EVICT_SCAN : slots;
    uint32_t position = osc_cached_index_random_position(index);
    uint32_t seen = 0, entries = 0;
    osc_cached_evict_best_t best = osc_cached_evict_none();

    while (!best.final && seen < limit && (seen < sample || OSC_CACHED_INDEX_NONE == best.where)) {
        uint32_t entry = osc_cached_index_at(index, position);

        ++seen;
        if (OSC_CACHED_INDEX_NONE != entry) {
            ++entries;
            osc_cached_evict_consider(query, view_of, entry, position, &best);
        }
        position = (position + 1 < slots) ? position + 1 : 0;
    }
    *visited += seen;
    *occupied += entries;
    return best.where;
}

/**
 * A victim on the path of the index's refused insertion.
 *
 * @return the number of the step, for osc_cached_index_replace, or OSC_CACHED_INDEX_NONE
 */
static inline uint32_t osc_cached_evict_path(const osc_cached_index_t *index,
                                             const osc_cached_evict_query_t *query,
                                             osc_cached_evict_view_fn_t view_of)
{
    uint32_t length, sample = (0 == query->sample) ? 1 : query->sample;
    const osc_cached_index_step_t *path = osc_cached_index_path(index, &length);
    osc_cached_evict_best_t best = osc_cached_evict_none();

    if (sample <= length / OSC_CACHED_EVICT_STEPS) {
        length = sample * OSC_CACHED_EVICT_STEPS;
    }
    for (uint32_t i = 0; i < length && !best.final; ++i) {
        osc_cached_evict_consider(query, view_of, path[i].entry, i, &best);
    }
    return best.where;
}

#endif /* OSC_CACHED_EVICT_H */
