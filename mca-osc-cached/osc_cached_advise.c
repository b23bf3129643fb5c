/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_advise.  Nothing is cached; gets and what completes them are watched, and some of them
 * are measured (core/osc_cached_advise.h):
 *
 *     MPI_Get -> get() here -> what would stand in the table without us
 *
 * A get that is in no sample costs a few instructions more, so does a flush after which nothing is
 * to be measured.  Gets that are too cheap for a cache would feel even that: these rest, now and
 * then, and where all of a window are alike its table has what would stand there without us.
 *
 * What a get costs: the call, and the flush that completes it.  A fence and MPI_Win_complete wait
 * for other processes, with and without gets: what they take longer after gets is counted.  An
 * unlock tells others: before one that is measured there is a flush, and that is counted.
 * MPI_Rget is measured until its request is complete, in the call itself.
 *
 * Threads.  The state of a watched window is used under its lock, when threaded.  Bytes are
 * compared by the thread that issued the get, in a synchronisation of its own: the program may use
 * the buffer afterwards.
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/hwloc/hwloc-internal.h"
#include "opal/runtime/opal_progress.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"

#include "osc_cached_advise.h"
#include "osc_cached_memory.h"

enum {
    WAITING = 64,      /* gets on their way whose bytes are to be compared */
    BATCH_TIMED = 16,  /* gets that are measured between two synchronisations, at the most */
    PATIENCE = 1000000 /* ns until a measured MPI_Rget returns incomplete */
};

/* A get whose bytes are compared when it is complete. */
typedef struct {
    const void *buffer;
    uint64_t hash;
    uint32_t bytes;
    int target;
    osc_cached_advise_t *side;
    pthread_t thread;
} waiting_t;

struct ompi_osc_cached_advised_t {
    ompi_osc_base_module_t below;
    osc_cached_advise_t *sides[OSC_CACHED_ADVICE_SIDES]; /* NULL: no get yet, or no memory */
    osc_cached_advise_t *only;                           /* of these, when there is but one */
    osc_cached_advise_t **by_target;                     /* NULL: no get yet, or our own process */
    bool alike;                                          /* all processes are on one node */
    opal_mutex_t lock;                                   /* when threaded */
    uint32_t epoch;       /* active ones: the number of the present one */
    uint32_t invalidated; /* how often, as far as we know */
    int num_waiting;
    waiting_t waiting[WAITING];
    double idle_ns, idle; /* of fences and MPI_Win_complete without gets, and their number */
};

/* The arguments of a get. */
typedef struct {
    void *origin_addr;
    ompi_osc_cached_count_t origin_count;
    ompi_datatype_t *origin_dt;
    int target;
    ptrdiff_t target_disp;
    ompi_osc_cached_count_t target_count;
    ompi_datatype_t *target_dt;
} arguments_t;

static bool is_near(const ompi_osc_cached_window_t *window, int target)
{
    const ompi_proc_t *proc = ompi_group_peer_lookup_existing(window->win->w_group, target);

    return NULL != proc && OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
}

/* Life */

void ompi_osc_cached_advise_begin(ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_advised_t *advised;

    if (OSC_CACHED_ADVISE_OFF == ompi_osc_cached_params.advise || !window->cacheable) {
        return;
    }
    advised = calloc(1, sizeof(*advised));
    if (NULL == advised) {
        return;
    }
    advised->by_target =
        calloc((size_t) ompi_group_size(window->win->w_group), sizeof(*advised->by_target));
    if (NULL == advised->by_target) {
        free(advised);
        return;
    }
    advised->alike = true;
    for (int i = 0; advised->alike && i < ompi_group_size(window->win->w_group); ++i) {
        advised->alike = is_near(window, i);
    }
    OBJ_CONSTRUCT(&advised->lock, opal_mutex_t);
    window->advised = advised;
}

ompi_osc_base_module_t *ompi_osc_cached_advise_below(ompi_osc_cached_window_t *window)
{
    return &window->advised->below;
}

