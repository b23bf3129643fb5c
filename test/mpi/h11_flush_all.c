/* H11: a flush of all that only a helper has something to do for is no error when another thread
 * ends the only epoch that the inner component knows of, meanwhile.
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=90 threads=2 cflags="-pthread" mca="osc_cached_helper=on osc_cached_stores=off"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 1500 };

static MPI_Win win;
static atomic_int over;

/* One after the other, so that its unlock is often between what the flush asks and what it does. */
static void *put(void *unused)
{
    const long one = 1;

    (void) unused;
    while (!atomic_load(&over)) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win));
        OK(MPI_Put(&one, 1, MPI_LONG, 1, 1, 1, MPI_LONG, win));
        OK(MPI_Win_unlock(1, win));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const long one = 1;
    struct counters c;
    long *base;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    win = test_win_make(NULL, 2 * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    base[0] = base[1] = 0;
    test_barrier();
    if (0 == test_rank) {
        pthread_t thread;

        CHECK(0 == pthread_create(&thread, NULL, put, NULL), "no thread");
        for (int i = 0; i < ROUNDS; ++i) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, MPI_MODE_NOCHECK, win));
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 2, 0, 1, MPI_LONG, MPI_SUM, win));
            OK((0 == i % 2) ? MPI_Win_flush_all(win) : MPI_Win_flush_local_all(win));
            OK(MPI_Win_unlock(2, win));
        }
        atomic_store(&over, 1);
        pthread_join(thread, NULL);
    } else {
        helper_rest_long();
    }
    test_barrier();
    if (2 == test_rank) {
        CHECK(test_is_plain() || ROUNDS <= counter(&c, "helper_served"), "the helper did %lu",
              counter(&c, "helper_served"));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
        CHECK(ROUNDS == base[0], "the sum is %ld", base[0]);
        OK(MPI_Win_unlock(2, win));
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
