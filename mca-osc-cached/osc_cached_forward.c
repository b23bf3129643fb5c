/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of an osc module.  Those that are not in osc_cached_get.c, osc_cached_sync.c or
 * osc_cached_flush.c count the call and forward it to the inner module's function; own writes tell
 * the cache.
 *
 * Where nothing is cached (osc/sm, shared windows, mode off, passive epochs of mode transparent),
 * no earlier epoch has cached what an own write would end, and nobody looks at the counters, the
 * inner module's own functions for operations and flushes stand in its table: the call does not
 * come here at all.
 *
 * The path must stay short, at most 40 instructions per call: find the window, add one, jump.  What
 * needs a function call on the way, a window's first call, is kept apart in slow_...; one jump at
 * the end for both keeps the arguments where they are.
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <string.h>

#include "ompi/constants.h"

#include "osc_cached_forward.h"
#include "osc_cached_advise.h"
#include "osc_cached_bounce.h"
#include "coherence/osc_cached_coherence.h"
#include "helper/osc_cached_helper.h"
#include "osc_cached_get.h"
#include "osc_cached_info.h"
#include "osc_cached_memory.h"
#include "osc_cached_pvar.h"
#include "osc_cached_rget.h"
#include "osc_cached_summary.h"
#include "osc_cached_sync.h"
#include "osc_cached_type.h"
#include "osc_cached_verify.h"
#include "osc_cached_withdraw.h"
#include "node/osc_cached_node.h"
#include "storage/osc_cached_storage.h"

/* one forwarding function: the slot, the counter, the parameters, the same as arguments */
#define FORWARD(slot, stat, parameters, arguments)                            \
    __opal_attribute_noinline__ static int slow_##slot parameters             \
    {                                                                         \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);    \
                                                                              \
        ompi_osc_cached_count(window, OSC_CACHED_STAT_##stat);                \
        return window->inner.osc_##slot arguments;                            \
    }                                                                         \
                                                                              \
    static int forward_##slot parameters                                      \
    {                                                                         \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win); \
        ompi_osc_base_module_##slot##_fn_t next = slow_##slot;                \
                                                                              \
        if (OPAL_LIKELY(NULL != window)) {                                    \
            ompi_osc_cached_count(window, OSC_CACHED_STAT_##stat);            \
            next = window->inner.osc_##slot;                                  \
        }                                                                     \
        return next arguments;                                                \
    }

/* may the target's helper be the one that does it? */
#define EXECUTED_puts ompi_osc_cached_helper_may_move(window, target_count, target_dt)
#define EXECUTED_accumulates true
#define EXECUTED_fetches true

