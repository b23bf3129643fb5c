/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Synchronisation: which epoch a window is in, and what of the cache lives on (rules S1 to S4, A1,
 * A3, A4).  Which operations are complete is in osc_cached_completion.c, flushes are in
 * osc_cached_flush.c.
 *
 * A hit does not reach the inner component, so the epoch is followed here: a get is served only
 * from a target that the epoch gives access to; any other goes to the inner component, which knows
 * the right error.  Inner components agree on the epochs of correct programs, where MPI_Win_lock
 * after a fence ends the fence's epoch; on others they differ (README.md, "Inner components"), and
 * where it is not sure that they give access, nothing is served.
 *
 * Every function calls the inner one first and believes its return code; see forget_if_failed() in
 * osc_cached_completion.h.  After a fence with nothing outstanding that we counted, there is
 * nothing left to do.
 *
 * When an epoch of an active target ends, nothing here may touch users' buffers that other
 * processes could write by then: gets into memory that a window exposes are not kept
 * (osc_cached_memory.c).
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <stdlib.h>

#include "ompi/constants.h"
#include "ompi/group/group.h"

#include "osc_cached_sync.h"
#include "coherence/osc_cached_coherence.h"
#include "node/osc_cached_node.h"
#include "osc_cached_bounce.h"
#include "osc_cached_completion.h"
#include "osc_cached_verify.h"

/* Own writes */

ompi_osc_cached_peer_t *ompi_osc_cached_write_begin(ompi_osc_cached_window_t *window, int target)
{
    ompi_osc_cached_peer_t *peer;

    ompi_osc_cached_window_lock(window);
    if (OPAL_UNLIKELY(NULL != window->sharing) && !ompi_osc_cached_is_coherent(window)) {
        ompi_osc_cached_node_write(window, target);
    }
    peer = ompi_osc_cached_peer_used(window, target);
    if (OPAL_LIKELY(!osc_cached_is_nobody(peer))) {
        if (!ompi_osc_cached_is_coherent(window)) { /* else its blocks are dropped, not all */
            osc_cached_cache_invalidate_target(&peer->cache);
        }
        ++peer->writing;
    } else if (NULL != window->sharing) {
        /* when it is complete will be known only when all are */
        ompi_osc_cached_lose_count(window);
        ompi_osc_cached_window_update(window);
    }
    ompi_osc_cached_window_unlock(window);
    return peer;
}

void ompi_osc_cached_write_end(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                               int target)
{
    ompi_osc_cached_window_lock(window);
    if (OPAL_LIKELY(!osc_cached_is_nobody(peer))) {
        --peer->writing;
    } else {
        /* another thread may have found memory for it, and may have fetched something */
        peer = ompi_osc_cached_peer(window, target);
        if (!osc_cached_is_nobody(peer)) {
            osc_cached_cache_invalidate_target(&peer->cache);
        } else if (NULL != window->sharing) {
            /* what others fetch until all are complete will be forgotten then */
            ompi_osc_cached_node_written(window, target);
        }
    }
    if (!osc_cached_is_nobody(peer)) {
        /* also after an error: nobody knows how far it came */
        peer->written = ompi_osc_cached_issued(window, peer);
        ompi_osc_cached_used(window, peer);
    }
    ompi_osc_cached_window_unlock(window);
}

/* A moment at which operations will have been issued before it, or after it. */
static inline uint64_t mark(ompi_osc_cached_window_t *window, uint64_t *begin)
{
    uint64_t sequence;

    ompi_osc_cached_window_lock(window);
    sequence = window->sequence;
    *begin = begin_of(window, NULL);
    ompi_osc_cached_window_unlock(window);
    return sequence;
}

/* Epochs. Several threads may lock and unlock targets at the same time; epochs of all targets are
 * begun and ended by one thread at a time. */

/* Caller holds the lock. */
static void set_accessible(ompi_osc_cached_window_t *window, bool accessible)
{
    for (int i = 0; i < window->num_started; ++i) {
        if (0 <= window->started[i]) {
            ompi_osc_cached_peer_t *peer = ompi_osc_cached_peer_used(window, window->started[i]);

            if (!osc_cached_is_nobody(peer)) {
                peer->accessible = accessible;
            }
        }
    }
}

