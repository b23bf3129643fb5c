/* A13: with one thread, a mode that is set within an epoch of MPI_Win_lock_all takes effect at the next flush of all. With
 * several it does with the next epoch: another thread may have begun an operation that was not counted, and issue it later.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp threads=2 args=threads mca="osc_cached_bypass_below=0 osc_cached_profit=0 osc_cached_stores=off"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp args=alone mca="osc_cached_bypass_below=0 osc_cached_profit=0 osc_cached_stores=off"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 64 };

static void get(int times, MPI_Win win)
{
    int got[N];

    for (int round = 0; round < times; ++round) {
        memset(got, -1, sizeof(got));
        OK(MPI_Get(got, N, MPI_INT, 1 - test_rank, 0, N, MPI_INT, win));
        OK(MPI_Win_flush(1 - test_rank, win));
        for (int i = 0; i < N; ++i) {
            CHECK(i == got[i], "[%d] is %d", i, got[i]);
        }
    }
}

int main(int argc, char **argv)
{
    int threads = 1 < argc && 0 == strcmp("threads", argv[1]), later;
    struct counters c;
    MPI_Info info;
    MPI_Win win;
    int *base;

    test_init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (threads) {
        test_needs_threads_of_windows();
    }
    later =
        threads || test_all_gets_are_late(); /* then a flush of all may leave something undone */
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_mode", "always"));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_flush_all(win));
    get(3, win);
    COUNTS(&c, "hits", later ? 0 : 2, "after a flush of all");
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    get(3, win);
    COUNTS(&c, "hits", later ? 2 : 5, "in the next epoch");
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
