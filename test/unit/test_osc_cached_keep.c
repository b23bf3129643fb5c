/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_keep: both policies against arrays that are searched; what scans leave behind; demand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_keep.h"
#include "osc_cached_test_random.h"

#define BLOCKS 100
#define MAX_FRAMES 40

/* A block as it should be; used: when it was used, or was passed to the second list. */
typedef struct {
    bool there, alone, passed;
    uint64_t used;
} expected_t;

static expected_t expected[BLOCKS];
static uint64_t now;

/* The least recent block of those with alone (or passed) as given, or BLOCKS. */
static uint32_t oldest(bool by_passed, bool value)
{
    uint32_t found = BLOCKS;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (expected[i].there && value == (by_passed ? expected[i].passed : expected[i].alone)
            && (BLOCKS == found || expected[i].used < expected[found].used)) {
            found = i;
        }
    }
    return found;
}

static uint32_t count(bool by_passed)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        found += expected[i].there && (by_passed ? expected[i].passed : expected[i].alone);
    }
    return found;
}

static uint32_t victim(osc_cached_keep_policy_t policy, uint32_t frames)
{
    uint32_t block;

    if (OSC_CACHED_KEEP_LAST == policy) {
        block = oldest(false, false);
        return BLOCKS == block || 10 * count(false) > 9 * frames ? oldest(false, true) : block;
    }
    while (BLOCKS != (block = oldest(true, false))) {
        if (!expected[block].alone) {
            return block;
        }
        expected[block].passed = true;
        expected[block].used = ++now;
        if (count(true) > frames / 2) {
            break;
        }
    }
    return oldest(true, true);
}

static void touch(uint32_t block)
{
    expected[block].used = ++now;
    expected[block].passed = false;
}

static void step(osc_cached_keep_t *keep, uint64_t *random)
{
    uint32_t block = random_below(random, BLOCKS), frame = osc_cached_keep_find(keep, 3, block);
    bool alone = 0 == random_below(random, 2), full;
    osc_cached_left_t left;

    assert_int_equal(OSC_CACHED_NO_FRAME != frame, expected[block].there);
    assert_int_equal(osc_cached_keep_find(keep, 4, block), OSC_CACHED_NO_FRAME);
    if (OSC_CACHED_NO_FRAME == frame) {
        uint32_t kept = 0;

        for (uint32_t i = 0; i < BLOCKS; i++) {
            kept += expected[i].there;
        }
        frame = osc_cached_keep_add(keep, 3, block, alone, &left, &full);
        assert_int_equal(full, kept == keep->frames);
        if (full) {
            uint32_t leaves = victim(keep->policy, keep->frames);

            assert_int_equal(left.block, leaves);
            assert_int_equal(left.target, 3);
            expected[leaves].there = false;
        }
        expected[block] = (expected_t){.there = true, .alone = alone};
        touch(block);
        assert_int_equal(osc_cached_keep_find(keep, 3, block), frame);
        return;
    }
    switch (random_below(random, 4)) {
    case 0:
        if (alone != expected[block].alone) {
            expected[block].alone = alone;
            touch(block);
        }
        osc_cached_keep_set_alone(keep, frame, alone);
        break;
    case 1:
        expected[block].there = false;
        osc_cached_keep_remove(keep, frame);
        break;
    default:
        touch(block);
        osc_cached_keep_use(keep, frame);
        break;
    }
}

static void test_random(void **state)
{
    uint64_t random = seed_get(5);
    uint32_t operations = operations_of(1, 20);
    (void) state;

    for (uint32_t i = 0; i < 2 * MAX_FRAMES; i++) {
        osc_cached_keep_t keep;

        for (uint32_t k = 0; k < BLOCKS; k++) {
            expected[k].there = false;
        }
        assert_int_equal(osc_cached_keep_init(&keep, (osc_cached_keep_policy_t) (i % 2), 1 + i / 2,
                                              &osc_cached_alloc_default),
                         OSC_CACHED_OK);
        for (uint32_t k = 0; k < operations / (2 * MAX_FRAMES) + 1; k++) {
            step(&keep, &random);
            if (0 == k % 64) {
                assert_int_equal(osc_cached_keep_verify(&keep), 0);
            }
        }
        osc_cached_keep_fini(&keep);
    }
}