/* the same for an own write to a target (rule A1): also what it writes, if it does */
#define RESULT(buffer, count, type) buffer, (size_t) (count), type
#define FORWARD_WRITE(slot, stat, writes, disp, count, type, result, parameters, arguments)      \
    __opal_attribute_noinline__ static int slow_##slot parameters                                \
    {                                                                                            \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);                       \
        uint32_t ways = ompi_osc_cached_ways(window);                                            \
        int64_t hold = OSC_CACHED_NOT_HELD;                                                      \
        ompi_osc_cached_peer_t *peer;                                                            \
        int ret;                                                                                 \
                                                                                                 \
        ompi_osc_cached_count(window, OSC_CACHED_STAT_##stat);                                   \
        if (!(ways & (OSC_CACHED_WAY_WRITES | OSC_CACHED_WAY_COHERENT))) {                       \
            return window->inner.osc_##slot arguments;                                           \
        }                                                                                        \
        ompi_osc_cached_coherence_receive(window, RESULT result);                                \
        peer = ompi_osc_cached_write_begin(window, target);                                      \
        if ((ways & OSC_CACHED_WAY_COHERENT) && (writes)) {                                      \
            hold = ompi_osc_cached_coherence_write(window, target, disp, (size_t) (count), type, \
                                                   EXECUTED_##stat);                             \
        }                                                                                        \
        ret = window->inner.osc_##slot arguments;                                                \
        if ((ways & OSC_CACHED_WAY_COHERENT) && (writes)) {                                      \
            ompi_osc_cached_coherence_written(window, target, hold, osc_cached_is_nobody(peer)); \
        }                                                                                        \
        ompi_osc_cached_write_end(window, peer, target);                                         \
        return ret;                                                                              \
    }                                                                                            \
                                                                                                 \
    static int forward_##slot parameters                                                         \
    {                                                                                            \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);                    \
                                                                                                 \
        if (OPAL_LIKELY(NULL != window)                                                          \
            && !(ompi_osc_cached_ways(window)                                                    \
                 & (OSC_CACHED_WAY_WRITES | OSC_CACHED_WAY_COHERENT))) {                         \
            ompi_osc_cached_count(window, OSC_CACHED_STAT_##stat);                               \
            return window->inner.osc_##slot arguments;                                           \
        }                                                                                        \
        return slow_##slot arguments;                                                            \
    }

/* memory of the window */

static int forward_win_attach(ompi_win_t *win, void *base, size_t size)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_attaches);
    ompi_osc_cached_expose(win, base, size);
    ompi_osc_cached_coherence_exposed(base, size);
    ret = ompi_osc_cached_withdraw();
    if (OMPI_SUCCESS == ret) {
        ret = window->inner.osc_win_attach(win, base, size);
    }
    if (OMPI_SUCCESS != ret) {
        ompi_osc_cached_conceal(win, base);
    }
    return ret;
}

static int forward_win_detach(ompi_win_t *win, const void *base)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_attaches);
    ret = window->inner.osc_win_detach(win, base);
    if (OMPI_SUCCESS == ret) {
        ompi_osc_cached_conceal(win, base);
    }
    return ret;
}

static bool is_own(const ompi_osc_cached_window_t *window, const void *base)
{
    ompi_osc_cached_disp_unit_t unit;
    void *own = NULL;
    size_t size;

    return OMPI_SUCCESS
               == window->inner.osc_win_shared_query(window->win, window->rank, &size, &unit, &own)
           && own == base && 0 < size; /* what is empty may begin where another one's does */
}

/* Open MPI 6.0 answers for windows of MPI_Win_allocate, too.  In some of ours nobody else may have
 * the memory: stores of others would not be noticed, or, in an epoch of MPI_Win_lock_all, not wait
 * for a lock.  MPI 4.1 lets it be out of reach: then it has no bytes. */
static int forward_win_shared_query(ompi_win_t *win, int rank, size_t *size,
                                    ompi_osc_cached_disp_unit_t *unit, void *base)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    int ret = window->inner.osc_win_shared_query(win, rank, size, unit, base);
    void **first = base;

    if (OMPI_SUCCESS != ret || is_own(window, *first)) {
        return ret;
    }
    if (NULL != window->coherence || NULL != window->helper) {
        *size = 0;
        *first = NULL;
    } else if (0 < *size && !ompi_osc_cached_is_exposed(*first, *size)) {
        ompi_osc_cached_expose(win, *first, *size);
    }
    return OMPI_SUCCESS;
}

static int forward_free(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_base_module_t inner = window->inner;
    struct ompi_osc_cached_node_t *memory = window->memory;
    ompi_osc_cached_own_memory_t own = window->own;
    struct ompi_osc_cached_coherence_t *coherence = window->coherence;
    ompi_osc_cached_sharing_t *shares = window->sharing;
    struct ompi_osc_cached_near_t *near = window->near;
    struct ompi_osc_cached_bounce_t *bounces = window->bounces;
    int ret;

    ompi_osc_cached_coherence_drain(coherence);
    ompi_osc_cached_storage_count(win);
    ompi_osc_cached_summary_freed(window);
    ompi_osc_cached_window_unlink(window);
    ompi_osc_cached_pvar_freed(win);
    ompi_osc_cached_info_leave(window);
    if (window->cacheable) {
        ompi_osc_cached_rget_forget(window);
        ompi_osc_cached_verify_forget(window);
        ompi_osc_cached_type_forget(window);
    }
    ompi_osc_cached_advise_end(window);
    ompi_osc_cached_window_destroy(window);
    *win->w_osc_module = inner; /* now that no tool can find the window and install ours again */
    /* before others know that we are here: then nobody has their files any more */
    ompi_osc_cached_storage_release_near(near);
    ret = inner.osc_free(win);
    ompi_osc_cached_conceal(win, NULL); /* now that nobody writes to the memory by this window */
    ompi_osc_cached_bounce_forget(bounces);
    ompi_osc_cached_coherence_destroy(coherence);
    ompi_osc_cached_node_detach(shares);
    ompi_osc_cached_helper_release(memory);
    ompi_osc_cached_coherence_release(&own);
    return ret;
}

