/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The heating thread: see the header for its rules and invariants.
 */
#define _DEFAULT_SOURCE 1 /* clock_gettime, sigset_t */

#include "llamatch_heater.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#define NS_PER_S UINT64_C(1000000000)
#define FIRST_TARGETS 8
#define STACK_BYTES ((size_t) 256 * 1024) /* it needs little, and jobs that lock memory lock it */

/* An arena (pool), or a region (address, bytes), or a free place of the table (neither). */
typedef struct {
    llamatch_pool_t *pool;
    const char *address; /* line-aligned */
    size_t bytes;
    bool paused;
} target_t;

typedef enum { STARTING, RUNNING, FAILED, STOPPING } state_t;

struct llamatch_heater {
    pthread_mutex_t mutex; /* of all fields but the constant and the atomic ones */
    pthread_cond_t wake;   /* the heater has something to do */
    pthread_cond_t left;   /* the heater has left a target, or has started */
    state_t state;
    uint32_t pauses;
    uint64_t wake_ups; /* asked for so far */
    int current;       /* the target that is read with the mutex released; -1: none */
    uint64_t visits;   /* to targets so far, finished */
    target_t *targets;
    int num_places;
    int num_targets;
    atomic_bool interrupt; /* leave the current target */

    llamatch_allocator_t allocator; /* constant from here on */
    llamatch_heat_t how;
    int (*begin)(void *context);
    void *begin_context;
    bool (*busy)(void *context);
    void *busy_context;
    pid_t process;
    pthread_t thread;

    _Atomic uint64_t period_ns; /* atomic from here on */
    atomic_size_t max_bytes;
    _Atomic uint64_t passes;
    _Atomic uint64_t bytes_last;
    _Atomic uint64_t bytes_total;
    _Atomic uint64_t ns_last;
    _Atomic uint64_t ns_total;
    atomic_bool paused;
    atomic_bool self_paused;
};

#define LOAD(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define STORE(place, value) atomic_store_explicit(&(place), value, memory_order_relaxed)

static uint64_t now_ns(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * NS_PER_S + (uint64_t) now.tv_nsec;
}

/* --- the thread; all of these with the mutex held ------------------------------------------- */

static bool is_free(const target_t *target)
{
    return NULL == target->pool && NULL == target->address;
}

static bool must_leave(const llamatch_heater_t *heater)
{
    return STOPPING == heater->state || 0 < heater->pauses;
}

/* Is it to leave the target that it is reading? */
static bool wants_interrupt(const llamatch_heater_t *heater)
{
    return must_leave(heater)
           || (-1 != heater->current && is_free(&heater->targets[heater->current]));
}

static void update_interrupt(llamatch_heater_t *heater)
{
    STORE(heater->interrupt, wants_interrupt(heater));
}

static bool is_idle(const llamatch_heater_t *heater, const target_t *target)
{
    if (is_free(target) || target->paused) {
        return true;
    }
    if (NULL == target->pool) {
        return false;
    }
    return 0 == llamatch_pool_used_bytes(target->pool)
           || (NULL != heater->busy && !heater->busy(heater->busy_context));
}

static bool has_work(const llamatch_heater_t *heater)
{
    for (int i = 0; i < heater->num_places; ++i) {
        if (!is_idle(heater, &heater->targets[i])) {
            return true;
        }
    }
    return false;
}

static size_t heat_target(llamatch_heater_t *heater, int id, size_t max_bytes)
{
    const target_t target = heater->targets[id]; /* the table may move while we read */
    size_t done;

    heater->current = id;
    (void) pthread_mutex_unlock(&heater->mutex);
    if (NULL != target.pool) {
        done = llamatch_pool_heat(target.pool, max_bytes, heater->how, &heater->interrupt);
    } else {
        done = llamatch_touch(target.address, (target.bytes < max_bytes) ? target.bytes : max_bytes,
                              heater->how, &heater->interrupt);
    }
    (void) pthread_mutex_lock(&heater->mutex);
    heater->current = -1;
    ++heater->visits;
    update_interrupt(heater);
    (void) pthread_cond_broadcast(&heater->left);
    return done;
}

static void pass(llamatch_heater_t *heater)
{
    uint64_t begin = now_ns(), ns;
    size_t max_bytes = LOAD(heater->max_bytes), done = 0;

    for (int i = 0; i < heater->num_places && done < max_bytes && !must_leave(heater); ++i) {
        if (!is_idle(heater, &heater->targets[i])) {
            done += heat_target(heater, i, max_bytes - done);
        }
    }
    ns = now_ns() - begin;
    STORE(heater->bytes_last, done);
    STORE(heater->bytes_total, LOAD(heater->bytes_total) + done);
    STORE(heater->ns_last, ns);
    STORE(heater->ns_total, LOAD(heater->ns_total) + ns);
    /* Whoever sees this pass counted sees its numbers, or newer ones. */
    atomic_store_explicit(&heater->passes, LOAD(heater->passes) + 1, memory_order_release);
}

