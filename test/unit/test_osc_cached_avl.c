/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_avl: order, best fit, ties, heights, damage, and a sorted array as the model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_alloc.h"
#include "osc_cached_avl.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 4096
#define NONE OSC_CACHED_AVL_NONE

/* The node is not the first member, and the structure is larger than it. */
typedef struct {
    uint32_t before;
    osc_cached_avl_node_t node;
    uint32_t after[3];
} owner_t;

static owner_t owners[NODES];

static void begin(osc_cached_avl_t *tree)
{
    memset(owners, 0xa5, sizeof(owners));
    osc_cached_avl_rebase(tree, &owners[0].node, sizeof(owners[0]), NODES);
    osc_cached_avl_clear(tree);
}

static int insert(osc_cached_avl_t *tree, uint32_t index, uint32_t size, uint32_t address)
{
    owners[index].node.size = size;
    owners[index].node.address = address;
    return osc_cached_avl_insert(tree, index);
}

static uint32_t first(const osc_cached_avl_t *tree)
{
    return osc_cached_avl_lower_bound(tree, 0, 0);
}

/* The node after this one in the order of the tree, or NONE. */
static uint32_t next(const osc_cached_avl_t *tree, uint32_t index)
{
    const osc_cached_avl_node_t *node = &owners[index].node;
    uint64_t key = ((uint64_t) node->size << 32 | node->address) + 1;

    return (0 == key) ? NONE
                      : osc_cached_avl_lower_bound(tree, (uint32_t) (key >> 32), (uint32_t) key);
}

static int height(uint32_t index)
{
    int left, right;

    if (NONE == index) {
        return 0;
    }
    left = height(owners[index].node.child[0]);
    right = height(owners[index].node.child[1]);
    return 1 + (left > right ? left : right);
}

static void test_empty(void **state)
{
    osc_cached_avl_t tree;

    (void) state;
    begin(&tree);
    assert_int_equal(NONE, osc_cached_avl_lower_bound(&tree, 0, 0));
    assert_int_equal(OSC_CACHED_NOT_FOUND, osc_cached_avl_remove(&tree, 3));
    assert_int_equal(0, osc_cached_avl_verify(&tree));
}

static void test_best_fit_and_ties(void **state)
{
    osc_cached_avl_t tree;

    (void) state;
    begin(&tree);
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 0, 10, 500));
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 1, 10, 100));
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 2, 7, 900));
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 3, 30, 0));
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 4, 10, 300));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, insert(&tree, 5, 10, 300));
    assert_int_equal(5, tree.count);
    assert_int_equal(2, osc_cached_avl_lower_bound(&tree, 0, 0));
    assert_int_equal(2, osc_cached_avl_lower_bound(&tree, 7, 0));
    assert_int_equal(1, osc_cached_avl_lower_bound(&tree, 8, 0));
    assert_int_equal(1, osc_cached_avl_lower_bound(&tree, 10, 0));
    assert_int_equal(4, osc_cached_avl_lower_bound(&tree, 10, 101));
    assert_int_equal(3, osc_cached_avl_lower_bound(&tree, 11, 0));
    assert_int_equal(NONE, osc_cached_avl_lower_bound(&tree, 31, 0));
    assert_int_equal(OSC_CACHED_OK, osc_cached_avl_remove(&tree, 1));
    assert_int_equal(4, osc_cached_avl_lower_bound(&tree, 8, 0));
    assert_int_equal(OSC_CACHED_NOT_FOUND, osc_cached_avl_remove(&tree, 1));
    assert_int_equal(OSC_CACHED_NOT_FOUND, osc_cached_avl_remove(&tree, 5)); /* has 4's key */
    assert_int_equal(4, tree.count);
    assert_int_equal(0, osc_cached_avl_verify(&tree));
}

