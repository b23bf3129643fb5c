/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_file: good and bad values of each key; the parts of windows of many sizes, against the
 * invariants of the header.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_file.h"
#include "osc_cached_test_random.h"

#include <string.h>

static int key_of(const char *name)
{
    for (int i = 0; i < OSC_CACHED_FILE_KEYS; ++i) {
        if (0 == strcmp(name, osc_cached_file_keys[i])) {
            return i;
        }
    }
    fail_msg("no key %s", name);
    return -1;
}

static const char *take(osc_cached_file_wish_t *wish, const char *key, const char *value)
{
    return osc_cached_file_wish_take(wish, key_of(key), value);
}

/* A bad value is answered with the good ones, and changes nothing. */
static void refuse(osc_cached_file_wish_t *wish, const char *key, const char *value,
                   const char *allowed)
{
    osc_cached_file_wish_t before;
    const char *answer;

    memcpy(&before, wish, sizeof(before));
    answer = take(wish, key, value);
    assert_non_null(answer);
    assert_non_null(strstr(answer, allowed));
    assert_memory_equal(&before, wish, sizeof(before));
}

static void test_keys(void **state)
{
    osc_cached_file_wish_t wish;

    (void) state;
    for (int i = 0; i < OSC_CACHED_FILE_KEYS; ++i) {
        assert_true(strlen(osc_cached_file_keys[i]) <= 27); /* Open MPI 4.1 */
    }
    osc_cached_file_wish_init(&wish);
    assert_false(wish.on_storage);
    assert_true(1 == wish.factor && !wish.automatic && !wish.storage_first);
    assert_int_equal(0600, wish.permissions);
    assert_int_equal(OSC_CACHED_FILE_RANDOM, wish.access);

    refuse(&wish, "alloc_type", "stoarge", "memory, storage");
    refuse(&wish, "alloc_type", "", "memory, storage");
    assert_null(take(&wish, "alloc_type", "storage"));
    assert_true(wish.on_storage);
    refuse(&wish, "alloc_type", "Storage", "memory, storage");
    assert_null(take(&wish, "alloc_type", "memory"));
    assert_false(wish.on_storage);

    refuse(&wish, "storage_alloc_unlink", "yes", "true, false");
    assert_null(take(&wish, "storage_alloc_unlink", "true"));
    refuse(&wish, "storage_alloc_discard", "1", "true, false");
    assert_true(wish.unlinks && !wish.discards);
    assert_null(take(&wish, "storage_alloc_discard", "true"));
    assert_null(take(&wish, "storage_alloc_unlink", "false"));
    assert_true(!wish.unlinks && wish.discards);

    refuse(&wish, "storage_alloc_order", "first", "memory_first, storage_first");
    assert_null(take(&wish, "storage_alloc_order", "storage_first"));
    assert_true(wish.storage_first);
    assert_null(take(&wish, "storage_alloc_order", "memory_first"));
    assert_false(wish.storage_first);
}

static void test_name(void **state)
{
    osc_cached_file_wish_t wish;
    char text[OSC_CACHED_FILE_VALUE + 1];

    (void) state;
    osc_cached_file_wish_init(&wish);
    refuse(&wish, "storage_alloc_filename", "", "file name");
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refuse(&wish, "storage_alloc_filename", text, "file name");
    text[sizeof(text) - 2] = '\0';
    assert_null(take(&wish, "storage_alloc_filename", text));
    assert_string_equal(text, wish.name);
}

static void test_numbers(void **state)
{
    osc_cached_file_wish_t wish;

    (void) state;
    osc_cached_file_wish_init(&wish);
    assert_null(take(&wish, "storage_alloc_offset", "65536"));
    assert_true(65536 == wish.offset);
    assert_null(take(&wish, "storage_alloc_offset", "9223372036854775807"));
    assert_true(INT64_MAX == wish.offset);
    for (const char *const *bad =
             (const char *const[]){"", "-1", "1K", " 1", "0x10", "1.5", "9223372036854775808",
                                   "99999999999999999999999", NULL};
         NULL != *bad; ++bad) {
        refuse(&wish, "storage_alloc_offset", *bad, "number of bytes");
    }
    assert_null(take(&wish, "storage_alloc_factor", "0.25"));
    assert_true(.25 == wish.factor);
    refuse(&wish, "storage_alloc_factor", "automatic", "0 to 1, auto");
    assert_null(take(&wish, "storage_alloc_factor", "auto"));
    assert_true(wish.automatic);
    for (const char *const *bad =
             (const char *const[]){"", ".", "1.01", "-0.5", "nan", "1e-1", "0.5x", "2", NULL};
         NULL != *bad; ++bad) {
        refuse(&wish, "storage_alloc_factor", *bad, "0 to 1, auto");
    }
    assert_null(take(&wish, "storage_alloc_factor", "1"));
    assert_true(!wish.automatic && 1 == wish.factor);
    assert_null(take(&wish, "file_perm", "0640"));
    assert_int_equal(0640, wish.permissions);
    for (const char *const *bad = (const char *const[]){"", "8", "rw", "1000", "-1", NULL};
         NULL != *bad; ++bad) {
        refuse(&wish, "file_perm", *bad, "octal");
    }
}