void ompi_osc_cached_advise_sums(ompi_osc_cached_window_t *window,
                                 double sums[OSC_CACHED_ADVICE_SIDES][OSC_CACHED_ADVISE_SUMS])
{
    memset(sums, 0, OSC_CACHED_ADVICE_SIDES * sizeof(sums[0]));
    for (int i = 0; NULL != window->advised && i < OSC_CACHED_ADVICE_SIDES; ++i) {
        if (NULL != window->advised->sides[i]) {
            osc_cached_advise_read(window->advised->sides[i], sums[i]);
        }
    }
}

void ompi_osc_cached_advise_end(ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_advised_t *advised = window->advised;

    if (NULL != advised) {
        window->advised = NULL;
        for (int i = 0; i < OSC_CACHED_ADVICE_SIDES; ++i) {
            osc_cached_advise_destroy(advised->sides[i]);
        }
        OBJ_DESTRUCT(&advised->lock);
        free(advised->by_target);
        free(advised);
    }
}

static inline void lock(const ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->threaded)) {
        opal_mutex_lock(&window->advised->lock);
    }
}

static inline void unlock(const ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->threaded)) {
        opal_mutex_unlock(&window->advised->lock);
    }
}

/* The program may have invalidated what a cache would have. Caller holds the lock. */
static void follow_invalidations(ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_advised_t *advised = window->advised;
    uint32_t invalidated = OSC_CACHED_READ(window->invalidated);

    if (advised->invalidated != invalidated) {
        advised->invalidated = invalidated;
        for (int i = 0; i < OSC_CACHED_ADVICE_SIDES; ++i) {
            if (NULL != advised->sides[i]) {
                osc_cached_advise_invalidated(advised->sides[i]);
            }
        }
    }
}

/* Gets */

/* The first get from a target; NULL: it is not watched. Caller holds the lock. */
__opal_attribute_noinline__ static osc_cached_advise_t *first_get(ompi_osc_cached_window_t *window,
                                                                  int target)
{
    ompi_osc_cached_advised_t *advised = window->advised;
    osc_cached_advise_t **side;

    if (target < 0 || window->rank == target || ompi_group_size(window->win->w_group) <= target) {
        return NULL;
    }
    side =
        &advised->sides[is_near(window, target) ? OSC_CACHED_ADVICE_NEAR : OSC_CACHED_ADVICE_FAR];
    if (NULL == *side) {
        *side = osc_cached_advise_create(&osc_cached_alloc_default,
                                         ompi_osc_cached_now() ^ (uintptr_t) window);
        if (NULL != *side) {
            (*side)->cheap_ns = ompi_osc_cached_cheap_below();
        }
    }
    advised->by_target[target] = *side;
    advised->only =
        (NULL == advised->sides[OSC_CACHED_ADVICE_NEAR])  ? advised->sides[OSC_CACHED_ADVICE_FAR]
        : (NULL == advised->sides[OSC_CACHED_ADVICE_FAR]) ? advised->sides[OSC_CACHED_ADVICE_NEAR]
                                                          : NULL;
    return *side;
}

static inline osc_cached_advise_t *side_of(ompi_osc_cached_window_t *window, int target)
{
    osc_cached_advise_t *side = (0 <= target) ? window->advised->by_target[target] : NULL;

    return OPAL_LIKELY(NULL != side) ? side : first_get(window, target);
}

/* Gets of the same displacement and another shape are others. */
static inline uint64_t hash_of(int target, ptrdiff_t target_disp, const ompi_datatype_t *target_dt)
{
    const opal_datatype_t *type = &target_dt->super;
    uint64_t gaps = (uint64_t) (type->true_ub - type->true_lb) - type->size;

    return osc_cached_advise_hash(target, (uint64_t) target_disp ^ (gaps << 40));
}

static uint32_t bytes_of(const arguments_t *a)
{
    size_t bytes = (size_t) a->target_count * a->target_dt->super.size;

    return (bytes < UINT32_MAX) ? (uint32_t) bytes : UINT32_MAX;
}

