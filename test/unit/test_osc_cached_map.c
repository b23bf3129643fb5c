/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_map and osc_cached_lock: tables against an array, locks in order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_lock.h"
#include "osc_cached_map.h"
#include "osc_cached_test_random.h"

#include <string.h>

#define KEYS 200

static bool fails;

static void *sometimes_alloc(void *context, size_t alignment, size_t bytes)
{
    return fails ? NULL : osc_cached_alloc_default.alloc(context, alignment, bytes);
}

static void plain_free(void *context, void *memory, size_t bytes)
{
    osc_cached_alloc_default.free(context, memory, bytes);
}

static void test_map(void **state)
{
    const osc_cached_alloc_t alloc = {sometimes_alloc, plain_free, NULL};
    uint64_t random = seed_get(21);
    bool there[KEYS] = {false};
    char values[KEYS];
    osc_cached_map_t map;
    uint32_t count = 0;
    (void) state;

    osc_cached_map_init(&map, &alloc);
    assert_null(osc_cached_map_get(&map, 1, 2));
    assert_null(osc_cached_map_remove(&map, 1, 2));
    for (int i = 0; i < 200000; i++) {
        uint32_t key = random_below(&random, KEYS);
        uint64_t first = (uint64_t) (key % 20) << 32, second = key / 20;

        assert_ptr_equal(osc_cached_map_get(&map, first, second), there[key] ? &values[key] : NULL);
        fails = 0 == random_below(&random, 3);
        if (there[key]) {
            assert_ptr_equal(osc_cached_map_remove(&map, first, second), &values[key]);
            there[key] = false;
            --count;
        } else if (OSC_CACHED_OK == osc_cached_map_add(&map, first, second, &values[key])) {
            there[key] = true;
            ++count;
        } else {
            assert_true(fails);
        }
        assert_int_equal(map.count, count);
        assert_int_equal(osc_cached_map_verify(&map), 0);
    }
    osc_cached_map_fini(&map);
}

static osc_cached_waiter_t waiters[16];

static void wait_for(osc_cached_lock_t *lock, uint64_t origin, bool exclusive)
{
    assert_false(osc_cached_lock_try(lock, origin, exclusive));
    waiters[origin] =
        (osc_cached_waiter_t){.origin = origin, .since = origin, .exclusive = exclusive};
    osc_cached_lock_wait(lock, &waiters[origin]);
    assert_int_equal(osc_cached_lock_verify(lock), 0);
}

static void next_is(osc_cached_lock_t *lock, uint64_t origin)
{
    osc_cached_waiter_t *waiter = osc_cached_lock_next(lock);

    assert_non_null(waiter);
    assert_int_equal(waiter->origin, origin);
}

static void test_lock(void **state)
{
    osc_cached_lock_t lock;
    (void) state;

    osc_cached_lock_init(&lock);
    assert_false(osc_cached_lock_release(&lock, 1));
    assert_true(osc_cached_lock_try(&lock, 1, false));
    assert_true(osc_cached_lock_try(&lock, 2, false));
    wait_for(&lock, 3, true);
    wait_for(&lock, 4, false); /* does not overtake */
    wait_for(&lock, 5, false);
    wait_for(&lock, 6, true);
    wait_for(&lock, 7, false);
    assert_true(osc_cached_lock_release(&lock, 1));
    assert_null(osc_cached_lock_next(&lock));
    assert_true(osc_cached_lock_release(&lock, 2));
    next_is(&lock, 3);
    assert_null(osc_cached_lock_next(&lock));
    assert_false(osc_cached_lock_release(&lock, 4)); /* it is not his */
    assert_true(osc_cached_lock_release(&lock, 3));
    next_is(&lock, 4); /* the shared ones together */
    next_is(&lock, 5);
    assert_null(osc_cached_lock_next(&lock));
    assert_int_equal(osc_cached_lock_verify(&lock), 0);
    assert_ptr_equal(osc_cached_lock_forget(&lock), &waiters[6]);
    next_is(&lock, 7); /* who was behind the one that has gone */
    assert_int_equal(lock.shared, 3);
    assert_null(osc_cached_lock_forget(&lock));
}

/* Old shared requests overtake exclusive ones, but no exclusive holder. */
static void test_old_lock(void **state)
{
    osc_cached_lock_t lock;
    (void) state;

    osc_cached_lock_init(&lock);
    assert_null(osc_cached_lock_overtake(&lock, UINT64_MAX));
    assert_true(osc_cached_lock_try(&lock, 1, false));
    wait_for(&lock, 2, true);
    wait_for(&lock, 3, false);
    wait_for(&lock, 4, true);
    wait_for(&lock, 5, false);
    wait_for(&lock, 6, false);
    assert_null(osc_cached_lock_overtake(&lock, 3));
    assert_ptr_equal(osc_cached_lock_overtake(&lock, 6), &waiters[3]);
    assert_ptr_equal(osc_cached_lock_overtake(&lock, 6), &waiters[5]);
    assert_null(osc_cached_lock_overtake(&lock, 6));
    assert_int_equal(lock.shared, 3);
    assert_int_equal(osc_cached_lock_verify(&lock), 0);
    for (int i = 0; i < 3; ++i) {
        assert_null(osc_cached_lock_next(&lock));
        assert_true(osc_cached_lock_release(&lock, 1));
    }
    next_is(&lock, 2);
    assert_null(osc_cached_lock_overtake(&lock, UINT64_MAX));
    assert_true(osc_cached_lock_release(&lock, 2));
    next_is(&lock, 4);
    assert_true(osc_cached_lock_release(&lock, 4));
    next_is(&lock, 6);
    assert_null(osc_cached_lock_next(&lock));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_old_lock),
    };

    return cmocka_run_group_tests_name("osc_cached_map", tests, NULL, NULL);
}
