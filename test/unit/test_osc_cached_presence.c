/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_presence: a target that computes is found to be away, and to be back; waiting takes 2
 * % of the time at most; mapped memory is never left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_presence.h"

/* Of small puts over TCP, nanoseconds. */
enum { INNER = 14000, HELPER = 13000, COMPUTES = 40000000 };

/* Puts and flushes for so long; the inner component takes inner_ns. Returns how many of them the
 * helper did, and adds what was waited. */
static uint64_t run(osc_cached_presence_t *presence, uint64_t *now, uint64_t duration,
                    uint64_t inner_ns, uint64_t *operations, uint64_t *waited)
{
    uint64_t end = *now + duration, helped = 0;

    for (*operations = 0; *now < end; ++*operations) {
        if (osc_cached_presence_is_away(presence, *now, HELPER)) {
            *now += HELPER;
            ++helped;
            osc_cached_presence_helped(presence, HELPER);
        } else {
            *now += inner_ns;
            *waited += inner_ns;
            osc_cached_presence_flushed(presence, *now, inner_ns, inner_ns, HELPER);
        }
    }
    return helped;
}

static void test_comes_and_goes(void **state)
{
    osc_cached_presence_t presence = {.waited = 0};
    uint64_t now = 5, operations, waited = 0, helped;
    (void) state;

    assert_int_equal(run(&presence, &now, 1000000000, INNER, &operations, &waited), 0);
    waited = 0;
    helped = run(&presence, &now, 100000000000, COMPUTES, &operations, &waited);
    assert_true(waited <= 100000000000 / 49 + COMPUTES); /* 2 %, and the first one */
    assert_true(helped >= operations * 99 / 100);
    waited = 0;
    helped = run(&presence, &now, 100000000000, INNER, &operations, &waited);
    assert_true(helped * HELPER <= 51ull * COMPUTES); /* it is back */
}

static void test_mapped_memory_is_never_left(void **state)
{
    osc_cached_presence_t presence = {.waited = 0};
    uint64_t now = 5, operations, waited = 0;
    (void) state;

    /* the first flush connects */
    (void) run(&presence, &now, 1, 3000000, &operations, &waited);
    (void) run(&presence, &now, 1, 100, &operations, &waited);
    /* the process did not run for a while */
    assert_int_equal(run(&presence, &now, 1000000000, COMPUTES, &operations, &waited), 0);
    assert_int_equal(presence.state, OSC_CACHED_PRESENCE_DIRECT);
}

/* Flushes that are dearer than a round trip to the helper: known after some of them, and never of
 * mapped memory or a target that is away. */
static void test_dear(void **state)
{
    osc_cached_presence_t presence = {.waited = 0}, mapped = {.waited = 0};
    uint64_t now = 5, operations, waited = 0;
    (void) state;

    (void) run(&presence, &now, 6 * INNER, INNER, &operations, &waited);
    assert_false(osc_cached_presence_is_dear(&presence, 1)); /* too few */
    (void) run(&presence, &now, 100 * INNER, INNER, &operations, &waited);
    assert_true(osc_cached_presence_is_dear(&presence, HELPER));
    assert_false(osc_cached_presence_is_dear(&presence, INNER));
    (void) run(&presence, &now, COMPUTES, COMPUTES, &operations, &waited);
    assert_int_equal(presence.state, OSC_CACHED_PRESENCE_AWAY);
    assert_false(osc_cached_presence_is_dear(&presence, HELPER));
    (void) run(&mapped, &now, 100000, 100, &operations, &waited);
    assert_false(osc_cached_presence_is_dear(&mapped, 1));
}

/* A flush long after the operations is fast everywhere, and connecting is no reason. */
static void test_no_hasty_decisions(void **state)
{
    osc_cached_presence_t presence = {.waited = 0};
    (void) state;

    for (uint64_t i = 0; i < 4; i++) {
        assert_false(osc_cached_presence_is_away(&presence, 1, HELPER));
        osc_cached_presence_flushed(&presence, 1, 0 == i ? COMPUTES : 100, COMPUTES, HELPER);
    }
    assert_int_equal(presence.state, OSC_CACHED_PRESENCE_WATCHED);
    osc_cached_presence_flushed(&presence, 1, COMPUTES, COMPUTES, HELPER);
    assert_true(osc_cached_presence_is_away(&presence, 2, HELPER));
    /* what takes the helper longer than the wait */
    assert_false(osc_cached_presence_is_away(&presence, 2, 2 * COMPUTES));
}

/* The process did not run for a while, once. */
static void test_an_accident(void **state)
{
    osc_cached_presence_t presence = {.waited = 0};
    uint64_t now = 5, operations, waited = 0;
    (void) state;

    (void) run(&presence, &now, 10 * INNER, INNER, &operations, &waited);
    (void) run(&presence, &now, COMPUTES, COMPUTES, &operations, &waited);
    assert_int_equal(presence.state, OSC_CACHED_PRESENCE_AWAY);
    assert_true(run(&presence, &now, 1000000000, INNER, &operations, &waited) * HELPER
                <= 5ull * COMPUTES);
}

/* A busy machine: every 100th flush waits 4 ms for a processor, and the helper waits often. */
static void test_busy_machine(void **state)
{
    osc_cached_presence_t presence = {.waited = 0};
    uint64_t now = 5, helped = 0;
    (void) state;

    for (uint64_t i = 0; i < 1000000; i++) {
        if (osc_cached_presence_is_away(&presence, now, HELPER)) {
            now += 400000;
            ++helped;
            osc_cached_presence_helped(&presence, 400000);
        } else {
            uint64_t waited = 0 == i % 100 ? 4000000 : INNER;

            now += waited;
            osc_cached_presence_flushed(&presence, now, waited, waited, HELPER);
        }
    }
    assert_in_range(helped, 1, 8);
}

/* Waits that are short, or far apart: on average the inner component is the faster one. */
static void test_rare_waits(void **state)
{
    osc_cached_presence_t presence = {.waited = 0};
    uint64_t now = 5;
    (void) state;

    for (uint64_t i = 1; i < 1000000; i++) {
        osc_cached_presence_flushed(&presence, now, 0 == i % 2000 ? 4000000 : 1200, 1200, HELPER);
        now += 1200;
        assert_false(osc_cached_presence_is_away(&presence, now, HELPER));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_and_goes), cmocka_unit_test(test_mapped_memory_is_never_left),
        cmocka_unit_test(test_dear),           cmocka_unit_test(test_no_hasty_decisions),
        cmocka_unit_test(test_an_accident),    cmocka_unit_test(test_busy_machine),
        cmocka_unit_test(test_rare_waits),
    };

    return cmocka_run_group_tests_name("osc_cached_presence", tests, NULL, NULL);
}