/* communication */

#define OSC_CACHED_WRITES FORWARD_WRITE
#include "osc_cached_writes.def"

/* the target's side of active target synchronisation */

static int forward_post(ompi_group_t *group, int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    ompi_osc_cached_mark_t mark;
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_posts);
    if (NULL == window->coherence) {
        return window->inner.osc_post(group, mpi_assert, win);
    }
    mark = ompi_osc_cached_coherence_before(window, window->rank,
                                            ompi_osc_cached_tells_of(mpi_assert));
    ret = window->inner.osc_post(group, mpi_assert, win);
    ompi_osc_cached_coherence_after(window, window->rank, false, &mark);
    return ret;
}

static int forward_wait(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);

    ompi_osc_cached_count(window, OSC_CACHED_STAT_waits);
    ompi_osc_cached_tell_nothing(window);
    return window->inner.osc_wait(win);
}

static int forward_test(ompi_win_t *win, int *flag)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    int ret;

    ompi_osc_cached_count(window, OSC_CACHED_STAT_waits);
    ret = window->inner.osc_test(win, flag);
    if (OMPI_SUCCESS == ret && *flag) {
        ompi_osc_cached_tell_nothing(window);
    }
    return ret;
}

/* Which functions are ours, by purpose. */

/* always: what the window exposes, and its end */
static const ompi_osc_base_module_t memory = {
    .osc_win_shared_query = forward_win_shared_query,
    .osc_win_attach = forward_win_attach,
    .osc_win_detach = forward_win_detach,
    .osc_free = forward_free,
};

/* where something can be cached: the epoch is followed, whatever the mode */
static const ompi_osc_base_module_t epochs = {
    .osc_fence = ompi_osc_cached_fence,
    .osc_start = ompi_osc_cached_start,
    .osc_complete = ompi_osc_cached_complete,
    .osc_lock = ompi_osc_cached_lock,
    .osc_unlock = ompi_osc_cached_unlock,
    .osc_lock_all = ompi_osc_cached_lock_all,
    .osc_unlock_all = ompi_osc_cached_unlock_all,
};

/* while something is cached, or somebody counts */
static const ompi_osc_base_module_t operations = {
    .osc_put = forward_put,
    .osc_get = ompi_osc_cached_get,
    .osc_accumulate = forward_accumulate,
    .osc_compare_and_swap = forward_compare_and_swap,
    .osc_fetch_and_op = forward_fetch_and_op,
    .osc_get_accumulate = forward_get_accumulate,
    .osc_rput = forward_rput,
    .osc_rget = ompi_osc_cached_rget,
    .osc_raccumulate = forward_raccumulate,
    .osc_rget_accumulate = forward_rget_accumulate,
    .osc_post = forward_post,
    .osc_wait = forward_wait,
    .osc_test = forward_test,
    .osc_sync = ompi_osc_cached_sync,
    .osc_flush = ompi_osc_cached_flush,
    .osc_flush_all = ompi_osc_cached_flush_all,
    .osc_flush_local = ompi_osc_cached_flush_local,
    .osc_flush_local_all = ompi_osc_cached_flush_local_all,
};

/* the same in a coherent window, */
static const ompi_osc_base_module_t coherent = {
    .osc_get = ompi_osc_cached_coherent_get,
};

