/* A13: hits of several threads at the same time, beside threads that fetch, write and add targets:
 * every byte is right, and every call is counted once.
 *
 * test: for=osc-cached cache="mode=always" ranks=2,3 threads=4 cflags="-pthread" needs=cache
 * test: for=osc-cached cache="mode=always window_memory=8K" ranks=3 threads=4 cflags="-pthread" needs=cache
 * test: for=osc-cached cache="mode=always share=on" ranks=3 threads=4 cflags="-pthread" needs=cache args=node
 * test: for=osc-cached cache="mode=always share=on window_memory=8K" ranks=3 threads=4 cflags="-pthread" needs=cache args=node
 * test: for=osc-cached cache="mode=coherent stores=sync" ranks=3 threads=4 cflags="-pthread" needs=cache args=node
 *
 * Rank 0 has the threads. They read what is never written, again and again; the third one also what
 * others have not asked for. The second time the fourth writes to a place of its own, and reads it
 * back. With an argument: most hits are of the cache of the node.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"
#include <pthread.h>

enum { THREADS = 4, N = 4096, HOT = 64, OWN = N - 1, ROUNDS = 1500 };

static MPI_Win win;
static int bad[THREADS], writing;
static unsigned long num_gets[THREADS], num_flushes[THREADS], num_puts[THREADS];

static void *work(void *arg)
{
    int me = (int) (long) arg;

    for (int round = 0; round < ROUNDS; ++round) {
        int t = 1 + round % (test_size - 1), n = 1 + round % 7, at = (round * 7) % (HOT - 8);
        int buffer[8], value = round;

        if (2 == me && 0 == round % 16) {
            at = (round * 5) % (OWN - 8);
        }
        if (3 == me && writing && 0 == round % 64) {
            MPI_Put(&value, 1, MPI_INT, t, OWN, 1, MPI_INT, win);
            MPI_Win_flush(t, win);
            MPI_Get(buffer, 1, MPI_INT, t, OWN, 1, MPI_INT, win);
            MPI_Win_flush_local(t, win);
            bad[me] += value != buffer[0];
            num_puts[me] += 1;
            num_gets[me] += 1;
            num_flushes[me] += 2;
        }
        memset(buffer, 0x55, sizeof(buffer));
        MPI_Get(buffer, n, MPI_INT, t, at, n, MPI_INT, win);
        if (0 == round % 5) {
            MPI_Win_flush_all(win);
        } else {
            MPI_Win_flush(t, win);
        }
        num_gets[me] += 1;
        num_flushes[me] += 1;
        for (int i = 0; i < n; ++i) {
            bad[me] += 100000 * t + at + i != buffer[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    struct counters c;
    static int memory[N];
    int *base;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_that_end();
    win = test_win_make(argc < 2 ? NULL : memory, N * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = 100000 * test_rank + i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        unsigned long all_gets = 0, all_flushes = 0, all_puts = 0;

        for (writing = 0; writing < 2; ++writing) {
            for (long i = 0; i < THREADS; ++i) {
                CHECK(0 == pthread_create(&thread[i], NULL, work, (void *) i), "thread %ld", i);
            }
            for (int i = 0; i < THREADS; ++i) {
                pthread_join(thread[i], NULL);
            }
            CHECK(0 < writing || test_is_plain() || THREADS * ROUNDS / 4 < counter(&c, "hits"),
                  "%lu hits of %d gets", counter(&c, "hits"), THREADS * ROUNDS);
            CHECK(0 < writing || argc < 2 || THREADS * ROUNDS / 4 < counter(&c, "node_hits"),
                  "%lu hits of the node's cache", counter(&c, "node_hits"));
        }
        for (int i = 0; i < THREADS; ++i) {
            CHECK(0 == bad[i], "thread %d: %d values are wrong", i, bad[i]);
            all_gets += num_gets[i];
            all_flushes += num_flushes[i];
            all_puts += num_puts[i];
        }
        COUNTS(&c, "gets", all_gets, "gets of all threads");
        COUNTS(&c, "flushes", all_flushes, "flushes of all threads");
        COUNTS(&c, "puts", all_puts, "puts of all threads");
        counters_add_up(&c);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
