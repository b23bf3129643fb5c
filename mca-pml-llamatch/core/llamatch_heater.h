/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The heater: a thread that keeps memory in a cache by reading it now and then.
 *
 * "Hot caching" of section 3.2 of Dosanjh et al., "The Case for Semi-Permanent Cache Occupancy"
 * (ICPP 2018): between two searches the application's own data pushes the matching queues out of
 * the caches; a thread on a core that shares a cache reads one word of each of their lines, sleeps
 * for a period, and repeats. What is heated: the key lines of all nodes in use of an arena
 * (llamatch_pool.h), and before them what a search touches first, the engines and peers that these
 * nodes belong to (llamatch_touch.h). Where the thread runs is the caller's choice
 * (llamatch_cores.h).
 *
 * What the paper calls the challenges, and what is done about them:
 *  - Memory that goes away. The arena is pinned as long as it has a heater.
 *  - Locks. Those who use the arena never take the heater's mutex, nor does the heater take one of
 *    theirs: it sees them through atomics only.
 *  - Disturbance. A cap on the bytes of a pass; a pause that the caller asks for (counted); and a
 *    pause of its own while no queue of the process has an entry. One number tells: in a pinned
 *    arena only queues with entries have nodes. Then it only looks once per period or
 *    LLAMATCH_HEATER_NAP_NS, whichever is longer, whether there is something again.
 *
 * This is the one part of the core that reads a clock and sleeps. It blocks all signals in its
 * thread. A child of fork has no such thread: there all calls do nothing, and destroy only frees.
 *
 * All functions may be called from any thread but the heater's own, destroy from the last user.
 *
 * Invariant (llamatch_heater_verify returns 1 when it is broken):
 *  I1 interrupt is set exactly while the heater is to stop or to pause.
 */
#ifndef LLAMATCH_HEATER_H
#define LLAMATCH_HEATER_H

#include "llamatch_memory.h"
#include "llamatch_pool.h"
#include "llamatch_touch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct llamatch_heater llamatch_heater_t;

/** How long a heater that found nothing in use sleeps at least: 1000 looks per second. */
#define LLAMATCH_HEATER_NAP_NS UINT64_C(1000000)

/** What a heater is made of. */
typedef struct llamatch_heater_config {
    llamatch_pool_t *pool; /**< what is heated; it outlives the heater */
    llamatch_hot_t *hot;   /**< and this; forgotten whenever all queues are empty; may be NULL */
    uint64_t period_ns;    /**< sleep between two passes */
    size_t max_bytes;      /**< touched in one pass at most */
    llamatch_heat_t how;
    /** Called first in the thread, to bind it: 0, or anything else to give up. May be NULL. */
    int (*begin)(void *context);
    void *context;
} llamatch_heater_config_t;

/** What a heater did so far. */
typedef struct llamatch_heater_stats {
    uint64_t passes;
    uint64_t bytes_last; /**< of the last pass */
    uint64_t bytes_total;
    uint64_t ns_last; /**< duration of the last pass */
    uint64_t ns_total;
    bool paused;      /**< because somebody asked for it */
    bool self_paused; /**< because all queues are empty */
} llamatch_heater_stats_t;

/**
 * Start a heater.
 *
 * @return LLAMATCH_OK, LLAMATCH_ERR_NO_MEMORY, or LLAMATCH_ERR_SYSTEM when there is no thread to be
 *         had or begin() failed
 */
int llamatch_heater_create(const llamatch_heater_config_t *config, llamatch_heater_t **heater_out);

/** Stop it, wait for its end and unpin its arena. NULL is no error. */
void llamatch_heater_destroy(llamatch_heater_t *heater);

/** Heat nothing until resumed as many times. Returns at once. */
void llamatch_heater_pause(llamatch_heater_t *heater);

/** Undo one pause; without one, nothing happens. The next pass begins at once. */
void llamatch_heater_resume(llamatch_heater_t *heater);

/** Takes no lock. The other numbers are those of the last counted pass, or newer. */
void llamatch_heater_stats(const llamatch_heater_t *heater, llamatch_heater_stats_t *stats);

/** @return 0, or 1 when the invariant is broken */
int llamatch_heater_verify(const llamatch_heater_t *heater);

#endif /* LLAMATCH_HEATER_H */
