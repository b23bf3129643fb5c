/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The targets of a window with a helper: access, locks, which way puts and gets go.
 */

#include "ompi_config.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "opal/runtime/opal_progress.h"
#include "ompi/constants.h"

#include "osc_cached_compat.h"
#include "osc_cached_params.h"
#include "osc_cached_helper_target.h"

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

ompi_osc_cached_helper_target_t *ompi_osc_cached_helper_find(ompi_osc_cached_helper_t *helper,
                                                             int rank)
{
    ompi_osc_cached_helper_target_t *target;

    ompi_osc_cached_targets_lock(helper);
    target = osc_cached_map_get(&helper->targets, (uint64_t) rank, 0);
    if (NULL == target) {
        target = calloc(1, sizeof(*target));
        if (NULL != target) {
            target->rank = rank;
            target->presence.state =
                helper->one_sided ? OSC_CACHED_PRESENCE_DIRECT : OSC_CACHED_PRESENCE_UNKNOWN;
            target->mapped = find_part(helper->node, rank);
            target->ours =
                helper->rank == rank && rank == ompi_osc_cached_node_helper(helper->node, rank);
            target->remote = ompi_osc_cached_helper_reach(ompi_osc_cached_helper_name(
                helper->win->w_group, ompi_osc_cached_node_helper(helper->node, rank)));
            if (NULL == target->remote
                || OSC_CACHED_OK
                       != osc_cached_map_add(&helper->targets, (uint64_t) rank, 0, target)) {
                free(target);
                target = NULL;
            } else {
                ompi_osc_cached_helper_watch(
                    target->remote, ompi_osc_cached_helper_id(helper, rank), &target->refusals);
                target->next = ompi_osc_cached_targets_first(helper);
                atomic_store_explicit(&helper->first, target, memory_order_release);
            }
        }
    }
    atomic_store_explicit(&helper->last, target, memory_order_release);
    ompi_osc_cached_targets_unlock(helper);
    return target;
}

int ompi_osc_cached_target_hold(ompi_osc_cached_helper_t *helper,
                                ompi_osc_cached_helper_target_t *target, bool exclusive)
{
    uint64_t begin = ompi_osc_cached_now(), took;
    int ret = ompi_osc_cached_helper_lock(
        target->remote, ompi_osc_cached_helper_id(helper, target->rank), exclusive);

    if (OMPI_SUCCESS == ret) {
        took = ompi_osc_cached_now() - begin;
        ompi_osc_cached_targets_lock(helper);
        target->lock_ns = (0 < target->lock_ns && target->lock_ns < took) ? target->lock_ns : took;
        target->held = true;
        ompi_osc_cached_targets_unlock(helper);
        ompi_osc_cached_count(ompi_osc_cached_window_of(helper->win), OSC_CACHED_STAT_helper_locks);
    }
    return ret;
}

int ompi_osc_cached_target_let_go(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target)
{
    if (!target->held) {
        return OMPI_SUCCESS;
    }
    target->held = false;
    return ompi_osc_cached_helper_unlock(target->remote,
                                         ompi_osc_cached_helper_id(helper, target->rank));
}

/* In an epoch of MPI_Win_lock_all a target is locked when it is first used, by the first thread
 * that does: others wait for it.  Targets are locked, but not meanwhile. */
static int hold_shared(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target)
{
    int ret;

    while (target->locking) {
        ompi_osc_cached_targets_unlock(helper);
        opal_progress();
        (void) sched_yield();
        ompi_osc_cached_targets_lock(helper);
    }
    if (!helper->all_locks || target->held) {
        return OMPI_SUCCESS;
    }
    target->locking = true;
    ompi_osc_cached_targets_unlock(helper);
    ret = ompi_osc_cached_target_hold(helper, target, false);
    ompi_osc_cached_targets_lock(helper);
    target->locking = false;
    return ret;
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
        ompi_osc_cached_targets_lock(helper);
        ret = hold_shared(helper, target);
        ompi_osc_cached_targets_unlock(helper);
        *result = target;
    } else if (target->locked || helper->fence || (target->started && !helper->starts_early)) {
        *result = target;
    } else if (!target->started) {
        ret = OMPI_ERR_RMA_SYNC;
    }
    return ret;
}