static void test_extreme_keys(void **state)
{
    osc_cached_avl_t tree;

    (void) state;
    begin(&tree);
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 0, UINT32_MAX, UINT32_MAX));
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 1, 0, 0));
    assert_int_equal(OSC_CACHED_OK, insert(&tree, 2, 0, UINT32_MAX));
    assert_int_equal(1, first(&tree));
    assert_int_equal(2, next(&tree, 1));
    assert_int_equal(0, next(&tree, 2));
    assert_int_equal(NONE, next(&tree, 0));
    assert_int_equal(0, osc_cached_avl_verify(&tree));
}

/* Ascending, descending and zigzag orders meet all four rotations; the height stays legal. */
static void test_orders(void **state)
{
    osc_cached_avl_t tree;
    uint32_t at;

    (void) state;
    for (int order = 0; order < 4; ++order) {
        begin(&tree);
        for (uint32_t i = 0; i < NODES; ++i) {
            uint32_t key = i;

            if (1 == order) {
                key = NODES - 1 - i;
            } else if (2 == order) {
                key = (i % 2) ? NODES - 1 - i / 2 : i / 2;
            } else if (3 == order) {
                key = (i * 2654435761u) % NODES; /* odd: a permutation */
            }
            assert_int_equal(OSC_CACHED_OK, insert(&tree, i, key / 5, key));
        }
        assert_int_equal(0, osc_cached_avl_verify(&tree));
        assert_true(height(tree.root) <= 17); /* 1.4405 log2(4098) */
        at = first(&tree);
        for (uint32_t n = 0; n < NODES; ++n) {
            assert_int_not_equal(NONE, at);
            assert_int_equal(n, owners[at].node.address);
            at = next(&tree, at);
        }
        assert_int_equal(NONE, at);
        for (uint32_t i = 0; i < NODES; ++i) {
            assert_int_equal(OSC_CACHED_OK, osc_cached_avl_remove(&tree, i));
            if (0 == i % 64) {
                assert_int_equal(0, osc_cached_avl_verify(&tree));
            }
        }
        assert_int_equal(0, tree.count);
        assert_int_equal(NONE, tree.root);
    }
    for (uint32_t i = 0; i < NODES; ++i) { /* the rest of the owner is not the tree's */
        assert_int_equal(0xa5a5a5a5u, owners[i].before);
        assert_int_equal(0xa5a5a5a5u, owners[i].after[0]);
    }
}

static void test_rebase(void **state)
{
    static owner_t moved[2 * NODES];
    osc_cached_avl_t tree;

    (void) state;
    begin(&tree);
    for (uint32_t i = 0; i < 100; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(&tree, i, i % 9, i));
    }
    memcpy(moved, owners, sizeof(owners));
    memset(owners, 0, sizeof(owners));
    osc_cached_avl_rebase(&tree, &moved[0].node, sizeof(moved[0]), 2 * NODES);
    assert_int_equal(0, osc_cached_avl_verify(&tree));
    assert_int_equal(8, osc_cached_avl_lower_bound(&tree, 8, 0));
    assert_int_equal(OSC_CACHED_OK, osc_cached_avl_remove(&tree, 8));
    assert_int_equal(17, osc_cached_avl_lower_bound(&tree, 8, 0));
}

static void test_verify_sees_damage(void **state)
{
    osc_cached_avl_t tree;
    osc_cached_avl_node_t *root;
    uint32_t saved;

    (void) state;
    begin(&tree);
    for (uint32_t i = 0; i < 100; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(&tree, i, i, i));
    }
    root = osc_cached_avl_node(&tree, tree.root);
    ++tree.count;
    assert_int_equal(1, osc_cached_avl_verify(&tree));
    tree.count -= 2;
    assert_int_equal(1, osc_cached_avl_verify(&tree));
    ++tree.count;
    saved = root->child[1];
    root->child[1] = NODES; /* out of the array */
    assert_int_equal(1, osc_cached_avl_verify(&tree));
    root->child[1] = tree.root; /* a ring */
    assert_int_not_equal(0, osc_cached_avl_verify(&tree));
    root->child[1] = saved;
    saved = root->size;
    root->size = 99;
    assert_int_equal(2, osc_cached_avl_verify(&tree));
    root->size = saved;
    ++root->balance;
    assert_int_equal(3, osc_cached_avl_verify(&tree));
    --root->balance;
    assert_int_equal(0, osc_cached_avl_verify(&tree));
    /* A list with right balances has the right order, but is no AVL tree. */
    for (uint32_t i = 0; i < 3; ++i) {
        owners[i].node.child[0] = NONE;
        owners[i].node.child[1] = (2 == i) ? NONE : i + 1;
        owners[i].node.balance = 2 - (int32_t) i;
    }
    tree.root = 0;
    tree.count = 3;
    assert_int_equal(4, osc_cached_avl_verify(&tree));
}

