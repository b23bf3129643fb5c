/* A get into memory that a window exposes: another process may write there as soon as the epoch
 * ends, and what is kept of the get must not be that.
 *
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { GETS = 256, N = 64, ROUNDS = 60 };

int main(int argc, char **argv)
{
    static int other[GETS][N], got[N];
    int(*source)[N], (*here)[N];
    MPI_Win win, mine;

    test_init(&argc, &argv);
    memset(other, 0xaa, sizeof(other));
    /* one window that is only read, another that is written all the time */
    win = test_win_make(NULL, (MPI_Aint) ROUNDS * sizeof(other), sizeof(int), &source);
    mine = test_win_make(NULL, sizeof(other), sizeof(int), &here);
    for (int k = 0; k < ROUNDS * GETS; ++k) {
        for (int i = 0; i < N; ++i) {
            source[k][i] = 1000 * k + i;
        }
    }
    test_barrier();
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, mine));
    for (int round = 0; round < ROUNDS; ++round) {
        OK(MPI_Win_fence(0, win));
        for (int k = 0; 0 == test_rank && k < GETS; ++k) {
            OK(MPI_Get(here[k], N, MPI_INT, 1, (round * GETS + k) * N, N, MPI_INT, win));
        }
        OK(MPI_Win_fence(0, win));
        if (1 == test_rank) { /* at once */
            OK(MPI_Put(other, GETS * N, MPI_INT, 0, 0, GETS * N, MPI_INT, mine));
            OK(MPI_Win_flush(0, mine));
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        if (0 == test_rank) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
            for (int k = 0; k < GETS; ++k) {
                memset(got, 0x55, sizeof(got));
                OK(MPI_Get(got, N, MPI_INT, 1, (round * GETS + k) * N, N, MPI_INT, win));
                OK(MPI_Win_flush(1, win));
                for (int i = 0; i < N; ++i) {
                    CHECK(1000 * (round * GETS + k) + i == got[i], "round %d, get %d: [%d] = %x",
                          round, k, i, (unsigned) got[i]);
                }
            }
            OK(MPI_Win_unlock(1, win));
        }
        test_barrier();
    }
    OK(MPI_Win_unlock_all(mine));
    OK(MPI_Win_free(&mine));
    OK(MPI_Win_free(&win));
    return test_done();
}
