/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Costs of puts and gets.
 */
#include "osc_cached_route.h"

/* So many bytes cost about as much as a block, or a request: 5 us over TCP. */
#define UNIT_BYTES 4096.0
/* So many blocks are the helper's before anything was measured. */
#define MANY 64
/* Nanoseconds of a request before one was measured: more than any network takes. */
#define ASSUMED_NS 50000.0
/* Operations of a trial. */
#define TRIAL 4
/* Share of the time that trials may lose. */
#define LOSS 0.01
/* What is less of a batch's time cannot be told from the noise of the rest. */
#define NOISE 0.3
/* The other way must be so much cheaper. */
#define BONUS 0.8
/* A new measurement counts for so much of the rate, and for at most so many times the old rate: the
 * target, or this process, may have been away. */
#define WEIGHT 0.25
#define OUTLIER 4
/* Nanoseconds: the two readings of the clock, of 25 each, are 1 % of such a batch.  Who needs the
 * target's process takes longer: nothing waits for anybody in a shorter one. */
#define SHORT_NS 5000.0
/* One of so many shorter ones is timed; and each of so many after one that took twice as long. */
#define SAMPLE 4
#define ALERT 16

static double units_of(osc_cached_way_t way, uint64_t blocks, uint64_t bytes)
{
    return (OSC_CACHED_ROUTE_INNER == way ? (double) blocks : 1.0) + (double) bytes / UNIT_BYTES;
}

static osc_cached_way_t other(osc_cached_way_t way)
{
    return OSC_CACHED_ROUTE_INNER == way ? OSC_CACHED_ROUTE_HELPER : OSC_CACHED_ROUTE_INNER;
}

/* The cheaper way, as far as that is known. */
static osc_cached_way_t cheaper(const osc_cached_route_t *route, uint64_t blocks, uint64_t bytes)
{
    osc_cached_way_t way = route->last, another = other(way);

    if (0 == route->rate[way] || 0 == route->rate[another]) {
        return 0 == route->rate[way] ? another : way;
    }
    return route->rate[another] * units_of(another, blocks, bytes)
                   < BONUS * route->rate[way] * units_of(way, blocks, bytes)
               ? another
               : way;
}

/* Is what a trial of so many operations of the way not taken loses, if nothing has changed, little
 * enough? */
static bool pays_to_try(const osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks,
                        uint64_t bytes, uint32_t operations)
{
    osc_cached_way_t another = other(way);
    double loss = route->rate[another] * units_of(another, blocks, bytes)
                  - route->rate[way] * units_of(way, blocks, bytes);

    return route->lost + operations * loss <= LOSS * route->total;
}

/* Has a trial of the inner component enough operations, of which the program's flush will tell how
 * long they took?  The others of the batch are the helper's. */
static bool is_enough(const osc_cached_route_t *route, uint64_t blocks, uint64_t bytes)
{
    uint32_t least = 0 == route->rate[OSC_CACHED_ROUTE_INNER] ? 1 : TRIAL;

    return OSC_CACHED_ROUTE_INNER == route->trial && !route->direct
           && 0 < route->rate[OSC_CACHED_ROUTE_HELPER] && least <= route->operations
           && (1 == least
               || !pays_to_try(route, OSC_CACHED_ROUTE_HELPER, blocks, bytes,
                               route->operations + 1));
}

osc_cached_way_t osc_cached_route_choose(osc_cached_route_t *route, uint64_t blocks, uint64_t bytes,
                                         bool may_try)
{
    bool inner = 0 < route->rate[OSC_CACHED_ROUTE_INNER];
    bool helper = 0 < route->rate[OSC_CACHED_ROUTE_HELPER];
    osc_cached_way_t way = cheaper(route, blocks, bytes);

    if ((!inner && !helper) || (!may_try && !(inner && helper))) {
        route->tries = may_try;
        route->trial = blocks < MANY ? OSC_CACHED_ROUTE_INNER : OSC_CACHED_ROUTE_HELPER;
        return route->trial;
    }
    if (0 == route->operations && may_try) {
        route->trial = other(way);
        route->tries =
            0 == route->rate[route->trial] || pays_to_try(route, way, blocks, bytes, TRIAL);
    }
    if (route->tries) {
        return is_enough(route, blocks, bytes) ? OSC_CACHED_ROUTE_HELPER : route->trial;
    }
    route->last = way;
    return way;
}

