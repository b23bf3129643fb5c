/* O1: with osc_cached_stores=sync, what a get, or the result of an atomic operation, brings to the
 * memory of the own window is seen by gets that begin after the synchronisation that completes it:
 * it comes after that has looked for what was stored. Rank 0 is late; rank 2 has a copy.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="stores=sync helper=on share=off" ranks=3 transport=tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 8192, AT = 5 * WORDS / 8, FROM = 100, ROUNDS = 4, WAYS = 3 };

/* Rank 1: fetch a word of rank 0 to the own window. */
static void fetch(int way, long *base, MPI_Win win)
{
    long zero = 0;

    switch (way) {
    case 0:
        OK(MPI_Get(&base[AT], 1, MPI_LONG, 0, FROM, 1, MPI_LONG, win));
        break;
    case 1:
        OK(MPI_Fetch_and_op(&zero, &base[AT], MPI_LONG, 0, FROM, MPI_SUM, win));
        break;
    default:
        OK(MPI_Get_accumulate(&zero, 0, MPI_LONG, &base[AT], 1, MPI_LONG, 0, FROM, 1, MPI_LONG,
                              MPI_NO_OP, win));
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base, value = 0;
    MPI_Win win;

    test_init(&argc, &argv);
    coherent_window(&win, WORDS, &base, &c);
    if (!coherent_is(win)) {
        test_skip("windows are not coherent here");
    }
    for (int round = 0; round < ROUNDS * WAYS; ++round, ++value) {
        if (0 == test_rank) {
            base[FROM] = value + 1;
        }
        for (int i = 0; i < 2;
             ++i) { /* what came in the last round has been told of the second time */
            if (2 == test_rank) {
                OK(MPI_Win_lock_all(0, win));
                CHECK(coherent_warm(win, &c, 1, AT, value), "round %d: never a hit", round);
                OK(MPI_Win_unlock_all(win));
            }
            test_barrier();
            if (0 == i && 1 == test_rank) {
                OK(MPI_Win_lock_all(0, win));
                OK(MPI_Win_unlock_all(win));
            }
            test_barrier();
        }
        OK(MPI_Win_fence(0, win));
        if (0 == test_rank) {
            usleep(20000);
        } else if (1 == test_rank) {
            fetch(round % WAYS, base, win);
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        if (2 == test_rank) {
            long got;

            OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
            got = coherent_get(win, 1, AT);
            OK(MPI_Win_unlock_all(win));
            CHECK(value + 1 == got, "round %d: %ld, wanted %ld", round, got, value + 1);
        }
        CHECK(1 != test_rank || value + 1 == base[AT], "%ld has come", base[AT]);
        test_barrier();
    }
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
