/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Flushes.  One target or all that have nothing outstanding need no call of the inner component.
 */

#include "ompi_config.h"

#include "osc_cached_completion.h"

#include <limits.h>

#include "helper/osc_cached_helper.h"
#include "osc_cached_sync.h"
#include "osc_cached_verify.h"

/* As all_pass_again(), of one target. */
static inline bool passes_again(ompi_osc_cached_peer_t *peer)
{
    ++peer->batches;
    return 0 != peer->batches % PASSED_SYNCS;
}

static inline bool is_watched(const ompi_osc_cached_window_t *window, uint32_t ways)
{
    return (ways & OSC_CACHED_WAY_LOOKUP) || NULL != OSC_CACHED_READ(window->busy);
}

void ompi_osc_cached_make_progress(ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_progress_only(window);
    ompi_osc_cached_window_lock(window);
    window->quiet = 0;
    osc_cached_cache_look(&window->cache);
    ompi_osc_cached_window_unlock(window);
}

/* Times that one of several threads has made progress: those that see that another one did it since
 * they looked last leave it to that one.  With two threads in there each waits for the other. */
static _Atomic uint32_t rounds;

/* Whether it is this thread's turn; in a lane. */
static bool makes_progress(osc_cached_lane_t *lane)
{
    uint32_t now = atomic_load_explicit(&rounds, memory_order_relaxed);
    bool turn = now == lane->rounds;

    lane->rounds = now + turn;
    return turn;
}

/* Then nobody else's.  The cache is looked at as often as the lanes are collected: that needs the
 * lock. */
static void make_shared_progress(ompi_osc_cached_window_t *window)
{
    enum { LOOKS = 8 };

    if (0 == atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed) % LOOKS) {
        ompi_osc_cached_make_progress(window);
    } else {
        ompi_osc_cached_progress_only(window);
    }
}

static inline int stay_local(ompi_osc_cached_window_t *window, bool quiet)
{
    ompi_osc_cached_count(window, OSC_CACHED_STAT_local_flushes);
    if (quiet) {
        ompi_osc_cached_make_progress(window);
    }
    return OMPI_SUCCESS;
}

/* A passive epoch that gives access to the target: elsewhere a flush is an error of the inner
 * component. */
static inline bool may_stay_local(const ompi_osc_cached_window_t *window)
{
    return (window->ways & OSC_CACHED_WAY_PASSIVE) && !window->uncounted;
}

/* Whether there is nothing for a flush of the target to wait for; caller holds the lock. */
static inline bool has_nothing(const ompi_osc_cached_peer_t *peer, bool at_target)
{
    return OSC_CACHED_PEER_IDLE == peer->state
           || (OSC_CACHED_PEER_BUSY == peer->state && !at_target
               && peer->issued <= peer->completed_local);
}

/* The flush of a target that has something outstanding is complete; caller holds the lock. */
static inline void flushed(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                           uint64_t sequence, bool at_target, uint64_t begin)
{
    complete_peer(window, peer, sequence, at_target, ns_since(begin));
    peer->state &= (uint8_t) ~OSC_CACHED_PEER_LOOSE;
    if (at_target && 0 == peer->batches % PASSED_SYNCS) {
        try_again(peer);
    }
}

/* A flush that returns an error of a helper has completed all operations, of which one has failed.
 * With an error of the inner component what was outstanding still is. Which of them it was, only a
 * helper knows. */
static inline bool has_completed(const ompi_osc_cached_window_t *window, int target, int ret)
{
    return OPAL_LIKELY(OMPI_SUCCESS == ret)
           || (NULL != window->helper
               && !ompi_osc_cached_helper_has_failed(window->helper, target));
}

static int flush_one(ompi_osc_cached_window_t *window, int target, bool at_target,
                     ompi_osc_base_module_flush_fn_t inner)
{
    ompi_osc_cached_mark_t told;
    ompi_osc_cached_peer_t *peer;
    uint64_t sequence, begin;
    bool quiet, nobody;
    int settled, ret;

    if (0 > target) {
        return inner(target, window->win); /* MPI_PROC_NULL */
    }
    ompi_osc_cached_window_lock(window);
    peer = ompi_osc_cached_peer(window, target);
    nobody = osc_cached_is_nobody(peer);
    sequence = window->sequence;
    if (may_stay_local(window) && ompi_osc_cached_has_access(window->ways, peer)
        && (nobody ? !window->peers.lacking : has_nothing(peer, at_target))) {
        if (at_target && !nobody) {
            expire(window, peer);
        }
        quiet = ompi_osc_cached_was_quiet(window);
        ompi_osc_cached_window_unlock(window);
        return stay_local(window, quiet);
    }
    if (nobody) {
        ompi_osc_cached_window_unlock(window);
        return inner(target, window->win);
    }
    begin = begin_of(window, peer);
    ompi_osc_cached_window_unlock(window);
    settled = settle(window, target);
    told = begin_flushing(window);
    ret = first_error(inner(target, window->win), settled);
    if (!forget_if_failed(window, ret)) {
        return ret;
    }
    if (!has_completed(window, target, ret)) {
        end_telling(window, target, false, &told);
        return ret;
    }
    end_telling(window, target, at_target, &told);
    ompi_osc_cached_window_lock(window);
    if (at_target) {
        expire(window, peer);
    }
    flushed(window, peer, sequence, at_target, begin);
    ompi_osc_cached_window_unlock(window);
    ompi_osc_cached_verify_compare(window, peer, sequence);
    return ret;
}

