/* A2: atomics go to the target even where mode always keeps old bytes of it.
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

static long fetch(MPI_Win win)
{
    long got = -1;

    OK(MPI_Get(&got, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(1, win));
    return got;
}

static long atomically(MPI_Win win, int how, long now)
{
    long got = -1, zero = 0;

    switch (how) {
    case 0:
        OK(MPI_Fetch_and_op(&zero, &got, MPI_LONG, 1, 0, MPI_NO_OP, win));
        break;
    case 1:
        OK(MPI_Get_accumulate(&zero, 1, MPI_LONG, &got, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_NO_OP,
                              win));
        break;
    case 2:
        OK(MPI_Fetch_and_op(&zero, &got, MPI_LONG, 1, 0, MPI_SUM, win));
        break;
    default:
        OK(MPI_Compare_and_swap(&now, &now, &got, MPI_LONG, 1, 0, win));
    }
    OK(MPI_Win_flush(1, win));
    return got;
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base, one = 1, old;
    int kinds;
    MPI_Win win;

    test_init(&argc, &argv);
    kinds = test_swap_crashes() ? 3 : 4;
    win = test_win_make(NULL, 8 * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, 8 * sizeof(long));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (long round = 0; round < 12; ++round) {
        if (0 == test_rank) {
            CHECK(round == fetch(win), "round %ld: not the value of its start", round);
        }
        test_barrier();
        if (1 == test_rank) {
            OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, win));
            OK(MPI_Win_flush(1, win));
        }
        test_barrier();
        if (0 == test_rank) {
            unsigned long hits = counter(&c, "hits");
            long got;

            CHECK(round == fetch(win), "round %ld: mode always kept nothing", round);
            COUNTS(&c, "hits", hits + 1, "round %ld", round);
            got = atomically(win, (int) round % kinds, round + 1);
            CHECK(round + 1 == got, "round %ld: an atomic read %ld", round, got);
            COUNTS(&c, "hits", hits + 1, "round %ld: an atomic was served from the cache", round);
        }
        test_barrier();
    }
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
