/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_queue: layout, order, holes, trimming, idle nodes, merging, keys, walk, failure of the
 * allocator, damage, and a naive model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_queue.h"
#include "llamatch_simd.h"
#include "llamatch_test_alloc.h"
#include "llamatch_verify.h"

#include <stdio.h>
#include <string.h>

/* Items; the queue tells where they are. */
static uint64_t places[8192];
static size_t num_moved;

#define ITEM(i) ((void *) &places[i])

static void item_moved(void *item, uint64_t place)
{
    *(uint64_t *) item = place;
    ++num_moved;
}

static int item_of(const void *item)
{
    return (int) ((const uint64_t *) item - places);
}

typedef struct {
    test_alloc_t alloc;
    llamatch_pool_t *pool;
    llamatch_shape_t shape;
    llamatch_queue_t queue;
} fixture_t;

static llamatch_find_fn_t best_find(void)
{
    const llamatch_simd_path_t *paths;

    (void) llamatch_simd_paths(&paths);
    return paths[0].find;
}

static void begin(fixture_t *f, uint32_t entries)
{
    llamatch_allocator_t allocator = test_alloc_make(&f->alloc);

    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(&allocator, &f->pool));
    assert_int_equal(LLAMATCH_OK,
                     llamatch_shape_init(&f->shape, f->pool, entries, best_find(), item_moved));
    llamatch_queue_init(&f->queue);
    num_moved = 0;
}

static size_t num_nodes(const fixture_t *f)
{
    return llamatch_pool_used_bytes(f->pool) / f->shape.nodes->node_bytes;
}

static void check(const fixture_t *f)
{
    assert_int_equal(0, llamatch_queue_verify(&f->queue, &f->shape));
}

static void end(fixture_t *f)
{
    check(f);
    llamatch_queue_clear(&f->queue, &f->shape);
    assert_int_equal(0, llamatch_pool_used_bytes(f->pool));
    llamatch_pool_destroy(f->pool);
    assert_int_equal(0, f->alloc.in_use);
    assert_false(f->alloc.wrong_sizes);
}

static bool try_append(fixture_t *f, int32_t tag, uint64_t seq, int item)
{
    llamatch_pos_t pos = llamatch_queue_append(&f->queue, &f->shape, tag, seq, ITEM(item));

    if (NULL != pos.node) {
        assert_ptr_equal(ITEM(item), llamatch_node_slots(&f->shape, pos.node)[pos.index].item);
        places[item] = (uintptr_t) pos.node;
    }
    return NULL != pos.node;
}

static void append(fixture_t *f, int32_t tag, uint64_t seq, int item)
{
    assert_true(try_append(f, tag, seq, item));
}

/* Remove an item by where it is said to be. */
static void take(fixture_t *f, int item)
{
    llamatch_pos_t pos = {(llamatch_node_t *) (uintptr_t) places[item], 0};

    pos.index = llamatch_node_next(pos.node, 0);
    while (ITEM(item) != llamatch_node_slots(&f->shape, pos.node)[pos.index].item) {
        pos.index = llamatch_node_next(pos.node, pos.index + 1);
        assert_true(pos.index < pos.node->end);
    }
    llamatch_queue_remove(&f->queue, &f->shape, pos);
}

static void *take_first(fixture_t *f, llamatch_key_t key)
{
    uint64_t examined = 0;
    llamatch_pos_t pos = llamatch_queue_find(&f->queue, &f->shape, key, UINT64_MAX, &examined);
    void *item;

    if (NULL == pos.node) {
        return NULL;
    }
    item = llamatch_node_slots(&f->shape, pos.node)[pos.index].item;
    llamatch_queue_remove(&f->queue, &f->shape, pos);
    return item;
}

