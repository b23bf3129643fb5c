/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_rules: what is read, what is refused and where, and which windows match. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "osc_cached_rules.h"
#include "osc_cached_test_random.h"

static bool is_allowed(const char *values, const char *value)
{
    return 0 == strcmp(values, "any") || NULL != strstr(values, value);
}

enum { MODE, MEMORY, HELPER, SETTINGS };

static const osc_cached_rules_setting_t settings[SETTINGS] = {
    {"mode", "off, always, user", false}, {"memory", "any", false}, {"helper", "any", true}};

static osc_cached_rules_t rules;

static void read_all(const char *text)
{
    size_t where = 0;
    const char *wrong = osc_cached_rules_read(&rules, text, settings, SETTINGS, is_allowed, &where);

    if (NULL != wrong) {
        print_error("%s: %s at %zu\n", text, wrong, where);
    }
    assert_null(wrong);
}

static const char *value(int setting, const char *name, uint64_t size, uint64_t processes,
                         osc_cached_kind_t kind)
{
    osc_cached_rules_window_t window = {name, size, processes, kind};
    bool by_name;
    const char *found = osc_cached_rules_value(&rules, &window, setting, &by_name);

    return (NULL == found) ? "" : found;
}

static void test_example(void **state)
{
    osc_cached_rules_window_t window = {"graph 1", 2, 2, OSC_CACHED_KIND_CREATE};
    uint64_t large = ((uint64_t) 1 << 30) + 1;
    bool by_name;

    (void) state;
    read_all("name=graph*: mode=always memory=64M; size>1G: mode=off");
    assert_int_equal(rules.count, 2);
    assert_true(rules.has_names);
    assert_string_equal(value(MODE, "graph", 5, 2, OSC_CACHED_KIND_CREATE), "always");
    assert_string_equal(value(MEMORY, "graph", 5, 2, OSC_CACHED_KIND_CREATE), "64M");
    assert_string_equal(value(MODE, "other", 5, 2, OSC_CACHED_KIND_CREATE), "");
    assert_string_equal(value(MODE, NULL, 5, 2, OSC_CACHED_KIND_CREATE), "");
    assert_string_equal(value(MODE, NULL, large - 1, 2, OSC_CACHED_KIND_CREATE), "");
    assert_string_equal(value(MODE, NULL, large, 2, OSC_CACHED_KIND_CREATE), "off");
    /* the later one */
    assert_string_equal(value(MODE, "graph", large, 2, OSC_CACHED_KIND_CREATE), "off");
    assert_string_equal(value(MEMORY, "graph", large, 2, OSC_CACHED_KIND_CREATE), "64M");
    assert_non_null(osc_cached_rules_value(&rules, &window, MODE, &by_name));
    assert_true(by_name);
    window.size = large;
    assert_non_null(osc_cached_rules_value(&rules, &window, MODE, &by_name));
    assert_false(by_name);
}

static void test_conditions(void **state)
{
    (void) state;
    read_all(";; size>=4K,size<=8k processes>2 kind=allocate:mode=user ;\n"
             "processes = 1 : helper=on,mode=off; size<1:memory=1;");
    assert_int_equal(rules.count, 3);
    assert_false(rules.has_names);
    assert_string_equal(value(MODE, "x", 4096, 3, OSC_CACHED_KIND_ALLOCATE), "user");
    assert_string_equal(value(MODE, "x", 8192, 3, OSC_CACHED_KIND_ALLOCATE), "user");
    assert_string_equal(value(MODE, "x", 4095, 3, OSC_CACHED_KIND_ALLOCATE), "");
    assert_string_equal(value(MODE, "x", 8193, 3, OSC_CACHED_KIND_ALLOCATE), "");
    assert_string_equal(value(MODE, "x", 4096, 2, OSC_CACHED_KIND_ALLOCATE), "");
    assert_string_equal(value(MODE, "x", 4096, 3, OSC_CACHED_KIND_CREATE), "");
    assert_string_equal(value(HELPER, "x", 4096, 1, OSC_CACHED_KIND_SHARED), "on");
    assert_string_equal(value(MEMORY, "x", 0, 9, OSC_CACHED_KIND_DYNAMIC), "1");
    assert_string_equal(value(MEMORY, "x", 1, 9, OSC_CACHED_KIND_DYNAMIC), "");
    /* nothing is of two kinds */
    read_all("kind=create kind=shared: mode=off");
    assert_string_equal(value(MODE, "x", 1, 1, OSC_CACHED_KIND_CREATE), "");
    read_all("");
    assert_int_equal(rules.count, 0);
    read_all(" ; ,");
    assert_int_equal(rules.count, 0);
}

