/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_changes, with the kernel that is there: exit code 77 where it cannot tell.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_changes.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 512, MANY = 8 };

static size_t page;
static uint8_t shift; /* a block is a page */
static char *memory;

static int read_changes(ompi_osc_cached_changes_t *changes, ompi_osc_cached_change_t *found)
{
    memset(found, 0xff, OSC_CACHED_CHANGES * sizeof(*found));
    return ompi_osc_cached_changes_read(changes, found);
}

/* Blocks of changed pages, of a window that begins and ends inside of a page. */
static void test_blocks(void **state)
{
    ompi_osc_cached_change_t found[OSC_CACHED_CHANGES];
    ompi_osc_cached_changes_t changes;

    (void) state;
    ompi_osc_cached_changes_init(&changes, memory + 100, PAGES * page - 200, shift, true);
    assert_int_equal(-1, read_changes(&changes, found)); /* it begins */
    assert_int_equal(0, read_changes(&changes, found));
    memory[150] = 1;
    memory[10 * page + 100] = 1; /* the first byte of its block, whose page begins before */
    assert_int_equal(2, read_changes(&changes, found));
    assert_int_equal(0, found[0].first);
    assert_true(found[1].first <= 10 && 10 < found[1].first + found[1].count);
    assert_int_equal(0, read_changes(&changes, found));
    for (int i = 0; i < 5; ++i) { /* next to each other */
        memory[(20 + i) * page] = 2;
    }
    assert_int_equal(1, read_changes(&changes, found));
    assert_true(found[0].first <= 19 && 25 <= found[0].first + found[0].count);
    memory[PAGES * page - 1] = 3; /* not of the window, but of its page */
    assert_int_equal(1, read_changes(&changes, found));
    ompi_osc_cached_changes_end(&changes);
    assert_int_equal(-1, read_changes(&changes, found));
}

/* Too many for single holds; and where most of it is changed again and again it is given up. */
static void test_many(void **state)
{
    ompi_osc_cached_change_t found[OSC_CACHED_CHANGES];
    ompi_osc_cached_changes_t changes;

    (void) state;
    ompi_osc_cached_changes_init(&changes, memory, PAGES * page, shift, true);
    assert_int_equal(-1, read_changes(&changes, found));
    for (int i = 0; i <= OSC_CACHED_CHANGES; ++i) {
        memory[3 * i * page] = 1;
    }
    assert_int_equal(-1, read_changes(&changes, found));
    memset(memory, 1, 100 * page); /* one range, but long */
    assert_int_equal(-1, read_changes(&changes, found));
    assert_int_equal(0, read_changes(&changes, found));
    for (int i = 0; i < MANY; ++i) {
        assert_true(changes.tracks);
        memset(memory, i, PAGES * page);
        assert_int_equal(-1, read_changes(&changes, found));
    }
    assert_false(changes.tracks);
    assert_int_equal(-1, read_changes(&changes, found));
    ompi_osc_cached_changes_end(&changes);
}

static void test_impossible(void **state)
{
    ompi_osc_cached_change_t found[OSC_CACHED_CHANGES];
    ompi_osc_cached_changes_t changes;

    (void) state;
    for (int i = 0; i < 2; ++i) { /* not allowed; nothing there */
        ompi_osc_cached_changes_init(&changes, memory, i * page, shift, 0 == i % 2 && 0 < i);
        assert_int_equal(-1, read_changes(&changes, found));
        assert_false(changes.tracks);
        ompi_osc_cached_changes_end(&changes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_impossible),
    };
    ompi_osc_cached_track_t track;
    bool tells;

    page = (size_t) sysconf(_SC_PAGESIZE);
    while ((size_t) 1 << shift < page) {
        ++shift;
    }
    memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    ompi_osc_cached_track_begin(&track, memory, PAGES * page);
    tells = -1 != track.faults;
    ompi_osc_cached_track_end(&track);
    if (!tells) {
        printf("this kernel does not tell which pages were changed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
