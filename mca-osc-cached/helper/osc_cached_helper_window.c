/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows with a helper: their creation, epochs and end.
 *
 * One arbiter.  Accumulates, atomics and locks of a window exclude each other at the target only if
 * all go to the helper: all processes decide together, when the window is created.
 */

#include "ompi_config.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "opal/runtime/opal_progress.h"
#include "opal/util/info.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/runtime/mpiruntime.h"

#include "osc_cached_params.h"
#include "osc_cached_helper.h"
#include "osc_cached_helper_place.h"
#include "osc_cached_helper_shape.h"
#include "osc_cached_helper_window.h"
#include "storage/osc_cached_storage.h"

/* All of this process, for MPI_Win_free: by then the cache has forgotten the window. */
static ompi_osc_cached_helper_t *helpers = NULL;
static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;

static int helper_flush(int rank, ompi_win_t *win);

/* --- Targets */

static void lock_targets(ompi_osc_cached_helper_t *helper)
{
    if (helper->threaded) {
        opal_mutex_lock(&helper->lock);
    }
}

static void unlock_targets(ompi_osc_cached_helper_t *helper)
{
    if (helper->threaded) {
        opal_mutex_unlock(&helper->lock);
    }
}

/* The rank whose process has the helper that serves a rank. */
static int helper_of(const ompi_osc_cached_node_t *node, int rank)
{
    return (NULL == node) ? rank : node->helpers[rank];
}

/* @return NULL: we do not map its memory */
static const ompi_osc_cached_part_t *find_part(const ompi_osc_cached_node_t *node, int rank)
{
    for (int i = 0; NULL != node && i < node->parts; ++i) {
        if (rank == node->part[i].rank) {
            return &node->part[i];
        }
    }
    return NULL;
}

ompi_osc_cached_helper_target_t *ompi_osc_cached_helper_target(ompi_osc_cached_helper_t *helper,
                                                               int rank)
{
    ompi_osc_cached_helper_target_t *target;

    lock_targets(helper);
    target = osc_cached_map_get(&helper->targets, (uint64_t) rank, 0);
    if (NULL == target) {
        target = calloc(1, sizeof(*target));
        if (NULL != target) {
            target->rank = rank;
            target->presence.state =
                helper->one_sided ? OSC_CACHED_PRESENCE_DIRECT : OSC_CACHED_PRESENCE_UNKNOWN;
            target->mapped = find_part(helper->node, rank);
            target->ours = helper->rank == rank && rank == helper_of(helper->node, rank);
            target->remote = ompi_osc_cached_helper_reach(
                ompi_osc_cached_helper_name(helper->win->w_group, helper_of(helper->node, rank)));
            if (NULL == target->remote
                || OSC_CACHED_OK
                       != osc_cached_map_add(&helper->targets, (uint64_t) rank, 0, target)) {
                free(target);
                target = NULL;
            }
        }
    }
    unlock_targets(helper);
    return target;
}

/* The next target that we have to do with, from a place on. */
static ompi_osc_cached_helper_target_t *next_target(ompi_osc_cached_helper_t *helper,
                                                    uint32_t *place)
{
    while (*place < helper->targets.cells) {
        ompi_osc_cached_helper_target_t *target = helper->targets.cell[(*place)++].value;

        if (NULL != target) {
            return target;
        }
    }
    return NULL;
}

static int hold(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target,
                bool exclusive)
{
    uint64_t begin = ompi_osc_cached_now(), took;
    int ret = ompi_osc_cached_helper_lock(
        target->remote, ompi_osc_cached_helper_id(helper, target->rank), exclusive);

    if (OMPI_SUCCESS == ret) {
        took = ompi_osc_cached_now() - begin;
        target->lock_ns = (0 < target->lock_ns && target->lock_ns < took) ? target->lock_ns : took;
        target->held = true;
        ompi_osc_cached_count(ompi_osc_cached_window_of(helper->win), OSC_CACHED_STAT_helper_locks);
    }
    return ret;
}

static int let_go(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target)
{
    if (!target->held) {
        return OMPI_SUCCESS;
    }
    target->held = false;
    return ompi_osc_cached_helper_unlock(target->remote,
                                         ompi_osc_cached_helper_id(helper, target->rank));
}

