/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_index: the hash over a queue. Finding, cancelled entries, building anew, giving up,
 * many equal and colliding tags, failure of the allocator, damage, and a naive model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_index.h"
#include "llamatch_simd.h"
#include "llamatch_test_alloc.h"
#include "llamatch_verify.h"

#include <stdio.h>
#include <string.h>

#define NUM_ITEMS 32768

/* Items; the queue tells where they are. */
static uint64_t places[NUM_ITEMS];
static size_t num_moved;

#define ITEM(i) ((void *) &places[i])

static void item_moved(void *item, uint64_t place)
{
    assert_non_null(item);
    *(uint64_t *) item = place;
    ++num_moved;
}

typedef struct {
    test_alloc_t alloc;
    llamatch_indexing_t indexing;
    llamatch_shape_t shape;
    llamatch_queue_t queue;
    uint64_t seq;
} fixture_t;

static void begin(fixture_t *f, uint32_t entries)
{
    llamatch_allocator_t allocator = test_alloc_make(&f->alloc);
    const llamatch_simd_path_t *paths;

    (void) llamatch_simd_paths(&paths);
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(&allocator, &f->indexing.pool));
    assert_int_equal(LLAMATCH_OK, llamatch_shape_init(&f->shape, f->indexing.pool, entries,
                                                      paths[0].find, item_moved));
    assert_int_equal(LLAMATCH_OK,
                     llamatch_shape_init(&f->indexing.bucket, f->indexing.pool,
                                         LLAMATCH_BUCKET_ENTRIES, paths[0].find, NULL));
    llamatch_queue_init(&f->queue);
    f->seq = 0;
    f->indexing.drop_below = 0;
    f->indexing.keep = true;
    num_moved = 0;
}

static void check(const fixture_t *f)
{
    assert_int_equal(0, llamatch_queue_verify(&f->queue, &f->shape));
    if (NULL != f->queue.index) {
        assert_int_equal(0, llamatch_index_verify(&f->indexing, &f->queue, &f->shape));
    }
}

static void end(fixture_t *f)
{
    check(f);
    if (NULL != f->queue.index) {
        llamatch_index_drop(&f->indexing, &f->queue, &f->shape);
        check(f);
    }
    llamatch_queue_clear(&f->queue, &f->shape);
    assert_int_equal(0, llamatch_pool_used_bytes(f->indexing.pool));
    llamatch_pool_destroy(f->indexing.pool);
    assert_int_equal(0, f->alloc.in_use);
    assert_false(f->alloc.wrong_sizes);
}

static int build(fixture_t *f)
{
    return llamatch_index_build(&f->indexing, &f->queue, &f->shape);
}

static bool try_append(fixture_t *f, int32_t tag, int item)
{
    llamatch_pos_t pos = llamatch_queue_append(&f->queue, &f->shape, tag, f->seq, ITEM(item));

    if (NULL == pos.node) {
        return false;
    }
    ++f->seq;
    places[item] = (uintptr_t) pos.node;
    if (NULL != f->queue.index) {
        llamatch_index_add(&f->indexing, &f->queue, &f->shape, tag, pos);
    }
    return true;
}

static void append(fixture_t *f, int32_t tag, int item)
{
    assert_true(try_append(f, tag, item));
}

static llamatch_pos_t find(fixture_t *f, int32_t tag)
{
    llamatch_key_t key = {tag, tag, INT32_MAX};
    uint64_t examined = 0;

    return (NULL != f->queue.index)
               ? llamatch_index_find(&f->indexing, &f->queue, &f->shape, tag, &examined)
               : llamatch_queue_find(&f->queue, &f->shape, key, UINT64_MAX, &examined);
}

static void *take_first(fixture_t *f, int32_t tag)
{
    llamatch_pos_t pos = find(f, tag);
    void *item;

    if (NULL == pos.node) {
        return NULL;
    }
    assert_int_equal(tag, llamatch_node_tags(&f->shape, pos.node)[pos.index]);
    item = llamatch_node_slots(&f->shape, pos.node)[pos.index].item;
    if (NULL != f->queue.index) {
        llamatch_index_remove(&f->indexing, &f->queue, &f->shape, pos);
    } else {
        llamatch_queue_remove(&f->queue, &f->shape, pos);
    }
    return item;
}

