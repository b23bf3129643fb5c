/* S1: a fence epoch sees what the target held when the epoch opened; the closing fence ends that
 * view.
 *
 * test: for=osc ranks=2,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="" ranks=2,4 transport=shm,tcp limit=60
 *
 * Every epoch reads the same bytes twice (a cache may serve the second read) and the target changes
 * them between epochs, by a local store or by a third process's put.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 512 };

static void epochs(MPI_Win win, long *base)
{
    long a[N], b[N];
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;

    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < N; ++i) {
            base[i] = 1000000L * round + 1000L * test_rank + i;
        }
        OK(MPI_Win_fence(round % 2 ? MPI_MODE_NOPUT : 0, win));
        memset(a, 0x55, sizeof(a));
        memset(b, 0x55, sizeof(b));
        OK(MPI_Get(a, N, MPI_LONG, right, 0, N, MPI_LONG, win));
        OK(MPI_Get(b, N, MPI_LONG, right, 0, N, MPI_LONG, win));
        OK(MPI_Win_fence(0, win));
        for (int i = 0; i < N; ++i) {
            CHECK(1000000L * round + 1000L * right + i == a[i], "round %d, a[%d] = %ld", round, i,
                  a[i]);
            CHECK(a[i] == b[i], "round %d, b[%d] = %ld", round, i, b[i]);
        }

        /* Written by the left neighbour's put this time. */
        for (int i = 0; i < N; ++i) {
            b[i] = -a[i];
        }
        OK(MPI_Put(b, N, MPI_LONG, right, 0, N, MPI_LONG, win));
        OK(MPI_Win_fence(0, win));
        OK(MPI_Get(a, N, MPI_LONG, left, 0, N, MPI_LONG, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        for (int i = 0; i < N; ++i) {
            long want = -(1000000L * round + 1000L * left + i);
            CHECK(want == a[i], "round %d, after the put a[%d] = %ld, wanted %ld", round, i, a[i],
                  want);
        }
        test_barrier();
    }
}

int main(int argc, char **argv)
{
    long mine[N], *base;

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(long), &base);
        epochs(win, base);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