/* In an epoch of MPI_Win_lock_all a target is locked when it is first used; targets are locked. */
static int hold_shared(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target)
{
    return (helper->all_locks && !target->held) ? hold(helper, target, false) : OMPI_SUCCESS;
}

int ompi_osc_cached_helper_access(ompi_osc_cached_helper_t *helper, int rank,
                                  ompi_osc_cached_helper_target_t **result)
{
    ompi_osc_cached_helper_target_t *target = ompi_osc_cached_helper_target(helper, rank);
    int ret = OMPI_SUCCESS;

    *result = NULL;
    if (NULL == target) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (helper->all) {
        lock_targets(helper); /* two threads may be here with the same target: it is locked once */
        ret = hold_shared(helper, target);
        unlock_targets(helper);
        *result = target;
    } else if (target->locked || helper->fence || (target->started && !helper->starts_early)) {
        *result = target;
    } else if (!target->started) {
        ret = OMPI_ERR_RMA_SYNC;
    }
    return ret;
}

int ompi_osc_cached_helper_inner_access(ompi_osc_cached_helper_t *helper, int rank,
                                        ompi_osc_cached_helper_target_t **result)
{
    ompi_osc_cached_helper_target_t *target;
    int ret = OMPI_SUCCESS;

    *result = NULL;
    if (helper->fence) {
        return OMPI_SUCCESS;
    }
    target = ompi_osc_cached_helper_target(helper, rank);
    if (NULL == target) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    lock_targets(helper);
    if (helper->all) {
        ret = hold_shared(helper, target);
        if (OMPI_SUCCESS == ret && !helper->inner_all) {
            ret = helper->inner.osc_lock_all(MPI_MODE_NOCHECK, helper->win);
            helper->inner_all = OMPI_SUCCESS == ret;
        }
        *result = target;
    } else if (target->locked) {
        if (!target->inner) {
            ret = helper->inner.osc_lock(target->type, rank, MPI_MODE_NOCHECK, helper->win);
            target->inner = OMPI_SUCCESS == ret;
        }
        *result = target;
    } else if (!target->started) {
        ret = OMPI_ERR_RMA_SYNC;
    }
    unlock_targets(helper);
    return ret;
}

/* After the operation: a flush of another thread that began before it does not complete it. */
void ompi_osc_cached_helper_inner_issued(ompi_osc_cached_helper_t *helper,
                                         ompi_osc_cached_helper_target_t *target, uint64_t bytes)
{
    lock_targets(helper);
    target->issued = ++helper->sequence;
    ++target->count;
    target->bytes += bytes;
    if (OSC_CACHED_PRESENCE_UNKNOWN == target->presence.state) {
        target->issued_at = ompi_osc_cached_now();
    }
    unlock_targets(helper);
}

/* Has the inner component something to flush at a target?  Targets are locked. */
static bool is_pending(const ompi_osc_cached_helper_t *helper,
                       const ompi_osc_cached_helper_target_t *target)
{
    return target->flushed < target->issued && helper->flushed < target->issued;
}

/* --- Which way puts and gets go */

/* A few bytes of an epoch of MPI_Win_lock: the message that ends it takes them along, where the
 * inner component would need a flush.  Now and then that is measured again. */
static bool rides_along(const ompi_osc_cached_helper_target_t *target, uint64_t bytes)
{
    enum { FEW = 8, SHORT = 4096, AGAIN = 64 };

    return target->held && target->locked && !target->inner && FEW > target->route.operations
           && SHORT >= bytes && 0 != target->epochs % AGAIN
           && osc_cached_presence_is_dear(&target->presence, target->lock_ns);
}

osc_cached_way_t ompi_osc_cached_helper_route(ompi_osc_cached_helper_t *helper,
                                              ompi_osc_cached_helper_target_t *target,
                                              uint64_t blocks, uint64_t bytes)
{
    bool passive = helper->all || target->locked; /* only there can a trial be flushed */
    uint64_t now = ompi_osc_cached_now();
    osc_cached_way_t way = OSC_CACHED_ROUTE_HELPER;

    lock_targets(helper);
    if (0 == target->route.operations) {
        target->began = now;
    }
    if (OSC_CACHED_TRANSFERS_COST == ompi_osc_cached_params.helper_transfers) {
        if (1 < blocks) {
            way = osc_cached_route_choose(&target->route, blocks, bytes, passive);
        } else if (rides_along(target, bytes)) {
            way = OSC_CACHED_ROUTE_HELPER;
        } else if (!passive
                   || !osc_cached_presence_is_away(
                       &target->presence, now,
                       osc_cached_route_estimate(&target->route, 1, bytes))) {
            way = OSC_CACHED_ROUTE_INNER;
        }
    }
    unlock_targets(helper);
    return way;
}

