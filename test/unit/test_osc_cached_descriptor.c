/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_descriptor: the program's half of limits; what another process has is reached by what
 * that one tells, and nothing else is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_descriptor.h"

#include <stdlib.h>

static void test_limits(void **state)
{
    struct rlimit before, most;

    (void) state;
    assert_int_equal(0, getrlimit(RLIMIT_AS, &before));
    most = before;
    most.rlim_cur = ((rlim_t) 1 << 40) < before.rlim_max ? (rlim_t) 1 << 40 : before.rlim_max;
    assert_int_equal(0, setrlimit(RLIMIT_AS, &most));
    assert_int_equal(0, getrlimit(RLIMIT_AS, &most)); /* qemu sets none */
    if (RLIM_INFINITY != most.rlim_cur) {
        assert_true(ompi_osc_cached_may_map(most.rlim_cur / 2));
        assert_false(ompi_osc_cached_may_map(most.rlim_cur / 2 + 1));
    }
    assert_int_equal(0, setrlimit(RLIMIT_AS, &before));
    if (RLIM_INFINITY == before.rlim_cur) {
        assert_true(ompi_osc_cached_may_map(UINT64_MAX));
    }
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &most));
    assert_false(ompi_osc_cached_may_keep(-1));
    assert_true(ompi_osc_cached_may_keep((int) (most.rlim_cur / 2) - 1));
    assert_false(ompi_osc_cached_may_keep((int) (most.rlim_cur / 2)));
}

static void test_reach(void **state)
{
    int64_t told[OSC_CACHED_TOLD] = {0}, other[OSC_CACHED_TOLD] = {0};
    int descriptor, reached, fifo[2];
    char byte = 7;
    FILE *file = tmpfile();

    (void) state;
    assert_non_null(file);
    descriptor = fileno(file);
    assert_int_equal(0, pipe(fifo));
    assert_false(ompi_osc_cached_tell_descriptor(-1, told));
    assert_true(ompi_osc_cached_tell_descriptor(descriptor, told));
    assert_true(ompi_osc_cached_tell_descriptor(fifo[1], other));
    assert_int_equal(1, pwrite(descriptor, &byte, 1, 0));
    byte = 0;
    reached = ompi_osc_cached_reach_descriptor(told, O_RDONLY);
    assert_true(0 <= reached && reached != descriptor);
    assert_int_equal(1, pread(reached, &byte, 1, 0));
    assert_int_equal(7, byte);
    assert_int_equal(0, close(reached));
    /* the process of this number has something else there, which nobody writes to */
    told[OSC_CACHED_TOLD_DESCRIPTOR] = other[OSC_CACHED_TOLD_DESCRIPTOR];
    assert_int_equal(-1, ompi_osc_cached_reach_descriptor(told, O_RDONLY));
    told[OSC_CACHED_TOLD_DESCRIPTOR] = fifo[0];
    assert_int_equal(0, close(fifo[1]));
    assert_int_equal(-1, ompi_osc_cached_reach_descriptor(told, O_RDONLY));
    assert_int_equal(0, close(fifo[0]));
    assert_int_equal(-1, ompi_osc_cached_reach_descriptor(told, O_RDONLY));
    assert_int_equal(0, fclose(file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_reach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
