/* H11, H21: a thread whose first operation at a target of MPI_Win_lock_all waits for the lock holds
 * up those that want the same target, and nobody else on the window.
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=30 threads=3 cflags="-pthread" mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=30 threads=3 cflags="-pthread" mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <pthread.h>

enum { THREADS = 2 };

static MPI_Win win;

static void *add(void *unused)
{
    const long one = 1;

    (void) unused;
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win));
    return NULL;
}

/* Threads wait for the lock of 1, which 2 holds until we have said that we did other things. */
static void origin(void)
{
    const struct timespec moment = {.tv_nsec = 50000000}; /* until the threads wait, mostly */
    const long one = 1;
    pthread_t threads[THREADS];

    OK(MPI_Recv(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < THREADS; ++i) {
        CHECK(0 == pthread_create(&threads[i], NULL, add, NULL), "no thread");
    }
    nanosleep(&moment, NULL);
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 2, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(2, win));
    OK(MPI_Win_flush(1, win));
    OK(MPI_Win_flush_all(win));
    OK(MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD));
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
    OK(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    *base = 0;
    test_barrier();
    if (0 == test_rank) {
        origin();
    } else if (2 == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_unlock(1, win));
    } else {
        helper_rest_long();
    }
    test_barrier();
    CHECK(1 != test_rank || THREADS == *base, "the sum is %ld", *base);
    CHECK(2 != test_rank || 1 == *base, "the sum is %ld", *base);
    helper_did(&c, THREADS + 1);
    /* MPI_Win_lock_all has that of the own memory, too */
    COUNTS(&c, "helper_locks", 0 == test_rank ? 3 : (2 == test_rank),
           "not all locks came from helpers");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