/* in one that shares the cache of its node, */
static const ompi_osc_base_module_t sharing = {
    .osc_get = ompi_osc_cached_sharing_get,
};

/* and in one that does both */
static const ompi_osc_base_module_t sharing_coherent = {
    .osc_get = ompi_osc_cached_sharing_coherent_get,
};

/* Put our functions into the window's table, or the inner ones back.  A slot that is NULL in the
 * inner module stays NULL (rule A15). */
static void exchange(ompi_osc_cached_window_t *window, const ompi_osc_base_module_t *functions,
                     bool ours)
{
    typedef int (*slot_t)(void);
    enum { SLOTS = sizeof(ompi_osc_base_module_t) / sizeof(slot_t) };
    char *table = (char *) window->win->w_osc_module;
    char *below = (NULL == window->advised) ? NULL : (char *) ompi_osc_cached_advise_below(window);
    slot_t mine[SLOTS], theirs[SLOTS], above;

    /* a module is a plain array of function pointers; a new one would be missing above */
    _Static_assert(29 == SLOTS, "this Open MPI has other slots in its osc module");

    memcpy(mine, functions, sizeof(mine));
    memcpy(theirs, &window->inner, sizeof(theirs));
    for (int i = 0; i < SLOTS; ++i) {
        if (NULL != mine[i] && NULL != theirs[i]) {
            char *to = table;

            if (NULL != below) {
                memcpy(&above,
                       (const char *) &ompi_osc_cached_advise_functions + i * sizeof(slot_t),
                       sizeof(slot_t));
                to = (NULL != above) ? below : table;
            }
            memcpy(to + i * sizeof(slot_t), ours ? &mine[i] : &theirs[i], sizeof(slot_t));
        }
    }
}

static bool has_purpose(const ompi_osc_cached_window_t *window)
{
    /* in coherent windows MPI_Win_post and MPI_Win_sync tell of stores, before any access epoch,
     * too */
    return (window->ways & OSC_CACHED_WAY_WRITES) || NULL != window->coherence
           || NULL != window->busy || window->counted;
}

/* The functions for operations and flushes are ours only while that has a purpose. */
static void update(ompi_osc_cached_window_t *window)
{
    /* a tool's thread may begin to count while the program changes the epoch; that one holds no
     * lock, so this is decided again under this one */
    static opal_mutex_t exchanging = OPAL_MUTEX_STATIC_INIT;

    if (OSC_CACHED_EPOCH_NONE == window->epoch && !window->counted && NULL == window->coherence) {
        return; /* operations are errors now; programs that lock for each get would exchange twice
                 */
    }
    if (has_purpose(window) == window->installed) {
        return;
    }
    opal_mutex_lock(&exchanging);
    if (has_purpose(window) != window->installed) {
        exchange(window, &operations, !window->installed);
        if (NULL != window->sharing) {
            exchange(window, (NULL == window->coherence) ? &sharing : &sharing_coherent,
                     !window->installed);
        } else if (NULL != window->coherence) {
            exchange(window, &coherent, !window->installed);
        }
        if (!window->cacheable) {
            exchange(window, &epochs, !window->installed); /* to count */
        }
        window->installed = !window->installed;
        if (NULL != window->advised) {
            ompi_osc_cached_advise_changed(window);
        }
    }
    opal_mutex_unlock(&exchanging);
}

void ompi_osc_cached_forward_install(ompi_osc_cached_window_t *window)
{
    window->inner = *window->win->w_osc_module;
    window->changed = update;
    ompi_osc_cached_advise_begin(window);
    if (NULL != window->advised) {
        ompi_osc_cached_advised_t *advised = window->advised;

        *ompi_osc_cached_advise_below(window) = window->inner;
        window->advised = NULL; /* these go to the table itself */
        exchange(window, &ompi_osc_cached_advise_functions, true);
        window->advised = advised;
    }
    exchange(window, &memory, true);
    if (window->cacheable) {
        exchange(window, &epochs, true);
    }
    update(window);
}
