/* E3, A1: an own write is seen by the process's next gets, whatever others of its node fetch while
 * it is on its way.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=user share=on" ranks=3 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { ROUNDS = 50 };

static int mate, last; /* of rank 0's node, the target */

static long fetch(MPI_Win win)
{
    long got = -1;

    OK(MPI_Get(&got, 1, MPI_LONG, last, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush_local(last, win));
    return got;
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base;
    MPI_Win win;

    test_init(&argc, &argv);
    mate = test_mate();
    last = test_size - 1;
    win = keyed_window(NULL, sizeof(long), sizeof(long), &base, NULL);
    counters_open(&c, &win);
    *base = 0;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    for (long round = 1; round <= ROUNDS; ++round) {
        long more = 1;

        if (0 == test_rank || mate == test_rank) {
            long got = fetch(win);

            CHECK(round - 1 == got, "round %ld: %ld before the write", round, got);
        }
        test_barrier();
        if (0 == test_rank) { /* on its way from here ... */
            if (round % 2) {
                OK(MPI_Put(&round, 1, MPI_LONG, last, 0, 1, MPI_LONG, win));
            } else {
                OK(MPI_Accumulate(&more, 1, MPI_LONG, last, 0, 1, MPI_LONG, MPI_SUM, win));
            }
        }
        test_barrier();
        if (mate == test_rank) {
            for (int i = 0; i < 3; ++i) {
                long got = fetch(win);

                CHECK(round - 1 == got || round == got, "round %ld: %ld meanwhile", round, got);
            }
        }
        test_barrier();
        if (0 == test_rank) {
            OK(MPI_Win_flush(last, win)); /* ... to here */
            for (int i = 0; i < 3; ++i) {
                long got = fetch(win);

                CHECK(round == got, "round %ld: %ld after the own write", round, got);
            }
        }
        test_barrier();
        if (mate == test_rank) {
            long got = fetch(win);

            CHECK(round == got, "round %ld: %ld in the other process", round, got);
        }
        test_barrier();
    }
    if (0 == test_rank || mate == test_rank) {
        CHECK(0 < counter(&c, "node_hits"), "nothing was shared");
    }
    if (mate == test_rank) {
        COUNTS(&c, "unshared", 3 * ROUNDS, "nothing is kept while somebody writes");
    }
    counters_add_up(&c);
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