int ompi_osc_cached_helper_routed(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target, osc_cached_way_t way,
                                  uint64_t blocks, uint64_t bytes, bool requested)
{
    bool flushes = false;

    if (OSC_CACHED_ROUTE_INNER == way && 1 == blocks) {
        return OMPI_SUCCESS; /* that is the presence's business */
    }
    lock_targets(helper);
    if (requested && !target->route.tries) {
        osc_cached_route_sent_apart(&target->route, way, blocks, bytes);
    } else {
        flushes = osc_cached_route_sent(&target->route, way, blocks, bytes);
    }
    unlock_targets(helper);
    return flushes ? helper_flush(target->rank, helper->win) : OMPI_SUCCESS;
}

/* What was sent to a target is complete; targets are locked. */
static void end_batch(ompi_osc_cached_helper_target_t *target)
{
    if (0 < target->route.operations) {
        osc_cached_route_flushed(&target->route, ompi_osc_cached_now() - target->began);
    }
}

/* When a flush of the inner component begins, where that is of interest. */
static uint64_t begin_of(const ompi_osc_cached_helper_t *helper)
{
    return helper->one_sided ? 0 : ompi_osc_cached_now();
}

static bool is_away(const ompi_osc_cached_helper_target_t *target)
{
    return OSC_CACHED_PRESENCE_AWAY == target->presence.state;
}

/* Count the targets that are away. */
static void count_away(ompi_osc_cached_helper_t *helper,
                       const ompi_osc_cached_helper_target_t *target, bool was_away)
{
    if (is_away(target) != was_away) {
        atomic_fetch_add_explicit(&helper->away, was_away ? (uint32_t) -1 : 1,
                                  memory_order_relaxed);
    }
}

/* A flush of the helper, which is measured while it does the work of both. */
static int flush_helper(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target,
                        bool local)
{
    uint64_t begin =
        0 < atomic_load_explicit(&helper->away, memory_order_relaxed) ? ompi_osc_cached_now() : 0;
    int ret = local ? ompi_osc_cached_helper_flush_local(target->remote)
                    : ompi_osc_cached_helper_flush(target->remote);

    if (0 < begin && !local) {
        lock_targets(helper);
        if (is_away(target) && 0 < target->route.units[OSC_CACHED_ROUTE_HELPER]) {
            osc_cached_presence_helped(&target->presence, ompi_osc_cached_now() - begin);
            count_away(helper, target, true);
        }
        unlock_targets(helper);
    }
    return ret;
}

/* It has ended: did it wait for the target?  Targets are locked. */
static void judge(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target,
                  uint64_t begin)
{
    osc_cached_presence_t *presence = &target->presence;
    bool was_away = is_away(target);
    uint64_t now;

    /* operations of several blocks take long without waiting for anybody */
    if (OSC_CACHED_PRESENCE_DIRECT != presence->state
        && 0 == target->route.units[OSC_CACHED_ROUTE_INNER]) {
        now = ompi_osc_cached_now();
        osc_cached_presence_flushed(
            presence, now, now - begin, now - target->issued_at,
            osc_cached_route_estimate(&target->route, target->count, target->bytes));
        count_away(helper, target, was_away);
    }
    target->count = 0;
    target->bytes = 0;
}

/* The same for all of which something was pending. */
static void judge_all(ompi_osc_cached_helper_t *helper, uint64_t begin)
{
    ompi_osc_cached_helper_target_t *target;
    uint32_t place = 0;

    while (NULL != (target = next_target(helper, &place))) {
        if (is_pending(helper, target)) {
            judge(helper, target, begin);
        }
    }
}

/* The time of a flush of all is nobody's own. */
static void forget_batches(ompi_osc_cached_helper_t *helper)
{
    ompi_osc_cached_helper_target_t *target;
    uint32_t place = 0;

    lock_targets(helper);
    while (NULL != (target = next_target(helper, &place))) {
        osc_cached_route_forget(&target->route);
    }
    unlock_targets(helper);
}

