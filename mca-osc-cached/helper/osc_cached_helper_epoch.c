/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Epochs and flushes of a window with a helper.
 */

#include "ompi_config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "opal/runtime/opal_progress.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"

#include "osc_cached_compat.h"
#include "osc_cached_helper.h"
#include "osc_cached_helper_epoch.h"
#include "osc_cached_helper_target.h"
#include "storage/osc_cached_storage.h"

static bool is_passive(const ompi_osc_cached_helper_t *helper)
{
    return helper->all || 0 < helper->locks;
}

bool ompi_osc_cached_helper_has_failed(ompi_osc_cached_helper_t *helper, int rank)
{
    ompi_osc_cached_helper_target_t *target;
    bool failed = false;

    ompi_osc_cached_targets_lock(helper);
    for (target = ompi_osc_cached_targets_first(helper); !failed && NULL != target;
         target = target->next) {
        failed = (0 > rank || rank == target->rank) && target->failed
                 && ompi_osc_cached_target_is_pending(helper, target);
    }
    ompi_osc_cached_targets_unlock(helper);
    return failed;
}

/* Is something pending anywhere? */
static bool is_pending(ompi_osc_cached_helper_t *helper)
{
    ompi_osc_cached_helper_target_t *target;
    bool pending = false;

    ompi_osc_cached_targets_lock(helper);
    for (target = ompi_osc_cached_targets_first(helper); !pending && NULL != target;
         target = target->next) {
        pending = ompi_osc_cached_target_is_pending(helper, target);
    }
    ompi_osc_cached_targets_unlock(helper);
    return pending;
}

static int helper_fence(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    int flushed, ret;

    if (is_passive(helper)) {
        return OMPI_ERR_RMA_SYNC;
    }
    flushed = ompi_osc_cached_targets_flush(helper);
    ompi_osc_cached_targets_forget(helper, true);
    if (helper->starts_early) {
        mpi_assert &= ~MPI_MODE_NOPRECEDE; /* it would not wait for the others */
    }
    ret = helper->inner.osc_fence(mpi_assert, win);
    if (OMPI_SUCCESS == ret) {
        helper->fence = 0 == (mpi_assert & MPI_MODE_NOSUCCEED);
    }
    return ompi_osc_cached_helper_first_error(ret, flushed);
}

static int helper_start(struct ompi_group_t *group, int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    int size = ompi_group_size(group), ret;
    int *ranks;

    if (is_passive(helper)) {
        return OMPI_ERR_RMA_SYNC;
    }
    ranks = malloc((size_t) (2 * size + 1) * sizeof(*ranks));
    if (NULL == ranks) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int i = 0; i < size; ++i) {
        ranks[i] = i;
    }
    ret = ompi_group_translate_ranks(group, size, ranks, win->w_group, ranks + size);
    if (OMPI_SUCCESS == ret) {
        ompi_osc_cached_helper_give_back();
        ret = helper->inner.osc_start(group, mpi_assert, win);
    }
    helper->fence = helper->fence && OMPI_SUCCESS != ret;
    for (int i = 0; i < size && OMPI_SUCCESS == ret; ++i) {
        ompi_osc_cached_helper_target_t *target =
            ompi_osc_cached_helper_target(helper, ranks[size + i]);

        if (NULL == target) {
            ret = OMPI_ERR_OUT_OF_RESOURCE;
        } else {
            target->started = true;
            ++helper->started;
        }
    }
    free(ranks);
    return ret;
}

static int helper_complete(ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    int flushed = ompi_osc_cached_targets_flush(helper);
    int ret = helper->inner.osc_complete(win);
    ompi_osc_cached_helper_target_t *target;

    for (target = ompi_osc_cached_targets_first(helper);
         OMPI_SUCCESS == ret && 0 < helper->started && NULL != target; target = target->next) {
        helper->started -= target->started;
        target->started = false;
        osc_cached_route_forget(&target->route);
    }
    return ompi_osc_cached_helper_first_error(ret, flushed);
}

static int helper_post(struct ompi_group_t *group, int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_helper_give_back();
    return ompi_osc_cached_helper_of(win)->inner.osc_post(group, mpi_assert, win);
}

/* MPI_Win_wait of some components lets nothing else happen. Meanwhile a target may want its buffers
 * back, for the process that we wait for. */
static int helper_wait(ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    int flag = 0, ret = helper->inner.osc_test(win, &flag);

    while (OMPI_SUCCESS == ret && 0 == flag) {
        opal_progress();
        ret = helper->inner.osc_test(win, &flag);
    }
    return ret;
}

