/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_move: the paper's formula for a helper that moves from core to core. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_move.h"

/* n requests of the paper's formula, each of so many bytes, from where the last ones ended.
 * @return how often it moved */
static uint64_t serve(osc_cached_move_t *move, uint64_t n, uint64_t compute, uint64_t communication,
                      uint64_t *combined, uint64_t *moved)
{
    uint64_t before = move->moves;

    for (uint64_t i = 0; i < n; ++i) {
        *combined += compute;
        *moved += communication;
        (void) osc_cached_move_is_due(move, *combined, *moved);
    }
    return move->moves - before;
}

static void test_formula(void **state)
{
    osc_cached_move_t move = {.threshold = 1000000};
    uint64_t combined = 0, moved = 0;
    (void) state;

    /* gets of 1000 bytes: 1000 of them are the threshold, one more is above it */
    assert_int_equal(serve(&move, 1000, 0, 1000, &combined, &moved), 0);
    assert_int_equal(serve(&move, 1, 0, 1000, &combined, &moved), 1);
    assert_int_equal(serve(&move, 1000, 0, 1000, &combined, &moved), 0); /* from anew */
    assert_int_equal(serve(&move, 1, 0, 1000, &combined, &moved), 1);
    /* what is combined counts eight times, and was brought, too: 9000 bytes each */
    assert_int_equal(serve(&move, 111, 1000, 1000, &combined, &moved), 0);
    assert_int_equal(serve(&move, 1, 1000, 1000, &combined, &moved), 1);
    /* both kinds */
    assert_int_equal(serve(&move, 100, 1000, 1000, &combined, &moved), 0);
    assert_int_equal(serve(&move, 100, 0, 1000, &combined, &moved), 0);
    assert_int_equal(serve(&move, 1, 0, 1000, &combined, &moved), 1);
    assert_int_equal(move.moves, 4);
}

/* A large step is one move. */
static void test_one_at_a_time(void **state)
{
    osc_cached_move_t move = {.threshold = 10};
    (void) state;

    assert_true(osc_cached_move_is_due(&move, 0, UINT64_C(1) << 50));
    assert_false(osc_cached_move_is_due(&move, 0, UINT64_C(1) << 50));
    assert_int_equal(move.moves, 1);
}

static void test_off(void **state)
{
    osc_cached_move_t move = {.threshold = 0};
    (void) state;

    assert_false(osc_cached_move_is_due(&move, 0, 0));
    assert_false(osc_cached_move_is_due(&move, UINT64_C(1) << 40, UINT64_C(1) << 50));
    assert_int_equal(move.moves, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_off),
    };

    return cmocka_run_group_tests_name("osc_cached_move", tests, NULL, NULL);
}