static void test_access(void **state)
{
    osc_cached_file_wish_t wish;

    (void) state;
    osc_cached_file_wish_init(&wish);
    assert_null(take(&wish, "access_style", "sequential"));
    assert_int_equal(OSC_CACHED_FILE_SEQUENTIAL, wish.access);
    assert_null(take(&wish, "access_style", "read_mostly,write_once"));
    assert_int_equal(OSC_CACHED_FILE_RANDOM, wish.access);
    assert_null(take(&wish, "access_style", "read_once,write_mostly"));
    assert_int_equal(OSC_CACHED_FILE_SEQUENTIAL, wish.access);
    assert_null(take(&wish, "access_style", "reverse_sequential"));
    assert_int_equal(OSC_CACHED_FILE_NORMAL, wish.access);
    assert_null(take(&wish, "access_style", "random"));
    assert_int_equal(OSC_CACHED_FILE_RANDOM, wish.access);
    for (const char *const *bad =
             (const char *const[]){"", "seq", "sequential,", ",random", "random,fast", NULL};
         NULL != *bad; ++bad) {
        refuse(&wish, "access_style", *bad, "random, sequential");
    }
}

static void test_plan(void **state)
{
    static const char *const factors[] = {"0", "0.1", "0.5", "0.999", "1", "auto"};
    uint64_t random = seed_get(1);

    (void) state;
    for (int step = 0; step < 20000; ++step) {
        uint64_t page = UINT64_C(4096) << (random_below(&random, 3) * 2);
        uint64_t size = random_below(&random, 1 << (1 + random_below(&random, 24)));
        uint64_t memory = random_below(&random, 1 << (1 + random_below(&random, 24)));
        const char *factor = factors[random_below(&random, 6)];
        osc_cached_file_wish_t wish;
        osc_cached_file_plan_t plan;
        uint64_t second, wanted;

        osc_cached_file_wish_init(&wish);
        wish.storage_first = random_below(&random, 2);
        wish.offset = page * random_below(&random, 5);
        assert_null(take(&wish, "storage_alloc_filename", "f"));
        assert_null(take(&wish, "storage_alloc_factor", factor));
        assert_null(osc_cached_file_plan(&wish, size, page, memory, &plan));
        assert_true(plan.file_size + plan.memory_size == size);
        assert_true(wish.storage_first
                        ? 0 == plan.file_start && plan.file_size == plan.memory_start
                        : 0 == plan.memory_start && plan.memory_size == plan.file_start);
        second = wish.storage_first ? plan.memory_start : plan.file_start;
        assert_true(0 == second % page || second == size);
        /* in the file what was asked for, and less than a page more */
        wanted = wish.automatic ? ((memory < size) ? size - memory : 0)
                                : size - (uint64_t) ((double) size * (1 - wish.factor));
        assert_true(wanted <= plan.file_size && plan.file_size < wanted + page);
        assert_true(0 != wanted || 0 == plan.file_size);
    }
}

/* What is told of a wish is the same wish. */
static void test_written(void **state)
{
    static const char *const values[][9] = {
        {"storage", "/a/b", "4096", "0.29", "storage_first", "true", "false", "640", "sequential"},
        {"memory", "x", "0", "1", "memory_first", "false", "true", "600", "random"},
        {"storage", "x", "0", "auto", "memory_first", "false", "true", "0", "reverse_sequential"},
        {"storage", "x", "9223372036854771712", "0.000001", "memory_first", "false", "true", "777",
         "random"},
        {"storage", "x", "1", "0", "memory_first", "false", "true", "777", "random"},
    };
    char value[OSC_CACHED_FILE_VALUE];

    (void) state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); ++i) {
        osc_cached_file_wish_t wish;

        osc_cached_file_wish_init(&wish);
        for (int key = 0; key < OSC_CACHED_FILE_KEYS; ++key) {
            assert_null(osc_cached_file_wish_take(&wish, key, values[i][key]));
        }
        for (int key = 0; key < OSC_CACHED_FILE_KEYS; ++key) {
            osc_cached_file_wish_write(&wish, key, value);
            assert_string_equal(value, values[i][key]);
        }
    }
}

static void test_refused_plans(void **state)
{
    osc_cached_file_wish_t wish;
    osc_cached_file_plan_t plan;

    (void) state;
    osc_cached_file_wish_init(&wish);
    assert_non_null(strstr(osc_cached_file_plan(&wish, 1, 4096, 0, &plan), "filename is missing"));
    assert_null(osc_cached_file_plan(&wish, 0, 4096, 0, &plan));
    wish.factor = 0;
    assert_null(osc_cached_file_plan(&wish, 10, 4096, 0, &plan));
    wish.factor = 1;
    assert_null(take(&wish, "storage_alloc_filename", "f"));
    assert_null(take(&wish, "storage_alloc_offset", "4095"));
    assert_non_null(strstr(osc_cached_file_plan(&wish, 1, 4096, 0, &plan), "page"));
    assert_null(take(&wish, "storage_alloc_offset", "9223372036854771712"));
    assert_null(osc_cached_file_plan(&wish, 4095, 4096, 0, &plan));
    assert_non_null(strstr(osc_cached_file_plan(&wish, 4096, 4096, 0, &plan), "too large"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),          cmocka_unit_test(test_name),
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_access),
        cmocka_unit_test(test_plan),          cmocka_unit_test(test_written),
        cmocka_unit_test(test_refused_plans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
