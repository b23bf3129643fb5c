/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_pool: alignment, classes, mappings, memory that stays and memory that goes back,
 * pinning, failure of the allocator, a model with random operations, and several threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_pool.h"
#include "llamatch_test_alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    test_alloc_t alloc;
    llamatch_pool_t *pool;
} fixture_t;

static void begin(fixture_t *f)
{
    llamatch_allocator_t allocator = test_alloc_make(&f->alloc);

    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(&allocator, &f->pool));
}

static void end(fixture_t *f)
{
    assert_int_equal(0, llamatch_pool_verify(f->pool));
    llamatch_pool_destroy(f->pool);
    assert_int_equal(0, f->alloc.in_use);
    assert_int_equal(0, f->alloc.bytes);
    assert_false(f->alloc.wrong_sizes);
}

static llamatch_pool_class_t *class_of(fixture_t *f, size_t node_bytes, size_t key_bytes)
{
    llamatch_pool_class_t *c = llamatch_pool_class(f->pool, node_bytes, key_bytes);

    assert_non_null(c);
    return c;
}

static void *get(llamatch_pool_class_t *c)
{
    void *node = llamatch_pool_get(c);

    assert_non_null(node);
    assert_int_equal(0, (uintptr_t) node % LLAMATCH_LINE);
    return node;
}

static void test_classes(void **state)
{
    fixture_t f;
    llamatch_pool_class_t *c;

    (void) state;
    begin(&f);
    c = class_of(&f, 300, 128);
    assert_ptr_equal(c, class_of(&f, 300, 128));
    assert_ptr_equal(c, class_of(&f, 320, 128)); /* the same number of lines */
    assert_ptr_not_equal(c, class_of(&f, 321, 128));
    assert_ptr_not_equal(c, class_of(&f, 300, 64));
    assert_null(llamatch_pool_class(f.pool, 0, 0));
    assert_null(llamatch_pool_class(f.pool, SIZE_MAX, 0));
    assert_null(llamatch_pool_class(f.pool, 64, 65));
    for (size_t i = 3; i < LLAMATCH_POOL_CLASSES; ++i) {
        (void) class_of(&f, 1024 + 64 * i, 64);
    }
    assert_null(llamatch_pool_class(f.pool, 64, 64)); /* no room for one more */
    assert_ptr_equal(c, class_of(&f, 300, 128));
    assert_int_equal(0, llamatch_pool_bytes(f.pool)); /* a class alone maps nothing */
    end(&f);
    llamatch_pool_destroy(NULL);
}

/* Nodes of all sizes: aligned, as large as promised, apart from each other, found again. */
static void test_sizes(void **state)
{
    static const size_t sizes[] = {1,     64,        65,        384,         4096,
                                   21000, 32 * 1024, 40 * 1024, 65536 - 256, 64 * 1024,
                                   65537, 1 << 20,   3 << 20};
    fixture_t f;

    (void) state;
    begin(&f);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        llamatch_pool_class_t *c = class_of(&f, sizes[i], 1);
        char *node[5];

        for (int k = 0; k < 5; ++k) {
            node[k] = get(c);
            memset(node[k], k, sizes[i]);
            assert_int_equal(0, llamatch_pool_verify(f.pool));
        }
        for (int k = 0; k < 5; ++k) {
            assert_int_equal(k, node[k][0]);
            assert_int_equal(k, node[k][sizes[i] - 1]);
        }
        assert_true(llamatch_pool_used_bytes(f.pool) >= 5 * sizes[i]);
        assert_true(llamatch_pool_bytes(f.pool) >= llamatch_pool_used_bytes(f.pool));
        for (int k = 0; k < 5; ++k) {
            llamatch_pool_put(c, node[k]);
            assert_int_equal(0, llamatch_pool_verify(f.pool));
        }
        assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
    }
    end(&f);
}

static void shuffle(void **nodes, size_t n, uint64_t *random)
{
    for (size_t i = n; 1 < i--;) {
        size_t k = test_random(random, (uint32_t) i + 1);
        void *node = nodes[i];

        nodes[i] = nodes[k];
        nodes[k] = node;
    }
}