/* The same at the target in its most frequent form, OSC_CACHED_WAY_PLAIN_FLUSH: one thread, nothing
 * expires and nothing is verified. */
__opal_attribute_noinline__ static int flush_busy(ompi_osc_cached_window_t *window,
                                                  ompi_osc_cached_peer_t *peer)
{
    uint64_t sequence = window->sequence, begin = begin_of(window, peer);
    ompi_osc_cached_mark_t told;
    int settled, ret;

    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_flushes);
    settled = settle(window, peer->rank);
    told = begin_flushing(window);
    ret = first_error(window->inner.osc_flush(peer->rank, window->win), settled);
    if (forget_if_failed(window, ret)) {
        bool completed = has_completed(window, peer->rank, ret);

        end_telling(window, peer->rank, completed, &told);
        if (completed) {
            flushed(window, peer, sequence, true, begin);
        }
    }
    return ret;
}

/* Whether a flush of all completes all operations that were not counted. Another thread may have
 * begun one before it could know that they are counted again, and issue it after the flush. */
static bool completes_uncounted(const ompi_osc_cached_window_t *window)
{
    return !window->threaded
           && (!ompi_osc_cached_flush_is_partial(window)
               || (OSC_CACHED_FLUSH_LOCKED == window->flush_first
                   && OSC_CACHED_EPOCH_LOCK != window->epoch));
}

static int flush_every(ompi_osc_cached_window_t *window, bool at_target,
                       ompi_osc_base_module_flush_all_fn_t inner)
{
    ompi_osc_cached_mark_t told;
    uint64_t sequence, begin;
    bool quiet;
    int before, ret;

    ompi_osc_cached_window_lock(window);
    sequence = window->sequence;
    if (may_stay_local(window) && (window->ways & OSC_CACHED_WAY_ALL) && !window->loose
        && NULL == window->busy) {
        if (at_target) {
            expire(window, NULL);
        }
        quiet = ompi_osc_cached_was_quiet(window);
        ompi_osc_cached_window_unlock(window);
        return stay_local(window, quiet);
    }
    begin = begin_of(window, NULL);
    ompi_osc_cached_window_unlock(window);
    before = settle(window, OSC_CACHED_EVERYBODY);
    told = begin_flushing(window);
    before = first_error(ompi_osc_cached_flush_before_all(window), before);
    ret = inner(window->win);
    if (!forget_if_failed(window, ret) || !forget_if_failed(window, before)) {
        return first_error(ret, before);
    }
    if (!has_completed(window, OSC_CACHED_EVERYBODY, first_error(ret, before))) {
        end_telling(window, OSC_CACHED_EVERYBODY, false, &told);
        return first_error(ret, before);
    }
    end_telling(window, OSC_CACHED_EVERYBODY, at_target, &told);
    ompi_osc_cached_window_lock(window);
    if (at_target) {
        expire(window, NULL);
    }
    ompi_osc_cached_complete_all(window, sequence, at_target, ns_since(begin));
    ompi_osc_cached_try_all_again(window);
    if (at_target && window->uncounted && completes_uncounted(window)) {
        ompi_osc_cached_all_are_counted(window);
        ompi_osc_cached_window_update(window);
    }
    ompi_osc_cached_window_unlock(window);
    ompi_osc_cached_verify_compare(window, NULL, sequence);
    return first_error(before, ret);
}

/* The ways of a flush. The first look of each slot is made of few instructions; what needs more is
 * in watched_...(), where the lock is taken. */
typedef enum {
    FLUSH_WATCHED, /* what it completes is to be followed */
    FLUSH_INNER,   /* straight to the inner component: nothing was cached, or counted */
    FLUSH_BUSY,    /* the same, of one target whose peer is the recent one: see flush_busy() */
    FLUSH_LOCAL,   /* nothing is outstanding: done */
} flush_way_t;

