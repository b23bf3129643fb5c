/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_shared_layouts: numbers are equal for equal layouts and for no others; no room;
 * damage; processes that ask at the same time, and are killed meanwhile, have the same numbers.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_shared.h"
#include "osc_cached_test_random.h"
#include "osc_cached_test_robust.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KINDS = 60, LONGEST = 300 };

typedef struct {
    uint64_t count;
    size_t bytes;
    unsigned char description[LONGEST];
} kind_t;

/* Three of each length, the last of which is described as the second is. */
static kind_t kind_of(uint32_t i)
{
    kind_t kind = {.count = 1 + (2 == i % 3), .bytes = 1 + 5 * (i / 3)};

    for (size_t k = 0; k < kind.bytes; ++k) {
        kind.description[k] = (unsigned char) (k * 7);
    }
    kind.description[kind.bytes / 2] += 0 != i % 3;
    return kind;
}

static bool find(const osc_cached_shared_layouts_t *layouts, uint32_t i, uint32_t *number)
{
    kind_t kind = kind_of(i);

    return osc_cached_shared_layouts_find(layouts, kind.count, kind.description, kind.bytes,
                                          number);
}

static uint32_t add(osc_cached_shared_layouts_t *layouts, uint32_t i)
{
    kind_t kind = kind_of(i);

    return osc_cached_shared_layouts_add(layouts, kind.count, kind.description, kind.bytes);
}

static osc_cached_shared_layouts_t *all_added(uint32_t *numbers)
{
    osc_cached_shared_layouts_t *layouts = calloc(1, sizeof(*layouts));

    assert_non_null(layouts);
    for (uint32_t i = 0; i < KINDS; ++i) {
        uint32_t number;

        assert_true(find(layouts, i, &number));
        assert_int_equal(number, 0);
        numbers[i] = add(layouts, i);
        assert_int_not_equal(numbers[i], 0);
        assert_true(osc_cached_shared_layouts_are_right(layouts));
    }
    return layouts;
}

static void numbers_are_those_of_layouts(void **state)
{
    uint32_t numbers[KINDS], number;
    osc_cached_shared_layouts_t *layouts = all_added(numbers);

    (void) state;
    for (uint32_t i = 0; i < KINDS; ++i) {
        assert_true(find(layouts, i, &number));
        assert_int_equal(number, numbers[i]);
        for (uint32_t k = 0; k < i; ++k) {
            assert_int_not_equal(numbers[i], numbers[k]);
        }
    }
    free(layouts);
}

static void there_is_an_end(void **state)
{
    osc_cached_shared_layouts_t *layouts = calloc(1, sizeof(*layouts));
    static const char long_one[OSC_CACHED_SHARED_LAYOUTS_BYTES + 1];
    uint32_t count = 0, number;

    (void) state;
    assert_non_null(layouts);
    assert_int_equal(osc_cached_shared_layouts_add(layouts, 1, long_one, sizeof(long_one)), 0);
    assert_int_equal(osc_cached_shared_layouts_add(layouts, 1, long_one, sizeof(long_one) - 1), 0);
    while (0 != osc_cached_shared_layouts_add(layouts, count, "12345678", 8)) {
        ++count;
    }
    assert_int_equal(count, OSC_CACHED_SHARED_LAYOUTS_BYTES / 32);
    assert_true(osc_cached_shared_layouts_are_right(layouts));
    assert_true(osc_cached_shared_layouts_find(layouts, count - 1, "12345678", 8, &number));
    assert_int_not_equal(number, 0);
    assert_true(osc_cached_shared_layouts_find(layouts, count, "12345678", 8, &number));
    assert_int_equal(number, 0);
    free(layouts);
}

/* Whatever bit changes: who asks gets the right number, or none. */
static void damage_is_noticed(void **state)
{
    uint32_t numbers[KINDS], noticed = 0;
    osc_cached_shared_layouts_t *layouts = all_added(numbers);

    (void) state;
    for (uint64_t byte = 0; byte < sizeof(layouts->used) + layouts->used; ++byte) {
        for (int bit = 0; bit < 8; ++bit) {
            ((unsigned char *) layouts)[byte] ^= (unsigned char) (1 << bit);
            for (uint32_t i = 0; i < KINDS; ++i) {
                uint32_t number;

                if (!find(layouts, i, &number)) {
                    ++noticed;
                } else {
                    assert_true(0 == number || numbers[i] == number);
                }
            }
            ((unsigned char *) layouts)[byte] ^= (unsigned char) (1 << bit);
        }
    }
    assert_true(0 < noticed);
    assert_true(osc_cached_shared_layouts_are_right(layouts));
    free(layouts);
}

