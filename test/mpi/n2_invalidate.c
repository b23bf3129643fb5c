/* N2: one invalidation forgets everything at once, by info key or by extension, pending gets too.
 * test: for=osc-cached needs=cache cache="mode=user entries=8192" ranks=2 transport=shm,tcp
 *
 * How long it takes is counted in instructions by the core's unit tests and measured by
 * bench/micro.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <mpi-ext.h>

enum { N = 2000 };

static void invalidate(MPI_Win win, int round)
{
#if defined(OMPI_HAVE_MPI_EXT_CACHED)
    if (round % 2) {
        OK(MPIX_Win_cache_invalidate(win));
        return;
    }
#endif
    (void) round;
    test_set_key(win, "ompi_osc_cached_invalidate", "true");
}

static void fetch_all(MPI_Win win, int stamp)
{
    static int got[N];

    memset(got, 0x55, sizeof(got));
    for (int i = 0; i < N; ++i) {
        OK(MPI_Get(&got[i], 1, MPI_INT, 1, i, 1, MPI_INT, win));
    }
    OK(MPI_Win_flush(1, win));
    for (int i = 0; i < N; ++i) {
        CHECK(stamp + i == got[i], "[%d] = %d, wanted %d", i, got[i], stamp + i);
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    int *base, late[2];
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 6; ++round) {
        test_barrier();
        for (int i = 0; i < N; ++i) {
            base[i] = 10000 * round + i;
        }
        OK(MPI_Win_sync(win));
        test_barrier();
        invalidate(win, round);
        if (0 == test_rank) {
            COUNTS(&c, "invalidations", round + 1, "round %d", round);
            fetch_all(win, 10000 * round);
            COUNTS(&c, "hits", N * round, "round %d: old bytes", round);
            fetch_all(win, 10000 * round);
            COUNTS(&c, "hits", N * (round + 1), "round %d: nothing is kept", round);
        }
    }
    if (0 == test_rank) {
        /* a get that is on its way when the program invalidates: it arrives, and is not kept */
        invalidate(win, 0);
        OK(MPI_Get(&late[0], 1, MPI_INT, 1, 0, 1, MPI_INT, win));
        invalidate(win, 0);
        OK(MPI_Get(&late[1], 1, MPI_INT, 1, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(1, win));
        CHECK(50000 == late[0] && 50000 == late[1], "late: %d %d", late[0], late[1]);
        COUNTS(&c, "joins", 0, "a get after the invalidation waited for one before it");
        counters_add_up(&c);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
