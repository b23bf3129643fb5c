/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Hits of several threads at the same time: see the header for why this is right.
 */
#include "osc_cached_gate.h"

#include <sched.h>
#include <string.h>

/* Of all gates: lanes are given to threads one after the other, so that the first threads of a
 * process have one each. A thread is counted before it looks at a gate for the first time, so one
 * who closes and does not see it in this number is seen by it. */
static _Atomic uint64_t num_threads;

_Thread_local uint32_t osc_cached_gate_lane;

static uint32_t lanes_in_use(void)
{
    uint64_t threads = atomic_load(&num_threads);

    return (threads < OSC_CACHED_GATE_LANES) ? (uint32_t) threads : OSC_CACHED_GATE_LANES;
}

osc_cached_lane_t *osc_cached_gate_enter_slowly(osc_cached_gate_t *gate)
{
    osc_cached_lane_t *lane;

    if (0 == osc_cached_gate_lane) {
        osc_cached_gate_lane =
            (uint32_t) (atomic_fetch_add(&num_threads, 1) % OSC_CACHED_GATE_LANES) + 1;
    }
    lane = &gate->lanes[osc_cached_gate_lane - 1];
    for (int looks = 0; looks < OSC_CACHED_GATE_PATIENCE; ++looks) {
        /* reading only, while there is no chance */
        if (0 == atomic_load_explicit(&gate->closed, memory_order_relaxed)
            && 0 == atomic_load_explicit(&lane->taken, memory_order_relaxed)
            && osc_cached_gate_try(gate, lane)) {
            return lane;
        }
    }
    return NULL;
}

void osc_cached_gate_close(osc_cached_gate_t *gate)
{
    uint32_t lanes;

    atomic_store(&gate->closed, 1);
    lanes = lanes_in_use();
    for (uint32_t i = 0; i < lanes; ++i) {
        for (int looks = 1; 0 != atomic_load(&gate->lanes[i].taken); ++looks) {
            if (0 == looks % OSC_CACHED_GATE_PATIENCE) {
                (void) sched_yield(); /* it may need our processor */
            }
        }
    }
}

/* Count hits of a peer, in a lane or with the gate closed. */
static void count_peer(osc_cached_peer_t *peer, uint32_t hits)
{
    if (NULL != peer && 0 < hits) {
        (void) __atomic_fetch_add(&peer->profit.looked, hits, __ATOMIC_RELAXED);
        (void) __atomic_fetch_add(&peer->profit.hits, hits, __ATOMIC_RELAXED);
    }
}

/* Gets in which an entry grows older once, at the most: where nothing had to leave so far, a
 * quarter of the entries or less elsewhere. */
static uint32_t ages_of(const osc_cached_cache_t *cache)
{
    uint32_t ages = (0 == cache->evictions) ? OSC_CACHED_GATE_AGES_MAX : cache->index.count / 4;

    if (ages < OSC_CACHED_GATE_AGES) {
        return OSC_CACHED_GATE_AGES;
    }
    return (ages < OSC_CACHED_GATE_AGES_MAX) ? ages : OSC_CACHED_GATE_AGES_MAX;
}

/* osc_cached_duel_hit of one thread among several. An entry that is asked for all the time is left
 * alone most of the time: all threads would write to its line, and it is not for eviction anyway.
 */
static void grow_older(const osc_cached_cache_t *cache, osc_cached_entry_t *entry, uint32_t now)
{
    enum { AHEAD = 1 << 16 }; /* gets that another thread may be ahead */
    osc_cached_entry_t copy = {
        .last = __atomic_load_n(&entry->last, __ATOMIC_RELAXED),
    };

    if (now - copy.last + AHEAD < AHEAD + ages_of(cache)) {
        return;
    }
    copy.gap = __atomic_load_n(&entry->gap, __ATOMIC_RELAXED);
    copy.count = __atomic_load_n(&entry->count, __ATOMIC_RELAXED);
    (void) osc_cached_duel_hit(&cache->duel, &copy, now);
    __atomic_store_n(&entry->gap, copy.gap, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->count, copy.count, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->last, now, __ATOMIC_RELAXED);
}

/* osc_cached_cache_find_again of one thread among several. Keys of two threads may have the same
 * place in the memo: if each hit changed it, both would wait for its line most of the time. */
