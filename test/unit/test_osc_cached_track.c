/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_track, with the kernel that is there: exit code 77 where it cannot tell.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 300 };

static size_t page;

typedef struct {
    int calls;
    unsigned char pages[PAGES];
} seen_t;

static void see(void *context, uint64_t from, uint64_t to)
{
    seen_t *seen = context;

    assert_true(from < to);
    for (uint64_t i = from / page; i < (to + page - 1) / page; ++i) {
        assert_int_equal(0, seen->pages[i]++);
    }
    ++seen->calls;
}

static char *map(int flags)
{
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

    assert_ptr_not_equal(MAP_FAILED, memory);
    return memory;
}

/* Stores and system calls are named once, in any memory, populated or not. */
static void test_names(void **state)
{
    static const int flags[] = {MAP_PRIVATE, MAP_SHARED};
    ompi_osc_cached_track_t track;
    int ends[2];

    (void) state;
    assert_int_equal(0, pipe(ends));
    for (size_t f = 0; f < 2; ++f) {
        char *memory = map(flags[f]);
        seen_t seen = {0};

        memset(memory, 1, 5 * page); /* the others are not populated */
        ompi_osc_cached_track_begin(&track, memory, PAGES * page - 7);
        assert_true(ompi_osc_cached_track_read(&track, true, see, &seen));
        assert_int_equal(0, seen.calls);
        memory[3 * page] = 2;
        assert_int_equal(1, write(ends[1], "x", 1));
        assert_int_equal(1, read(ends[0], memory + 9 * page, 1));
        for (size_t i = 20; i < PAGES; i += 2) { /* more ranges than one call of the kernel names */
            memory[i * page] = 3;
        }
        for (int forgets = 0; forgets < 2; ++forgets) { /* nothing is forgotten at first */
            memset(&seen, 0, sizeof(seen));
            assert_true(ompi_osc_cached_track_read(&track, forgets, see, &seen));
            for (size_t i = 0; i < PAGES; ++i) {
                assert_int_equal(3 == i || 9 == i || (20 <= i && 0 == i % 2), seen.pages[i]);
            }
        }
        memset(&seen, 0, sizeof(seen));
        memory[3 * page] = 4;
        assert_true(ompi_osc_cached_track_read(&track, true, see, &seen));
        assert_int_equal(1, seen.calls);
        assert_int_equal(1, seen.pages[3]);
        ompi_osc_cached_track_end(&track);
        memory[0] = 5;
        assert_int_equal(0, munmap(memory, PAGES * page));
    }
    close(ends[0]);
    close(ends[1]);
}

/* Where the kernel cannot tell, it says so, now and ever after. */
static void test_unknown(void **state)
{
    ompi_osc_cached_track_t track, other;
    char *memory = map(MAP_PRIVATE);
    seen_t seen = {0};

    (void) state;
    ompi_osc_cached_track_begin(&track, NULL, 0);
    assert_false(ompi_osc_cached_track_read(&track, true, see, &seen));
    ompi_osc_cached_track_end(&track);

    ompi_osc_cached_track_begin(&track, memory, PAGES * page);
    ompi_osc_cached_track_begin(&other, memory, page); /* memory has one watcher */
    assert_false(ompi_osc_cached_track_read(&other, true, see, &seen));
    assert_int_equal(0, seen.calls);
    ompi_osc_cached_track_end(&other);
    assert_true(ompi_osc_cached_track_read(&track, true, see, &seen));
    assert_int_equal(0, munmap(memory, PAGES * page));
    (void) ompi_osc_cached_track_read(&track, true, see, &seen);
    ompi_osc_cached_track_end(&track);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown),
    };
    ompi_osc_cached_track_t track;
    bool can;

    page = (size_t) sysconf(_SC_PAGESIZE);
    ompi_osc_cached_track_begin(&track, map(MAP_PRIVATE), PAGES * page);
    can = -1 != track.faults;
    ompi_osc_cached_track_end(&track);
    if (!can) {
        printf("this kernel does not tell which pages were changed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