/* The promise about memory: what was needed once does not stay. */
static void drain(const llamatch_allocator_t *allocator, size_t n, int order)
{
    void **nodes = malloc(n * sizeof(*nodes));
    uint64_t random = test_seed(12);
    llamatch_pool_t *pool;
    llamatch_pool_class_t *c;

    assert_non_null(nodes);
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(allocator, &pool));
    c = llamatch_pool_class(pool, 192, 128);
    for (size_t i = 0; i < n; ++i) {
        nodes[i] = get(c);
    }
    /* Hardly more is mapped than is in use. */
    assert_true(llamatch_pool_bytes(pool) < n * 192 + n * 192 / 50 + LLAMATCH_POOL_BLOCK);
    if (1 == order) {
        for (size_t i = 0; i < n / 2; ++i) {
            void *node = nodes[i];

            nodes[i] = nodes[n - 1 - i];
            nodes[n - 1 - i] = node;
        }
    } else if (2 == order) {
        shuffle(nodes, n, &random);
    }
    for (size_t i = 0; i < n; ++i) {
        llamatch_pool_put(c, nodes[i]);
        /* In the order of getting or its reverse it holds all the way; in random order many blocks
           have a few nodes left, until the end. */
        if (2 != order && 0 == i % (n / 100)) {
            assert_true(llamatch_pool_bytes(pool)
                        <= llamatch_pool_used_bytes(pool) * 51 / 50 + LLAMATCH_POOL_FLOOR);
        }
    }
    assert_true(llamatch_pool_bytes(pool) <= LLAMATCH_POOL_FLOOR);
    assert_int_equal(0, llamatch_pool_verify(pool));
    llamatch_pool_destroy(pool);
    free(nodes);
}

static void test_drain(void **state)
{
    (void) state;
    for (int order = 0; order < 3; ++order) {
        test_alloc_t alloc;
        llamatch_allocator_t allocator = test_alloc_make(&alloc);

        drain(&allocator, 20000, order);
        assert_int_equal(0, alloc.in_use);
    }
    drain(NULL, 1000000, 2); /* with pages of the system */
}

/* Take some nodes, and give them back. */
static void one_round(llamatch_pool_class_t *c, void **nodes, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        nodes[i] = get(c);
    }
    for (size_t i = 0; i < n; ++i) {
        llamatch_pool_put(c, nodes[i]);
    }
}

/* What every round needs is mapped in the first two of them, and stays, also when others come in
 * between; with some nodes in use all the time as well. When the rounds become small it goes. */
static void test_rounds(void **state)
{
    enum { MOST = 20000, ROUNDS = 200 };
    static void *nodes[MOST];
    static const size_t sizes[] = {512, 1024, 4096, MOST};

    (void) state;
    for (size_t s = 0; s < 2 * sizeof(sizes) / sizeof(sizes[0]); ++s) {
        size_t n = sizes[s / 2], num_held = (0 == s % 2) ? 0 : n / 4, before, most, requests = 0;
        fixture_t f;
        llamatch_pool_class_t *c, *other;
        void *held[MOST / 4];

        begin(&f);
        c = class_of(&f, 192, 64);
        other = class_of(&f, 2624, 576);
        for (size_t i = 0; i < num_held; ++i) {
            held[i] = get(other);
        }
        before = f.alloc.requests;
        for (int round = 0; round < ROUNDS; ++round) {
            if (ROUNDS / 2 == round) {
                requests = f.alloc.requests;
                /* with nodes in use, a round is seen only after several */
                assert_true(1 == s % 2
                            || requests
                                   <= before + 8 + 2 * (n * 192 / (LLAMATCH_POOL_BLOCK - 256)));
            }
            one_round(c, nodes, n);
            one_round(other, nodes, 3);
            assert_int_equal(0, llamatch_pool_verify(f.pool));
        }
        assert_int_equal(requests, f.alloc.requests);
        most = llamatch_pool_bytes(f.pool);
        assert_true(most >= n * 192);
        for (size_t i = 0; i < num_held; ++i) {
            llamatch_pool_put(other, held[i]);
        }
        /* Some rounds later. Each has one MiB that comes back. */
        for (size_t i = 0; i < (LLAMATCH_POOL_ROUNDS + 2) * (LLAMATCH_POOL_ROUND / 192 + most);
             ++i) {
            llamatch_pool_put(c, get(c));
            if (llamatch_pool_bytes(f.pool) <= LLAMATCH_POOL_FLOOR
                && i > LLAMATCH_POOL_ROUND / 192) {
                break;
            }
        }
        assert_true(llamatch_pool_bytes(f.pool) <= LLAMATCH_POOL_FLOOR);
        end(&f);
    }
}