/* Where the bytes of a get will be; NULL: they are not compared. */
static const void *buffer_of(const arguments_t *a, uint32_t bytes)
{
    const opal_datatype_t *origin = &a->origin_dt->super;
    const char *buffer = (const char *) a->origin_addr + origin->true_lb;

    return (0 < bytes && (size_t) a->origin_count * origin->size == bytes
            && ompi_osc_cached_is_one_run(origin, a->origin_count)
            && !ompi_osc_cached_is_on_device(buffer) && !ompi_osc_cached_is_exposed(buffer, bytes))
               ? buffer
               : NULL;
}

/* When the bytes of a get can be looked at. */
typedef enum {
    AT_FLUSH, /* or at another synchronisation that completes it */
    NOW,
    NEVER, /* its request completes it, and nobody tells us: the buffer may be gone after that */
} comparable_t;

/* A get was issued that is in a sample; ns 0: it was not measured. */
static void watch(ompi_osc_cached_window_t *window, osc_cached_advise_t *side, const arguments_t *a,
                  uint64_t hash, bool followed, bool measured, uint64_t ns, comparable_t comparable)
{
    ompi_osc_cached_advised_t *advised = window->advised;
    uint32_t bytes = bytes_of(a);
    const void *buffer = (followed && NEVER != comparable) ? buffer_of(a, bytes) : NULL;

    lock(window);
    follow_invalidations(window);
    if (measured) {
        osc_cached_advise_issued(side, bytes, ns);
    }
    if (followed) {
        side->epoch = osc_cached_epoch_is_passive(window->epoch) ? 0 : advised->epoch + 1;
        osc_cached_advise_get(side, hash, a->target, bytes);
    }
    if (NULL != buffer && NOW == comparable) {
        osc_cached_advise_compare(side, hash, a->target, bytes,
                                  osc_cached_advise_checksum(buffer, bytes));
    } else if (NULL != buffer && advised->num_waiting < WAITING) {
        advised->waiting[advised->num_waiting++] =
            (waiting_t){buffer, hash, bytes, a->target, side, pthread_self()};
    }
    unlock(window);
}

__opal_attribute_noinline__ static int sampled_get(ompi_osc_cached_window_t *window,
                                                   osc_cached_advise_t *side, const arguments_t *a,
                                                   uint64_t hash, bool followed)
{
    bool measured = side->timing && side->batch_gets <= BATCH_TIMED;
    uint64_t begin = measured ? ompi_osc_cached_now() : 0, ns;
    int ret =
        window->advised->below.osc_get(a->origin_addr, a->origin_count, a->origin_dt, a->target,
                                       a->target_disp, a->target_count, a->target_dt, window->win);

    ns = measured ? ompi_osc_cached_since(begin, 1) : 0;
    if (OMPI_SUCCESS == ret && (followed || measured)) {
        watch(window, side, a, hash, followed, measured, ns, AT_FLUSH);
    }
    return ret;
}

__opal_attribute_noinline__ static int
watched_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
            struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
            ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
            ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    arguments_t a = {origin_addr, origin_count, origin_dt, target,
                     target_disp, target_count, target_dt};
    osc_cached_advise_t *side;
    bool followed = false;
    uint64_t hash = 0;

    lock(window);
    side = side_of(window, target);
    side = (NULL != side && osc_cached_advise_rests(side)) ? NULL : side;
    if (NULL != side) {
        hash = hash_of(target, target_disp, target_dt);
        followed = osc_cached_advise_count(side, hash, target);
    }
    unlock(window);
    return (NULL != side)
               ? sampled_get(window, side, &a, hash, followed)
               : window->advised->below.osc_get(origin_addr, origin_count, origin_dt, target,
                                                target_disp, target_count, target_dt, win);
}

