/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Ghosts: see the header for the rules.
 */
#include "osc_cached_duel.h"

#include <string.h>

enum { UNIT_SHIFT = 3 }; /* a time is in P / 8 */

static uint16_t time_of(const osc_cached_duel_t *duel, uint32_t get)
{
    return (uint16_t) (get >> (duel->shift - UNIT_SHIFT));
}

static osc_cached_ghost_t *ghost_of(const osc_cached_duel_t *duel, uint64_t hash)
{
    return &duel->ghosts[((hash >> 32) * duel->num_ghosts) >> 32];
}

uint32_t osc_cached_duel_decay_long(const osc_cached_duel_t *duel, uint32_t count, uint32_t d)
{
    uint32_t halvings = d >> duel->shift, rest = d & ((UINT32_C(1) << duel->shift) - 1);

    return (15 < halvings)
               ? 0
               : (count - (uint32_t) ((uint64_t) count * rest >> duel->shift) / 2) >> halvings;
}

static void set_bounds(osc_cached_duel_t *duel)
{
    uint32_t period = UINT32_C(1) << duel->shift;

    duel->fewest = (OSC_CACHED_DUEL_SHIFT_MIN == duel->shift) ? 0 : (period + 11) / 12;
    duel->most = (OSC_CACHED_DUEL_SHIFT_MAX == duel->shift) ? UINT32_MAX : period / 3;
}

void osc_cached_duel_create(osc_cached_duel_t *duel)
{
    duel->ghosts = NULL;
    duel->num_ghosts = 0;
    duel->shift = OSC_CACHED_DUEL_SHIFT_MIN;
    set_bounds(duel);
    duel->remembers = false;
}

void osc_cached_duel_destroy(osc_cached_duel_t *duel, const osc_cached_alloc_t *alloc)
{
    alloc->free(alloc->context, duel->ghosts, duel->num_ghosts * sizeof(*duel->ghosts));
    duel->ghosts = NULL;
    duel->num_ghosts = 0;
    duel->remembers = false;
}

void osc_cached_duel_resize(osc_cached_duel_t *duel, uint32_t num_ghosts,
                            const osc_cached_alloc_t *alloc)
{
    osc_cached_duel_destroy(duel, alloc);
    duel->ghosts = alloc->alloc(alloc->context, 64, num_ghosts * sizeof(*duel->ghosts));
    if (NULL != duel->ghosts) {
        memset(duel->ghosts, 0, num_ghosts * sizeof(*duel->ghosts));
        duel->num_ghosts = num_ghosts;
    }
}

void osc_cached_duel_follow_now(osc_cached_duel_t *duel, uint32_t entries, uint32_t now)
{
    uint32_t before = duel->shift;
    uint16_t time = time_of(duel, now);

    while (UINT64_C(1) << duel->shift < 3 * (uint64_t) entries
           && duel->shift < OSC_CACHED_DUEL_SHIFT_MAX) {
        ++duel->shift;
    }
    while (12 * (uint64_t) entries < UINT64_C(1) << duel->shift
           && OSC_CACHED_DUEL_SHIFT_MIN < duel->shift) {
        --duel->shift;
    }
    set_bounds(duel);
    if (before == duel->shift || !duel->remembers) {
        return;
    }
    /* the same ages in other units */
    for (uint32_t i = 0; i < duel->num_ghosts; ++i) {
        osc_cached_ghost_t *ghost = &duel->ghosts[i];
        uint64_t age = (uint64_t) (uint16_t) (time - ghost->time) << before >> duel->shift;

        ghost->time = (uint16_t) (time_of(duel, now) - (uint16_t) age);
        if (UINT16_MAX < age) {
            ghost->count = 0;
        }
    }
}

void osc_cached_duel_remember(osc_cached_duel_t *duel, uint64_t hash, uint32_t count, uint32_t last)
{
    osc_cached_ghost_t *ghost;

    if (0 < duel->num_ghosts) {
        ghost = ghost_of(duel, hash);
        ghost->tag = (uint32_t) hash;
        ghost->count = (uint16_t) count;
        ghost->time = time_of(duel, last);
        duel->remembers = true;
    }
}

void osc_cached_duel_recall(const osc_cached_duel_t *duel, uint64_t hash, uint32_t now,
                            uint32_t *count, uint32_t *gap)
{
    const osc_cached_ghost_t *ghost = duel->remembers ? ghost_of(duel, hash) : NULL;

    *count = OSC_CACHED_DUEL_GET;
    *gap = (UINT32_C(1) << duel->shift) / 4;
    if (NULL != ghost && 0 < ghost->count && (uint32_t) hash == ghost->tag) {
        uint64_t age = (uint64_t) (uint16_t) (time_of(duel, now) - ghost->time)
                       << (duel->shift - UNIT_SHIFT);

        age = (age < UINT32_MAX) ? age : UINT32_MAX;
        *count += osc_cached_duel_decay(duel, ghost->count, (uint32_t) age);
        /* at least a unit: it is not taken for dead at once */
        *gap = (uint32_t) ((0 < age) ? age : UINT64_C(1) << (duel->shift - UNIT_SHIFT));
        *count = (*count < OSC_CACHED_DUEL_MOST) ? *count : OSC_CACHED_DUEL_MOST;
    }
}