static int helper_lock(int type, int rank, int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    ompi_osc_cached_helper_target_t *target = ompi_osc_cached_helper_target(helper, rank);
    int ret = OMPI_SUCCESS;

    if (NULL == target) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (helper->all || 0 < helper->started || target->locked) {
        return OMPI_ERR_RMA_SYNC;
    }
    if (!(mpi_assert & MPI_MODE_NOCHECK)) {
        ret = ompi_osc_cached_target_hold(helper, target, MPI_LOCK_EXCLUSIVE == type);
    }
    if (OMPI_SUCCESS == ret) {
        ompi_osc_cached_targets_lock(helper);
        target->type = type;
        target->locked = true;
        ++target->epochs;
        ++helper->locks;
        helper->fence = false; /* there was no operation in it, and none may come */
        ompi_osc_cached_targets_unlock(helper);
    }
    return ret;
}

/* Has any process died that has had operations? */
static bool has_lost_any(ompi_osc_cached_helper_t *helper)
{
    const ompi_osc_cached_helper_target_t *target = NULL;

    if (ompi_osc_cached_survives_deaths()) {
        target = ompi_osc_cached_targets_first(helper);
    }
    while (NULL != target && !ompi_osc_cached_helper_has_lost(helper, target->rank)) {
        target = target->next;
    }
    return NULL != target;
}

/* The inner component's part of a flush of one target, if it has something to do there. */
static int flush_inner(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target,
                       bool local, ompi_osc_base_module_flush_fn_t inner_flush)
{
    uint64_t issued, begin = 0;
    bool pending, watched, lost;
    int ret = OMPI_SUCCESS;

    ompi_osc_cached_targets_lock(helper);
    pending = ompi_osc_cached_target_is_pending(helper, target);
    issued = target->issued;
    watched = pending && ompi_osc_cached_target_is_watched(target);
    ompi_osc_cached_targets_unlock(helper);
    lost = pending && ompi_osc_cached_helper_has_lost(helper, target->rank);
    if (lost) {
        ret = OSC_CACHED_ERR_DEAD;
    } else if (pending) {
        begin = watched ? ompi_osc_cached_now() : 0;
        ret = inner_flush(target->rank, helper->win);
    } else {
        ompi_osc_cached_helper_was_quiet(helper);
    }
    ompi_osc_cached_targets_lock(helper);
    if (pending) {
        ompi_osc_cached_target_judge(helper, target, begin);
        target->failed = !lost && OMPI_SUCCESS != ret && OMPI_ERR_RMA_SYNC != ret;
    }
    if (!local) {
        if (OMPI_SUCCESS == ret && target->flushed < issued) {
            target->flushed = issued;
        }
        ompi_osc_cached_target_end_batch(target);
    }
    ompi_osc_cached_targets_unlock(helper);
    return ret;
}

/* The same of all targets, one by one: a process that has died is not waited for, and the epoch
 * that has the operations goes on. */
static int flush_each(ompi_osc_cached_helper_t *helper, bool local)
{
    ompi_osc_base_module_flush_fn_t inner_flush =
        local ? helper->inner.osc_flush_local : helper->inner.osc_flush;
    ompi_osc_cached_helper_target_t *target;
    int ret = OMPI_SUCCESS;

    for (target = ompi_osc_cached_targets_first(helper); NULL != target; target = target->next) {
        int one = flush_inner(helper, target, local, inner_flush);

        if (OMPI_ERR_RMA_SYNC != one) { /* else another thread has unlocked it meanwhile */
            ret = ompi_osc_cached_helper_first_error(ret, one);
        }
    }
    return ret;
}

/* A flush of one target: at the helper, and at the inner component.  Without an epoch that one
 * finds the error. */
static int flush(ompi_osc_cached_helper_t *helper, int rank, bool local,
                 ompi_osc_base_module_flush_fn_t inner_flush)
{
    ompi_osc_cached_helper_target_t *target = ompi_osc_cached_helper_last(helper, rank);
    int flushed = OMPI_SUCCESS;

    if (NULL == target) {
        ompi_osc_cached_targets_lock(helper);
        target = osc_cached_map_get(&helper->targets, (uint64_t) rank, 0);
        ompi_osc_cached_targets_unlock(helper);
    }
    if (!helper->all && (NULL == target || !target->locked)) {
        return inner_flush(rank, helper->win);
    }
    if (NULL == target) { /* nothing was ever done there */
        ompi_osc_cached_helper_was_quiet(helper);
        return OMPI_SUCCESS;
    }
    if (ompi_osc_cached_target_asked(target)) {
        flushed = ompi_osc_cached_target_flush(helper, target, local);
    }
    return ompi_osc_cached_helper_first_error(flush_inner(helper, target, local, inner_flush),
                                              flushed);
}

