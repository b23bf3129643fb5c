/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_lane: small, short and long lanes, and how they become one another. */
#include "llamatch_test_engine.h"

/* Few entries are a short lane, whatever is taken; more are not, until few are left. */
static void test_short(void **state)
{
    enum { ENTRIES = 32 };
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[0].unexpected;

    (void) state;
    begin(&f, ENTRIES, LLAMATCH_AUTO, 64);
    assert_false(llamatch_lane_is_short(lane)); /* it has no array yet */
    for (int i = 0; i < ENTRIES; ++i) {
        arrive(&f, 0, i, i);
        assert_true(llamatch_lane_is_short(lane));
    }
    /* The first, the last, and from either half of what is between. */
    assert_ptr_equal(ITEM(0), receive(&f, 0, 0));
    assert_ptr_equal(ITEM(31), receive(&f, 0, 31));
    assert_ptr_equal(ITEM(5), receive(&f, 0, 5));
    assert_ptr_equal(ITEM(25), receive(&f, 0, 25));
    assert_int_equal(ENTRIES - 4, llamatch_lane_count(lane));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    /* No room at the end of the array: nothing moves. */
    while (llamatch_lane_is_short(lane)) {
        arrive(&f, 0, 100, 40);
    }
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    for (int i = 1; i < 31; ++i) {
        if (5 != i && 25 != i) {
            assert_ptr_equal(ITEM(i), receive(&f, 0, i));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
    }
    assert_true(llamatch_lane_is_short(lane));
    while (0 < llamatch_lane_count(lane)) {
        assert_ptr_equal(ITEM(40), receive(&f, 0, LLAMATCH_ANY_TAG));
    }
    assert_int_equal(0, f.engine.num_unexpected);
    end(&f);
}

/* Four entries for each of many peers need no memory of the arena, some more a small array, and
 * more of them a large one; without memory nothing changes. */
static void test_sizes_of_arrays(void **state)
{
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[3].posted;
    size_t moved = num_moved;
    int i = 0;

    (void) state;
    begin(&f, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
    for (; i < NUM_PEERS * LLAMATCH_OWN_ENTRIES; ++i) {
        post(&f, i % NUM_PEERS, i, i);
    }
    assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    for (int larger = 0; larger < 2; ++larger) {
        uint32_t before = llamatch_lane_count(lane);

        f.alloc.fail_at = f.alloc.requests + 1;
        assert_int_equal(
            LLAMATCH_ERR_NO_MEMORY,
            llamatch_engine_post(&f.engine, &f.peers[3], 1000, ITEM(1000), &things[1000].place));
        f.alloc.fail_at = 0;
        assert_int_equal(before, llamatch_lane_count(lane));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        for (; i < NUM_PEERS * LLAMATCH_SMALL_ENTRIES; ++i) {
            post(&f, i % NUM_PEERS, i, i);
        }
        assert_int_equal(NUM_PEERS * 192, llamatch_pool_used_bytes(f.pool));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    post(&f, 3, 1000, 1000);
    assert_true(llamatch_lane_is_short(lane));
    assert_int_equal(LLAMATCH_SHORT_MAX, lane->room);
    assert_int_equal(moved, num_moved); /* they are found by their lane */
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    /* The place of each is known, also of those that have moved. */
    assert_int_equal(LLAMATCH_OK, cancel(&f, 3, 3 + NUM_PEERS));
    assert_ptr_equal(ITEM(3), match(&f, 3, 3));
    assert_ptr_equal(ITEM(1000), match(&f, 3, 1000));
    /* What is empty has given its array back. */
    for (i = 0; i < NUM_PEERS * LLAMATCH_SMALL_ENTRIES; ++i) {
        if (3 != i && 3 + NUM_PEERS != i) {
            assert_ptr_equal(ITEM(i), match(&f, i % NUM_PEERS, i));
        }
    }
    assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
    end(&f);
}

/* A lane that never gets empty stays short: its entries go back to the array's start. */
static void test_short_for_ever(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
    for (int i = 0; i < 1000; ++i) {
        arrive(&f, 0, i, i);
        assert_true(llamatch_lane_is_short(&f.peers[0].unexpected));
        if (30 <= i) {
            assert_ptr_equal(ITEM(i - 30), receive(&f, 0, i - 30));
        }
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    end(&f);
}

/* Receives for any source and for any tag are found in order, also where others are taken between.
 */
static void test_receives(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
    for (int i = 0; i < 6; ++i) {
        post(&f, 0, (i < 3) ? 10 + i : 1, i);
    }
    assert_ptr_equal(ITEM(3), match(&f, 0, 1));
    post(&f, ANY, 1, 6);
    post(&f, 0, LLAMATCH_ANY_TAG, 7);
    post(&f, ANY, 10, 8);
    assert_ptr_equal(ITEM(4), match(&f, 0, 1));
    assert_ptr_equal(ITEM(5), match(&f, 0, 1));
    assert_ptr_equal(ITEM(6), match(&f, 0, 1));
    assert_ptr_equal(ITEM(0), match(&f, 0, 10));
    assert_ptr_equal(ITEM(7), match(&f, 0, 10));
    post(&f, 0, 10, 9);
    assert_ptr_equal(ITEM(8), match(&f, 0, 10)); /* the wild one is older */
    assert_ptr_equal(ITEM(9), match(&f, 0, 10));
    /* Cancelled at the front, at the end, and the last one of all. */
    post(&f, 0, 10, 3);
    post(&f, 0, 10, 4);
    post(&f, 0, 13, 5);
    assert_ptr_equal(ITEM(3), match(&f, 0, 10));
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 1));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_int_equal(LLAMATCH_NOT_FOUND, cancel(&f, 0, 3));
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 5));
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 4));
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    assert_int_equal(LLAMATCH_OK, cancel(&f, 0, 2));
    assert_int_equal(0, f.engine.num_posted);
    end(&f);
}

