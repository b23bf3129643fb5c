/* O1: what a process stores before MPI_Win_post is seen by gets of the epoch that this begins, also
 * where it has never begun an epoch of its own, nobody counts anything, and MPI_Win_start returns
 * before the post (osc/pt2pt; "late").
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="stores=sync" ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" args=late ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <unistd.h>

enum { WORDS = 8192, ROUNDS = 500, SAME = 10 };

int main(int argc, char **argv)
{
    int rounds, mate, late = argc > 1;
    MPI_Group world, group;
    long *base, got;
    MPI_Win win;

    test_init(&argc, &argv);
    rounds = late ? ROUNDS / 5 : ROUNDS;
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    memset(base, 0, WORDS * sizeof(long));
    mate = 1 - test_rank;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &mate, &group));
    if (late) {
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Win_unlock_all(win));
    }
    test_barrier();
    for (int round = 0; round < rounds; ++round) {
        long value = round / SAME;

        if (0 == test_rank) {
            if (late) {
                usleep(300);
            }
            base[5] = value;
            OK(MPI_Win_post(group, 0, win));
            OK(MPI_Win_wait(win));
        } else {
            got = -1;
            OK(MPI_Win_start(group, 0, win));
            OK(MPI_Get(&got, 1, MPI_LONG, 0, 5, 1, MPI_LONG, win));
            OK(MPI_Win_complete(win));
            CHECK(value == got, "round %d: %ld, expected %ld", round, got, value);
        }
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    OK(MPI_Win_free(&win));
    return test_done();
}