/* Another size of nodes takes over what one has left. */
static void test_classes_share(void **state)
{
    static void *nodes[3 * LLAMATCH_POOL_BLOCK / LLAMATCH_LINE];
    fixture_t f;

    (void) state;
    begin(&f);
    one_round(class_of(&f, 192, 64), nodes, 1024);
    for (size_t bytes = 64; bytes <= 4096; bytes *= 2) {
        size_t requests = f.alloc.requests;

        one_round(class_of(&f, bytes, 64), nodes, 3 * LLAMATCH_POOL_BLOCK / bytes - 10);
        assert_int_equal(requests, f.alloc.requests);
        assert_int_equal(0, llamatch_pool_verify(f.pool));
    }
    end(&f);
}

#if defined(__linux__)
/* Mappings of this process, as the system counts them. */
static size_t num_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    size_t lines = 0;
    int c;

    assert_non_null(maps);
    while (EOF != (c = fgetc(maps))) {
        lines += '\n' == c;
    }
    (void) fclose(maps);
    return lines;
}

static bool is_mapped(char *address)
{
    unsigned char resident;

    address -= (uintptr_t) address % (uintptr_t) sysconf(_SC_PAGESIZE);
    return 0 == mincore(address, 1, &resident);
}

/* Many blocks are few mappings, nothing is mapped between them, and all go back. */
static void test_mappings(void **state)
{
    enum { BLOCKS = 1000 };
    static char *nodes[BLOCKS];
    size_t before = num_mappings(), beside = 0;
    llamatch_pool_t *pool;
    llamatch_pool_class_t *c, *table;

    (void) state;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &pool));
    c = llamatch_pool_class(pool, LLAMATCH_POOL_BLOCK / 2 + 1, 64);
    table = llamatch_pool_class(pool, 300000, 64);
    for (int i = 0; i < BLOCKS; ++i) {
        nodes[i] = get((0 == i % 100) ? table : c);
        if (0 < i) {
            size_t distance = (nodes[i] < nodes[i - 1]) ? (size_t) (nodes[i - 1] - nodes[i])
                                                        : (size_t) (nodes[i] - nodes[i - 1]);

            beside += LLAMATCH_POOL_BLOCK == distance;
        }
    }
    assert_true(beside >= BLOCKS * 9 / 10);
    assert_in_range(num_mappings(), 0, before + BLOCKS / 10); /* a sanitizer has its own */
    llamatch_pool_destroy(pool);
    for (int i = 0; i < BLOCKS; ++i) {
        assert_false(is_mapped(nodes[i]));
    }
}
#endif

/* Without threads no mutex is taken: its state does not matter. */
static void test_without_threads(void **state)
{
    static void *nodes[100];
    bool threads = false;
    fixture_t f;

    (void) state;
    begin(&f);
    llamatch_pool_set_threads(f.pool, &threads);
    one_round(class_of(&f, 192, 64), nodes, 100);
    threads = true;
    one_round(class_of(&f, 192, 64), nodes, 100);
    llamatch_pool_pin(f.pool);
    llamatch_pool_unpin(f.pool);
    end(&f);
}

/* Nodes come from the fullest block with room, so that the emptiest ones can drain. */
static void test_fullest_first(void **state)
{
    fixture_t f;
    llamatch_pool_class_t *c;
    uint32_t capacity;
    char **nodes;

    (void) state;
    begin(&f);
    c = class_of(&f, 384, 128);
    capacity = c->capacity;
    nodes = malloc(3 * capacity * sizeof(*nodes));
    assert_non_null(nodes);
    for (uint32_t i = 0; i < 3 * capacity; ++i) {
        nodes[i] = get(c);
    }
    assert_int_equal(3, f.alloc.in_use - 1);
    for (uint32_t i = 0; i < capacity - 1; ++i) { /* one left of the first block */
        llamatch_pool_put(c, nodes[i]);
    }
    for (uint32_t i = capacity; i < capacity + capacity / 2; ++i) { /* half of the second one */
        llamatch_pool_put(c, nodes[i]);
    }
    for (uint32_t i = 0; i < capacity / 2; ++i) { /* it is filled again, lowest node first */
        assert_ptr_equal(nodes[capacity + i], get(c));
    }
    assert_ptr_equal(nodes[0], get(c));
    free(nodes);
    end(&f);
}

