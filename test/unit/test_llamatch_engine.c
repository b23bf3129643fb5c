/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_engine: MPI's matching order (M1), ANY_TAG (M2), probes, cancel, revoke's walk,
 * fairness, kinds, statistics, memory, failure of the allocator, and 10^7 random operations
 * against the naive model (LLAMATCH_OPERATIONS sets another number). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_engine.h"
#include "llamatch_model.h"
#include "llamatch_simd.h"
#include "llamatch_test_alloc.h"

#include <stdio.h>
#include <string.h>

#define ANY LLAMATCH_ANY_SOURCE

/* Receives and messages. The engine tells where each receive is. */
typedef struct {
    uint64_t place;
} thing_t;

static thing_t things[1 << 20];
static size_t num_moved; /* entries that went to another array */

#define ITEM(i) ((void *) &things[i])

static int32_t tag_of(const llamatch_engine_t *engine, const llamatch_hold_t *hold)
{
    return llamatch_node_tags(&engine->unexpected_shape, hold->pos.node)[hold->pos.index];
}

static void thing_moved(void *item, uint64_t place)
{
    ((thing_t *) item)->place = place;
    ++num_moved;
}

static int item_of(const void *thing)
{
    return (int) ((const thing_t *) thing - things);
}

#define NUM_PEERS 64

typedef struct {
    test_alloc_t alloc;
    llamatch_allocator_t allocator;
    llamatch_pool_t *pool;
    llamatch_engine_t engine;
    llamatch_peer_t peers[NUM_PEERS];
} fixture_t;

static void begin(fixture_t *f, uint32_t entries, llamatch_kind_t kind, uint32_t index_above)
{
    llamatch_config_t config = llamatch_config_default;

    f->allocator = test_alloc_make(&f->alloc);
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(&f->allocator, &f->pool));
    config.pool = f->pool;
    config.entries = entries;
    config.kind = kind;
    config.moved = thing_moved;
    config.index_above = index_above;
    assert_int_equal(LLAMATCH_OK, llamatch_engine_init(&f->engine, &config));
    for (int s = 0; s < NUM_PEERS; ++s) {
        llamatch_peer_init(&f->peers[s]);
    }
}

static void end(fixture_t *f)
{
    size_t moved;

    assert_int_equal(0, llamatch_engine_verify(&f->engine));
    moved = num_moved;
    llamatch_engine_fini(&f->engine);
    assert_int_equal(moved, num_moved); /* the items may be gone before the engine */
    assert_int_equal(0, llamatch_pool_used_bytes(f->pool));
    assert_int_equal(0, llamatch_pool_verify(f->pool));
    llamatch_pool_destroy(f->pool);
    assert_int_equal(0, f->alloc.in_use);
    assert_false(f->alloc.wrong_sizes);
}

static llamatch_peer_t *peer_of(fixture_t *f, int32_t source)
{
    return (ANY == source) ? NULL : &f->peers[source];
}

static void post(fixture_t *f, int32_t source, int32_t tag, int item)
{
    assert_int_equal(LLAMATCH_OK, llamatch_engine_post(&f->engine, peer_of(f, source), tag,
                                                       ITEM(item), &things[item].place));
}

static void *match(fixture_t *f, int32_t source, int32_t tag)
{
    return llamatch_engine_match(&f->engine, peer_of(f, source), tag);
}

static int cancel(fixture_t *f, int32_t source, int item)
{
    return llamatch_engine_cancel(&f->engine, peer_of(f, source), ITEM(item), things[item].place);
}

static void arrive(fixture_t *f, int32_t source, int32_t tag, int item)
{
    assert_int_equal(LLAMATCH_OK,
                     llamatch_engine_arrive(&f->engine, peer_of(f, source), tag, ITEM(item)));
}

static void *search(fixture_t *f, int32_t source, int32_t tag, llamatch_hold_t *hold)
{
    return llamatch_engine_search(&f->engine, peer_of(f, source), tag, hold);
}

static void *receive(fixture_t *f, int32_t source, int32_t tag)
{
    llamatch_message_t message = llamatch_engine_receive(&f->engine, peer_of(f, source), tag);

    assert_true(NULL == message.item || ANY == source || peer_of(f, source) == message.peer);
    return message.item;
}

static void test_create(void **state)
{
    llamatch_config_t config = llamatch_config_default;
    llamatch_engine_t engine;

    (void) state;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &config.pool));
    config.entries = 3;
    assert_int_equal(LLAMATCH_ERR_ARGUMENT, llamatch_engine_init(&engine, &config));
    config.entries = 4;
    assert_int_equal(LLAMATCH_OK, llamatch_engine_init(&engine, &config));
    assert_int_equal(0, llamatch_engine_verify(&engine));
    llamatch_engine_fini(&engine);
    llamatch_pool_destroy(config.pool);
}

/* The order tests below hold for each kind. */
#define EACH_KIND(kind) \
    for (llamatch_kind_t kind = LLAMATCH_AUTO; kind < LLAMATCH_NUM_KINDS; ++kind)

/* M1: the first posted of all matching receives, wild and specific mixed. */
static void test_post_order(void **state)
{
    fixture_t f;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 2, kind, 64);
        post(&f, 3, 7, 0);
        post(&f, ANY, 7, 1);
        post(&f, 3, LLAMATCH_ANY_TAG, 2);
        post(&f, ANY, LLAMATCH_ANY_TAG, 3);
        post(&f, 4, 7, 4);
        assert_ptr_equal(ITEM(1), match(&f, 4, 7));
        assert_ptr_equal(ITEM(0), match(&f, 3, 7));
        assert_ptr_equal(ITEM(3), match(&f, 4, 7));
        assert_ptr_equal(ITEM(2), match(&f, 3, 9));
        assert_null(match(&f, 3, 7));
        assert_null(match(&f, 9, 7));
        assert_ptr_equal(ITEM(4), match(&f, 4, 7));
        assert_null(match(&f, 4, 7));
        end(&f);
    }
}

/* The merge must look at the other queue exactly as far as the candidate. */
static void test_merge_depths(void **state)
{
    (void) state;
    EACH_KIND(kind)
    {
        for (int wild_at = 0; wild_at <= 40; wild_at += 5) {
            for (int specific_at = 0; specific_at <= 40; specific_at += 4) {
                fixture_t f;
                void *wild = ITEM(100 + wild_at), *specific = ITEM(200 + specific_at);
                bool wild_first = wild_at <= specific_at;

                begin(&f, 4, kind, 8);
                for (int i = 0; i <= 40; ++i) {
                    post(&f, ANY, i == wild_at ? 1 : 1000 + i, 100 + i);
                    post(&f, 2, i == specific_at ? 1 : 2000 + i, 200 + i);
                }
                assert_ptr_equal(wild_first ? wild : specific, match(&f, 2, 1));
                assert_ptr_equal(wild_first ? specific : wild, match(&f, 2, 1));
                assert_null(match(&f, 2, 1));
                end(&f);
            }
        }
    }
}

/* Runs of wild and specific receives of all lengths up to two arrays, so that their borders are in
 * all places: all receives match, and go in the order they were posted. */
static void test_merge_borders(void **state)
{
    (void) state;
    EACH_KIND(kind)
    {
        for (int wild_run = 1; wild_run <= 9; ++wild_run) {
            for (int specific_run = 1; specific_run <= 9; ++specific_run) {
                fixture_t f;

                begin(&f, 4, kind, 8);
                for (int i = 0; i < 60; ++i) {
                    post(&f, i % (wild_run + specific_run) < wild_run ? ANY : 2,
                         i % 3 ? 1 : LLAMATCH_ANY_TAG, i);
                }
                for (int i = 0; i < 60; ++i) {
                    assert_ptr_equal(ITEM(i), match(&f, 2, 1));
                }
                end(&f);
            }
        }
    }
}

/* M2: ANY_TAG never takes the library's own tags, in both directions. */
static void test_any_tag(void **state)
{
    fixture_t f;
    llamatch_hold_t hold;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 4, kind, 64);
        post(&f, 0, LLAMATCH_ANY_TAG, 0);
        post(&f, ANY, LLAMATCH_ANY_TAG, 1);
        assert_null(match(&f, 0, -16));
        assert_null(match(&f, 0, INT32_MIN));
        post(&f, 0, -16, 2);
        assert_ptr_equal(ITEM(2), match(&f, 0, -16));
        assert_ptr_equal(ITEM(0), match(&f, 0, 0));
        assert_ptr_equal(ITEM(1), match(&f, 0, INT32_MAX));

        arrive(&f, 0, -16, 3);
        assert_int_equal(LLAMATCH_ERR_ARGUMENT,
                         llamatch_engine_arrive(&f.engine, &f.peers[0], LLAMATCH_ANY_TAG, ITEM(9)));
        assert_null(search(&f, 0, LLAMATCH_ANY_TAG, &hold));
        assert_null(search(&f, ANY, LLAMATCH_ANY_TAG, &hold));
        arrive(&f, 0, 5, 4);
        assert_ptr_equal(ITEM(4), receive(&f, ANY, LLAMATCH_ANY_TAG));
        assert_ptr_equal(ITEM(3), receive(&f, ANY, -16));
        end(&f);
    }
}

/* M1 for messages; a probe finds again what it found. */
static void test_message_order(void **state)
{
    fixture_t f;
    llamatch_hold_t hold;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 2, kind, 64);
        for (int i = 0; i < 12; ++i) {
            arrive(&f, i % 2, i / 4, i);
        }
        for (int again = 0; again < 3; ++again) {
            assert_ptr_equal(ITEM(5), search(&f, 1, 1, &hold));
            assert_ptr_equal(&f.peers[1], hold.peer);
            assert_int_equal(1, tag_of(&f.engine, &hold));
        }
        llamatch_engine_take(&f.engine, &hold);
        assert_ptr_equal(ITEM(7), receive(&f, 1, 1));
        assert_null(receive(&f, 1, 1));
        assert_ptr_equal(ITEM(1), receive(&f, 1, LLAMATCH_ANY_TAG));
        assert_ptr_equal(ITEM(3), receive(&f, 1, LLAMATCH_ANY_TAG));
        assert_ptr_equal(ITEM(9), receive(&f, 1, LLAMATCH_ANY_TAG));
        assert_null(receive(&f, 7, LLAMATCH_ANY_TAG));
        assert_int_equal(6, f.peers[0].unexpected.count);
        assert_int_equal(1, f.peers[1].unexpected.count);
        end(&f);
    }
}

