/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Synchronisation: which epoch a window is in, which operations are complete, and what of the cache
 * lives on (rules S1 to S4, A1, A3, A4).
 *
 * A hit does not reach the inner component, so the epoch is followed here: a get is served only
 * from a target that the epoch gives access to; any other goes to the inner component, which knows
 * the right error.  Inner components agree on the epochs of correct programs, where MPI_Win_lock
 * after a fence ends the fence's epoch; on others they differ (README.md, "Inner components"), and
 * where it is not sure that they give access, nothing is served.
 *
 * Every function calls the inner one first and believes its return code; see has_happened().  Two
 * do not have to call it: a flush of one target or of all that have nothing outstanding.  After a
 * fence with nothing outstanding that we counted, there is nothing left to do.
 *
 * When an epoch of an active target ends, nothing here may touch users' buffers that other
 * processes could write by then: gets into memory that a window exposes are not kept
 * (osc_cached_memory.c).
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <limits.h>
#include <stdlib.h>

#include "opal/runtime/opal_progress.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"

#include "osc_cached_sync.h"
#include "coherence/osc_cached_coherence.h"
#include "node/osc_cached_node.h"
#include "osc_cached_verify.h"

enum {
    TIMED_FIRST = 8,     /* synchronisations whose gets are measured at the start ... */
    TIMED_EVERY = 16,    /* ... and then one of these, */
    PASSED_SYNCS = 4096, /* or one of these, where gets are passed through */
};

static inline bool is_active(ompi_osc_cached_epoch_t epoch)
{
    return OSC_CACHED_EPOCH_FENCE == epoch || OSC_CACHED_EPOCH_START == epoch;
}

/* Mode transparent ends the life of what was fetched (S1, S2, S3), before it is completed: then
 * only what another get waits for is copied at all. In a coherent window that is only for epochs of
 * active targets: what was fetched in passive ones lives on. Caller holds the lock. */
static inline void expire(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer)
{
    if (OSC_CACHED_MODE_TRANSPARENT == window->mode
        && (NULL == window->coherence || is_active(window->epoch))) {
        if (NULL == peer) {
            osc_cached_cache_invalidate(&window->cache);
        } else {
            osc_cached_cache_invalidate_target(&peer->cache);
        }
    }
}

/* Own writes */

ompi_osc_cached_peer_t *ompi_osc_cached_write_begin(ompi_osc_cached_window_t *window, int target)
{
    ompi_osc_cached_peer_t *peer;

    ompi_osc_cached_window_lock(window);
    if (OPAL_UNLIKELY(NULL != window->sharing)) {
        ompi_osc_cached_node_write(window, target);
    }
    peer = ompi_osc_cached_peer_used(window, target);
    if (OPAL_LIKELY(!osc_cached_is_nobody(peer))) {
        if (!ompi_osc_cached_is_coherent(window)) { /* else its blocks are dropped, not all */
            osc_cached_cache_invalidate_target(&peer->cache);
        }
        ++peer->writing;
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
        }
    }
    if (!osc_cached_is_nobody(peer)) {
        /* also after an error: nobody knows how far it came */
        peer->written = ompi_osc_cached_issued(window, peer);
        ompi_osc_cached_used(window, peer);
    }
    ompi_osc_cached_window_unlock(window);
}

/* Completion */

/* A synchronisation has failed. For want of an epoch it was none. Any other error is one of an
 * operation that it has completed, as far as that was possible: nothing that it brought is kept. */
__opal_attribute_noinline__ static bool has_failed_only(ompi_osc_cached_window_t *window, int ret)
{
    if (OMPI_ERR_RMA_SYNC == ret) {
        return false;
    }
    ompi_osc_cached_window_invalidate(window);
    return true;
}

/* Whether the operations that a synchronisation completes are the program's again, which may do
 * anything with their buffers. */
static inline bool has_happened(ompi_osc_cached_window_t *window, int ret)
{
    return OPAL_LIKELY(OMPI_SUCCESS == ret) || has_failed_only(window, ret);
}

static inline int first_error(int one, int other)
{
    return (OMPI_SUCCESS != one) ? one : other;
}

/* The time at which a synchronisation of one target or of all (NULL) begins, if gets that it
 * completes were measured, else 0: most were not, and the clock costs 2 % of a fence. Caller holds
 * the lock. */
static inline uint64_t begin_of(const ompi_osc_cached_window_t *window,
                                const ompi_osc_cached_peer_t *peer)
{
    return ((NULL == peer) ? window->timed : 0 < peer->batch_timed) ? ompi_osc_cached_now() : 0;
}

