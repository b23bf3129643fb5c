/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The targets of a window with a helper: access, locks, which way puts and gets go.
 */

#ifndef OSC_CACHED_HELPER_TARGET_H
#define OSC_CACHED_HELPER_TARGET_H

#include <stdatomic.h>

#include "ompi/constants.h"

#include "osc_cached_params.h"
#include "osc_cached_helper_window.h"

BEGIN_C_DECLS

static inline void ompi_osc_cached_targets_lock(ompi_osc_cached_helper_t *helper)
{
    if (helper->threaded) {
        opal_mutex_lock(&helper->lock);
    }
}

static inline void ompi_osc_cached_targets_unlock(ompi_osc_cached_helper_t *helper)
{
    if (helper->threaded) {
        opal_mutex_unlock(&helper->lock);
    }
}

/** The targets that we have to do with: the first one, and then next of each, which needs no lock.
 * @return NULL: there is none */
static inline ompi_osc_cached_helper_target_t *
ompi_osc_cached_targets_first(ompi_osc_cached_helper_t *helper)
{
    return atomic_load_explicit(&helper->first, memory_order_acquire);
}

/** The target that was asked for last.  @return NULL: it was another one */
static inline ompi_osc_cached_helper_target_t *
ompi_osc_cached_helper_last(ompi_osc_cached_helper_t *helper, int rank)
{
    ompi_osc_cached_helper_target_t *target =
        atomic_load_explicit(&helper->last, memory_order_acquire);

    return (NULL != target && rank == target->rank) ? target : NULL;
}

/** Another one, new or known.  @return NULL: no memory, or it cannot be reached */
ompi_osc_cached_helper_target_t *ompi_osc_cached_helper_find(ompi_osc_cached_helper_t *helper,
                                                             int rank);

/** Any target. */
static inline ompi_osc_cached_helper_target_t *
ompi_osc_cached_helper_target(ompi_osc_cached_helper_t *helper, int rank)
{
    ompi_osc_cached_helper_target_t *target = ompi_osc_cached_helper_last(helper, rank);

    return OPAL_LIKELY(NULL != target) ? target : ompi_osc_cached_helper_find(helper, rank);
}

/**
 * Before an operation of the helper: is there an epoch for it, and the lock that belongs to it?
 *
 * @param[out] target  NULL: the operation is the inner component's, in this epoch
 */
int ompi_osc_cached_helper_access(ompi_osc_cached_helper_t *helper, int rank,
                                  ompi_osc_cached_helper_target_t **target);
/** Has this rank died, in a job that goes on then?  The inner component would wait for it. */
bool ompi_osc_cached_helper_has_lost(const ompi_osc_cached_helper_t *helper, int rank);
/** The epoch of the inner component, which may have to begin. */
int ompi_osc_cached_helper_inner_begin(ompi_osc_cached_helper_t *helper, int rank,
                                       ompi_osc_cached_helper_target_t **target);
/**
 * The same before an operation of the inner component.
 *
 * @param[out] target  NULL: the epoch is not a passive one
 */
static inline int ompi_osc_cached_helper_inner_access(ompi_osc_cached_helper_t *helper, int rank,
                                                      ompi_osc_cached_helper_target_t **target)
{
    *target = ompi_osc_cached_helper_last(helper, rank);
    /* in an epoch of MPI_Win_lock_all it began before */
    return (!helper->threaded && helper->inner_all && NULL != *target
            && ((*target)->held || !helper->all_locks))
               ? OMPI_SUCCESS
               : ompi_osc_cached_helper_inner_begin(helper, rank, target);
}
/** And after it, in a passive epoch: a flush of another thread that began before it does not
 * complete it. */
static inline void ompi_osc_cached_helper_inner_issued(ompi_osc_cached_helper_t *helper,
                                                       ompi_osc_cached_helper_target_t *target,
                                                       uint64_t bytes)
{
    ompi_osc_cached_targets_lock(helper);
    target->issued = ++helper->sequence;
    ++target->count;
    target->bytes += bytes;
    if (OSC_CACHED_PRESENCE_UNKNOWN == target->presence.state) {
        target->issued_at = ompi_osc_cached_now();
    }
    ompi_osc_cached_targets_unlock(helper);
}