/* --- Epochs */

static int first_error(int one, int other)
{
    return (OMPI_SUCCESS != one) ? one : other;
}

static bool is_passive(const ompi_osc_cached_helper_t *helper)
{
    return helper->all || 0 < helper->locks;
}

static int helper_fence(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    int flushed, ret;

    if (is_passive(helper)) {
        return OMPI_ERR_RMA_SYNC;
    }
    flushed = ompi_osc_cached_helper_flush(NULL);
    forget_batches(helper);
    if (helper->starts_early) {
        mpi_assert &= ~MPI_MODE_NOPRECEDE; /* it would not wait for the others */
    }
    ret = helper->inner.osc_fence(mpi_assert, win);
    if (OMPI_SUCCESS == ret) {
        helper->fence = 0 == (mpi_assert & MPI_MODE_NOSUCCEED);
    }
    return first_error(ret, flushed);
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
    int flushed = ompi_osc_cached_helper_flush(NULL);
    int ret = helper->inner.osc_complete(win);
    ompi_osc_cached_helper_target_t *target;
    uint32_t place = 0;

    while (OMPI_SUCCESS == ret && 0 < helper->started
           && NULL != (target = next_target(helper, &place))) {
        helper->started -= target->started;
        target->started = false;
        osc_cached_route_forget(&target->route);
    }
    return first_error(ret, flushed);
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
        ret = hold(helper, target, MPI_LOCK_EXCLUSIVE == type);
    }
    if (OMPI_SUCCESS == ret) {
        lock_targets(helper);
        target->type = type;
        target->locked = true;
        ++target->epochs;
        ++helper->locks;
        helper->fence = false; /* there was no operation in it, and none may come */
        unlock_targets(helper);
    }
    return ret;
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
    if (!target->inner) { /* the helper's operations are done before it: all ends together */
        ret = let_go(helper, target);
    }
    flushed = flush_helper(helper, target, false);
    begin = begin_of(helper);
    if (target->inner) {
        ret = helper->inner.osc_unlock(rank, win);
    }
    lock_targets(helper);
    if (is_pending(helper, target)) {
        judge(helper, target, begin);
    }
    target->locked = false;
    target->inner = false;
    target->flushed = target->issued;
    end_batch(target);
    --helper->locks;
    unlock_targets(helper);
    return first_error(first_error(ret, let_go(helper, target)), flushed);
}

static int helper_lock_all(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);

    if (is_passive(helper) || 0 < helper->started) {
        return OMPI_ERR_RMA_SYNC;
    }
    helper->all = true;
    helper->all_locks = 0 == (mpi_assert & MPI_MODE_NOCHECK);
    helper->fence = false;
    return OMPI_SUCCESS;
}

static int helper_unlock_all(ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    ompi_osc_cached_helper_target_t *target;
    int flushed, ret = OMPI_SUCCESS;
    uint32_t place = 0;

    if (!helper->all) {
        return OMPI_ERR_RMA_SYNC;
    }
    flushed = ompi_osc_cached_helper_flush(NULL);
    if (helper->inner_all) {
        uint64_t begin = begin_of(helper);

        ret = helper->inner.osc_unlock_all(win);
        judge_all(helper, begin);
    }
    helper->all = false;
    helper->all_locks = false;
    helper->inner_all = false;
    while (NULL != (target = next_target(helper, &place))) {
        target->flushed = target->issued;
        osc_cached_route_forget(&target->route);
        ret = first_error(ret, let_go(helper, target));
    }
    return first_error(ret, flushed);
}

/* A flush of one target: at the helper, and at the inner component where it has something to do.
 * Without an epoch it finds the error. */
static int flush(ompi_osc_cached_helper_t *helper, int rank, bool local,
                 ompi_osc_base_module_flush_fn_t inner_flush)
{
    ompi_osc_cached_helper_target_t *target;
    uint64_t issued = 0, begin;
    bool pending;
    int flushed, ret = OMPI_SUCCESS;

    lock_targets(helper);
    target = osc_cached_map_get(&helper->targets, (uint64_t) rank, 0);
    pending = NULL != target && is_pending(helper, target);
    issued = pending ? target->issued : 0;
    unlock_targets(helper);
    if (!helper->all && (NULL == target || !target->locked)) {
        return inner_flush(rank, helper->win);
    }
    if (NULL == target) {
        return OMPI_SUCCESS; /* nothing was ever done there */
    }
    flushed = flush_helper(helper, target, local);
    if (pending) {
        begin = begin_of(helper);
        ret = inner_flush(rank, helper->win);
        lock_targets(helper);
        judge(helper, target, begin);
        unlock_targets(helper);
    }
    if (!local) {
        lock_targets(helper);
        if (OMPI_SUCCESS == ret && target->flushed < issued) {
            target->flushed = issued;
        }
        end_batch(target);
        unlock_targets(helper);
    }
    return first_error(ret, flushed);
}

