/* A16: osc_cached_verify finds the bytes that changed under a window which is said to be read-only.
 * test: for=osc-cached needs=cache cache="verify=1" expect="text:w1 Mode: always Target rank: 1 Bytes: 24"
 * test: for=osc-cached needs=cache cache="verify=2" expect="error:w1 Mode: always Target rank: 1 Bytes: 24"
 * test: for=osc-cached needs=cache cache="verify=2" args="honest" expect="text:compared with the target's memory, 0 differ"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 8 };

static void fetch(MPI_Win win, unsigned long *got)
{
    OK(MPI_Get(got, N, MPI_UNSIGNED_LONG, 1, 0, N, MPI_UNSIGNED_LONG, win));
    OK(MPI_Win_flush(1, win));
}

int main(int argc, char **argv)
{
    unsigned long *base, got[N];
    struct counters c;
    MPI_Win win;
    int honest;

    test_init(&argc, &argv);
    honest = argc > 1;
    win = keyed_window(NULL, N * sizeof(long), sizeof(long), &base, "ompi_osc_cached_mode",
                       "always", NULL);
    OK(MPI_Win_set_name(win, "w1"));
    counters_open(&c, &win);
    memset(base, 0, N * sizeof(long));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 3; ++round) {
        if (0 == test_rank) {
            fetch(win, got);
            COUNTS(&c, "hits", round, "nothing is kept");
            COUNTS(&c, "mismatches", 0, "nothing has changed");
        }
        test_barrier();
    }
    if (1 == test_rank && !honest) {
        base[3] = ~0ul;
        OK(MPI_Win_sync(win));
    }
    test_barrier();
    if (0 == test_rank) {
        fetch(win, got);
        COUNTS(&c, "hits", 3, "nothing is kept");
        COUNTS(&c, "mismatches", honest ? 0 : 1, "the change was not found");
        CHECK(0 == got[3], "served %lx", got[3]);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
