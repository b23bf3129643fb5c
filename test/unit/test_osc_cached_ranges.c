/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_ranges: against a list that is searched from end to end; empty ranges and buffers; an
 * allocator that fails; readers beside a thread that changes the ranges.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_ranges.h"
#include "osc_cached_test_random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { OWNERS = 8, RANGES_MAX = 600, SPACE = 4096 };

static const char owners[OWNERS];

typedef struct {
    int owner;
    uintptr_t start, end;
} model_range_t;

static model_range_t model[RANGES_MAX];
static int num_model;

static bool model_overlaps(uintptr_t from, uintptr_t to)
{
    for (int i = 0; i < num_model; ++i) {
        if (from < model[i].end && model[i].start < to) {
            return true;
        }
    }
    return false;
}

static bool model_others(int owner, uintptr_t from, uintptr_t to)
{
    for (int i = 0; i < num_model; ++i) {
        if (owner != model[i].owner && from < model[i].end && model[i].start < to) {
            return true;
        }
    }
    return false;
}

static void model_remove(int owner, bool all, uintptr_t start)
{
    int kept = 0;

    for (int i = 0; i < num_model; ++i) {
        if (owner != model[i].owner || !(all || start == model[i].start)) {
            model[kept++] = model[i];
        }
    }
    num_model = kept;
}

static void test_model(void **state)
{
    uint64_t random = seed_get(1);
    osc_cached_ranges_t ranges;
    uintptr_t from, to;

    (void) state;
    memset(&ranges, 0, sizeof(ranges));
    num_model = 0;
    for (int step = 0; step < 30000; ++step) {
        int owner = (int) random_below(&random, OWNERS);

        if (0 == random_below(&random, 3) && num_model < RANGES_MAX) {
            uintptr_t start = random_below(&random, SPACE);
            uintptr_t end = start + 1 + random_below(&random, (0 == step % 7) ? 200 : 4);

            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_ranges_add(&ranges, &osc_cached_alloc_default,
                                                   &owners[owner], start, end));
            model[num_model++] = (model_range_t){owner, start, end};
        } else if (0 == random_below(&random, 20) && 0 < num_model) {
            int which = (int) random_below(&random, (uint32_t) num_model);
            uintptr_t start = model[which].start;

            owner = model[which].owner;
            osc_cached_ranges_remove(&ranges, &owners[owner], false, start);
            model_remove(owner, false, start);
        } else if (0 == random_below(&random, 300)) {
            osc_cached_ranges_remove(&ranges, &owners[owner], true, 0);
            model_remove(owner, true, 0);
        }
        assert_int_equal(0, osc_cached_ranges_verify(&ranges));
        for (int i = 0; i < 8; ++i) {
            /* the same buffer several times: the gap is known */
            from = (i < 4) ? random_below(&random, SPACE + 300) : from;
            to = from + 1 + random_below(&random, 16);
            assert_int_equal(model_overlaps(from, to) ? OSC_CACHED_RANGES_OVERLAP
                                                      : OSC_CACHED_RANGES_APART,
                             osc_cached_ranges_ask(&ranges, from, to));
            assert_int_equal(model_others(owner, from, to),
                             osc_cached_ranges_others(&ranges, &owners[owner], from, to));
        }
        if (osc_cached_ranges_hull(&ranges, &from, &to)) {
            assert_true(0 < num_model && model_overlaps(from, from + 1)
                        && model_overlaps(to - 1, to));
            assert_false(model_overlaps(0, from) || model_overlaps(to, UINTPTR_MAX));
        } else {
            assert_int_equal(0, num_model);
        }
        from = 0;
    }
    osc_cached_ranges_destroy(&ranges, &osc_cached_alloc_default);
}

