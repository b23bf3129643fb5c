/* A13: threads lock, unlock, get, put and flush different targets of one window at the same time,
 * and another one changes the window's keys meanwhile.
 *
 * test: for=osc-cached cache="mode=always" ranks=3 limit=60 threads=4 cflags="-pthread"
 *
 * test/mpi/races runs it, and the other a13 programs, with the thread sanitizer.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 3, N = 512, RUN = 8, ROUNDS = 100 };

static MPI_Win win;
static atomic_int working = THREADS;
static int bad[THREADS];

static int wrong(const int *got, int target, int at)
{
    int sum = 0;

    for (int i = 0; i < RUN; ++i) {
        sum += 1000 * target + at + i != got[i];
    }
    return sum;
}

static void *work(void *arg)
{
    int me = (int) (long) arg, target = me; /* a process may lock a target once */

    for (int round = 0; round < ROUNDS; ++round) {
        int got[RUN];

        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        for (int k = 0; k < 5; ++k) {
            int at = (round * 7 + k * 13) % (N - 64);
            MPI_Request request;

            OK(MPI_Get(got, RUN, MPI_INT, target, at, RUN, MPI_INT, win));
            OK((0 == k % 2) ? MPI_Win_flush(target, win) : MPI_Win_flush_local(target, win));
            bad[me] += wrong(got, target, at);
            OK(MPI_Rget(got, RUN, MPI_INT, target, at, RUN, MPI_INT, win, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            bad[me] += wrong(got, target, at);
        }
        OK(MPI_Put(&round, 1, MPI_INT, target, N - 1 - test_rank * THREADS - me, 1, MPI_INT, win));
        OK(MPI_Win_unlock(target, win));
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

/* As many times as there is time for: only this process's part of the window is concerned. */
static void change_keys(void)
{
    static const char *const keys[][3] = {
        {"ompi_osc_cached_memory", "64K", "1M"},
        {"ompi_osc_cached_entries", "64", "4096"},
        {"ompi_osc_cached_sample", "8", "16"},
        {"ompi_osc_cached_scheme", "full", "temporal"},
        {"ompi_osc_cached_adaptive", "true", "false"},
        {"ompi_osc_cached_mode", "always", "user"},
        {"ompi_osc_cached_invalidate", "true", "false"},
    };
    MPI_Info info;

    OK(MPI_Info_create(&info));
    for (int i = 0; 0 < atomic_load(&working); ++i) {
        for (unsigned k = 0; k < sizeof(keys) / sizeof(keys[0]); ++k) {
            OK(MPI_Info_set(info, keys[k][0], keys[k][1 + (i + (int) k) % 2]));
        }
        OK(MPI_Win_set_info(win, info));
        usleep(1000);
    }
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int *base;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    if (test_inner_is("ucx") && 0x0600 == test_openmpi()) {
        test_skip("osc/ucx of a stock Open MPI crashes when threads flush different targets");
    }
    CHECK(THREADS <= test_size, "%d ranks", test_size);
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < N; ++i) {
        base[i] = 1000 * test_rank + i;
    }
    test_barrier();
    for (long t = 0; t < THREADS; ++t) {
        CHECK(0 == pthread_create(&threads[t], NULL, work, (void *) t), "no thread");
    }
    change_keys();
    for (int t = 0; t < THREADS; ++t) {
        pthread_join(threads[t], NULL);
        CHECK(0 == bad[t], "thread %d: %d wrong", t, bad[t]);
    }
    test_barrier();
    OK(MPI_Win_free(&win));
    return test_done();
}
