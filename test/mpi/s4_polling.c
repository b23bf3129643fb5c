/* S4: a polling loop "get; flush" always reads the target's present value.
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="" ranks=2,3 transport=shm,tcp limit=60
 *
 * Nobody sends a message: the flag itself is the news. It is stored by the target, put by a third
 * process, or got with another size or through MPI_Rget on the way.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { ROUNDS = 40 };

static void poll_for(MPI_Win win, int want, int how)
{
    int got[4] = {-1, -1, -1, -1};
    MPI_Request req;

    do {
        switch (how) {
        case 0:
            OK(MPI_Get(got, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush(1, win));
            break;
        case 1:
            OK(MPI_Get(got, 4, MPI_INT, 1, 0, 4, MPI_INT, win));
            OK(MPI_Win_flush_all(win));
            break;
        case 2:
            OK(MPI_Rget(got, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &req));
            OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
            break;
        case 3:
            OK(MPI_Get(got, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush_local(1, win));
            break;
        }
        CHECK(got[0] == want - 1 || got[0] == want, "saw %d while waiting for %d", got[0], want);
    } while (got[0] != want && 0 == test_failures);
}

int main(int argc, char **argv)
{
    int mine[4], *base;

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        memset(base, 0, sizeof(mine));
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        /* osc/ucx takes the lock with atomics that its peers' progress serves, and a poller's "get;
           flush" that UCX finds done at once makes none. */
        test_barrier();
        for (int round = 1; round <= ROUNDS; ++round) {
            if (0 == test_rank) {
                poll_for(win, round, round % 4);
            } else if (test_size - 1 == test_rank) {
                if (1 == test_rank) {
                    *(volatile int *) base = round;
                    OK(MPI_Win_sync(win));
                } else {
                    OK(MPI_Put(&round, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
                    OK(MPI_Win_flush(1, win));
                }
            }
            test_barrier();
        }
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