int ompi_osc_cached_helper_inner_begin(ompi_osc_cached_helper_t *helper, int rank,
                                       ompi_osc_cached_helper_target_t **result)
{
    ompi_osc_cached_helper_target_t *target;
    int ret = OMPI_SUCCESS;

    *result = NULL;
    if (helper->fence) {
        return OMPI_SUCCESS;
    }
    if (ompi_osc_cached_helper_has_lost(helper, rank)) {
        return OSC_CACHED_ERR_DEAD;
    }
    target = ompi_osc_cached_helper_target(helper, rank);
    if (NULL == target) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    ompi_osc_cached_targets_lock(helper);
    if (helper->all) {
        ret = hold_shared(helper, target);
        if (OMPI_SUCCESS == ret && !helper->inner_all) {
            ret = helper->inner.osc_lock_all(MPI_MODE_NOCHECK, helper->win);
            helper->inner_all = OMPI_SUCCESS == ret;
        }
        *result = target;
    } else if (target->locked) {
        if (!target->inner && !helper->inner_all) {
            ret = helper->inner.osc_lock(target->type, rank, MPI_MODE_NOCHECK, helper->win);
            target->inner = OMPI_SUCCESS == ret;
        }
        *result = target;
    } else if (!target->started) {
        ret = OMPI_ERR_RMA_SYNC;
    }
    ompi_osc_cached_targets_unlock(helper);
    return ret;
}

/* --- Which way puts and gets go */

static bool is_away(const ompi_osc_cached_helper_target_t *target)
{
    return OSC_CACHED_PRESENCE_AWAY == target->presence.state;
}

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
    bool passive = helper->all || target->locked; /* only there can a batch be timed */
    osc_cached_way_t way = OSC_CACHED_ROUTE_HELPER;

    ompi_osc_cached_targets_lock(helper);
    if (OSC_CACHED_TRANSFERS_COST == ompi_osc_cached_params.helper_transfers) {
        if (1 < blocks) {
            target->route.direct = OSC_CACHED_PRESENCE_DIRECT == target->presence.state;
            way = osc_cached_route_choose(&target->route, blocks, bytes, passive);
        } else if (rides_along(target, bytes)) {
            way = OSC_CACHED_ROUTE_HELPER;
        } else if (!passive || !is_away(target)
                   || !osc_cached_presence_is_away(
                       &target->presence, ompi_osc_cached_now(),
                       osc_cached_route_estimate(&target->route, 1, bytes))) {
            way = OSC_CACHED_ROUTE_INNER;
        }
    }
    if (0 == target->route.operations && (1 < blocks || OSC_CACHED_ROUTE_HELPER == way)) {
        target->began = osc_cached_route_is_timed(&target->route, way, blocks, bytes)
                            ? ompi_osc_cached_now()
                            : 0;
    }
    ompi_osc_cached_targets_unlock(helper);
    return way;
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

int ompi_osc_cached_target_flush(ompi_osc_cached_helper_t *helper,
                                 ompi_osc_cached_helper_target_t *target, bool local)
{
    uint64_t begin =
        0 < atomic_load_explicit(&helper->away, memory_order_relaxed) ? ompi_osc_cached_now() : 0;
    uint64_t sent = atomic_load_explicit(&target->sent, memory_order_acquire);
    int ret;

    if (local) {
        return ompi_osc_cached_helper_flush_local(target->remote, &target->refusals);
    }
    ret = ompi_osc_cached_helper_flush(target->remote, &target->refusals);
    if (0 < begin) {
        ompi_osc_cached_targets_lock(helper);
        if (is_away(target) && 0 < target->route.units[OSC_CACHED_ROUTE_HELPER]) {
            osc_cached_presence_helped(&target->presence, ompi_osc_cached_now() - begin);
            count_away(helper, target, true);
        }
        ompi_osc_cached_targets_unlock(helper);
    }
    atomic_store_explicit(&target->done, sent, memory_order_relaxed);
    return ret;
}