static inline flush_way_t way_of_target(ompi_osc_cached_window_t *window, int target)
{
    uint32_t ways = ompi_osc_cached_ways(window);
    ompi_osc_cached_peer_t *peer;

    if (!(ways & OSC_CACHED_WAY_PLAIN_FLUSH)) {
        return is_watched(window, ways) ? FLUSH_WATCHED : FLUSH_INNER;
    }
    peer = osc_cached_peers_glance(&window->peers, target);
    if (OSC_CACHED_PEER_BUSY <= peer->state) {
        return osc_cached_is_nobody(peer) ? FLUSH_WATCHED : FLUSH_BUSY; /* as MPI_PROC_NULL is */
    }
    if (OPAL_UNLIKELY(0 < peer->profit.passed) && passes_again(peer)) {
        return FLUSH_INNER;
    }
    return (OSC_CACHED_PEER_IDLE == peer->state && ompi_osc_cached_has_access(ways, peer))
               ? FLUSH_LOCAL
               : FLUSH_WATCHED;
}

static inline flush_way_t way_of_all(ompi_osc_cached_window_t *window)
{
    uint32_t ways = ompi_osc_cached_ways(window);

    if (!is_watched(window, ways)) {
        return FLUSH_INNER;
    }
    if (!(ways & OSC_CACHED_WAY_PLAIN_FLUSH) || NULL != window->busy) {
        return FLUSH_WATCHED;
    }
    if (window->loose) {
        return all_pass_again(window) ? FLUSH_INNER : FLUSH_WATCHED;
    }
    return (ways & OSC_CACHED_WAY_ALL) ? FLUSH_LOCAL : FLUSH_WATCHED;
}

enum { EVERY_TARGET = INT_MIN }; /* a rank that none has, not even MPI_PROC_NULL */

/* A flush that has nothing to wait for, with several threads: in a lane of the gate, beside hits
 * and flushes of others. */
static bool is_shared_flush(ompi_osc_cached_window_t *window, int target)
{
    osc_cached_lane_t *lane = osc_cached_gate_enter(window->gate);
    const ompi_osc_cached_peer_t *peer;
    bool local, quiet = false;

    if (NULL == lane) {
        return false;
    }
    if (EVERY_TARGET != target) {
        peer = ompi_osc_cached_peer(window, target);
        local = OSC_CACHED_PEER_IDLE == peer->state && 0 == peer->profit.passed
                && ompi_osc_cached_has_access(window->ways, peer);
    } else {
        local = (window->ways & OSC_CACHED_WAY_ALL) && !window->loose && NULL == window->busy;
    }
    local = local && (window->ways & OSC_CACHED_WAY_SHARED_FLUSH);
    if (local) {
        ++lane->flushes;
        if (OSC_CACHED_QUIET <= ++lane->quiet) {
            lane->quiet = 0;
            quiet = makes_progress(lane);
        }
    }
    osc_cached_gate_leave(lane);
    if (quiet) {
        make_shared_progress(window);
    }
    return local;
}

/* One slot: a function for each of the four, which differ in types and in what they complete. */
#define FLUSH(slot, at_target, each, way, whom, parameters, arguments, ...)           \
    __opal_attribute_noinline__ static int watched_##slot parameters                  \
    {                                                                                 \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);            \
                                                                                      \
        if ((ompi_osc_cached_ways(window) & OSC_CACHED_WAY_SHARED_FLUSH)              \
            && is_shared_flush(window, whom)) {                                       \
            return OMPI_SUCCESS;                                                      \
        }                                                                             \
        ompi_osc_cached_count(window, OSC_CACHED_STAT_flushes);                       \
        return is_watched(window, ompi_osc_cached_ways(window))                       \
                   ? each(window, ##__VA_ARGS__, at_target, window->inner.osc_##slot) \
                   : window->inner.osc_##slot arguments;                              \
    }                                                                                 \
                                                                                      \
    int ompi_osc_cached_##slot parameters                                             \
    {                                                                                 \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);         \
        ompi_osc_base_module_##slot##_fn_t next = watched_##slot;                     \
                                                                                      \
        if (OPAL_LIKELY(NULL != window)) {                                            \
            flush_way_t which = way(window, ##__VA_ARGS__);                           \
                                                                                      \
            if (FLUSH_LOCAL == which) {                                               \
                ompi_osc_cached_count(window, OSC_CACHED_STAT_flushes);               \
                return stay_local(window, ompi_osc_cached_was_quiet(window));         \
            }                                                                         \
            if (at_target && FLUSH_BUSY == which) {                                   \
                return flush_busy(window, window->peers.recent);                      \
            }                                                                         \
            if (FLUSH_INNER == which) {                                               \
                ompi_osc_cached_count(window, OSC_CACHED_STAT_flushes);               \
                next = window->inner.osc_##slot;                                      \
            }                                                                         \
        }                                                                             \
        return next arguments;                                                        \
    }

FLUSH(flush, true, flush_one, way_of_target, target, (int target, ompi_win_t *win), (target, win),
      target)
FLUSH(flush_all, true, flush_every, way_of_all, EVERY_TARGET, (ompi_win_t * win), (win))
FLUSH(flush_local, false, flush_one, way_of_target, target, (int target, ompi_win_t *win),
      (target, win), target)
FLUSH(flush_local_all, false, flush_every, way_of_all, EVERY_TARGET, (ompi_win_t * win), (win))