/* The parts of a node do not overlap, and a search touches little per entry. */
static void test_shape(void **state)
{
    llamatch_pool_t *pool;
    llamatch_shape_t shape;

    (void) state;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &pool));
    for (uint32_t entries = 0; entries <= 2 * LLAMATCH_ENTRIES_MAX; ++entries) {
        bool good = 1 <= entries && entries <= 512 && 0 == (entries & (entries - 1));
        size_t bits_end = offsetof(llamatch_node_t, bits) + (entries + 63) / 64 * 8, tags_end;
        size_t blocks = (entries + LLAMATCH_BLOCK - 1) / LLAMATCH_BLOCK;
        llamatch_node_t *node;

        assert_int_equal(good ? LLAMATCH_OK : LLAMATCH_ERR_ARGUMENT,
                         llamatch_shape_init(&shape, pool, entries, best_find(), NULL));
        if (!good) {
            continue;
        }
        tags_end = shape.tags_offset + 4 * (size_t) entries;
        assert_true(bits_end <= shape.tags_offset);
        assert_true(tags_end <= shape.slots_offset);
        assert_int_equal(0, shape.slots_offset % sizeof(llamatch_slot_t));
        assert_int_equal(0, shape.tags_offset % sizeof(int32_t));
        assert_true(shape.slots_offset + 16 * (size_t) entries <= shape.nodes->node_bytes);
        /* What a search reads of the last block is still in the node. */
        assert_true(shape.tags_offset + blocks * LLAMATCH_BLOCK * 4 <= shape.nodes->node_bytes);
        assert_int_equal(shape.slots_offset, shape.nodes->key_bytes); /* is what is heated */
        /* Bytes per entry: 16, for both kinds of queue; 24 in arrays of two, and 44 in those of a
         * list. Usually 8. */
        assert_true(2 >= entries ? tags_end <= 40 + 4 * entries
                                 : shape.slots_offset <= 16 * entries);
        assert_true(LLAMATCH_ENTRIES_DEFAULT != entries || shape.slots_offset <= 8 * entries);

        node = llamatch_pool_get(shape.nodes);
        assert_non_null(node);
        memset(node, 0, shape.nodes->node_bytes);
        for (uint32_t i = 0; i < entries; ++i) {
            llamatch_slot_t slot = {i + 1, node};

            llamatch_node_tags(&shape, node)[i] = (int32_t) i;
            llamatch_node_slots(&shape, node)[i] = slot;
            node->bits[i / 64] |= UINT64_C(1) << i % 64;
        }
        node->end = entries;
        for (uint32_t i = 0; i < entries; ++i) {
            assert_int_equal(i, llamatch_node_tags(&shape, node)[i]);
            assert_int_equal(i + 1, llamatch_node_slots(&shape, node)[i].seq);
            assert_ptr_equal(node, llamatch_node_slots(&shape, node)[i].item);
            assert_int_equal(i, llamatch_node_next(node, i));
        }
        assert_null(node->next);
        llamatch_pool_put(shape.nodes, node);
    }
    llamatch_pool_destroy(pool);
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
    begin(&f, 4);
    for (int i = 0; i < 100; ++i) {
        append(&f, i % 3, (uint64_t) i, i);
    }
    assert_int_equal(100, f.queue.count);
    assert_int_equal(25, num_nodes(&f));
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
    assert_null(take_first(&f, llamatch_key_of_receive(LLAMATCH_ANY_TAG)));
    end(&f);
}

static void test_holes_and_trimming(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 4);
    for (int i = 0; i < 8; ++i) {
        append(&f, 5, (uint64_t) i, i);
    }
    /* A hole in the middle has the tag that is searched for, and must not be found. */
    take(&f, 1);
    assert_ptr_equal(ITEM(0), take_first(&f, llamatch_key_of_receive(5)));
    assert_ptr_equal(ITEM(2), take_first(&f, llamatch_key_of_receive(5)));
    check(&f);
    /* At the end: the hole before goes with the last one, and both are used again. */
    take(&f, 6);
    assert_int_equal(4, f.queue.tail->end);
    take(&f, 7);
    assert_int_equal(2, f.queue.tail->end);
    append(&f, 6, 8, 8);
    append(&f, 6, 9, 9);
    assert_int_equal(2, num_nodes(&f));
    assert_ptr_equal(ITEM(8), take_first(&f, llamatch_key_of_receive(6)));
    assert_ptr_equal(ITEM(3), take_first(&f, llamatch_key_of_receive(5)));
    /* The first array is empty and gone. */
    assert_int_equal(1, num_nodes(&f));
    check(&f);
    end(&f);
}

