/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_heater: what it reads, its pauses, fork, failures, and churn in several threads for the
 * sanitizers. */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_engine.h"
#include "llamatch_heater.h"
#include "llamatch_test_alloc.h"
#include "llamatch_verify.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The heater's source itself, so that its thread can be held in the middle of a pass. */
static int unlock(pthread_mutex_t *mutex);
static int wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex,
                      const struct timespec *until);
#define pthread_mutex_unlock unlock
#define pthread_cond_timedwait wait_until
#include "llamatch_heater.c"
#undef pthread_mutex_unlock
#undef pthread_cond_timedwait

#define MANY_BYTES SIZE_MAX
#define HOUR_NS (UINT64_C(3600) * 1000000000)

static void nap(long us)
{
    struct timespec time = {0, us * 1000};

    (void) nanosleep(&time, NULL);
}

static llamatch_pool_t *pool_of(void)
{
    llamatch_pool_t *pool = NULL;

    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &pool));
    return pool;
}

static llamatch_heater_t *heater_of(llamatch_pool_t *pool, uint64_t period_ns, size_t max_bytes)
{
    llamatch_heater_config_t config = {
        .pool = pool, .period_ns = period_ns, .max_bytes = max_bytes};
    llamatch_heater_t *heater = NULL;

    assert_int_equal(LLAMATCH_OK, llamatch_heater_create(&config, &heater));
    assert_non_null(heater);
    return heater;
}

static llamatch_heater_stats_t stats_of(const llamatch_heater_t *heater)
{
    llamatch_heater_stats_t stats;

    llamatch_heater_stats(heater, &stats);
    return stats;
}

/* Wait for something that must come; a test that hangs is ended by the alarm in main. */
#define WAIT_UNTIL(condition) \
    do {                      \
        nap(200);             \
    } while (!(condition))

static void wait_for_passes(const llamatch_heater_t *heater, uint64_t n)
{
    uint64_t begin = stats_of(heater).passes;

    WAIT_UNTIL(stats_of(heater).passes >= begin + n);
}

static void test_reads_all_and_not_more(void **state)
{
    static const size_t caps[] = {MANY_BYTES, 5 * 128, 256, 0};
    llamatch_pool_t *pool = pool_of();
    llamatch_pool_class_t *c = llamatch_pool_class(pool, 384, 128);
    llamatch_heater_stats_t stats;

    (void) state;
    for (int i = 0; i < 5; ++i) {
        assert_non_null(llamatch_pool_get(c));
    }
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); ++i) {
        llamatch_heater_t *heater = heater_of(pool, 1000, caps[i]);

        wait_for_passes(heater, 2);
        stats = stats_of(heater);
        assert_int_equal((caps[i] < 5 * 128) ? caps[i] : 5 * 128, stats.bytes_last);
        assert_true(0 == stats.bytes_last || stats.bytes_total > stats.bytes_last);
        assert_false(stats.paused);
        wait_for_passes(heater, 1); /* what was told as the last pass is in the sum then */
        assert_true(stats_of(heater).ns_total >= stats.ns_last);
        assert_int_equal(0, llamatch_heater_verify(heater));
        llamatch_heater_destroy(heater);
    }
    llamatch_pool_destroy(pool);
    llamatch_heater_destroy(NULL);
}

static void test_pauses_are_counted(void **state)
{
    llamatch_pool_t *pool = pool_of();
    llamatch_heater_t *heater = heater_of(pool, 0, MANY_BYTES);
    uint64_t passes;

    (void) state;
    assert_non_null(llamatch_pool_get(llamatch_pool_class(pool, 4096, 4096)));
    wait_for_passes(heater, 3);
    llamatch_heater_resume(heater); /* one too many */
    llamatch_heater_pause(heater);
    llamatch_heater_pause(heater);
    passes = stats_of(heater).passes;
    nap(20000);
    assert_true(stats_of(heater).passes <= passes + 1); /* the one that was under way */
    llamatch_heater_resume(heater);
    nap(20000);
    assert_true(stats_of(heater).paused);
    assert_true(stats_of(heater).passes <= passes + 1);
    assert_int_equal(0, llamatch_heater_verify(heater));
    llamatch_heater_resume(heater);
    assert_false(stats_of(heater).paused);
    wait_for_passes(heater, 3);
    llamatch_heater_pause(heater);
    llamatch_heater_destroy(heater); /* also while paused */
    llamatch_pool_destroy(pool);
}

