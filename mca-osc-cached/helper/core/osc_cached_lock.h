/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The lock of a window at its target: any number of shared holders or one exclusive holder, and a
 * queue in the order of the requests.
 *
 *     FREE       nobody has it               the queue is empty
 *     SHARED     shared > 0                  the first of the queue, if any, is exclusive
 *     EXCLUSIVE  owner has it
 *
 * A shared request behind a waiting exclusive one waits as well, but not for ever: the exclusive
 * one may wait for somebody who waits for the shared one, by a lock of another target or by a
 * message (test/model/locks.pml). Shared requests that are old overtake: after that nobody waits
 * who would not wait if shared requests were granted whenever there is no exclusive holder. Shared
 * requests at the head of the queue are granted together. A shared holder is a number, not a name:
 * a million of them take no memory.
 *
 * Invariants (osc_cached_lock_verify returns the number of the first broken one):
 *  I1 there is an exclusive holder or there are shared ones, or none.
 *  I2 the first of the queue cannot be granted.
 */
#ifndef OSC_CACHED_LOCK_H
#define OSC_CACHED_LOCK_H

#include "osc_cached_list.h"

#include <stdint.h>

typedef struct osc_cached_lock {
    uint64_t shared; /**< shared holders */
    uint64_t owner;  /**< the exclusive holder */
    bool exclusive;  /**< there is one */
    bool dead;       /**< and it has died; the caller asks for the lock no more */
    osc_cached_link_t queue;
} osc_cached_lock_t;

/** Who waits for it; the caller's memory. */
typedef struct osc_cached_waiter {
    osc_cached_link_t link;
    uint64_t origin;
    uint64_t token; /**< the caller's */
    uint64_t since; /**< the caller's time */
    bool exclusive;
} osc_cached_waiter_t;

void osc_cached_lock_init(osc_cached_lock_t *lock);

/** Take the lock, if that is possible at once and nobody waits. @return whether it was */
bool osc_cached_lock_try(osc_cached_lock_t *lock, uint64_t origin, bool exclusive);

/** Wait for it. To be called when osc_cached_lock_try has failed. */
void osc_cached_lock_wait(osc_cached_lock_t *lock, osc_cached_waiter_t *waiter);

/** Give it back. @return whether this origin can have had it */
bool osc_cached_lock_release(osc_cached_lock_t *lock, uint64_t origin);

/** After a release: who has it now, one at a time, out of the queue; NULL when there is no more. */
osc_cached_waiter_t *osc_cached_lock_next(osc_cached_lock_t *lock);

/** Who waits for a shared lock since before @p limit, and has it now, one at a time, out of the
 * queue; NULL when there is no more. */
osc_cached_waiter_t *osc_cached_lock_overtake(osc_cached_lock_t *lock, uint64_t limit);

/** The first waiter, out of the queue without the lock; NULL when there is none. */
osc_cached_waiter_t *osc_cached_lock_forget(osc_cached_lock_t *lock);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_lock_verify(const osc_cached_lock_t *lock);

#endif /* OSC_CACHED_LOCK_H */