static void cancel(fixture_t *f, int item)
{
    llamatch_pos_t pos = {(llamatch_node_t *) (uintptr_t) places[item], 0};

    pos.index = llamatch_node_next(pos.node, 0);
    while (ITEM(item) != llamatch_node_slots(&f->shape, pos.node)[pos.index].item) {
        pos.index = llamatch_node_next(pos.node, pos.index + 1);
        assert_true(pos.index < pos.node->end);
    }
    if (NULL != f->queue.index) {
        llamatch_index_cancel(&f->indexing, &f->queue, &f->shape, pos);
    } else {
        llamatch_queue_remove(&f->queue, &f->shape, pos);
    }
}

static void test_find(void **state)
{
    (void) state;
    for (uint32_t entries = 2; entries <= 512; entries *= 2) {
        fixture_t f;

        begin(&f, entries);
        for (int i = 0; i < 500; ++i) {
            append(&f, i % 100 - 50, i);
        }
        assert_int_equal(LLAMATCH_OK, build(&f));
        check(&f);
        assert_int_equal(5, f.queue.index->any_tags);
        for (int i = 500; i < 1000; ++i) {
            append(&f, i % 100 - 50, i);
        }
        check(&f);
        assert_int_equal(10, f.queue.index->any_tags);
        /* Repeatable, and in order for each tag, whatever order the tags are taken in. */
        for (int32_t tag = 49; tag >= -50; --tag) {
            for (int n = 0; n < 10; ++n) {
                llamatch_pos_t pos = find(&f, tag), again = find(&f, tag);

                assert_ptr_equal(pos.node, again.node);
                assert_int_equal(pos.index, again.index);
                assert_ptr_equal(ITEM(100 * n + tag + 50), take_first(&f, tag));
            }
            assert_null(take_first(&f, tag));
            check(&f);
        }
        assert_null(take_first(&f, 1000));
        assert_int_equal(0, f.queue.index->any_tags);
        assert_int_equal(0, f.queue.count);
        append(&f, 3, 3);
        assert_ptr_equal(ITEM(3), take_first(&f, 3));
        end(&f);
    }
}

/* Searches look at few references, however many entries there are. */
static void test_short_buckets(void **state)
{
    fixture_t f;
    uint64_t examined = 0;

    (void) state;
    begin(&f, 16);
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 0; i < 20000; ++i) {
        append(&f, i * 8, i);
        assert_true(f.queue.count <= 4 * f.queue.index->num_buckets);
    }
    check(&f);
    for (int i = 0; i < 20000; ++i) {
        llamatch_pos_t pos = llamatch_index_find(&f.indexing, &f.queue, &f.shape, i * 8, &examined);

        assert_ptr_equal(ITEM(i), llamatch_node_slots(&f.shape, pos.node)[pos.index].item);
    }
    assert_true(examined < 20000 * 4);
    assert_int_equal(0, num_moved); /* growing moves nothing */
    end(&f);
}

/* The queue keeps no more arrays than it should while its index points to them. */
static void test_sparse_queue(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 64);
    for (int i = 0; i < 20000; ++i) {
        append(&f, i, i);
    }
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 0; i < 20000; ++i) {
        if (0 != i % 50) {
            assert_ptr_equal(ITEM(i), take_first(&f, i));
        }
    }
    assert_non_null(f.queue.index);
    assert_int_equal(400, f.queue.count);
    assert_true(f.queue.index->queue_nodes <= 4 + 400 * 4 / 64);
    assert_true(0 < num_moved);
    check(&f);
    for (int i = 0; i < 20000; i += 50) {
        cancel(&f, i); /* where it is now */
    }
    assert_int_equal(0, f.queue.count);
    end(&f);
}