static void test_pauses_itself(void **state)
{
    llamatch_pool_t *pool = pool_of();
    llamatch_pool_class_t *c = llamatch_pool_class(pool, 384, 128);
    llamatch_heater_t *heater = heater_of(pool, 1000, MANY_BYTES);
    uint64_t passes;
    void *node;

    (void) state;
    for (int round = 0; round < 3; ++round) {
        WAIT_UNTIL(stats_of(heater).self_paused);
        passes = stats_of(heater).passes;
        nap(5000);
        assert_int_equal(passes, stats_of(heater).passes);
        assert_false(stats_of(heater).paused);
        node = llamatch_pool_get(c);
        WAIT_UNTIL(!stats_of(heater).self_paused);
        wait_for_passes(heater, 2);
        llamatch_pool_put(c, node);
    }
    llamatch_heater_destroy(heater);
    llamatch_pool_destroy(pool);
}

/* An arena keeps its blocks as long as it has a heater, and no longer. */
static void test_pins(void **state)
{
    enum { N = 1000 };
    llamatch_pool_t *pool = pool_of();
    llamatch_pool_class_t *c = llamatch_pool_class(pool, 384, 128);
    void *nodes[N];

    (void) state;
    for (int round = 0; round < 2; ++round) {
        llamatch_heater_t *heater = heater_of(pool, 0, MANY_BYTES);
        size_t peak;

        for (int i = 0; i < N; ++i) {
            nodes[i] = llamatch_pool_get(c);
        }
        peak = llamatch_pool_bytes(pool);
        for (int i = 0; i < N; ++i) {
            llamatch_pool_put(c, nodes[i]);
        }
        assert_int_equal(peak, llamatch_pool_bytes(pool));
        llamatch_heater_destroy(heater);
        assert_int_equal(LLAMATCH_POOL_FLOOR, llamatch_pool_bytes(pool));
    }
    llamatch_pool_destroy(pool);
}

/* A stop and a resume do not wait for the end of a long period. */
static void test_long_period(void **state)
{
    static const uint64_t periods[] = {HOUR_NS, UINT64_MAX};
    llamatch_pool_t *pool = pool_of();

    (void) state;
    assert_non_null(llamatch_pool_get(llamatch_pool_class(pool, 384, 128)));
    for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); ++i) {
        llamatch_heater_t *heater = heater_of(pool, periods[i], MANY_BYTES);

        WAIT_UNTIL(1 <= stats_of(heater).passes);
        llamatch_heater_pause(heater);
        llamatch_heater_resume(heater);
        WAIT_UNTIL(2 <= stats_of(heater).passes);
        llamatch_heater_destroy(heater);
    }
    llamatch_pool_destroy(pool);
}

/* Where the thread of a heater is, when its test wants to know. */
static _Thread_local bool is_watched;
static atomic_bool hold_passes;
static atomic_int sleeps;
static sem_t events, go_on;

static int watch(void *context)
{
    (void) context;
    is_watched = true;
    return 0;
}

/* In a pass it releases its mutex to read. */
static int unlock(pthread_mutex_t *mutex)
{
    int status = pthread_mutex_unlock(mutex);

    if (is_watched && atomic_load(&hold_passes)) {
        (void) sem_post(&events);
        (void) sem_wait(&go_on);
    }
    return status;
}

static int wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex,
                      const struct timespec *until)
{
    if (is_watched) {
        atomic_fetch_add(&sleeps, 1);
        (void) sem_post(&events);
    }
    return pthread_cond_timedwait(condition, mutex, until);
}