/* Between two messages of one peer, an any-source receiver serves every other peer. */
static void test_any_source_is_fair(void **state)
{
    fixture_t f;
    int last[5] = {-1, -1, -1, -1, -1};

    (void) state;
    begin(&f, 4, LLAMATCH_AUTO, 64);
    for (int i = 0; i < 50; ++i) {
        arrive(&f, i / 10, 1, i);
    }
    for (int n = 0; n < 50; ++n) {
        int item = item_of(receive(&f, ANY, 1));
        int source = item / 10;

        assert_true(item % 10 == n / 5); /* each peer's own order */
        assert_true(-1 == last[source] || n - last[source] == 5);
        last[source] = n;
    }
    assert_null(receive(&f, ANY, 1));
    end(&f);
}

/* Also when receives for another tag are served in between: peers 0 and 3 have tag 2, peer 2 has
 * tag 1. */
static void test_any_source_is_fair_between_tags(void **state)
{
    fixture_t f;
    int served[4] = {0, 0, 0, 0};

    (void) state;
    begin(&f, 4, LLAMATCH_AUTO, 64);
    for (int i = 0; i < 40; ++i) {
        arrive(&f, i % 4, (int32_t[]){2, 3, 1, 2}[i % 4], i);
    }
    for (int n = 0; n < 10; ++n) {
        assert_int_equal(2, item_of(receive(&f, ANY, 1)) % 4);
        ++served[item_of(receive(&f, ANY, 2)) % 4];
    }
    assert_int_equal(5, served[0]);
    assert_int_equal(5, served[3]);
    end(&f);
}

static void test_cancel(void **state)
{
    fixture_t f;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 4, kind, 8);
        for (int i = 0; i < 30; ++i) {
            post(&f, (i % 3 == 0) ? ANY : i % 3, 1, i);
        }
        assert_int_equal(LLAMATCH_OK, cancel(&f, 1, 4));
        assert_int_equal(LLAMATCH_OK, cancel(&f, ANY, 0));
        /* Not there: in an array that is. */
        things[4].place = (uintptr_t) f.peers[1].posted.queue.head;
        assert_int_equal(LLAMATCH_NOT_FOUND, cancel(&f, 1, 4));
        assert_int_equal(9, f.engine.wild.count);
        assert_int_equal(9, f.peers[1].posted.count);
        assert_int_equal(10, f.peers[2].posted.count);
        assert_int_equal(28, f.engine.num_posted);
        assert_ptr_equal(ITEM(1), match(&f, 1, 1));
        assert_ptr_equal(ITEM(3), match(&f, 1, 1));
        assert_ptr_equal(ITEM(6), match(&f, 1, 1));
        assert_ptr_equal(ITEM(7), match(&f, 1, 1));
        /* All of them, the middle first: arrays are merged meanwhile. */
        for (int i = 15; i < 30; ++i) {
            assert_int_equal(LLAMATCH_OK, cancel(&f, (i % 3 == 0) ? ANY : i % 3, i));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
        for (int i = 8; i < 15; ++i) {
            assert_int_equal(LLAMATCH_OK, cancel(&f, (i % 3 == 0) ? ANY : i % 3, i));
        }
        assert_ptr_equal(ITEM(2), match(&f, 2, 1));
        assert_ptr_equal(ITEM(5), match(&f, 2, 1));
        assert_null(match(&f, 2, 1));
        assert_int_equal(0, f.engine.num_posted);
        end(&f);
    }
}

/* Cancelled entries of an index are only marked; the end of the engine takes them along. */
static void test_end_with_cancelled(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 8, LLAMATCH_HASH, 8);
    for (int i = 0; i < 100; ++i) {
        post(&f, 0, i, i);
    }
    for (int i = 0; i < 100; i += 2) {
        assert_int_equal(LLAMATCH_OK, cancel(&f, 0, i));
    }
    assert_int_equal(50, llamatch_index_marked(f.peers[0].posted.queue.index));
    end(&f);
}

static bool user_tags(void *context, int32_t tag, void *item)
{
    (void) item;
    ++*(int *) context;
    return 0 <= tag;
}

/* What a revoke does: user messages go, the library's stay. */
static void test_walk(void **state)
{
    fixture_t f;
    int visited;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 4, kind, 8);
        for (int i = 0; i < 40; ++i) {
            arrive(&f, i % 4, (i < 36 || i % 4) ? i : -i, i);
            post(&f, i % 5 - 1, i % 2 ? i : -i - 2, i);
        }
        visited = 0;
        assert_int_equal(39, llamatch_engine_walk_unexpected(&f.engine, user_tags, &visited));
        assert_int_equal(40, visited);
        assert_int_equal(1, f.engine.num_unexpected);
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        assert_ptr_equal(ITEM(36), receive(&f, ANY, -36));
        visited = 0;
        assert_int_equal(20, llamatch_engine_walk_posted(&f.engine, user_tags, &visited));
        assert_int_equal(40, visited);
        assert_int_equal(20, f.engine.num_posted);
        end(&f);
    }
}

/* The Nth allocation fails, for every N: an error is returned or an index is not made; nothing is
 * lost or leaked. */
static void test_no_memory(void **state)
{
    bool failed = true;

    (void) state;
    for (size_t n = 1; failed; ++n) {
        fixture_t f;
        llamatch_config_t config = llamatch_config_default;
        size_t posted = 0, arrived = 0;

        f.allocator = test_alloc_make(&f.alloc);
        f.alloc.fail_at = n;
        if (LLAMATCH_OK != llamatch_pool_create(&f.allocator, &f.pool)) {
            assert_int_equal(0, f.alloc.in_use);
            continue;
        }
        config.pool = f.pool;
        config.entries = 2;
        config.kind = LLAMATCH_HASH;
        config.moved = thing_moved;
        if (LLAMATCH_OK != llamatch_engine_init(&f.engine, &config)) {
            llamatch_pool_destroy(f.pool);
            assert_int_equal(0, f.alloc.in_use);
            continue;
        }
        for (int s = 0; s < NUM_PEERS; ++s) {
            llamatch_peer_init(&f.peers[s]);
        }
        for (int i = 0; i < 6000; ++i) {
            int status = llamatch_engine_post(&f.engine, peer_of(&f, i * 7 % 40 - 1), i, ITEM(i),
                                              &things[i].place);

            if (LLAMATCH_OK != status) {
                assert_int_equal(LLAMATCH_ERR_NO_MEMORY, status);
                things[i].place = 0;
            }
            posted += (LLAMATCH_OK == status);
            status = llamatch_engine_arrive(&f.engine, peer_of(&f, i * 5 % 40), i, ITEM(i));
            if (LLAMATCH_OK != status) {
                assert_int_equal(LLAMATCH_ERR_NO_MEMORY, status);
            }
            arrived += (LLAMATCH_OK == status);
            assert_int_equal(posted, f.engine.num_posted);
            assert_int_equal(arrived, f.engine.num_unexpected);
            if (0 == i % 1000 || 0 != status) {
                assert_int_equal(0, llamatch_engine_verify(&f.engine));
            }
        }
        for (int i = 0; i < 6000; ++i) {
            if (0 != things[i].place && 0 == i % 3) {
                assert_int_equal(LLAMATCH_OK, cancel(&f, i * 7 % 40 - 1, i));
            } else if (0 != things[i].place && 0 != i * 7 % 40) {
                assert_ptr_equal(ITEM(i), match(&f, i * 7 % 40 - 1, i));
            }
        }
        failed = f.alloc.requests >= n;
        end(&f);
    }
}

/* For a while no memory is to be had at all: what is there is matched, and later all goes on. */
static void test_no_memory_for_long(void **state)
{
    enum { POSTS = 6000 };
    static bool there[POSTS];

    (void) state;
    EACH_KIND(kind)
    {
        fixture_t f;
        size_t refused = 0;

        begin(&f, 2, kind, 8);
        for (int i = 0; i < POSTS; ++i) {
            if (POSTS / 3 < i && i < POSTS * 2 / 3) {
                f.alloc.fail_at = f.alloc.requests + 1;
            }
            there[i] = LLAMATCH_OK
                       == llamatch_engine_post(&f.engine, peer_of(&f, i % 4 - 1), i, ITEM(i),
                                               &things[i].place);
            refused += !there[i];
            if (0 == i % 3) { /* the last one of a source that is there, or none */
                int last = i;

                while (0 < last && !(there[last] && last % 4 == i % 4)) {
                    --last;
                }
                if (there[last]) {
                    assert_ptr_equal(ITEM(last), match(&f, (last % 4 + 3) % 4, last));
                    there[last] = false;
                }
            }
            if (0 == i % 100) {
                assert_int_equal(0, llamatch_engine_verify(&f.engine));
            }
        }
        assert_in_range(refused, 20, POSTS / 3);
        for (int i = 0; i < POSTS; ++i) {
            if (there[i]) {
                assert_ptr_equal(ITEM(i), match(&f, (i % 4 + 3) % 4, i));
            }
        }
        assert_int_equal(0, f.engine.num_posted);
        end(&f);
    }
}

/* A long queue that is searched deeply gets an index, a short one or one that is matched in front
 * does not, and it is given up again. */
static void test_index_when_it_pays(void **state)
{
    fixture_t f;
    llamatch_stats_t posted, unexpected;

    (void) state;
    begin(&f, 16, LLAMATCH_AUTO, 64);
    /* In order: never. */
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 2000; ++i) {
            post(&f, 1, i, i);
        }
        for (int i = 0; i < 2000; ++i) {
            assert_ptr_equal(ITEM(i), match(&f, 1, i));
        }
    }
    /* Short: never, whatever the order. */
    for (int round = 0; round < 2000; ++round) {
        for (int i = 0; i < 64; ++i) {
            post(&f, 1, i, i);
        }
        for (int i = 63; i >= 0; --i) {
            assert_ptr_equal(ITEM(i), match(&f, 1, i));
        }
    }
    /* Seldom: one deep search does not pay for an index. */
    for (int i = 0; i < 2000; ++i) {
        post(&f, 1, i, i);
    }
    assert_ptr_equal(ITEM(1999), match(&f, 1, 1999));
    for (int i = 0; i < 1999; ++i) {
        assert_ptr_equal(ITEM(i), match(&f, 1, i));
    }
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_int_equal(0, posted.indexed);
    /* Long, in reverse order: soon, and cheap from then on. */
    for (int i = 0; i < 8192; ++i) {
        post(&f, 1, i, i);
    }
    for (int i = 8191; i >= 0; --i) {
        assert_ptr_equal(ITEM(i), match(&f, 1, i));
        if (i == 8000) {
            assert_int_equal(1, llamatch_engine_num_indexed(&f.engine));
            llamatch_engine_stats(&f.engine, &posted, &unexpected);
        }
    }
    assert_int_equal(1, posted.indexed);
    assert_int_equal(0, posted.dropped);
    assert_int_equal(0, llamatch_engine_num_indexed(&f.engine));
    {
        uint64_t depth_sum = posted.depth_sum;

        llamatch_engine_stats(&f.engine, &posted, &unexpected);
        assert_int_equal(1, posted.dropped);
        assert_true(posted.depth_sum - depth_sum < 8000 * 4);
    }
    end(&f);
}