/* Sleep, unless somebody wants something since there were @p wake_ups, also while the mutex was
   released to read: the signal came too early then. */
static void sleep_ns(llamatch_heater_t *heater, uint64_t ns, uint64_t wake_ups)
{
    uint64_t until;
    struct timespec when;
    int status = 0;

    if (0 == ns) {
        (void) pthread_mutex_unlock(&heater->mutex);
        (void) sched_yield();
        (void) pthread_mutex_lock(&heater->mutex);
        return;
    }
    until = now_ns() + ((ns < NS_PER_S * 3600) ? ns : NS_PER_S * 3600);
    when.tv_sec = (time_t) (until / NS_PER_S);
    when.tv_nsec = (long) (until % NS_PER_S);
    while (0 == status && wake_ups == heater->wake_ups) {
        status = pthread_cond_timedwait(&heater->wake, &heater->mutex, &when);
    }
}

static void heat_until_stopped(llamatch_heater_t *heater)
{
    while (STOPPING != heater->state) {
        uint64_t wake_ups = heater->wake_ups, period = LOAD(heater->period_ns);

        if (0 < heater->pauses) {
            (void) pthread_cond_wait(&heater->wake, &heater->mutex);
        } else if (has_work(heater)) {
            STORE(heater->self_paused, false);
            pass(heater);
            if (!must_leave(heater)) {
                sleep_ns(heater, period, wake_ups);
            }
        } else {
            STORE(heater->self_paused, true);
            sleep_ns(heater, (LLAMATCH_HEATER_NAP_NS < period) ? period : LLAMATCH_HEATER_NAP_NS,
                     wake_ups);
        }
    }
}

static void *run(void *argument)
{
    llamatch_heater_t *heater = argument;
    int status = (NULL == heater->begin) ? 0 : heater->begin(heater->begin_context);

#if defined(__linux__)
    /* Else the kernel rounds each sleep up by 50 us. */
    (void) prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
#endif
    (void) pthread_mutex_lock(&heater->mutex);
    heater->state = (0 == status) ? RUNNING : FAILED;
    (void) pthread_cond_broadcast(&heater->left);
    if (RUNNING == heater->state) {
        heat_until_stopped(heater);
    }
    (void) pthread_mutex_unlock(&heater->mutex);
    return NULL;
}

/* --- beginning and end ---------------------------------------------------------------------- */

static int init_locks(llamatch_heater_t *heater)
{
    pthread_condattr_t attributes;
    int status = LLAMATCH_ERR_SYSTEM;

    if (0 != pthread_condattr_init(&attributes)) {
        return LLAMATCH_ERR_SYSTEM;
    }
    if (0 != pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        || 0 != pthread_mutex_init(&heater->mutex, NULL)) {
        goto out;
    }
    if (0 != pthread_cond_init(&heater->wake, &attributes)) {
        goto out_mutex;
    }
    if (0 != pthread_cond_init(&heater->left, NULL)) {
        goto out_wake;
    }
    status = LLAMATCH_OK;
    goto out;
out_wake:
    (void) pthread_cond_destroy(&heater->wake);
out_mutex:
    (void) pthread_mutex_destroy(&heater->mutex);
out:
    (void) pthread_condattr_destroy(&attributes);
    return status;
}

static void destroy_locks(llamatch_heater_t *heater)
{
    (void) pthread_cond_destroy(&heater->left);
    (void) pthread_cond_destroy(&heater->wake);
    (void) pthread_mutex_destroy(&heater->mutex);
}

/* Start the thread and wait until it has begun, or has given up. */
static int start(llamatch_heater_t *heater)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    bool failed;

    if (0 != pthread_attr_init(&attributes)) {
        return LLAMATCH_ERR_SYSTEM;
    }
    (void) pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void) sigfillset(&all);
    (void) pthread_sigmask(SIG_SETMASK, &all, &before); /* the thread inherits it */
    failed = 0 != pthread_create(&heater->thread, &attributes, run, heater);
    (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void) pthread_attr_destroy(&attributes);
    if (failed) {
        return LLAMATCH_ERR_SYSTEM;
    }
    (void) pthread_mutex_lock(&heater->mutex);
    while (STARTING == heater->state) {
        (void) pthread_cond_wait(&heater->left, &heater->mutex);
    }
    failed = FAILED == heater->state;
    (void) pthread_mutex_unlock(&heater->mutex);
    if (failed) {
        (void) pthread_join(heater->thread, NULL);
        return LLAMATCH_ERR_SYSTEM;
    }
    return LLAMATCH_OK;
}

