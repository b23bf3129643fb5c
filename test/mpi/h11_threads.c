/* H11, H21: a thread that waits for a lock holds nobody up: flushes, fences and unlocks of other
 * threads end, on whose end the holder of the lock may wait.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 threads=2 cflags="-pthread" mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 threads=2 cflags="-pthread" mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <pthread.h>

enum { WAYS = 6 };

static MPI_Win locked, other;

static void *wait_for_lock(void *unused)
{
    (void) unused;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locked));
    OK(MPI_Win_unlock(1, locked));
    return NULL;
}

/* Add to the other window, and complete that in one of the ways. */
static void complete(int way)
{
    static long old; /* a result that comes until the flush */
    const long one = 1;

    if (0 == way) {
        OK(MPI_Win_fence(0, other));
    } else {
        OK(MPI_Win_lock_all(0, other));
    }
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, other));
    switch (way) {
    case 0:
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, other));
        return;
    case 1:
        OK(MPI_Win_flush(1, other));
        break;
    case 2:
        OK(MPI_Win_flush_all(other));
        break;
    case 3:
        OK(MPI_Win_flush_local(1, other));
        break;
    case 4:
        OK(MPI_Win_flush_local_all(other));
        break;
    default:
        break;
    }
    OK(MPI_Win_unlock_all(other));
}

/* Rank 1 holds the lock for which a thread of rank 0 waits, until rank 0 has completed its work. */
static void hold(int way)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locked));
    OK(MPI_Send(NULL, 0, MPI_BYTE, 0, way, MPI_COMM_WORLD));
    if (0 < way) {
        helper_rest();
    }
    if (0 == way) {
        OK(MPI_Win_fence(0, other));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, other));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Win_unlock(1, locked));
}

int main(int argc, char **argv)
{
    const struct timespec moment = {.tv_nsec = 50000000}; /* until the thread waits, mostly */
    struct counters locks, sums;
    long *base, *sum;
    pthread_t thread;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    locked = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    other = test_win_make(NULL, sizeof(long), sizeof(long), &sum);
    counters_open(&locks, &locked);
    counters_open(&sums, &other);
    *sum = 0;
    test_barrier();
    for (int way = 0; way < WAYS; ++way) {
        if (1 == test_rank) {
            hold(way);
        } else {
            OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(0 == pthread_create(&thread, NULL, wait_for_lock, NULL), "no thread");
            nanosleep(&moment, NULL);
            complete(way);
            if (0 < way) {
                OK(MPI_Send(NULL, 0, MPI_BYTE, 1, way, MPI_COMM_WORLD));
            }
            pthread_join(thread, NULL);
        }
        /* else rank 1 could take the lock again before the thread has asked for it */
        test_barrier();
    }
    CHECK(1 != test_rank || WAYS == *sum, "the sum is %ld", *sum);
    helper_did(&sums, WAYS);
    COUNTS(&locks, "helper_locks", WAYS, "not all locks came from helpers");
    /* all but the fence take MPI_Win_lock_all's of the target, and of the own memory */
    COUNTS(&sums, "helper_locks", 0 == test_rank ? 2 * (WAYS - 1) : 0,
           "not all locks came from helpers");
    counters_close(&locks);
    counters_close(&sums);
    OK(MPI_Win_free(&other));
    OK(MPI_Win_free(&locked));
    return test_done();
}