static void test_cancel(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 8);
    for (int i = 0; i < 100; ++i) {
        append(&f, i % 10 - 1, i);
    }
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 90; 0 <= i; i -= 10) {
        cancel(&f, i); /* all with ANY_TAG; the first one is not marked, but removed */
    }
    for (int i = 51; 0 <= i; i -= 10) {
        cancel(&f, i);
    }
    assert_int_equal(84, f.queue.count);
    assert_int_equal(14, f.queue.index->marked);
    assert_int_equal(9, f.queue.index->any_tags);
    check(&f);
    assert_ptr_equal(ITEM(61), take_first(&f, 0)); /* on the way five are removed */
    assert_int_equal(9, f.queue.index->marked);
    assert_int_equal(83, f.queue.count);
    check(&f);
    assert_null(find(&f, LLAMATCH_ANY_TAG).node);
    assert_int_equal(0, f.queue.index->marked);
    assert_int_equal(0, f.queue.index->any_tags);
    check(&f);
    /* Dropped with marked entries: they go, the others stay in order. */
    for (int i = 92; 0 <= i; i -= 10) {
        cancel(&f, i);
    }
    assert_int_equal(9, f.queue.index->marked);
    llamatch_index_drop(&f.indexing, &f.queue, &f.shape);
    check(&f);
    assert_int_equal(73, f.queue.count);
    assert_null(take_first(&f, 1));
    for (int i = 3; i < 100; i += 10) {
        assert_ptr_equal(ITEM(i), take_first(&f, 2));
    }
    end(&f);
}

/* Cancelled entries that no search meets do not pile up; all may be cancelled. */
static void test_cancel_many(void **state)
{
    (void) state;
    for (int from_back = 0; from_back < 2; ++from_back) {
        fixture_t f;

        begin(&f, 16);
        for (int i = 0; i < 10000; ++i) {
            append(&f, i, i);
        }
        assert_int_equal(LLAMATCH_OK, build(&f));
        for (int i = 0; i < 10000; ++i) {
            cancel(&f, from_back ? 9999 - i : i);
            assert_non_null(f.queue.index);
            assert_true(f.queue.index->marked <= f.queue.count + 256);
        }
        check(&f);
        assert_int_equal(0, f.queue.count);
        append(&f, 5, 5);
        assert_ptr_equal(ITEM(5), take_first(&f, 5));
        end(&f);
    }
}

static void test_equal_tags(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 16);
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 0; i < 10000; ++i) {
        append(&f, 77, i);
    }
    check(&f);
    for (int i = 0; i < 10000; ++i) {
        uint64_t examined = 0;

        (void) llamatch_index_find(&f.indexing, &f.queue, &f.shape, 77, &examined);
        assert_int_equal(1, examined);
        assert_ptr_equal(ITEM(i), take_first(&f, 77));
    }
    end(&f);
}

/* Tags that are in one bucket for every number of buckets: their hash values are 0..255. */
static void test_colliding_tags(void **state)
{
    uint32_t inverse = 1;
    fixture_t f;

    (void) state;
    while (1 != inverse * UINT32_C(2654435769)) {
        inverse *= 2 - inverse * UINT32_C(2654435769); /* Newton's method */
    }
    begin(&f, 16);
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 0; i < 1024; ++i) {
        append(&f, (int32_t) ((uint32_t) (i % 256) * inverse), i);
    }
    check(&f);
    assert_int_equal(1024, f.queue.index->buckets[0].count);
    for (int i = 255; i >= 0; --i) {
        for (int n = 0; n < 4; ++n) {
            assert_ptr_equal(ITEM(256 * n + i), take_first(&f, (int32_t) ((uint32_t) i * inverse)));
        }
        assert_null(take_first(&f, (int32_t) ((uint32_t) i * inverse)));
    }
    check(&f);
    end(&f);
}