/* The shortest way is that of a get that is in no sample. */
static int advised_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                       struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                       ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                       ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);
    ompi_osc_base_module_get_fn_t next = watched_get;

    if (OPAL_LIKELY(NULL != window && !window->threaded && 0 <= target)) {
        osc_cached_advise_t *side = window->advised->by_target[target];

        if (NULL != side && osc_cached_advise_rests(side)) {
            next = window->advised->below.osc_get;
        } else if (OPAL_LIKELY(NULL != side && !side->timing)) {
            uint64_t hash = hash_of(target, target_disp, target_dt);

            if (OPAL_UNLIKELY(osc_cached_advise_count(side, hash, target))) {
                arguments_t a = {origin_addr, origin_count, origin_dt, target,
                                 target_disp, target_count, target_dt};

                return sampled_get(window, side, &a, hash, true);
            }
            next = window->advised->below.osc_get;
        }
    }
    return next(origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt,
                win);
}

/* One that is measured is waited for, but not for ever: the target may be locked by somebody who
 * waits for us. */
static bool is_complete(ompi_request_t *request, uint64_t begin)
{
    while (!REQUEST_COMPLETE(request)) {
        if (PATIENCE < ompi_osc_cached_now() - begin) {
            return false;
        }
        opal_progress();
    }
    return true;
}

static int advised_rget(void *origin_addr, ompi_osc_cached_count_t origin_count,
                        struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                        ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                        ompi_win_t *win, struct ompi_request_t **request)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    arguments_t a = {origin_addr, origin_count, origin_dt, target,
                     target_disp, target_count, target_dt};
    bool followed = false, measured = false;
    osc_cached_advise_t *side;
    uint64_t hash = 0, begin = 0;
    int ret;

    lock(window);
    side = side_of(window, target);
    if (NULL != side && osc_cached_advise_rests(side)) { /* a batch of its own, as below */
        if (osc_cached_advise_pass(side)) {
            ompi_osc_cached_advise_changed(window);
        }
        side = NULL;
    }
    if (NULL != side) {
        hash = hash_of(target, target_disp, target_dt);
        followed = osc_cached_advise_count(side, hash, target);
        measured = side->timing;
        if (measured) { /* a batch of its own */
            osc_cached_advise_measured(side, 0);
        } else {
            (void) osc_cached_advise_pass(side);
        }
    }
    unlock(window);
    if (measured) {
        begin = ompi_osc_cached_now();
    }
    ret = window->advised->below.osc_rget(origin_addr, origin_count, origin_dt, target, target_disp,
                                          target_count, target_dt, win, request);
    if (OMPI_SUCCESS == ret && (followed || measured)) {
        comparable_t comparable = (measured && is_complete(*request, begin)) ? NOW : NEVER;

        watch(window, side, &a, hash, followed, measured,
              measured ? ompi_osc_cached_since(begin, 1) : 0, comparable);
    }
    return ret;
}

/* Own writes */

enum { ATOMIC_puts = false, ATOMIC_accumulates = true, ATOMIC_fetches = true };

#define OSC_CACHED_WRITES(slot, stat, writes, disp, count, type, result, parameters, arguments) \
    static int advised_##slot parameters                                                        \
    {                                                                                           \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);                      \
        osc_cached_advise_t *side;                                                              \
                                                                                                \
        lock(window);                                                                           \
        side = side_of(window, target);                                                         \
        if (NULL != side) {                                                                     \
            osc_cached_advise_written(side, target, ATOMIC_##stat);                             \
        }                                                                                       \
        unlock(window);                                                                         \
        return window->advised->below.osc_##slot arguments;                                     \
    }
#include "osc_cached_writes.def"

/* Synchronisation */

enum { EVERYBODY = -1 };

/* Whether a synchronisation completes gets of a batch that is measured. Caller holds the lock. */
static inline bool is_measured(const ompi_osc_cached_advised_t *advised)
{
    for (int i = 0; i < OSC_CACHED_ADVICE_SIDES; ++i) {
        const osc_cached_advise_t *side = advised->sides[i];

        if (NULL != side && 0 < side->batch_gets && side->timing) {
            return true;
        }
    }
    return false;
}

