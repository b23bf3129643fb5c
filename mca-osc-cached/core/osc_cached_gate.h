/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Hits of several threads at the same time: a gate beside the owner's lock.
 *
 *     lock --> close --> wait for the lanes --> collect --> change anything --> open --> unlock
 *
 *              | gate |  lane 0: thread A inside      hits, bytes, ...
 *     enter -->|      |  lane 1: free
 *              |      |  lane 2: thread B inside      hits, bytes, ...
 *
 * Whoever has entered a lane reads the cache and the peers; nobody changes them, because whoever
 * holds the lock has closed the gate and waited until all lanes were free. A lane belongs to one
 * thread at a time, mostly to the same one, and is in a cache line of its own, so that threads do
 * not disturb each other. What a hit has to count is counted in the lane, and collected by the one
 * who has closed the gate. A hit changes two things more, by atomic stores: the age of its entry,
 * and the cache's memo; one of another cache (osc_cached_gate_count) whatever that allows.
 *
 * Why nobody is inside while the gate is closed: one who enters takes the lane, and then looks at
 * the gate; one who closes closes the gate, and then looks at the lanes. All four are sequentially
 * consistent, so at least one of the two sees the other: the first goes away, or the second waits.
 * What was done in a lane happens before its release, which the second has seen; what the second
 * does happens before it opens the gate, which the next one to enter has seen.
 *
 * One who finds the gate closed waits for a moment, then asks for the lock: mostly it is closed for
 * less than a microsecond, and whoever takes the lock closes it for the others once more.
 *
 * Invariants, while the gate is closed (osc_cached_gate_verify returns the number of the first
 * broken one; a lane may be taken for a moment, by one who goes away again):
 *  I1 after a collection nothing is left to collect.
 */
#ifndef OSC_CACHED_GATE_H
#define OSC_CACHED_GATE_H

#include "osc_cached_cache.h"
#include "osc_cached_peers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    OSC_CACHED_GATE_ALIGN = 128,
    OSC_CACHED_GATE_LANES = 8, /**< threads beyond that share them */
    OSC_CACHED_GATE_PEERS = 4, /**< peers whose hits a lane counts */
    /** looks at a closed gate before the lock is asked for: some microseconds, for to be woken
     * takes longer than that */
    OSC_CACHED_GATE_PATIENCE = 4096,
    OSC_CACHED_GATE_AGES = 16,        /**< gets in which an entry grows older once, the fewest */
    OSC_CACHED_GATE_AGES_MAX = 131072 /**< and the most */
};

/** Lines that one thread uses at a time. Processors of x86_64 fetch two at a time: with 64, threads
 * would disturb each other. */
typedef struct {
    _Alignas(OSC_CACHED_GATE_ALIGN) _Atomic uint32_t taken;
    uint32_t hits;    /**< since the last collection */
    uint64_t bytes;   /**< of these hits */
    uint32_t others;  /**< of these hits, those of another cache */
    uint32_t flushes; /**< that had nothing to wait for */
    uint32_t quiet;   /**< of these, since others' operations were looked at; not collected */
    uint32_t
        rounds; /**< of all threads, when this one looked at others' operations; not collected */
    uint32_t hit_ns; /**< a measured hit; 0: none */
    uint32_t chance; /**< a random number */
    struct {
        osc_cached_peer_t *peer;
        uint32_t hits;
    } peers[OSC_CACHED_GATE_PEERS]; /**< by rank */
} osc_cached_lane_t;

typedef struct {
    _Alignas(OSC_CACHED_GATE_ALIGN) _Atomic uint32_t closed;
    osc_cached_lane_t lanes[OSC_CACHED_GATE_LANES];
} osc_cached_gate_t;

/** What lanes have counted. */
typedef struct {
    uint64_t hits;
    uint64_t others; /**< of these, of another cache */
    uint64_t bytes;
    uint64_t flushes;
} osc_cached_gate_counts_t;

/** The lane of this thread plus 1, in all gates; 0: none yet. */
extern _Thread_local uint32_t osc_cached_gate_lane;

/** osc_cached_gate_enter when that was not possible at once. */
osc_cached_lane_t *osc_cached_gate_enter_slowly(osc_cached_gate_t *gate);

static inline void osc_cached_gate_leave(osc_cached_lane_t *lane)
{
    atomic_store_explicit(&lane->taken, 0, memory_order_release);
}

/** Whether a lane could be entered: it was free, and the gate was open. */
static inline bool osc_cached_gate_try(osc_cached_gate_t *gate, osc_cached_lane_t *lane)
{
    if (0 != atomic_exchange(&lane->taken, 1)) {
        return false;
    }
    if (0 == atomic_load(&gate->closed)) {
        return true;
    }
    osc_cached_gate_leave(lane);
    return false;
}

/** Enter a lane. @return NULL: it is closed, ask for the lock */
static inline osc_cached_lane_t *osc_cached_gate_enter(osc_cached_gate_t *gate)
{
    uint32_t number = osc_cached_gate_lane;

    return (0 < number && osc_cached_gate_try(gate, &gate->lanes[number - 1]))
               ? &gate->lanes[number - 1]
               : osc_cached_gate_enter_slowly(gate);
}

/** Whether it is time for osc_cached_profit_decide, for which the lock is needed; in a lane. */
static inline bool osc_cached_gate_round_ends(const osc_cached_peer_t *peer)
{
    return peer->profit.round <= __atomic_load_n(&peer->profit.looked, __ATOMIC_RELAXED);
}

/** Whether a hit may change what hits of all threads read, to make the next one faster: one of 16
 * times by chance. A rhythm might be that of the gets. */
static inline bool osc_cached_gate_may_change(osc_cached_lane_t *lane)
{
    enum { TIMES = 16 };

    lane->chance = lane->chance * 1664525 + 1013904223;
    return lane->chance < UINT32_MAX / TIMES;
}

/** A hit of another cache; the peer is not nobody. */
void osc_cached_gate_count(osc_cached_lane_t *lane, osc_cached_peer_t *peer, size_t bytes);

/**
 * A get, in a lane. The cache must be open, and the peer not be nobody.
 *
 * @param skip  bytes from the entry's begin to the get's
 * @return whether it was a hit: all bytes were there and were copied
 */
bool osc_cached_gate_hit(osc_cached_lane_t *lane, osc_cached_cache_t *cache,
                         osc_cached_peer_t *peer, osc_cached_key_t key, uint32_t skip, void *buffer,
                         size_t bytes);

/** Nobody is inside from now on; caller holds the lock. */
void osc_cached_gate_close(osc_cached_gate_t *gate);

static inline void osc_cached_gate_open(osc_cached_gate_t *gate)
{
    atomic_store_explicit(&gate->closed, 0, memory_order_release);
}

/**
 * Give the cache and the peers what they have not been told of; the gate is closed.
 *
 * @param costs  follow the measured hits
 */
osc_cached_gate_counts_t osc_cached_gate_collect(osc_cached_gate_t *gate, osc_cached_cache_t *cache,
                                                 osc_cached_profit_costs_t *costs);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_gate_verify(const osc_cached_gate_t *gate);

#endif /* OSC_CACHED_GATE_H */
