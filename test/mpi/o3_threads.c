/* O3: two threads create windows over the same memory at the same time: it is cached in neither.
 * And one attaches memory while the other frees a window over it, of which there are copies: these
 * are called back while there is somebody to call, and nobody waits for ever.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2 threads=2 transport=shm limit=120
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" args=free ranks=2 threads=2 transport=shm limit=120
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORDS = 1024, ROUNDS = 6, READS = 30, FREES = 200 };

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

static atomic_int frees; /* that have begun */
static double wait;      /* seconds that the attach comes after it */

static void *attach(void *argument)
{
    double begin;
    int round = *(int *) argument;

    while (atomic_load(&frees) <= round) {
    }
    begin = MPI_Wtime();
    while (MPI_Wtime() - begin < wait) {
    }
    OK(MPI_Win_attach(wins[1], base, WORDS * sizeof(long)));
    return NULL;
}

static void free_and_attach(void)
{
    double begin, longest = 0;

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comms[1], &wins[1]));
    for (int i = 0; i < FREES; ++i) {
        pthread_t thread;
        struct counters c;

        OK(MPI_Win_create(base, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, comms[0],
                          &wins[0]));
        counters_open(&c, &wins[0]);
        OK(MPI_Win_lock_all(0, wins[0]));
        CHECK(coherent_warm(wins[0], &c, 1 - test_rank, 7, 0), "round %d: never a hit", i);
        OK(MPI_Win_unlock_all(wins[0]));
        counters_close(&c);
        wait = longest * (i % 40) / 40;
        CHECK(0 == pthread_create(&thread, NULL, attach, &i), "no thread");
        test_barrier();
        begin = MPI_Wtime();
        atomic_store(&frees, i + 1);
        OK(MPI_Win_free(&wins[0]));
        begin = MPI_Wtime() - begin;
        longest = (begin > longest && begin < 2e-3) ? begin : longest;
        pthread_join(thread, NULL);
        OK(MPI_Win_detach(wins[1], base));
        test_barrier();
    }
    OK(MPI_Win_free(&wins[1]));
}

static void create_both(void)
{
    static int numbers[2] = {0, 1};

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
}

int main(int argc, char **argv)
{
    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    base = malloc(WORDS * sizeof(long));
    memset(base, 0, WORDS * sizeof(long));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    if (argc > 1 && 0 == strcmp(argv[1], "free")) {
        free_and_attach();
    } else {
        create_both();
    }
    OK(MPI_Comm_free(&comms[0]));
    OK(MPI_Comm_free(&comms[1]));
    free(base);
    return test_done();
}