static inline uint64_t ns_since(uint64_t begin)
{
    return (0 < begin) ? ompi_osc_cached_since(begin, 1) : 0;
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

/* What the gets since the last synchronisation cost, when they were measured; caller holds the
 * lock. */
static void end_batch(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                      uint64_t sync_ns)
{
    uint32_t below = ompi_osc_cached_cheap_below();

    if (0 == peer->batch_gets) {
        return;
    }
    if (0 < peer->batch_timed) {
        osc_cached_profit_timed(&peer->profit,
                                peer->batch_ns / peer->batch_timed + sync_ns / peer->batch_gets);
        if (peer->profit.get_ns < below) {
            /* what this round has saved, before it ends */
            ompi_osc_cached_window_settle(window, peer);
            peer->profit.looked = 0;
            peer->profit.hits = 0;
            peer->profit.joins = 0;
        }
        osc_cached_profit_compare(&peer->profit, below);
    }
    ++peer->batches;
    OSC_CACHED_WRITE(peer->untimed,
                     TIMED_FIRST <= peer->batches && 0 != peer->batches % TIMED_EVERY);
    peer->batch_gets = 0;
    OSC_CACHED_WRITE(peer->batch_timed, 0);
    peer->batch_ns = 0;
}

/* Take what gets have brought, and measure that as often as the gets; caller holds the lock. */
static void fill(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, uint64_t sequence)
{
    uint32_t records = window->cache.num_records;
    uint64_t begin = peer->untimed ? 0 : ompi_osc_cached_now();

    osc_cached_cache_complete(&window->cache, &peer->cache, sequence);
    records -= window->cache.num_records;
    if (!peer->untimed && 0 < records) {
        osc_cached_profit_follow(&window->costs.copy_ns, ompi_osc_cached_since(begin, 1) / records);
    }
}

/* The operations of a target up to a mark are complete; caller holds the lock. */
static void complete_peer(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                          uint64_t sequence, bool at_target, uint64_t sync_ns)
{
    if (0 != peer->cache.head) {
        fill(window, peer, sequence);
    }
    end_batch(window, peer, sync_ns);
    if (!at_target) {
        if (peer->completed_local < sequence) {
            peer->completed_local = sequence;
        }
        return;
    }
    if (peer->completed < sequence) {
        peer->completed = sequence;
    }
    if (OPAL_UNLIKELY(NULL != window->sharing) && !ompi_osc_cached_is_dirty(peer)) {
        ompi_osc_cached_node_written(window, peer->rank);
    }
    if ((peer->state & OSC_CACHED_PEER_BUSY) && peer->issued <= peer->completed) {
        peer->state &= (uint8_t) ~OSC_CACHED_PEER_BUSY;
        if (NULL == peer->prev_busy) {
            OSC_CACHED_WRITE(window->busy, peer->next_busy);
        } else {
            peer->prev_busy->next_busy = peer->next_busy;
        }
        if (NULL != peer->next_busy) {
            peer->next_busy->prev_busy = peer->prev_busy;
        }
    }
}

/* The same for all targets. */
static void complete_all(ompi_osc_cached_window_t *window, uint64_t sequence, bool at_target,
                         uint64_t sync_ns)
{
    ompi_osc_cached_peer_t *next;

    if (0 == sequence) {
        return;
    }
    for (ompi_osc_cached_peer_t *peer = window->busy; NULL != peer; peer = next) {
        next = peer->next_busy;
        complete_peer(window, peer, sequence, at_target, sync_ns);
    }
    window->timed = false;
}

/* A synchronisation of gets that were passed through is itself passed through, but now and then one
 * is watched, where such targets are tried again. */
static inline bool passes_again(ompi_osc_cached_peer_t *peer)
{
    ++peer->batches;
    return 0 != peer->batches % PASSED_SYNCS;
}

static inline bool all_pass_again(ompi_osc_cached_window_t *window)
{
    --window->passes_left;
    return 0 <= window->passes_left;
}

/* A target that is passed through is measured again from time to time; caller holds the lock. */
static void try_again(ompi_osc_cached_peer_t *peer)
{
    if (OSC_CACHED_CHEAP == osc_cached_profit_state(&peer->profit)) {
        OSC_CACHED_WRITE(peer->untimed, false);
        peer->profit.passed = 0;
    }
}

static void try_all_again(ompi_osc_cached_window_t *window)
{
    if (0 >= window->passes_left--) {
        osc_cached_peers_place_t place = {0};
        ompi_osc_cached_peer_t *peer;

        window->passes_left = PASSED_SYNCS;
        while (window->loose && NULL != (peer = osc_cached_peers_next(&window->peers, &place))) {
            try_again(peer);
        }
    }
    window->loose = window->peers.lacking;
}

/* Operations that were not counted are complete. What other processes of the node have fetched
 * meanwhile may be older than an own write among them. Caller holds the lock. */
static void all_are_counted(ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->uncounted && NULL != window->sharing)) {
        ompi_osc_cached_window_forget(window);
    }
    window->uncounted = false;
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
static void enter_epoch(ompi_osc_cached_window_t *window, ompi_osc_cached_epoch_t epoch)
{
    if (OSC_CACHED_EPOCH_START == window->epoch) {
        set_accessible(window, false); /* also when a fence ended it, as osc/rdma lets it */
    }
    if (window->all_checked && OSC_CACHED_EPOCH_MIXED != epoch) {
        forget_locks(window);
    }
    if (NULL != window->coherence && ompi_osc_cached_epoch_is_passive(epoch)) {
        expire(window, NULL); /* what is of a fence's epoch, which this one ends */
    }
    window->epoch = epoch;
    window->first_tick = window->ticks;
    if (OSC_CACHED_EPOCH_NONE == epoch || OSC_CACHED_EPOCH_FENCE == epoch) {
        all_are_counted(window);
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
    accessed = ompi_osc_cached_epoch_has_all(window->epoch) && window->first_tick != window->ticks;
    ompi_osc_cached_window_unlock(window);
    if (accessed) {
        (void) window->inner.osc_get(NULL, 0, MPI_BYTE, window->rank, 0, 0, MPI_BYTE, window->win);
    }
}

/* Before and after the inner call of a synchronisation that tells others, or of a flush
 * (coherence/osc_cached_coherence.h). */

static inline ompi_osc_cached_mark_t begin_telling(ompi_osc_cached_window_t *window, int target,
                                                   bool stores)
{
    return (NULL == window->coherence) ? (ompi_osc_cached_mark_t){.writes = false}
                                       : ompi_osc_cached_coherence_before(window, target, stores);
}

static inline ompi_osc_cached_mark_t begin_flushing(ompi_osc_cached_window_t *window)
{
    return (NULL == window->coherence) ? (ompi_osc_cached_mark_t){.writes = false}
                                       : ompi_osc_cached_coherence_mark(window);
}

/* Before either of them: gets that wait for blocks. @return the first error */
static inline int settle(ompi_osc_cached_window_t *window, int target)
{
    return OPAL_LIKELY(!ompi_osc_cached_has_pool(window))
               ? OMPI_SUCCESS
               : ompi_osc_cached_coherence_settle(window, target);
}

static inline void end_telling(ompi_osc_cached_window_t *window, int target, bool completes,
                               ompi_osc_cached_mark_t *told)
{
    if (NULL != window->coherence) {
        ompi_osc_cached_coherence_after(window, target, completes, told);
    }
}

static inline bool is_watched(const ompi_osc_cached_window_t *window, uint32_t ways)
{
    return (ways & OSC_CACHED_WAY_LOOKUP) || NULL != OSC_CACHED_READ(window->busy);
}

/* All operations of the epoch are complete, and the next one begins. */
static void change_epoch(ompi_osc_cached_window_t *window, uint64_t sequence, uint64_t sync_ns,
                         ompi_osc_cached_epoch_t next)
{
    ompi_osc_cached_window_lock(window);
    expire(window, NULL);
    complete_all(window, sequence, true, sync_ns);
    try_all_again(window);
    enter_epoch(window, next);
    ompi_osc_cached_window_unlock(window);
    ompi_osc_cached_verify_compare(window, NULL, sequence);
}

__opal_attribute_noinline__ static int watched_fence(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_mark_t told;
    uint64_t sequence, begin;
    int settled, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_fences);
    if (!window->cacheable) {
        return window->inner.osc_fence(mpi_assert, win);
    }
    sequence = mark(window, &begin);
    settled = settle(window, OSC_CACHED_EVERYBODY);
    told = begin_telling(window, OSC_CACHED_EVERYBODY, !(mpi_assert & MPI_MODE_NOSTORE));
    ret = first_error(window->inner.osc_fence(mpi_assert, win), settled);
    end_telling(window, OSC_CACHED_EVERYBODY, has_happened(window, ret), &told);
    if (!has_happened(window, ret)) {
        return ret;
    }
    /* after MPI_MODE_NOPRECEDE nothing was issued, and nothing is complete */
    change_epoch(window, (mpi_assert & MPI_MODE_NOPRECEDE) ? 0 : sequence, ns_since(begin),
                 (mpi_assert & MPI_MODE_NOSUCCEED) ? OSC_CACHED_EPOCH_NONE
                                                   : OSC_CACHED_EPOCH_FENCE);
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
    change_epoch(window, 0, 0, OSC_CACHED_EPOCH_START);
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
    int settled, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_completes);
    if (!window->cacheable) {
        return window->inner.osc_complete(win);
    }
    sequence = mark(window, &begin);
    settled = settle(window, OSC_CACHED_EVERYBODY);
    told = begin_telling(window, OSC_CACHED_EVERYBODY, false);
    ret = first_error(window->inner.osc_complete(win), settled);
    end_telling(window, OSC_CACHED_EVERYBODY, has_happened(window, ret), &told);
    if (!has_happened(window, ret) || OSC_CACHED_EPOCH_START != window->epoch) {
        return ret; /* osc/rdma takes one without MPI_Win_start, and completes nothing */
    }
    change_epoch(window, sequence, ns_since(begin), OSC_CACHED_EPOCH_NONE);
    return ret;
}