static int flush_all(ompi_osc_cached_helper_t *helper, bool local,
                     ompi_osc_base_module_flush_all_fn_t inner_flush)
{
    ompi_osc_cached_helper_target_t *target;
    uint32_t place = 0;
    uint64_t issued, begin;
    bool pending = false;
    int flushed, ret;

    if (!is_passive(helper)) {
        return inner_flush(helper->win);
    }
    lock_targets(helper);
    issued = helper->sequence;
    while (!pending && NULL != (target = next_target(helper, &place))) {
        pending = is_pending(helper, target);
    }
    unlock_targets(helper);
    flushed = local ? ompi_osc_cached_helper_flush_local(NULL) : ompi_osc_cached_helper_flush(NULL);
    forget_batches(helper);
    if (!pending) {
        return flushed;
    }
    begin = begin_of(helper);
    ret = inner_flush(helper->win);
    lock_targets(helper);
    judge_all(helper, begin);
    if (OMPI_SUCCESS == ret && !local) {
        helper->flushed = (helper->flushed < issued) ? issued : helper->flushed;
    }
    unlock_targets(helper);
    return first_error(ret, flushed);
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

/* --- End */

static void destroy(ompi_osc_cached_helper_t *helper)
{
    ompi_osc_cached_helper_target_t *target;
    uint32_t place = 0;

    while (NULL != (target = next_target(helper, &place))) {
        free(target);
    }
    osc_cached_map_fini(&helper->targets);
    OBJ_DESTRUCT(&helper->lock);
    free(helper);
}

/* What our helper serves: our own memory, that of all processes of the node, or none. */
static bool open_all(ompi_osc_cached_helper_t *helper, void *base, size_t size)
{
    const ompi_osc_cached_node_t *node = helper->node;
    int last = (NULL == node) ? 1 : (helper->rank == node->helpers[helper->rank]) ? node->parts : 0;
    bool good = true;

    for (helper->opened = 0; helper->opened < last && good; helper->opened += good) {
        ompi_osc_cached_part_t part = {.rank = helper->rank, .base = base, .size = size};

        if (NULL != node) {
            part = node->part[helper->opened];
        }
        good = OMPI_SUCCESS
               == ompi_osc_cached_helper_open(ompi_osc_cached_helper_id(helper, part.rank),
                                              part.base, part.size, &helper->served);
    }
    return good;
}

static void close_all(ompi_osc_cached_helper_t *helper)
{
    while (0 < helper->opened) {
        --helper->opened;
        ompi_osc_cached_helper_close(ompi_osc_cached_helper_id(
            helper,
            (NULL == helper->node) ? helper->rank : helper->node->part[helper->opened].rank));
    }
}

static int helper_free(ompi_win_t *win)
{
    ompi_osc_cached_helper_t **link, *helper;
    int flushed, ret;

    opal_mutex_lock(&lock);
    for (link = &helpers; win != (*link)->win; link = &(*link)->next) {
    }
    helper = *link;
    *link = helper->next;
    opal_mutex_unlock(&lock);
    flushed = ompi_osc_cached_helper_flush(NULL);
    *win->w_osc_module = helper->inner;
    /* All processes wait for each other in there, and each has nothing on its way to another one
     * when it comes: then nobody needs our memory, and no lock of the window. */
    ret = win->w_osc_module->osc_free(win);
    close_all(helper);
    destroy(helper);
    return first_error(ret, flushed);
}

/* --- Creation */

/* Put our functions into the module, where it has its own. */
static void install(ompi_osc_cached_helper_t *helper)
{
    static const ompi_osc_base_module_t epochs = {
        .osc_fence = helper_fence,
        .osc_start = helper_start,
        .osc_complete = helper_complete,
        .osc_lock = helper_lock,
        .osc_unlock = helper_unlock,
        .osc_lock_all = helper_lock_all,
        .osc_unlock_all = helper_unlock_all,
        .osc_flush = helper_flush,
        .osc_flush_all = helper_flush_all,
        .osc_flush_local = helper_flush_local,
        .osc_flush_local_all = helper_flush_local_all,
        .osc_sync = helper_sync,
        .osc_free = helper_free,
    };
    typedef int (*slot_t)(void);
    enum { SLOTS = sizeof(ompi_osc_base_module_t) / sizeof(slot_t) };
    slot_t mine[SLOTS], more[SLOTS], theirs[SLOTS];

    helper->inner = *helper->win->w_osc_module;
    memcpy(mine, &epochs, sizeof(mine));
    memcpy(more, &ompi_osc_cached_helper_operations, sizeof(more));
    memcpy(theirs, &helper->inner, sizeof(theirs));
    for (int i = 0; i < SLOTS; ++i) {
        slot_t ours = (NULL != mine[i]) ? mine[i] : more[i];

        if (NULL != ours && NULL != theirs[i]) {
            memcpy((char *) helper->win->w_osc_module + i * sizeof(slot_t), &ours, sizeof(slot_t));
        }
    }
}

static int agree(ompi_communicator_t *comm, int *values, int count, struct ompi_op_t *op)
{
    return comm->c_coll->coll_allreduce(MPI_IN_PLACE, values, count, MPI_INT, op, comm,
                                        comm->c_coll->coll_allreduce_module);
}

/* Place our thread among those of this node, if this window knows all of them.  What a process has
 * told begins with the processors that it runs on. */
static void find_place(ompi_communicator_t *comm, const char *told, size_t bytes)
{
    const char **processors = malloc((size_t) ompi_comm_size(comm) * sizeof(*processors));
    unsigned count = 0, me = 0, peers = 0;

    for (int i = 0; i < ompi_comm_size(comm) && NULL != processors; ++i) {
        ompi_proc_t *proc = ompi_group_peer_lookup(comm->c_local_group, i);

        if (NULL == proc || !OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags)) {
            continue;
        }
        if (i == ompi_comm_rank(comm)) {
            me = count;
        } else {
            peers += proc->super.proc_name.jobid == opal_proc_local_get()->proc_name.jobid;
        }
        processors[count++] = told + (size_t) i * bytes;
    }
    if (NULL != processors && peers == (unsigned) opal_process_info.num_local_peers) {
        ompi_osc_cached_helper_settle(processors, count, me);
    }
    free(processors);
}

