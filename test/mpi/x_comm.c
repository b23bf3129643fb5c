/* Windows on other communicators: ranks of the window are not ranks of the job.
 * test: for=osc ranks=3,4 transport=shm,tcp limit=60
 *
 * A window of all ranks stays alive meanwhile: osc/ucx of 5.0 flushes all endpoints it ever used,
 * also those to ranks outside of the window's group, and these answer only as long as they have
 * some window (over TCP; it waits for ever in MPI_Win_fence otherwise).
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 40 };

static void use(MPI_Comm comm, int id)
{
    int mine[N], got[N], rank, size, world[8];
    MPI_Win win;

    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Allgather(&test_rank, 1, MPI_INT, world, 1, MPI_INT, comm));
    OK(MPI_Win_create(mine, sizeof(mine), sizeof(int), MPI_INFO_NULL, comm, &win));
    test_win(win);
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < N; ++i) {
            mine[i] = 100000 * id + 10000 * round + 1000 * test_rank + i;
        }
        OK(MPI_Win_fence(0, win));
        for (int t = 0; t < size; ++t) {
            for (int twice = 0; twice < 2; ++twice) {
                memset(got, 0x55, sizeof(got));
                OK(MPI_Get(got, N, MPI_INT, t, 0, N, MPI_INT, win));
                OK(MPI_Win_fence(0, win));
                for (int i = 0; i < N; ++i) {
                    CHECK(100000 * id + 10000 * round + 1000 * world[t] + i == got[i],
                          "communicator %d, round %d, rank %d: [%d] = %d", id, round, t, i, got[i]);
                }
            }
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        OK(MPI_Barrier(comm));
    }
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    MPI_Comm turned, half, copy;
    MPI_Win all;
    void *base;

    test_init(&argc, &argv);
    test_needs_small_windows();
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &turned));
    OK(MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, &half));
    OK(MPI_Comm_dup(half, &copy));
    all = test_win_make(NULL, 64, 1, &base);
    use(turned, 1);
    use(half, 2);
    use(copy, 3);
    use(MPI_COMM_SELF, 4);
    OK(MPI_Win_free(&all));
    MPI_Comm_free(&turned);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    return test_done();
}
