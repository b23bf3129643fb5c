/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The access epoch of a window, and which one follows when a synchronisation has succeeded:
 *
 *               access to       fence  last   start  complete  lock   last    lock_all  unlock_all
 *                                      fence                          unlock
 *     NONE      nobody          FENCE  NONE   START  -         LOCK   -       LOCK_ALL  NONE +
 *     FENCE     every target    FENCE  NONE   START  -         LOCK   -       LOCK_ALL  NONE +
 *     START     its group       FENCE  NONE   START  NONE      LOCK   -       LOCK_ALL  NONE +
 *     LOCK      locked targets  FENCE  NONE   START  -         LOCK   NONE    LOCK_ALL  LOCK
 *     LOCK_ALL  every target    FENCE  NONE   START  -         MIXED  -       LOCK_ALL  NONE +
 *     MIXED     locked targets  FENCE  NONE   START  -         MIXED  -       LOCK_ALL  NONE +
 *
 * -: nothing changes, as after an unlock that is not the last one.  +: LOCK while targets are
 * locked by MPI_Win_lock, as in LOCK they always are (osc/rdma and osc/pt2pt allow both at a time).
 *
 * Whether a call is an error is for the inner component to say; the table tells what follows when
 * it is not.  No correct program comes to MIXED: after it lock_all may still give access to the
 * other targets, or not any more.
 */
#ifndef OSC_CACHED_EPOCH_H
#define OSC_CACHED_EPOCH_H

#include <stdbool.h>

typedef enum {
    OSC_CACHED_EPOCH_NONE,
    OSC_CACHED_EPOCH_FENCE,
    OSC_CACHED_EPOCH_START,    /**< MPI_Win_start */
    OSC_CACHED_EPOCH_LOCK,     /**< MPI_Win_lock, of one or more targets; from here on: passive */
    OSC_CACHED_EPOCH_LOCK_ALL, /**< MPI_Win_lock_all */
    OSC_CACHED_EPOCH_MIXED,    /**< MPI_Win_lock after MPI_Win_lock_all */
} osc_cached_epoch_t;

/** Synchronisations that may change it. */
typedef enum {
    OSC_CACHED_EVENT_FENCE,
    OSC_CACHED_EVENT_LAST_FENCE, /**< MPI_MODE_NOSUCCEED */
    OSC_CACHED_EVENT_START,
    OSC_CACHED_EVENT_COMPLETE,
    OSC_CACHED_EVENT_LOCK,
    OSC_CACHED_EVENT_UNLOCK,
    OSC_CACHED_EVENT_LOCK_ALL,
    OSC_CACHED_EVENT_UNLOCK_ALL,
} osc_cached_event_t;

static inline bool osc_cached_epoch_is_active(osc_cached_epoch_t epoch)
{
    return OSC_CACHED_EPOCH_FENCE == epoch || OSC_CACHED_EPOCH_START == epoch;
}

static inline bool osc_cached_epoch_is_passive(osc_cached_epoch_t epoch)
{
    return OSC_CACHED_EPOCH_LOCK <= epoch;
}

/** Every target may be accessed. */
static inline bool osc_cached_epoch_has_all(osc_cached_epoch_t epoch)
{
    return OSC_CACHED_EPOCH_FENCE == epoch || OSC_CACHED_EPOCH_LOCK_ALL == epoch;
}

/**
 * The epoch after a synchronisation that has succeeded.
 *
 * @param num_locks  targets that are locked by MPI_Win_lock after it
 */
static inline osc_cached_epoch_t osc_cached_epoch_next(osc_cached_epoch_t epoch,
                                                       osc_cached_event_t event, int num_locks)
{
    switch (event) {
    case OSC_CACHED_EVENT_FENCE:
        return OSC_CACHED_EPOCH_FENCE;
    case OSC_CACHED_EVENT_LAST_FENCE:
        return OSC_CACHED_EPOCH_NONE;
    case OSC_CACHED_EVENT_START:
        return OSC_CACHED_EPOCH_START;
    case OSC_CACHED_EVENT_COMPLETE:
        return (OSC_CACHED_EPOCH_START == epoch) ? OSC_CACHED_EPOCH_NONE : epoch;
    case OSC_CACHED_EVENT_LOCK:
        return (OSC_CACHED_EPOCH_LOCK_ALL <= epoch) ? OSC_CACHED_EPOCH_MIXED
                                                    : OSC_CACHED_EPOCH_LOCK;
    case OSC_CACHED_EVENT_UNLOCK:
        return (OSC_CACHED_EPOCH_LOCK == epoch && 0 == num_locks) ? OSC_CACHED_EPOCH_NONE : epoch;
    case OSC_CACHED_EVENT_LOCK_ALL:
        return OSC_CACHED_EPOCH_LOCK_ALL;
    case OSC_CACHED_EVENT_UNLOCK_ALL:
        return (0 < num_locks) ? OSC_CACHED_EPOCH_LOCK : OSC_CACHED_EPOCH_NONE;
    }
    return epoch;
}

#endif /* OSC_CACHED_EPOCH_H */
