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
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#define NS_PER_S UINT64_C(1000000000)
#define STACK_BYTES ((size_t) 256 * 1024) /* it needs little, and jobs that lock memory lock it */

typedef enum { STARTING, RUNNING, FAILED, STOPPING } state_t;

struct llamatch_heater {
    pthread_mutex_t mutex;  /* of state, pauses, asked */
    pthread_cond_t changed; /* for the heater, which sleeps or pauses; at first for its creator */
    state_t state;
    uint32_t pauses;
    bool asked; /* for a pass at once */
    atomic_bool interrupt;

    llamatch_heater_config_t config; /* constant from here on */
    pid_t process;
    pthread_t thread;

    _Atomic uint64_t passes; /* atomic from here on */
    _Atomic uint64_t bytes_last;
    _Atomic uint64_t bytes_total;
    _Atomic uint64_t ns_last;
    _Atomic uint64_t ns_total;
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

/* --- the thread ----------------------------------------------------------------------------- */

/* With the mutex held. */
static bool must_leave(const llamatch_heater_t *heater)
{
    return STOPPING == heater->state || 0 < heater->pauses;
}

static void pass(llamatch_heater_t *heater)
{
    const llamatch_heater_config_t *config = &heater->config;
    uint64_t begin = now_ns(), ns;
    size_t done = (NULL == config->hot) ? 0 : llamatch_hot_touch(config->hot, config->max_bytes);

    done +=
        llamatch_pool_heat(config->pool, config->max_bytes - done, config->how, &heater->interrupt);
    ns = now_ns() - begin;
    STORE(heater->bytes_last, done);
    STORE(heater->bytes_total, LOAD(heater->bytes_total) + done);
    STORE(heater->ns_last, ns);
    STORE(heater->ns_total, LOAD(heater->ns_total) + ns);
    /* Whoever sees this pass counted sees its numbers, or newer ones. */
    atomic_store_explicit(&heater->passes, LOAD(heater->passes) + 1, memory_order_release);
}

/* Sleep until the time is over or somebody wants something. */
static void sleep_ns(llamatch_heater_t *heater, uint64_t ns)
{
    uint64_t until = now_ns() + ((ns < NS_PER_S * 3600) ? ns : NS_PER_S * 3600);
    struct timespec when = {(time_t) (until / NS_PER_S), (long) (until % NS_PER_S)};
    int status = 0;

    while (0 == status && !heater->asked && !must_leave(heater)) {
        status = pthread_cond_timedwait(&heater->changed, &heater->mutex, &when);
    }
}

static void heat_until_stopped(llamatch_heater_t *heater)
{
    while (STOPPING != heater->state) {
        uint64_t sleep = heater->config.period_ns;
        bool idle = 0 == llamatch_pool_used_bytes(heater->config.pool);

        if (0 < heater->pauses) {
            (void) pthread_cond_wait(&heater->changed, &heater->mutex);
            continue;
        }
        STORE(heater->self_paused, idle);
        heater->asked = false;
        if (!idle) {
            (void) pthread_mutex_unlock(&heater->mutex);
            pass(heater);
            (void) pthread_mutex_lock(&heater->mutex);
        } else {
            if (NULL != heater->config.hot) {
                llamatch_hot_clear(heater->config.hot);
            }
            sleep = (sleep < LLAMATCH_HEATER_NAP_NS) ? LLAMATCH_HEATER_NAP_NS : sleep;
        }
        sleep_ns(heater, sleep);
    }
}

static void *run(void *argument)
{
    llamatch_heater_t *heater = argument;
    bool begun = NULL == heater->config.begin || 0 == heater->config.begin(heater->config.context);

#if defined(__linux__)
    /* Else the kernel rounds each sleep up by 50 us. */
    (void) prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
#endif
    (void) pthread_mutex_lock(&heater->mutex);
    heater->state = begun ? RUNNING : FAILED;
    (void) pthread_cond_signal(&heater->changed);
    if (begun) {
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
    if (0 == pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        && 0 == pthread_cond_init(&heater->changed, &attributes)) {
        if (0 == pthread_mutex_init(&heater->mutex, NULL)) {
            status = LLAMATCH_OK;
        } else {
            (void) pthread_cond_destroy(&heater->changed);
        }
    }
    (void) pthread_condattr_destroy(&attributes);
    return status;
}

static void destroy_locks(llamatch_heater_t *heater)
{
    (void) pthread_cond_destroy(&heater->changed);
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
        (void) pthread_cond_wait(&heater->changed, &heater->mutex);
    }
    failed = FAILED == heater->state;
    (void) pthread_mutex_unlock(&heater->mutex);
    if (failed) {
        (void) pthread_join(heater->thread, NULL);
        return LLAMATCH_ERR_SYSTEM;
    }
    return LLAMATCH_OK;
}

int llamatch_heater_create(const llamatch_heater_config_t *config, llamatch_heater_t **heater_out)
{
    llamatch_allocator_t from = llamatch_pool_allocator(config->pool);
    llamatch_heater_t *heater = from.alloc(from.context, LLAMATCH_LINE, sizeof(*heater));
    int status;

    if (NULL == heater) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    memset(heater, 0, sizeof(*heater));
    heater->state = STARTING;
    heater->config = *config;
    heater->process = getpid();
    status = init_locks(heater);
    if (LLAMATCH_OK == status) {
        llamatch_pool_pin(config->pool);
        status = start(heater);
        if (LLAMATCH_OK == status) {
            *heater_out = heater;
            return LLAMATCH_OK;
        }
        llamatch_pool_unpin(config->pool);
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

/* With the mutex held: the heater leaves what it reads, and looks at its orders. */
static void tell(llamatch_heater_t *heater)
{
    STORE(heater->interrupt, must_leave(heater));
    (void) pthread_cond_signal(&heater->changed);
}

void llamatch_heater_destroy(llamatch_heater_t *heater)
{
    llamatch_allocator_t from;

    if (NULL == heater) {
        return;
    }
    from = llamatch_pool_allocator(heater->config.pool);
    if (!is_child(heater)) {
        (void) pthread_mutex_lock(&heater->mutex);
        heater->state = STOPPING;
        tell(heater);
        (void) pthread_mutex_unlock(&heater->mutex);
        (void) pthread_join(heater->thread, NULL);
        llamatch_pool_unpin(heater->config.pool);
        destroy_locks(heater);
    }
    from.free(from.context, heater, sizeof(*heater));
}

/* --- controls ------------------------------------------------------------------------------- */

void llamatch_heater_pause(llamatch_heater_t *heater)
{
    if (is_child(heater)) {
        return;
    }
    (void) pthread_mutex_lock(&heater->mutex);
    ++heater->pauses;
    tell(heater);
    (void) pthread_mutex_unlock(&heater->mutex);
}

void llamatch_heater_resume(llamatch_heater_t *heater)
{
    if (is_child(heater)) {
        return;
    }
    (void) pthread_mutex_lock(&heater->mutex);
    if (0 < heater->pauses && 0 == --heater->pauses) {
        heater->asked = true;
        tell(heater);
    }
    (void) pthread_mutex_unlock(&heater->mutex);
}

void llamatch_heater_stats(const llamatch_heater_t *heater, llamatch_heater_stats_t *stats)
{
    llamatch_heater_t *h = (llamatch_heater_t *) (uintptr_t) heater;

    stats->passes = atomic_load_explicit(&h->passes, memory_order_acquire);
    stats->bytes_last = LOAD(h->bytes_last);
    stats->bytes_total = LOAD(h->bytes_total);
    stats->ns_last = LOAD(h->ns_last);
    stats->ns_total = LOAD(h->ns_total);
    stats->paused = LOAD(h->interrupt);
    stats->self_paused = LOAD(h->self_paused);
}

int llamatch_heater_verify(const llamatch_heater_t *heater)
{
    llamatch_heater_t *h = (llamatch_heater_t *) (uintptr_t) heater;
    int broken = 0;

    if (!is_child(heater)) {
        (void) pthread_mutex_lock(&h->mutex);
        broken = LOAD(h->interrupt) != must_leave(h);
        (void) pthread_mutex_unlock(&h->mutex);
    }
    return broken;
}