/* In an epoch of MPI_Win_lock_all that does not lock before it must, a coherent window has its
 * copies from before: a target is accessible when something has been issued to it, and so locked.
 * Caller holds the lock. */
static void forget_locks(ompi_osc_cached_window_t *window)
{
    osc_cached_peers_place_t place = {0};
    ompi_osc_cached_peer_t *peer;

    window->all_checked = false;
    while (NULL != (peer = osc_cached_peers_next(&window->peers, &place))) {
        peer->accessible = false;
    }
}

/* Caller holds the lock. */
static void enter_epoch(ompi_osc_cached_window_t *window, osc_cached_epoch_t epoch)
{
    if (OSC_CACHED_EPOCH_START == window->epoch) {
        set_accessible(window, false); /* also when a fence ended it, as osc/rdma lets it */
    }
    if (window->all_checked && OSC_CACHED_EPOCH_MIXED != epoch) {
        forget_locks(window);
    }
    if (NULL != window->coherence && osc_cached_epoch_is_passive(epoch)) {
        expire(window, NULL); /* what is of a fence's epoch, which this one ends */
    }
    if (OPAL_UNLIKELY(NULL != window->bounces) && NULL == window->busy) {
        ompi_osc_cached_bounce_forget(window->bounces);
        window->bounces = NULL;
    }
    window->epoch = epoch;
    if (NULL != window->coherence && osc_cached_epoch_is_active(epoch)) {
        /* what is of passive epochs: a hit would not wait for the target's MPI_Win_post; and what a
         * fence begins is a new epoch (S1) */
        expire(window, NULL);
    }
    window->first_tick = window->ticks;
    if (OSC_CACHED_EPOCH_NONE == epoch || OSC_CACHED_EPOCH_FENCE == epoch) {
        ompi_osc_cached_all_are_counted(window);
    }
    ompi_osc_cached_window_update(window);
}

/* Another epoch is about to begin. Some inner components refuse that while one of a fence or of
 * lock_all is open in which there was an access: tell them of one that may have been a hit, by a
 * get of nothing. */
static void announce(ompi_osc_cached_window_t *window)
{
    bool accessed;

    ompi_osc_cached_window_lock(window);
    accessed = osc_cached_epoch_has_all(window->epoch) && window->first_tick != window->ticks;
    ompi_osc_cached_window_unlock(window);
    if (accessed) {
        (void) window->inner.osc_get(NULL, 0, MPI_BYTE, window->rank, 0, 0, MPI_BYTE, window->win);
    }
}

/* All operations of the epoch are complete, and the next one begins.
 *
 * @param event  that is the end of the one, or the begin of the other
 */
static void change_epoch(ompi_osc_cached_window_t *window, uint64_t sequence, uint64_t sync_ns,
                         osc_cached_event_t event)
{
    ompi_osc_cached_window_lock(window);
    expire(window, NULL);
    ompi_osc_cached_complete_all(window, sequence, true, sync_ns);
    ompi_osc_cached_try_all_again(window);
    enter_epoch(window, osc_cached_epoch_next(window->epoch, event, window->num_locks));
    ompi_osc_cached_window_unlock(window);
    ompi_osc_cached_verify_compare(window, NULL, sequence);
}

__opal_attribute_noinline__ static int watched_fence(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_mark_t told;
    uint64_t sequence, begin;
    bool happened;
    int settled, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_fences);
    if (!window->cacheable) {
        return window->inner.osc_fence(mpi_assert, win);
    }
    sequence = mark(window, &begin);
    settled = settle(window, OSC_CACHED_EVERYBODY);
    told = begin_telling(window, OSC_CACHED_EVERYBODY, ompi_osc_cached_tells_of(mpi_assert));
    ret = first_error(window->inner.osc_fence(mpi_assert, win), settled);
    happened = forget_if_failed(window, ret);
    end_telling(window, OSC_CACHED_EVERYBODY, happened, &told);
    if (!happened) {
        return ret;
    }
    /* after MPI_MODE_NOPRECEDE nothing was issued, and nothing is complete */
    change_epoch(window, (mpi_assert & MPI_MODE_NOPRECEDE) ? 0 : sequence, ns_since(begin),
                 (mpi_assert & MPI_MODE_NOSUCCEED) ? OSC_CACHED_EVENT_LAST_FENCE
                                                   : OSC_CACHED_EVENT_FENCE);
    return ret;
}

