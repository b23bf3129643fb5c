/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_cgroup: memory limits of control groups, in directories that stand for /.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_cgroup.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void) about;
    (void) kind;
    (void) walk;
    return remove(path);
}

static int set_up(void **state)
{
    (void) state;
    strcpy(root, "/tmp/osc_cached_cgroup.XXXXXX");
    return (NULL == mkdtemp(root)) ? -1 : 0;
}

static int tear_down(void **state)
{
    (void) state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file with its directories. */
static void put(const char *name, const char *text)
{
    char path[8192];
    FILE *file;

    assert_true(snprintf(path, sizeof(path), "%s%s", root, name) < (int) sizeof(path));
    for (char *slash = strchr(path + strlen(root) + 1, '/'); NULL != slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void) mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(0 <= fputs(text, file));
    assert_int_equal(0, fclose(file));
}

#define LIMIT(bytes) assert_true((bytes) == ompi_osc_cached_cgroup_limit(root))

static void test_nothing(void **state)
{
    (void) state;
    LIMIT(UINT64_MAX);
    put("/proc/self/cgroup", "");
    LIMIT(UINT64_MAX);
    put("/proc/self/cgroup", "0::/\n");
    LIMIT(UINT64_MAX);
    put("/proc/self/cgroup", "no colon\nonly:one\n:\n::\n\n7:cpu,pids:/a\n9:name=systemd:/\n");
    LIMIT(UINT64_MAX);
}

static void test_version_2(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "0::/slurm/job 7:a/step\n");
    put("/sys/fs/cgroup/slurm/job 7:a/step/memory.max", "max\n");
    LIMIT(UINT64_MAX);
    put("/sys/fs/cgroup/slurm/memory.max", "8000000000\n");
    LIMIT(8000000000);
    put("/sys/fs/cgroup/slurm/job 7:a/memory.max", "3000\n"); /* the smallest counts */
    LIMIT(3000);
    put("/sys/fs/cgroup/slurm/job 7:a/step/memory.max", "4000\n");
    LIMIT(3000);
    put("/sys/fs/cgroup/slurm/job 7:a/step/memory.max", "2000\n");
    LIMIT(2000);
    put("/sys/fs/cgroup/slurm/job 7:a/step/below/memory.max", "1\n"); /* not ours */
    put("/sys/fs/cgroup/slurm/other/memory.max", "1\n");
    put("/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "1\n");
    LIMIT(2000);
    put("/proc/self/cgroup", "0::/slurm/job 7:a"); /* without the end of the line */
    LIMIT(3000);
}

static void test_version_1(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "12:cpuset:/x\n4:hugetlb,memory:/slurm/uid_0/job_7\n1:cpu:/\n0::/\n");
    LIMIT(UINT64_MAX);
    /* what the kernel says when there is none */
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    LIMIT(9223372036854771712u);
    put("/sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.limit_in_bytes", "6000\n");
    LIMIT(6000);
    put("/sys/fs/cgroup/memory/slurm/uid_0/memory.limit_in_bytes", "5000\n");
    LIMIT(5000);
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1\n"); /* of another controller */
    LIMIT(5000);
    put("/proc/self/cgroup", "4:memory_not:/slurm/uid_0\n3:not_memory:/slurm/uid_0\n");
    LIMIT(UINT64_MAX);
    put("/proc/self/cgroup", "4:memory:/slurm/uid_0\n");
    LIMIT(5000);
}

static void test_both_versions(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "4:memory:/a\n0::/b/c\n");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7000\n");
    put("/sys/fs/cgroup/unified/b/memory.max", "6000\n");
    LIMIT(6000);
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n");
    LIMIT(5000);
}

/* The paths are those of the host, the directories those of the container. */
static void test_container(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "4:memory:/docker/0123456789abcdef\n0::/docker/0123456789abcdef\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
    LIMIT(4096);
    put("/sys/fs/cgroup/memory.max", "2048\n");
    LIMIT(2048);
    put("/proc/self/cgroup", "0::/../../elsewhere\n");
    LIMIT(2048);
}

static void test_long_and_strange(void **state)
{
    static char line[20000];

    (void) state;
    memset(line, 'x', sizeof(line) - 1);
    memcpy(line, "0::/", 4);
    put("/proc/self/cgroup", line); /* longer than any path */
    put("/sys/fs/cgroup/memory.max", "77\n");
    LIMIT(77);
    put("/proc/self/cgroup", "0::relative\n");
    LIMIT(77);
    put("/sys/fs/cgroup/memory.max", "");
    LIMIT(UINT64_MAX);
    put("/sys/fs/cgroup/memory.max", "99999999999999999999999\n"); /* more than 64 bits */
    LIMIT(UINT64_MAX);
    put("/sys/fs/cgroup/memory.max", "0\n");
    LIMIT(0);
}

int main(void)
{
#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_ROOT(test_nothing),       WITH_ROOT(test_version_2), WITH_ROOT(test_version_1),
        WITH_ROOT(test_both_versions), WITH_ROOT(test_container), WITH_ROOT(test_long_and_strange),
    };

    return cmocka_run_group_tests_name("osc_cached_cgroup", tests, NULL, NULL);
}