/* Tell all processes where all are: on which processors, and at which address, if they have a
 * helper; false: they have not met, and all know that.
 *
 * @param[out] learnt  this process knows all others */
static bool exchange_addresses(ompi_communicator_t *comm, bool *learnt)
{
    size_t bytes;
    const void *address = ompi_osc_cached_helper_address(&bytes);
    const char *processors = ompi_osc_cached_helper_processors();
    size_t before = strlen(processors) + 1;
    int size = ompi_comm_size(comm), most = (int) (before + 1 + bytes);
    bool good = OMPI_SUCCESS == agree(comm, &most, 1, MPI_MAX);
    char *all = good ? calloc((size_t) size + 1, (size_t) most) : NULL;
    int ready = NULL != all;

    /* when one process has no memory nobody waits for it */
    if (OMPI_SUCCESS != agree(comm, &ready, 1, MPI_MIN) || !ready) {
        free(all);
        return false;
    }
    memcpy(all + (size_t) size * (size_t) most, processors, before);
    if (0 < bytes) {
        all[(size_t) size * (size_t) most + before] = 1;
        memcpy(all + (size_t) size * (size_t) most + before + 1, address, bytes);
    }
    good =
        OMPI_SUCCESS
        == comm->c_coll->coll_allgather(all + (size_t) size * (size_t) most, most, MPI_BYTE, all,
                                        most, MPI_BYTE, comm, comm->c_coll->coll_allgather_module);
    *learnt = good;
    for (int i = 0; i < size && *learnt; ++i) {
        const char *told = all + (size_t) i * (size_t) most;

        before = strlen(told) + 1;
        if (1 == told[before]) {
            *learnt =
                ompi_osc_cached_helper_learn(ompi_osc_cached_helper_name(comm->c_local_group, i),
                                             told + before + 1, (size_t) most - before - 1);
        }
    }
    if (*learnt && 0 < bytes) {
        find_place(comm, all, (size_t) most);
    }
    free(all);
    return good;
}