/* What is given back and taken again is not in use in between, and leaves its block to others. */
static void test_again_and_again(void **state)
{
    llamatch_pool_class_t *c, *other;
    size_t requests;
    fixture_t f;
    void *node;

    (void) state;
    begin(&f);
    c = class_of(&f, 192, 64);
    other = class_of(&f, 384, 64);
    node = get(c);
    requests = f.alloc.requests;
    for (size_t i = 0; i < 3 * LLAMATCH_POOL_ROUND / 192; ++i) {
        assert_int_equal(192, llamatch_pool_used_bytes(f.pool));
        llamatch_pool_put(c, node);
        assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
        if (0 == i % 1000) {
            assert_int_equal(0, llamatch_pool_verify(f.pool));
            llamatch_pool_put(other, get(other)); /* the same block */
            assert_int_equal(0, llamatch_pool_verify(f.pool));
        }
        assert_ptr_equal(node, get(c));
    }
    assert_int_equal(requests, f.alloc.requests);
    llamatch_pool_put(c, node);
    end(&f);
}

static void test_pin(void **state)
{
    enum { N = 1000 };
    fixture_t f;
    llamatch_pool_class_t *c;
    void *nodes[N];
    size_t peak;

    (void) state;
    begin(&f);
    c = class_of(&f, 1000, 100);
    llamatch_pool_pin(f.pool);
    llamatch_pool_pin(f.pool);
    for (size_t i = 0; i < N; ++i) {
        nodes[i] = get(c);
    }
    peak = llamatch_pool_bytes(f.pool);
    for (size_t i = 0; i < N; ++i) {
        llamatch_pool_put(c, nodes[i]);
    }
    assert_int_equal(peak, llamatch_pool_bytes(f.pool));
    assert_int_equal(0, llamatch_pool_verify(f.pool));
    llamatch_pool_unpin(f.pool);
    assert_int_equal(peak, llamatch_pool_bytes(f.pool));
    llamatch_pool_unpin(f.pool);
    assert_int_equal(LLAMATCH_POOL_FLOOR, llamatch_pool_bytes(f.pool));
    end(&f);
}

static size_t heated(const llamatch_pool_t *pool, size_t max_bytes)
{
    return llamatch_pool_heat(pool, max_bytes, LLAMATCH_HEAT_LOAD, NULL);
}

static void test_touch_counts(void **state)
{
    fixture_t f;
    llamatch_pool_class_t *small, *large, *cold;
    atomic_bool stop = true;
    void *node[3], *big;

    (void) state;
    begin(&f);
    small = class_of(&f, 384, 100); /* two lines */
    large = class_of(&f, 1 << 20, 1 << 18);
    cold = class_of(&f, 256, 0);
    llamatch_pool_pin(f.pool);
    assert_int_equal(0, heated(f.pool, SIZE_MAX));
    for (int i = 0; i < 3; ++i) {
        node[i] = get(small);
        (void) get(cold);
    }
    assert_int_equal(3 * 128, heated(f.pool, SIZE_MAX));
    big = get(large);
    assert_int_equal(3 * 128 + (1 << 18), heated(f.pool, SIZE_MAX));
    assert_int_equal(3 * 128 + (1 << 18),
                     llamatch_pool_heat(f.pool, SIZE_MAX, LLAMATCH_HEAT_LOAD_DEMOTE, NULL));
    assert_int_equal(1000, heated(f.pool, 1000));
    assert_int_equal(0, heated(f.pool, 0));
    assert_int_equal(0, llamatch_pool_heat(f.pool, SIZE_MAX, LLAMATCH_HEAT_LOAD, &stop));
    llamatch_pool_put(large, big);
    llamatch_pool_put(small, node[1]);
    assert_int_equal(2 * 128, heated(f.pool, SIZE_MAX));
    llamatch_pool_unpin(f.pool);
    end(&f);
}