bool osc_cached_route_sent(osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks,
                           uint64_t bytes)
{
    ++route->operations;
    route->units[way] += units_of(way, blocks, bytes);
    if (way == route->trial) {
        route->instead += units_of(other(way), blocks, bytes);
    }
    /* the first one of a way may be very wrong */
    return route->tries && way == route->trial && (OSC_CACHED_ROUTE_HELPER == way || route->direct)
           && (0 == route->rate[way] || TRIAL <= route->operations);
}

void osc_cached_route_sent_apart(osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks,
                                 uint64_t bytes)
{
    route->total += route->rate[way] * units_of(way, blocks, bytes);
}

static void measure(osc_cached_route_t *route, osc_cached_way_t way, double rate)
{
    double *known = &route->rate[way];

    if (!route->warm[way]) {
        route->warm[way] = true; /* it had to connect; once more, unless that takes long */
        if (OSC_CACHED_ROUTE_HELPER == way || route->units[way] < MANY) {
            return;
        }
    }
    if (0 == *known || rate < *known) {
        *known = rate; /* a way is not faster by chance */
        return;
    }
    if (rate > 2 * *known) {
        route->alert = ALERT;
    }
    if (rate > OUTLIER * *known) {
        rate = OUTLIER * *known;
    }
    *known += WEIGHT * (rate - *known);
}

bool osc_cached_route_is_timed(osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks,
                               uint64_t bytes)
{
    double expected = route->rate[way] * units_of(way, blocks, bytes);

    if (route->tries || 0 == expected || SHORT_NS <= expected || 0 < route->alert) {
        route->alert -= 0 < route->alert;
        return true;
    }
    return 0 == ++route->batches % SAMPLE;
}

uint64_t osc_cached_route_estimate(const osc_cached_route_t *route, uint64_t operations,
                                   uint64_t bytes)
{
    double rate = route->rate[OSC_CACHED_ROUTE_HELPER];

    return (uint64_t) ((0 < rate ? rate : ASSUMED_NS)
                       * ((double) operations + (double) bytes / UNIT_BYTES));
}

void osc_cached_route_flushed(osc_cached_route_t *route, uint64_t ns)
{
    const double *units = route->units, *rate = route->rate;
    osc_cached_way_t way =
        0 < units[OSC_CACHED_ROUTE_INNER] ? OSC_CACHED_ROUTE_INNER : OSC_CACHED_ROUTE_HELPER;
    double rest = units[other(way)] * rate[other(way)], took = (double) ns - rest;
    bool told = NOISE * (double) ns <= took;

    route->total += (double) ns;
    took = told ? took : NOISE * (double) ns; /* at most */
    if (0 < units[way] && (0 == units[other(way)] || (route->tries && 0 < rest))) {
        double excess = took - route->instead * rate[other(way)];

        if (route->tries && 0 < rate[other(way)] && 0 < excess) {
            route->lost += excess;
        }
        if (told || 0 == rate[way] || took < rate[way] * units[way]) {
            measure(route, way, took / units[way]);
        }
    }
    osc_cached_route_forget(route);
}

void osc_cached_route_passed(osc_cached_route_t *route)
{
    for (int way = 0; way < OSC_CACHED_ROUTES; ++way) {
        route->total += route->rate[way] * route->units[way];
    }
    osc_cached_route_forget(route);
}

void osc_cached_route_forget(osc_cached_route_t *route)
{
    route->operations = 0;
    route->tries = false;
    route->instead = 0;
    route->units[OSC_CACHED_ROUTE_INNER] = 0;
    route->units[OSC_CACHED_ROUTE_HELPER] = 0;
}
