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
/* And flushes take so many times as long as the helper's on average. */
#define DEARER 2
/* Flushes that an average is made of. */
#define RECENT 4096
#define ENOUGH 4
/* The inner component is tried after so many times the wait: of the first one, and of those that
 * confirm it. */
#define DOUBT 4
#define PATIENCE 50

static void add(osc_cached_presence_sum_t *sum, uint64_t ns)
{
    if (RECENT == ++sum->count) {
        sum->count /= 2;
        sum->ns /= 2;
    }
    sum->ns += ns;
}

static uint64_t mean_of(const osc_cached_presence_sum_t *sum)
{
    return 0 == sum->count ? 0 : sum->ns / sum->count;
}

static void watch(osc_cached_presence_t *presence)
{
    presence->state = OSC_CACHED_PRESENCE_WATCHED;
    presence->inner = (osc_cached_presence_sum_t){.count = 0};
}

void osc_cached_presence_look(osc_cached_presence_t *presence, uint64_t since)
{
    if (OSC_CACHED_PRESENCE_UNKNOWN == presence->state && since < DIRECT_NS) {
        presence->state = OSC_CACHED_PRESENCE_DIRECT;
    }
}

void osc_cached_presence_flushed(osc_cached_presence_t *presence, uint64_t now, uint64_t waited,
                                 uint64_t since, uint64_t helper_ns)
{
    bool waits = waited / WAITS >= helper_ns;
    uint64_t helper = ENOUGH <= presence->helper.count ? mean_of(&presence->helper) : helper_ns;

    switch (presence->state) {
    case OSC_CACHED_PRESENCE_UNKNOWN:
        if (since < DIRECT_NS) {
            presence->state = OSC_CACHED_PRESENCE_DIRECT;
        } else if (FIRST == ++presence->flushes) {
            watch(presence);
        }
        return;
    case OSC_CACHED_PRESENCE_DIRECT:
        return;
    case OSC_CACHED_PRESENCE_WATCHED:
        add(&presence->inner, waited);
        presence->mean = mean_of(&presence->inner);
        waits = waits && presence->mean / DEARER >= helper;
        break;
    case OSC_CACHED_PRESENCE_AWAY:
        break;
    }
    if (waits) {
        presence->again =
            now + (OSC_CACHED_PRESENCE_AWAY == presence->state ? PATIENCE : DOUBT) * waited;
        presence->state = OSC_CACHED_PRESENCE_AWAY;
        presence->waited = waited;
    } else if (OSC_CACHED_PRESENCE_AWAY == presence->state) {
        watch(presence);
    }
}

void osc_cached_presence_helped(osc_cached_presence_t *presence, uint64_t waited)
{
    add(&presence->helper, waited);
    if (ENOUGH <= presence->helper.count && mean_of(&presence->helper) >= presence->mean / DEARER) {
        watch(presence);
    }
}

bool osc_cached_presence_is_dear(const osc_cached_presence_t *presence, uint64_t round_trip_ns)
{
    return OSC_CACHED_PRESENCE_WATCHED == presence->state && ENOUGH <= presence->inner.count
           && round_trip_ns < presence->mean;
}
