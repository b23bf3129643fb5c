/* A13: threads end while others get and flush on the same windows, and leave a get behind that
 * somebody else completes.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60 threads=4 cflags="-pthread"
 *
 * osc/ucx of a stock Open MPI 5.0 crashes here: a thread that ends takes its endpoints away while
 * others flush them. ompi-patches mends it.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <pthread.h>

enum { THREADS = 4, LIVES = 60, N = 256 };

static MPI_Win win[2];
static int wrong[THREADS], late[THREADS][N];

static int differing(const int *buf, int target, int w)
{
    int n = 0;

    for (int i = 0; i < N; ++i) {
        n += 100000 * target + 10000 * w + i != buf[i];
    }
    return n;
}

static void *work(void *arg)
{
    int me = (int) (long) arg, right = (test_rank + 1) % test_size, buf[N];

    /* Unequal lives, so that each ends in the middle of the next one's. */
    for (int round = 0; round < 3 + 3 * me; ++round) {
        int w = (round + me) % 2, target = (right + round % (test_size - 1)) % test_size;

        memset(buf, 0x55, sizeof(buf));
        MPI_Get(buf, N, MPI_INT, target, 0, N, MPI_INT, win[w]);
        MPI_Win_flush(target, win[w]);
        wrong[me] += differing(buf, target, w);
    }
    memset(late[me], 0x55, sizeof(late[me]));
    MPI_Get(late[me], N, MPI_INT, right, 0, N, MPI_INT, win[me % 2]);
    return NULL;
}

int main(int argc, char **argv)
{
    int *base[2], mine[N], right;
    pthread_t thread[THREADS];

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    if (test_inner_is("ucx") && (test_stock_5_0() || 0x0600 == test_openmpi())) {
        test_skip("osc/ucx of a stock Open MPI crashes when a thread ends while others flush");
    }
    right = (test_rank + 1) % test_size;
    win[0] = test_win_make(mine, sizeof(mine), sizeof(int), &base[0]);
    win[1] = test_win_make(NULL, sizeof(mine), sizeof(int), &base[1]);
    for (int w = 0; w < 2; ++w) {
        for (int i = 0; i < N; ++i) {
            base[w][i] = 100000 * test_rank + 10000 * w + i;
        }
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win[0]));
    OK(MPI_Win_lock_all(0, win[1]));
    for (int life = 0; life < LIVES; ++life) {
        for (long i = 0; i < THREADS; ++i) {
            pthread_create(&thread[i], NULL, work, (void *) i);
        }
        for (int i = 0; i < THREADS; ++i) {
            pthread_join(thread[i], NULL);
        }
        OK(MPI_Win_flush(right, win[0]));
        OK(MPI_Win_flush(right, win[1]));
        for (int i = 0; i < THREADS; ++i) {
            CHECK(0 == wrong[i], "life %d, thread %d: %d values are wrong", life, i, wrong[i]);
            CHECK(0 == differing(late[i], right, i % 2), "life %d, thread %d: its last get", life,
                  i);
        }
    }
    OK(MPI_Win_unlock_all(win[0]));
    OK(MPI_Win_unlock_all(win[1]));
    OK(MPI_Win_free(&win[0]));
    OK(MPI_Win_free(&win[1]));
    return test_done();
}
