/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_queue: order, holes, trimming, keys, failure of the allocator, and a naive model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_queue.h"
#include "llamatch_test_alloc.h"

#include <stdio.h>
#include <string.h>

static int things[4096]; /* items are addresses in here */

#define ITEM(i) ((void *) &things[i])

typedef struct {
    test_alloc_t alloc;
    llamatch_nodes_t nodes;
    llamatch_queue_t queue;
} fixture_t;

static void begin(fixture_t *f, uint32_t entries, uint32_t max_spare, size_t max_idle)
{
    llamatch_allocator_t allocator = test_alloc_make(&f->alloc);

    assert_int_equal(LLAMATCH_OK,
                     llamatch_nodes_init(&f->nodes, entries, max_spare, max_idle, &allocator));
    llamatch_queue_init(&f->queue);
}

static void end(fixture_t *f)
{
    assert_int_equal(0, llamatch_queue_verify(&f->queue, &f->nodes));
    llamatch_queue_clear(&f->queue, &f->nodes);
    llamatch_nodes_fini(&f->nodes);
    assert_int_equal(0, f->nodes.num_used);
    assert_int_equal(0, f->alloc.in_use);
    assert_false(f->alloc.wrong_sizes);
}

static void *take_first(fixture_t *f, llamatch_key_t key)
{
    llamatch_pos_t pos = llamatch_queue_find(&f->queue, &f->nodes, key);

    return (NULL == pos.node) ? NULL : llamatch_queue_remove(&f->queue, &f->nodes, pos);
}

static void test_entries_checked(void **state)
{
    static const uint32_t good[] = {2, 4, 16, 512}, bad[] = {0, 1, 3, 12, 1024, UINT32_MAX};
    llamatch_nodes_t nodes;

    (void) state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); ++i) {
        assert_int_equal(LLAMATCH_OK, llamatch_nodes_init(&nodes, good[i], 0, 0, NULL));
        assert_int_equal(0, nodes.node_bytes % LLAMATCH_LINE);
        assert_int_equal(0, nodes.slots_offset % sizeof(void *));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        assert_int_equal(LLAMATCH_ERR_ARGUMENT, llamatch_nodes_init(&nodes, bad[i], 0, 0, NULL));
    }
}

static void test_keys(void **state)
{
    static const int32_t tags[] = {INT32_MIN, -100, -2, 0, 1, 77, INT32_MAX};
    static const int32_t wanted[] = {INT32_MIN, -100, -2, LLAMATCH_ANY_TAG, 0, 1, 77, INT32_MAX};

    (void) state;
    for (size_t m = 0; m < sizeof(tags) / sizeof(tags[0]); ++m) {
        for (size_t r = 0; r < sizeof(wanted) / sizeof(wanted[0]); ++r) {
            bool right = tags[m] == wanted[r] || (LLAMATCH_ANY_TAG == wanted[r] && 0 <= tags[m]);

            assert_int_equal(right,
                             llamatch_key_accepts(llamatch_key_of_message(tags[m]), wanted[r]));
            assert_int_equal(right,
                             llamatch_key_accepts(llamatch_key_of_receive(wanted[r]), tags[m]));
        }
    }
}

static void test_fifo(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 4, 2, 0);
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(LLAMATCH_OK,
                         llamatch_queue_append(&f.queue, &f.nodes, i % 3, (uint64_t) i, ITEM(i)));
    }
    assert_int_equal(100, f.queue.count);
    assert_int_equal(25, f.nodes.num_used);
    for (int i = 1; i < 100; i += 3) {
        assert_ptr_equal(ITEM(i), take_first(&f, llamatch_key_of_receive(1)));
    }
    assert_null(take_first(&f, llamatch_key_of_receive(1)));
    assert_int_equal(67, f.queue.count);
    for (int i = 0; i < 100; ++i) {
        if (1 != i % 3) {
            assert_ptr_equal(ITEM(i), take_first(&f, llamatch_key_of_receive(LLAMATCH_ANY_TAG)));
        }
    }
    assert_int_equal(0, f.queue.count);
    assert_null(f.queue.head);
    /* This empty queue keeps no node, and of the unused ones only the agreed number is kept. */
    assert_int_equal(0, f.nodes.num_used);
    assert_int_equal(2, f.nodes.num_spare);
    assert_int_equal(2, f.alloc.in_use);
    end(&f);
}