/* An index on a queue that is then matched in front is given up, and has to be earned again. */
static void test_index_that_is_useless(void **state)
{
    fixture_t f;
    llamatch_stats_t posted, unexpected;
    int head = 0;

    (void) state;
    begin(&f, 16, LLAMATCH_AUTO, 64);
    for (int i = 0; i < 4000; ++i) {
        post(&f, 1, i, i);
    }
    for (int i = 3999; i >= 3900; --i) {
        assert_ptr_equal(ITEM(i), match(&f, 1, i));
    }
    assert_int_equal(1, llamatch_engine_num_indexed(&f.engine));
    for (; head < 1000; ++head) {
        assert_ptr_equal(ITEM(head), match(&f, 1, head));
    }
    assert_int_equal(1, llamatch_engine_num_indexed(&f.engine)); /* it costs by the entry */
    for (; head < 2500; ++head) {
        assert_ptr_equal(ITEM(head), match(&f, 1, head));
    }
    assert_int_equal(0, llamatch_engine_num_indexed(&f.engine));
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_int_equal(1, posted.indexed);
    assert_int_equal(1, posted.dropped);
    for (; head < 3900; ++head) {
        assert_ptr_equal(ITEM(head), match(&f, 1, head));
    }
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_int_equal(1, posted.indexed);
    end(&f);
}

/* Hysteresis: a queue that goes up and down around the depth does not make an index each time. */
static void test_index_hysteresis(void **state)
{
    fixture_t f;
    llamatch_stats_t posted, unexpected;
    int last = 0;

    (void) state;
    begin(&f, 16, LLAMATCH_AUTO, 64);
    for (; last < 200; ++last) {
        post(&f, 1, last, last);
    }
    while (100 < f.peers[1].posted.count) {
        --last;
        assert_ptr_equal(ITEM(last), match(&f, 1, last));
    }
    assert_int_equal(1, llamatch_engine_num_indexed(&f.engine));
    for (int round = 0; round < 100; ++round) {
        while (40 < f.peers[1].posted.count) {
            --last;
            assert_ptr_equal(ITEM(last), match(&f, 1, last));
        }
        while (100 > f.peers[1].posted.count) {
            post(&f, 1, last, last);
            ++last;
        }
    }
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_int_equal(1, posted.indexed);
    assert_int_equal(0, posted.dropped);
    end(&f);
}

/* Between bursts of unexpected messages the arena does not keep what they needed. */
static void test_memory(void **state)
{
    enum { MESSAGES = 1000000 };
    static int rest[MESSAGES];
    static const char *const orders[] = {"front", "back", "random"};
    static const llamatch_kind_t kinds[] = {LLAMATCH_AUTO, LLAMATCH_HASH, LLAMATCH_LLA};

    (void) state;
    for (size_t run = 0; run < 9; ++run) {
        llamatch_kind_t kind = kinds[run % 3];
        const char *order = orders[run / 3];
        uint64_t seed = 7;
        fixture_t f;

        begin(&f, LLAMATCH_ENTRIES_DEFAULT, kind, 64);
        for (int i = 0; i < MESSAGES; ++i) {
            /* Arrays only: few tags, or the search is quadratic. */
            arrive(&f, i % NUM_PEERS, (LLAMATCH_LLA == kind) ? i % 7 : i, i);
            rest[i] = i;
        }
        assert_true(llamatch_pool_bytes(f.pool) >= (size_t) MESSAGES * 20);
        for (int left = MESSAGES; 0 < left; --left) {
            int at = ('f' == order[0])   ? MESSAGES - left
                     : ('b' == order[0]) ? left - 1
                                         : (int) test_random(&seed, (uint32_t) left);
            int i = rest[at];

            if ('r' == order[0]) {
                rest[at] = rest[left - 1];
            }
            if (LLAMATCH_LLA == kind) {
                assert_non_null(receive(&f, i % NUM_PEERS, i % 7));
            } else {
                assert_ptr_equal(ITEM(i), receive(&f, i % NUM_PEERS, i));
            }
            if (0 == left % 50000) {
                assert_int_equal(0, llamatch_pool_verify(f.pool));
            }
        }
        assert_int_equal(0, f.engine.num_unexpected);
        /* An empty hash is still there for each queue: blocks of three sizes of nodes. */
        assert_in_range(llamatch_pool_bytes(f.pool), 0,
                        2 * llamatch_pool_used_bytes(f.pool)
                            + ((LLAMATCH_HASH == kind) ? 3 : 1) * LLAMATCH_POOL_BLOCK);
        assert_in_range(llamatch_pool_bytes(f.pool), 0,
                        ((LLAMATCH_HASH == kind) ? 8 : 4) * LLAMATCH_POOL_BLOCK);
        assert_true(LLAMATCH_HASH == kind || 0 == llamatch_engine_num_indexed(&f.engine));
        end(&f);
    }
}

static void test_verify_sees_damage(void **state)
{
    fixture_t f;

    (void) state;
#define DAMAGED(number) assert_int_equal(number, llamatch_engine_verify(&f.engine))
    begin(&f, 4, LLAMATCH_HASH, 64);
    for (int i = 0; i < 20; ++i) {
        post(&f, i % 3 - 1, i, i);
        arrive(&f, i % 3, 100 + i, i);
    }
    DAMAGED(0);
    --f.engine.num_posted;
    DAMAGED(101);
    ++f.engine.num_posted;
    --f.engine.num_unexpected;
    DAMAGED(102);
    ++f.engine.num_unexpected;
    f.engine.ring->ring_next->ring_prev = NULL;
    DAMAGED(103);
    f.engine.ring->ring_next->ring_prev = f.engine.ring;
    --f.engine.most_posted;
    DAMAGED(104);
    ++f.engine.most_posted;
    --f.engine.most_unexpected;
    DAMAGED(104);
    ++f.engine.most_unexpected;
    --f.engine.next_post;
    DAMAGED(105);
    ++f.engine.next_post;
    --f.engine.next_arrival;
    DAMAGED(105);
    ++f.engine.next_arrival;
    ++f.engine.wild.count; /* a lane's own */
    DAMAGED(21);
    --f.engine.wild.count;
    ++f.engine.wild.queue.count; /* a queue's own */
    DAMAGED(1);
    --f.engine.wild.queue.count;
    ++f.peers[1].unexpected.queue.index->queue_nodes; /* an index's own */
    DAMAGED(205);
    --f.peers[1].unexpected.queue.index->queue_nodes;
    DAMAGED(0);
    f.peers[1].unexpected.cursor = f.peers[1].unexpected.queue.head; /* and an index */
    f.peers[1].unexpected.passed_tag = 1;
    DAMAGED(26);
    f.peers[1].unexpected.cursor = NULL;
    DAMAGED(0);
#undef DAMAGED
    end(&f);
}