/* What is asked for while it reads is not lost: it does not sleep before the next pass. */
static void test_asked_in_a_pass(void **state)
{
    llamatch_pool_t *pool = pool_of();
    llamatch_heater_config_t config = {
        .pool = pool, .period_ns = HOUR_NS, .max_bytes = MANY_BYTES, .begin = watch};
    llamatch_heater_t *heater = NULL;

    (void) state;
    assert_int_equal(0, sem_init(&events, 0, 0));
    assert_int_equal(0, sem_init(&go_on, 0, 0));
    assert_int_equal(LLAMATCH_OK, llamatch_heater_create(&config, &heater));
    assert_int_equal(0, sem_wait(&events)); /* it sleeps: there is nothing to heat */
    assert_non_null(llamatch_pool_get(llamatch_pool_class(pool, 384, 128)));
    atomic_store(&hold_passes, true);
    llamatch_heater_pause(heater);
    llamatch_heater_resume(heater);
    assert_int_equal(0, sem_wait(&events)); /* it reads, and is held there */
    atomic_store(&sleeps, 0);
    llamatch_heater_pause(heater);
    llamatch_heater_resume(heater);
    assert_int_equal(0, sem_post(&go_on));
    assert_int_equal(0, sem_wait(&events)); /* it reads again, or sleeps */
    assert_int_equal(0, atomic_load(&sleeps));
    atomic_store(&hold_passes, false);
    assert_int_equal(0, sem_post(&go_on));
    llamatch_heater_destroy(heater);
    llamatch_pool_destroy(pool);
    assert_int_equal(0, sem_destroy(&events));
    assert_int_equal(0, sem_destroy(&go_on));
}

typedef struct {
    pthread_t thread;
    bool all_blocked;
    int result;
} begun_t;

static int begin_heater(void *context)
{
    begun_t *begun = context;
    sigset_t blocked;

    begun->thread = pthread_self();
    begun->all_blocked = 0 == pthread_sigmask(SIG_BLOCK, NULL, &blocked)
                         && sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGALRM)
                         && sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGPROF);
    return begun->result;
}

static void test_begin(void **state)
{
    begun_t begun = {.result = 0};
    llamatch_heater_config_t config = {.begin = begin_heater, .context = &begun};
    llamatch_heater_t *heater = NULL;
    sigset_t before, after;
    test_alloc_t alloc;
    llamatch_allocator_t allocator = test_alloc_make(&alloc);
    llamatch_pool_class_t *c;
    size_t of_pool;

    (void) state;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(&allocator, &config.pool));
    of_pool = alloc.in_use;
    (void) pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(LLAMATCH_OK, llamatch_heater_create(&config, &heater));
    (void) pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
    assert_true(begun.all_blocked);
    assert_false(pthread_equal(begun.thread, pthread_self()));
    llamatch_heater_destroy(heater);
    heater = NULL;
    begun.result = 1; /* it could not be bound: no heater */
    assert_int_equal(LLAMATCH_ERR_SYSTEM, llamatch_heater_create(&config, &heater));
    assert_null(heater);
    alloc.fail_at = alloc.requests + 1;
    assert_int_equal(LLAMATCH_ERR_NO_MEMORY, llamatch_heater_create(&config, &heater));
    assert_null(heater);
    assert_int_equal(of_pool, alloc.in_use);
    c = llamatch_pool_class(config.pool, 1 << 20, 0);
    llamatch_pool_put(c, llamatch_pool_get(c));
    assert_int_equal(0, llamatch_pool_bytes(config.pool)); /* no pin is left */
    llamatch_pool_destroy(config.pool);
    assert_int_equal(0, alloc.in_use);
    assert_false(alloc.wrong_sizes);
}

