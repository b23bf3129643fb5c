/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The scheme duel: what an entry is worth, and what is remembered of those that are not here.
 *
 * An entry has count (of its gets, in 1/256, at most 65,535), last (number of its last get) and gap
 * (mean distance of its gets). With P = 2^shift, a power of two in 3..6 x entries (12 x, before it
 * is made smaller; not before the next adaptation, where all entries have left at once):
 *
 *     decay(count, d)   count -= count * (d mod P) / 2P; count >> (d / P)     halves every P gets
 *     hit               d = now - last; count = decay(count, d) + 256; gap = (gap + d) / 2
 *     value             d = now - last; d > 4 * gap ? 0 : decay(count, d)
 *                       what was idle for 4 times its own gap is taken for dead
 *
 * A get that is missing brings count = 256 + what the ghost table has of its key, decayed; gap is
 * then its distance to the get before, else P / 4.
 *
 *     1. a hole is large enough: it is kept there
 *     2. at most twice: from the hand on, in the order of addresses, the values of neighbouring
 *        regions are added up (0 for holes, and for what is invalid) until their bytes suffice.
 *        More than count, a pinned entry, the end of the arena or 16 regions: lost, and the hand
 *        moves on by one region. Else all of them leave, and it is kept in their place.
 *     3. lost twice: declined, without copy and insertion
 *
 * The ghost table remembers count and last of what left or was declined: one slot per slot of the
 * index, by hash, the last one stays. Times are in P / 8 and have 16 bits: after 8192 P a ghost
 * looks young again.
 *
 * Where the rules and constants come from: a study of 18 traces, which bench/micro/belady.c
 * repeats. Without the idle limit a working set that moves has 22 % hits instead of 70.
 */
#ifndef OSC_CACHED_DUEL_H
#define OSC_CACHED_DUEL_H

#include "osc_cached_alloc.h"
#include "osc_cached_storage.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    OSC_CACHED_DUEL_GET = 256,     /**< what a get adds to the count */
    OSC_CACHED_DUEL_MOST = 65535,  /**< the largest count */
    OSC_CACHED_DUEL_TRIES = 2,     /**< places that a get may fight for */
    OSC_CACHED_DUEL_REGIONS = 16,  /**< that may leave for one get */
    OSC_CACHED_DUEL_IDLE = 4,      /**< gaps after which an entry is worth nothing */
    OSC_CACHED_DUEL_SHIFT_MIN = 6, /**< P of an empty cache is 64 */
    OSC_CACHED_DUEL_SHIFT_MAX = 30
};

/** What is remembered of an entry that is not here. */
typedef struct {
    uint32_t tag;   /**< of its hash */
    uint16_t count; /**< 0: nothing is remembered */
    uint16_t time;  /**< of its last get, in P / 8 */
} osc_cached_ghost_t;

typedef struct {
    osc_cached_ghost_t *ghosts;
    uint32_t num_ghosts; /**< 0: nothing is remembered */
    uint32_t shift;      /**< P = 1 << shift */
    uint32_t fewest;     /**< entries for which P is right, */
    uint32_t most;       /**< and the most */
    bool remembers;      /**< some ghost was written: else none need be looked at */
} osc_cached_duel_t;

/** osc_cached_duel_decay when d is P or more. */
uint32_t osc_cached_duel_decay_long(const osc_cached_duel_t *duel, uint32_t count, uint32_t d);

/** What a count has become after d more gets. */
static inline uint32_t osc_cached_duel_decay(const osc_cached_duel_t *duel, uint32_t count,
                                             uint32_t d)
{
    if (0 < d >> duel->shift) {
        return osc_cached_duel_decay_long(duel, count, d);
    }
    return count - (uint32_t) ((uint64_t) count * d >> duel->shift) / 2;
}

/** An entry is asked for; now is the number of this get. @return gets since the one before */
static inline uint32_t osc_cached_duel_hit(const osc_cached_duel_t *duel, osc_cached_entry_t *entry,
                                           uint32_t now)
{
    uint32_t d = now - entry->last;
    uint32_t count = osc_cached_duel_decay(duel, entry->count, d) + OSC_CACHED_DUEL_GET;

    /* the smaller of count, which is below 2 * 65,536, and MOST */
    entry->count = (uint16_t) (count | -(count >> 16));
    /* the mean of gap and d, in 32 bits */
    entry->gap += (uint32_t) ((int32_t) (d - entry->gap) >> 1);
    entry->last = now;
    return d;
}

static inline uint32_t osc_cached_duel_value(const osc_cached_duel_t *duel,
                                             const osc_cached_entry_t *entry, uint32_t now)
{
    uint32_t d = now - entry->last;

    return (OSC_CACHED_DUEL_IDLE * (uint64_t) entry->gap < d)
               ? 0
               : osc_cached_duel_decay(duel, entry->count, d);
}

/** Prepare; there are no ghosts. */
void osc_cached_duel_create(osc_cached_duel_t *duel);

void osc_cached_duel_destroy(osc_cached_duel_t *duel, const osc_cached_alloc_t *alloc);

/** Have so many ghosts, all of them new. Without memory there are none. */
void osc_cached_duel_resize(osc_cached_duel_t *duel, uint32_t num_ghosts,
                            const osc_cached_alloc_t *alloc);

/** osc_cached_duel_follow when P may have to change, or was held. */
void osc_cached_duel_follow_now(osc_cached_duel_t *duel, uint32_t entries, uint32_t now);

/** Adjust P to a number of entries. */
static inline void osc_cached_duel_follow(osc_cached_duel_t *duel, uint32_t entries, uint32_t now)
{
    /* below fewest the difference is the largest of all */
    if (duel->most - duel->fewest < entries - duel->fewest) {
        osc_cached_duel_follow_now(duel, entries, now);
    }
}

/** P does not become smaller before the next osc_cached_duel_follow_now. */
static inline void osc_cached_duel_hold(osc_cached_duel_t *duel)
{
    duel->fewest = 0;
}

/** What has this hash is not here, or not any more. */
void osc_cached_duel_remember(osc_cached_duel_t *duel, uint64_t hash, uint32_t count,
                              uint32_t last);

/** Count and gap of a key that is missing. */
void osc_cached_duel_recall(const osc_cached_duel_t *duel, uint64_t hash, uint32_t now,
                            uint32_t *count, uint32_t *gap);

#endif /* OSC_CACHED_DUEL_H */