static uint64_t batch_gets(const ompi_osc_cached_advised_t *advised)
{
    uint64_t gets = 0;

    for (int i = 0; i < OSC_CACHED_ADVICE_SIDES; ++i) {
        gets += (NULL == advised->sides[i]) ? 0 : advised->sides[i]->batch_gets;
    }
    return gets;
}

static bool rests(const ompi_osc_cached_advised_t *advised)
{
    for (int i = 0; i < OSC_CACHED_ADVICE_SIDES; ++i) {
        if (NULL != advised->sides[i] && osc_cached_advise_rests(advised->sides[i])) {
            return true;
        }
    }
    return false;
}

void ompi_osc_cached_advise_changed(ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_advised_t *advised = window->advised;

    window->win->w_osc_module->osc_get =
        (rests(advised) && advised->alike && !window->threaded && !window->counted)
            ? advised->below.osc_get
            : ompi_osc_cached_advise_functions.osc_get;
}

/* A synchronisation, perhaps of gets; caller holds the lock. */
static void complete(ompi_osc_cached_window_t *window, int target, uint64_t ns)
{
    ompi_osc_cached_advised_t *advised = window->advised;
    uint64_t gets = batch_gets(advised);
    bool rested = rests(advised);
    int left = 0;

    for (int i = 0; i < advised->num_waiting; ++i) {
        const waiting_t *waiting = &advised->waiting[i];

        if (EVERYBODY != target && target != waiting->target) {
            advised->waiting[left++] = *waiting;
        } else if (pthread_equal(pthread_self(),
                                 waiting->thread)) { /* else its buffer may be gone */
            osc_cached_advise_compare(waiting->side, waiting->hash, waiting->target, waiting->bytes,
                                      osc_cached_advise_checksum(waiting->buffer, waiting->bytes));
        }
    }
    advised->num_waiting = left;
    follow_invalidations(window);
    for (int i = 0; i < OSC_CACHED_ADVICE_SIDES; ++i) {
        osc_cached_advise_t *side = advised->sides[i];

        if (NULL != side && side->timing && 0 < side->batch_gets) {
            osc_cached_advise_measured(side,
                                       (uint64_t) ((double) ns * side->batch_gets / (double) gets));
        } else if (NULL != side) {
            (void) osc_cached_advise_pass(side);
        }
    }
    if (rested != rests(advised)) {
        ompi_osc_cached_advise_changed(window);
    }
}

/* A flush of one target or of all; the shortest way is that of one after gets that are not measured
 * and none of which is compared, or in a rest that goes on. */
#define FLUSH(slot, target, parameters, arguments)                                              \
    __opal_attribute_noinline__ static int watched_##slot parameters                            \
    {                                                                                           \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);                      \
        ompi_osc_cached_advised_t *advised = window->advised;                                   \
        bool measured;                                                                          \
        uint64_t begin;                                                                         \
        int ret;                                                                                \
                                                                                                \
        lock(window);                                                                           \
        measured = is_measured(advised);                                                        \
        unlock(window);                                                                         \
        begin = measured ? ompi_osc_cached_now() : 0;                                           \
        ret = advised->below.osc_##slot arguments;                                              \
        lock(window);                                                                           \
        complete(window, target, measured ? ompi_osc_cached_since(begin, 1) : 0);               \
        unlock(window);                                                                         \
        return ret;                                                                             \
    }                                                                                           \
                                                                                                \
    __opal_attribute_noinline__ static int woken_##slot parameters                              \
    {                                                                                           \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);                      \
                                                                                                \
        ompi_osc_cached_advise_changed(window);                                                 \
        return window->advised->below.osc_##slot arguments;                                     \
    }                                                                                           \
                                                                                                \
    static int advised_##slot parameters                                                        \
    {                                                                                           \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);                   \
        ompi_osc_base_module_##slot##_fn_t next = watched_##slot;                               \
                                                                                                \
        if (OPAL_LIKELY(NULL != window && !window->threaded)) {                                 \
            ompi_osc_cached_advised_t *advised = window->advised;                               \
            osc_cached_advise_t *only = advised->only;                                          \
                                                                                                \
            if (OPAL_LIKELY(NULL != only && !only->timing && 0 == advised->num_waiting)) {      \
                next = OPAL_UNLIKELY(osc_cached_advise_pass(only)) ? woken_##slot               \
                                                                   : advised->below.osc_##slot; \
            }                                                                                   \
        }                                                                                       \
        return next arguments;                                                                  \
    }