/* Trimming goes over words of the bitmap. */
static void test_trimming_of_long_arrays(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 512);
    for (int i = 0; i < 512; ++i) {
        append(&f, i, (uint64_t) i, i);
    }
    for (int i = 1; i < 511; ++i) {
        take(&f, i);
        assert_int_equal(512, f.queue.tail->end);
    }
    take(&f, 511);
    assert_int_equal(1, f.queue.tail->end);
    for (int i = 1; i < 512; ++i) {
        append(&f, 7, (uint64_t) (600 + i), i);
    }
    assert_int_equal(1, num_nodes(&f));
    for (int i = 1; i < 512; ++i) {
        assert_ptr_equal(ITEM(i), take_first(&f, llamatch_key_of_receive(7)));
        check(&f);
    }
    end(&f);
}

static void test_tail_and_idle_nodes(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 4);
    /* Around a border the second node stays while there are entries. */
    for (int i = 0; i < 4; ++i) {
        append(&f, i, (uint64_t) i, i);
    }
    for (int round = 1; round < 4; ++round) {
        append(&f, 9, (uint64_t) (10 * round), 9);
        assert_ptr_equal(ITEM(9), take_first(&f, llamatch_key_of_receive(9)));
        assert_int_equal(2, num_nodes(&f));
        assert_int_equal(0, f.queue.tail->end);
        assert_int_equal(0, f.queue.tail->live);
        check(&f);
    }
    /* The last entry is not in the tail: both nodes go. */
    for (int i = 0; i < 4; ++i) {
        take(&f, i);
        check(&f);
    }
    assert_int_equal(0, f.queue.count);
    assert_int_equal(0, num_nodes(&f));
    assert_null(f.queue.head);
    assert_null(f.queue.tail);
    /* The last entry is in the tail. */
    append(&f, 1, 100, 1);
    assert_int_equal(1, num_nodes(&f));
    take(&f, 1);
    assert_int_equal(0, num_nodes(&f));
    end(&f);
}

/* Entries 0..count-1 are there in order where the queue said last. */
static void check_places(const fixture_t *f)
{
    size_t seen = 0;

    for (const llamatch_node_t *node = f->queue.head; NULL != node; node = node->next) {
        for (uint32_t i = llamatch_node_next(node, 0); i < node->end;
             i = llamatch_node_next(node, i + 1)) {
            const uint64_t *place = llamatch_node_slots(&f->shape, node)[i].item;

            assert_ptr_equal(node, (void *) (uintptr_t) *place);
            ++seen;
        }
    }
    assert_int_equal(f->queue.count, seen);
}

/* Neighbours that are at most half full together become one: with the next, and with the one
 * before. */
