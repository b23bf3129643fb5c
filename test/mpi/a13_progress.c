/* A13: of two threads whose flushes have nothing to wait for one makes progress for others, as often
 * as before, and the other one does not: in there each would wait for the other. When it stops the
 * other one goes on.
 *
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm threads=2 cflags="-pthread -rdynamic -ldl" needs=cache
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

enum { N = 128, TURNS = 50 };

static MPI_Win win;
static sem_t turn[2];
static int calls[2], bad;
static _Thread_local int me = -1;

/* In the place of Open MPI's, which in some releases returns nothing. */
int opal_progress(void)
{
    int (*real)(void);
    Dl_info caller;

    if (0 <= me && 0 != dladdr(__builtin_return_address(0), &caller)
        && NULL != strstr(caller.dli_fname, "mca_osc_cached")) {
        ++calls[me];
    }
    *(void **) &real = dlsym(RTLD_NEXT, "opal_progress");
    return real();
}

/* Is the component a file of its own?  Inside of libmpi its calls are not told from others. */
static int is_seen(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[1024];
    int found = 0;

    while (NULL != file && !found && NULL != fgets(line, sizeof(line), file)) {
        found = NULL != strstr(line, "mca_osc_cached");
    }
    if (NULL != file) {
        fclose(file);
    }
    return found;
}

static void hit(void)
{
    for (int i = 0; i < N; ++i) {
        int value = -1;

        MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
        bad += 17 != value;
    }
}

/* By turns. */
static void *work(void *arg)
{
    me = (int) (long) arg;
    for (int i = 0; i < TURNS; ++i) {
        sem_wait(&turn[me]);
        hit();
        sem_post(&turn[!me]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[2];
    int *base;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_that_end();
    win = test_win_make(NULL, sizeof(int), sizeof(int), &base);
    *base = 17;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        int sum;

        hit(); /* it is there */
        sem_init(&turn[0], 0, 1);
        sem_init(&turn[1], 0, 0);
        for (long i = 0; i < 2; ++i) {
            CHECK(0 == pthread_create(&thread[i], NULL, work, (void *) i), "thread %ld", i);
        }
        for (int i = 0; i < 2; ++i) {
            pthread_join(thread[i], NULL);
        }
        sum = calls[0] + calls[1];
        CHECK(0 == bad, "%d values are wrong", bad);
        CHECK(!is_seen() || (TURNS / 2 <= sum && sum <= TURNS * 5 / 4), "%d and %d times",
              calls[0], calls[1]);
        me = 0;
        calls[0] = 0;
        for (int i = 0; i < TURNS; ++i) {
            hit();
        }
        CHECK(!is_seen() || TURNS - 2 <= calls[0], "alone: %d times", calls[0]);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