/* A flush of all targets may leave something undone; a flush of one target never does, so some are
 * flushed one by one before. */

/* UCX 1.13 returns too early when both sides of shared memory fetch from windows made by
 * MPI_Win_create, and more often so beside a helper: gets that are not kept come late, too.
 * osc/rdma forgets targets that were locked one by one.  Caller holds the lock. */
static bool is_flushed_before(const ompi_osc_cached_window_t *window,
                              const ompi_osc_cached_peer_t *peer)
{
    switch (window->flush_first) {
    case OSC_CACHED_FLUSH_FETCHING:
        return MPI_WIN_FLAVOR_CREATE == window->inner_flavor;
    case OSC_CACHED_FLUSH_LOCKED:
        return OSC_CACHED_EPOCH_LOCK == window->epoch && peer->accessible;
    default:
        return false;
    }
}

/* The next target that is busy, NULL: the first one.  With several threads the list of them may
 * change meanwhile. */
static ompi_osc_cached_peer_t *next_busy(ompi_osc_cached_window_t *window,
                                         osc_cached_peers_place_t *place,
                                         const ompi_osc_cached_peer_t *peer)
{
    ompi_osc_cached_peer_t *next;

    if (!window->threaded) {
        return (NULL == peer) ? window->busy : peer->next_busy;
    }
    do {
        next = osc_cached_peers_next(&window->peers, place);
    } while (NULL != next && !(next->state & OSC_CACHED_PEER_BUSY));
    return next;
}

