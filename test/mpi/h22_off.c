/* H18, H22: windows without a helper start no thread and open no file; with it, any number of
 * windows have one thread, and nothing is left of them. Each window has its own locks and memory.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=120 args="default"
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 args="off" mca="osc_cached_helper=off"
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 args="off" mca="osc_cached_helper=auto"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=120 args="on" mca="osc_cached_helper=auto"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=120 args="on" mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { WINDOWS = 60, IN_TURN = 1000 }; /* with a helper; without it, these are slow */

static int is_on(MPI_Win win)
{
    MPI_Info info;
    const char *inner = getenv("LOCALITY_TEST_INNER");
    char value[16] = "";
    int flag = 0;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "ompi_osc_cached_helper", sizeof(value) - 1, value, &flag));
    OK(MPI_Info_free(&info));
    if (NULL == inner || NULL == strstr(inner, "sm")) { /* windows of osc/sm have no such keys */
        CHECK(flag, "the info key is not reported");
    }
    return 0 == strcmp(value, "on");
}

static MPI_Win make(const char *wanted, long **base)
{
    MPI_Win win = 0 == strcmp("default", wanted)
                      ? test_win_make(NULL, sizeof(long), sizeof(long), base)
                      : keyed_window(NULL, sizeof(long), sizeof(long), base,
                                     "ompi_osc_cached_helper", wanted, NULL);

    **base = 0;
    test_barrier();
    return win;
}

static void use(MPI_Win win, int times)
{
    long one = 1;

    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1 - test_rank, 0, win));
    for (int i = 0; i < times; ++i) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1 - test_rank, 0, 1, MPI_LONG, MPI_SUM, win));
    }
    OK(MPI_Win_unlock(1 - test_rank, win));
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "off";
    int on, windows, threads, files;
    MPI_Win win, several[WINDOWS];
    long *base[WINDOWS];
    struct counters c;

    test_init(&argc, &argv);
    on = 0 == strcmp("on", wanted) || (0 == strcmp("default", wanted) && helper_is_useful());
    windows = on ? WINDOWS : 4;
    win = make("off", &base[0]); /* what the inner component needs */
    use(win, 1);
    CHECK(!is_on(win), "a window that asked for no helper has one");
    threads = has_entries("/proc/self/task");
    files = has_entries("/proc/self/fd");
    for (int i = 0; i < (on ? IN_TURN : windows); ++i) {
        MPI_Win another = make(wanted, &base[1]);

        CHECK(on == is_on(another), "window %d: is it on? %d", i, !on);
        use(another, 3);
        OK(MPI_Win_free(&another));
        if (on && 0 == i) { /* the helper has begun, and has its connections */
            CHECK(threads < has_entries("/proc/self/task"), "there is no thread of the helper");
            threads = has_entries("/proc/self/task");
            files = has_entries("/proc/self/fd");
        }
    }
    CHECK(threads == has_entries("/proc/self/task"), "%d threads, before %d",
          has_entries("/proc/self/task"), threads);
    CHECK(files == has_entries("/proc/self/fd"), "%d files, before %d",
          has_entries("/proc/self/fd"), files);
    for (int i = 0; i < windows; ++i) { /* at the same time */
        several[i] = make(wanted, &base[i]);
    }
    counters_open(&c, &several[3]);
    test_barrier();
    for (int i = 0; i < windows; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - test_rank, 0, several[i])); /* each its own lock */
    }
    for (int i = 0; i < windows; ++i) {
        OK(MPI_Win_unlock(1 - test_rank, several[i]));
        use(several[i], i);
    }
    test_barrier();
    COUNTS(&c, "helper_served", on ? 3 : 0, "window 3");
    COUNTS(&c, "helper_operations", on ? 3 : 0, "window 3");
    COUNTS(&c, "helper_locks", on ? 2 : 0, "window 3");
    counters_close(&c);
    for (int i = 0; i < windows; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, several[i]));
        CHECK(i == *base[i], "window %d: %ld", i, *base[i]);
        OK(MPI_Win_unlock(test_rank, several[i]));
        OK(MPI_Win_free(&several[i]));
    }
    CHECK(threads == has_entries("/proc/self/task"), "%d threads, before %d",
          has_entries("/proc/self/task"), threads);
    OK(MPI_Win_free(&win));
    return test_done();
}
