/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Whether caching pays for one target of one window (rule N1). Pure: times are measured by the
 * owner and passed in.
 *
 *     WATCHED   every get is looked up
 *     SAMPLED   one place of 32 is looked up, later of 1024; the others are passed through
 *     CHEAP     a real get is about as cheap as a hit: all are passed through
 *
 * What things cost is followed near the lower quartile of the measured ones: a process that
 * loses its core for a moment makes some of them a thousand times longer, never shorter.
 *
 * At first a cache is empty: nothing is decided before it had the chance to fill. After each round
 * of looked-up gets the time that hits saved is compared with the time that misses cost. When more
 * was lost than saved, and more than 1/64 of what the gets themselves cost, only a sample of the
 * keys stays in the cache. A sample by keys, not by time, sees every reuse of its keys, however far
 * apart, so it tells when the program has begun to reuse its data. Alone in the cache, it has more
 * room than it would have among all keys: the owner counts a reuse as a hit only when all that was
 * asked for in between, estimated from the sample, would have had room too. The longer nothing is
 * gained, the smaller the sample. The first round after it paid is as long as the sample was,
 * counted in all gets: the data that is reused must have the time to come into the cache. Each
 * change from WATCHED to SAMPLED doubles the gets that the next sample must see, so that a program
 * at the break-even point does not go to and fro.
 */
#ifndef OSC_CACHED_PROFIT_H
#define OSC_CACHED_PROFIT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { OSC_CACHED_WATCHED, OSC_CACHED_SAMPLED, OSC_CACHED_CHEAP } osc_cached_profit_state_t;

enum {
    OSC_CACHED_PROFIT_SAMPLE = 32,   /**< one place of these stays in the cache, at first */
    OSC_CACHED_PROFIT_RAREST = 1024, /**< and of these, when nothing is gained for long */
    OSC_CACHED_PROFIT_ROUND = 512,   /**< looked-up gets between two decisions */
    OSC_CACHED_PROFIT_GRACE = 8192,  /**< looked-up gets before the first decision */
    OSC_CACHED_PROFIT_FIRST = 64,    /**< looked-up gets of the first sample */
    OSC_CACHED_PROFIT_LAST = 65536,  /**< and of the longest */
    OSC_CACHED_PROFIT_TIMED = 4      /**< measured gets before a target may be called cheap */
};

/** Places are hashed to numbers below this one. */
#define OSC_CACHED_PROFIT_PLACES (UINT64_C(1) << 32)

typedef struct {
    uint64_t passed;   /**< of all PLACES, so many are passed through */
    uint32_t get_ns;   /**< what a real get costs */
    uint16_t timed;    /**< gets that were measured, the first 65,535 */
    uint16_t joins;    /**< of the looked-up gets, that waited for another one; at most 65,535 */
    uint32_t looked;   /**< looked-up gets in this round */
    uint32_t hits;     /**< of these, copied at once */
    uint32_t patience; /**< looked-up gets of the next sample; 0: none yet */
    uint32_t round;    /**< WATCHED: looked-up gets of this round */
} osc_cached_profit_t;

/** At the start: WATCHED, nothing known. */
#define OSC_CACHED_PROFIT_START          \
    {                                    \
        .round = OSC_CACHED_PROFIT_GRACE \
    }

/** What our own work costs, measured by the owner. */
typedef struct {
    uint32_t hit_ns;  /**< a hit */
    uint32_t miss_ns; /**< beside the real get: lookup and insertion */
    uint32_t copy_ns; /**< the copy of what a miss has brought */
} osc_cached_profit_costs_t;

/**
 * What passed between two readings of a clock, beside the readings themselves.
 *
 * @param readings  that took place since the first one, the second one included
 * @param each      ns that one takes: as much as a hit, on some machines
 */
static inline uint64_t osc_cached_profit_elapsed(uint64_t begin, uint64_t end, uint32_t readings,
                                                 uint32_t each)
{
    uint64_t ours = (uint64_t) readings * each;

    return (ours < end - begin) ? end - begin - ours : 0;
}

/** Follow a measured time near the lower quartile. */
void osc_cached_profit_follow(uint32_t *typical, uint64_t ns);