static void test_nothing(void **state)
{
    osc_cached_ranges_t ranges;
    uintptr_t from, to;

    (void) state;
    memset(&ranges, 0, sizeof(ranges));
    assert_int_equal(OSC_CACHED_RANGES_APART, osc_cached_ranges_ask(&ranges, 0, UINTPTR_MAX));
    assert_false(osc_cached_ranges_hull(&ranges, &from, &to));
    osc_cached_ranges_remove(&ranges, owners, true, 0);
    assert_int_equal(0, osc_cached_ranges_verify(&ranges));
    osc_cached_ranges_destroy(&ranges, &osc_cached_alloc_default);
}

static void *no_memory(void *context, size_t alignment, size_t bytes)
{
    int *left = context;

    return (0 < (*left)--)
               ? aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
               : NULL;
}

static void give_back(void *context, void *memory, size_t bytes)
{
    (void) context;
    (void) bytes;
    free(memory);
}

static void test_no_memory(void **state)
{
    (void) state;
    for (int most = 0; most < 4; ++most) {
        int left = most, added = 0;
        osc_cached_alloc_t alloc = {no_memory, give_back, &left};
        osc_cached_ranges_t ranges;

        memset(&ranges, 0, sizeof(ranges));
        while (OSC_CACHED_OK
               == osc_cached_ranges_add(&ranges, &alloc, owners, (uintptr_t) added * 8,
                                        (uintptr_t) added * 8 + 4)) {
            ++added;
        }
        assert_int_equal((0 == most) ? 0 : 16 << (most - 1), added);
        assert_int_equal(0, osc_cached_ranges_verify(&ranges));
        for (int i = 0; i < added; ++i) {
            uintptr_t at = (uintptr_t) i * 8;

            assert_int_equal(OSC_CACHED_RANGES_OVERLAP, osc_cached_ranges_ask(&ranges, at, at + 1));
            assert_int_equal(OSC_CACHED_RANGES_APART,
                             osc_cached_ranges_ask(&ranges, at + 4, at + 8));
        }
        osc_cached_ranges_destroy(&ranges, &alloc);
    }
}

/* One range is always there, and one gap is always free; others come and go between them. */
static osc_cached_ranges_t shared;
static atomic_bool ended;

static void *reader(void *wrong)
{
    while (!atomic_load(&ended)) {
        if (OSC_CACHED_RANGES_APART == osc_cached_ranges_ask(&shared, 100000, 100004)
            || OSC_CACHED_RANGES_OVERLAP == osc_cached_ranges_ask(&shared, 50000, 50004)) {
            ++*(int *) wrong;
        }
    }
    return NULL;
}

static void test_readers(void **state)
{
    enum { READERS = 2, ROUNDS = 300, BEFORE = 40 };
    pthread_t threads[READERS];
    int wrong[READERS] = {0};

    (void) state;
    memset(&shared, 0, sizeof(shared));
    assert_int_equal(OSC_CACHED_OK, osc_cached_ranges_add(&shared, &osc_cached_alloc_default,
                                                          &owners[0], 100000, 100008));
    for (int i = 0; i < READERS; ++i) {
        assert_int_equal(0, pthread_create(&threads[i], NULL, reader, &wrong[i]));
    }
    for (int round = 0; round < ROUNDS; ++round) {
        for (uintptr_t i = 0; i < BEFORE; ++i) {
            /* before the gap, between gap and range, and behind the range */
            uintptr_t start = (uintptr_t[]){i * 8, 60000 + i * 8, 200000 + i * 8}[i % 3];

            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_ranges_add(&shared, &osc_cached_alloc_default, &owners[1],
                                                   start, start + 4));
        }
        osc_cached_ranges_remove(&shared, &owners[1], true, 0);
    }
    atomic_store(&ended, true);
    for (int i = 0; i < READERS; ++i) {
        assert_int_equal(0, pthread_join(threads[i], NULL));
        assert_int_equal(0, wrong[i]);
    }
    osc_cached_ranges_destroy(&shared, &osc_cached_alloc_default);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
