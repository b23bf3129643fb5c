/* A2: atomics read and change the target, never a cached copy.
 * test: for=osc ranks=2,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=2,4 transport=shm,tcp limit=60
 *
 * All ranks count in rank 0's window at the same time; each reads the counter with a plain get in
 * between. Every value must be given out exactly once, and a swap lock must keep everybody else
 * out.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { ROUNDS = 60 };

int main(int argc, char **argv)
{
    long *base, seen[ROUNDS], one = 1, zero = 0, minus = -1, got, *all;
    int swaps;
    MPI_Win win;
    char *taken;

    test_init(&argc, &argv);
    swaps = test_swap_crashes() ? 0 : ROUNDS / 4;
    win = test_win_make(NULL, 8 * sizeof(long), sizeof(long), &base);
    memset(base, 0, 8 * sizeof(long));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));

    for (int round = 0; round < ROUNDS; ++round) {
        long plain = -1, noop = -1, again = -1;
        OK(MPI_Get(&plain, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Fetch_and_op(&one, &seen[round], MPI_LONG, 0, 0, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        CHECK(seen[round] >= plain, "counted %ld after reading %ld", seen[round], plain);
        OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, &noop, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP,
                              win));
        OK(MPI_Win_flush(0, win));
        CHECK(noop > seen[round], "MPI_NO_OP read %ld after counting %ld", noop, seen[round]);
        OK(MPI_Fetch_and_op(NULL, &again, MPI_LONG, 0, 0, MPI_NO_OP, win));
        OK(MPI_Win_flush(0, win));
        CHECK(again >= noop, "read %ld, then %ld", noop, again);
    }

    /* A lock of our own in word 1, a plain counter in word 2. */
    for (int round = 0; round < swaps; ++round) {
        long owner, count = -1, me = test_rank + 1;
        do {
            OK(MPI_Compare_and_swap(&me, &zero, &owner, MPI_LONG, 0, 1, win));
            OK(MPI_Win_flush(0, win));
        } while (0 != owner);
        OK(MPI_Get(&count, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        ++count;
        OK(MPI_Put(&count, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Compare_and_swap(&zero, &me, &owner, MPI_LONG, 0, 1, win));
        OK(MPI_Win_flush(0, win));
        CHECK(me == owner, "the lock was %ld's, not mine", owner);
    }
    test_barrier();
    got = -1;
    OK(MPI_Get(&got, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    CHECK((long) swaps * test_size == got, "counted %ld under the lock", got);
    OK(MPI_Fetch_and_op(&minus, &got, MPI_LONG, 0, 3, MPI_REPLACE, win));
    OK(MPI_Win_unlock_all(win));

    all = malloc(sizeof(seen) * test_size);
    taken = calloc(test_size, ROUNDS);
    OK(MPI_Allgather(seen, ROUNDS, MPI_LONG, all, ROUNDS, MPI_LONG, MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS * test_size; ++i) {
        CHECK(all[i] >= 0 && all[i] < ROUNDS * test_size && !taken[all[i]]++,
              "value %ld given out twice", all[i]);
    }
    free(all);
    free(taken);
    OK(MPI_Win_free(&win));
    return test_done();
}
