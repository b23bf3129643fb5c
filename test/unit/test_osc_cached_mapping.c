/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_mapping: real mappings of every kind.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_mapping.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static size_t page;

static char *map(int flags, int descriptor)
{
    char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, flags, descriptor, 0);

    assert_ptr_not_equal(MAP_FAILED, memory);
    return memory;
}

static void expect(ompi_osc_cached_mapping_t kind, char *memory)
{
    assert_int_equal(kind, ompi_osc_cached_mapping(memory, 4 * page));
    assert_int_equal(kind, ompi_osc_cached_mapping(memory + page + 3, 1));
    assert_int_equal(0, munmap(memory, 4 * page));
}

static void test_private(void **state)
{
    static char global[3 << 16];
    char local[100];
    char *heap = malloc(50), *large = malloc(1 << 24);

    (void) state;
    local[0] = 1;
    expect(OSC_CACHED_MAPPING_PRIVATE, map(MAP_PRIVATE | MAP_ANONYMOUS, -1));
    assert_int_equal(OSC_CACHED_MAPPING_PRIVATE, ompi_osc_cached_mapping(heap, 50));
    assert_int_equal(OSC_CACHED_MAPPING_PRIVATE, ompi_osc_cached_mapping(large, 1 << 24));
    assert_int_equal(OSC_CACHED_MAPPING_PRIVATE, ompi_osc_cached_mapping(local, sizeof(local)));
    assert_int_equal(OSC_CACHED_MAPPING_PRIVATE, ompi_osc_cached_mapping(global + (1 << 17), 1));
    free(heap);
    free(large);
}

/* A descriptor of 4 pages, mapped shared, and as a private copy. */
static void expect_shared(ompi_osc_cached_mapping_t kind, int descriptor)
{
    assert_true(0 <= descriptor);
    assert_int_equal(0, ftruncate(descriptor, (off_t) (4 * page)));
    expect(kind, map(MAP_SHARED, descriptor));
    expect(OSC_CACHED_MAPPING_FILE, map(MAP_PRIVATE, descriptor));
    assert_int_equal(0, close(descriptor));
}

static void test_shared(void **state)
{
    char name[64], path[] = "test_osc_cached_mapping.XXXXXX";
    int descriptor;

    (void) state;
    expect(OSC_CACHED_MAPPING_ANONYMOUS, map(MAP_SHARED | MAP_ANONYMOUS, -1));
    expect_shared(OSC_CACHED_MAPPING_MEMFD, memfd_create("window", 0));
    snprintf(name, sizeof(name), "/test_osc_cached_mapping.%ld", (long) getpid());
    descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(0, shm_unlink(name)); /* as UCX does */
    expect_shared(OSC_CACHED_MAPPING_POSIX, descriptor);
    descriptor = mkstemp(path);
    assert_int_equal(0, unlink(path));
    expect_shared(OSC_CACHED_MAPPING_FILE, descriptor);
}

static void test_sysv(void **state)
{
    int segment = shmget(IPC_PRIVATE, 4 * page, IPC_CREAT | 0600);
    char *memory;

    (void) state;
    assert_true(0 <= segment);
    memory = shmat(segment, NULL, 0);
    assert_int_equal(0, shmctl(segment, IPC_RMID, NULL));
    assert_ptr_not_equal((void *) -1, memory);
    assert_int_equal(OSC_CACHED_MAPPING_SYSV, ompi_osc_cached_mapping(memory, 4 * page));
    assert_int_equal(0, shmdt(memory));
}

/* Whether there are any is a matter of the machine. */
static void test_huge(void **state)
{
    size_t size = (size_t) 2 << 20;
    char *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

    (void) state;
    if (MAP_FAILED != memory) {
        assert_int_equal(OSC_CACHED_MAPPING_HUGE, ompi_osc_cached_mapping(memory, size));
        assert_int_equal(0, munmap(memory, size));
    }
}

static void test_not_all(void **state)
{
    char *memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

    (void) state;
    assert_int_equal(OSC_CACHED_MAPPING_NONE, ompi_osc_cached_mapping(NULL, 1));
    assert_int_equal(OSC_CACHED_MAPPING_NONE, ompi_osc_cached_mapping(memory, 0));
    assert_int_equal(0, munmap(memory + 2 * page, page));
    assert_int_equal(OSC_CACHED_MAPPING_NONE, ompi_osc_cached_mapping(memory, 4 * page));
    assert_int_equal(OSC_CACHED_MAPPING_NONE, ompi_osc_cached_mapping(memory + page, 2 * page));
    assert_int_equal(OSC_CACHED_MAPPING_PRIVATE, ompi_osc_cached_mapping(memory, 2 * page));
    assert_ptr_equal(memory + 2 * page, mmap(memory + 2 * page, page, PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    assert_int_equal(OSC_CACHED_MAPPING_MIXED, ompi_osc_cached_mapping(memory, 4 * page));
    assert_int_equal(OSC_CACHED_MAPPING_MIXED, ompi_osc_cached_mapping(memory + 1, 2 * page));
    assert_int_equal(0, munmap(memory, 4 * page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_private), cmocka_unit_test(test_shared),  cmocka_unit_test(test_sysv),
        cmocka_unit_test(test_huge),    cmocka_unit_test(test_not_all),
    };

    page = (size_t) sysconf(_SC_PAGESIZE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
