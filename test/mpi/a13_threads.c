/* A13: MPI_THREAD_MULTIPLE: four threads per rank get, put and flush on the same windows at the
 * same time.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=30 threads=4 cflags="-pthread"
 * test: for=osc-cached cache="mode=always" ranks=2,3 limit=30 threads=4 cflags="-pthread"
 *
 * Two windows. The first part of each is never written: everybody reads it. The rest has one place
 * per origin and thread, written and read back by that thread alone.
 *
 * Plain osc/ucx of a stock Open MPI 5.0 stands on weak feet here; ompi-patches mends it. It crashes
 * when one thread ends while others flush, so the threads end together (a13_threads_exit has the
 * other case); over TCP it then waits for ever in MPI_Win_free, so that is skipped.
 * osc_ucx_enable_wpool_thread_multiple=0 is no way out: UCX aborts because two threads progress one
 * worker.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"
#include <pthread.h>

enum {
    THREADS = 4,
    RO = 1024,
    PLACE = 16,
    ROUNDS = 150,
    MAX_RANKS = 4,
    N = RO + MAX_RANKS * THREADS * PLACE
};

static MPI_Win win[2];
static int bad[THREADS];
static pthread_barrier_t end;

static void *work(void *arg)
{
    int me = (int) (long) arg, place = RO + (test_rank * THREADS + me) * PLACE;
    int buf[RO], out[PLACE], back[PLACE];

    for (int round = 0; round < ROUNDS; ++round) {
        int w = (round + me) % 2, t = (test_rank + 1 + round % (test_size - 1)) % test_size;
        int from = (round * 37 + me * 11) % RO, n = 1 + (RO - from - 1) % 200;

        memset(buf, 0x55, sizeof(buf));
        MPI_Get(buf, n, MPI_INT, t, from, n, MPI_INT, win[w]);
        if (0 == round % 3) {
            MPI_Request req;
            MPI_Rget(buf, n, MPI_INT, t, from, n, MPI_INT, win[w], &req);
            MPI_Wait(&req, MPI_STATUS_IGNORE);
        }
        MPI_Win_flush(t, win[w]);
        for (int i = 0; i < n; ++i) {
            bad[me] += 10000 * w + 100000 * t + from + i != buf[i];
        }
        for (int i = 0; i < PLACE; ++i) {
            out[i] = 1000 * round + 100 * me + i;
        }
        MPI_Put(out, PLACE, MPI_INT, t, place, PLACE, MPI_INT, win[w]);
        MPI_Win_flush(t, win[w]);
        memset(back, 0x55, sizeof(back));
        MPI_Get(back, PLACE, MPI_INT, t, place, PLACE, MPI_INT, win[w]);
        MPI_Win_flush(t, win[w]);
        bad[me] += 0 != memcmp(out, back, sizeof(out));
    }
    pthread_barrier_wait(&end);
    return NULL;
}

int main(int argc, char **argv)
{
    int mine[N], *base[2];
    pthread_t thread[THREADS];

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    if (test_inner_is("ucx") && test_stock_5_0() && test_over_tcp()) {
        test_skip("osc/ucx of a stock Open MPI 5.0 waits for ever in MPI_Win_free over TCP when "
                  "several threads used the window");
    }
    win[0] = test_win_make(mine, sizeof(mine), sizeof(int), &base[0]);
    win[1] = test_win_make(NULL, sizeof(mine), sizeof(int), &base[1]);
    for (int w = 0; w < 2; ++w) {
        for (int i = 0; i < RO; ++i) {
            base[w][i] = 10000 * w + 100000 * test_rank + i;
        }
    }
    pthread_barrier_init(&end, NULL, THREADS);
    test_barrier();
    OK(MPI_Win_lock_all(0, win[0]));
    OK(MPI_Win_lock_all(0, win[1]));
    for (long i = 0; i < THREADS; ++i) {
        pthread_create(&thread[i], NULL, work, (void *) i);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(thread[i], NULL);
        CHECK(0 == bad[i], "thread %d: %d values are wrong", i, bad[i]);
    }
    OK(MPI_Win_unlock_all(win[0]));
    OK(MPI_Win_unlock_all(win[1]));
    OK(MPI_Win_free(&win[0]));
    OK(MPI_Win_free(&win[1]));
    return test_done();
}
