/* A11: the first misses of a window take little memory, and a get has page faults only where the
 * cache grows: new memory is touched then, not by the gets that use it.
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm needs=cache
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <sys/resource.h>

#include "counters.h"

enum {
    BYTES = 256,
    GETS = 4096,
    FIRST = 16,       /* whose memory is there after the first */
    SMALL = 64 << 10, /* what all of these may have */
    GROWTHS = 24      /* of storage and index, each by twice the size */
};

static char mine[GETS * BYTES], got[GETS * BYTES];

/* @return how many of the gets had page faults */
static int get(MPI_Win win, int from, int to)
{
    int with = 0;

    for (int i = from; i < to; ++i) {
        struct rusage before, after;

        getrusage(RUSAGE_THREAD, &before);
        OK(MPI_Get(got + i * BYTES, BYTES, MPI_CHAR, 1, i * BYTES, BYTES, MPI_CHAR, win));
        OK(MPI_Win_flush(1, win));
        getrusage(RUSAGE_THREAD, &after);
        with += before.ru_minflt != after.ru_minflt;
        CHECK(i % 101 == got[i * BYTES], "%d of get %d", got[i * BYTES], i);
    }
    return with;
}

static long all_faults(void)
{
    struct rusage now;

    getrusage(RUSAGE_THREAD, &now);
    return now.ru_minflt;
}

int main(int argc, char **argv)
{
    MPI_Win warm, win;
    struct counters c;
    char *base;
    long first;
    int faults;

    test_init(&argc, &argv);
    for (int i = 0; i < GETS; ++i) {
        memset(mine + i * BYTES, i % 101, BYTES);
        memset(got + i * BYTES, 0x55, BYTES);
    }
    warm = keyed_window(mine, sizeof(mine), 1, &base, "ompi_osc_cached_mode", "off", NULL);
    win = keyed_window(mine, sizeof(mine), 1, &base, "ompi_osc_cached_mode", "always", NULL);
    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, warm));
    OK(MPI_Win_lock_all(0, win));
    test_barrier();
    if (0 == test_rank) {
        get(warm, 0, GETS); /* what the inner component and the network touch */
        CHECK(0 == counter(&c, "storage_capacity"), "memory before the first get");
        first = all_faults();
        get(win, 0, 1);
        first = all_faults() - first;
        CHECK(first <= SMALL / 4096, "%ld page faults of the first miss", first);
        faults = get(win, 1, FIRST); /* one may be the system's own */
        CHECK(faults <= 1, "%d of the first %d misses had page faults", faults, FIRST);
        CHECK(counter(&c, "budget_taken") <= SMALL, "%lu bytes after %d gets",
              counter(&c, "budget_taken"), FIRST);
        faults = get(win, FIRST, GETS);
        CHECK(faults <= GROWTHS, "%d of %d misses had page faults", faults, GETS - FIRST);
        COUNTS(&c, "hits", 0, "each get once");
        CHECK(GETS * BYTES / 2 < counter(&c, "storage_used"), "%lu bytes are kept",
              counter(&c, "storage_used"));
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_unlock_all(warm));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_free(&warm));
    return test_done();
}