static int flush_before_all(ompi_osc_cached_window_t *window)
{
    osc_cached_peers_place_t place = {0};
    ompi_osc_cached_peer_t *peer = NULL;
    int ret = OMPI_SUCCESS;

    do {
        ompi_osc_cached_window_lock(window);
        do {
            peer = next_busy(window, &place, peer);
        } while (NULL != peer && !is_flushed_before(window, peer));
        ompi_osc_cached_window_unlock(window);
        if (NULL != peer) {
            ret = first_error(ret, window->inner.osc_flush(peer->rank, window->win));
        }
    } while (NULL != peer);
    return ret;
}

int ompi_osc_cached_lock(int lock_type, int target, int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_peer_t *peer;
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_locks);
    announce(window);
    ret = window->inner.osc_lock(lock_type, target, mpi_assert, win);
    if (OMPI_SUCCESS != ret || !window->cacheable) {
        return ret;
    }
    ompi_osc_cached_window_lock(window);
    peer = ompi_osc_cached_peer_used(window, target);
    if (!osc_cached_is_nobody(peer)) {
        expire(window, peer);
        peer->accessible = true;
    }
    ++window->num_locks;
    if (OSC_CACHED_EPOCH_LOCK_ALL <= window->epoch) {
        window->uncounted = true;
        enter_epoch(window, OSC_CACHED_EPOCH_MIXED);
    } else {
        enter_epoch(window, OSC_CACHED_EPOCH_LOCK);
    }
    ompi_osc_cached_window_unlock(window);
    return OMPI_SUCCESS;
}

