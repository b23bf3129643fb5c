/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The lock of a window.
 */
#include "osc_cached_lock.h"

void osc_cached_lock_init(osc_cached_lock_t *lock)
{
    *lock = (osc_cached_lock_t){.shared = 0};
    osc_cached_list_init(&lock->queue);
}

static bool is_possible(const osc_cached_lock_t *lock, bool exclusive)
{
    return !lock->exclusive && (0 == lock->shared || !exclusive);
}

static void take(osc_cached_lock_t *lock, uint64_t origin, bool exclusive)
{
    if (exclusive) {
        lock->exclusive = true;
        lock->owner = origin;
    } else {
        ++lock->shared;
    }
}

bool osc_cached_lock_try(osc_cached_lock_t *lock, uint64_t origin, bool exclusive)
{
    if (!osc_cached_list_is_empty(&lock->queue) || !is_possible(lock, exclusive)) {
        return false;
    }
    take(lock, origin, exclusive);
    return true;
}

void osc_cached_lock_wait(osc_cached_lock_t *lock, osc_cached_waiter_t *waiter)
{
    osc_cached_list_add(&lock->queue, &waiter->link);
}

bool osc_cached_lock_release(osc_cached_lock_t *lock, uint64_t origin)
{
    if (lock->exclusive) {
        if (origin != lock->owner) {
            return false;
        }
        lock->exclusive = false;
        return true;
    }
    if (0 == lock->shared) {
        return false;
    }
    --lock->shared;
    return true;
}

osc_cached_waiter_t *osc_cached_lock_next(osc_cached_lock_t *lock)
{
    osc_cached_waiter_t *waiter;

    if (osc_cached_list_is_empty(&lock->queue)) {
        return NULL;
    }
    waiter = OSC_CACHED_LIST_OF(lock->queue.next, osc_cached_waiter_t, link);
    if (!is_possible(lock, waiter->exclusive)) {
        return NULL;
    }
    take(lock, waiter->origin, waiter->exclusive);
    osc_cached_list_remove(&waiter->link);
    return waiter;
}

osc_cached_waiter_t *osc_cached_lock_overtake(osc_cached_lock_t *lock, uint64_t limit)
{
    if (lock->exclusive) {
        return NULL;
    }
    for (osc_cached_link_t *link = lock->queue.next; link != &lock->queue; link = link->next) {
        osc_cached_waiter_t *waiter = OSC_CACHED_LIST_OF(link, osc_cached_waiter_t, link);

        if (waiter->since >= limit) { /* as all behind it */
            return NULL;
        }
        if (!waiter->exclusive) {
            take(lock, waiter->origin, false);
            osc_cached_list_remove(&waiter->link);
            return waiter;
        }
    }
    return NULL;
}

osc_cached_waiter_t *osc_cached_lock_forget(osc_cached_lock_t *lock)
{
    osc_cached_waiter_t *waiter;

    if (osc_cached_list_is_empty(&lock->queue)) {
        return NULL;
    }
    waiter = OSC_CACHED_LIST_OF(lock->queue.next, osc_cached_waiter_t, link);
    osc_cached_list_remove(&waiter->link);
    return waiter;
}

int osc_cached_lock_verify(const osc_cached_lock_t *lock)
{
    if (lock->exclusive && 0 < lock->shared) {
        return 1;
    }
    if (!osc_cached_list_is_empty(&lock->queue)
        && is_possible(
            lock, OSC_CACHED_LIST_OF(lock->queue.next, osc_cached_waiter_t, link)->exclusive)) {
        return 2;
    }
    return 0;
}
