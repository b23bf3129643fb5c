/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Targets that compute.
 */
#include "osc_cached_presence.h"

/* Flushes that decide whether the network does it alone. */
#define FIRST 4
/* Nanoseconds: a flush of mapped memory takes 100, the fastest message with an answer 1000. */
#define DIRECT_NS 500
/* A flush that waits takes so many times as long as the helper would. */
#define WAITS 20
/* The inner component is tried after so many times the wait. */
#define PATIENCE 50

void osc_cached_presence_flushed(osc_cached_presence_t *presence, uint64_t now, uint64_t waited,
                                 uint64_t since, uint64_t helper_ns)
{
    switch (presence->state) {
    case OSC_CACHED_PRESENCE_UNKNOWN:
        if (since < DIRECT_NS) {
            presence->state = OSC_CACHED_PRESENCE_DIRECT;
        } else if (FIRST == ++presence->flushes) {
            presence->state = OSC_CACHED_PRESENCE_WATCHED;
        }
        break;
    case OSC_CACHED_PRESENCE_WATCHED:
    case OSC_CACHED_PRESENCE_AWAY:
        presence->state = OSC_CACHED_PRESENCE_WATCHED;
        if (waited / WAITS >= helper_ns) {
            presence->state = OSC_CACHED_PRESENCE_AWAY;
            presence->waited = waited;
            presence->again = now + PATIENCE * waited;
        }
        break;
    default:
        break;
    }
}