/* Few entries are dense, whatever is taken; more are not, until few are left. */
static void test_dense(void **state)
{
    enum { ENTRIES = 32 };
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[0].unexpected;

    (void) state;
    begin(&f, ENTRIES, LLAMATCH_AUTO, 64);
    assert_false(llamatch_lane_is_dense(lane)); /* it has no array yet */
    for (int i = 0; i < ENTRIES; ++i) {
        arrive(&f, 0, i, i);
        assert_true(llamatch_lane_is_dense(lane));
    }
    /* The first, the last, and from either half of what is between. */
    assert_ptr_equal(ITEM(0), receive(&f, 0, 0));
    assert_ptr_equal(ITEM(31), receive(&f, 0, 31));
    assert_ptr_equal(ITEM(5), receive(&f, 0, 5));
    assert_ptr_equal(ITEM(25), receive(&f, 0, 25));
    assert_int_equal(ENTRIES - 4, lane->count);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    /* No room at the end of the array: nothing moves. */
    while (llamatch_lane_is_dense(lane)) {
        arrive(&f, 0, 100, 40);
    }
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    for (int i = 1; i < 31; ++i) {
        if (5 != i && 25 != i) {
            assert_ptr_equal(ITEM(i), receive(&f, 0, i));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
    }
    assert_true(llamatch_lane_is_dense(lane));
    while (0 < lane->count) {
        assert_ptr_equal(ITEM(40), receive(&f, 0, LLAMATCH_ANY_TAG));
    }
    assert_int_equal(0, f.engine.num_unexpected);
    end(&f);
}

/* Few entries for each of many peers are in small arrays; more of them go to a large one. */
static void test_small_arrays(void **state)
{
    enum { PER_PEER = LLAMATCH_SMALL_ENTRIES };
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[3].posted;
    size_t before, moved = num_moved;

    (void) state;
    begin(&f, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < NUM_PEERS * PER_PEER; ++i) {
        post(&f, i % NUM_PEERS, i, i);
    }
    before = llamatch_pool_used_bytes(f.pool);
    assert_in_range(before, 1, NUM_PEERS * 768);
    assert_int_equal(moved, num_moved);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    /* Without memory for a large one nothing changes. */
    f.alloc.fail_at = f.alloc.requests + 1;
    assert_int_equal(LLAMATCH_ERR_NO_MEMORY, llamatch_engine_post(&f.engine, &f.peers[3], 1000,
                                                                  ITEM(1000), &things[1000].place));
    f.alloc.fail_at = 0;
    assert_int_equal(PER_PEER, lane->count);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    post(&f, 3, 1000, 1000);
    assert_true(llamatch_lane_is_dense(lane));
    assert_int_equal(LLAMATCH_DENSE_MAX, lane->room);
    assert_int_equal(moved + PER_PEER, num_moved);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    /* The place of each is known, also of those that have moved. */
    assert_int_equal(LLAMATCH_OK, cancel(&f, 3, 3 + NUM_PEERS));
    assert_ptr_equal(ITEM(3), match(&f, 3, 3));
    assert_ptr_equal(ITEM(1000), match(&f, 3, 1000));
    end(&f);
}

/* A queue that never gets empty stays dense: its entries go back to the array's start. */
static void test_dense_for_ever(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < 1000; ++i) {
        arrive(&f, 0, i, i);
        assert_true(llamatch_lane_is_dense(&f.peers[0].unexpected));
        if (40 <= i) {
            assert_ptr_equal(ITEM(i - 40), receive(&f, 0, i - 40));
        }
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    end(&f);
}

/* Messages of a burst behind others are taken one after the other, and leave a gap in the lane. */
static void test_gap(void **state)
{
    enum { OTHERS = 20, BURST = 64 };
    fixture_t f;
    llamatch_lane_t *lane = &f.peers[0].unexpected;
    llamatch_stats_t posted, unexpected;
    llamatch_hold_t hold;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < OTHERS + BURST; ++i) {
        arrive(&f, 0, (i < OTHERS) ? 10 + i : 1, i);
    }
    for (int i = OTHERS; i < OTHERS + BURST; ++i) {
        assert_ptr_equal(ITEM(i), search(&f, 0, 1, &hold)); /* a probe leaves the gap */
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
        assert_int_equal(OTHERS, lane->front);
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_int_equal(OTHERS + 2 * BURST, unexpected.depth_sum); /* the others once */
    assert_null(receive(&f, 0, 1));
    assert_int_equal(OTHERS, lane->front);
    assert_null(receive(&f, 0, 2));
    assert_int_equal(OTHERS, lane->front); /* all have been passed */
    /* Others are received in between: the gap is closed by moving the shorter part, ... */
    for (int i = 0; i < 3; ++i) {
        arrive(&f, 0, 1, 100 + i);
    }
    assert_ptr_equal(ITEM(100), receive(&f, 0, 1));
    assert_ptr_equal(ITEM(7), receive(&f, 0, 17));
    assert_ptr_equal(ITEM(101), receive(&f, ANY, 1));
    assert_int_equal(OTHERS - 1, lane->front);
    assert_ptr_equal(ITEM(0), receive(&f, 0, LLAMATCH_ANY_TAG));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    /* ... also from the middle of many. */
    for (int i = 0; i < 40; ++i) {
        arrive(&f, 0, 1, 200 + i);
    }
    assert_ptr_equal(ITEM(102), receive(&f, 0, 1));
    assert_ptr_equal(ITEM(200), receive(&f, 0, 1));
    assert_ptr_equal(ITEM(9), receive(&f, 0, 19));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    /* What does not fit any more is no dense lane, with a gap or without. */
    for (int i = 1; i < 40; ++i) {
        assert_ptr_equal(ITEM(200 + i), receive(&f, 0, 1));
    }
    for (int i = 1; i < 12; ++i) {
        arrive(&f, 0, 2, 300 + 2 * i);
        arrive(&f, 0, 3, 301 + 2 * i);
    }
    assert_true(llamatch_lane_is_dense(lane));
    assert_ptr_equal(ITEM(303), receive(&f, 0, 3));
    assert_int_equal(OTHERS - 3 + 1, lane->front);
    while (llamatch_lane_is_dense(lane)) {
        arrive(&f, 0, 1, 400);
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    assert_ptr_equal(ITEM(19), receive(&f, 0, 29));
    assert_ptr_equal(ITEM(302), receive(&f, 0, 2));
    assert_ptr_equal(ITEM(305), receive(&f, 0, 3));
    end(&f);
}

/* Receives for any source and for any tag are found behind, in and before a gap. */
static void test_gap_of_receives(void **state)
{
    fixture_t f;
    llamatch_lane_t *lane = &f.peers[0].posted;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < 6; ++i) {
        post(&f, 0, (i < 3) ? 10 + i : 1, i);
    }
    assert_ptr_equal(ITEM(3), match(&f, 0, 1));
    assert_int_equal(3, lane->front);
    post(&f, ANY, 1, 6);
    post(&f, 0, LLAMATCH_ANY_TAG, 7);
    post(&f, ANY, 10, 8);
    assert_ptr_equal(ITEM(4), match(&f, 0, 1));
    assert_ptr_equal(ITEM(5), match(&f, 0, 1));
    assert_ptr_equal(ITEM(6), match(&f, 0, 1));
    assert_ptr_equal(ITEM(0), match(&f, 0, 10));
    assert_ptr_equal(ITEM(7), match(&f, 0, 10)); /* and has passed two */
    assert_int_equal(2, lane->front);
    post(&f, 0, 10, 9);
    assert_ptr_equal(ITEM(8), match(&f, 0, 10)); /* the wild one is older */
    assert_ptr_equal(ITEM(9), match(&f, 0, 10));
    /* Cancelled in the front, in the rear, and the last one of all. */
    post(&f, 0, 10, 3);
    post(&f, 0, 10, 4);
    post(&f, 0, 13, 5);
    assert_ptr_equal(ITEM(3), match(&f, 0, 10));
    assert_int_equal(2, lane->front);
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 1));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_int_equal(LLAMATCH_NOT_FOUND, cancel(&f, 0, 3)); /* it is in the gap */
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 5));
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 4));
    assert_int_equal(1, lane->front);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 2));
    assert_int_equal(0, f.engine.num_posted);
    end(&f);
}

/* Other kinds, and a queue that may have an index, are not dense; with a change of kind that ends.
 */
static void test_dense_and_kinds(void **state)
{
    fixture_t f;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 32, LLAMATCH_AUTO, 64);
        post(&f, 0, 1, 1);
        post(&f, ANY, 2, 2);
        arrive(&f, 1, 3, 3);
        assert_true(llamatch_lane_is_dense(&f.peers[0].posted));
        llamatch_engine_set_kind(&f.engine, kind);
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        assert_false(llamatch_lane_is_dense(&f.peers[0].posted));
        post(&f, 0, 1, 4);
        assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 1));
        assert_ptr_equal(ITEM(4), match(&f, 0, 1));
        assert_ptr_equal(ITEM(2), match(&f, 0, 2));
        assert_ptr_equal(ITEM(3), receive(&f, ANY, 3));
        post(&f, 0, 1, 5);
        assert_int_equal(LLAMATCH_AUTO == kind, llamatch_lane_is_dense(&f.peers[0].posted));
        assert_ptr_equal(ITEM(5), match(&f, 0, 1));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        end(&f);
    }
    begin(&f, 32, LLAMATCH_AUTO, 0);
    post(&f, 0, 1, 1);
    assert_false(llamatch_lane_is_dense(&f.peers[0].posted));
    end(&f);
    /* An index that has no entries any more is one. */
    begin(&f, 32, LLAMATCH_HASH, 64);
    post(&f, 0, 1, 1);
    assert_ptr_equal(ITEM(1), match(&f, 0, 1));
    llamatch_engine_set_kind(&f.engine, LLAMATCH_AUTO);
    assert_non_null(f.peers[0].posted.queue.index);
    post(&f, 0, 1, 2);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_ptr_equal(ITEM(2), match(&f, 0, 1));
    end(&f);
}

static void test_dense_damage(void **state)
{
    fixture_t f;
    llamatch_lane_t *lane = &f.peers[0].posted;
    llamatch_slot_t *slots;
    llamatch_node_t *node;

    (void) state;
#define DAMAGED(number) assert_int_equal(number, llamatch_engine_verify(&f.engine))
    begin(&f, 32, LLAMATCH_AUTO, 64);
    post(&f, 0, 1, 1);
    post(&f, 0, 1, 2);
    node = lane->queue.head;
    slots = llamatch_node_slots(&f.engine.posted_shape, lane->queue.head);
    DAMAGED(0);
    lane->queue.head->live = 1;
    DAMAGED(4); /* the queue's own */
    lane->queue.head->live = 0;
    lane->count = 3;
    DAMAGED(23);
    lane->count = 2;
    lane->end = 33;
    lane->rear = 31;
    DAMAGED(23);
    lane->end = 2;
    lane->rear = 0;
    lane->gap = 1;
    DAMAGED(23);
    lane->gap = 0;
    --lane->room;
    DAMAGED(23);
    ++lane->room;
    slots[1].seq = slots[0].seq;
    DAMAGED(24);
    slots[1].seq = f.engine.next_post;
    DAMAGED(105);
    slots[1].seq = f.engine.next_post - 1;
    lane->front = 1;
    lane->gap = 1;
    lane->rear = 1;
    lane->passed_tag = 2;
    DAMAGED(0);
    lane->passed_tag = 1;
    DAMAGED(27);
    lane->passed_tag = 2;
    llamatch_lane_tags(lane)[0] = LLAMATCH_ANY_TAG;
    DAMAGED(27);
    lane->passed_tag = -2;
    DAMAGED(0);
    llamatch_lane_tags(lane)[0] = 1;
    lane->count = 1;
    lane->rear = 2; /* without a rear there is no gap */
    DAMAGED(23);
    lane->front = 0;
    lane->rear = 1; /* nor without a front */
    DAMAGED(23);
    lane->gap = 0;
    lane->count = UINT32_MAX;
    lane->rear = 3;
    DAMAGED(23);
    lane->count = 2;
    lane->rear = 0;
    lane->cursor = lane->queue.head;
    DAMAGED(26);
    lane->cursor = NULL;
    DAMAGED(0);
    lane->queue.head = NULL;
    lane->queue.tail = NULL;
    DAMAGED(22);
    lane->queue.head = node;
    lane->queue.tail = node;
    DAMAGED(0);
    llamatch_engine_set_kind(&f.engine, LLAMATCH_LLA);
    lane->rear = 0;
    DAMAGED(21);
    lane->rear = LLAMATCH_NOT_DENSE;
#undef DAMAGED
    end(&f);
}

