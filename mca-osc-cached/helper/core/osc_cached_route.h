/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Which way puts and gets of several blocks go to a target: the inner component, which sends each
 * block, or the helper, which packs them.
 *
 * Each way has a rate, nanoseconds per unit, where units are what it does: the inner component
 * blocks, the helper requests, both also bytes. An operation goes the way that is cheaper for it;
 * the way taken before has a bonus, so that two that are equal do not alternate.
 *
 * Rates are measured. A batch is what is sent between two flushes; its time is divided by its
 * units, unless it went both ways or was the first one, which connects. The first operations go the
 * way that is usually cheaper, the next ones the other way, and later the way not taken is tried
 * again whenever trials have lost at most 1 % of the time. A trial of the helper is a batch of a
 * few operations: it is flushed when these are sent, for which the helper does not need the
 * target's process. That may compute, or wait for what we do next; so a trial of the inner
 * component is flushed then only if the network does it alone (direct). Otherwise it is a few
 * operations at the begin of a batch, and how long they took is what the helper's rate leaves of
 * the batch's time, or what is too little to be told from noise. Where nothing may be flushed and
 * not both rates are known, the number of blocks decides.
 *
 *     choose, sent        for each operation; flush when sent says so; or
 *     choose, sent_apart  for one whose completion is not seen
 *     is_timed            for the first of a batch
 *     flushed             with the time since the first of them; or
 *     passed              when it was not timed; or
 *     forget              when that was not only theirs
 */
#ifndef OSC_CACHED_ROUTE_H
#define OSC_CACHED_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    OSC_CACHED_ROUTE_INNER,
    OSC_CACHED_ROUTE_HELPER,
    OSC_CACHED_ROUTES
} osc_cached_way_t;

/** What is known of one target; all 0 at the start. */
typedef struct osc_cached_route {
    double rate[OSC_CACHED_ROUTES]; /**< nanoseconds per unit; 0: never measured */
    bool warm[OSC_CACHED_ROUTES];   /**< a batch went this way before */
    double total;                   /**< nanoseconds of all batches */
    double lost;                    /**< of these, what trials took more than the other way */
    osc_cached_way_t last;          /**< way of the last operation that was no trial */
    uint32_t batches;               /**< of those that are so short that few are timed */
    uint32_t alert;                 /**< so many are timed in any case */
    bool direct;                    /**< set by the owner: the inner component waits for nobody */

    /* the present batch */
    uint32_t operations;
    bool tries;                      /**< it is a trial, or begins with one */
    osc_cached_way_t trial;          /**< which way that goes */
    double units[OSC_CACHED_ROUTES]; /**< sent each way */
    double instead;                  /**< units of the trial, had it gone the other way */
} osc_cached_route_t;

/**
 * The way for an operation of so many blocks with so many bytes in all.
 *
 * @param may_try  it can be flushed, so this may be a trial
 */
osc_cached_way_t osc_cached_route_choose(osc_cached_route_t *route, uint64_t blocks, uint64_t bytes,
                                         bool may_try);

/** It went this way. @return whether it is to be flushed now: a trial has ended */
bool osc_cached_route_sent(osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks,
                           uint64_t bytes);

/** The same where nobody will know when it is complete, and no trial is under way: it belongs to no
 * batch. */
void osc_cached_route_sent_apart(osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks,
                                 uint64_t bytes);

/** Is the batch that begins with this operation to be timed?  Not each of those in which that would
 * take a part of the time that is seen. */
bool osc_cached_route_is_timed(osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks,
                               uint64_t bytes);

/** Nanoseconds that the helper takes for contiguous operations. */
uint64_t osc_cached_route_estimate(const osc_cached_route_t *route, uint64_t operations,
                                   uint64_t bytes);

/** All that was sent is complete, so many nanoseconds after its beginning. */
void osc_cached_route_flushed(osc_cached_route_t *route, uint64_t ns);

/** The same of a batch that was not timed: it took what such ones take. */
void osc_cached_route_passed(osc_cached_route_t *route);

/** The same, and nobody knows how long it took. */
void osc_cached_route_forget(osc_cached_route_t *route);

#endif /* OSC_CACHED_ROUTE_H */
