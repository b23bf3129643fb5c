/* S2: a start/complete epoch sees the target's bytes of that epoch; MPI_Win_complete ends the view,
 * per target.
 *
 * test: for=osc ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="" ranks=3,4 transport=shm,tcp limit=60
 *
 * Rank 0 reads from all others; they change their bytes between epochs. In every second round the
 * group of the access epoch leaves the last rank out: its next epoch must not see the bytes of two
 * rounds ago.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 300 };

static int value(int round, int rank, int i)
{
    return 100000 * round + 1000 * rank + i;
}

static void origin(MPI_Win win, MPI_Group group, int last, int round)
{
    int got[4][N], again[N];

    memset(got, 0x55, sizeof(got));
    OK(MPI_Win_start(group, 0, win));
    for (int t = 1; t <= last; ++t) {
        OK(MPI_Get(got[t], N, MPI_INT, t, 0, N, MPI_INT, win));
    }
    memset(again, 0x55, sizeof(again));
    OK(MPI_Get(again, N - 10, MPI_INT, 1, 5, N - 10, MPI_INT, win));
    OK(MPI_Win_complete(win));
    for (int t = 1; t <= last; ++t) {
        for (int i = 0; i < N; ++i) {
            CHECK(value(round, t, i) == got[t][i], "round %d, target %d, [%d] = %d", round, t, i,
                  got[t][i]);
        }
    }
    for (int i = 0; i < N - 10; ++i) {
        CHECK(value(round, 1, i + 5) == again[i], "round %d, inner range [%d] = %d", round, i,
              again[i]);
    }
}

int main(int argc, char **argv)
{
    int mine[N], *base, zero = 0, ranks[4] = {1, 2, 3, 4};
    MPI_Group world, first, some, all;

    test_init(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &zero, &first));
    OK(MPI_Group_incl(world, test_size - 2, ranks, &some));
    OK(MPI_Group_incl(world, test_size - 1, ranks, &all));
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        for (int round = 0; round < 20; ++round) {
            int last = round % 2 ? test_size - 2 : test_size - 1;
            for (int i = 0; i < N; ++i) {
                base[i] = value(round, test_rank, i);
            }
            if (0 == test_rank) {
                origin(win, round % 2 ? some : all, last, round);
            } else if (test_rank <= last) {
                int done = 0;
                OK(MPI_Win_post(first, 0, win));
                while (round % 3 == 0 && !done) {
                    OK(MPI_Win_test(win, &done));
                }
                if (!done) {
                    OK(MPI_Win_wait(win));
                }
            }
        }
        OK(MPI_Win_free(&win));
    }
    MPI_Group_free(&world);
    MPI_Group_free(&first);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return test_done();
}