/* Messages of a burst that wait behind others: the others are passed once. */
static void test_burst(void **state)
{
    fixture_t f;
    llamatch_stats_t posted, unexpected;
    llamatch_lane_t *lane = &f.peers[0].unexpected;

    (void) state;
    begin(&f, 32, LLAMATCH_AUTO, 64);
    for (int i = 0; i < 20; ++i) {
        arrive(&f, 0, 10 + i, i);
    }
    for (int i = 20; i < 84; ++i) {
        arrive(&f, 0, 1, i);
    }
    for (int i = 20; i < 84; ++i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_in_range(unexpected.depth_sum, 64 + 20, 64 + 4 * 20);
    /* What takes places that were passed before is found. */
    for (int i = 20; i < 84; ++i) {
        arrive(&f, 0, 1, i);
    }
    assert_ptr_equal(ITEM(0), receive(&f, 0, LLAMATCH_ANY_TAG));
    assert_ptr_equal(ITEM(20), receive(&f, 0, 1));
    assert_ptr_equal(ITEM(1), receive(&f, 0, 11));
    assert_ptr_equal(ITEM(21), receive(&f, 0, 1));
    assert_non_null(lane->cursor);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    lane->fresh = 0;
    assert_int_equal(26, llamatch_engine_verify(&f.engine));
    lane->fresh = UINT64_MAX;
    lane->cursor_word = 0;
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    lane->cursor = lane->queue.tail;
    assert_int_equal(26, llamatch_engine_verify(&f.engine));
    lane->cursor = NULL;
    end(&f);
}

/* Every number of entries, and every number of them taken from the front, becomes a queue. */
static void test_dense_to_queue(void **state)
{
    (void) state;
    for (int count = 1; count <= LLAMATCH_DENSE_MAX; ++count) {
        for (int taken = 0; taken < count; taken += 1 + taken / 3) {
            for (int others = 0; others < 2; ++others) { /* one that is passed, too */
                fixture_t f;

                begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
                for (int i = 0; i < count; ++i) {
                    arrive(&f, 0, (i < others) ? 2 : 1, i);
                }
                for (int i = others; i < taken; ++i) {
                    assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
                }
                llamatch_engine_set_kind(&f.engine, LLAMATCH_LLA);
                assert_int_equal(0, llamatch_engine_verify(&f.engine));
                for (int i = (taken < others) ? others : taken; i < count; ++i) {
                    assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
                }
                assert_null(receive(&f, 0, 1));
                end(&f);
            }
        }
    }
}

/* A lane that is full and has more than half of its entries is not dense any more, and is again
 * when a quarter of an array is left, not before; its array stays when it is empty. */
static void test_dense_again(void **state)
{
    enum { ENTRIES = 128, FEW = ENTRIES / 4 };
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[0].unexpected;
    int visited = 0;

    (void) state;
    begin(&f, ENTRIES, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < LLAMATCH_DENSE_MAX; ++i) {
        arrive(&f, 0, i, i);
    }
    assert_ptr_equal(ITEM(0), receive(&f, 0, 0));
    assert_true(llamatch_lane_is_dense(lane));
    arrive(&f, 0, LLAMATCH_DENSE_MAX, LLAMATCH_DENSE_MAX);
    assert_false(llamatch_lane_is_dense(lane));
    arrive(&f, 0, 1000, 1000);
    assert_ptr_equal(ITEM(1000), receive(&f, 0, 1000));
    for (int i = 1; i <= LLAMATCH_DENSE_MAX; ++i) {
        assert_int_equal(lane->count <= FEW, llamatch_lane_is_dense(lane));
        assert_ptr_equal(ITEM(i), receive(&f, 0, i));
    }
    assert_true(llamatch_lane_is_dense(lane));
    assert_non_null(lane->queue.head);
    /* A walk needs the queue for a moment. */
    arrive(&f, 0, -2, 0);
    assert_int_equal(0, llamatch_engine_walk_unexpected(&f.engine, user_tags, &visited));
    assert_int_equal(1, visited);
    assert_true(llamatch_lane_is_dense(lane));
    end(&f);
}

/* A lane is not dense while it has more entries than a dense one may have, also in one array. */
static void test_not_dense_yet(void **state)
{
    enum { MOST = 8, ALL = 40 };
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, MOST);
    llamatch_engine_set_kind(&f.engine, LLAMATCH_LLA);
    for (int i = 0; i < ALL; ++i) {
        arrive(&f, 0, i, i);
    }
    llamatch_engine_set_kind(&f.engine, LLAMATCH_AUTO);
    for (int i = 0; i < ALL; ++i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, i));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        assert_int_equal(f.peers[0].unexpected.count <= MOST,
                         llamatch_lane_is_dense(&f.peers[0].unexpected));
    }
    end(&f);
}

/* In a dense lane, too: messages do not have the tag ANY_TAG, and a receive for any tag is found
 * wherever it is, by user's tags only. */
static void test_dense_any_tag(void **state)
{
    (void) state;
    for (int at = 0; at < LLAMATCH_DENSE_MAX; ++at) {
        fixture_t f;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
        for (int i = 0; i < LLAMATCH_DENSE_MAX; ++i) {
            post(&f, 0, (i == at) ? LLAMATCH_ANY_TAG : 10 + i, i);
            arrive(&f, 0, (i == at) ? 5 : -10 - i, i);
        }
        assert_int_equal(LLAMATCH_ERR_ARGUMENT,
                         llamatch_engine_arrive(&f.engine, &f.peers[0], LLAMATCH_ANY_TAG, ITEM(0)));
        assert_int_equal(LLAMATCH_ERR_ARGUMENT,
                         llamatch_engine_arrive(&f.engine, &f.peers[1], LLAMATCH_ANY_TAG, ITEM(0)));
        assert_null(match(&f, 0, -10));
        assert_ptr_equal(ITEM(at), match(&f, 0, 5));
        assert_null(match(&f, 0, 5));
        assert_ptr_equal(ITEM(at), receive(&f, 0, LLAMATCH_ANY_TAG));
        assert_null(receive(&f, 0, LLAMATCH_ANY_TAG));
        end(&f);
    }
    {
        fixture_t f;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
        arrive(&f, 0, 1, 1); /* there is room */
        assert_int_equal(LLAMATCH_ERR_ARGUMENT,
                         llamatch_engine_arrive(&f.engine, &f.peers[0], LLAMATCH_ANY_TAG, ITEM(0)));
        end(&f);
    }
}

/* Cancelled at every place of a lane with a gap, one after the other, from each of them on: the
 * others stay in order. */
static void test_gap_cancels(void **state)
{
    enum { FRONT = 5, ALL = 12 }; /* the first of the rear is taken */

    (void) state;
    for (int first = 0; first < ALL; ++first) {
        for (int cancels = 1; cancels <= ALL; ++cancels) {
            bool there[ALL];
            fixture_t f;

            begin(&f, 32, LLAMATCH_AUTO, 64);
            for (int i = 0; i < ALL; ++i) {
                there[i] = FRONT != i;
                post(&f, 0, (i < FRONT) ? 10 + i : 1, i);
            }
            assert_ptr_equal(ITEM(FRONT), match(&f, 0, 1));
            assert_int_equal(FRONT, f.peers[0].posted.front);
            for (int i = 0; i < cancels; ++i) {
                int item = (first + i) % ALL;

                assert_int_equal(there[item] ? LLAMATCH_OK : LLAMATCH_NOT_FOUND,
                                 (0 < f.engine.num_posted) ? cancel(&f, 0, item)
                                                           : LLAMATCH_NOT_FOUND);
                there[item] = false;
                assert_int_equal(0, llamatch_engine_verify(&f.engine));
            }
            for (int i = ALL - 1; 0 <= i; --i) { /* the front first, and the last of it first */
                if (there[i] && i < FRONT) {
                    assert_ptr_equal(ITEM(i), match(&f, 0, 10 + i));
                }
            }
            for (int i = FRONT; i < ALL; ++i) {
                if (there[i]) {
                    assert_ptr_equal(ITEM(i), match(&f, 0, 1));
                }
            }
            assert_int_equal(0, f.engine.num_posted);
            end(&f);
        }
    }
}

/* Dense lanes are merged as queues are, also when a search before has passed some of both. */
static void test_merge_dense(void **state)
{
    enum { ALL = 24 };

    (void) state;
    for (int passed = 0; passed <= ALL; passed += 3) {
        for (int wild_at = 0; wild_at < ALL; ++wild_at) {
            for (int specific_at = 0; specific_at < ALL; ++specific_at) {
                fixture_t f;
                void *wild = ITEM(100 + wild_at), *specific = ITEM(200 + specific_at);
                bool wild_first = wild_at <= specific_at;

                begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
                for (int i = 0; i < ALL; ++i) {
                    if (passed == i) {
                        assert_null(match(&f, 2, 7));
                    }
                    post(&f, ANY, i == wild_at ? 1 : 1000 + i, 100 + i);
                    post(&f, 2, i == specific_at ? 1 : 2000 + i, 200 + i);
                }
                assert_ptr_equal(wild_first ? wild : specific, match(&f, 2, 1));
                assert_ptr_equal(wild_first ? specific : wild, match(&f, 2, 1));
                assert_null(match(&f, 2, 1));
                end(&f);
            }
        }
    }
}

/* What has been passed by a search for one tag is found by one for another, and in order. */
static void test_gap_and_other_tags(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 32, LLAMATCH_AUTO, 64);
    for (int i = 0; i < 6; ++i) {
        arrive(&f, 0, 1 + i % 2, i);
        post(&f, 0, 1 + i % 2, i);
    }
    assert_ptr_equal(ITEM(1), receive(&f, 0, 2));
    assert_ptr_equal(ITEM(1), match(&f, 0, 2));
    for (int i = 0; i < 6; i += 2) { /* now the rear begins with tag 1 */
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
        assert_ptr_equal(ITEM(i), match(&f, 0, 1));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    assert_ptr_equal(ITEM(3), receive(&f, ANY, 2));
    assert_ptr_equal(ITEM(3), match(&f, 0, 2));
    end(&f);
}

static uint64_t posted_depth(const fixture_t *f)
{
    llamatch_stats_t posted, unexpected;

    llamatch_engine_stats(&f->engine, &posted, &unexpected);
    return posted.depth_sum;
}

static uint64_t unexpected_depth(const fixture_t *f)
{
    llamatch_stats_t posted, unexpected;

    llamatch_engine_stats(&f->engine, &posted, &unexpected);
    return unexpected.depth_sum;
}

/* What is looked at, and counted: of two lanes no more than is needed, of the front nothing again,
 * wherever in a word the rear begins. */
static void test_depths(void **state)
{
    enum { OTHERS = 70, BURST = 50 };
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < 20; ++i) {
        post(&f, 0, i, i);
    }
    assert_ptr_equal(ITEM(12), match(&f, 0, 12));
    assert_int_equal(13, posted_depth(&f));
    end(&f);

    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    post(&f, ANY, 9, 0);
    post(&f, 0, 2, 1);
    assert_ptr_equal(ITEM(1), match(&f, 0, 2)); /* the other one is older */
    assert_int_equal(2, posted_depth(&f));
    end(&f);

    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    post(&f, ANY, 1, 0);
    post(&f, 0, 2, 1);
    post(&f, 0, 2, 2);
    assert_ptr_equal(ITEM(0), match(&f, 0, 1)); /* all for the source are newer */
    assert_int_equal(1, posted_depth(&f));
    post(&f, ANY, 2, 3);
    post(&f, ANY, 3, 4);
    assert_ptr_equal(ITEM(1), match(&f, 0, 2));
    assert_int_equal(2, posted_depth(&f));
    assert_ptr_equal(ITEM(4), match(&f, 0, 3)); /* behind one of each lane */
    assert_int_equal(5, posted_depth(&f));
    end(&f);

    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < 40; ++i) {
        arrive(&f, 0, (i < 20) ? 10 + i : i % 2, i);
    }
    for (int i = 21; i < 40; i += 2) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
    }
    assert_int_equal(20 + 20, unexpected_depth(&f));
    end(&f);

    /* The same in a queue that is not dense. */
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < OTHERS + BURST; ++i) {
        arrive(&f, 0, (i < OTHERS) ? 10 + i : 1, i);
    }
    for (int i = OTHERS; i < OTHERS + BURST; ++i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
    }
    assert_int_equal(OTHERS + BURST, unexpected_depth(&f));
    end(&f);

    /* And behind few. */
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i < 3 + 2 * BURST; ++i) {
        arrive(&f, 0, (i < 3) ? 10 + i : 1, i);
    }
    for (int i = 3; i < 3 + BURST; ++i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
    }
    assert_int_equal(3 + BURST, unexpected_depth(&f));
    end(&f);
}