/* Every number of entries that are left, with all of them taken before that, becomes a long lane,
 * and is visited in order as it is and as that. */
static bool in_order(void *context, int32_t tag, void *item)
{
    int *next = context;

    (void) tag;
    assert_ptr_equal(ITEM(*next), item);
    ++*next;
    return false;
}

static void test_short_to_long(void **state)
{
    (void) state;
    for (int taken = 0; taken < LLAMATCH_SHORT_MAX; ++taken) {
        fixture_t f;
        int next = taken, last = LLAMATCH_SHORT_MAX;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
        for (int i = 0; i < LLAMATCH_SHORT_MAX; ++i) {
            arrive(&f, 0, 1, i);
        }
        for (int i = 0; i < taken; ++i) {
            assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
        }
        assert_true(llamatch_lane_is_short(&f.peers[0].unexpected));
        assert_int_equal(0, llamatch_engine_walk_unexpected(&f.engine, in_order, &next));
        assert_int_equal(last, next);
        while (llamatch_lane_is_short(&f.peers[0].unexpected)) {
            arrive(&f, 0, 1, last++);
        }
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
        next = taken;
        assert_int_equal(0, llamatch_engine_walk_unexpected(&f.engine, in_order, &next));
        assert_int_equal(last, next);
        for (int i = taken; i < last; ++i) {
            assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
        }
        assert_null(receive(&f, 0, 1));
        end(&f);
    }
}

/* A lane that is full and has more than half of its entries is not short any more, and is again
 * when a quarter of an array is left, not before; it gives it back when it is empty. */
/* Bursts behind entries that wait for long: the array does not fill with what has gone. */
static void test_bursts_behind(void **state)
{
    enum { BURST = 64, ROUNDS = 100 };

    (void) state;
    for (int waiting = 1; waiting <= 16; ++waiting) {
        fixture_t f;
        const llamatch_lane_t *lane = &f.peers[0].unexpected;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
        for (int i = 0; i < waiting; ++i) {
            arrive(&f, 0, 10 + i, 10 + i);
        }
        for (int round = 0; round < ROUNDS; ++round) {
            for (int i = 0; i < BURST; ++i) {
                arrive(&f, 0, 1, 100 + i);
            }
            for (int i = 0; i < BURST; ++i) {
                assert_ptr_equal(ITEM(100 + i), receive(&f, 0, 1));
            }
            assert_true(llamatch_lane_is_short(lane));
            assert_int_equal(waiting, lane->end);
        }
        end(&f);
    }
}