static void test_merge(void **state)
{
    (void) state;
    for (uint32_t entries = 4; entries <= 512; entries *= 2) {
        int n = (int) entries;
        fixture_t f;

        begin(&f, entries);
        for (int i = 0; i < 4 * n; ++i) {
            append(&f, i, (uint64_t) i, i);
        }
        assert_int_equal(4, num_nodes(&f));
        /* The second and the third down to a quarter, from the middle: the second has none to merge
         * with until the third is as sparse. */
        for (int i = n; i < 2 * n - n / 4; ++i) {
            take(&f, i);
        }
        assert_int_equal(4, num_nodes(&f));
        for (int i = 2 * n + n / 4; i < 3 * n; ++i) {
            assert_int_equal(0, num_moved);
            take(&f, i);
            check(&f);
        }
        assert_int_equal(3, num_nodes(&f));
        assert_int_equal(n / 4, num_moved); /* those of the third */
        check_places(&f);
        assert_ptr_equal(ITEM(2 * n - n / 4),
                         take_first(&f, llamatch_key_of_receive(2 * n - n / 4)));
        /* Sparse again, and the first one, too. */
        for (int i = 2 * n - n / 4 + 1; i < 2 * n; ++i) {
            take(&f, i);
        }
        for (int i = 1; i < n - n / 4 + 1; ++i) {
            take(&f, i);
            check(&f);
        }
        check_places(&f);
        assert_int_equal(2, num_nodes(&f));
        /* The rest is in order. */
        assert_ptr_equal(ITEM(0), take_first(&f, llamatch_key_of_receive(-1)));
        for (int i = n - n / 4 + 1; i < n; ++i) {
            assert_ptr_equal(ITEM(i), take_first(&f, llamatch_key_of_receive(-1)));
        }
        for (int i = 2 * n; i < 2 * n + n / 4; ++i) {
            assert_ptr_equal(ITEM(i), take_first(&f, llamatch_key_of_receive(-1)));
        }
        for (int i = 3 * n; i < 4 * n; ++i) {
            assert_ptr_equal(ITEM(i), take_first(&f, llamatch_key_of_receive(-1)));
        }
        assert_int_equal(0, f.queue.count);
        end(&f);
    }
}

/* Merging with the empty tail, which is then the merged one. */
static void test_merge_with_empty_tail(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 8);
    for (int i = 0; i < 9; ++i) {
        append(&f, i, (uint64_t) i, i);
    }
    take(&f, 8);
    assert_int_equal(2, num_nodes(&f));
    for (int i = 0; i < 6; ++i) {
        take(&f, i);
        check(&f);
    }
    assert_int_equal(1, num_nodes(&f));
    assert_int_equal(2, f.queue.tail->end);
    append(&f, 9, 9, 9);
    assert_ptr_equal(ITEM(6), take_first(&f, llamatch_key_of_receive(-1)));
    assert_ptr_equal(ITEM(7), take_first(&f, llamatch_key_of_receive(-1)));
    assert_ptr_equal(ITEM(9), take_first(&f, llamatch_key_of_receive(-1)));
    end(&f);
}

static void test_compact(void **state)
{
    (void) state;
    for (uint32_t entries = 2; entries <= 512; entries *= 2) {
        fixture_t f;
        int n = 8 * (int) entries, left = 0;

        begin(&f, entries);
        f.shape.sparse = 0; /* not one by one */
        for (int i = 0; i < n; ++i) {
            append(&f, i, (uint64_t) i, i);
        }
        for (int i = 0; i < n; ++i) {
            if (0 != i % 3) {
                take(&f, i);
            }
        }
        llamatch_queue_compact(&f.queue, &f.shape);
        check(&f);
        check_places(&f);
        assert_true(num_nodes(&f) <= 4);
        llamatch_queue_compact(&f.queue, &f.shape);
        for (int i = 0; i < n; i += 3) {
            assert_ptr_equal(ITEM(i), take_first(&f, llamatch_key_of_receive(i)));
            ++left;
        }
        assert_int_equal((n + 2) / 3, left);
        end(&f);
    }
}

static bool odd_item(void *context, int32_t tag, void *item)
{
    int *visited = context;
    int index = item_of(item);

    assert_int_equal(index % 7, tag);
    assert_true(index > *visited); /* in order */
    *visited = index;
    return 1 == index % 2;
}

static bool every_item(void *context, int32_t tag, void *item)
{
    (void) context;
    (void) tag;
    (void) item;
    return true;
}

static bool no_item(void *context, int32_t tag, void *item)
{
    (void) tag;
    (void) item;
    ++*(int *) context;
    return false;
}

