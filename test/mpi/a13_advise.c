/* osc_cached_advise with several threads that use one window: what they get is right, all gets are
 * counted, and bytes are compared by the thread that asked for them.
 *
 * test: for=osc-cached needs=cache cache="mode=always" transport=shm threads=2 cflags="-pthread"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "told.h"

#include <pthread.h>

enum { THREADS = 2, PLACES = 16, ALONE = 4, ROUNDS = 48, BYTES = 256 };

static MPI_Win win;
static int wrong[THREADS];

/* The buffer is another value as soon as the get is complete. */
static void read_all(int me, int rounds)
{
    int target = 1 - test_rank;
    char buffer[BYTES];

    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < PLACES; ++i) {
            OK(MPI_Get(buffer, BYTES, MPI_BYTE, target, (MPI_Aint) i * BYTES, BYTES, MPI_BYTE,
                       win));
            OK(MPI_Win_flush(target, win));
            wrong[me] += i != buffer[0] || i != buffer[BYTES - 1];
            memset(buffer, -1 - me, BYTES);
        }
    }
}

static void *read_beside(void *number)
{
    read_all(*(int *) number, ROUNDS);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    char *base;

    setenv("OMPI_MCA_osc_cached_advise", "json", 1);
    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    win = test_win_make(NULL, PLACES * BYTES, 1, &base);
    for (int i = 0; i < PLACES; ++i) {
        memset(base + i * BYTES, i, BYTES);
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    read_all(0, ALONE); /* what the flush of another thread completes is not compared */
    for (int i = 0; i < THREADS; ++i) {
        numbers[i] = i;
        CHECK(0 == pthread_create(&threads[i], NULL, read_beside, &numbers[i]), "no thread %d", i);
    }
    for (int i = 0; i < THREADS; ++i) {
        (void) pthread_join(threads[i], NULL);
        CHECK(0 == wrong[i], "thread %d got %d wrong bytes", i, wrong[i]);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    fflush(stderr);
    told_begin();
    told_end();
    if (0 == test_rank
        && (NULL == strstr(told, "\"gets\": 3200, \"repeated_rate\": 0.9900, ")
            || NULL == strstr(told, "\"differed\": 0, ")
            || NULL != strstr(told, "\"checked\": 0"))) {
        printf("not what was asked for in:\n%s\n", told);
        return 1;
    }
    return 0 < test_failures;
}
