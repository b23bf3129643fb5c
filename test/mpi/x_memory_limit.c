/* Without osc_cached_memory, the budget of a process is 2 % of what its control group allows to the
 * processes of the node, when that is less than the node has.
 *
 * test: for=osc-cached needs=cache cache="mode=always window_memory=64M" ranks=2 transport=shm
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <sys/stat.h>
#include <unistd.h>

static const unsigned long limit = 400ul << 20;
static char parent[4096], group[4200];

static int write_to(const char *directory, const char *file, unsigned long value)
{
    char name[4300];
    int written = -1;
    FILE *f;

    snprintf(name, sizeof(name), "%s/%s", directory, file);
    f = fopen(name, "w");
    if (NULL != f) {
        written = fprintf(f, "%lu\n", value);
        if (0 != fclose(f)) {
            written = -1;
        }
    }
    return 0 < written;
}

static void leave(void)
{
    (void) write_to(parent, "cgroup.procs", (unsigned long) getpid());
    (void) rmdir(group);
}

/* A control group below our own, with a limit, and this process in it. */
static int enter(void)
{
    char line[4000];
    const char *file = NULL;
    FILE *f = fopen("/proc/self/cgroup", "r");

    while (NULL != f && NULL == file && NULL != fgets(line, sizeof(line), f)) {
        char *path = strchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        if (NULL != path && NULL != strstr(line, ":memory:")) {
            snprintf(parent, sizeof(parent), "/sys/fs/cgroup/memory%s", path);
            file = "memory.limit_in_bytes";
        } else if (NULL != path && 0 == strncmp(line, "0::", 3)
                   && 0 == access("/sys/fs/cgroup/cgroup.controllers", R_OK)) {
            snprintf(parent, sizeof(parent), "/sys/fs/cgroup%s", path);
            file = "memory.max";
        }
    }
    if (NULL != f) {
        fclose(f);
    }
    if (NULL == file) {
        return 0;
    }
    snprintf(group, sizeof(group), "%s/ompi-locality-test.%ld", parent, (long) getpid());
    if (0 != mkdir(group, 0755)) {
        return 0;
    }
    if (write_to(group, file, limit) && write_to(group, "cgroup.procs", (unsigned long) getpid())) {
        return 1;
    }
    (void) rmdir(group);
    return 0;
}

int main(int argc, char **argv)
{
    int *base, got = -1, entered = enter(), all;
    struct counters c;
    MPI_Win win;

    if (entered) {
        atexit(leave);
    }
    test_init(&argc, &argv);
    OK(MPI_Allreduce(&entered, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!all) {
        test_skip("no control group with a memory limit can be made here");
    }
    win = test_win_make(NULL, 64, sizeof(int), &base);
    counters_open(&c, &win);
    base[0] = 5;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        unsigned long taken;

        OK(MPI_Get(&got, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(1, win));
        CHECK(5 == got, "got %d", got);
        taken = counter(&c, "budget_taken");
        CHECK(0 < taken && taken <= limit / 50 / (unsigned long) test_size,
              "%lu bytes taken, with %lu allowed", taken, limit);
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
