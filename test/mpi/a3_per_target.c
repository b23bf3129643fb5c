/* A3: completion is per target: flush(t) and unlock(t) complete the gets from t, and those from
 * others still arrive.
 *
 * test: for=osc ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=3,4 transport=shm,tcp limit=60
 *
 * Gets from all targets are issued together and completed one target after the other; only then is
 * each buffer looked at. Targets change their bytes each round.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 400 };

static int value(int round, int rank, int i)
{
    return 7 * round + 100000 * rank + i;
}

static void check(const int *got, int round, int t)
{
    for (int i = 0; i < N; ++i) {
        CHECK(value(round, t, i) == got[i], "round %d, target %d: [%d] = %d", round, t, i, got[i]);
    }
}

static void origin(MPI_Win win, int round, int single_locks)
{
    int got[4][2][N];

    memset(got, 0x55, sizeof(got));
    if (!single_locks) {
        OK(MPI_Win_lock_all(0, win));
    }
    for (int t = 1; t < test_size; ++t) {
        if (single_locks) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win));
        }
        OK(MPI_Get(got[t][0], N, MPI_INT, t, 0, N, MPI_INT, win));
    }
    for (int k = 0; k < test_size - 1; ++k) {
        int t = 1 + (k + round) % (test_size - 1);
        if (single_locks) {
            OK(MPI_Win_unlock(t, win));
            check(got[t][0], round, t);
        } else {
            OK(MPI_Win_flush(t, win));
            check(got[t][0], round, t);
            OK(MPI_Get(got[t][1], N, MPI_INT, t, 0, N, MPI_INT, win));
        }
    }
    if (!single_locks) {
        OK(MPI_Win_flush_all(win));
        for (int t = 1; t < test_size; ++t) {
            check(got[t][1], round, t);
        }
        OK(MPI_Win_unlock_all(win));
    }
}

int main(int argc, char **argv)
{
    int mine[N], *base;

    test_init(&argc, &argv);
    if (test_inner_is("pt2pt")) {
        test_skip("osc/pt2pt waits for ever in MPI_Win_unlock of one of several targets");
    }
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        for (int round = 0; round < 24; ++round) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win));
            for (int i = 0; i < N; ++i) {
                base[i] = value(round, test_rank, i);
            }
            OK(MPI_Win_unlock(test_rank, win));
            test_barrier();
            if (0 == test_rank) {
                origin(win, round, round % 2);
            }
            test_barrier();
        }
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
