/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Step 4 of a get: what came of it, for the counters, the profit estimate and the trace.
 */

#ifndef OSC_CACHED_GET_ACCOUNT_H
#define OSC_CACHED_GET_ACCOUNT_H

#include "osc_cached_trace.h"
#include "osc_cached_window.h"

BEGIN_C_DECLS

/** What an access is called. */
typedef struct {
    int stat;         /**< its counter */
    const char *name; /**< in the trace */
} ompi_osc_cached_access_t;

extern __opal_attribute_visibility__("hidden") const ompi_osc_cached_access_t
    ompi_osc_cached_accesses[OSC_CACHED_ACCESSES];

/** Enough gets were looked up to say what it was good for; caller holds the lock. */
void ompi_osc_cached_account_round(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer);

/** Whether a hit would be one, too, if all gets of its target were looked up; caller holds the
 * lock. */
static inline bool ompi_osc_cached_is_true_hit(const ompi_osc_cached_window_t *window,
                                               const ompi_osc_cached_peer_t *peer)
{
    const osc_cached_cache_t *cache = &window->cache;

    return OPAL_LIKELY(0 == peer->profit.passed)
           || osc_cached_cache_has_room(
               cache, osc_cached_profit_distance(&peer->profit, cache->distance,
                                                 (uint32_t) cache->gets - peer->round));
}

static inline void ompi_osc_cached_account_add(ompi_osc_cached_window_t *window, int stat,
                                               unsigned long more, bool plain)
{
    if (plain) {
        ompi_osc_cached_add_alone(window, stat, more);
    } else {
        ompi_osc_cached_add(window, stat, more);
    }
}

/** What ompi_osc_cached_account does, without the profit estimate. */
__opal_attribute_always_inline__ static inline void
ompi_osc_cached_account_bytes(ompi_osc_cached_window_t *window, osc_cached_key_t key, size_t bytes,
                              osc_cached_access_t access, size_t served, bool plain)
{
    ompi_osc_cached_account_add(window, ompi_osc_cached_accesses[access].stat, 1, plain);
    if (access <= OSC_CACHED_JOIN) { /* something was not fetched */
        ompi_osc_cached_account_add(window, OSC_CACHED_STAT_bytes_served, served, plain);
    }
    if (served < bytes) {
        ompi_osc_cached_account_add(window, OSC_CACHED_STAT_bytes_fetched, bytes - served, plain);
    }
    if (!plain && OPAL_UNLIKELY(window->traced)) {
        ompi_osc_cached_trace_get(window, key.target, key.address, bytes,
                                  ompi_osc_cached_accesses[access].name);
    }
}

/**
 * Count a looked-up get; caller holds the lock.
 *
 * @param served  bytes that were not fetched
 * @param plain   the window is not threaded and has no trace
 */
__opal_attribute_always_inline__ static inline void
ompi_osc_cached_account(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                        osc_cached_key_t key, size_t bytes, osc_cached_access_t access,
                        size_t served, bool plain)
{
    ompi_osc_cached_account_bytes(window, key, bytes, access, served, plain);
    if (OSC_CACHED_JOIN == access) {
        osc_cached_profit_joined(&peer->profit);
    }
    /* a partial hit needs a real get */
    if (osc_cached_profit_count(&peer->profit, OSC_CACHED_HIT == access
                                                   && ompi_osc_cached_is_true_hit(window, peer))) {
        ompi_osc_cached_account_round(window, peer);
    }
}

END_C_DECLS

#endif /* OSC_CACHED_GET_ACCOUNT_H */
