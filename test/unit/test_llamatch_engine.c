/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_engine: MPI's matching order (M1), ANY_TAG (M2), probes, cancel, revoke's walk,
 * fairness, kinds, statistics, memory, failure of the allocator. */
#include "llamatch_test_engine.h"

static void test_create(void **state)
{
    llamatch_config_t config = llamatch_config_default;
    llamatch_setup_t setup;
    llamatch_engine_t engine;

    (void) state;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &config.pool));
    config.entries = 3;
    assert_true(256 >= sizeof(engine) && 256 >= sizeof(llamatch_peer_t)); /* there are many */
    assert_int_equal(LLAMATCH_ERR_ARGUMENT, llamatch_setup_init(&setup, &config));
    config.entries = 4;
    assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&setup, &config));
    llamatch_engine_init(&engine, &setup);
    assert_int_equal(0, llamatch_engine_verify(&engine));
    llamatch_engine_fini(&engine);
    llamatch_pool_destroy(config.pool);
}

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

                begin(&f, 4, kind, 8);
                for (int i = 0; i <= 40; ++i) {
                    post_both(&f, i, wild_at, specific_at);
                }
                match_both(&f, wild_at, specific_at);
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
        arrive(&f, 0, LLAMATCH_ANY_TAG, 9); /* nobody receives it */
        assert_null(probe(&f, 0, LLAMATCH_ANY_TAG));
        assert_null(probe(&f, ANY, LLAMATCH_ANY_TAG));
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

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 2, kind, 64);
        for (int i = 0; i < 12; ++i) {
            arrive(&f, i % 2, i / 4, i);
        }
        for (int again = 0; again < 3; ++again) {
            assert_ptr_equal(ITEM(5), probe(&f, 1, 1));
        }
        assert_ptr_equal(ITEM(5), receive(&f, 1, 1));
        assert_ptr_equal(ITEM(7), receive(&f, 1, 1));
        assert_null(receive(&f, 1, 1));
        assert_ptr_equal(ITEM(1), receive(&f, 1, LLAMATCH_ANY_TAG));
        assert_ptr_equal(ITEM(3), receive(&f, 1, LLAMATCH_ANY_TAG));
        assert_ptr_equal(ITEM(9), receive(&f, 1, LLAMATCH_ANY_TAG));
        assert_null(receive(&f, 7, LLAMATCH_ANY_TAG));
        assert_int_equal(6, llamatch_lane_count(&f.peers[0].unexpected));
        assert_int_equal(1, llamatch_lane_count(&f.peers[1].unexpected));
        end(&f);
    }
}

/* A probe finds what a receive then takes, and tells whose it is. */
static void test_probe(void **state)
{
    fixture_t f;
    llamatch_message_t message;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 4, kind, 64);
        assert_null(llamatch_engine_probe(&f.engine, NULL, 1).item);
        arrive(&f, 3, 1, 1);
        arrive(&f, 5, 2, 2);
        assert_null(llamatch_engine_probe(&f.engine, &f.peers[3], 2).item);
        for (int time = 0; time < 2; ++time) {
            message = llamatch_engine_probe(&f.engine, NULL, 2);
            assert_ptr_equal(ITEM(2), message.item);
            assert_ptr_equal(&f.peers[5], message.peer);
        }
        assert_ptr_equal(ITEM(2), receive(&f, ANY, 2));
        assert_ptr_equal(ITEM(1), llamatch_engine_probe(&f.engine, &f.peers[3], -1).item);
        assert_ptr_equal(ITEM(1), receive(&f, 3, 1));
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
        things[4].place = things[1].place;
        assert_int_equal(LLAMATCH_NOT_FOUND, cancel(&f, 1, 4));
        assert_int_equal(9, llamatch_lane_count(&f.engine.wild));
        assert_int_equal(9, llamatch_lane_count(&f.peers[1].posted));
        assert_int_equal(10, llamatch_lane_count(&f.peers[2].posted));
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

/* Cancelled entries of an index, but for the first of a tag, are only marked; the end of the engine
 * takes them along. */
static void test_end_with_cancelled(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 8, LLAMATCH_HASH, 8);
    for (int i = 0; i < 100; ++i) {
        post(&f, 0, i % 2, i);
    }
    for (int i = 98; 0 <= i; i -= 2) {
        assert_int_equal(LLAMATCH_OK, cancel(&f, 0, i));
    }
    assert_int_equal(49, f.peers[0].posted.queue.index->marked);
    end(&f);
}

/* Cancels in the order of the receives make an index as useless as matches in that order. */
static void test_cancels_need_no_index(void **state)
{
    enum { BURST = 300 };
    llamatch_stats_t posted, unexpected;
    fixture_t f;

    (void) state;
    begin(&f, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, LLAMATCH_INDEX_ABOVE);
    for (int burst = 0; burst < 4; ++burst) {
        for (int i = 0; i < BURST; ++i) {
            post(&f, 0, i, i);
        }
        for (int i = 0; i < 100 && 0 == burst; ++i) {
            assert_null(match(&f, 0, BURST));
        }
        for (int i = 0; i < BURST; ++i) {
            assert_int_equal(LLAMATCH_OK, cancel(&f, 0, i));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
    }
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_int_equal(1, posted.indexed);
    end(&f);
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
        assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&f.setup, &config));
        llamatch_engine_init(&f.engine, &f.setup);
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
        /* Few: what an index gives back is used for entries. */
        assert_in_range(refused, 1, POSTS / 3);
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
    /* Hardly longer, and in any order: more searches end early than go deep. */
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 160; ++i) {
            post(&f, 1, i, i);
        }
        for (int i = 0; i < 160; ++i) {
            assert_ptr_equal(ITEM(i * 63 % 160), match(&f, 1, i * 63 % 160));
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
    while (100 < llamatch_lane_count(&f.peers[1].posted)) {
        --last;
        assert_ptr_equal(ITEM(last), match(&f, 1, last));
    }
    assert_int_equal(1, llamatch_engine_num_indexed(&f.engine));
    for (int round = 0; round < 100; ++round) {
        while (40 < llamatch_lane_count(&f.peers[1].posted)) {
            --last;
            assert_ptr_equal(ITEM(last), match(&f, 1, last));
        }
        while (100 > llamatch_lane_count(&f.peers[1].posted)) {
            post(&f, 1, last, last);
            ++last;
        }
    }
    llamatch_engine_stats(&f.engine, &posted, &unexpected);
    assert_int_equal(1, posted.indexed);
    assert_int_equal(0, posted.dropped);
    end(&f);
}

