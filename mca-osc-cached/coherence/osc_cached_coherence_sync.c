/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Synchronisations: what they complete (R6), and what they tell of (O1).
 */

#include "ompi_config.h"

#include "osc_cached_coherence_state.h"

static bool has_writes(const coherence_t *c)
{
    return 0 < OSC_CACHED_READ(c->num_dirty) || OSC_CACHED_READ(c->own_dirty);
}

/* The writes that have been issued until now. */
static void mark_writes(coherence_t *c, ompi_osc_cached_mark_t *mark)
{
    ompi_osc_cached_helper_enter();
    mark->writes = has_writes(c);
    mark->others = osc_cached_copies_mark(&c->copies);
    mark->own = c->own_writes;
    ompi_osc_cached_coherence_leave(c);
}

ompi_osc_cached_mark_t ompi_osc_cached_coherence_mark(ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_mark_t mark = {.holds = false};

    if (has_writes(window->coherence)) {
        mark_writes(window->coherence, &mark);
    }
    return mark;
}

void ompi_osc_cached_coherence_tell_nothing_slowly(ompi_osc_cached_window_t *window)
{
    OSC_CACHED_WRITE(window->coherence->untold, true);
}

/* Does a synchronisation tell of stores?  It may complete gets into our own memory, after the look
 * for what has changed: then all of it is held until it ends, as for puts to ourselves. */
static bool tells_stores(const ompi_osc_cached_window_t *window, int target,
                         ompi_osc_cached_tells_t tells, bool *gets)
{
    coherence_t *c = window->coherence;
    bool stores = OSC_CACHED_TELLS_STORES == tells
                  || (OSC_CACHED_TELLS_UNTOLD == tells && OSC_CACHED_READ(c->untold));

    *gets = OSC_CACHED_TELLS_NOTHING != tells && OSC_CACHED_READ(c->own_gets);
    if (OSC_CACHED_EVERYBODY == target) {
        OSC_CACHED_WRITE(c->own_gets, false);
    }
    OSC_CACHED_WRITE(c->untold, OSC_CACHED_TELLS_NOTHING == tells);
    return stores && OSC_CACHED_STORES_SYNC == window->stores;
}

ompi_osc_cached_mark_t ompi_osc_cached_coherence_before(ompi_osc_cached_window_t *window,
                                                        int target, ompi_osc_cached_tells_t tells)
{
    coherence_t *c = window->coherence;
    ompi_osc_cached_mark_t mark = ompi_osc_cached_coherence_mark(window);
    bool looks = false, puts = false, gets;
    bool stores = tells_stores(window, target, tells, &gets);

    if (stores || gets || OSC_CACHED_READ(c->own_dirty)) {
        ompi_osc_cached_helper_enter();
        /* who asks for a copy from now on gets what was stored before */
        looks = stores && osc_cached_directory_is_shared(&c->directory);
        puts = gets || c->own_dirty;
        if (puts) {
            mark.holds = true;
            ++c->syncs;
            ompi_osc_cached_coherence_take_own(c);
        }
        ompi_osc_cached_coherence_leave(c);
        if (looks && !puts) {
            ompi_osc_cached_coherence_hold_changes(c, &mark);
        }
    }
    if (mark.writes) {
        ompi_osc_cached_coherence_await_held(c, target);
    }
    if (looks || puts) {
        ompi_osc_cached_coherence_await(c, ompi_osc_cached_coherence_is_own_held, target);
    }
    return mark;
}

/* The writes to a target up to a mark are complete; the lock is held. */
static void complete(coherence_t *c, uint32_t target, uint64_t mark)
{
    osc_cached_copies_complete(&c->copies, target, mark, &c->post);
    if (0 == c->copies.written[target].dirty) {
        c->is_dirty[target] = false;
        if (NULL != c->passes && osc_cached_copies_holds_all(&c->copies, target)) {
            atomic_store(&c->passes[target], true);
        }
    }
}

/* The same for all that a synchronisation completes. */
static void complete_writes(coherence_t *c, int target, const ompi_osc_cached_mark_t *mark)
{
    uint32_t left = 0;

    if ((OSC_CACHED_EVERYBODY == target || c->rank == (uint32_t) target) && c->own_dirty
        && 0 == c->own_issuing && c->own_writes <= mark->own) {
        OSC_CACHED_WRITE(c->own_dirty, false);
        ompi_osc_cached_coherence_drop_own(c);
    }
    for (uint32_t i = 0; i < c->num_dirty; ++i) {
        uint32_t rank = c->dirty[i];

        if (OSC_CACHED_EVERYBODY == target || (uint32_t) target == rank) {
            complete(c, rank, mark->others);
        }
        c->dirty[left] = rank;
        left += c->is_dirty[rank];
    }
    OSC_CACHED_WRITE(c->num_dirty, left);
}

/* Writes without the lock are complete.  @return whether the target has asked for its blocks */
static bool end_passing(coherence_t *c, uint32_t target)
{
    if (!atomic_load_explicit(&c->passing[target], memory_order_relaxed)) {
        return false;
    }
    atomic_store(&c->passing[target], false);
    atomic_thread_fence(memory_order_seq_cst);
    return !atomic_load(&c->passes[target]);
}

/* The same for all that a synchronisation completes. */
static bool end_all_passing(coherence_t *c, int target)
{
    bool asked = false;

    if (OSC_CACHED_EVERYBODY != target) {
        return NULL != c->passes && end_passing(c, (uint32_t) target);
    }
    for (; 0 < c->num_passed; --c->num_passed) {
        uint32_t one = c->passed[c->num_passed - 1];

        asked |= end_passing(c, one);
        c->is_passed[one] = false;
    }
    return asked;
}

void ompi_osc_cached_coherence_after(ompi_osc_cached_window_t *window, int target, bool completes,
                                     ompi_osc_cached_mark_t *mark)
{
    coherence_t *c = window->coherence;
    bool own = OSC_CACHED_EVERYBODY == target || c->rank == (uint32_t) target;

    /* one thread: it has completed all there are. Whoever takes the pass away may be about to enter
     * its writes as such, under the lock */
    if (completes && end_all_passing(c, target)) {
        mark_writes(c, mark);
    }
    completes = completes && mark->writes;
    if (completes) { /* of a flush; else that was waited for before */
        ompi_osc_cached_coherence_await_held(c, target);
        if (own && OSC_CACHED_READ(c->own_dirty)) {
            ompi_osc_cached_coherence_await(c, ompi_osc_cached_coherence_is_own_held, target);
        }
    }
    if (!completes && !mark->holds && 0 == mark->changes) {
        return;
    }
    ompi_osc_cached_helper_enter();
    if (mark->holds) {
        ompi_osc_cached_coherence_drop_own(c);
    }
    if (0 != mark->changes) {
        ompi_osc_cached_coherence_drop_changes(c, mark->changes);
    }
    if (completes) {
        complete_writes(c, target, mark);
    }
    ompi_osc_cached_coherence_leave(c);
}