/* The model: an array of keys and node numbers, sorted. */
typedef struct {
    uint64_t key;
    uint32_t index;
} model_entry_t;

static uint32_t model_lower_bound(const model_entry_t *model, uint32_t count, uint64_t key)
{
    uint32_t i = 0;

    while (i < count && model[i].key < key) {
        ++i;
    }
    return i;
}

static void run_model(uint64_t seed, uint32_t max, uint32_t sizes, int operations)
{
    static model_entry_t model[NODES];
    static uint32_t spare[NODES];
    uint32_t count = 0;
    osc_cached_avl_t tree;

    begin(&tree);
    for (uint32_t i = 0; i < max; ++i) {
        spare[i] = i; /* spare[count..max) are the nodes outside of the tree */
    }
    for (int step = 0; step < operations; ++step) {
        uint32_t size = random_below(&seed, sizes), address = random_below(&seed, 4 * max);
        uint64_t key = (uint64_t) size << 32 | address;
        uint32_t i = model_lower_bound(model, count, key), what = random_below(&seed, 100);
        uint32_t found = osc_cached_avl_lower_bound(&tree, size, address);
        /* Phases of growing and of shrinking reach full and empty trees. */
        uint32_t inserts = (0 == (step / (int) (8 * max)) % 2) ? 60 : 20;

        assert_int_equal(i < count ? model[i].index : NONE, found);
        if (what < inserts && count < max) {
            uint32_t index = spare[count];
            int status = insert(&tree, index, size, address);

            if (i < count && model[i].key == key) {
                assert_int_equal(OSC_CACHED_BAD_ARGUMENT, status);
            } else {
                assert_int_equal(OSC_CACHED_OK, status);
                memmove(&model[i + 1], &model[i], (count - i) * sizeof(model[0]));
                model[i].key = key;
                model[i].index = index;
                ++count;
            }
        } else if (what < 80 && i < count) {
            assert_int_equal(i + 1 < count ? model[i + 1].index : NONE, next(&tree, found));
            assert_int_equal(OSC_CACHED_OK, osc_cached_avl_remove(&tree, found));
            memmove(&model[i], &model[i + 1], (--count - i) * sizeof(model[0]));
            spare[count] = found;
        }
        assert_int_equal(count, tree.count);
        if (0 == step % 499) {
            assert_int_equal(0, osc_cached_avl_verify(&tree));
            assert_int_equal(0 == count ? NONE : model[0].index, first(&tree));
        }
    }
    assert_int_equal(0, osc_cached_avl_verify(&tree));
}

static void test_model(void **state)
{
    uint64_t seed = seed_get(20260101);

    (void) state;
    printf("seed: OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    run_model(seed, 8, 4, 300000);
    run_model(seed + 1, 64, 16, 300000);
    run_model(seed + 2, 500, 1000, 300000);
    run_model(seed + 3, 1500, 3, 100000); /* nearly all sizes tie */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),        cmocka_unit_test(test_best_fit_and_ties),
        cmocka_unit_test(test_extreme_keys), cmocka_unit_test(test_orders),
        cmocka_unit_test(test_rebase),       cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("osc_cached_avl", tests, NULL, NULL);
}