/* Many peers: one entry of each needs no arena, some more little of it, and in a steady state
 * nothing is mapped or given back. */
static void test_many_peers(void **state)
{
    enum { ROUNDS = 6, FEW = LLAMATCH_OWN_ENTRIES + 1 };

    (void) state;
    for (size_t peers = 512; peers <= 1 << 20; peers *= 8) {
        llamatch_peer_t *peer = malloc(peers * sizeof(*peer));
        size_t requests = 0;
        uint64_t place;
        fixture_t f;

        assert_non_null(peer);
        begin(&f, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
        for (size_t i = 0; i < peers; ++i) {
            llamatch_peer_init(&peer[i]);
        }
        for (int round = 0; round < ((peers <= 4096) ? 10 * ROUNDS : ROUNDS); ++round) {
            for (size_t i = 0; i < FEW * peers; ++i) {
                assert_int_equal(LLAMATCH_OK, llamatch_engine_post(&f.engine, &peer[i % peers], 1,
                                                                   ITEM(1), &place));
                if (peers - 1 == i) {
                    assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
                }
            }
            assert_in_range(llamatch_pool_bytes(f.pool), 192 * peers,
                            200 * peers + 4 * LLAMATCH_POOL_BLOCK);
            for (size_t i = 0; i < FEW * peers; ++i) {
                assert_ptr_equal(ITEM(1), llamatch_engine_match(&f.engine, &peer[i % peers], 1));
            }
            assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
            if (2 < round && 1 << 20 < FEW * peers * 192) { /* the rounds were seen by then */
                assert_int_equal(requests, f.alloc.requests);
            }
            requests = f.alloc.requests;
        }
        end(&f);
        free(peer);
    }
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
        /* An empty hash is still there for each queue. */
        assert_true(LLAMATCH_HASH == kind || 0 == llamatch_pool_used_bytes(f.pool));
        assert_in_range(llamatch_pool_bytes(f.pool), 0,
                        LLAMATCH_POOL_FLOOR
                            + ((LLAMATCH_HASH == kind) ? 2 * LLAMATCH_POOL_BLOCK : 0));
        assert_true(LLAMATCH_HASH == kind || 0 == llamatch_engine_num_indexed(&f.engine));
        end(&f);
    }
}

/* What a walk empties keeps nothing, as what matches empty. */
static void test_walk_leaves_nothing(void **state)
{
    enum { MANY = 3000 };

    (void) state;
    for (int posted = 0; posted < 2; ++posted) {
        int visited = 0;
        fixture_t f;

        begin(&f, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, 64);
        for (int i = 0; i < MANY; ++i) {
            if (posted) {
                post(&f, 1, i, i);
            } else {
                arrive(&f, 1, i, i);
            }
        }
        for (int i = MANY - 1; 0 == llamatch_engine_num_indexed(&f.engine); --i) {
            assert_in_range(i, 1, MANY); /* some deep searches make an index */
            assert_ptr_equal(ITEM(i), posted ? match(&f, 1, i) : receive(&f, 1, i));
        }
        (void) (posted ? llamatch_engine_walk_posted(&f.engine, user_tags, &visited)
                       : llamatch_engine_walk_unexpected(&f.engine, user_tags, &visited));
        assert_int_equal(0, posted ? f.engine.num_posted : f.engine.num_unexpected);
        assert_int_equal(0, llamatch_engine_num_indexed(&f.engine));
        assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
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
    f.engine.wild.live = 0; /* a lane's own */
    DAMAGED(21);
    f.engine.wild.live = UINT64_MAX;
    ++f.engine.wild.queue.count; /* a queue's own */
    DAMAGED(1);
    --f.engine.wild.queue.count;
    ++f.peers[1].unexpected.queue.index->queue_nodes; /* an index's own */
    DAMAGED(205);
    --f.peers[1].unexpected.queue.index->queue_nodes;
    DAMAGED(0);
#undef DAMAGED
    end(&f);
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
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_any_source_is_fair),
        cmocka_unit_test(test_any_source_is_fair_between_tags),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_end_with_cancelled),
        cmocka_unit_test(test_cancels_need_no_index),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_long),
        cmocka_unit_test(test_index_when_it_pays),
        cmocka_unit_test(test_index_that_is_useless),
        cmocka_unit_test(test_index_hysteresis),
        cmocka_unit_test(test_many_peers),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_walk_leaves_nothing),
        cmocka_unit_test(test_verify_sees_damage),
    };

    return cmocka_run_group_tests_name("llamatch_engine", tests, NULL, NULL);
}
