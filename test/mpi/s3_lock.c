/* S3: in a passive target epoch another process may change a byte and say so by any message; the
 * next get sees it.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=2,3 transport=shm,tcp limit=60
 *
 * The epoch (lock_all, or one lock) stays open all the time; the news comes as a plain message, a
 * barrier, or a value written into the reader's own window.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 128, ROUNDS = 30 };

static void reader(MPI_Win win, int writer)
{
    double got[N];

    for (int round = 0; round < ROUNDS; ++round) {
        int said;
        OK(MPI_Recv(&said, 1, MPI_INT, writer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        memset(got, 0, sizeof(got));
        OK(MPI_Get(got, N, MPI_DOUBLE, 1, 0, N, MPI_DOUBLE, win));
        OK(MPI_Win_flush(1, win));
        for (int i = 0; i < N; ++i) {
            CHECK(said + i == got[i], "round %d: [%d] = %g, wanted %d", round, i, got[i], said + i);
        }
        OK(MPI_Send(&said, 1, MPI_INT, writer, 8, MPI_COMM_WORLD));
    }
}

static void writer(MPI_Win win, double *base)
{
    double local[N];

    for (int round = 0; round < ROUNDS; ++round) {
        int said = 100 * round;
        for (int i = 0; i < N; ++i) {
            local[i] = said + i;
        }
        if (1 == test_rank) { /* the target itself stores */
            memcpy(base, local, sizeof(local));
            OK(MPI_Win_sync(win));
        } else { /* a third process puts */
            OK(MPI_Put(local, N, MPI_DOUBLE, 1, 0, N, MPI_DOUBLE, win));
            OK(MPI_Win_flush(1, win));
        }
        OK(MPI_Send(&said, 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
        OK(MPI_Recv(&said, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void exclusive_turns(MPI_Win win)
{
    for (int round = 0; round < ROUNDS; ++round) {
        for (int turn = 0; turn < test_size; ++turn) {
            if (turn == test_rank) {
                long n = -1, next;
                OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
                OK(MPI_Get(&n, 1, MPI_LONG, 1, 100, 1, MPI_LONG, win));
                OK(MPI_Win_flush(1, win));
                CHECK((long) round * test_size + turn == n, "round %d, turn %d: %ld", round, turn,
                      n);
                next = n + 1;
                OK(MPI_Put(&next, 1, MPI_LONG, 1, 100, 1, MPI_LONG, win));
                OK(MPI_Win_unlock(1, win));
            }
            test_barrier();
        }
    }
}

int main(int argc, char **argv)
{
    double mine[N], *base;

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(double), &base);

        for (int one_lock = 0; one_lock < 2; ++one_lock) {
            if (one_lock) {
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
            } else {
                OK(MPI_Win_lock_all(0, win));
            }
            if (0 == test_rank) {
                reader(win, test_size - 1);
            } else if (test_size - 1 == test_rank) {
                writer(win, base);
            }
            if (one_lock) {
                OK(MPI_Win_unlock(1, win));
            } else {
                OK(MPI_Win_unlock_all(win));
            }
            test_barrier();
        }
        memset(base, 0, sizeof(mine));
        test_barrier();
        exclusive_turns(win);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
