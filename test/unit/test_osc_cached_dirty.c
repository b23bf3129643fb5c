/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_dirty: few ranges are kept as they are, adjacent ones become one; of many, random ones
 * against the invariants of the header; two sets of ranges as one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_dirty.h"
#include "osc_cached_test_random.h"

#include <string.h>

enum { MOST = 400 };

static void test_few(void **state)
{
    osc_cached_dirty_t dirty = {0};

    (void) state;
    osc_cached_dirty_add(&dirty, 5, 5);
    assert_int_equal(0, dirty.count);
    osc_cached_dirty_add(&dirty, 10, 20);
    osc_cached_dirty_add(&dirty, 20, 30);
    osc_cached_dirty_add(&dirty, 31, 32);
    assert_int_equal(2, dirty.count);
    assert_true(21 == dirty.bytes);
    assert_true(10 == dirty.ranges[0].from && 30 == dirty.ranges[0].to);
    assert_true(31 == dirty.ranges[1].from && 32 == dirty.ranges[1].to);
}

static bool is_in(const osc_cached_dirty_t *dirty, uint64_t from, uint64_t to)
{
    for (int i = 0; i < dirty->count; ++i) {
        if (dirty->ranges[i].from <= from && to <= dirty->ranges[i].to) {
            return true;
        }
    }
    return false;
}

static void test_many(void **state)
{
    uint64_t random = seed_get(1);

    (void) state;
    for (int round = 0; round < 2000; ++round) {
        osc_cached_dirty_t dirty = {0};
        uint64_t from[MOST], to[MOST], at = random_below(&random, 10), bytes = 0;
        uint64_t least = UINT64_MAX, most = 0;
        int count = 1 + (int) random_below(&random, MOST), gaps = 0;

        for (int i = 0; i < count; ++i) {
            uint64_t gap = (0 == random_below(&random, 4)) ? 0 : random_below(&random, 1000);

            from[i] = (0 == i) ? at : at + gap;
            to[i] = at = from[i] + 1 + random_below(&random, 50);
            bytes += to[i] - from[i];
            gaps += 0 < i && from[i] != to[i - 1];
            osc_cached_dirty_add(&dirty, from[i], to[i]);
        }
        assert_true(bytes == dirty.bytes);
        assert_int_equal((gaps < OSC_CACHED_DIRTY_RANGES) ? gaps + 1 : OSC_CACHED_DIRTY_RANGES,
                         dirty.count);
        for (int i = 0; i < dirty.count; ++i) {
            assert_true(dirty.ranges[i].from < dirty.ranges[i].to);
            assert_true(0 == i || dirty.ranges[i - 1].to < dirty.ranges[i].from);
            if (0 < i && dirty.ranges[i].from - dirty.ranges[i - 1].to < least) {
                least = dirty.ranges[i].from - dirty.ranges[i - 1].to;
            }
        }
        for (int i = 0; i < count; ++i) {
            assert_true(is_in(&dirty, from[i], to[i]));
            if (0 < i && is_in(&dirty, to[i - 1], from[i]) && most < from[i] - to[i - 1]) {
                most = from[i] - to[i - 1];
            }
        }
        /* the largest gap that was closed is no larger than any that is left */
        assert_true(most <= least);
        assert_true(from[0] == dirty.ranges[0].from && at == dirty.ranges[dirty.count - 1].to);
    }
}

static void test_join(void **state)
{
    uint64_t random = seed_get(2);

    (void) state;
    for (int round = 0; round < 2000; ++round) {
        osc_cached_dirty_t sets[2] = {{0}}, joined;
        bool added[1000] = {false};
        int count = 0;

        for (int i = 0; i < 2; ++i) {
            uint64_t at = 0;

            for (int left = (int) random_below(&random, 5); 0 < left; --left) {
                uint64_t from = at + random_below(&random, 100),
                         to = from + random_below(&random, 100);

                osc_cached_dirty_add(&sets[i], from, to);
                memset(added + from, 1, to - from);
                at = to;
            }
        }
        joined = osc_cached_dirty_join(&sets[0], &sets[1]);
        for (uint64_t i = 0; i < 1000; ++i) { /* at most eight ranges: all gaps are kept */
            assert_int_equal(added[i], is_in(&joined, i, i + 1));
            count += added[i];
        }
        assert_true((uint64_t) count == joined.bytes);
        for (int i = 1; i < joined.count; ++i) {
            assert_true(joined.ranges[i - 1].to < joined.ranges[i].from);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
