/* O3: two threads create windows over the same memory at the same time: it is cached in neither.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2 threads=2 transport=shm limit=120
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <pthread.h>

enum { WORDS = 1024, ROUNDS = 6, READS = 30 };

static long *base;
static MPI_Win wins[2];
static MPI_Comm comms[2];

static void *create(void *argument)
{
    int which = *(int *) argument;

    OK(MPI_Win_create(base, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, comms[which],
                      &wins[which]));
    return NULL;
}

int main(int argc, char **argv)
{
    static int numbers[2] = {0, 1};

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    base = malloc(WORDS * sizeof(long));
    memset(base, 0, WORDS * sizeof(long));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    for (int i = 0; i < ROUNDS; ++i) {
        pthread_t thread;

        test_barrier();
        CHECK(0 == pthread_create(&thread, NULL, create, &numbers[1]), "no thread");
        create(&numbers[0]);
        pthread_join(thread, NULL);
        for (int k = 0; k < 2; ++k) {
            struct counters c;

            counters_open(&c, &wins[k]);
            OK(MPI_Win_lock_all(0, wins[k]));
            for (int n = 0; n < READS; ++n) {
                (void) coherent_get(wins[k], 1 - test_rank, 7);
            }
            OK(MPI_Win_unlock_all(wins[k]));
            COUNTS(&c, "hits", 0, "round %d, window %d: memory in two windows", i, k);
            counters_close(&c);
        }
        test_barrier();
        OK(MPI_Win_free(&wins[0]));
        OK(MPI_Win_free(&wins[1]));
    }
    OK(MPI_Comm_free(&comms[0]));
    OK(MPI_Comm_free(&comms[1]));
    free(base);
    return test_done();
}
