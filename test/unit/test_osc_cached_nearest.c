/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_nearest: edits between two words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_nearest.h"

static void test_edits(void **state)
{
    static const struct {
        const char *from, *to;
        unsigned edits;
    } pairs[] = {
        {"", "", 0},         {"mode", "mode", 0},     {"mode", "", 4},
        {"mdoe", "mode", 1}, {"mod", "mode", 1},      {"modes", "mode", 1},
        {"node", "mode", 1}, {"memroy", "memory", 1}, {"heater_perod", "heater_period", 1},
        {"abcd", "dcba", 3}, {"stats", "scheme", 5},  {"osc", "pml", 3},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
        assert_int_equal(osc_cached_distance(pairs[i].from, pairs[i].to), pairs[i].edits);
        assert_int_equal(osc_cached_distance(pairs[i].to, pairs[i].from), pairs[i].edits);
    }
}

/* Only the first letters count of what no parameter is called. */
static void test_long(void **state)
{
    char word[300], other[300];

    (void) state;
    memset(word, 'a', sizeof(word));
    memset(other, 'b', sizeof(other));
    word[299] = other[299] = '\0';
    assert_int_equal(osc_cached_distance(word, other), OSC_CACHED_NEAREST_MAX);
    assert_int_equal(osc_cached_distance(word, word), 0);
    assert_int_equal(osc_cached_distance(word, ""), OSC_CACHED_NEAREST_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
