/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What synchronisations complete: shared by osc_cached_sync.c (epochs) and osc_cached_flush.c.
 */

#ifndef OSC_CACHED_COMPLETION_H
#define OSC_CACHED_COMPLETION_H

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include "ompi/constants.h"

#include "coherence/osc_cached_coherence.h"
#include "node/osc_cached_node.h"
#include "osc_cached_window.h"

BEGIN_C_DECLS

enum {
    PASSED_SYNCS = 4096, /* one of these is watched where gets are passed through */
    TIMED_FIRST = 8,     /* synchronisations whose gets are measured at the start ... */
    TIMED_EVERY = 16     /* ... and then one of these */
};

/** What measured gets since the last synchronisation cost; caller holds the lock. @param sync_ns
 * of this synchronisation: what its gets from this target have of it */
void ompi_osc_cached_end_timed(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                               uint64_t sync_ns);
/** osc_cached_cache_complete, measured; caller holds the lock. */
void ompi_osc_cached_fill_timed(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                uint64_t sequence);
/** The operations of all targets up to a mark are complete; caller holds the lock. */
void ompi_osc_cached_complete_all(ompi_osc_cached_window_t *window, uint64_t sequence,
                                  bool at_target, uint64_t sync_ns);
/** Operations that were not counted are complete; caller holds the lock. */
void ompi_osc_cached_all_are_counted(ompi_osc_cached_window_t *window);
/** Targets that are passed through are measured again from time to time; caller holds the lock. */
void ompi_osc_cached_try_all_again(ompi_osc_cached_window_t *window);
/** Targets of which a flush of all may leave something undone are flushed one by one before it: see
 * ompi_osc_cached_flush_is_partial(). @return the first error */
int ompi_osc_cached_flush_before_all(ompi_osc_cached_window_t *window);
/** A synchronisation has failed. For want of an epoch it was none. After any other error nothing that
 * was fetched is kept, whatever it has completed.
 * @return whether it was one */
bool ompi_osc_cached_forget_failed(ompi_osc_cached_window_t *window, int ret);

/* Mode transparent ends the life of what was fetched (S1, S2, S3), before it is completed: then
 * only what another get waits for is copied at all. In a coherent window that is only for epochs of
 * active targets, at their begin and end: what was fetched in passive ones lives on until then.
 * Caller holds the lock. */
static inline void expire(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer)
{
    if (OSC_CACHED_MODE_TRANSPARENT == window->mode
        && (NULL == window->coherence || osc_cached_epoch_is_active(window->epoch))) {
        if (NULL == peer) {
            osc_cached_cache_invalidate(&window->cache);
        } else {
            osc_cached_cache_invalidate_target(&peer->cache);
        }
    }
}

/* After a synchronisation. @return whether the operations that it completes are the program's
 * again, which may do anything with their buffers */
static inline bool forget_if_failed(ompi_osc_cached_window_t *window, int ret)
{
    return OPAL_LIKELY(OMPI_SUCCESS == ret) || ompi_osc_cached_forget_failed(window, ret);
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

/* A synchronisation of gets that were passed through is itself passed through, but now and then one
 * is watched, where such targets are tried again. */
static inline bool all_pass_again(ompi_osc_cached_window_t *window)
{
    --window->passes_left;
    return 0 <= window->passes_left;
}

/* A target that is passed through is measured again from time to time; caller holds the lock. */
static inline void try_again(ompi_osc_cached_peer_t *peer)
{
    if (OSC_CACHED_CHEAP == osc_cached_profit_state(&peer->profit)) {
        OSC_CACHED_WRITE(peer->untimed, false);
        peer->profit.passed = 0;
    }
}

/* Take what gets have brought, and measure that as often as the gets; caller holds the lock. */
static inline void fill(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                        uint64_t sequence)
{
    if (OPAL_LIKELY(peer->untimed)) {
        osc_cached_cache_complete(&window->cache, &peer->cache, sequence);
    } else {
        ompi_osc_cached_fill_timed(window, peer, sequence);
    }
}

/* The gets since the last synchronisation are complete; caller holds the lock. */
static inline void end_batch(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                             uint64_t sync_ns)
{
    if (0 == peer->batch_gets) {
        return;
    }
    if (OPAL_UNLIKELY(0 < peer->batch_timed)) {
        ompi_osc_cached_end_timed(window, peer, sync_ns);
    }
    ++peer->batches;
    OSC_CACHED_WRITE(peer->untimed,
                     TIMED_FIRST <= peer->batches && 0 != peer->batches % TIMED_EVERY);
    peer->batch_gets = 0;
}

/* Nothing of a target is outstanding any more; caller holds the lock. */
static inline void leave_busy(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer)
{
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

/* The operations of a target up to a mark are complete; caller holds the lock. Inline: a miss has
 * its own flush. */
static inline void complete_peer(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
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
        leave_busy(window, peer);
    }
}

/* Before and after the inner call of a synchronisation that tells others, or of a flush
 * (coherence/osc_cached_coherence.h). */

static inline ompi_osc_cached_mark_t begin_telling(ompi_osc_cached_window_t *window, int target,
                                                   ompi_osc_cached_tells_t tells)
{
    return (NULL == window->coherence) ? (ompi_osc_cached_mark_t){.writes = false}
                                       : ompi_osc_cached_coherence_before(window, target, tells);
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

END_C_DECLS

#endif /* OSC_CACHED_COMPLETION_H */
