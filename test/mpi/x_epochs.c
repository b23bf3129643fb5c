/* One window, all kinds of epochs after one another: bytes of one never show in the next.
 * test: for=osc ranks=2,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=2,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 200, KINDS = 5 };

int main(int argc, char **argv)
{
    int mine[N], *base, got[2][N], left, right;
    MPI_Group world, to, from;

    test_init(&argc, &argv);
    if (test_inner_is("pt2pt")) {
        test_skip("osc/pt2pt waits for ever in MPI_Win_lock after other epochs");
    }
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &right, &to));
    OK(MPI_Group_incl(world, 1, &left, &from));
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        for (int round = 0; round < 6 * KINDS; ++round) {
            int kind = (round * 7 + round / KINDS) % KINDS;

            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win));
            for (int i = 0; i < N; ++i) {
                base[i] = 10000 * round + 1000 * test_rank + i;
            }
            OK(MPI_Win_unlock(test_rank, win));
            memset(got, 0x55, sizeof(got));
            test_barrier();
            switch (kind) {
            case 0:
                OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
                break;
            case 1:
                OK(MPI_Win_post(from, 0, win));
                OK(MPI_Win_start(to, 0, win));
                break;
            case 2:
                OK(MPI_Win_lock_all(0, win));
                break;
            case 3:
                OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
                break;
            case 4:
                OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
                break;
            }
            for (int k = 0; k < 2; ++k) {
                OK(MPI_Get(got[k], N, MPI_INT, right, 0, N, MPI_INT, win));
            }
            switch (kind) {
            case 0:
                OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
                break;
            case 1:
                OK(MPI_Win_complete(win));
                OK(MPI_Win_wait(win));
                break;
            case 2:
            case 4:
                OK(MPI_Win_unlock_all(win));
                break;
            case 3:
                OK(MPI_Win_unlock(right, win));
                break;
            }
            for (int k = 0; k < 2; ++k) {
                for (int i = 0; i < N; ++i) {
                    CHECK(10000 * round + 1000 * right + i == got[k][i],
                          "round %d, kind %d, get %d: [%d] = %d", round, kind, k, i, got[k][i]);
                }
            }
            test_barrier();
        }
        OK(MPI_Win_free(&win));
    }
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    return test_done();
}
