/* A5: MPI_Rget: when its request is complete the data is in the buffer, for the first and every
 * later time.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=2,3 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 256, K = 8 };

static int value(int round, int rank, int i)
{
    return 1000 * round + 100000 * rank + i;
}

static void check(const int *got, int round, int t, int from, int n)
{
    for (int i = 0; i < n; ++i) {
        CHECK(value(round, t, from + i) == got[i], "round %d, target %d: [%d] = %d", round, t,
              from + i, got[i]);
    }
}

static void origin(MPI_Win win, int round)
{
    int got[K][N], t = 1 + round % (test_size - 1), flag = 0;
    MPI_Request req[K];

    memset(got, 0x55, sizeof(got));
    OK(MPI_Rget(got[0], N, MPI_INT, t, 0, N, MPI_INT, win, &req[0]));
    OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
    check(got[0], round, t, 0, N);

    /* The same bytes again, now by polling; then part of them. */
    OK(MPI_Rget(got[1], N, MPI_INT, t, 0, N, MPI_INT, win, &req[1]));
    while (!flag) {
        OK(MPI_Test(&req[1], &flag, MPI_STATUS_IGNORE));
    }
    check(got[1], round, t, 0, N);

    /* Many at once, some overlapping, with a plain get among them. */
    memset(got, 0x55, sizeof(got));
    for (int k = 0; k < K - 1; ++k) {
        OK(MPI_Rget(got[k], N - 20 * k, MPI_INT, t, 20 * k, N - 20 * k, MPI_INT, win, &req[k]));
    }
    OK(MPI_Get(got[K - 1], N, MPI_INT, t, 0, N, MPI_INT, win));
    if (round % 2) {
        OK(MPI_Win_flush(t, win));
    }
    OK(MPI_Waitall(K - 1, req, MPI_STATUSES_IGNORE));
    for (int k = 0; k < K - 1; ++k) {
        check(got[k], round, t, 20 * k, N - 20 * k);
    }
    OK(MPI_Win_flush(t, win));
    check(got[K - 1], round, t, 0, N);

    OK(MPI_Rget(got[0], 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &req[0]));
    OK(MPI_Rget(got[1], 0, MPI_INT, t, 0, 0, MPI_INT, win, &req[1]));
    OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    int mine[N], *base;

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        OK(MPI_Win_lock_all(0, win));
        for (int round = 0; round < 20; ++round) {
            for (int i = 0; i < N; ++i) {
                base[i] = value(round, test_rank, i);
            }
            OK(MPI_Win_sync(win));
            test_barrier();
            if (0 == test_rank) {
                origin(win, round);
            }
            test_barrier();
        }
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
