/* A13: MPI_Win_sync of several threads ends, while puts of theirs are on their way.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60 threads=3 cflags="-pthread"
 *
 * The fence of UCX 1.18 waits for what other processes must answer, and they may be in a fence,
 * too: a stock Open MPI 5.0 hangs there. ompi-patches mends it.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 100 };

static MPI_Win win;
static int wrong[THREADS];

/* Each has a place of its own in every window. */
static void *work(void *arg)
{
    int me = (int) (long) arg, at = THREADS * test_rank + me;

    for (int round = 0; round < ROUNDS * test_size; ++round) {
        int target = (test_rank + round) % test_size, value = 1000 * at + round, back = -1;

        MPI_Put(&value, 1, MPI_INT, target, at, 1, MPI_INT, win);
        MPI_Win_sync(win);
        if (0 == round % 10) {
            MPI_Win_flush(target, win);
            MPI_Get(&back, 1, MPI_INT, target, at, 1, MPI_INT, win);
            MPI_Win_flush(target, win);
            wrong[me] += value != back;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int *base;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    if (test_inner_is("ucx") && (test_stock_5_0() || 0x0600 == test_openmpi())) {
        test_skip(
            "osc/ucx of a stock Open MPI crashes when one thread ends while others flush, and "
            "hangs in MPI_Win_sync with UCX 1.18");
    }
    win = test_win_make(NULL, THREADS * test_size * sizeof(int), sizeof(int), &base);
    OK(MPI_Win_lock_all(0, win));
    for (long i = 0; i < THREADS; ++i) {
        CHECK(0 == pthread_create(&thread[i], NULL, work, (void *) i), "thread %ld", i);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(thread[i], NULL);
        CHECK(0 == wrong[i], "thread %d: %d values are wrong", i, wrong[i]);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