/* An index goes when the queue is short, or when what it finds is in front anyway. */
static void test_review(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 16);
    f.indexing.drop_below = 16;
    f.indexing.keep = false;
    for (int i = 0; i < 8000; ++i) {
        append(&f, i, i);
    }
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 7999; i >= 7000; --i) { /* at the back: it stays */
        assert_ptr_equal(ITEM(i), take_first(&f, i));
        assert_non_null(f.queue.index);
    }
    for (int i = 0; i < 6000;
         ++i) { /* in front: it goes, but not before it was as often of use as it has entries */
        assert_ptr_equal(ITEM(i), take_first(&f, i));
        assert_true(1000 < i || NULL != f.queue.index);
    }
    assert_null(f.queue.index);
    assert_int_equal(0, f.queue.passed); /* and has to be earned again */
    check(&f);
    end(&f);

    begin(&f, 16);
    f.indexing.drop_below = 16;
    f.indexing.keep = false;
    for (int i = 600; i < 7000; ++i) {
        append(&f, i, i);
    }
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 600; i < 4000; ++i) { /* half in front: it stays */
        int other = 7000 - 1 - (i - 600);

        assert_ptr_equal(ITEM(i), take_first(&f, i));
        assert_non_null(f.queue.index);
        if (other <= 4000) {
            break;
        }
        assert_ptr_equal(ITEM(other), take_first(&f, other));
        assert_non_null(f.queue.index);
    }
    f.indexing.keep = true;
    for (int i = 0; i < 8000; ++i) { /* what is left, all in front: kept */
        (void) take_first(&f, i);
        assert_non_null(f.queue.index);
    }
    assert_int_equal(0, f.queue.count);
    f.indexing.keep = false;
    for (int i = 0; i < 100; ++i) {
        append(&f, i, i);
    }
    for (int i = 99; i >= 16; --i) { /* short: it goes, and comes again at once when long */
        assert_non_null(f.queue.index);
        assert_ptr_equal(ITEM(i), take_first(&f, i));
    }
    assert_null(f.queue.index);
    assert_int_equal(16, f.queue.count);
    assert_int_equal(UINT32_MAX, f.queue.passed);
    /* Also when it becomes short by cancels. */
    for (int i = 100; i < 200; ++i) {
        append(&f, i, i);
    }
    assert_int_equal(LLAMATCH_OK, build(&f));
    for (int i = 100; i < 200; ++i) {
        assert_non_null(f.queue.index);
        cancel(&f, i);
    }
    assert_null(f.queue.index);
    for (int i = 0; i < 16; ++i) {
        assert_ptr_equal(ITEM(i), take_first(&f, i));
    }
    end(&f);
}

/* The Nth allocation fails, for every N: at worst there is no index. */
static void test_no_memory(void **state)
{
    size_t n = 2, without = 0; /* the first allocation is the pool's own */
    fixture_t f;

    (void) state;
    do {
        bool lost[6001] = {false};

        begin(&f, 4);
        f.alloc.fail_at = n;
        for (int i = 0; i < 500; ++i) {
            lost[i] = !try_append(&f, i, i);
        }
        if (LLAMATCH_OK != build(&f)) {
            ++without;
            assert_null(f.queue.index);
        }
        check(&f);
        for (int i = 500; i < 6000; ++i) {
            bool indexed = NULL != f.queue.index;

            lost[i] = !try_append(&f, i, i);
            if (0 == i % 5 && !lost[i]) {
                cancel(&f, i);
            }
            if (indexed && NULL == f.queue.index) {
                check(&f);
                ++without;
            }
        }
        check(&f);
        for (int i = 5999; i >= 0; --i) {
            assert_ptr_equal((lost[i] || (500 <= i && 0 == i % 5)) ? NULL : ITEM(i),
                             take_first(&f, i));
        }
        assert_int_equal(0, f.queue.count);
        n = (f.alloc.requests >= n) ? n + 1 : 0;
        end(&f);
    } while (0 != n);
    assert_true(3 <= without);
}

static void test_verify_sees_damage(void **state)
{
    fixture_t f;
    llamatch_index_t *index;
    llamatch_queue_t *bucket;
    llamatch_slot_t *reference, right;
    int32_t *tag;
    llamatch_pos_t entry = {NULL, 0};
    void *item;

    (void) state;
#define DAMAGED(number) \
    assert_int_equal(number, llamatch_index_verify(&f.indexing, &f.queue, &f.shape))
    begin(&f, 128);
    for (int i = 0; i < 300; ++i) {
        append(&f, i % 20 - 1, i);
    }
    assert_int_equal(LLAMATCH_OK, build(&f));
    cancel(&f, 25);
    index = f.queue.index;
    for (bucket = index->buckets; bucket->count < 2; ++bucket) {
    }
    /* The last reference of this bucket, and its entry */
    tag = &llamatch_node_tags(&f.indexing.bucket, bucket->tail)[bucket->tail->end - 1];
    reference = &llamatch_node_slots(&f.indexing.bucket, bucket->tail)[bucket->tail->end - 1];
    right = *reference;
    entry.node = f.queue.head;
    while (right.seq != llamatch_node_slots(&f.shape, entry.node)[entry.index].seq) {
        if (++entry.index == entry.node->end) {
            entry.node = entry.node->next;
            entry.index = 0;
        }
    }
    DAMAGED(0);
    ++f.queue.count;
    DAMAGED(201);
    --f.queue.count;
    ++*tag; /* of another bucket */
    DAMAGED(202);
    --*tag;
    reference->seq = UINT64_MAX; /* of no entry */
    DAMAGED(202);
    *reference = right;
    reference->item = (void *) ((uintptr_t) right.item ^ 1); /* at another place */
    DAMAGED(202);
    *reference = right;
    /* The entry has another tag, or is gone. */
    ++llamatch_node_tags(&f.shape, entry.node)[entry.index];
    DAMAGED(202);
    --llamatch_node_tags(&f.shape, entry.node)[entry.index];
    entry.node->bits[entry.index / 64] ^= UINT64_C(1) << entry.index % 64;
    DAMAGED(202);
    entry.node->bits[entry.index / 64] ^= UINT64_C(1) << entry.index % 64;
    ++index->any_tags;
    DAMAGED(203);
    --index->any_tags;
    item = llamatch_node_slots(&f.shape, entry.node)[entry.index].item;
    llamatch_node_slots(&f.shape, entry.node)[entry.index].item = NULL;
    DAMAGED(204);
    llamatch_node_slots(&f.shape, entry.node)[entry.index].item = item;
    ++index->queue_nodes;
    DAMAGED(205);
    --index->queue_nodes;
    ++bucket->count;
    DAMAGED(206);
    --bucket->count;
    DAMAGED(0);
#undef DAMAGED
    end(&f);
}