static bool knows_all(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node)
{
    for (int i = 0; i < ompi_comm_size(comm); ++i) {
        if (!ompi_osc_cached_helper_knows(
                ompi_osc_cached_helper_name(comm->c_local_group, helper_of(node, i)))) {
            return false;
        }
    }
    return true;
}

/* off, auto or on for a window; each one is more than those before it. */
static int wish_of(opal_info_t *info)
{
    int wish = ompi_osc_cached_params.helper, flag = 0;
    char value[8] = "";

    if (OSC_CACHED_HELPER_OFF != wish && NULL != info) {
#if OMPI_MAJOR_VERSION >= 5
        opal_cstring_t *text = NULL;

        if (OPAL_SUCCESS == opal_info_get(info, "ompi_osc_cached_helper", &text, &flag) && flag) {
            strncpy(value, text->string, sizeof(value) - 1);
            OBJ_RELEASE(text);
        }
#else
        (void) opal_info_get(info, "ompi_osc_cached_helper", sizeof(value) - 1, value, &flag);
#endif
        if (0 == strcmp(value, "on")) {
            wish = OSC_CACHED_HELPER_ON;
        } else if (0 == strcmp(value, "off")) {
            wish = OSC_CACHED_HELPER_OFF;
        }
    }
    return wish;
}

/* Has the node a network that reaches into memory by itself? */
static bool has_rdma(void)
{
    static const char *const classes[] = {"/sys/class/infiniband", "/sys/class/cxi"};
    bool found = false;

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]) && !found; ++i) {
        DIR *folder = opendir(classes[i]);
        struct dirent *entry;

        if (NULL == folder) {
            continue;
        }
        while (!found && NULL != (entry = readdir(folder))) {
            found = '.' != entry->d_name[0];
        }
        (void) closedir(folder);
    }
    return found;
}

/* The next process of another node; the own rank: there is none. */
static int farther(ompi_communicator_t *comm)
{
    int size = ompi_comm_size(comm), rank = ompi_comm_rank(comm), i;

    for (i = 1; i < size; ++i) {
        ompi_proc_t *proc = ompi_group_peer_lookup(comm->c_local_group, (rank + i) % size);

        if (NULL == proc || !OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags)) {
            break;
        }
    }
    return (rank + i) % size;
}

/* Another process cannot be reached: no more helpers, and no more messages of UCX. */
static _Atomic bool is_cut_off = false;

/* What processes say of a new window; the least of all counts. */
enum {
    WISH,    /* off, auto, on */
    RUNS,    /* it runs and knows the others */
    USELESS, /* there is no other node, or a network that needs no helper; who is alone on its node
                knows it */
    NUMBER,  /* of the window, given by the first process */
    NODE,    /* one helper per node */
};

void ompi_osc_cached_helper_vote(ompi_communicator_t *comm, opal_info_t *info, int flavor,
                                 int64_t votes[OSC_CACHED_VOTES])
{
    int rank = ompi_comm_rank(comm);

    votes[WISH] = is_cut_off ? OSC_CACHED_HELPER_OFF : wish_of(info);
    votes[NODE] = MPI_WIN_FLAVOR_ALLOCATE == flavor
                  && OSC_CACHED_PER_NODE == ompi_osc_cached_params.helper_per;
    votes[RUNS] = OSC_CACHED_HELPER_OFF != votes[WISH] && !votes[NODE]
                  && ompi_osc_cached_helper_serves() && knows_all(comm, NULL);
    votes[USELESS] = OSC_CACHED_HELPER_AUTO != votes[WISH] || rank == farther(comm) || has_rdma();
    votes[NUMBER] = (0 == rank) ? (int64_t) ompi_osc_cached_helper_number() : INT64_MAX;
}

static bool is_agreed(const int64_t votes[OSC_CACHED_VOTES])
{
    return (0 == votes[USELESS] ? OSC_CACHED_HELPER_AUTO : OSC_CACHED_HELPER_ON) <= votes[WISH];
}