/* The child of a fork has no heater: all calls return, at whatever point the thread was. */
static void test_fork(void **state)
{
    llamatch_pool_t *pool = pool_of();
    llamatch_heater_t *heater = heater_of(pool, 0, MANY_BYTES);
    int status;

    (void) state;
    assert_non_null(llamatch_pool_get(llamatch_pool_class(pool, 1 << 16, 1 << 16)));
    for (int round = 0; round < 20; ++round) {
        pid_t child;

        nap(round * 37);
        child = fork();
        assert_true(0 <= child);
        if (0 == child) {
            (void) alarm(20);
            llamatch_heater_pause(heater);
            llamatch_heater_resume(heater);
            status = 0 != llamatch_heater_verify(heater);
            llamatch_heater_destroy(heater);
            llamatch_pool_destroy(pool);
            _exit(status);
        }
        assert_int_equal(child, waitpid(child, &status, 0));
        assert_true(WIFEXITED(status));
        assert_int_equal(0, WEXITSTATUS(status));
    }
    wait_for_passes(heater, 2); /* the parent's heater goes on */
    llamatch_heater_destroy(heater);
    llamatch_pool_destroy(pool);
}

/* --- churn ---------------------------------------------------------------------------------- */

typedef struct {
    llamatch_heater_t *heater;
    llamatch_pool_t *pool;
    llamatch_hot_t *hot;
    uint64_t seed;
    atomic_size_t *wrong;
} churn_t;

/* A queue: takes nodes, writes their keys with plain stores, looks whether they are still there,
   gives them back. */
static void *churn_nodes(void *argument)
{
    enum { MOST = 200, OPERATIONS = 40000 };
    static const size_t sizes[] = {192, 384, 4096, 100000};
    churn_t *churn = argument;
    uint64_t random = churn->seed;
    uint64_t *node[MOST];
    llamatch_pool_class_t *class[MOST];
    uint32_t n = 0;

    for (uint32_t op = 0; op < OPERATIONS; ++op) {
        if (n < MOST && (0 == n || 0 != test_random(&random, 2))) {
            uint32_t s = test_random(&random, 64);

            class[n] = llamatch_pool_class(churn->pool, sizes[(s < 4) ? s : s % 2], 128);
            node[n] = llamatch_pool_get(class[n]);
            node[n][0] = (uint64_t) (uintptr_t) node[n] ^ churn->seed;
            node[n][8] = op;
            ++n;
        } else {
            uint32_t i = test_random(&random, n);

            if (node[i][0] != ((uint64_t) (uintptr_t) node[i] ^ churn->seed)) {
                atomic_fetch_add(churn->wrong, 1);
            }
            llamatch_pool_put(class[i], node[i]);
            --n;
            node[i] = node[n];
            class[i] = class[n];
        }
    }
    while (0 < n) {
        --n;
        llamatch_pool_put(class[n], node[n]);
    }
    return NULL;
}

/* Communicators that come and go, with messages in between. */
static void *churn_engines(void *argument)
{
    enum { ROUNDS = 300, RECEIVES = 300, PEERS = 3 };
    churn_t *churn = argument;
    llamatch_config_t config = llamatch_config_default;
    llamatch_setup_t setup;
    uint64_t random = churn->seed, places[RECEIVES];

    config.pool = churn->pool;
    config.hot = churn->hot;
    if (LLAMATCH_OK != llamatch_setup_init(&setup, &config)) {
        atomic_fetch_add(churn->wrong, 1);
    }
    for (int round = 0; round < ROUNDS; ++round) {
        llamatch_peer_t *peers = malloc(PEERS * sizeof(*peers));
        llamatch_engine_t *engine = malloc(sizeof(*engine));
        uint32_t n = 1 + test_random(&random, RECEIVES);

        llamatch_engine_init(engine, &setup);
        for (uint32_t i = 0; i < PEERS; ++i) {
            llamatch_peer_init(&peers[i]);
        }
        for (uint32_t i = 0; i < n; ++i) {
            (void) llamatch_engine_post(engine, &peers[i % PEERS], (int32_t) i, &places[i],
                                        &places[i]);
        }
        for (uint32_t i = test_random(&random, n); i < n; ++i) { /* some stay until the end */
            if (&places[i] != llamatch_engine_match(engine, &peers[i % PEERS], (int32_t) i)) {
                atomic_fetch_add(churn->wrong, 1);
            }
        }
        llamatch_engine_fini(engine);
        free(engine);
        free(peers);
    }
    return NULL;
}