int ompi_osc_cached_fence(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);
    ompi_osc_base_module_fence_fn_t next = watched_fence;

    /* between two epochs of fences, nothing that we counted outstanding: in few instructions */
    if (OPAL_LIKELY(NULL != window) && (ompi_osc_cached_ways(window) & OSC_CACHED_WAY_PLAIN_FENCE)
        && NULL == window->busy && !(mpi_assert & MPI_MODE_NOSUCCEED) && all_pass_again(window)) {
        ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_fences);
        expire(window, NULL); /* also if the inner one fails: that is never wrong */
        window->first_tick = window->ticks;
        next = window->inner.osc_fence;
    }
    return next(mpi_assert, win);
}

/* Ranks of the group in the window; NULL without memory: then no target counts as accessible, and
 * every get goes to the inner component. */
static int *ranks_of(ompi_osc_cached_window_t *window, ompi_group_t *group, int size)
{
    int *ranks = malloc(2 * (size_t) size * sizeof(*ranks) + 1);

    if (NULL == ranks) {
        return NULL;
    }
    for (int i = 0; i < size; ++i) {
        ranks[size + i] = i;
    }
    if (OMPI_SUCCESS
        != ompi_group_translate_ranks(group, size, ranks + size, window->win->w_group, ranks)) {
        free(ranks);
        return NULL;
    }
    return ranks;
}

int ompi_osc_cached_start(ompi_group_t *group, int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    int ret, size;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_starts);
    announce(window);
    ret = window->inner.osc_start(group, mpi_assert, win);
    if (OMPI_SUCCESS != ret || !window->cacheable) {
        return ret;
    }
    ompi_osc_cached_tell_nothing(window);
    change_epoch(window, 0, 0, OSC_CACHED_EVENT_START);
    size = ompi_group_size(group);
    free(window->started);
    window->started = ranks_of(window, group, size);
    window->num_started = (NULL == window->started) ? 0 : size;
    ompi_osc_cached_window_lock(window);
    set_accessible(window, true);
    ompi_osc_cached_window_unlock(window);
    return OMPI_SUCCESS;
}

int ompi_osc_cached_complete(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_mark_t told;
    uint64_t sequence, begin;
    bool happened;
    int settled, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_completes);
    if (!window->cacheable) {
        return window->inner.osc_complete(win);
    }
    sequence = mark(window, &begin);
    settled = settle(window, OSC_CACHED_EVERYBODY);
    told = begin_telling(window, OSC_CACHED_EVERYBODY, OSC_CACHED_TELLS_NOTHING);
    ret = first_error(window->inner.osc_complete(win), settled);
    happened = forget_if_failed(window, ret);
    end_telling(window, OSC_CACHED_EVERYBODY, happened, &told);
    if (!happened || OSC_CACHED_EPOCH_START != window->epoch) {
        return ret; /* osc/rdma takes one without MPI_Win_start, and completes nothing */
    }
    change_epoch(window, sequence, ns_since(begin), OSC_CACHED_EVENT_COMPLETE);
    return ret;
}

int ompi_osc_cached_lock(int lock_type, int target, int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_peer_t *peer;
    osc_cached_epoch_t next;
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_locks);
    announce(window);
    ret = window->inner.osc_lock(lock_type, target, mpi_assert, win);
    if (OMPI_SUCCESS != ret || !window->cacheable) {
        return ret;
    }
    ompi_osc_cached_tell_nothing(window);
    ompi_osc_cached_window_lock(window);
    peer = ompi_osc_cached_peer_used(window, target);
    if (!osc_cached_is_nobody(peer)) {
        expire(window, peer);
        peer->accessible = true;
    }
    ++window->num_locks;
    next = osc_cached_epoch_next(window->epoch, OSC_CACHED_EVENT_LOCK, window->num_locks);
    if (OSC_CACHED_EPOCH_MIXED == next) {
        ompi_osc_cached_lose_count(window);
    }
    enter_epoch(window, next);
    ompi_osc_cached_window_unlock(window);
    return OMPI_SUCCESS;
}