/** A real get was measured. */
void osc_cached_profit_timed(osc_cached_profit_t *profit, uint64_t ns);

static inline osc_cached_profit_state_t osc_cached_profit_state(const osc_cached_profit_t *profit)
{
    return (0 == profit->passed)                          ? OSC_CACHED_WATCHED
           : (OSC_CACHED_PROFIT_PLACES == profit->passed) ? OSC_CACHED_CHEAP
                                                          : OSC_CACHED_SAMPLED;
}

/** One place of so many is looked up. */
static inline uint32_t osc_cached_profit_rate(const osc_cached_profit_t *profit)
{
    return (OSC_CACHED_SAMPLED == osc_cached_profit_state(profit))
               ? (uint32_t) (OSC_CACHED_PROFIT_PLACES / (OSC_CACHED_PROFIT_PLACES - profit->passed))
               : 1;
}

/**
 * Whether a get is looked up.
 *
 * @param place  where in the target's memory: gets of the same bytes have the same place
 */
static inline bool osc_cached_profit_looks(const osc_cached_profit_t *profit, uint64_t place)
{
    /* ~: place 0, where many programs look most often, is in every sample */
    return profit->passed <= ~(place * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

/**
 * How far apart two gets were, had all gets been looked up.
 *
 * @param distance  looked-up gets of all targets from the first to the second
 * @param gets      looked-up gets of all targets in this round, so far
 */
uint64_t osc_cached_profit_distance(const osc_cached_profit_t *profit, uint64_t distance,
                                    uint64_t gets);

/** A get was looked up. @return whether it is time for osc_cached_profit_decide */
static inline bool osc_cached_profit_count(osc_cached_profit_t *profit, bool hit)
{
    profit->hits += hit;
    return ((0 == profit->passed) ? profit->round : profit->patience) <= ++profit->looked;
}

/** The get that osc_cached_profit_count was told of, as none that hit, waits for another one: no
 * real get, but all the work of a miss. */
static inline void osc_cached_profit_joined(osc_cached_profit_t *profit)
{
    profit->joins += profit->joins < UINT16_MAX;
}

/** Nanoseconds that the hits and joins of this round have saved. */
static inline uint64_t osc_cached_profit_saved(const osc_cached_profit_t *profit,
                                               const osc_cached_profit_costs_t *costs)
{
    uint64_t get = profit->get_ns, join = (uint64_t) costs->miss_ns + costs->copy_ns;

    return ((costs->hit_ns < get) ? profit->hits * (get - costs->hit_ns) : 0)
           + ((join < get) ? profit->joins * (get - join) : 0);
}

/** Nanoseconds that the misses of this round have cost. */
static inline uint64_t osc_cached_profit_spent(const osc_cached_profit_t *profit,
                                               const osc_cached_profit_costs_t *costs)
{
    return (uint64_t) (profit->looked - profit->hits - profit->joins)
           * ((uint64_t) costs->miss_ns + costs->copy_ns);
}

/**
 * What a run without the cache would have taken longer in this round.
 *
 * @param[in,out] debt  ns that earlier rounds have cost more than they saved, and with this one
 * @return ns saved beyond the debt; 0 as long as nobody knows what a get costs
 */
uint64_t osc_cached_profit_settle(const osc_cached_profit_t *profit,
                                  const osc_cached_profit_costs_t *costs, uint64_t *debt);

/** End a round: WATCHED or SAMPLED from now on. */
void osc_cached_profit_decide(osc_cached_profit_t *profit, const osc_cached_profit_costs_t *costs);

/**
 * End a round before any get was complete, in an epoch that is long: gets are taken to cost what
 * issuing them costs. Nothing of that is remembered but the state.
 *
 * @param below  ns, as of osc_cached_profit_compare
 */
void osc_cached_profit_decide_early(osc_cached_profit_t *profit,
                                    const osc_cached_profit_costs_t *costs, uint32_t issue_ns,
                                    uint32_t below);

/**
 * CHEAP, or not any more, by the measured cost of a real get.
 *
 * @param below  ns; 0: nothing is cheap
 */
void osc_cached_profit_compare(osc_cached_profit_t *profit, uint32_t below);

#endif /* OSC_CACHED_PROFIT_H */