static void *churn_controls(void *argument)
{
    enum { OPERATIONS = 300 };
    churn_t *churn = argument;
    uint64_t random = churn->seed;

    for (uint32_t op = 0; op < OPERATIONS; ++op) {
        llamatch_heater_pause(churn->heater);
        if (0 != llamatch_heater_verify(churn->heater)
            || stats_of(churn->heater).bytes_last > 1 << 22) {
            atomic_fetch_add(churn->wrong, 1);
        }
        nap(test_random(&random, 100));
        llamatch_heater_resume(churn->heater);
        nap(test_random(&random, 300));
    }
    return NULL;
}

static void test_churn(void **state)
{
    void *(*const roles[])(void *) = {churn_nodes, churn_engines, churn_engines, churn_controls};
    enum { ROLES = sizeof(roles) / sizeof(roles[0]) };
    static llamatch_hot_t hot;
    llamatch_pool_t *pool = pool_of();
    llamatch_heater_config_t config = {.pool = pool, .hot = &hot, .max_bytes = 1 << 22};
    llamatch_heater_t *heater;
    atomic_size_t wrong = 0;
    pthread_t threads[ROLES];
    churn_t churn[ROLES];
    llamatch_pool_class_t *c = llamatch_pool_class(pool, 384, 128);
    void *node = llamatch_pool_get(c);

    (void) state;
    assert_int_equal(LLAMATCH_OK, llamatch_heater_create(&config, &heater));
    wait_for_passes(heater, 1); /* it is at work */
    for (size_t i = 0; i < ROLES; ++i) {
        churn[i] = (churn_t){heater, pool, &hot, test_seed(5) + i, &wrong};
        assert_int_equal(0, pthread_create(&threads[i], NULL, roles[i], &churn[i]));
    }
    for (size_t i = 0; i < ROLES; ++i) {
        assert_int_equal(0, pthread_join(threads[i], NULL));
    }
    assert_int_equal(0, wrong);
    wait_for_passes(heater, 1); /* and still is */
    llamatch_pool_put(c, node);
    assert_int_equal(0, llamatch_heater_verify(heater));
    llamatch_heater_destroy(heater);
    assert_int_equal(0, llamatch_pool_used_bytes(pool));
    assert_int_equal(0, llamatch_pool_verify(pool));
    llamatch_pool_destroy(pool);
}

/* A real engine whose queues grow, get an index, and drain, while the heater walks its arena. */
static void test_engine(void **state)
{
    enum { ROUNDS = 20, RECEIVES = 2000 };
    static uint64_t places[RECEIVES];
    llamatch_pool_t *pool = pool_of();
    llamatch_heater_t *heater = heater_of(pool, 1000, MANY_BYTES);
    llamatch_config_t config = llamatch_config_default;
    llamatch_setup_t setup;
    llamatch_engine_t engine;
    llamatch_peer_t peer;
    llamatch_stats_t posted, unexpected;

    (void) state;
    config.pool = pool;
    assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&setup, &config));
    llamatch_engine_init(&engine, &setup);
    llamatch_peer_init(&peer);
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < RECEIVES; ++i) {
            assert_int_equal(LLAMATCH_OK,
                             llamatch_engine_post(&engine, &peer, i, &places[i], &places[i]));
        }
        if (0 == round) {
            WAIT_UNTIL(0 < stats_of(heater).bytes_total);
        }
        for (int i = RECEIVES - 1; i >= 0; --i) {
            assert_ptr_equal(&places[i], llamatch_engine_match(&engine, &peer, i));
        }
    }
    llamatch_engine_stats(&engine, &posted, &unexpected);
    assert_true(0 < posted.indexed);
    assert_int_equal(0, llamatch_engine_verify(&engine));
    WAIT_UNTIL(stats_of(heater).self_paused); /* the queues exist, and are empty */
    llamatch_engine_fini(&engine);
    llamatch_heater_destroy(heater);
    llamatch_pool_destroy(pool);
}

