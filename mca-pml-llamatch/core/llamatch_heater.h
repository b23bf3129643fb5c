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
 * for a period, and repeats. What is heated: arenas (the key lines of their nodes in use) and plain
 * regions of memory. Where the thread runs is the caller's choice (llamatch_cores.h).
 *
 * What the paper calls the challenges, and what is done about them:
 *  - Memory that goes away. An arena is pinned as long as the heater knows it. Removing a region
 *    or an arena returns when the heater no longer reads it: within 64 KiB of reading.
 *  - Locks. The heater has a mutex of its own, which it releases while it reads. Those who use the
 *    memory never take it and are never waited for; they are seen through atomics only.
 *  - Disturbance. A cap on the bytes of a pass; a pause that the caller asks for (counted); and a
 *    pause of its own while nothing is in use, in which it only looks once per period or
 *    LLAMATCH_HEATER_NAP_NS, whichever is longer, whether there is something again.
 *
 * This is the one part of the core that reads a clock and sleeps. It blocks all signals in its
 * thread. A child of fork has no such thread: there all calls do nothing, and destroy only frees.
 *
 * All functions may be called from any thread but the heater's own, destroy from the last user.
 *
 * Invariants (llamatch_heater_verify returns the number of the first broken one):
 *  I1 num_targets is the number of targets in use; each is an arena or a region, not both.
 *  I2 current is -1 or a place in the table of targets.
 *  I3 interrupt is set exactly while the heater is to stop or to pause, or reads a target that was
 *     removed.
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
    uint64_t period_ns; /**< sleep between two passes; 0: none */
    size_t max_bytes;   /**< touched in one pass at most, in the order of registration */
    llamatch_heat_t how;
    /** Called first in the thread, to bind it: 0, or anything else to give up. May be NULL. */
    int (*begin)(void *context);
    void *begin_context;
    /**
     * Has a queue entries? If not, no arena is heated. Asked by the thread before each pass, with
     * the heater locked. NULL: when a node is in use.
     */
    bool (*busy)(void *context);
    void *busy_context;
} llamatch_heater_config_t;

/** What a heater did so far. */
typedef struct llamatch_heater_stats {
    uint64_t passes;
    uint64_t bytes_last; /**< of the last pass */
    uint64_t bytes_total;
    uint64_t ns_last; /**< duration of the last pass */
    uint64_t ns_total;
    bool paused;      /**< because somebody asked for it */
    bool self_paused; /**< because nothing is in use */
} llamatch_heater_stats_t;

/**
 * Start a heater.
 *
 * @param allocator  NULL for libc's
 * @return LLAMATCH_OK, LLAMATCH_ERR_NO_MEMORY, or LLAMATCH_ERR_SYSTEM when there is no thread to be
 *         had or begin() failed
 */
int llamatch_heater_create(const llamatch_heater_config_t *config,
                           const llamatch_allocator_t *allocator, llamatch_heater_t **heater_out);

/** Stop it, wait for its end and unpin its arenas. NULL is no error. */
void llamatch_heater_destroy(llamatch_heater_t *heater);

/**
 * Heat an arena, and pin it until it is removed.
 *
 * @return LLAMATCH_OK with a name for it in id_out, or LLAMATCH_ERR_NO_MEMORY, or
 *         LLAMATCH_ERR_SYSTEM in a child of fork
 */
int llamatch_heater_add_pool(llamatch_heater_t *heater, llamatch_pool_t *pool, int *id_out);

/** The same for plain memory, which must stay readable until it is removed. */
int llamatch_heater_add_region(llamatch_heater_t *heater, const void *address, size_t bytes,
                               int *id_out);

/** Heat this arena or region no longer. When this returns, the heater does not read it. */
void llamatch_heater_remove(llamatch_heater_t *heater, int id);

/** Leave this arena or region out, or no longer. Not counted. */
void llamatch_heater_pause_target(llamatch_heater_t *heater, int id, bool paused);

/** Heat nothing until resumed as many times. Returns at once. */
void llamatch_heater_pause(llamatch_heater_t *heater);

/** Undo one pause; without one, nothing happens. The next pass begins at once. */
void llamatch_heater_resume(llamatch_heater_t *heater);

void llamatch_heater_set_period(llamatch_heater_t *heater, uint64_t period_ns);
void llamatch_heater_set_max_bytes(llamatch_heater_t *heater, size_t max_bytes);

/** Takes no lock. The other numbers are those of the last counted pass, or newer. */
void llamatch_heater_stats(const llamatch_heater_t *heater, llamatch_heater_stats_t *stats);

/** @return 0, or the number of the first broken invariant of this file */
int llamatch_heater_verify(const llamatch_heater_t *heater);

#endif /* LLAMATCH_HEATER_H */