int ompi_osc_cached_unlock(int target, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_peer_t *peer;
    ompi_osc_cached_mark_t told;
    osc_cached_epoch_t next;
    uint64_t sequence, begin;
    bool fetching, happened;
    int flushed, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_unlocks);
    if (!window->cacheable) {
        return window->inner.osc_unlock(target, win);
    }
    ompi_osc_cached_window_lock(window);
    peer = ompi_osc_cached_peer(window, target);
    sequence = window->sequence;
    begin = begin_of(window, peer);
    fetching = (0 != peer->cache.head || NULL != window->shadows)
               && OSC_CACHED_FLUSH_FETCHING == window->flush_first;
    ompi_osc_cached_window_unlock(window);
    flushed = settle(window, target);
    told = begin_telling(window, target, OSC_CACHED_TELLS_STORES);
    if (fetching) {
        flushed = first_error(window->inner.osc_flush(target, win),
                              flushed); /* see ompi_osc_cached_flush_before_all() */
    }
    ret = window->inner.osc_unlock(target, win);
    happened = forget_if_failed(window, ret);
    end_telling(window, target, happened, &told);
    if (!happened || !forget_if_failed(window, flushed)) {
        return first_error(ret, flushed);
    }
    ompi_osc_cached_window_lock(window);
    if (!osc_cached_is_nobody(peer)) {
        expire(window, peer);
        complete_peer(window, peer, sequence, true, ns_since(begin));
        peer->accessible = false;
        peer->state &= (uint8_t) ~OSC_CACHED_PEER_LOOSE;
    }
    window->num_locks -= 0 < window->num_locks;
    next = osc_cached_epoch_next(window->epoch, OSC_CACHED_EVENT_UNLOCK, window->num_locks);
    if (next != window->epoch) {
        enter_epoch(window, next);
    }
    ompi_osc_cached_window_unlock(window);
    ompi_osc_cached_verify_compare(window, peer, sequence);
    return first_error(flushed, ret);
}

int ompi_osc_cached_lock_all(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_locks);
    announce(window);
    ret = window->inner.osc_lock_all(mpi_assert, win);
    if (OMPI_SUCCESS != ret || !window->cacheable) {
        return ret;
    }
    ompi_osc_cached_tell_nothing(window);
    change_epoch(window, 0, 0, OSC_CACHED_EVENT_LOCK_ALL);
    if (NULL != window->coherence && !(mpi_assert & MPI_MODE_NOCHECK)) {
        ompi_osc_cached_window_lock(window);
        window->all_checked = true;
        ompi_osc_cached_window_update(window);
        ompi_osc_cached_window_unlock(window);
    }
    return OMPI_SUCCESS;
}

int ompi_osc_cached_unlock_all(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_mark_t told;
    uint64_t sequence, begin;
    bool happened;
    int flushed, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_unlocks);
    if (!window->cacheable) {
        return window->inner.osc_unlock_all(win);
    }
    sequence = mark(window, &begin);
    flushed = settle(window, OSC_CACHED_EVERYBODY);
    told = begin_telling(window, OSC_CACHED_EVERYBODY, OSC_CACHED_TELLS_STORES);
    flushed = first_error(ompi_osc_cached_flush_before_all(window), flushed);
    ret = window->inner.osc_unlock_all(win);
    happened = forget_if_failed(window, ret);
    end_telling(window, OSC_CACHED_EVERYBODY, happened, &told);
    if (!happened || !forget_if_failed(window, flushed)) {
        return first_error(ret, flushed);
    }
    change_epoch(window, sequence, ns_since(begin), OSC_CACHED_EVENT_UNLOCK_ALL);
    return first_error(flushed, ret);
}

static __opal_attribute_noinline__ int telling_sync(ompi_osc_cached_window_t *window,
                                                    ompi_win_t *win)
{
    ompi_osc_cached_mark_t told = begin_telling(window, window->rank, OSC_CACHED_TELLS_STORES);
    int ret = window->inner.osc_sync(win);

    end_telling(window, window->rank, false, &told);
    return ret;
}

int ompi_osc_cached_sync(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_syncs);
    ret = (NULL == window->coherence) ? window->inner.osc_sync(win) : telling_sync(window, win);
    if (OMPI_SUCCESS == ret && (ompi_osc_cached_ways(window) & OSC_CACHED_WAY_LOOKUP)) {
        ompi_osc_cached_window_lock(window);
        expire(window, NULL);
        ompi_osc_cached_window_unlock(window);
    }
    return ret;
}
