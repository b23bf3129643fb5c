/* A13: with several threads, a mode that is set within an epoch of MPI_Win_lock_all takes effect a second later at the
 * latest: another thread may have begun an operation that was not counted. With one thread, at the next flush of all.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp threads=2 args=threads mca="osc_cached_bypass_below=0 osc_cached_profit=0 osc_cached_stores=off"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp args=alone mca="osc_cached_bypass_below=0 osc_cached_profit=0 osc_cached_stores=off"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <unistd.h>

enum { N = 64 };

int main(int argc, char **argv)
{
    int threads = 1 < argc && 0 == strcmp("threads", argv[1]);
    int *base, got[N];
    struct counters c;
    MPI_Info info;
    MPI_Win win;

    test_init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
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
    if (threads) {
        (void) usleep(1100000);
    }
    OK(MPI_Win_flush_all(win));
    for (int round = 0; round < 3; ++round) {
        memset(got, -1, sizeof(got));
        OK(MPI_Get(got, N, MPI_INT, 1 - test_rank, 0, N, MPI_INT, win));
        OK(MPI_Win_flush(1 - test_rank, win));
        for (int i = 0; i < N; ++i) {
            CHECK(i == got[i], "[%d] is %d", i, got[i]);
        }
    }
    COUNTS(&c, "hits", 2, "the mode has no effect");
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