ompi_osc_cached_node_t *ompi_osc_cached_helper_allocate(ompi_communicator_t *comm, size_t size,
                                                        const int64_t votes[OSC_CACHED_VOTES],
                                                        void **base)
{
    ompi_osc_cached_node_t *node = NULL;
    const char *why = NULL;

    if (is_agreed(votes) && votes[NODE]) {
        node = ompi_osc_cached_node_create(comm, size, &why);
        if (NULL != node) {
            *base = node->mine.base;
        }
    } else if (is_agreed(votes) && OSC_CACHED_PER_NODE == ompi_osc_cached_params.helper_per) {
        why = "Its memory was not allocated by MPI_Win_allocate.";
    }
    if (NULL != why) {
        opal_show_help("help-mpi-osc-cached.txt", "helper-per", true, why,
                       opal_process_info.nodename);
    }
    return node;
}

void ompi_osc_cached_helper_release(ompi_osc_cached_node_t *memory)
{
    ompi_osc_cached_node_destroy(memory);
}

/* Start the helpers, tell each process where the others are; all have the same answer.
 *
 * @param asked        somebody wants to know why not
 * @param[out] learnt  this process knows all others */
static bool start_all(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node, bool asked,
                      bool *learnt)
{
    int rank = ompi_comm_rank(comm);
    const char *why = ompi_osc_cached_helper_start(rank == helper_of(node, rank));
    int values[] = {NULL == why, NULL == why && knows_all(comm, node)};

    if (NULL != why && asked) {
        opal_show_help("help-mpi-osc-cached.txt", "no-helper", true, why,
                       opal_process_info.nodename);
    }
    return OMPI_SUCCESS == agree(comm, values, 2, MPI_MIN) && values[0]
           && (values[1] || exchange_addresses(comm, learnt));
}

/* UCX may have been told to use networks that do not reach the others: seen at one of them. */
static bool reaches_others(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node)
{
    int rank = ompi_comm_rank(comm), peer = farther(comm);

    if (rank == peer) {
        peer = (rank + 1) % ompi_comm_size(comm);
    }
    is_cut_off = rank != peer
                 && NULL
                        == ompi_osc_cached_helper_reach(ompi_osc_cached_helper_name(
                            comm->c_local_group, helper_of(node, peer)));
    return !is_cut_off;
}

void ompi_osc_cached_helper_attach(ompi_osc_cached_window_t *window, ompi_osc_cached_node_t *memory,
                                   void *base, size_t size, ompi_communicator_t *comm,
                                   const int64_t votes[OSC_CACHED_VOTES])
{
    ompi_osc_cached_helper_t *helper;
    bool learnt = true;
    int good = 0;

    if (!is_agreed(votes)
        || (!votes[RUNS]
            && !start_all(comm, memory, OSC_CACHED_HELPER_ON == votes[WISH], &learnt))) {
        return;
    }
    helper = (NULL == window) ? NULL : calloc(1, sizeof(*helper));
    if (NULL != helper) {
        helper->win = window->win;
        helper->id.creator = ompi_osc_cached_helper_name(comm->c_local_group, 0);
        helper->id.number = (uint32_t) votes[NUMBER];
        helper->node = memory;
        helper->rank = ompi_comm_rank(comm);
        helper->starts_early = 0 == strcmp("pt2pt", window->inner_name);
        helper->threaded = window->threaded;
        helper->one_sided = has_rdma();
        OBJ_CONSTRUCT(&helper->lock, opal_mutex_t);
        osc_cached_map_init(&helper->targets, &osc_cached_alloc_default);
        good = learnt && reaches_others(comm, memory)
               && (0 != window->disp_unit || NULL != window->disp_units)
               && open_all(helper, base, size);
    }
    /* and from here on others may send */
    if (OMPI_SUCCESS != agree(comm, &good, 1, MPI_MIN) || !good) {
        if (NULL != helper) {
            close_all(helper);
            destroy(helper);
        }
        return;
    }
    opal_mutex_lock(&lock);
    helper->next = helpers;
    helpers = helper;
    opal_mutex_unlock(&lock);
    install(helper);
    window->helper = helper;
    window->served = &helper->served;
}

void ompi_osc_cached_helper_finalize(void)
{
    if (ompi_osc_cached_params.helper_stats && ompi_osc_cached_helper_is_running()) {
        ompi_osc_cached_helper_print();
    }
    ompi_osc_cached_helper_stop();
    ompi_osc_cached_shape_finalize();
}