int ompi_osc_cached_unlock(int target, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_peer_t *peer;
    ompi_osc_cached_mark_t told;
    uint64_t sequence, begin;
    bool fetching;
    int flushed, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_unlocks);
    if (!window->cacheable) {
        return window->inner.osc_unlock(target, win);
    }
    ompi_osc_cached_window_lock(window);
    peer = ompi_osc_cached_peer(window, target);
    sequence = window->sequence;
    begin = begin_of(window, peer);
    fetching = 0 != peer->cache.head && OSC_CACHED_FLUSH_FETCHING == window->flush_first;
    ompi_osc_cached_window_unlock(window);
    flushed = settle(window, target);
    told = begin_telling(window, target, true);
    if (fetching) {
        flushed =
            first_error(window->inner.osc_flush(target, win), flushed); /* see flush_before_all() */
    }
    ret = window->inner.osc_unlock(target, win);
    end_telling(window, target, has_happened(window, ret), &told);
    if (!has_happened(window, ret) || !has_happened(window, flushed)) {
        return first_error(ret, flushed);
    }
    ompi_osc_cached_window_lock(window);
    if (!osc_cached_is_nobody(peer)) {
        expire(window, peer);
        complete_peer(window, peer, sequence, true, ns_since(begin));
        peer->accessible = false;
        peer->state &= (uint8_t) ~OSC_CACHED_PEER_LOOSE;
    }
    if (0 < window->num_locks && 0 == --window->num_locks
        && OSC_CACHED_EPOCH_LOCK == window->epoch) {
        enter_epoch(window, OSC_CACHED_EPOCH_NONE);
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
    if (NULL != window->coherence && !(mpi_assert & MPI_MODE_NOCHECK)) {
        change_epoch(window, 0, 0, OSC_CACHED_EPOCH_NONE);
        ompi_osc_cached_window_lock(window);
        window->all_checked = true;
        window->epoch = OSC_CACHED_EPOCH_LOCK_ALL;
        ompi_osc_cached_window_update(window);
        ompi_osc_cached_window_unlock(window);
        return OMPI_SUCCESS;
    }
    change_epoch(window, 0, 0, OSC_CACHED_EPOCH_LOCK_ALL);
    return OMPI_SUCCESS;
}

int ompi_osc_cached_unlock_all(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_mark_t told;
    uint64_t sequence, begin;
    int flushed, ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_unlocks);
    if (!window->cacheable) {
        return window->inner.osc_unlock_all(win);
    }
    sequence = mark(window, &begin);
    flushed = settle(window, OSC_CACHED_EVERYBODY);
    told = begin_telling(window, OSC_CACHED_EVERYBODY, true);
    flushed = first_error(flush_before_all(window), flushed);
    ret = window->inner.osc_unlock_all(win);
    end_telling(window, OSC_CACHED_EVERYBODY, has_happened(window, ret), &told);
    if (!has_happened(window, ret) || !has_happened(window, flushed)) {
        return first_error(ret, flushed);
    }
    /* osc/rdma and osc/pt2pt allow both at a time */
    change_epoch(window, sequence, ns_since(begin),
                 0 < window->num_locks ? OSC_CACHED_EPOCH_LOCK : OSC_CACHED_EPOCH_NONE);
    return first_error(flushed, ret);
}

static __opal_attribute_noinline__ int telling_sync(ompi_osc_cached_window_t *window,
                                                    ompi_win_t *win)
{
    ompi_osc_cached_mark_t told = begin_telling(window, window->rank, true);
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

/* Flushes */

/* Where processes share a processor, opal_progress gives it away when nothing happened: right for
 * one that waits, but this one has its data (Barnes-Hut with 99.7 % hits, 2 processes on 2 busy
 * processors: a fifth of the force phase).  The switch belongs to the process, so not with threads.
 */
static void make_progress_only(const ompi_osc_cached_window_t *window)
{
    if (window->threaded) {
        opal_progress();
    } else {
        bool yields = opal_progress_set_yield_when_idle(false);

        opal_progress();
        (void) opal_progress_set_yield_when_idle(yields);
    }
}

void ompi_osc_cached_make_progress(ompi_osc_cached_window_t *window)
{
    make_progress_only(window);
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
        make_progress_only(window);
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
    if (!has_happened(window, ret)) {
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
    if (has_happened(window, ret)) {
        end_telling(window, peer->rank, true, &told);
        flushed(window, peer, sequence, true, begin);
    }
    return ret;
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
    before = first_error(flush_before_all(window), before);
    ret = inner(window->win);
    if (!has_happened(window, ret) || !has_happened(window, before)) {
        return first_error(ret, before);
    }
    end_telling(window, OSC_CACHED_EVERYBODY, at_target, &told);
    ompi_osc_cached_window_lock(window);
    if (at_target) {
        expire(window, NULL);
    }
    complete_all(window, sequence, at_target, ns_since(begin));
    try_all_again(window);
    if (at_target && window->uncounted) {
        all_are_counted(window);
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