static osc_cached_entry_t *find(osc_cached_lane_t *lane, osc_cached_cache_t *cache,
                                const osc_cached_target_t *target, osc_cached_key_t key,
                                size_t bytes)
{
    osc_cached_entry_t **memo = osc_cached_cache_memo(cache, key);
    osc_cached_entry_t *entry = __atomic_load_n(memo, __ATOMIC_RELAXED);

    if (osc_cached_cache_is_of(entry, key) && bytes <= entry->bytes
        && entry->stamp == osc_cached_cache_stamp(cache, target)) {
        return entry;
    }
    entry = osc_cached_cache_find(cache, target, key, osc_cached_index_hash(&cache->index, key));
    if (NULL == entry || entry->bytes < bytes) {
        return NULL;
    }
    if (osc_cached_gate_may_change(lane)) {
        __atomic_store_n(memo, entry, __ATOMIC_RELAXED);
    }
    return entry;
}

static void count_hit(osc_cached_lane_t *lane, osc_cached_peer_t *peer, size_t bytes)
{
    uint32_t at = (uint32_t) peer->rank % OSC_CACHED_GATE_PEERS;

    ++lane->hits;
    lane->bytes += bytes;
    if (peer != lane->peers[at].peer) {
        count_peer(lane->peers[at].peer, lane->peers[at].hits);
        lane->peers[at].peer = peer;
        lane->peers[at].hits = 0;
    }
    ++lane->peers[at].hits;
}

void osc_cached_gate_count(osc_cached_lane_t *lane, osc_cached_peer_t *peer, size_t bytes)
{
    count_hit(lane, peer, bytes);
    ++lane->others;
}

bool osc_cached_gate_hit(osc_cached_lane_t *lane, osc_cached_cache_t *cache,
                         osc_cached_peer_t *peer, osc_cached_key_t key, uint32_t skip, void *buffer,
                         size_t bytes)
{
    osc_cached_entry_t *entry = find(lane, cache, &peer->cache, key, skip + bytes);

    if (NULL == entry) {
        return false;
    }
    memcpy(buffer, (char *) osc_cached_storage_at(&cache->storage, entry->offset) + skip, bytes);
    count_hit(lane, peer, bytes);
    grow_older(cache, entry, (uint32_t) cache->gets + lane->hits);
    return true;
}

osc_cached_gate_counts_t osc_cached_gate_collect(osc_cached_gate_t *gate, osc_cached_cache_t *cache,
                                                 osc_cached_profit_costs_t *costs)
{
    osc_cached_gate_counts_t counts = {0};
    uint32_t lanes = lanes_in_use();

    for (uint32_t i = 0; i < lanes; ++i) {
        osc_cached_lane_t *lane = &gate->lanes[i];

        if (0 == lane->hits && 0 == lane->flushes) {
            continue;
        }
        counts.hits += lane->hits;
        counts.others += lane->others;
        counts.bytes += lane->bytes;
        counts.flushes += lane->flushes;
        for (int k = 0; k < OSC_CACHED_GATE_PEERS; ++k) {
            count_peer(lane->peers[k].peer, lane->peers[k].hits);
            lane->peers[k].hits = 0;
        }
        if (0 < lane->hit_ns) {
            osc_cached_profit_follow(&costs->hit_ns, lane->hit_ns);
        }
        lane->hits = 0;
        lane->others = 0;
        lane->bytes = 0;
        lane->flushes = 0;
        lane->hit_ns = 0;
    }
    cache->gets += counts.hits;
    cache->got_bytes += counts.bytes;
    return counts;
}

int osc_cached_gate_verify(const osc_cached_gate_t *gate)
{
    for (uint32_t i = 0; i < OSC_CACHED_GATE_LANES; ++i) {
        const osc_cached_lane_t *lane = &gate->lanes[i];
        uint32_t left = lane->hits | lane->others | lane->flushes | lane->hit_ns;

        for (int k = 0; k < OSC_CACHED_GATE_PEERS; ++k) {
            left |= lane->peers[k].hits;
        }
        if (0 != left || 0 != lane->bytes) {
            return 1;
        }
    }
    return 0;
}
