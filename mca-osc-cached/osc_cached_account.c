/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes of gets: the counters' names, and the end of a round of the profit estimate.
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include "osc_cached_account.h"

const ompi_osc_cached_access_t ompi_osc_cached_accesses[OSC_CACHED_ACCESSES] = {
    [OSC_CACHED_HIT] = {OSC_CACHED_STAT_hits, "hit"},
    [OSC_CACHED_PARTIAL] = {OSC_CACHED_STAT_partial_hits, "partial"},
    [OSC_CACHED_JOIN] = {OSC_CACHED_STAT_joins, "join"},
    [OSC_CACHED_DIRECT] = {OSC_CACHED_STAT_direct, "direct"},
    [OSC_CACHED_CONFLICTING] = {OSC_CACHED_STAT_conflicting, "conflicting"},
    [OSC_CACHED_CAPACITY] = {OSC_CACHED_STAT_capacity, "capacity"},
    [OSC_CACHED_FAILING] = {OSC_CACHED_STAT_failing, "failing"},
    [OSC_CACHED_DECLINED] = {OSC_CACHED_STAT_declined, "declined"},
    [OSC_CACHED_UNSHARED] = {OSC_CACHED_STAT_unshared, "unshared"},
};

void ompi_osc_cached_account_round(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer)
{
    osc_cached_profit_t keep = peer->profit;

    ompi_osc_cached_window_settle(window, peer);
    if (0 == peer->profit.timed && 0 < peer->batch_timed) {
        /* no synchronisation so far: a long epoch */
        osc_cached_profit_decide_early(&peer->profit, &window->costs,
                                       peer->batch_ns / peer->batch_timed,
                                       ompi_osc_cached_cheap_below());
        if (OSC_CACHED_WATCHED == osc_cached_profit_state(&peer->profit)) {
            /* the first one may have made the connection: measure others */
            OSC_CACHED_WRITE(peer->batch_timed, 0);
            peer->batch_ns = 0;
        }
    } else {
        osc_cached_profit_decide(&peer->profit, &window->costs);
    }
    peer->round = (uint32_t) window->cache.gets;
    if (!ompi_osc_cached_params.profit) {
        peer->profit.passed = keep.passed;
        peer->profit.patience = keep.patience;
    }
}
