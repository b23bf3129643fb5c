/* A10: a rank's own window: get, put and atomics to oneself see local stores at once.
 * test: for=osc ranks=1,2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=1,2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 64 };

static void run(MPI_Win win, int me, volatile long *base)
{
    long got[N], more = 5, old;

    for (int round = 0; round < 20; ++round) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win));
        for (int i = 0; i < N; ++i) {
            base[i] = 100 * round + i;
        }
        OK(MPI_Win_sync(win));
        OK(MPI_Get(got, N, MPI_LONG, me, 0, N, MPI_LONG, win));
        OK(MPI_Win_flush(me, win));
        for (int i = 0; i < N; ++i) {
            CHECK(100 * round + i == got[i], "round %d: [%d] = %ld", round, i, got[i]);
        }
        base[1] = -round; /* a plain store between two gets of one epoch */
        OK(MPI_Win_sync(win));
        OK(MPI_Get(got, 2, MPI_LONG, me, 0, 2, MPI_LONG, win));
        OK(MPI_Win_flush(me, win));
        CHECK(-round == got[1], "round %d: after the store %ld", round, got[1]);
        OK(MPI_Put(&more, 1, MPI_LONG, me, 1, 1, MPI_LONG, win));
        OK(MPI_Win_flush(me, win));
        OK(MPI_Fetch_and_op(&more, &old, MPI_LONG, me, 1, MPI_SUM, win));
        OK(MPI_Win_flush(me, win));
        CHECK(5 == old, "round %d: fetched %ld", round, old);
        OK(MPI_Get(got, 2, MPI_LONG, me, 0, 2, MPI_LONG, win));
        OK(MPI_Win_unlock(me, win));
        CHECK(10 == got[1] && 10 == base[1], "round %d: %ld, in memory %ld", round, got[1],
              base[1]);
    }
}

int main(int argc, char **argv)
{
    long mine[N], *base;
    MPI_Win win;

    test_init(&argc, &argv);
    test_needs_small_windows();
    for (int allocate = 0; allocate < 2; ++allocate) {
        win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(long), &base);
        run(win, test_rank, base);
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Win_create(mine, sizeof(mine), sizeof(long), MPI_INFO_NULL, MPI_COMM_SELF, &win));
    test_win(win);
    run(win, 0, mine);
    OK(MPI_Win_free(&win));
    return test_done();
}