static int helper_unlock(int rank, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    ompi_osc_cached_helper_target_t *target = ompi_osc_cached_helper_target(helper, rank);
    int flushed, ret = OMPI_SUCCESS;
    uint64_t begin;

    if (NULL == target) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (!target->locked) {
        return OMPI_ERR_RMA_SYNC;
    }
    ompi_osc_cached_helper_was_quiet(helper);
    if (!target->inner && !helper->inner_all) {
        /* the helper's operations are done before it: all ends together */
        ret = ompi_osc_cached_target_let_go(helper, target);
    }
    flushed = ompi_osc_cached_target_flush(helper, target, false);
    ompi_osc_cached_targets_lock(helper);
    begin = ompi_osc_cached_target_is_watched(target) ? ompi_osc_cached_now() : 0;
    ompi_osc_cached_targets_unlock(helper);
    if (target->inner || helper->inner_all) {
        ret = ompi_osc_cached_helper_has_lost(helper, rank) ? OSC_CACHED_ERR_DEAD
              : target->inner                               ? helper->inner.osc_unlock(rank, win)
                                                            : helper->inner.osc_flush(rank, win);
    }
    ompi_osc_cached_targets_lock(helper);
    if (ompi_osc_cached_target_is_pending(helper, target)) {
        ompi_osc_cached_target_judge(helper, target, begin);
    }
    target->locked = false;
    target->inner = false;
    target->flushed = target->issued;
    target->failed = false;
    ompi_osc_cached_target_end_batch(target);
    --helper->locks;
    ompi_osc_cached_targets_unlock(helper);
    return ompi_osc_cached_helper_first_error(
        ompi_osc_cached_helper_first_error(ret, ompi_osc_cached_target_let_go(helper, target)),
        flushed);
}

/* Others are locked when they are first used. Our own memory is used by loads and stores, too, of
 * which nobody tells. */
static int helper_lock_all(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    ompi_osc_cached_helper_target_t *own;
    int ret;

    if (is_passive(helper) || 0 < helper->started) {
        return OMPI_ERR_RMA_SYNC;
    }
    helper->all = true;
    helper->all_locks = 0 == (mpi_assert & MPI_MODE_NOCHECK);
    helper->fence = false;
    if (!helper->all_locks || 0 == helper->mine.size) {
        return OMPI_SUCCESS;
    }
    ret = ompi_osc_cached_helper_access(helper, helper->rank, &own);
    if (OSC_CACHED_ERR_DEAD == ret) {
        ret = OMPI_SUCCESS; /* who had it has died; what is reached of others may go on */
    }
    if (OMPI_SUCCESS != ret) {
        helper->all = helper->all_locks = false;
    }
    return ret;
}

/* May the inner component's flush of all leave something undone, in this epoch? */
static bool leaves_some(const ompi_osc_cached_helper_t *helper)
{
    return ompi_osc_cached_flush_is_partial(helper->window)
           && (OSC_CACHED_FLUSH_LOCKED != helper->window->flush_first || !helper->all);
}

static int helper_unlock_all(ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    ompi_osc_cached_helper_target_t *target;
    int flushed, ret = OMPI_SUCCESS;

    if (!helper->all) {
        return OMPI_ERR_RMA_SYNC;
    }
    ompi_osc_cached_helper_was_quiet(helper);
    flushed = ompi_osc_cached_targets_flush(helper);
    ompi_osc_cached_targets_forget(helper, false);
    if (helper->inner_all && has_lost_any(helper)) {
        ret = flush_each(helper, false);
    } else if (helper->inner_all) {
        uint64_t begin;

        ret = leaves_some(helper) ? flush_each(helper, false) : OMPI_SUCCESS;
        begin = ompi_osc_cached_now();
        ret = ompi_osc_cached_helper_first_error(helper->inner.osc_unlock_all(win), ret);
        ompi_osc_cached_targets_judge(helper, begin);
        helper->inner_all = false;
    }
    helper->all = false;
    helper->all_locks = false;
    for (target = ompi_osc_cached_targets_first(helper); NULL != target; target = target->next) {
        target->flushed = target->issued;
        target->failed = false;
        ompi_osc_cached_target_end_batch(target);
        ret =
            ompi_osc_cached_helper_first_error(ret, ompi_osc_cached_target_let_go(helper, target));
    }
    return ompi_osc_cached_helper_first_error(ret, flushed);
}