int llamatch_heater_create(const llamatch_heater_config_t *config,
                           const llamatch_allocator_t *allocator, llamatch_heater_t **heater_out)
{
    llamatch_allocator_t from = (NULL != allocator) ? *allocator : llamatch_allocator_libc;
    llamatch_heater_t *heater = from.alloc(from.context, LLAMATCH_LINE, sizeof(*heater));
    int status;

    if (NULL == heater) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    memset(heater, 0, sizeof(*heater));
    heater->state = STARTING;
    heater->current = -1;
    heater->allocator = from;
    heater->how = config->how;
    heater->begin = config->begin;
    heater->begin_context = config->begin_context;
    heater->busy = config->busy;
    heater->busy_context = config->busy_context;
    heater->process = getpid();
    STORE(heater->period_ns, config->period_ns);
    STORE(heater->max_bytes, config->max_bytes);
    status = init_locks(heater);
    if (LLAMATCH_OK == status) {
        status = start(heater);
        if (LLAMATCH_OK == status) {
            *heater_out = heater;
            return LLAMATCH_OK;
        }
        destroy_locks(heater);
    }
    from.free(from.context, heater, sizeof(*heater));
    return status;
}

/* In a child of fork there is no thread, and its locks may be held for ever. */
static bool is_child(const llamatch_heater_t *heater)
{
    return getpid() != heater->process;
}

static void wake_up(llamatch_heater_t *heater)
{
    ++heater->wake_ups;
    (void) pthread_cond_signal(&heater->wake);
}

static void free_targets(llamatch_heater_t *heater)
{
    if (NULL != heater->targets) {
        heater->allocator.free(heater->allocator.context, heater->targets,
                               (size_t) heater->num_places * sizeof(target_t));
    }
}

void llamatch_heater_destroy(llamatch_heater_t *heater)
{
    if (NULL == heater) {
        return;
    }
    if (!is_child(heater)) {
        (void) pthread_mutex_lock(&heater->mutex);
        heater->state = STOPPING;
        update_interrupt(heater);
        wake_up(heater);
        (void) pthread_mutex_unlock(&heater->mutex);
        (void) pthread_join(heater->thread, NULL);
        for (int i = 0; i < heater->num_places; ++i) {
            if (NULL != heater->targets[i].pool) {
                llamatch_pool_unpin(heater->targets[i].pool);
            }
        }
        destroy_locks(heater);
    }
    free_targets(heater);
    heater->allocator.free(heater->allocator.context, heater, sizeof(*heater));
}

/* --- what is heated ------------------------------------------------------------------------- */

/* A free place of the table. @return its number, or -1 when there is no memory */
static int find_place(llamatch_heater_t *heater)
{
    int places = (0 == heater->num_places) ? FIRST_TARGETS : 2 * heater->num_places;
    int free_place;
    target_t *table;

    for (int i = 0; i < heater->num_places; ++i) {
        /* Not the place of one that was removed and is being left. */
        if (is_free(&heater->targets[i]) && i != heater->current) {
            return i;
        }
    }
    table = heater->allocator.alloc(heater->allocator.context, LLAMATCH_LINE,
                                    (size_t) places * sizeof(*table));
    if (NULL == table) {
        return -1;
    }
    memset(table, 0, (size_t) places * sizeof(*table));
    if (NULL != heater->targets) {
        memcpy(table, heater->targets, (size_t) heater->num_places * sizeof(*table));
        free_targets(heater);
    }
    heater->targets = table;
    free_place = heater->num_places;
    heater->num_places = places;
    return free_place;
}

static int add(llamatch_heater_t *heater, target_t target, int *id_out)
{
    int id;

    (void) pthread_mutex_lock(&heater->mutex);
    id = find_place(heater);
    if (0 <= id) {
        heater->targets[id] = target;
        ++heater->num_targets;
        *id_out = id;
        wake_up(heater);
    }
    (void) pthread_mutex_unlock(&heater->mutex);
    return (0 <= id) ? LLAMATCH_OK : LLAMATCH_ERR_NO_MEMORY;
}

int llamatch_heater_add_pool(llamatch_heater_t *heater, llamatch_pool_t *pool, int *id_out)
{
    target_t target = {pool, NULL, 0, false};
    int status;

    if (is_child(heater)) {
        return LLAMATCH_ERR_SYSTEM;
    }
    llamatch_pool_pin(pool);
    status = add(heater, target, id_out);
    if (LLAMATCH_OK != status) {
        llamatch_pool_unpin(pool);
    }
    return status;
}

