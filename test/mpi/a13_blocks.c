/* A13: blocks that several threads fetch at the same time: every byte is right when the thread that
 * asked for it has flushed, whoever fetched the block, and every get is counted once.
 *
 * test: for=osc-cached cache="mode=user block_fetch=256" ranks=2 threads=2 cflags="-pthread" needs=cache
 * test: for=osc-cached cache="mode=user block_fetch=256 verify=2" ranks=3 threads=2 cflags="-pthread" needs=cache
 *
 * Rank 0 has the threads: both walk through the same blocks. Each round begins with other values.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"
#include <pthread.h>

enum { THREADS = 2, N = 8192, BLOCK = 256 / sizeof(int), EACH = 4, ROUNDS = 5 };

static MPI_Win win;
static int bad[THREADS], the_round;

static int value(int rank, int round, int at)
{
    return 10000000 * round + 100000 * rank + at;
}

static void *work(void *arg)
{
    int me = (int) (long) arg;

    for (int i = 0; i < EACH * N / (int) BLOCK; ++i) {
        int at = i / EACH * (int) BLOCK + (i % EACH * 13 + me * 5) % ((int) BLOCK - 1);
        int t = 1 + i / EACH % (test_size - 1), buffer[2] = {-1, -1};

        MPI_Get(buffer, 2, MPI_INT, t, at, 2, MPI_INT, win);
        if (0 == i % 3) {
            MPI_Win_flush_all(win);
        } else {
            MPI_Win_flush(t, win);
        }
        for (int k = 0; k < 2; ++k) {
            bad[me] += value(t, the_round, at + k) != buffer[k];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    struct counters c;
    int *base;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_that_end();
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (the_round = 0; the_round < ROUNDS; ++the_round) {
        for (int i = 0; i < N; ++i) {
            base[i] = value(test_rank, the_round, i);
        }
        test_set_key(win, "ompi_osc_cached_invalidate", "true");
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        for (long i = 0; i < THREADS && 0 == test_rank; ++i) {
            CHECK(0 == pthread_create(&thread[i], NULL, work, (void *) i), "thread %ld", i);
        }
        for (int i = 0; i < THREADS && 0 == test_rank; ++i) {
            pthread_join(thread[i], NULL);
            CHECK(0 == bad[i], "thread %d: %d values are wrong", i, bad[i]);
        }
        OK(MPI_Win_unlock_all(win));
        test_barrier();
    }
    if (0 == test_rank) {
        unsigned long gets = (unsigned long) ROUNDS * THREADS * EACH * N / BLOCK;
        unsigned long blocks = counter(&c, "block_fetches");

        COUNTS(&c, "gets", gets, "gets of all threads");
        /* a block that the other thread is about to fetch is not waited for */
        CHECK(gets / THREADS / EACH / 2 < blocks && blocks < gets / 2, "%lu blocks", blocks);
        CHECK(gets / 4 < counter(&c, "hits"), "%lu hits", counter(&c, "hits"));
        counters_add_up(&c);
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