static void test_holes_and_trimming(void **state)
{
    fixture_t f;
    llamatch_pos_t pos;

    (void) state;
    begin(&f, 4, 0, 0);
    for (int i = 0; i < 8; ++i) {
        assert_int_equal(LLAMATCH_OK,
                         llamatch_queue_append(&f.queue, &f.nodes, 5, (uint64_t) i, ITEM(i)));
    }
    /* A hole in the middle has the tag that is searched for, and must not be found. */
    pos = llamatch_queue_find_seq(&f.queue, &f.nodes, 1);
    assert_ptr_equal(ITEM(1), llamatch_queue_remove(&f.queue, &f.nodes, pos));
    assert_null(llamatch_queue_find_seq(&f.queue, &f.nodes, 1).node);
    assert_ptr_equal(ITEM(0), take_first(&f, llamatch_key_of_receive(5)));
    assert_int_equal(2, f.queue.head->first); /* the hole went with its neighbour */
    assert_int_equal(2, f.queue.head->first_seq);
    assert_int_equal(0, llamatch_queue_verify(&f.queue, &f.nodes));
    /* At the end: the slot is used again by the next append. */
    pos = llamatch_queue_find_seq(&f.queue, &f.nodes, 6);
    (void) llamatch_queue_remove(&f.queue, &f.nodes, pos);
    pos = llamatch_queue_find_seq(&f.queue, &f.nodes, 7);
    (void) llamatch_queue_remove(&f.queue, &f.nodes, pos);
    assert_int_equal(2, f.queue.tail->end);
    assert_int_equal(LLAMATCH_OK, llamatch_queue_append(&f.queue, &f.nodes, 6, 8, ITEM(8)));
    assert_int_equal(2, f.nodes.num_used);
    assert_ptr_equal(ITEM(8), take_first(&f, llamatch_key_of_receive(6)));
    /* Empty a node in the middle of the list of three. */
    for (int i = 9; i < 17; ++i) {
        assert_int_equal(LLAMATCH_OK,
                         llamatch_queue_append(&f.queue, &f.nodes, 5, (uint64_t) i, ITEM(i)));
    }
    while (f.queue.head->next->live > 0 && f.nodes.num_used == 4) {
        pos.node = f.queue.head->next;
        pos.index = pos.node->first;
        (void) llamatch_queue_remove(&f.queue, &f.nodes, pos);
        assert_int_equal(0, llamatch_queue_verify(&f.queue, &f.nodes));
    }
    assert_int_equal(3, f.nodes.num_used);
    end(&f);
}

/* Up to max_idle nodes in use, an emptied queue keeps its node; above, it gives it back. */
static void test_idle_nodes(void **state)
{
    fixture_t f;
    llamatch_queue_t queues[5];

    (void) state;
    begin(&f, 4, 0, 3);
    for (int round = 0; round < 3; ++round) {
        for (int q = 0; q < 5; ++q) {
            if (0 == round) {
                llamatch_queue_init(&queues[q]);
            }
            for (int i = 0; i < 6; ++i) {
                assert_int_equal(LLAMATCH_OK,
                                 llamatch_queue_append(&queues[q], &f.nodes, i,
                                                       (uint64_t) (10 * round + i), ITEM(i)));
            }
        }
        assert_int_equal(10, f.nodes.num_used);
        for (int q = 0; q < 5; ++q) {
            for (int i = 5; i >= 0; --i) {
                llamatch_pos_t pos =
                    llamatch_queue_find(&queues[q], &f.nodes, llamatch_key_of_receive(i));

                assert_ptr_equal(ITEM(i), llamatch_queue_remove(&queues[q], &f.nodes, pos));
                assert_int_equal(0, llamatch_queue_verify(&queues[q], &f.nodes));
            }
            assert_null(
                llamatch_queue_find(&queues[q], &f.nodes, llamatch_key_of_receive(-1)).node);
            assert_null(llamatch_queue_find_seq(&queues[q], &f.nodes, 0).node);
        }
        /* The last ones to become empty found few enough nodes in use. */
        assert_null(queues[0].head);
        assert_non_null(queues[4].head);
        assert_true(f.nodes.num_used <= 3);
        assert_int_equal(f.nodes.num_used, f.alloc.in_use);
    }
    for (int q = 0; q < 5; ++q) {
        llamatch_queue_clear(&queues[q], &f.nodes);
    }
    end(&f);
}