int llamatch_heater_add_region(llamatch_heater_t *heater, const void *address, size_t bytes,
                               int *id_out)
{
    size_t skew = (uintptr_t) address % LLAMATCH_LINE;
    target_t target = {NULL, (const char *) address - skew, bytes + skew, false};

    if (NULL == address || 0 == bytes) {
        return LLAMATCH_ERR_ARGUMENT;
    }
    return is_child(heater) ? LLAMATCH_ERR_SYSTEM : add(heater, target, id_out);
}

void llamatch_heater_remove(llamatch_heater_t *heater, int id)
{
    static const target_t none = {NULL, NULL, 0, false};
    llamatch_pool_t *pool = NULL;
    uint64_t visits;

    if (is_child(heater)) {
        return;
    }
    (void) pthread_mutex_lock(&heater->mutex);
    if (0 <= id && id < heater->num_places && !is_free(&heater->targets[id])) {
        pool = heater->targets[id].pool;
        heater->targets[id] = none;
        --heater->num_targets;
        update_interrupt(heater);
        visits = heater->visits;
        while (heater->current == id && heater->visits == visits) {
            (void) pthread_cond_wait(&heater->left, &heater->mutex);
        }
    }
    (void) pthread_mutex_unlock(&heater->mutex);
    if (NULL != pool) {
        llamatch_pool_unpin(pool);
    }
}

void llamatch_heater_pause_target(llamatch_heater_t *heater, int id, bool paused)
{
    if (is_child(heater)) {
        return;
    }
    (void) pthread_mutex_lock(&heater->mutex);
    if (0 <= id && id < heater->num_places) {
        heater->targets[id].paused = paused;
        wake_up(heater);
    }
    (void) pthread_mutex_unlock(&heater->mutex);
}

/* --- controls ------------------------------------------------------------------------------- */

void llamatch_heater_pause(llamatch_heater_t *heater)
{
    if (is_child(heater)) {
        return;
    }
    (void) pthread_mutex_lock(&heater->mutex);
    ++heater->pauses;
    update_interrupt(heater);
    STORE(heater->paused, true);
    (void) pthread_mutex_unlock(&heater->mutex);
}

void llamatch_heater_resume(llamatch_heater_t *heater)
{
    if (is_child(heater)) {
        return;
    }
    (void) pthread_mutex_lock(&heater->mutex);
    if (0 < heater->pauses && 0 == --heater->pauses) {
        STORE(heater->paused, false);
        update_interrupt(heater);
        wake_up(heater);
    }
    (void) pthread_mutex_unlock(&heater->mutex);
}

void llamatch_heater_set_period(llamatch_heater_t *heater, uint64_t period_ns)
{
    STORE(heater->period_ns, period_ns);
    if (!is_child(heater)) { /* it may be in the middle of a long one */
        (void) pthread_mutex_lock(&heater->mutex);
        wake_up(heater);
        (void) pthread_mutex_unlock(&heater->mutex);
    }
}

void llamatch_heater_set_max_bytes(llamatch_heater_t *heater, size_t max_bytes)
{
    STORE(heater->max_bytes, max_bytes);
}

void llamatch_heater_stats(const llamatch_heater_t *heater, llamatch_heater_stats_t *stats)
{
    llamatch_heater_t *h = (llamatch_heater_t *) (uintptr_t) heater;

    stats->passes = atomic_load_explicit(&h->passes, memory_order_acquire);
    stats->bytes_last = LOAD(h->bytes_last);
    stats->bytes_total = LOAD(h->bytes_total);
    stats->ns_last = LOAD(h->ns_last);
    stats->ns_total = LOAD(h->ns_total);
    stats->paused = LOAD(h->paused);
    stats->self_paused = LOAD(h->self_paused);
}

int llamatch_heater_verify(const llamatch_heater_t *heater)
{
    llamatch_heater_t *h = (llamatch_heater_t *) (uintptr_t) heater;
    int used = 0, broken = 0;

    if (is_child(heater)) {
        return 0;
    }
    (void) pthread_mutex_lock(&h->mutex);
    for (int i = 0; i < h->num_places; ++i) {
        used += !is_free(&h->targets[i]);
        if (NULL != h->targets[i].pool && NULL != h->targets[i].address) {
            broken = 1;
        }
    }
    if (used != h->num_targets) {
        broken = 1;
    } else if (h->current < -1 || h->current >= h->num_places) {
        broken = 2;
    } else if (LOAD(h->interrupt) != wants_interrupt(h)) {
        broken = 3;
    }
    (void) pthread_mutex_unlock(&h->mutex);
    return broken;
}