static void test_short_again(void **state)
{
    enum { ENTRIES = 128, FEW = LLAMATCH_SHORT_MAX * 3 / 4 };
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[0].unexpected;
    int visited = 0;

    (void) state;
    begin(&f, ENTRIES, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
    for (int i = 0; i < LLAMATCH_SHORT_MAX; ++i) {
        arrive(&f, 0, i, i);
    }
    assert_ptr_equal(ITEM(0), receive(&f, 0, 0));
    assert_true(llamatch_lane_is_short(lane));
    arrive(&f, 0, LLAMATCH_SHORT_MAX, LLAMATCH_SHORT_MAX);
    assert_false(llamatch_lane_is_short(lane));
    arrive(&f, 0, 1000, 1000);
    assert_ptr_equal(ITEM(1000), receive(&f, 0, 1000));
    for (int i = 1; i <= LLAMATCH_SHORT_MAX; ++i) {
        assert_int_equal(llamatch_lane_count(lane) <= FEW, llamatch_lane_is_short(lane));
        assert_ptr_equal(ITEM(i), receive(&f, 0, i));
    }
    assert_true(llamatch_lane_is_short(lane));
    assert_int_equal(0, llamatch_pool_used_bytes(f.pool));
    arrive(&f, 0, -2, 0);
    assert_int_equal(0, llamatch_engine_walk_unexpected(&f.engine, user_tags, &visited));
    assert_int_equal(1, visited);
    assert_true(llamatch_lane_is_short(lane));
    end(&f);
}

/* In a short lane, too: messages do not have the tag ANY_TAG, and a receive for any tag is found
 * wherever it is, by user's tags only. */
static void test_short_any_tag(void **state)
{
    (void) state;
    for (int at = 0; at < LLAMATCH_SHORT_MAX; ++at) {
        fixture_t f;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
        for (int i = 0; i < LLAMATCH_SHORT_MAX; ++i) {
            post(&f, 0, (i == at) ? LLAMATCH_ANY_TAG : 10 + i, i);
            arrive(&f, 0, (i == at) ? 5 : -10 - i, i);
        }
        arrive(&f, 0, LLAMATCH_ANY_TAG, LLAMATCH_SHORT_MAX); /* nobody receives it */
        arrive(&f, 1, LLAMATCH_ANY_TAG, LLAMATCH_SHORT_MAX + 1);
        assert_null(match(&f, 0, -10));
        assert_ptr_equal(ITEM(at), match(&f, 0, 5));
        assert_null(match(&f, 0, 5));
        assert_ptr_equal(ITEM(at), receive(&f, 0, LLAMATCH_ANY_TAG));
        assert_null(receive(&f, 0, LLAMATCH_ANY_TAG));
        end(&f);
    }
    {
        fixture_t f;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
        arrive(&f, 0, 1, 1); /* there is room */
        arrive(&f, 0, LLAMATCH_ANY_TAG, 0);
        arrive(&f, 0, 2, 2);
        assert_ptr_equal(ITEM(1), receive(&f, 0, LLAMATCH_ANY_TAG));
        assert_ptr_equal(ITEM(2), receive(&f, 0, LLAMATCH_ANY_TAG));
        assert_null(receive(&f, 0, LLAMATCH_ANY_TAG));
        end(&f);
    }
}

/* Cancelled at every index of a lane of which one was taken, one after the other, from each of them
 * on: the others stay in order. */
static void test_cancels(void **state)
{
    enum { FRONT = 5, ALL = 12 }; /* the first one behind the front is taken */

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

/* Short lanes are merged as queues are. */
static void test_merge_short(void **state)
{
    enum { ALL = 24 };

    (void) state;
    for (int wild_at = 0; wild_at < ALL; ++wild_at) {
        for (int specific_at = 0; specific_at < ALL; ++specific_at) {
            fixture_t f;

            begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
            for (int i = 0; i < ALL; ++i) {
                post_both(&f, i, wild_at, specific_at);
            }
            match_both(&f, wild_at, specific_at);
            end(&f);
        }
    }
}

/* What has been passed by a search for one tag is found by one for another, and in order. */
static void test_other_tags(void **state)
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
    for (int i = 0; i < 6; i += 2) {
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

/* What is looked at, and counted: of two lanes no more than is needed. */
static void test_depths(void **state)
{
    enum { OTHERS = 20, BURST = 40 };
    fixture_t f;

    (void) state;
    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
    for (int i = 0; i < 20; ++i) {
        post(&f, 0, i, i);
    }
    assert_ptr_equal(ITEM(12), match(&f, 0, 12));
    assert_int_equal(13, posted_depth(&f));
    end(&f);

    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
    post(&f, ANY, 9, 0);
    post(&f, 0, 2, 1);
    assert_ptr_equal(ITEM(1), match(&f, 0, 2)); /* the other one is older */
    assert_int_equal(2, posted_depth(&f));
    end(&f);

    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
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

    begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
    for (int i = 0; i < OTHERS + BURST; ++i) {
        arrive(&f, 0, (i < OTHERS) ? 10 + i : 1, i);
    }
    for (int i = OTHERS; i < OTHERS + BURST; ++i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, 1));
    }
    assert_int_equal((OTHERS + 1) * BURST, unexpected_depth(&f));
    assert_null(receive(&f, 0, 1));
    assert_int_equal((OTHERS + 1) * BURST + OTHERS, unexpected_depth(&f));
    end(&f);
}

/* Messages that are searched deeply get an index, which goes when few are left and comes back. */
static void test_index_of_messages(void **state)
{
    enum { MANY = 400, FEW = 16, BURST = 20 };
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[0].unexpected;
    int next = 1000;

    (void) state;
    begin(&f, 32, LLAMATCH_AUTO, 4 * FEW);
    for (int i = 0; i < MANY; ++i) {
        arrive(&f, 0, i, i);
    }
    for (int i = MANY - 1; FEW <= i; --i) {
        assert_ptr_equal(ITEM(i), receive(&f, 0, i));
        if (MANY / 2 == i) {
            assert_true(llamatch_lane_has_index(lane));
        }
    }
    assert_false(llamatch_lane_has_index(lane));
    for (int i = 0; i < BURST; ++i) {
        arrive(&f, 0, 500, next + i);
    }
    assert_ptr_equal(ITEM(next), receive(&f, 0, 500));
    for (int i = BURST; !llamatch_lane_has_index(lane); ++i) {
        assert_in_range(i, 0, 4 * FEW);
        arrive(&f, 0, 500, next + i);
    }
    while (FEW < llamatch_lane_count(lane)) {
        ++next;
        assert_ptr_equal(ITEM(next), receive(&f, (0 == next % 2) ? ANY : 0, 500));
        assert_int_equal(0, llamatch_engine_verify(&f.engine));
    }
    assert_null(receive(&f, 0, 500));
    end(&f);
}

/* Messages in the second word of an array, with library messages before them that a receive for any
 * tag does not take. Received from the source, and from any while another one has messages. */
static void test_second_word(void **state)
{
    enum { LIBRARY = 60, OTHERS = 11, BURST = 29 };
    static const int32_t sources[] = {0, ANY};

    (void) state;
    for (int s = 0; s < 2; ++s) {
        fixture_t f;
        int32_t source = sources[s];
        int next = 0;

        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
        arrive(&f, 1, -11, 1000);
        for (; next < LIBRARY + OTHERS + BURST; ++next) {
            arrive(&f, 0, (next < LIBRARY) ? -10 : (next < LIBRARY + OTHERS) ? 3 : 1, next);
        }
        assert_ptr_equal(ITEM(LIBRARY + OTHERS), receive(&f, source, 1));
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

        begin(&f, ENTRIES, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
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

/* Receives for a source and for any source with the same tag, one of them in a long lane: the older
 * ones are matched first. */
static void test_long_and_short(void **state)
{
    fixture_t f;

    (void) state;
    for (int wild = 0; wild < 2; ++wild) {
        begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_SHORT_MAX);
        for (int i = 0; i <= LLAMATCH_SHORT_MAX; ++i) {
            post(&f, wild ? ANY : 0, 0, i);
        }
        post(&f, wild ? 0 : ANY, 0, 200);
        for (int i = 0; i <= LLAMATCH_SHORT_MAX; ++i) {
            assert_ptr_equal(ITEM(i), match(&f, 0, 0));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
        assert_ptr_equal(ITEM(200), match(&f, 0, 0));
        end(&f);
    }
}

/* Both lanes in every pair of forms, small, short, long and indexed, and with ANY_TAG in either:
 * the older one of two matches is taken, wherever the two are. */
static void test_pairs_of_forms(void **state)
{
    static const int counts[] = {3, 30, 90, 300};

    (void) state;
    for (int pair = 0; pair < 4 * 4 * 4; ++pair) {
        int count[2] = {counts[pair % 4], counts[pair / 4 % 4]};
        int32_t tags[2] = {pair / 16 % 2 ? LLAMATCH_ANY_TAG : 1, pair / 32 ? LLAMATCH_ANY_TAG : 1};

        for (int older = 0; older < 2; ++older) {
            for (int at = 0; at < 3; ++at) { /* the first, one between, the last */
                fixture_t f;
                const llamatch_lane_t *lanes[2] = {&f.peers[2].posted, &f.engine.wild};
                void *want[2] = {ITEM(5000 + older), ITEM(5000 + !older)};
                int before[2] = {at * (count[0] - 1) / 2, at * (count[1] - 1) / 2};

                begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_INDEX_ABOVE);
                for (int i = 0; i < 300; ++i) {
                    for (int which = 0; which < 2; ++which) {
                        int lane = which ? !older : older;

                        if (i == before[lane]) {
                            post(&f, lane ? ANY : 2, tags[lane], 5000 + lane);
                        } else if (i < count[lane]) {
                            post(&f, lane ? ANY : 2, -1000 - i, 1000 * (lane + 1) + i);
                        }
                    }
                }
                for (int i = 0; i < 40; ++i) { /* 300 are indexed after that */
                    assert_null(match(&f, 2, -5));
                }
                for (int lane = 0; lane < 2; ++lane) {
                    assert_int_equal(count[lane] <= 64, llamatch_lane_is_short(lanes[lane]));
                    assert_int_equal(300 == count[lane], llamatch_lane_has_index(lanes[lane]));
                }
                /* which comes first also depends on how many are before it */
                if (before[older] > before[!older]) {
                    want[0] = ITEM(5000 + !older);
                    want[1] = ITEM(5000 + older);
                }
                assert_ptr_equal(want[0], match(&f, 2, 1));
                assert_int_equal(0, llamatch_engine_verify(&f.engine));
                assert_ptr_equal(want[1], match(&f, 2, 1));
                assert_null(match(&f, 2, 1));
                end(&f);
            }
        }
    }
}

/* What was moved to the array's start leaves copies behind: an index must not take such a copy for
 * the entry. */
static void test_index_after_moves(void **state)
{
    fixture_t f;
    const llamatch_lane_t *lane = &f.peers[0].posted;
    int next = 0;

    (void) state;
    begin(&f, 512, LLAMATCH_AUTO, LLAMATCH_INDEX_ABOVE);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 40; ++i, ++next) {
            post(&f, 0, next, next);
        }
        for (int i = next - 40; i < next - 10 * (1 + round); ++i) {
            assert_int_equal(LLAMATCH_OK, cancel(&f, 0, i));
        }
    }
    while (next < 400) {
        post(&f, 0, next, next);
        ++next;
    }
    for (int i = 0; i < 100000 && !llamatch_lane_has_index(lane); ++i) {
        assert_null(match(&f, 0, 9999));
    }
    assert_non_null(lane->queue.index);
    assert_int_equal(0, llamatch_engine_verify(&f.engine));
    for (int i = next - 1; 0 <= i; --i) {
        bool there = i >= 120 || (30 <= i && i < 40) || (60 <= i && i < 80) || (90 <= i && i < 120);

        assert_ptr_equal(there ? ITEM(i) : NULL, match(&f, 0, i));
        assert_null(match(&f, 0, i));
    }
    end(&f);
}

/* Other kinds have no short lanes, nor has a lane that may have an index from the first entry on.
 */
static void test_kinds(void **state)
{
    fixture_t f;

    (void) state;
    EACH_KIND(kind)
    {
        begin(&f, 32, kind, 64);
        for (int i = 0; i < 3; ++i) {
            post(&f, 0, i, i);
            arrive(&f, 0, i, i);
        }
        assert_int_equal(LLAMATCH_AUTO == kind, llamatch_lane_is_short(&f.peers[0].posted));
        assert_int_equal(LLAMATCH_AUTO == kind, llamatch_lane_is_short(&f.peers[0].unexpected));
        for (int i = 2; 0 <= i; --i) {
            assert_ptr_equal(ITEM(i), match(&f, 0, i));
            assert_ptr_equal(ITEM(i), receive(&f, 0, i));
            assert_int_equal(0, llamatch_engine_verify(&f.engine));
        }
        end(&f);
    }
    begin(&f, 32, LLAMATCH_AUTO, 0);
    post(&f, 0, 1, 1);
    assert_false(llamatch_lane_is_short(&f.peers[0].posted));
    end(&f);
}

static void test_damage(void **state)
{
    fixture_t f;
    llamatch_lane_t *lane = &f.peers[0].posted;

    (void) state;
#define DAMAGED(number) assert_int_equal(number, llamatch_engine_verify(&f.engine))
#define DAMAGE(field, wrong, number)      \
    do {                                  \
        __typeof__(field) right_ = field; \
                                          \
        field = wrong;                    \
        DAMAGED(number);                  \
        field = right_;                   \
        DAMAGED(0);                       \
    } while (0)
    begin(&f, 32, LLAMATCH_AUTO, 64);
    post(&f, 0, 1, 1);
    post(&f, 0, 1, 2);
    DAMAGE(lane->live, 1, 101);
    DAMAGE(lane->live, 1 << LLAMATCH_SMALL_ENTRIES, 21);
    DAMAGE(lane->room, 33, 21);
    DAMAGE(lane->room, LLAMATCH_SMALL_ENTRIES + 1, 21);
    DAMAGE(lane->slots[1].seq, lane->slots[0].seq, 22);
    DAMAGE(lane->slots[1].seq, f.engine.next_post, 105);
    for (int i = 3; i < 20; ++i) {
        post(&f, 0, 1, i);
    }
    DAMAGE(lane->queue.count, 1, 1); /* the queue's own */
    DAMAGE(lane->queue.head->live, 1, 4);
    DAMAGE(lane->tags, lane->tags + 1, 22);
    DAMAGE(lane->slots, lane->slots + 1, 22);
    for (int i = 20; i < 40; ++i) {
        post(&f, 0, 1, i);
    }
    assert_true(llamatch_lane_is_open(lane));
    DAMAGE(lane->live, 1, 101);
    DAMAGE(lane->live, 0, 21);
    DAMAGE(lane->tags, lane->tags + 64, 22);
    DAMAGE(lane->tags, lane->tags + 1, 22);
    DAMAGE(lane->slots, lane->slots + 1, 22);
    DAMAGE(lane->queue.head->bits[0], 2, 22);
    DAMAGE(lane->queue.count, lane->queue.count + 1, 1);
    DAMAGE(lane->slots[3].seq, lane->slots[4].seq, 5);
    assert_null(match(&f, 0, 2));
    assert_false(llamatch_lane_has_front(lane));
    DAMAGE(lane->live, 1, 21);
    DAMAGE(lane->live, 0, 21);
#undef DAMAGE
#undef DAMAGED
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_sizes_of_arrays),
        cmocka_unit_test(test_short_for_ever),
        cmocka_unit_test(test_receives),
        cmocka_unit_test(test_short_to_long),
        cmocka_unit_test(test_short_again),
        cmocka_unit_test(test_bursts_behind),
        cmocka_unit_test(test_short_any_tag),
        cmocka_unit_test(test_cancels),
        cmocka_unit_test(test_merge_short),
        cmocka_unit_test(test_other_tags),
        cmocka_unit_test(test_depths),
        cmocka_unit_test(test_index_of_messages),
        cmocka_unit_test(test_second_word),
        cmocka_unit_test(test_last_of_array),
        cmocka_unit_test(test_long_and_short),
        cmocka_unit_test(test_pairs_of_forms),
        cmocka_unit_test(test_index_after_moves),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_bursts_at_random),
    };

    return cmocka_run_group_tests_name("llamatch_lane", tests, NULL, NULL);
}