/* The naive model: a flat array in order. */
typedef struct {
    int32_t tag;
    int item;
} model_entry_t;

static void run_model(uint64_t seed, uint32_t entries, uint32_t tags, int operations)
{
    static model_entry_t model[8192];
    static int unused[NUM_ITEMS];
    size_t count = 0, num_unused = 0, builds = 0, drops = 0;
    fixture_t f;

    begin(&f, entries);
    f.indexing.drop_below = 8;
    while (num_unused < 8192) {
        unused[num_unused] = (int) num_unused;
        ++num_unused;
    }
    for (int step = 0; step < operations; ++step) {
        uint32_t what = test_random(&seed, 1000);
        bool grow = 0 == (step / 8000) % 2, indexed = NULL != f.queue.index;
        size_t i = SIZE_MAX;

        f.indexing.keep = 0 == (step / 3000) % 2;
        if (what < (grow ? 600u : 200u) && count < 8000) {
            model_entry_t entry = {(int32_t) test_random(&seed, tags) - 3, unused[--num_unused]};

            append(&f, entry.tag, entry.item);
            model[count++] = entry;
        } else if (what < 900) {
            int32_t tag = (int32_t) test_random(&seed, tags) - 3;
            void *item;

            if (0 < count && test_random(&seed, 2)) {
                tag = model[count - 1 - test_random(&seed, (count < 9) ? 1 : 8)].tag;
            }
            item = take_first(&f, tag);
            i = 0;
            while (i < count && tag != model[i].tag) {
                ++i;
            }
            assert_ptr_equal((i < count) ? ITEM(model[i].item) : NULL, item);
        } else if (what < 998) {
            if (0 < count) {
                i = test_random(&seed, (uint32_t) count);
                cancel(&f, model[i].item);
            }
        } else if (!indexed) {
            assert_int_equal(LLAMATCH_OK, build(&f));
            ++builds;
        } else if (what == 998) {
            llamatch_index_drop(&f.indexing, &f.queue, &f.shape);
        }
        if (i < count) {
            unused[num_unused++] = model[i].item;
            memmove(&model[i], &model[i + 1], (--count - i) * sizeof(model[0]));
        }
        drops += indexed && NULL == f.queue.index;
        assert_int_equal(count, f.queue.count);
        if (0 == step % 509) {
            check(&f);
        }
    }
    assert_true(10 < builds && 10 < drops);
    end(&f);
}

static void test_model(void **state)
{
    uint64_t seed = test_seed(20260404);

    (void) state;
    printf("seed: LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    for (uint32_t entries = 2; entries <= 512; entries *= 2) {
        run_model(seed + entries, entries, 20, 50000);
        run_model(seed + entries, entries, 5000, 50000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),           cmocka_unit_test(test_short_buckets),
        cmocka_unit_test(test_sparse_queue),   cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_many),    cmocka_unit_test(test_equal_tags),
        cmocka_unit_test(test_colliding_tags), cmocka_unit_test(test_review),
        cmocka_unit_test(test_no_memory),      cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("llamatch_index", tests, NULL, NULL);
}