static void test_walk(void **state)
{
    (void) state;
    for (uint32_t entries = 2; entries <= 512; entries *= 2) {
        fixture_t f;
        int visited = -1;

        begin(&f, entries);
        for (int i = 0; i < 1001; ++i) {
            append(&f, i % 7, (uint64_t) i, i);
        }
        assert_int_equal(500, llamatch_queue_walk(&f.queue, &f.shape, odd_item, &visited));
        assert_int_equal(1000, visited);
        assert_int_equal(501, f.queue.count);
        check(&f);
        check_places(&f);
        visited = 0;
        assert_int_equal(0, llamatch_queue_walk(&f.queue, &f.shape, no_item, &visited));
        assert_int_equal(501, visited);
        append(&f, 1, 2000, 1); /* still works */
        take(&f, 1);
        assert_int_equal(501, llamatch_queue_walk(&f.queue, &f.shape, every_item, NULL));
        assert_int_equal(0, llamatch_queue_walk(&f.queue, &f.shape, every_item, NULL));
        end(&f);
    }
}

/* The Nth allocation fails: append says so, and the queue is as before. */
static void test_no_memory(void **state)
{
    bool failed = true;

    (void) state;
    for (size_t n = 2; failed; ++n) { /* the first one is the pool itself */
        fixture_t f;
        uint32_t count = 0;

        begin(&f, 512); /* few nodes per block */
        f.alloc.fail_at = n;
        failed = false;
        for (int i = 0; i < 8192; ++i) {
            bool appended = try_append(&f, i, (uint64_t) i, i);

            count += appended;
            assert_int_equal(count, f.queue.count);
            if (!appended) {
                failed = true;
                check(&f);
            }
        }
        assert_int_equal(failed ? 8191 : 8192, count);
        check_places(&f);
        end(&f);
    }
}

static void test_verify_sees_damage(void **state)
{
    fixture_t f;
    llamatch_node_t *node, *second;

    (void) state;
    begin(&f, 4);
#define DAMAGED(number) assert_int_equal(number, llamatch_queue_verify(&f.queue, &f.shape))
    for (int i = 0; i < 10; ++i) {
        append(&f, 0, (uint64_t) (10 * i + 5), i);
    }
    node = f.queue.head;
    second = node->next;
    ++f.queue.count;
    DAMAGED(1);
    --f.queue.count;
    second->prev = NULL;
    DAMAGED(2);
    second->prev = node;
    node->prev = second;
    DAMAGED(2);
    node->prev = NULL;
    f.queue.tail = second;
    DAMAGED(2);
    f.queue.tail = second->next;
    f.queue.head = NULL;
    DAMAGED(2);
    f.queue.head = node;
    /* A node in the middle without entries, and an empty tail with an end. */
    second->bits[0] = 0;
    second->live = 0;
    second->end = 0;
    DAMAGED(3);
    second->bits[0] = 15;
    second->live = 4;
    second->end = 4;
    second->next->bits[0] = 0;
    second->next->live = 0;
    f.queue.count = 8;
    DAMAGED(3);
    second->next->bits[0] = 3;
    second->next->live = 2;
    f.queue.count = 10;
    ++node->live;
    DAMAGED(4);
    --node->live;
    second->next->bits[0] = 7; /* beyond its end */
    second->next->live = 3;
    DAMAGED(4);
    second->next->live = 2;
    second->next->bits[0] = 5; /* the same, and the entry before the end is not live */
    DAMAGED(4);
    second->next->bits[0] = 1; /* only that */
    second->next->live = 1;
    DAMAGED(4);
    second->next->bits[0] = 3;
    second->next->live = 2;
    node->end = UINT32_MAX;
    DAMAGED(4);
    node->end = 4;
    llamatch_node_slots(&f.shape, node)[1].seq = 30;
    DAMAGED(5);
    llamatch_node_slots(&f.shape, node)[1].seq = 15;
    ++node->first_seq;
    DAMAGED(6);
    --node->first_seq;
    second->first_seq = 35; /* as the last number before */
    DAMAGED(6);
    second->first_seq = 45;
    DAMAGED(0);
#undef DAMAGED
    end(&f);
}