static bool odd_item(void *context, int32_t tag, void *item)
{
    size_t *visited = context;
    int index = (int) ((int *) item - things);

    assert_int_equal(index % 7, tag);
    assert_true((size_t) index >= *visited); /* in order */
    *visited = (size_t) index;
    return 1 == index % 2;
}

static bool every_item(void *context, int32_t tag, void *item)
{
    (void) context;
    (void) tag;
    (void) item;
    return true;
}

static void test_walk(void **state)
{
    fixture_t f;
    size_t visited = 0;

    (void) state;
    begin(&f, 8, 1, 0);
    for (int i = 0; i < 101; ++i) {
        assert_int_equal(LLAMATCH_OK,
                         llamatch_queue_append(&f.queue, &f.nodes, i % 7, (uint64_t) i, ITEM(i)));
    }
    assert_int_equal(50, llamatch_queue_walk(&f.queue, &f.nodes, odd_item, &visited));
    assert_int_equal(100, visited);
    assert_int_equal(51, f.queue.count);
    assert_int_equal(0, llamatch_queue_verify(&f.queue, &f.nodes));
    assert_int_equal(51, llamatch_queue_walk(&f.queue, &f.nodes, every_item, NULL));
    assert_int_equal(0, llamatch_queue_walk(&f.queue, &f.nodes, every_item, NULL));
    end(&f);
}

static void test_no_memory(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 2, 0, 0);
    f.alloc.fail_at = 2;
    assert_int_equal(LLAMATCH_OK, llamatch_queue_append(&f.queue, &f.nodes, 1, 1, ITEM(1)));
    assert_int_equal(LLAMATCH_OK, llamatch_queue_append(&f.queue, &f.nodes, 2, 2, ITEM(2)));
    assert_int_equal(LLAMATCH_ERR_NO_MEMORY,
                     llamatch_queue_append(&f.queue, &f.nodes, 3, 3, ITEM(3)));
    assert_int_equal(2, f.queue.count);
    assert_int_equal(0, llamatch_queue_verify(&f.queue, &f.nodes));
    assert_int_equal(LLAMATCH_OK, llamatch_queue_append(&f.queue, &f.nodes, 3, 3, ITEM(3)));
    assert_ptr_equal(ITEM(3), take_first(&f, llamatch_key_of_receive(3)));
    end(&f);
}

static void test_verify_sees_damage(void **state)
{
    fixture_t f;
    llamatch_node_t *node;

    (void) state;
    begin(&f, 4, 0, 0);
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(LLAMATCH_OK,
                         llamatch_queue_append(&f.queue, &f.nodes, 0, (uint64_t) i, ITEM(i)));
    }
    node = f.queue.head;
    ++f.queue.count;
    assert_int_equal(1, llamatch_queue_verify(&f.queue, &f.nodes));
    --f.queue.count;
    node->next->prev = NULL;
    assert_int_equal(2, llamatch_queue_verify(&f.queue, &f.nodes));
    node->next->prev = node;
    node->end = 5;
    assert_int_equal(3, llamatch_queue_verify(&f.queue, &f.nodes));
    node->end = 4;
    ++node->live;
    assert_int_equal(4, llamatch_queue_verify(&f.queue, &f.nodes));
    --node->live;
    llamatch_node_slots(&f.nodes, node)[1].seq = 3;
    assert_int_equal(5, llamatch_queue_verify(&f.queue, &f.nodes));
    llamatch_node_slots(&f.nodes, node)[1].seq = 1;
    ++node->first_seq;
    assert_int_equal(6, llamatch_queue_verify(&f.queue, &f.nodes));
    --node->first_seq;
    end(&f);
}

