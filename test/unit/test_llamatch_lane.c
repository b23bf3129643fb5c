/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_lane: short queues, their gap, bursts, and how they become long ones and back. */
#include "llamatch_test_engine.h"

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

                begin(&f, 128, LLAMATCH_AUTO, LLAMATCH_DENSE_MAX);
                for (int i = 0; i < ALL; ++i) {
                    if (passed == i) {
                        assert_null(match(&f, 2, 7));
                    }
                    post_both(&f, i, wild_at, specific_at);
                }
                match_both(&f, wild_at, specific_at);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };

    return cmocka_run_group_tests_name("llamatch_lane", tests, NULL, NULL);
}