/* The naive model: a flat array in order. */
typedef struct {
    int32_t tag;
    uint64_t seq;
    int item;
} model_entry_t;

static bool model_accepts(bool message, int32_t tag, int32_t here)
{
    if (message) {
        return here == tag || (LLAMATCH_ANY_TAG == here && 0 <= tag);
    }
    return (LLAMATCH_ANY_TAG == tag) ? 0 <= here : here == tag;
}

/* No message has the tag ANY_TAG. */
static int32_t random_tag(uint64_t *seed, bool of_message)
{
    int32_t tag = (int32_t) test_random(seed, 24) - 4;

    return (of_message && LLAMATCH_ANY_TAG == tag) ? 20 : tag;
}

/* A queue of receives that is searched for messages, or the other way round. */
static void run_model(uint64_t seed, uint32_t entries, bool receives, int operations)
{
    static model_entry_t model[4096];
    static int unused[4096];
    size_t count = 0, num_unused = 0;
    uint64_t seq = 0;
    fixture_t f;

    begin(&f, entries);
    while (num_unused < 4096) {
        unused[num_unused] = (int) num_unused;
        ++num_unused;
    }
    for (int step = 0; step < operations; ++step) {
        uint32_t what = test_random(&seed, 100);
        size_t i = SIZE_MAX;
        /* Long phases of growing and of shrinking reach deep and empty queues. */
        bool grow = 0 == (step / 5000) % 2;

        if (what < (grow ? 60u : 20u) && count < 4000) {
            model_entry_t entry = {random_tag(&seed, !receives), seq, unused[--num_unused]};

            append(&f, entry.tag, entry.seq, entry.item);
            model[count++] = entry;
            seq += 1 + test_random(&seed, 3);
        } else if (what < 90) {
            int32_t tag = random_tag(&seed, receives);
            uint64_t examined = 0;
            llamatch_pos_t pos = llamatch_queue_find(&f.queue, &f.shape,
                                                     receives ? llamatch_key_of_message(tag)
                                                              : llamatch_key_of_receive(tag),
                                                     UINT64_MAX, &examined);

            i = 0;
            while (i < count && !model_accepts(receives, tag, model[i].tag)) {
                ++i;
            }
            assert_int_equal((i < count) ? i + 1 : i, examined);
            if (i == count) {
                assert_null(pos.node);
            } else {
                assert_ptr_equal(ITEM(model[i].item),
                                 llamatch_node_slots(&f.shape, pos.node)[pos.index].item);
                llamatch_queue_remove(&f.queue, &f.shape, pos);
            }
        } else if (0 < count) {
            i = test_random(&seed, (uint32_t) count);
            take(&f, model[i].item);
        }
        if (i < count) {
            unused[num_unused++] = model[i].item;
            memmove(&model[i], &model[i + 1], (--count - i) * sizeof(model[0]));
        }
        assert_int_equal(count, f.queue.count);
        if (0 == step % 509) {
            check(&f);
            check_places(&f);
        }
    }
    assert_true(2 == entries || 0 < num_moved);
    end(&f);
}

static void test_model(void **state)
{
    uint64_t seed = test_seed(20260101);

    (void) state;
    printf("seed: LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    for (uint32_t entries = 2; entries <= 512; entries *= 2) {
        run_model(seed + entries, entries, true, 50000);
        run_model(seed + entries, entries, false, 50000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_holes_and_trimming),
        cmocka_unit_test(test_trimming_of_long_arrays),
        cmocka_unit_test(test_tail_and_idle_nodes),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_with_empty_tail),
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("llamatch_queue", tests, NULL, NULL);
}