/** Is there a choice for puts and gets? */
static inline bool ompi_osc_cached_helper_has_choice(const ompi_osc_cached_helper_t *helper,
                                                     bool contiguous)
{
    switch (ompi_osc_cached_params.helper_transfers) {
    case OSC_CACHED_TRANSFERS_COST:
        return !contiguous || 0 < helper->locks
               || 0 < atomic_load_explicit(&helper->away, memory_order_relaxed);
    default:
        return OSC_CACHED_TRANSFERS_HELPER == ompi_osc_cached_params.helper_transfers;
    }
}

/** The way for a put or a get at a target that the helper has access to. */
osc_cached_way_t ompi_osc_cached_helper_route(ompi_osc_cached_helper_t *helper,
                                              ompi_osc_cached_helper_target_t *target,
                                              uint64_t blocks, uint64_t bytes);

/** Take the lock of a target at its helper, and give it back if we have it. Targets are not locked:
 * how long another process holds it may depend on what other threads do with them. */
int ompi_osc_cached_target_hold(ompi_osc_cached_helper_t *helper,
                                ompi_osc_cached_helper_target_t *target, bool exclusive);
int ompi_osc_cached_target_let_go(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target);

/** A flush of the helper, which is measured while it does the work of both. */
int ompi_osc_cached_target_flush(ompi_osc_cached_helper_t *helper,
                                 ompi_osc_cached_helper_target_t *target, bool local);

/** The same of all targets, whose time is nobody's own. */
int ompi_osc_cached_targets_flush(ompi_osc_cached_helper_t *helper);
int ompi_osc_cached_targets_flush_local(ompi_osc_cached_helper_t *helper);

/** An operation was sent to the helper: a flush that began before does not complete it. */
static inline void ompi_osc_cached_target_sent(ompi_osc_cached_helper_target_t *target)
{
    atomic_fetch_add_explicit(&target->sent, 1, memory_order_release);
}

/** Has the helper something to flush? */
static inline bool ompi_osc_cached_target_asked(const ompi_osc_cached_helper_target_t *target)
{
    return atomic_load_explicit(&target->sent, memory_order_acquire)
           != atomic_load_explicit(&target->done, memory_order_relaxed);
}

/* Targets are locked: */

/** Has the inner component something to flush at a target? */
static inline bool ompi_osc_cached_target_is_pending(const ompi_osc_cached_helper_t *helper,
                                                     const ompi_osc_cached_helper_target_t *target)
{
    return target->flushed < target->issued && helper->flushed < target->issued;
}

/** Is it of interest how long a flush of the inner component takes?  Operations of several blocks
 * take long without waiting for anybody. */
static inline bool ompi_osc_cached_target_is_watched(const ompi_osc_cached_helper_target_t *target)
{
    return OSC_CACHED_PRESENCE_DIRECT != target->presence.state
           && 0 == target->route.units[OSC_CACHED_ROUTE_INNER];
}

/** A flush of the inner component has ended: did it wait for the target?
 * @param begin  of it; 0: that is of no interest */
void ompi_osc_cached_target_judge(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target, uint64_t begin);
/** The same for all targets of which something was pending.  @param begin  always a time */
void ompi_osc_cached_targets_judge(ompi_osc_cached_helper_t *helper, uint64_t begin);
/** What was sent to a target is complete. */
static inline void ompi_osc_cached_target_end_batch(ompi_osc_cached_helper_target_t *target)
{
    if (0 == target->route.operations) {
        return;
    }
    if (0 == target->began) {
        osc_cached_route_passed(&target->route);
    } else {
        osc_cached_route_flushed(&target->route, ompi_osc_cached_now() - target->began);
    }
}

/* Targets are not locked: */

/** All will be complete, after a flush of all, whose time is nobody's own: batches are forgotten, but
 * for trials, of which it says how long they take at most.  @param local  those, too */
void ompi_osc_cached_targets_forget(ompi_osc_cached_helper_t *helper, bool local);
/** It has ended, and so have the trials. */
void ompi_osc_cached_targets_end_batch(ompi_osc_cached_helper_t *helper);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_TARGET_H */
