/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_simd: each search of this CPU (or of the emulation) finds what a plain loop finds, in
 * chains of arrays of all sizes with all kinds of tags, holes, keys and limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_simd.h"
#include "llamatch_test_alloc.h"

#include <stdio.h>
#include <string.h>

#define MAX_NODES 5

typedef struct {
    uint64_t seed;
    llamatch_shape_t shape;
    llamatch_node_t *nodes[MAX_NODES];
    uint32_t num_nodes;
} chain_t;

/* Few enough values that keys are met, and all that are special. */
static int32_t random_tag(uint64_t *seed)
{
    static const int32_t special[] = {INT32_MIN, INT32_MIN + 1, -16,      -2, -1, 0,
                                      1,         INT32_MAX - 1, INT32_MAX};

    if (0 == test_random(seed, 3)) {
        return special[test_random(seed, sizeof(special) / sizeof(special[0]))];
    }
    return (int32_t) test_random(seed, 200) - 100;
}

static llamatch_key_t random_key(uint64_t *seed)
{
    llamatch_key_t key;

    key.tag = random_tag(seed);
    key.other = random_tag(seed);
    key.floor = random_tag(seed);
    switch (test_random(seed, 4)) {
    case 0:
        return llamatch_key_of_message(key.tag);
    case 1:
        return llamatch_key_of_receive(key.tag);
    case 2:
        return llamatch_key_of_receive(LLAMATCH_ANY_TAG);
    default:
        return key;
    }
}

/* Everything that a search may read but must not use is filled with noise, hits included. */
static void fill_node(chain_t *c, llamatch_node_t *node, uint64_t first_seq, llamatch_key_t key)
{
    uint32_t entries = c->shape.entries, density = test_random(&c->seed, 101);
    int32_t *tags = llamatch_node_tags(&c->shape, node);
    bool rare = test_random(&c->seed, 2);

    for (size_t i = 0; i < c->shape.nodes->node_bytes; ++i) {
        ((char *) node)[i] = (char) test_random(&c->seed, 256);
    }
    node->next = NULL;
    node->first_seq = first_seq;
    node->end = 0;
    node->live = 0;
    memset(node->bits, 0, (entries + 63) / 64 * sizeof(uint64_t));
    for (uint32_t i = 0; i < entries; ++i) {
        tags[i] = random_tag(&c->seed);
        if (test_random(&c->seed, 100) < density) {
            /* With few hits the search gets far. */
            while (rare && llamatch_key_accepts(key, tags[i])
                   && 0 != test_random(&c->seed, entries)) {
                tags[i] = random_tag(&c->seed);
            }
            node->bits[i / 64] |= UINT64_C(1) << i % 64;
            node->end = i + 1;
            ++node->live;
        }
    }
}

/* The plain loop. */
static bool find_plain(const chain_t *c, llamatch_pos_t *pos, uint64_t limit, llamatch_key_t key,
                       uint64_t *examined)
{
    while (NULL != pos->node && pos->node->first_seq < limit) {
        for (uint32_t i = 0; i < pos->node->end; ++i) {
            if (!llamatch_node_is_live(pos->node, i)) {
                continue;
            }
            ++*examined;
            if (llamatch_key_accepts(key, llamatch_node_tags(&c->shape, pos->node)[i])) {
                pos->index = i;
                return true;
            }
        }
        pos->node = pos->node->next;
    }
    return false;
}