/* Messages that are searched deeply get an index. When it comes back with a message, nobody goes on
 * where the last search without it has ended. */
static void test_index_of_messages(void **state)
{
    enum { MANY = 400, FEW = 16, BURST = 20 };
    fixture_t f;
    llamatch_lane_t *lane = &f.peers[0].unexpected;
    int next = 1000;

    (void) state;
    begin(&f, 32, LLAMATCH_AUTO, 4 * FEW);
    for (int i = 0; i < MANY; ++i) {
        arrive(&f, 0, i, i);
    }
    for (int i = MANY - 1; FEW <= i; --i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, i));
        if (MANY / 2 == i) {
            assert_non_null(lane->queue.index);
        }
    }
    assert_null(lane->queue.index);
    for (int i = 0; i < BURST; ++i) {
        arrive(&f, 0, 500, next + i);
    }
    assert_ptr_equal(ITEM(next), receive(&f, 0, 500));
    assert_non_null(lane->cursor);
    for (int i = BURST; NULL == lane->queue.index; ++i) {
        assert_in_range(i, 0, 4 * FEW);
        arrive(&f, 0, 500, next + i);
    }
    assert_null(lane->cursor);
    while (FEW < lane->count) {
        ++next;
        assert_ptr_equal(ITEM(next), receive(&f, (0 == next % 2) ? ANY : 0, 500));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    assert_null(receive(&f, 0, 500));
    end(&f);
}

/* The place where the last search has ended is in the second word of an array, all from the first
 * word on is taken, and the places are used again. Received from the source, and from any while
 * another one has messages. */
