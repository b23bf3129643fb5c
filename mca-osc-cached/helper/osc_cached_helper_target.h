/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The targets of a window with a helper: access, locks, which way puts and gets go.
 */

#ifndef OSC_CACHED_HELPER_TARGET_H
#define OSC_CACHED_HELPER_TARGET_H

#include <stdatomic.h>

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

/** The next target that we have to do with, from a place on.  @return NULL: there is no more */
static inline ompi_osc_cached_helper_target_t *
ompi_osc_cached_targets_next(ompi_osc_cached_helper_t *helper, uint32_t *place)
{
    while (*place < helper->targets.cells) {
        ompi_osc_cached_helper_target_t *target = helper->targets.cell[(*place)++].value;

        if (NULL != target) {
            return target;
        }
    }
    return NULL;
}

/** A target, new or known.  @return NULL: no memory, or it cannot be reached */
ompi_osc_cached_helper_target_t *ompi_osc_cached_helper_target(ompi_osc_cached_helper_t *helper,
                                                               int rank);

/**
 * Before an operation of the helper: is there an epoch for it, and the lock that belongs to it?
 *
 * @param[out] target  NULL: the operation is the inner component's, in this epoch
 */
int ompi_osc_cached_helper_access(ompi_osc_cached_helper_t *helper, int rank,
                                  ompi_osc_cached_helper_target_t **target);
/**
 * The same before an operation of the inner component.
 *
 * @param[out] target  NULL: the epoch is not a passive one
 */
int ompi_osc_cached_helper_inner_access(ompi_osc_cached_helper_t *helper, int rank,
                                        ompi_osc_cached_helper_target_t **target);
/** And after it, in a passive epoch. */
void ompi_osc_cached_helper_inner_issued(ompi_osc_cached_helper_t *helper,
                                         ompi_osc_cached_helper_target_t *target, uint64_t bytes);

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

/** Take the lock of a target at its helper, and give it back if we have it. */
int ompi_osc_cached_target_hold(ompi_osc_cached_helper_t *helper,
                                ompi_osc_cached_helper_target_t *target, bool exclusive);
int ompi_osc_cached_target_let_go(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target);

/** A flush of the helper, which is measured while it does the work of both. */
int ompi_osc_cached_target_flush(ompi_osc_cached_helper_t *helper,
                                 ompi_osc_cached_helper_target_t *target, bool local);

/** When a flush of the inner component begins, where that is of interest. */
static inline uint64_t ompi_osc_cached_helper_flush_begins(const ompi_osc_cached_helper_t *helper)
{
    return helper->one_sided ? 0 : ompi_osc_cached_now();
}

/* Targets are locked: */

/** Has the inner component something to flush at a target? */
static inline bool ompi_osc_cached_target_is_pending(const ompi_osc_cached_helper_t *helper,
                                                     const ompi_osc_cached_helper_target_t *target)
{
    return target->flushed < target->issued && helper->flushed < target->issued;
}

/** A flush of the inner component has ended: did it wait for the target? */
void ompi_osc_cached_target_judge(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target, uint64_t begin);
/** The same for all targets of which something was pending. */
void ompi_osc_cached_targets_judge(ompi_osc_cached_helper_t *helper, uint64_t begin);
/** What was sent to a target is complete. */
void ompi_osc_cached_target_end_batch(ompi_osc_cached_helper_target_t *target);

/** All is complete, by a flush of all, whose time is nobody's own; targets are not locked. */
void ompi_osc_cached_targets_forget(ompi_osc_cached_helper_t *helper);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_TARGET_H */