static void check_path(const llamatch_simd_path_t *path, uint32_t entries, uint64_t seed,
                       int rounds)
{
    llamatch_pool_t *pool;
    chain_t c;
    size_t hits = 0, misses = 0;

    c.seed = seed;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &pool));
    assert_int_equal(LLAMATCH_OK, llamatch_shape_init(&c.shape, pool, entries, path->find, NULL));
    for (int n = 0; n < MAX_NODES; ++n) {
        c.nodes[n] = llamatch_pool_get(c.shape.nodes);
        assert_non_null(c.nodes[n]);
    }
    for (int round = 0; round < rounds; ++round) {
        llamatch_key_t key = random_key(&c.seed);
        uint64_t limit = test_random(&c.seed, 3) ? UINT64_MAX : test_random(&c.seed, 1000);
        uint64_t plain_examined = 7, examined = 7;
        llamatch_pos_t plain, pos;
        bool found;

        c.num_nodes = test_random(&c.seed, MAX_NODES + 1);
        for (uint32_t n = 0; n < c.num_nodes; ++n) {
            fill_node(&c, c.nodes[n], n * 200 + test_random(&c.seed, 200), key);
            if (0 < n) {
                c.nodes[n - 1]->next = c.nodes[n];
            }
        }
        plain.node = pos.node = (0 < c.num_nodes) ? c.nodes[0] : NULL;
        plain.index = pos.index = 0;
        found = find_plain(&c, &plain, limit, key, &plain_examined);
        assert_int_equal(found, path->find(&pos, limit, c.shape.tags_offset, key, &examined));
        assert_ptr_equal(plain.node, pos.node);
        if (found) {
            assert_int_equal(plain.index, pos.index);
        }
        assert_int_equal(plain_examined, examined);
        hits += found;
        misses += !found;
    }
    assert_true((size_t) rounds / 10 < hits && (size_t) rounds / 10 < misses);
    for (int n = 0; n < MAX_NODES; ++n) {
        llamatch_pool_put(c.shape.nodes, c.nodes[n]);
    }
    llamatch_pool_destroy(pool);
}

static void test_paths(void **state)
{
    const llamatch_simd_path_t *paths;
    size_t num_paths = llamatch_simd_paths(&paths);
    uint64_t seed = test_seed(20260303);

    (void) state;
    printf("seed: LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    assert_true(1 <= num_paths);
    assert_string_equal("scalar", paths[num_paths - 1].name);
#if defined(LLAMATCH_SIMD_EMULATE)
    assert_string_equal("avx512", paths[0].name);
    assert_string_equal("avx2", paths[1].name);
    assert_string_equal("sse2", paths[2].name);
#endif
    for (size_t p = 0; p < num_paths; ++p) {
        printf("%s\n", paths[p].name);
        for (uint32_t entries = 2; entries <= LLAMATCH_ENTRIES_MAX; entries *= 2) {
            check_path(&paths[p], entries, seed + entries, (entries <= 64) ? 5000 : 1000);
        }
    }
}

/* One hit at each place of arrays of each size, alone and with a second one behind it. */
static void test_places(void **state)
{
    const llamatch_simd_path_t *paths;
    size_t num_paths = llamatch_simd_paths(&paths);
    llamatch_pool_t *pool;

    (void) state;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &pool));
    for (size_t p = 0; p < num_paths; ++p) {
        for (uint32_t entries = 2; entries <= LLAMATCH_ENTRIES_MAX; entries *= 2) {
            llamatch_shape_t shape;
            llamatch_queue_t queue;

            assert_int_equal(LLAMATCH_OK,
                             llamatch_shape_init(&shape, pool, entries, paths[p].find, NULL));
            llamatch_queue_init(&queue);
            for (uint32_t i = 0; i < entries; ++i) {
                assert_non_null(llamatch_queue_append(&queue, &shape, 5, i, &queue).node);
            }
            for (uint32_t i = 0; i < 2 * entries; ++i) {
                int32_t *tags = llamatch_node_tags(&shape, queue.head);
                uint64_t examined = 0;
                llamatch_pos_t pos;

                tags[i / 2] = 6;
                tags[entries - 1] = (0 == i % 2) ? tags[entries - 1] : 6;
                pos = llamatch_queue_find(&queue, &shape, llamatch_key_of_receive(6), UINT64_MAX,
                                          &examined);
                assert_ptr_equal(queue.head, pos.node);
                assert_int_equal(i / 2, pos.index);
                assert_int_equal(i / 2 + 1, examined);
                tags[i / 2] = 5;
                tags[entries - 1] = 5;
            }
            llamatch_queue_clear(&queue, &shape);
        }
    }
    llamatch_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests_name("llamatch_simd", tests, NULL, NULL);
}