FLUSH(flush, target, (int target, ompi_win_t *win), (target, win))
FLUSH(flush_all, EVERYBODY, (ompi_win_t * win), (win))
FLUSH(flush_local, target, (int target, ompi_win_t *win), (target, win))
FLUSH(flush_local_all, EVERYBODY, (ompi_win_t * win), (win))

/* An unlock of one target or of all, with a flush before it when that is measured. */
#define UNLOCK(slot, flush, target, parameters, arguments)                 \
    static int advised_##slot parameters                                   \
    {                                                                      \
        ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win); \
        ompi_osc_cached_advised_t *advised = window->advised;              \
        bool measured;                                                     \
        int ret;                                                           \
                                                                           \
        lock(window);                                                      \
        measured = is_measured(advised);                                   \
        unlock(window);                                                    \
        if (measured) {                                                    \
            (void) advised_##flush arguments;                              \
        }                                                                  \
        ret = advised->below.osc_##slot arguments;                         \
        if (!measured) {                                                   \
            lock(window);                                                  \
            complete(window, target, 0);                                   \
            unlock(window);                                                \
        }                                                                  \
        return ret;                                                        \
    }

UNLOCK(unlock, flush, target, (int target, ompi_win_t *win), (target, win))
UNLOCK(unlock_all, flush_all, EVERYBODY, (ompi_win_t * win), (win))

/* The end of an active epoch, which waits for other processes: what it takes longer after gets. */
static void end_epoch(ompi_osc_cached_window_t *window, uint64_t begin)
{
    ompi_osc_cached_advised_t *advised = window->advised;
    double ns = (double) ompi_osc_cached_since(begin, 1);
    double idle_ns = (0 < advised->idle) ? advised->idle_ns / advised->idle : ns;

    lock(window);
    if (0 == batch_gets(advised) && !rests(advised)) {
        advised->idle_ns += ns;
        ++advised->idle;
    }
    complete(window, EVERYBODY, (idle_ns < ns) ? (uint64_t) (ns - idle_ns) : 0);
    ++advised->epoch;
    unlock(window);
}

static int advised_fence(int mpi_assert, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    uint64_t begin = ompi_osc_cached_now();
    int ret = window->advised->below.osc_fence(mpi_assert, win);

    end_epoch(window, begin);
    return ret;
}

static int advised_complete(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    uint64_t begin = ompi_osc_cached_now();
    int ret = window->advised->below.osc_complete(win);

    end_epoch(window, begin);
    return ret;
}

const ompi_osc_base_module_t ompi_osc_cached_advise_functions = {
    .osc_put = advised_put,
    .osc_get = advised_get,
    .osc_accumulate = advised_accumulate,
    .osc_compare_and_swap = advised_compare_and_swap,
    .osc_fetch_and_op = advised_fetch_and_op,
    .osc_get_accumulate = advised_get_accumulate,
    .osc_rput = advised_rput,
    .osc_rget = advised_rget,
    .osc_raccumulate = advised_raccumulate,
    .osc_rget_accumulate = advised_rget_accumulate,
    .osc_fence = advised_fence,
    .osc_complete = advised_complete,
    .osc_unlock = advised_unlock,
    .osc_unlock_all = advised_unlock_all,
    .osc_flush = advised_flush,
    .osc_flush_all = advised_flush_all,
    .osc_flush_local = advised_flush_local,
    .osc_flush_local_all = advised_flush_local_all,
};