/* A queue holds its first entries itself, but with a heater, which reads only the arena: a peer
 * with one entry takes a small array more (README.md). */
static void test_memory_of_one_entry(void **state)
{
    static llamatch_hot_t hot;

    (void) state;
    for (int heated = 0; heated < 2; ++heated) {
        llamatch_pool_t *pool = pool_of();
        llamatch_config_t config = llamatch_config_default;
        llamatch_setup_t setup;
        llamatch_engine_t engine;
        llamatch_peer_t peer;
        uint64_t place;

        config.pool = pool;
        config.hot = heated ? &hot : NULL;
        assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&setup, &config));
        llamatch_engine_init(&engine, &setup);
        llamatch_peer_init(&peer);
        assert_int_equal(LLAMATCH_OK, llamatch_engine_post(&engine, &peer, 1, &place, &place));
        assert_int_equal(heated ? 192 : 0, llamatch_pool_used_bytes(pool));
        assert_int_equal(LLAMATCH_OK, llamatch_engine_arrive(&engine, &peer, 1, &place));
        assert_int_equal(heated ? 2 * 192 : 0, llamatch_pool_used_bytes(pool));
        assert_int_equal(0, llamatch_engine_verify(&engine));
        llamatch_engine_fini(&engine);
        llamatch_pool_destroy(pool);
    }
}

/* As many as need an array. */
enum { SOME = 12 };

static void post_some(llamatch_engine_t *engine, llamatch_peer_t *peer, uint64_t places[SOME])
{
    for (int i = 0; i < SOME; ++i) {
        assert_int_equal(LLAMATCH_OK,
                         llamatch_engine_post(engine, peer, i, &places[i], &places[i]));
    }
}

/* Engine and peers of queues with entries are heated as well, until all queues are empty; also when
   they are gone without a word. */
static void test_engine_and_peers(void **state)
{
    static llamatch_hot_t hot, expected; /* two addresses may have the same slot */
    enum { PEERS = 3, BYTES = 1 << 20 };
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    llamatch_engine_t *engine = (llamatch_engine_t *) memory;
    llamatch_peer_t *peers = (llamatch_peer_t *) (memory + BYTES / 2);
    llamatch_pool_t *pool = pool_of();
    llamatch_pool_class_t *c = llamatch_pool_class(pool, 384, 128);
    llamatch_heater_config_t heating = {
        .pool = pool, .hot = &hot, .period_ns = 1000, .max_bytes = MANY_BYTES};
    llamatch_config_t config = llamatch_config_default;
    llamatch_setup_t setup;
    llamatch_heater_t *heater;
    uint64_t places[SOME];
    size_t lines;
    void *node;

    (void) state;
    assert_ptr_not_equal(MAP_FAILED, memory);
    config.pool = pool;
    config.hot = &hot;
    assert_int_equal(LLAMATCH_OK, llamatch_heater_create(&heating, &heater));
    assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&setup, &config));
    llamatch_engine_init(engine, &setup);
    post_some(engine, NULL, places);
    wait_for_passes(heater, 2);
    lines = stats_of(heater).bytes_last - LLAMATCH_HOT_BYTES; /* those of the arrays of one queue */
    assert_int_equal(lines, llamatch_pool_heat(pool, MANY_BYTES, LLAMATCH_HEAT_LOAD, NULL));
    llamatch_hot_add(&expected, engine);
    for (int i = 0; i < PEERS; ++i) {
        llamatch_peer_init(&peers[i]);
        post_some(engine, &peers[i], places);
        llamatch_hot_add(&expected, &peers[i]);
    }
    wait_for_passes(heater, 2);
    assert_int_equal((1 + PEERS) * lines + llamatch_hot_touch(&expected, MANY_BYTES),
                     stats_of(heater).bytes_last);
    assert_int_equal(LLAMATCH_HOT_BYTES, llamatch_hot_touch(&hot, 2 * LLAMATCH_HOT_BYTES - 1));
    node = llamatch_pool_get(c); /* something else waits */
    llamatch_engine_fini(engine);
    assert_int_equal(0, munmap(memory, BYTES));
    wait_for_passes(heater, 2);
    assert_int_equal(128 + llamatch_hot_touch(&expected, MANY_BYTES), stats_of(heater).bytes_last);
    llamatch_pool_put(c, node);
    WAIT_UNTIL(0 == llamatch_hot_touch(&hot, MANY_BYTES));
    llamatch_heater_destroy(heater);
    llamatch_pool_destroy(pool);
}

