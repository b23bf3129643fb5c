/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Is a target away, so that its helper is to do contiguous puts and gets, too?
 *
 * The inner component is as fast for them, or faster, unless it needs the target's process and that
 * computes. Then a flush waits: when one took 20 times as long as the helper takes for the same,
 * and flushes take more than twice as long on average, the target is away. The inner component is
 * tried again when 4 times as long has passed, for it may have been an accident; if that flush
 * waits, too, when 50 times as long has passed, so trials take 2 % of the time at most; if it does
 * not, the target is back. On a busy machine everybody waits for a processor, and the helper most
 * of all: when its flushes turn out to take as long on average, it was not the target.
 *
 *     UNKNOWN --4 flushes--> WATCHED <--no wait, or the helper waits as long-- AWAY
 *        |                      |                                              ^
 *        |                      +----------------- waits ----------------------+
 *        +--one ends within 500 ns of the last operation: the network did it--> DIRECT, for ever
 *
 * Where the network, or a processor, reaches the target's memory by itself nobody ever waits, and a
 * flush is faster than any message that is answered: such windows are recognised by that, and
 * contiguous operations never leave the inner component. The first flushes decide nothing else:
 * they connect.
 */
#ifndef OSC_CACHED_PRESENCE_H
#define OSC_CACHED_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    OSC_CACHED_PRESENCE_UNKNOWN,
    OSC_CACHED_PRESENCE_WATCHED,
    OSC_CACHED_PRESENCE_AWAY,
    OSC_CACHED_PRESENCE_DIRECT
} osc_cached_presence_state_t;

/** Flushes, the last ones mostly. */
typedef struct osc_cached_presence_sum {
    uint32_t count;
    uint64_t ns; /**< nanoseconds */
} osc_cached_presence_sum_t;

/** Of one target; all 0 at the start. */
typedef struct osc_cached_presence {
    osc_cached_presence_state_t state;
    uint32_t flushes; /**< while UNKNOWN */
    uint64_t waited;  /**< nanoseconds: the flush that found it away */
    uint64_t again;   /**< AWAY: when the inner component is to be tried */
    uint64_t mean;    /**< AWAY: nanoseconds of a flush of the inner component before */
    /** flushes of the inner component since it is WATCHED, and of the helper while it was AWAY */
    osc_cached_presence_sum_t inner, helper;
} osc_cached_presence_t;

/**
 * A flush of the inner component has ended at @p now; all times in nanoseconds.
 *
 * @param waited     how long it took
 * @param since      how long ago the last operation was issued
 * @param helper_ns  what the helper takes for the operations that were flushed
 */
void osc_cached_presence_flushed(osc_cached_presence_t *presence, uint64_t now, uint64_t waited,
                                 uint64_t since, uint64_t helper_ns);

/** The same of operations of several blocks, which take long without waiting for anybody. */
void osc_cached_presence_look(osc_cached_presence_t *presence, uint64_t since);

/** A flush of the helper has ended, while the target was away. */
void osc_cached_presence_helped(osc_cached_presence_t *presence, uint64_t waited);

/** Is the helper to do a contiguous operation, for which it takes so long? */
static inline bool osc_cached_presence_is_away(const osc_cached_presence_t *presence, uint64_t now,
                                               uint64_t helper_ns)
{
    return OSC_CACHED_PRESENCE_AWAY == presence->state && now < presence->again
           && helper_ns < presence->waited;
}

/** Do flushes of the inner component take longer on average than a round trip to the helper?  Then
 * what is locked at the helper, and ends with a message to it, may go there as well. */
bool osc_cached_presence_is_dear(const osc_cached_presence_t *presence, uint64_t round_trip_ns);

#endif /* OSC_CACHED_PRESENCE_H */