static void test_patterns(void **state)
{
    (void) state;
    assert_true(osc_cached_rules_matches("graph*", "graph"));
    assert_true(osc_cached_rules_matches("graph*", "graph of x"));
    assert_false(osc_cached_rules_matches("graph*", "a graph"));
    assert_true(osc_cached_rules_matches("*graph", "a graph"));
    assert_true(osc_cached_rules_matches("*", ""));
    assert_true(osc_cached_rules_matches("a?b", "a b"));
    assert_false(osc_cached_rules_matches("a?b", "ab"));
    assert_true(osc_cached_rules_matches("*a*b*", "xxaxxbxx"));
    assert_false(osc_cached_rules_matches("*a*b*", "xxbxxaxx"));
    assert_true(osc_cached_rules_matches("*ab", "aab"));
    assert_false(osc_cached_rules_matches("", "a"));
    /* no time that grows with every star */
    assert_false(osc_cached_rules_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
                                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

/* The caret stands under the character. */
static void test_refused(void **state)
{
    static const struct {
        const char *text, *wrong;
    } bad[] = {
        {"mode=always", "^a condition"},
        {"name=graph*", "           ^: and a setting"},
        {"name=graph*;", "           ^: and a setting"},
        {"name=graph*:", "            ^a setting is needed"},
        {"name=: mode=off", "     ^a value"},
        {"name: mode=off", "    ^= is needed"},
        {"name=a name=b: mode=off", "       ^a rule has one"},
        {"size: mode=off", "    ^=, <"},
        {"size>: mode=off", "     ^a number is needed"},
        {"size>1Q: mode=off", "      ^a number is digits"},
        {"size>1KB: mode=off", "       ^a number is digits"},
        {"size>99999999999999999999: mode=off", "     ^this number is too large"},
        {"size>99999999999999G: mode=off", "     ^this number is too large"},
        {"size<0: mode=off", "    ^nothing is smaller than 0"},
        {"size>18446744073709551615: mode=off", "    ^nothing is larger than that"},
        {"kind=window: mode=off", "     ^a kind"},
        {"kind=created: mode=off", "     ^a kind"},
        {"name=a: mdoe=off", "        ^there is no such"},
        {"name=a: mode=on", "             ^this value is not allowed, only off, always, user"},
        {"name=a: mode=off name=b: mode=off", "                 ^there is no such"},
        {"name=a: mode=off: mode=off", "                ^; is needed"},
        {"name=a: mode", "            ^= is needed"},
        {"name=a: mode=", "             ^a value"},
        {"name=a: helper=on", "        ^name and size are not known yet"},
        {"size>1: helper=on", "        ^name and size are not known yet"},
        {"size<1: helper=on", "        ^name and size are not known yet"},
        {"name=a: mode=off; x", "                  ^a condition"},
    };
    char text[OSC_CACHED_RULES_TEXT_MAX + 1] = "";
    size_t where = 0;

    (void) state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        const char *wrong =
            osc_cached_rules_read(&rules, bad[i].text, settings, SETTINGS, is_allowed, &where);
        size_t caret = strcspn(bad[i].wrong, "^");

        assert_non_null(wrong);
        if (where != caret
            || 0 != strncmp(wrong, bad[i].wrong + caret + 1, strlen(bad[i].wrong + caret + 1))) {
            print_error("%s\n%*s^ %s\n", bad[i].text, (int) where, "", wrong);
            fail();
        }
        assert_int_equal(rules.count, 0);
    }
    for (int i = 0; i <= OSC_CACHED_RULES_MAX; ++i) {
        assert_null(osc_cached_rules_read(&rules, text, settings, SETTINGS, is_allowed, &where));
        strcat(text, "size>1:mode=off;");
    }
    assert_non_null(osc_cached_rules_read(&rules, text, settings, SETTINGS, is_allowed, &where));
    assert_int_equal(where, 16 * OSC_CACHED_RULES_MAX);
    memset(text, ' ', sizeof(text) - 1);
    assert_non_null(osc_cached_rules_read(&rules, text, settings, SETTINGS, is_allowed, &where));
    text[OSC_CACHED_RULES_TEXT_MAX - 1] = '\0';
    assert_null(osc_cached_rules_read(&rules, text, settings, SETTINGS, is_allowed, &where));
}

/* Whatever it is, it is read or refused at one of its characters. */
static void test_any_bytes(void **state)
{
    static const char *const pieces[] = {
        "name",   "=",   "graph*", ":",         ";",    " ",      ",",  "size", ">",
        "<=",     "1G",  "0",      "processes", "kind", "create", "?",  "mode", "off",
        "memory", "64M", "helper", "on",        "*",    "\xff",   "\t",
    };
    static const char example[] =
        "name=graph*: mode=always memory=64M; size>1G,processes<=8 kind=create: mode=off helper=on";
    uint64_t seed = seed_get(20261116);
    char text[OSC_CACHED_RULES_TEXT_MAX + 64];
    int fine = 0;

    (void) state;
    for (int i = 0; i < 300000; ++i) {
        uint32_t length = random_below(&seed, (0 == i % 1000) ? 700 : 24);
        size_t where = SIZE_MAX, used = 0;
        const char *wrong;

        for (uint32_t k = 0; k < length && used < sizeof(text) - 16; ++k) {
            const char *piece = pieces[random_below(&seed, sizeof(pieces) / sizeof(pieces[0]))];

            memcpy(text + used, piece, strlen(piece));
            used += strlen(piece);
        }
        if (0 == i % 2) {
            used = random_below(&seed, sizeof(example));
            memcpy(text, example, used);
            for (uint32_t k = random_below(&seed, 3); 0 < k && 0 < used; --k) {
                text[random_below(&seed, (uint32_t) used)] = (char) (1 + random_below(&seed, 255));
            }
        }
        text[used] = '\0';
        wrong = osc_cached_rules_read(&rules, text, settings, SETTINGS, is_allowed, &where);
        if (NULL != wrong) {
            assert_true(where <= used);
            assert_int_equal(rules.count, 0);
            continue;
        }
        fine += 0 < rules.count;
        for (int k = 0; k < SETTINGS; ++k) {
            (void) value(k, "graph 1", length, 2, OSC_CACHED_KIND_CREATE);
        }
        for (int k = 0; k < rules.count; ++k) {
            bool any = false;

            for (int l = 0; l < SETTINGS; ++l) {
                const char *set = rules.rules[k].values[l];

                any |= NULL != set && '\0' != set[0];
            }
            assert_true(any);
        }
    }
    assert_true(fine > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),   cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_patterns),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