/* A pass reads the queues that have entries, however many others there are or have been: counted in
   lines, and in nodes that it would come across. */
static void test_many_engines(void **state)
{
    enum { ENGINES = 20000 };
    llamatch_engine_t *engines = calloc(ENGINES, sizeof(*engines));
    llamatch_peer_t *peers = calloc(ENGINES, sizeof(*peers));
    llamatch_pool_t *pool = pool_of();
    llamatch_heater_t *heater = heater_of(pool, 1000, MANY_BYTES);
    llamatch_config_t config = llamatch_config_default;
    llamatch_setup_t setup;
    size_t one_bytes = 0, one_used = 0;
    uint64_t places[SOME], passes;

    (void) state;
    config.pool = pool;
    assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&setup, &config));
    for (int i = 0; i < ENGINES; ++i) {
        llamatch_engine_init(&engines[i], &setup);
        llamatch_peer_init(&peers[i]);
    }
    for (int round = 0; round < 2; ++round) {
        post_some(&engines[7], &peers[7], places);
        wait_for_passes(heater, 2);
        if (0 == round) { /* the others have never been used */
            one_bytes = stats_of(heater).bytes_last;
            one_used = llamatch_pool_used_bytes(pool);
        }
        assert_int_equal(one_bytes, stats_of(heater).bytes_last);
        assert_int_equal(one_used, llamatch_pool_used_bytes(pool));
        for (int i = SOME - 1; 0 <= i; --i) {
            assert_ptr_equal(&places[i], llamatch_engine_match(&engines[7], &peers[7], i));
        }
        for (int i = 0; i < ENGINES; ++i) { /* used, one by one and together */
            for (int m = 0; m < SOME; ++m) {
                (void) llamatch_engine_arrive(&engines[i], &peers[i], m, places);
            }
            for (int m = 0; 0 == round && m < SOME; ++m) {
                assert_ptr_equal(places, llamatch_engine_receive(&engines[i], &peers[i], m).item);
            }
        }
        for (int i = 0; 1 == round && i < ENGINES; ++i) {
            for (int m = SOME - 1; 0 <= m; --m) {
                assert_ptr_equal(places, llamatch_engine_receive(&engines[i], NULL, m).item);
            }
        }
        assert_int_equal(0, llamatch_pool_used_bytes(pool));
        WAIT_UNTIL(stats_of(heater).self_paused);
    }
    passes = stats_of(heater).passes;
    nap(5000);
    assert_int_equal(passes, stats_of(heater).passes);
    for (int i = 0; i < ENGINES; ++i) {
        llamatch_engine_fini(&engines[i]);
    }
    llamatch_heater_destroy(heater);
    llamatch_pool_destroy(pool);
    free(engines);
    free(peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_all_and_not_more),
        cmocka_unit_test(test_pauses_are_counted),
        cmocka_unit_test(test_pauses_itself),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_long_period),
        cmocka_unit_test(test_asked_in_a_pass),
        cmocka_unit_test(test_begin),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_engine),
        cmocka_unit_test(test_memory_of_one_entry),
        cmocka_unit_test(test_engine_and_peers),
        cmocka_unit_test(test_many_engines),
    };

    (void) alarm(300); /* something that never came is a failure, too */
    return cmocka_run_group_tests_name("llamatch_heater", tests, NULL, NULL);
}