/* After a burst most blocks are empty, and a pass ends in spite of them. */
static void test_touches_few_empty_blocks(void **state)
{
    enum { BLOCKS = 100, FEW = 10 * LLAMATCH_LINE };
    size_t found[2];

    (void) state;
    for (int last = 0; last < 2; ++last) {
        llamatch_pool_class_t *c;
        void *node[BLOCKS];
        fixture_t f;

        begin(&f);
        c = class_of(&f, 1 << 15, 1 << 10); /* one or two in a block */
        llamatch_pool_pin(f.pool);
        for (int i = 0; i < BLOCKS; ++i) {
            node[i] = get(c);
        }
        for (int i = 0; i < BLOCKS; ++i) {
            if (i != (last ? BLOCKS - 1 : 0)) {
                llamatch_pool_put(c, node[i]);
            }
        }
        found[last] = heated(f.pool, FEW);
        assert_int_equal(1 << 10, heated(f.pool, SIZE_MAX));
        llamatch_pool_unpin(f.pool);
        end(&f);
    }
    assert_true((FEW == found[0] && 0 == found[1]) || (0 == found[0] && FEW == found[1]));
}

static void test_no_memory(void **state)
{
    fixture_t f;
    llamatch_allocator_t allocator = test_alloc_make(&f.alloc);
    llamatch_pool_class_t *c;
    size_t got = 0, failed = 0;

    (void) state;
    f.alloc.fail_at = 1;
    f.pool = NULL;
    assert_int_equal(LLAMATCH_ERR_NO_MEMORY, llamatch_pool_create(&allocator, &f.pool));
    assert_null(f.pool);
    begin(&f);
    c = class_of(&f, 20000, 64); /* three in a block */
    for (size_t n = 0; n < 100; ++n) {
        f.alloc.fail_at = (n % 2) ? f.alloc.requests + 1 : 0;
        if (NULL == llamatch_pool_get(c)) {
            ++failed;
        } else {
            ++got;
        }
        assert_int_equal(0, llamatch_pool_verify(f.pool));
        assert_int_equal(got * 20032, llamatch_pool_used_bytes(f.pool));
    }
    assert_true(0 < failed);
    assert_true(50 <= got);
    end(&f); /* also what is still in use goes back */
}

/* --- random operations ---------------------------------------------------------------------- */

typedef struct {
    llamatch_pool_class_t *class;
    size_t bytes;
    char *node;
    uint64_t stamp;
} held_t;

/* First and last word of a node say whose it is: two owners of one place would be seen. */
static void stamp(held_t *held, uint64_t value)
{
    held->stamp = value;
    memcpy(held->node, &value, sizeof(value));
    memcpy(held->node + held->bytes - sizeof(value), &value, sizeof(value));
}

static int is_intact(const held_t *held)
{
    uint64_t first, last;

    memcpy(&first, held->node, sizeof(first));
    memcpy(&last, held->node + held->bytes - sizeof(last), sizeof(last));
    return first == held->stamp && last == held->stamp;
}

/* @return number of nodes that somebody else wrote to; used[] counts what is held at the end */
static size_t churn(llamatch_pool_t *pool, uint64_t seed, size_t operations, size_t *held_bytes,
                    bool verify)
{
    enum { MOST = 3000 };
    static const size_t sizes[] = {64, 192, 384, 1024, 8192, 65536, 200000};
    const uint32_t num_sizes = sizeof(sizes) / sizeof(sizes[0]);
    held_t *held = calloc(MOST, sizeof(*held));
    uint64_t random = seed;
    size_t n = 0, wrong = 0, bytes = 0, limit = MOST;

    if (NULL == held) {
        return 1;
    }
    for (size_t op = 0; op < operations; ++op) {
        if (0 == op % 5000) {
            limit = test_random(&random, MOST) + 1; /* phases of growth and of draining */
        }
        if (n < limit && (0 == n || 0 != test_random(&random, 3))) {
            /* small ones are far more common */
            uint32_t s = test_random(&random, num_sizes * 40);

            s = (s < num_sizes) ? s : s % 4;
            held[n].class = llamatch_pool_class(pool, sizes[s], 64);
            held[n].bytes = sizes[s];
            held[n].node = llamatch_pool_get(held[n].class);
            if (NULL == held[n].node) {
                ++wrong;
                continue;
            }
            stamp(&held[n], seed * 1000003 + op);
            bytes += sizes[s];
            ++n;
        } else if (0 < n) {
            size_t i = test_random(&random, (uint32_t) n);

            wrong += !is_intact(&held[i]);
            llamatch_pool_put(held[i].class, held[i].node);
            bytes -= held[i].bytes;
            held[i] = held[--n];
        }
        if (verify && 0 == op % 97) {
            wrong += 0 != llamatch_pool_verify(pool);
            wrong += bytes != llamatch_pool_used_bytes(pool);
        }
    }
    *held_bytes = bytes;
    while (0 < n) {
        --n;
        wrong += !is_intact(&held[n]);
        llamatch_pool_put(held[n].class, held[n].node);
    }
    free(held);
    return wrong;
}

