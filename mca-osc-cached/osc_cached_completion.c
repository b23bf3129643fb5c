/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which operations a synchronisation completes, and what gets have cost until then.
 */

#include "ompi_config.h"

#include "osc_cached_completion.h"

bool ompi_osc_cached_forget_failed(ompi_osc_cached_window_t *window, int ret)
{
    if (OMPI_ERR_RMA_SYNC == ret) {
        return false;
    }
    if (window->cacheable) {
        ompi_osc_cached_window_lock(window);
        ompi_osc_cached_window_forget(window);
        ompi_osc_cached_window_unlock(window);
    }
    return true;
}

void ompi_osc_cached_end_timed(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                               uint64_t sync_ns)
{
    uint32_t below = ompi_osc_cached_cheap_below();

    osc_cached_profit_timed(&peer->profit,
                            peer->batch_ns / peer->batch_timed + sync_ns / peer->batch_gets);
    if (peer->profit.get_ns < below) {
        /* what this round has saved, before it ends */
        ompi_osc_cached_window_settle(window, peer);
        peer->profit.looked = 0;
        peer->profit.hits = 0;
        peer->profit.joins = 0;
    }
    osc_cached_profit_compare(&peer->profit, below);
    OSC_CACHED_WRITE(peer->batch_timed, 0);
    peer->batch_ns = 0;
}

void ompi_osc_cached_fill_timed(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                uint64_t sequence)
{
    uint32_t records = window->cache.num_records;
    uint64_t begin = ompi_osc_cached_now();

    osc_cached_cache_complete(&window->cache, &peer->cache, sequence);
    records -= window->cache.num_records;
    if (0 < records) {
        osc_cached_profit_follow(&window->costs.copy_ns, ompi_osc_cached_since(begin, 1) / records);
    }
}

/* What a synchronisation of all targets took, per get that it completes: it waits for all of them
 * at the same time.  Caller holds the lock. */
static uint64_t ns_per_get(const ompi_osc_cached_window_t *window, uint64_t sync_ns)
{
    uint64_t gets = 0;

    if (0 == sync_ns) {
        return 0;
    }
    for (const ompi_osc_cached_peer_t *peer = window->busy; NULL != peer; peer = peer->next_busy) {
        gets += peer->batch_gets;
    }
    return (0 < gets) ? sync_ns / gets : 0;
}

void ompi_osc_cached_complete_all(ompi_osc_cached_window_t *window, uint64_t sequence,
                                  bool at_target, uint64_t sync_ns)
{
    ompi_osc_cached_peer_t *next;
    uint64_t get_ns;

    if (0 == sequence) {
        return;
    }
    get_ns = ns_per_get(window, sync_ns);
    for (ompi_osc_cached_peer_t *peer = window->busy; NULL != peer; peer = next) {
        next = peer->next_busy;
        complete_peer(window, peer, sequence, at_target, get_ns * peer->batch_gets);
    }
    window->timed = false;
}

void ompi_osc_cached_try_all_again(ompi_osc_cached_window_t *window)
{
    if (0 >= window->passes_left--) {
        osc_cached_peers_place_t place = {0};
        ompi_osc_cached_peer_t *peer;

        window->passes_left = PASSED_SYNCS;
        while (window->loose && NULL != (peer = osc_cached_peers_next(&window->peers, &place))) {
            try_again(peer);
        }
    }
    window->loose = window->peers.lacking;
}

/* What other processes of the node have fetched meanwhile may be older than an own write among
 * them. */
void ompi_osc_cached_all_are_counted(ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->uncounted && NULL != window->sharing)) {
        ompi_osc_cached_window_forget(window);
    }
    window->uncounted = false;
}

/* Whether they are in this epoch; caller holds the lock. */
static bool flushes_before(const ompi_osc_cached_window_t *window)
{
    return OSC_CACHED_FLUSH_LOCKED != window->flush_first || OSC_CACHED_EPOCH_LOCK == window->epoch;
}

/* Whether this target is one of them; caller holds the lock. */
static bool is_flushed_before(const ompi_osc_cached_window_t *window,
                              const ompi_osc_cached_peer_t *peer)
{
    return OSC_CACHED_FLUSH_LOCKED != window->flush_first || peer->accessible;
}

/* The next target that is busy, NULL: the first one.  With several threads the list of them may
 * change meanwhile. */
static ompi_osc_cached_peer_t *next_busy(ompi_osc_cached_window_t *window,
                                         osc_cached_peers_place_t *place,
                                         const ompi_osc_cached_peer_t *peer)
{
    ompi_osc_cached_peer_t *next;

    if (!window->threaded) {
        return (NULL == peer) ? window->busy : peer->next_busy;
    }
    do {
        next = osc_cached_peers_next(&window->peers, place);
    } while (NULL != next && !(next->state & OSC_CACHED_PEER_BUSY));
    return next;
}

int ompi_osc_cached_flush_before_all(ompi_osc_cached_window_t *window)
{
    osc_cached_peers_place_t place = {0};
    ompi_osc_cached_peer_t *peer = NULL;
    int ret = OMPI_SUCCESS;

    if (!ompi_osc_cached_flush_is_partial(window)) {
        return OMPI_SUCCESS;
    }
    do {
        ompi_osc_cached_window_lock(window);
        do {
            peer = flushes_before(window) ? next_busy(window, &place, peer) : NULL;
        } while (NULL != peer && !is_flushed_before(window, peer));
        ompi_osc_cached_window_unlock(window);
        if (NULL != peer) {
            ret = first_error(ret, window->inner.osc_flush(peer->rank, window->win));
        }
    } while (NULL != peer);
    return ret;
}