static void test_burst_in_second_word(void **state)
{
    enum { LIBRARY = 60, OTHERS = 11, BURST = 29 };
    static const int32_t sources[] = {0, ANY};

    (void) state;
    for (int s = 0; s < 2; ++s) {
        fixture_t f;
        int32_t source = sources[s];
        int next = 0;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
        arrive(&f, 1, -11, 1000);
        for (; next < LIBRARY + OTHERS + BURST; ++next) {
            arrive(&f, 0, (next < LIBRARY) ? -10 : (next < LIBRARY + OTHERS) ? 3 : 1, next);
        }
        assert_ptr_equal(ITEM(LIBRARY + OTHERS), receive(&f, source, 1));
        assert_int_equal(1, f.peers[0].unexpected.cursor_word);
        for (int i = LIBRARY; i < LIBRARY + OTHERS; ++i) {
            assert_ptr_equal(ITEM(i), receive(&f, source, LLAMATCH_ANY_TAG));
        }
        for (int i = LIBRARY + OTHERS + 1; i < next; ++i) {
            assert_ptr_equal(ITEM(i), receive(&f, source, 1));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
        for (int i = 0; i < 12; ++i) {
            arrive(&f, 0, (0 == i || 11 == i) ? 1 : 3, next + i);
        }
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        assert_ptr_equal(ITEM(next), receive(&f, source, 1));
        assert_ptr_equal(ITEM(next + 11), receive(&f, source, 1));
        assert_null(receive(&f, source, 1));
        end(&f);
    }
}

/* One entry is left of an array, at every place of it; the next array is full of the same tag. */
static void test_last_of_array(void **state)
{
    enum { ENTRIES = 128 };

    (void) state;
    for (int at = 0; at < ENTRIES; ++at) {
        fixture_t f;

        begin(&f, ENTRIES, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
        for (int i = 0; i < 2 * ENTRIES; ++i) {
            int32_t tag = (i < at) ? 2 : (at < i && i < ENTRIES) ? 3 : 1;

            arrive(&f, 0, tag, i);
            post(&f, 0, tag, i);
        }
        for (int i = 0; i < ENTRIES; ++i) {
            if (at != i) {
                assert_ptr_equal(ITEM(i), receive(&f, 0, (i < at) ? 2 : 3));
                assert_ptr_equal(ITEM(i), match(&f, 0, (i < at) ? 2 : 3));
            }
        }
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        assert_ptr_equal(ITEM(at), receive(&f, 0, 1));
        assert_ptr_equal(ITEM(at), match(&f, 0, 1));
        assert_ptr_equal(ITEM(ENTRIES), receive(&f, 0, 1));
        assert_ptr_equal(ITEM(ENTRIES), match(&f, 0, 1));
        end(&f);
    }
}

/* Receives for a source and for any source with the same tag, one of them in a queue that is not
 * dense: the older ones are matched first. */
static void test_long_and_wild(void **state)
{
    fixture_t f;

    (void) state;
    for (int wild = 0; wild < 2; ++wild) {
        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
        for (int i = 0; i <= LLAMATCH_DENSE_MAX; ++i) {
            post(&f, wild ? ANY : 0, 0, i);
        }
        post(&f, wild ? 0 : ANY, 0, 200);
        for (int i = 0; i <= LLAMATCH_DENSE_MAX; ++i) {
            assert_ptr_equal(ITEM(i), match(&f, 0, 0));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
        assert_ptr_equal(ITEM(200), match(&f, 0, 0));
        end(&f);
    }
}

/* The front that a gap has moved on leaves copies of its entries behind, 64 places before them: an
 * index must not take such a copy for the entry. */
static void test_index_after_gap(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    arrive(&f, 0, 10, 0);
    for (int i = 1; i <= 66; ++i) {
        arrive(&f, 0, 1, i);
    }
    for (int i = 1; i <= 64; ++i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
    }
    assert_null(receive(&f, 0, 99)); /* the gap is closed: from place 0 to 64 */
    assert_int_equal(64, f.peers[0].unexpected.gap - f.peers[0].unexpected.front);
    llamatch_engine_set_kind(&f.engine, LLAMATCH_HASH);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_ptr_equal(ITEM(0), receive(&f, 0, 10));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_null(receive(&f, 0, 10));
    llamatch_engine_set_kind(&f.engine, LLAMATCH_AUTO);
    assert_null(receive(&f, 0, 10));
    assert_ptr_equal(ITEM(65), receive(&f, 0, LLAMATCH_ANY_TAG));
    assert_ptr_equal(ITEM(66), receive(&f, 0, LLAMATCH_ANY_TAG));
    end(&f);
}

/* The same without a change of kind: receives, an index that pays. */
static void test_index_after_gap_of_receives(void **state)
{
    enum { WILD = 100, MORE = 100 };
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[0].posted;
    int matched = 0;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    post(&f, 0, 10, 0);
    for (int i = 1; i <= 66; ++i) {
        post(&f, 0, 1, i);
    }
    for (int i = 1; i <= 64; ++i) {
        assert_ptr_equal(ITEM(i), match(&f, 0, 1));
    }
    assert_null(match(&f, 0, 99)); /* the gap is closed: from place 0 to 64 */
    assert_int_equal(64, lane->gap - lane->front);
    for (int i = 0; i < WILD; ++i) { /* not dense: nor is then what is merged with it */
        post(&f, ANY, 1000 + i, 1000 + i);
    }
    assert_null(match(&f, 0, 99));
    assert_false(llamatch_lane_is_dense(lane));
    for (int i = 0; i < MORE; ++i) {
        post(&f, 0, 100 + i, 100 + i);
    }
    for (int i = 0; i < 100000 && NULL == lane->queue.index; ++i) {
        assert_null(match(&f, 0, 99));
    }
    assert_non_null(lane->queue.index);
    assert_ptr_equal(ITEM(0), match(&f, 0, 10));
    assert_null(match(&f, 0, 10));
    /* The index goes when few are left. */
    for (int i = MORE - 1; 0 <= i; --i) {
        assert_ptr_equal(ITEM(100 + i), match(&f, 0, 100 + i));
        matched += NULL != match(&f, 0, 10);
    }
    assert_int_equal(0, matched); /* item 0 is not received a second time */
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    end(&f);
}

/* And when cancelled receives have moved the others on, one by one. */
static void test_index_after_cancels(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
    for (int i = 0; i <= 66; ++i) {
        post(&f, 0, 10 + i, i);
    }
    for (int i = 1; i <= 33; ++i) {
        assert_int_equal(LLAMATCH_OK, cancel(&f, 0, i));
    }
    for (int i = 67; i < 96; ++i) {
        post(&f, 0, 10 + i, i);
    }
    for (int i = 34; i <= 64; ++i) {
        assert_int_equal(LLAMATCH_OK, cancel(&f, 0, i));
    }
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    llamatch_engine_set_kind(&f.engine, LLAMATCH_HASH);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_ptr_equal(ITEM(0), match(&f, 0, 10));
    assert_null(match(&f, 0, 10));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    end(&f);
}

#define BURST_MOST 200

/* Few tags, mostly the same one again, in arrays of all sizes; compared with a plain list. */
static void test_bursts_at_random(void **state)
{
    static const uint32_t entries[] = {2, 8, 32, 64, 128, 512};

    (void) state;
    for (size_t e = 0; e < sizeof(entries) / sizeof(entries[0]); ++e) {
        fixture_t f;
        int32_t tags[BURST_MOST], tag = 0;
        int items[BURST_MOST], waiting = 0, next = 0;
        uint32_t random = 12345;

        begin(&f, entries[e], LLAMATCH_AUTO, (entries[e] < 64) ? 1000 : 64);
        for (int step = 0; step < 40000; ++step) {
            bool fill = 0 != (step / 150 & 1);
            int i = 0;

            random = random * 1664525 + 1013904223;
            if (0 == (random >> 8) % 10) {
                tag = (int32_t) (random >> 16) % 4;
            }
            if ((random >> 24) % 100 < (fill ? 80 : 30) && waiting < BURST_MOST) {
                tags[waiting] = (int32_t) (random >> 12) % 4;
                items[waiting] = next;
                arrive(&f, 0, tags[waiting++], next);
                next = (next + 1) % (2 * BURST_MOST);
            } else {
                while (i < waiting && tags[i] != tag) {
                    ++i;
                }
                assert_ptr_equal((i < waiting) ? ITEM(items[i]) : NULL, receive(&f, 0, tag));
                for (; i + 1 < waiting; ++i) {
                    tags[i] = tags[i + 1];
                    items[i] = items[i + 1];
                }
                waiting = (i < waiting) ? i : waiting;
            }
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
        end(&f);
    }
}

/* ---- the model ---- */

/* Some 20 seconds; sanitizers take five times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MODEL_OPERATIONS 1000000
#else
#define MODEL_OPERATIONS 10000000
#endif

#define NUM_COMMS 3

typedef struct {
    llamatch_engine_t engine;
    llamatch_peer_t peers[MODEL_SOURCES];
    int32_t sources;
    uint32_t entries;
    bool was_array; /* has had arrays of several entries */
    llamatch_kind_t kind;
    uint64_t indexed, dropped; /* that are accounted for */
    model_t model;
    int free_items[2 * MODEL_MAX + 16]; /* stack */
    size_t num_free;
} comm_t;

/* How a stretch of operations looks like. */
typedef struct {
    uint32_t messages; /* of 1000 operations */
    uint32_t receives; /* of 1000 operations; the rest is probes, cancels, walks, kinds */
    uint32_t cap;      /* most entries of a list */
    uint32_t wild;     /* of 100 receives: for any source */
    uint32_t any_tag;  /* of 100 receives: for any tag */
    uint32_t tags;     /* different tags */
    bool one_source;   /* all with source 0 */
    char drain;        /* 0: no; receives and messages for entries in the (f)ront, at the (b)ack or
                          at (r)andom */
} phase_t;

static const phase_t phases[] = {
    {450, 440, 30, 20, 15, 8, false, 0},      /* short, balanced */
    {650, 250, 300, 20, 15, 12, false, 0},    /* messages lead */
    {250, 650, 300, 20, 15, 12, false, 0},    /* receives lead */
    {30, 960, 3000, 5, 1, 3000, true, 0},     /* many receives, ... */
    {960, 20, 3000, 5, 1, 3000, true, 'b'},   /* ... and their messages, last one first */
    {960, 20, 3000, 0, 0, 3000, true, 0},     /* many messages, ... */
    {20, 960, 3000, 5, 1, 3000, true, 'b'},   /* ... and their receives */
    {30, 960, 1000, 30, 5, 20, false, 0},     /* of few tags */
    {950, 30, 1000, 30, 5, 20, false, 'r'},   /* at random */
    {950, 30, 1500, 0, 0, 20, false, 0},      /* the same with messages */
    {30, 950, 1500, 30, 5, 20, false, 'r'},   /*  */
    {20, 950, 2000, 60, 1, 2000, false, 0},   /* many for any source */
    {950, 20, 2000, 60, 1, 2000, false, 'r'}, /*  */
    {30, 960, 2000, 2, 1, 2000, true, 0},     /* an index is made at random, ... */
    {960, 20, 2000, 2, 1, 2000, true, 'r'},   /*  */
    {900, 80, 2000, 2, 1, 2000, true, 'f'},   /* ... and useless in front */
    {600, 340, 110, 2, 1, 3, true, 0},        /* bursts behind a few others, ... */
    {340, 600, 110, 2, 1, 3, true, 0},        /* ... also of receives */
};

#define NUM_PHASES (sizeof(phases) / sizeof(phases[0]))

typedef struct {
    llamatch_pool_t *pool;
    comm_t comms[NUM_COMMS];
    uint64_t seed;
    const phase_t *phase;
} world_t;

/* Indices made and given up by engines of each kind, without those of set_kind. */
static uint64_t num_indexed[LLAMATCH_NUM_KINDS], num_dropped[LLAMATCH_NUM_KINDS];

static uint32_t choose(world_t *w, uint32_t below)
{
    return test_random(&w->seed, below);
}

static bool percent(world_t *w, uint32_t of)
{
    return choose(w, 100) < of;
}

/* A message's tag. */
static int32_t random_tag(world_t *w)
{
    static const int32_t special[] = {INT32_MIN, -1000, -3, -2, 0, INT32_MAX};

    if (percent(w, 5)) {
        return special[choose(w, sizeof(special) / sizeof(special[0]))];
    }
    return (int32_t) choose(w, w->phase->tags);
}

static int32_t random_source(world_t *w, const comm_t *c)
{
    return (w->phase->one_source && percent(w, 90)) ? 0
                                                    : (int32_t) choose(w, (uint32_t) c->sources);
}

static size_t random_place(world_t *w, size_t count)
{
    size_t near = choose(w, (uint32_t) ((count < 4) ? count : 4));

    return ('f' == w->phase->drain)   ? near
           : ('b' == w->phase->drain) ? count - 1 - near
                                      : choose(w, (uint32_t) count);
}

static llamatch_peer_t *comm_peer(comm_t *c, int32_t source)
{
    return (ANY == source) ? NULL : &c->peers[source];
}

/* How much deeper one kind of queue was searched than the model knows of; at most one search. */
static uint64_t new_depth(comm_t *c, bool of_posted)
{
    llamatch_stats_t posted, unexpected;
    const llamatch_stats_t *known = of_posted ? &c->model.posted.stats : &c->model.unexpected.stats;

    llamatch_engine_stats(&c->engine, &posted, &unexpected);
    return (of_posted ? &posted : &unexpected)->depth_sum - known->depth_sum;
}

static void step_message(world_t *w, comm_t *c)
{
    model_list_t *posted = &c->model.posted;
    int32_t source = random_source(w, c), tag = random_tag(w);
    uint64_t expected, depth;
    bool exact;
    void *got;
    size_t i;

    if (0 != w->phase->drain && 0 < posted->count) {
        const model_entry_t *target = &posted->entries[random_place(w, posted->count)];

        source = (ANY == target->source) ? source : target->source;
        tag = (LLAMATCH_ANY_TAG == target->tag) ? tag : target->tag;
    }
    exact = NULL == c->peers[source].posted.queue.index && NULL == c->engine.wild.queue.index;
    i = model_match(posted, source, tag, &expected);
    got = llamatch_engine_match(&c->engine, &c->peers[source], tag);
    depth = new_depth(c, true);
    if (0 < expected) {
        model_searched(posted, depth);
    }
    if (exact) {
        /* Where two queues are merged, one array of newer ones may be looked at as well; in dense
         * lanes, what the search before has passed may be left out. */
        bool merged = i < posted->count && c->was_array;
        bool dense = LLAMATCH_AUTO == c->engine.kind;

        assert_in_range(depth, dense ? 0 < expected : expected,
                        expected + (merged ? c->entries : 0));
    }
    if (i < posted->count) {
        int item = posted->entries[i].item;

        assert_ptr_equal(ITEM(item), got);
        model_remove(posted, i);
        ++posted->stats.matches;
        c->free_items[c->num_free++] = item;
        return;
    }
    assert_null(got);
    if (c->model.unexpected.count < w->phase->cap) {
        int item = c->free_items[--c->num_free];

        assert_int_equal(LLAMATCH_OK,
                         llamatch_engine_arrive(&c->engine, &c->peers[source], tag, ITEM(item)));
        model_arrive(&c->model, source, tag, item);
    }
}

/* A receive, or only a probe, or a probe that holds what it finds. */
static void step_receive(world_t *w, comm_t *c, bool may_take, bool may_post)
{
    model_list_t *unexpected = &c->model.unexpected, *posted = &c->model.posted;
    int32_t source = random_source(w, c), tag = random_tag(w);
    void *first = NULL;
    uint64_t expected, depth;
    llamatch_hold_t hold;
    bool at_once = may_take && percent(w, 60);
    size_t i;

    if (0 != w->phase->drain && 0 < unexpected->count) {
        const model_entry_t *target = &unexpected->entries[random_place(w, unexpected->count)];

        source = target->source;
        tag = target->tag;
    }
    if (percent(w, w->phase->wild)) {
        source = ANY;
    }
    if (percent(w, w->phase->any_tag)) {
        tag = LLAMATCH_ANY_TAG;
    }
    i = model_search(&c->model, source, tag, &expected);
    for (int time = 0; time < (may_take ? 1 : 2); ++time) {
        bool exact = 0 == llamatch_engine_num_indexed(&c->engine);

        if (at_once) {
            llamatch_message_t message =
                llamatch_engine_receive(&c->engine, comm_peer(c, source), tag);

            hold.item = message.item;
            hold.peer = message.peer;
        } else {
            assert_ptr_equal(llamatch_engine_search(&c->engine, comm_peer(c, source), tag, &hold),
                             hold.item);
        }
        depth = new_depth(c, false);
        if (0 < expected) {
            model_searched(unexpected, depth);
        }
        if (exact && LLAMATCH_AUTO != c->engine.kind) {
            assert_int_equal(expected, depth);
        } else if (exact) { /* what the search before has passed may be left out */
            assert_in_range(depth, 0 < expected, expected);
        }
        if (0 < time) {
            assert_ptr_equal(first, hold.item); /* a probe finds again what it found */
        }
        first = hold.item;
    }
    if (i < unexpected->count) {
        assert_ptr_equal(ITEM(unexpected->entries[i].item), hold.item);
        assert_ptr_equal(&c->peers[unexpected->entries[i].source], hold.peer);
        if (!at_once) {
            assert_int_equal(unexpected->entries[i].tag, tag_of(&c->engine, &hold));
        }
        if (may_take) {
            c->free_items[c->num_free++] = unexpected->entries[i].item;
            if (!at_once) {
                llamatch_engine_take(&c->engine, &hold);
            }
            model_take(&c->model, i, ANY == source);
        }
        return;
    }
    assert_null(hold.item);
    if (may_post && posted->count < w->phase->cap) {
        int item = c->free_items[--c->num_free];

        assert_int_equal(LLAMATCH_OK, llamatch_engine_post(&c->engine, comm_peer(c, source), tag,
                                                           ITEM(item), &things[item].place));
        model_add(posted, source, tag, item);
    }
}

static void step_cancel(world_t *w, comm_t *c)
{
    model_list_t *posted = &c->model.posted;

    if (0 < posted->count) {
        size_t i = choose(w, (uint32_t) posted->count);
        const model_entry_t *entry = &posted->entries[i];

        assert_int_equal(LLAMATCH_OK,
                         llamatch_engine_cancel(&c->engine, comm_peer(c, entry->source),
                                                ITEM(entry->item), things[entry->item].place));
        c->free_items[c->num_free++] = entry->item;
        model_remove(posted, i);
    }
}

/* A walk takes what the model marks for it. */
static bool marked[1 << 20];

static bool is_marked(void *context, int32_t tag, void *item)
{
    (void) tag;
    ++*(size_t *) context;
    return marked[item_of(item)];
}

static void step_walk(world_t *w, comm_t *c)
{
    bool posted = choose(w, 2);
    model_list_t *list = posted ? &c->model.posted : &c->model.unexpected;
    uint32_t share = (uint32_t[]){2, 50, 90, 100}[choose(w, 4)];
    size_t kept = 0, count = list->count, visited = 0, removed;

    for (size_t i = 0; i < count; ++i) {
        marked[list->entries[i].item] = percent(w, share);
    }
    removed = posted ? llamatch_engine_walk_posted(&c->engine, is_marked, &visited)
                     : llamatch_engine_walk_unexpected(&c->engine, is_marked, &visited);
    for (size_t i = 0; i < count; ++i) {
        if (marked[list->entries[i].item]) {
            c->free_items[c->num_free++] = list->entries[i].item;
        } else {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->count = kept;
    list->stats.length = kept;
    assert_int_equal(count, visited);
    assert_int_equal(count - kept, removed);
    for (int32_t s = 0; !posted && s < c->sources; ++s) {
        if (!model_has_messages(&c->model, s)) {
            model_order_remove(&c->model, s);
        }
    }
}

static void account(comm_t *c, bool count)
{
    llamatch_stats_t posted, unexpected;

    llamatch_engine_stats(&c->engine, &posted, &unexpected);
    if (count) {
        num_indexed[c->kind] += posted.indexed + unexpected.indexed - c->indexed;
        num_dropped[c->kind] += posted.dropped + unexpected.dropped - c->dropped;
    }
    c->indexed = posted.indexed + unexpected.indexed;
    c->dropped = posted.dropped + unexpected.dropped;
}

static void step_kind(world_t *w, comm_t *c)
{
    account(c, true);
    c->kind = (llamatch_kind_t) choose(w, LLAMATCH_NUM_KINDS);
    c->was_array |= LLAMATCH_LIST != c->kind;
    llamatch_engine_set_kind(&c->engine, c->kind);
    account(c, false);
}

static void check_stats(const llamatch_stats_t *model, const llamatch_stats_t *engine)
{
    assert_int_equal(model->length, engine->length);
    assert_int_equal(model->length_max, engine->length_max);
    assert_int_equal(model->matches, engine->matches);
    assert_int_equal(model->searches, engine->searches);
    assert_int_equal(model->depth_sum, engine->depth_sum);
    assert_int_equal(model->depth_max, engine->depth_max);
    for (int i = 0; i < LLAMATCH_DEPTHS; ++i) {
        assert_int_equal(model->depths[i], engine->depths[i]);
    }
}

static void check_comm(comm_t *c)
{
    uint32_t counts[MODEL_SOURCES + 1][2] = {{0, 0}};
    llamatch_stats_t posted, unexpected;

    assert_int_equal(0, llamatch_engine_verify(&c->engine));
    llamatch_engine_stats(&c->engine, &posted, &unexpected);
    check_stats(&c->model.posted.stats, &posted);
    check_stats(&c->model.unexpected.stats, &unexpected);
    /* Each receive is in the array that was told last. */
    for (size_t i = 0; i < c->model.posted.count; ++i) {
        const model_entry_t *entry = &c->model.posted.entries[i];
        const llamatch_lane_t *lane =
            (ANY == entry->source) ? &c->engine.wild : &c->peers[entry->source].posted;
        llamatch_node_t *node = (llamatch_node_t *) (uintptr_t) things[entry->item].place;

        assert_non_null(
            llamatch_lane_find_item(lane, &c->engine.posted_shape, node, ITEM(entry->item)).node);
        ++counts[entry->source + 1][0];
    }
    for (size_t i = 0; i < c->model.unexpected.count; ++i) {
        ++counts[c->model.unexpected.entries[i].source + 1][1];
    }
    assert_int_equal(counts[0][0], c->engine.wild.count);
    for (int32_t s = 0; s < c->sources; ++s) {
        assert_int_equal(counts[s + 1][0], c->peers[s].posted.count);
        assert_int_equal(counts[s + 1][1], c->peers[s].unexpected.count);
    }
}

static void step(world_t *w, comm_t *c)
{
    uint32_t what = choose(w, 1000), rest;

    if (what < w->phase->messages) {
        step_message(w, c);
        return;
    }
    if (what < w->phase->messages + w->phase->receives) {
        step_receive(w, c, true, true);
        return;
    }
    rest = choose(w, 1000);
    if (rest < 400) {
        step_receive(w, c, false, false);
    } else if (rest < 600) {
        step_receive(w, c, true, false);
    } else if (rest < 990) {
        step_cancel(w, c);
    } else if (rest < 996) {
        step_walk(w, c);
    } else {
        step_kind(w, c);
    }
}

/* One pool, three communicators with other kinds, entries and searches. */
static void world_begin(world_t *w, uint64_t seed, uint32_t variant)
{
    const llamatch_simd_path_t *paths;
    size_t num_paths = llamatch_simd_paths(&paths);

    memset(w, 0, sizeof(*w));
    w->seed = seed;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &w->pool));
    for (uint32_t n = 0; n < NUM_COMMS; ++n) {
        comm_t *c = &w->comms[n];
        llamatch_config_t config = llamatch_config_default;
        uint32_t v = variant + n * 31;

        config.pool = w->pool;
        config.entries = 2U << v % 9;
        config.kind = (llamatch_kind_t) (v / 9 % LLAMATCH_NUM_KINDS);
        config.find = paths[v / 36 % num_paths].find;
        config.moved = thing_moved;
        config.index_above = (uint32_t[]){8, 64, LLAMATCH_DENSE_MAX, 8}[v % 4];
        assert_int_equal(LLAMATCH_OK, llamatch_engine_init(&c->engine, &config));
        c->entries = config.entries;
        c->kind = config.kind;
        c->was_array = LLAMATCH_LIST != c->kind;
        c->sources = (int32_t[]){3, 50, 1}[n];
        for (int32_t s = 0; s < c->sources; ++s) {
            llamatch_peer_init(&c->peers[s]);
        }
        for (int i = 0; i < 2 * MODEL_MAX + 16; ++i) {
            c->free_items[c->num_free++] = (int) n * (2 * MODEL_MAX + 16) + i;
        }
    }
}

static void world_end(world_t *w)
{
    for (int n = 0; n < NUM_COMMS; ++n) {
        account(&w->comms[n], true);
        llamatch_engine_fini(&w->comms[n].engine);
    }
    assert_int_equal(0, llamatch_pool_used_bytes(w->pool));
    llamatch_pool_destroy(w->pool);
}

static void test_model(void **state)
{
    static world_t w;
    const llamatch_simd_path_t *paths;
    uint32_t variants = 36 * (uint32_t) llamatch_simd_paths(&paths);
    const char *text = getenv("LLAMATCH_OPERATIONS");
    unsigned long operations = (NULL != text) ? strtoul(text, NULL, 0) : MODEL_OPERATIONS;
    unsigned long each = operations / variants + 1, phase_length = 6000;
    uint64_t seed = test_seed(20260202);

    (void) state;
    printf("seed: LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    num_moved = 0;
    for (uint32_t variant = 0; variant < variants; ++variant) {
        world_begin(&w, seed + variant, variant);
        for (unsigned long n = 0; n < each; ++n) {
            comm_t *c = &w.comms[choose(&w, NUM_COMMS)];

            if (0 == n % phase_length) {
                w.phase = &phases[(n / phase_length + variant) % NUM_PHASES];
            }
            step(&w, c);
            if (0 == n % 997 || n + 1 == each) {
                for (int i = 0; i < NUM_COMMS; ++i) {
                    check_comm(&w.comms[i]);
                }
                assert_int_equal(0, llamatch_pool_verify(w.pool));
            }
        }
        world_end(&w);
    }
    printf("%lu operations, %zu entries moved; indices made and dropped:", each * variants,
           num_moved);
    EACH_KIND(kind)
    {
        printf(" %s %llu %llu", llamatch_kind_names[kind], (unsigned long long) num_indexed[kind],
               (unsigned long long) num_dropped[kind]);
    }
    printf("\n");
    if (400000 <= operations) { /* so that there were enough */
        assert_true(0 < num_moved);
        assert_true(0 < num_indexed[LLAMATCH_AUTO] && 0 < num_dropped[LLAMATCH_AUTO]);
        assert_true(0 < num_indexed[LLAMATCH_HASH]);
    }
    assert_true(0 == num_dropped[LLAMATCH_HASH]);
    assert_true(0 == num_indexed[LLAMATCH_LLA] && 0 == num_indexed[LLAMATCH_LIST]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_post_order),
        cmocka_unit_test(test_merge_depths),
        cmocka_unit_test(test_merge_borders),
        cmocka_unit_test(test_any_tag),
        cmocka_unit_test(test_message_order),
        cmocka_unit_test(test_any_source_is_fair),
        cmocka_unit_test(test_any_source_is_fair_between_tags),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_end_with_cancelled),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_long),
        cmocka_unit_test(test_index_when_it_pays),
        cmocka_unit_test(test_index_that_is_useless),
        cmocka_unit_test(test_index_hysteresis),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_small_arrays),
        cmocka_unit_test(test_dense_for_ever),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_gap_of_receives),
        cmocka_unit_test(test_dense_and_kinds),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_dense_to_queue),
        cmocka_unit_test(test_dense_again),
        cmocka_unit_test(test_not_dense_yet),
        cmocka_unit_test(test_dense_any_tag),
        cmocka_unit_test(test_gap_cancels),
        cmocka_unit_test(test_merge_dense),
        cmocka_unit_test(test_gap_and_other_tags),
        cmocka_unit_test(test_depths),
        cmocka_unit_test(test_index_of_messages),
        cmocka_unit_test(test_burst_in_second_word),
        cmocka_unit_test(test_last_of_array),
        cmocka_unit_test(test_long_and_wild),
        cmocka_unit_test(test_index_after_gap),
        cmocka_unit_test(test_index_after_gap_of_receives),
        cmocka_unit_test(test_index_after_cancels),
        cmocka_unit_test(test_bursts_at_random),
        cmocka_unit_test(test_dense_damage),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("llamatch_engine", tests, NULL, NULL);
}
