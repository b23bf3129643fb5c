/* H22: a program that has used up its descriptors when a coherent window needs one for the first
 * message to another helper: it waits until there is one again, and the helper sleeps meanwhile.
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2 transport=tcp limit=60 cflags="-pthread" allow="UCX +(ERROR|WARN|DIAG)"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coherent.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

enum { WORDS = 1024, FILES = 1024, WAIT_US = 500000, BUSY_NS = 100000000 };

static int files[FILES], opened;

static void use_all(void)
{
    struct rlimit limit;

    OK(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = FILES;
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    while (opened < FILES && -1 != (files[opened] = open("/dev/null", O_RDONLY))) {
        ++opened;
    }
    CHECK(0 < opened && -1 == open("/dev/null", O_RDONLY), "%d files, and there are more", opened);
}

static void *give_back(void *nothing)
{
    usleep(WAIT_US);
    while (0 < opened) {
        close(files[--opened]);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    struct counters c, own;
    unsigned long busy;
    pthread_t thread;
    long *base, word = 5;
    MPI_Win win;

    test_init(&argc, &argv);
    coherent_window(&win, WORDS, &base, &c);
    CHECK(coherent_is(win), "the window is not coherent");
    counters_open_all(&own, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    OK(MPI_Win_lock_all(0, win));
    if (1 == test_rank) {
        (void) coherent_get(win, 0, 1); /* the inner component has connected */
        busy = counter(&own, "helper_cpu_ns");
        use_all();
        CHECK(0 == pthread_create(&thread, NULL, give_back, NULL), "no thread");
        OK(MPI_Put(&word, 1, MPI_LONG, 0, 7, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        (void) pthread_join(thread, NULL);
        CHECK(5 == coherent_get(win, 0, 7), "%ld", coherent_get(win, 0, 7));
        busy = counter(&own, "helper_cpu_ns") - busy;
        CHECK(busy < BUSY_NS, "the helper computed for %lu ns", busy);
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    CHECK(0 != test_rank || 5 == base[7], "%ld", base[7]);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