static void test_random_operations(void **state)
{
    uint64_t seed = test_seed(7);
    fixture_t f;
    size_t bytes;

    (void) state;
    print_message("LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    begin(&f);
    assert_int_equal(0, churn(f.pool, seed, 100000, &bytes, true));
    assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
    end(&f);
}

typedef struct {
    llamatch_pool_t *pool;
    atomic_bool *stop;
    uint64_t seed;
    size_t wrong;
    size_t bytes;
} worker_t;

static void *work(void *argument)
{
    worker_t *worker = argument;

    worker->wrong = churn(worker->pool, worker->seed, 60000, &worker->bytes, false);
    return NULL;
}

static void *heat(void *argument)
{
    worker_t *worker = argument;

    do { /* on a busy machine the others may have ended before this begins */
        worker->bytes += heated(worker->pool, (size_t) 1 << 20);
    } while (!atomic_load(worker->stop));
    return NULL;
}

/* Owners of nodes in several threads, and one that heats; the sanitizers look on. */
static void test_threads(void **state)
{
    enum { WORKERS = 3 };
    worker_t workers[WORKERS + 1];
    pthread_t threads[WORKERS + 1];
    llamatch_pool_t *pool;
    llamatch_pool_class_t *kept_class;
    atomic_bool stop = false;
    void *kept;

    (void) state;
    for (int pinned = 0; pinned < 2; ++pinned) {
        assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &pool));
        kept_class = llamatch_pool_class(pool, 64, 64);
        kept = get(kept_class); /* so that there is something to heat at any time */
        atomic_store(&stop, false);
        for (int i = 0; i <= WORKERS; ++i) {
            workers[i] = (worker_t){pool, &stop, test_seed(3) + (uint64_t) i, 0, 0};
        }
        if (pinned) {
            llamatch_pool_pin(pool);
            assert_int_equal(0, pthread_create(&threads[WORKERS], NULL, heat, &workers[WORKERS]));
        }
        for (int i = 0; i < WORKERS; ++i) {
            assert_int_equal(0, pthread_create(&threads[i], NULL, work, &workers[i]));
        }
        for (int i = 0; i < WORKERS; ++i) {
            assert_int_equal(0, pthread_join(threads[i], NULL));
            assert_int_equal(0, workers[i].wrong);
        }
        if (pinned) {
            atomic_store(&stop, true);
            assert_int_equal(0, pthread_join(threads[WORKERS], NULL));
            assert_true(0 < workers[WORKERS].bytes);
            llamatch_pool_unpin(pool);
        }
        llamatch_pool_put(kept_class, kept);
        assert_int_equal(0, llamatch_pool_used_bytes(pool));
        while (LLAMATCH_POOL_FLOOR < llamatch_pool_bytes(pool)) { /* it goes after some rounds */
            llamatch_pool_put(kept_class, get(kept_class));
        }
        assert_int_equal(0, llamatch_pool_verify(pool));
        llamatch_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_classes_share),
#if defined(__linux__)
        cmocka_unit_test(test_mappings),
#endif
        cmocka_unit_test(test_without_threads),
        cmocka_unit_test(test_fullest_first),
        cmocka_unit_test(test_again_and_again),
        cmocka_unit_test(test_pin),
        cmocka_unit_test(test_touch_counts),
        cmocka_unit_test(test_touches_few_empty_blocks),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_random_operations),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests_name("llamatch_pool", tests, NULL, NULL);
}
