/* A4: flush_local and flush_local_all complete gets: the data is there and the buffer may be used
 * again.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2,3 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 2000 };

int main(int argc, char **argv)
{
    int mine[N], *base, buf[N];

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        for (int i = 0; i < N; ++i) {
            base[i] = 10000 * test_rank + i;
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        for (int round = 0; round < 60; ++round) {
            int t = (test_rank + 1 + round % (test_size - 1)) % test_size, from = 13 * round,
                n = N - from;

            memset(buf, 0x55, sizeof(buf));
            OK(MPI_Get(buf, n, MPI_INT, t, from, n, MPI_INT, win));
            if (round % 3) {
                OK(MPI_Win_flush_local(t, win));
            } else {
                OK(MPI_Win_flush_local_all(win));
            }
            for (int i = 0; i < n; ++i) {
                CHECK(10000 * t + from + i == buf[i], "round %d: [%d] = %d", round, i, buf[i]);
            }
            /* The same buffer at once for other bytes: nothing late may fall into it. */
            OK(MPI_Get(buf, 1, MPI_INT, t, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush_local(t, win));
            buf[n - 1] = -1;
            OK(MPI_Win_flush(t, win));
            CHECK(10000 * t == buf[0] && (1 == n || -1 == buf[n - 1]), "round %d: %d %d", round,
                  buf[0], buf[n - 1]);
        }
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
