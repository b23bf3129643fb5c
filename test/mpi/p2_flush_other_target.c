/* P2: a flush of one target does not declare another's gets complete (CLaMPI's code copies the
 * buffer of a get that has not arrived, and serves that from then on).
 *
 * test: for=osc ranks=3,4 transport=shm,tcp
 * test: for=osc-cached cache="mode=always" ranks=3,4 transport=shm,tcp
 * test: for=osc-cached cache="passive_scope=flush" ranks=3,4 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 2048, ROUNDS = 40 };

int main(int argc, char **argv)
{
    static int mine[N * ROUNDS], late[N], prompt[N], again[N];
    int *base;

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        for (int i = 0; i < N * ROUNDS; ++i) {
            base[i] = 1000000 * test_rank + i;
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        for (int round = 0; 0 == test_rank && round < ROUNDS; ++round) {
            int from = round * N, a = 1 + round % (test_size - 1),
                b = 1 + (round + 1) % (test_size - 1);

            memset(late, 126, sizeof(late));
            memset(again, 126, sizeof(again));
            OK(MPI_Get(late, N, MPI_INT, a, from, N, MPI_INT, win));
            OK(MPI_Get(prompt, 1, MPI_INT, b, from, 1, MPI_INT, win));
            OK(MPI_Win_flush(b, win));
            CHECK(1000000 * b + from == prompt[0], "round %d: %d", round, prompt[0]);
            OK(MPI_Get(again, N, MPI_INT, a, from, N, MPI_INT, win));
            OK(MPI_Win_flush(a, win));
            for (int i = 0; i < N; ++i) {
                CHECK(1000000 * a + from + i == late[i] && late[i] == again[i],
                      "round %d: [%d] = %d and %d", round, i, late[i], again[i]);
            }
            memset(again, 126, sizeof(again));
            OK(MPI_Get(again, N, MPI_INT, a, from, N, MPI_INT, win));
            OK(MPI_Win_flush(a, win));
            CHECK(0 == memcmp(late, again, sizeof(late)), "round %d: later", round);
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