static int flush_all(ompi_osc_cached_helper_t *helper, bool local,
                     ompi_osc_base_module_flush_all_fn_t inner_flush)
{
    ompi_osc_cached_helper_target_t *target;
    uint64_t issued, begin;
    bool pending;
    int flushed = OMPI_SUCCESS, ret;

    if (!is_passive(helper)) {
        return inner_flush(helper->win);
    }
    ompi_osc_cached_targets_lock(helper);
    issued = helper->sequence;
    ompi_osc_cached_targets_unlock(helper);
    pending = is_pending(helper);
    if (local) {
        flushed = ompi_osc_cached_targets_flush_local(helper);
    } else {
        flushed = ompi_osc_cached_targets_flush(helper);
    }
    ompi_osc_cached_targets_forget(helper, local);
    if (!pending) {
        ompi_osc_cached_targets_end_batch(helper);
        ompi_osc_cached_helper_was_quiet(helper);
        return flushed;
    }
    /* with several threads another one may end the only epoch that the inner component knows of */
    if (leaves_some(helper) || has_lost_any(helper) || (helper->threaded && !helper->all)) {
        return ompi_osc_cached_helper_first_error(flush_each(helper, local), flushed);
    }
    begin = ompi_osc_cached_now();
    ret = inner_flush(helper->win);
    ompi_osc_cached_targets_lock(helper);
    ompi_osc_cached_targets_judge(helper, begin);
    for (target = ompi_osc_cached_targets_first(helper); NULL != target; target = target->next) {
        if (ompi_osc_cached_target_is_pending(helper, target)) {
            target->failed = OMPI_SUCCESS != ret;
        }
    }
    if (OMPI_SUCCESS == ret && !local) {
        helper->flushed = (helper->flushed < issued) ? issued : helper->flushed;
    }
    ompi_osc_cached_targets_unlock(helper);
    ompi_osc_cached_targets_end_batch(helper);
    return ompi_osc_cached_helper_first_error(ret, flushed);
}

static int helper_flush(int rank, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);

    return flush(helper, rank, false, helper->inner.osc_flush);
}

static int helper_flush_local(int rank, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);

    return flush(helper, rank, true, helper->inner.osc_flush_local);
}

static int helper_flush_all(ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);

    return flush_all(helper, false, helper->inner.osc_flush_all);
}

static int helper_flush_local_all(ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);

    return flush_all(helper, true, helper->inner.osc_flush_local_all);
}

/* The inner component may know nothing of the epoch. */
static int helper_sync(ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);

    if (!is_passive(helper)) {
        return helper->inner.osc_sync(win);
    }
    atomic_thread_fence(memory_order_seq_cst);
    opal_progress();
    return ompi_osc_cached_storage_sync(win);
}

int ompi_osc_cached_helper_routed(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target, osc_cached_way_t way,
                                  uint64_t blocks, uint64_t bytes, bool requested)
{
    bool flushes = false;
    int ret;

    if (OSC_CACHED_ROUTE_INNER == way && 1 == blocks) {
        return OMPI_SUCCESS; /* that is the presence's business */
    }
    ompi_osc_cached_targets_lock(helper);
    if (requested && !target->route.tries) {
        osc_cached_route_sent_apart(&target->route, way, blocks, bytes);
    } else {
        flushes = osc_cached_route_sent(&target->route, way, blocks, bytes);
    }
    ompi_osc_cached_targets_unlock(helper);
    if (!flushes) {
        return OMPI_SUCCESS;
    }
    if (OSC_CACHED_ROUTE_INNER == way) {
        return helper_flush(target->rank, helper->win);
    }
    /* what else is outstanding may need the target's process */
    ret = ompi_osc_cached_target_flush(helper, target, false);
    ompi_osc_cached_targets_lock(helper);
    ompi_osc_cached_target_end_batch(target);
    ompi_osc_cached_targets_unlock(helper);
    return ret;
}

const ompi_osc_base_module_t ompi_osc_cached_helper_epochs = {
    .osc_fence = helper_fence,
    .osc_start = helper_start,
    .osc_complete = helper_complete,
    .osc_post = helper_post,
    .osc_wait = helper_wait,
    .osc_lock = helper_lock,
    .osc_unlock = helper_unlock,
    .osc_lock_all = helper_lock_all,
    .osc_unlock_all = helper_unlock_all,
    .osc_flush = helper_flush,
    .osc_flush_all = helper_flush_all,
    .osc_flush_local = helper_flush_local,
    .osc_flush_local_all = helper_flush_local_all,
    .osc_sync = helper_sync,
};