int ompi_osc_cached_targets_flush(ompi_osc_cached_helper_t *helper)
{
    int ret = OMPI_SUCCESS;

    for (ompi_osc_cached_helper_target_t *target = ompi_osc_cached_targets_first(helper);
         NULL != target; target = target->next) {
        uint64_t sent = atomic_load_explicit(&target->sent, memory_order_acquire);

        ret = ompi_osc_cached_helper_first_error(
            ret, ompi_osc_cached_helper_flush(target->remote, &target->refusals));
        atomic_store_explicit(&target->done, sent, memory_order_relaxed);
    }
    return ret;
}

int ompi_osc_cached_targets_flush_local(ompi_osc_cached_helper_t *helper)
{
    int ret = OMPI_SUCCESS;

    for (ompi_osc_cached_helper_target_t *target = ompi_osc_cached_targets_first(helper);
         NULL != target; target = target->next) {
        ret = ompi_osc_cached_helper_first_error(
            ret, ompi_osc_cached_helper_flush_local(target->remote, &target->refusals));
    }
    return ret;
}

bool ompi_osc_cached_helper_has_lost(const ompi_osc_cached_helper_t *helper, int rank)
{
    return ompi_osc_cached_survives_deaths()
           && ompi_osc_cached_is_dead(ompi_group_get_proc_name(helper->win->w_group, rank));
}

void ompi_osc_cached_target_judge(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target, uint64_t begin)
{
    osc_cached_presence_t *presence = &target->presence;
    bool was_away = is_away(target);
    uint64_t now;

    if (!ompi_osc_cached_target_is_watched(target)) {
        if (OSC_CACHED_PRESENCE_UNKNOWN == presence->state) {
            osc_cached_presence_look(presence, ompi_osc_cached_now() - target->issued_at);
        }
    } else if (0 < begin) {
        now = ompi_osc_cached_now();
        osc_cached_presence_flushed(
            presence, now, now - begin, now - target->issued_at,
            osc_cached_route_estimate(&target->route, target->count, target->bytes));
        count_away(helper, target, was_away);
    }
    target->count = 0;
    target->bytes = 0;
}

void ompi_osc_cached_targets_judge(ompi_osc_cached_helper_t *helper, uint64_t begin)
{
    ompi_osc_cached_helper_target_t *target;

    for (target = ompi_osc_cached_targets_first(helper); NULL != target; target = target->next) {
        if (ompi_osc_cached_target_is_pending(helper, target)) {
            ompi_osc_cached_target_judge(helper, target, begin);
        }
    }
}

void ompi_osc_cached_targets_forget(ompi_osc_cached_helper_t *helper, bool local)
{
    ompi_osc_cached_helper_target_t *target;

    ompi_osc_cached_targets_lock(helper);
    for (target = ompi_osc_cached_targets_first(helper); NULL != target; target = target->next) {
        if (local || !target->route.tries) {
            osc_cached_route_forget(&target->route);
        }
    }
    ompi_osc_cached_targets_unlock(helper);
}

void ompi_osc_cached_targets_end_batch(ompi_osc_cached_helper_t *helper)
{
    ompi_osc_cached_helper_target_t *target;

    ompi_osc_cached_targets_lock(helper);
    for (target = ompi_osc_cached_targets_first(helper); NULL != target; target = target->next) {
        if (target->route.tries) { /* else another thread has begun it since */
            ompi_osc_cached_target_end_batch(target);
        }
    }
    ompi_osc_cached_targets_unlock(helper);
}