static bool grow(void *context, uint64_t offset, uint64_t bytes)
{
    (void) context;
    (void) offset;
    (void) bytes;
    return true;
}

static const osc_cached_shared_config_t config = {
    .memory = 4096, .max_memory = 4096, .slots = 16, .max_slots = 16, .targets = 1};

/* When layouts that were there are not, new ones would get their numbers. */
static void loss_is_noticed(void **state)
{
    void *memory = calloc(1, osc_cached_shared_size(&config) + 64);
    void *aligned = (void *) (((uintptr_t) memory + 63) & ~(uintptr_t) 63);
    osc_cached_shared_t shared;
    uint64_t used;

    (void) state;
    assert_non_null(memory);
    assert_int_equal(osc_cached_shared_create(&shared, aligned, &config, grow, NULL),
                     OSC_CACHED_OK);
    assert_int_not_equal(osc_cached_shared_layout(&shared, 1, "one", 3), 0);
    used = shared.layouts->used;
    assert_int_not_equal(osc_cached_shared_layout(&shared, 1, "two", 3), 0);
    assert_int_not_equal(osc_cached_shared_layout(&shared, 1, "two", 3), 0);
    shared.layouts->used = used;
    assert_int_equal(osc_cached_shared_layout(&shared, 1, "three", 5), 0);
    assert_false(osc_cached_shared_is_good(&shared));
    free(memory);
}

/* Ask for all layouts, at first all processes for the same one, and tell which numbers they have.
 */
static void ask(osc_cached_shared_t *shared, _Atomic uint32_t *told, uint64_t random)
{
    while (0 == told[KINDS]) {
    }
    for (uint32_t k = 0;; ++k) {
        uint32_t i = k < KINDS ? k : random_below(&random, KINDS), number, before = 0;
        kind_t kind = kind_of(i);

        number = osc_cached_shared_layout(shared, kind.count, kind.description, kind.bytes);
        if (0 != number && !atomic_compare_exchange_strong(&told[i], &before, number)
            && before != number) {
            _exit(1);
        }
    }
}

static void processes_have_the_same_numbers(void **state)
{
    enum { ROUNDS = 200, PROCESSES = 2 };
    uint64_t bytes = osc_cached_shared_size(&config), known = 0;

    (void) state;
    if (!is_robust()) {
        skip();
    }
    for (uint64_t round = 0; round < ROUNDS; ++round) {
        char *memory = mmap(NULL, bytes + sizeof(uint32_t[KINDS + 1]), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        _Atomic uint32_t *told = (_Atomic uint32_t *) (void *) (memory + bytes);
        pid_t children[PROCESSES];
        osc_cached_shared_t shared;

        assert_ptr_not_equal(MAP_FAILED, memory);
        assert_int_equal(osc_cached_shared_create(&shared, memory, &config, grow, NULL),
                         OSC_CACHED_OK);
        for (uint64_t i = 0; i < PROCESSES; ++i) {
            children[i] = fork();
            if (0 == children[i]) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                ask(&shared, told, round * PROCESSES + i + 1);
            }
        }
        told[KINDS] = 1;
        usleep(500 * (useconds_t) (round % 7));
        for (uint64_t i = 0; i < PROCESSES; ++i) { /* one by one, wherever they are */
            int status = 0;

            kill(children[i], SIGKILL);
            assert_int_equal(waitpid(children[i], &status, 0), children[i]);
            assert_true(WIFSIGNALED(status));
        }
        assert_int_equal(osc_cached_shared_verify(&shared), 0);
        for (uint32_t i = 0; i < KINDS; ++i) {
            kind_t kind = kind_of(i);
            uint32_t number =
                osc_cached_shared_layout(&shared, kind.count, kind.description, kind.bytes);

            known += 0 != told[i];
            assert_int_not_equal(number, 0);
            assert_true(0 == told[i] || number == told[i]);
        }
        assert_int_equal(munmap(memory, bytes + sizeof(uint32_t[KINDS + 1])), 0);
    }
    assert_true(KINDS < known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_layouts),
        cmocka_unit_test(there_is_an_end),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(loss_is_noticed),
        cmocka_unit_test(processes_have_the_same_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
