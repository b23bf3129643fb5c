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

static bool is_possible(const osc_cached_lock_t *lock, osc_cached_lock_kind_t kind)
{
    return !lock->exclusive && (0 == lock->shared || OSC_CACHED_LOCK_EXCLUSIVE != kind);
}

static void take(osc_cached_lock_t *lock, uint64_t origin, osc_cached_lock_kind_t kind)
{
    if (OSC_CACHED_LOCK_EXCLUSIVE == kind) {
        lock->exclusive = true;
        lock->owner = origin;
    } else {
        ++lock->shared;
    }
}

bool osc_cached_lock_try(osc_cached_lock_t *lock, uint64_t origin, osc_cached_lock_kind_t kind)
{
    if ((OSC_CACHED_LOCK_URGENT != kind && !osc_cached_list_is_empty(&lock->queue))
        || !is_possible(lock, kind)) {
        return false;
    }
    take(lock, origin, kind);
    return true;
}

void osc_cached_lock_wait(osc_cached_lock_t *lock, osc_cached_waiter_t *waiter)
{
    bool has_others =
        OSC_CACHED_LOCK_ANOTHER == waiter->kind || OSC_CACHED_LOCK_URGENT == waiter->kind;

    osc_cached_list_add(has_others ? lock->queue.next : &lock->queue, &waiter->link);
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
    if (!is_possible(lock, waiter->kind)) {
        return NULL;
    }
    take(lock, waiter->origin, waiter->kind);
    osc_cached_list_remove(&waiter->link);
    return waiter;
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
        && is_possible(lock,
                       OSC_CACHED_LIST_OF(lock->queue.next, osc_cached_waiter_t, link)->kind)) {
        return 2;
    }
    return 0;
}