/* The naive model: a flat array in order. */
typedef struct {
    int32_t tag;
    uint64_t seq;
    void *item;
} model_entry_t;

static void run_model(uint64_t seed, uint32_t entries, int operations)
{
    static model_entry_t model[4096];
    size_t count = 0;
    uint64_t seq = 0;
    fixture_t f;

    begin(&f, entries, 3, entries / 8);
    for (int step = 0; step < operations; ++step) {
        uint32_t what = test_random(&seed, 100);
        /* Long phases of growing and of shrinking reach deep and empty queues. */
        bool grow = 0 == (step / 3000) % 2;

        if (what < (grow ? 55u : 35u) && count < 2000) {
            model_entry_t entry = {(int32_t) test_random(&seed, 24) - 4, seq,
                                   ITEM(test_random(&seed, 4096))};

            assert_int_equal(LLAMATCH_OK, llamatch_queue_append(&f.queue, &f.nodes, entry.tag,
                                                                entry.seq, entry.item));
            model[count++] = entry;
            seq += 1 + test_random(&seed, 3);
        } else if (what < 95) {
            int32_t tag = (int32_t) test_random(&seed, 24) - 4;
            bool message = test_random(&seed, 2);
            llamatch_key_t key =
                message ? llamatch_key_of_message(tag) : llamatch_key_of_receive(tag);
            llamatch_pos_t pos = llamatch_queue_find(&f.queue, &f.nodes, key);
            size_t i = 0;

            while (i < count
                   && !(model[i].tag == tag
                        || (message ? (-1 == model[i].tag && 0 <= tag)
                                    : (-1 == tag && 0 <= model[i].tag)))) {
                ++i;
            }
            /* A plain receive for tag -1 is ANY_TAG, which the library's own tags never match. */
            if (!message && -1 == tag) {
                for (i = 0; i < count && 0 > model[i].tag; ++i) {
                }
            }
            if (i == count) {
                assert_null(pos.node);
            } else {
                assert_non_null(pos.node);
                assert_ptr_equal(model[i].item, llamatch_queue_remove(&f.queue, &f.nodes, pos));
                memmove(&model[i], &model[i + 1], (--count - i) * sizeof(model[0]));
            }
        } else if (0 < count) {
            size_t i = test_random(&seed, (uint32_t) count);
            llamatch_pos_t pos = llamatch_queue_find_seq(&f.queue, &f.nodes, model[i].seq);

            assert_non_null(pos.node);
            assert_ptr_equal(model[i].item, llamatch_queue_remove(&f.queue, &f.nodes, pos));
            memmove(&model[i], &model[i + 1], (--count - i) * sizeof(model[0]));
        }
        assert_int_equal(count, f.queue.count);
        if (0 == step % 509) {
            assert_int_equal(0, llamatch_queue_verify(&f.queue, &f.nodes));
        }
    }
    end(&f);
}

static void test_model(void **state)
{
    uint64_t seed = test_seed(20260101);

    (void) state;
    printf("seed: LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    run_model(seed, 2, 100000);
    run_model(seed + 1, 16, 100000);
    run_model(seed + 2, 512, 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_checked),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_holes_and_trimming),
        cmocka_unit_test(test_idle_nodes),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("llamatch_queue", tests, NULL, NULL);
}