/* 100 frames of last copies, then a scan of blocks that others have, too: which of them stay? */
static uint32_t stay(osc_cached_keep_policy_t policy, bool scan_alone)
{
    osc_cached_keep_t keep;
    osc_cached_left_t left;
    uint32_t stayed = 0;
    bool full;

    assert_int_equal(osc_cached_keep_init(&keep, policy, 100, &osc_cached_alloc_default),
                     OSC_CACHED_OK);
    for (uint64_t i = 0; i < 100; i++) {
        (void) osc_cached_keep_add(&keep, 0, i, true, &left, &full);
    }
    for (uint64_t i = 1000; i < 3000; i++) {
        (void) osc_cached_keep_add(&keep, 0, i, scan_alone, &left, &full);
        assert_true(full);
    }
    for (uint64_t i = 0; i < 100; i++) {
        stayed += OSC_CACHED_NO_FRAME != osc_cached_keep_find(&keep, 0, i);
    }
    osc_cached_keep_fini(&keep);
    return stayed;
}

static void test_last_copies(void **state)
{
    (void) state;
    assert_int_equal(stay(OSC_CACHED_KEEP_LAST, false), 90);   /* P1: nine tenths */
    assert_int_equal(stay(OSC_CACHED_KEEP_HALVES, false), 50); /* half of the pool */
    assert_int_equal(stay(OSC_CACHED_KEEP_LAST, true), 0);     /* all are last copies */
}

static void test_forwards(void **state)
{
    (void) state;
    assert_false(osc_cached_keep_forwards(OSC_CACHED_KEEP_LAST, true, 2)); /* P2 */
    assert_true(osc_cached_keep_forwards(OSC_CACHED_KEEP_LAST, true, 3));
    assert_true(osc_cached_keep_forwards(OSC_CACHED_KEEP_LAST, false, 0));
    assert_true(osc_cached_keep_forwards(OSC_CACHED_KEEP_HALVES, true, 0));
}

/* Blocks asked for in a circle; the owner keeps them while they fit. @return whether at the end */
static bool keeps(osc_cached_demand_t *demand, uint32_t blocks)
{
    bool result = false;

    for (uint32_t i = 0; i < 16 * demand->frames; i++) {
        result = osc_cached_demand_ask(demand, i % blocks);
    }
    return result;
}

static void test_demand(void **state)
{
    osc_cached_demand_t demand;
    (void) state;

    assert_int_equal(osc_cached_demand_init(&demand, 1000, &osc_cached_alloc_default),
                     OSC_CACHED_OK);
    assert_true(osc_cached_demand_ask(&demand, 7)); /* until more is known */
    assert_true(keeps(&demand, 900));
    assert_false(keeps(&demand, 1200));
    assert_false(keeps(&demand, 100000));
    assert_true(keeps(&demand, 10));
    osc_cached_demand_fini(&demand);
}

static int allocations;

static void *counted_alloc(void *context, size_t alignment, size_t bytes)
{
    return 0 == allocations-- ? NULL : osc_cached_alloc_default.alloc(context, alignment, bytes);
}

static void plain_free(void *context, void *memory, size_t bytes)
{
    osc_cached_alloc_default.free(context, memory, bytes);
}

static void test_no_memory(void **state)
{
    static const osc_cached_alloc_t alloc = {counted_alloc, plain_free, NULL};
    osc_cached_demand_t demand;
    osc_cached_keep_t keep;
    (void) state;

    for (int i = 0; i < 2; i++) {
        allocations = i;
        assert_int_equal(osc_cached_keep_init(&keep, OSC_CACHED_KEEP_LAST, 10, &alloc),
                         OSC_CACHED_NO_MEMORY);
    }
    allocations = 0;
    assert_int_equal(osc_cached_demand_init(&demand, 10, &alloc), OSC_CACHED_NO_MEMORY);
    assert_int_equal(osc_cached_keep_init(&keep, OSC_CACHED_KEEP_LAST, 0, &alloc),
                     OSC_CACHED_BAD_ARGUMENT);
    assert_int_equal(osc_cached_demand_init(&demand, 0, &alloc), OSC_CACHED_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),    cmocka_unit_test(test_last_copies),
        cmocka_unit_test(test_forwards),  cmocka_unit_test(test_demand),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("osc_cached_keep", tests, NULL, NULL);
}
