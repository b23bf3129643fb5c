/* A6: several gets of the same bytes outstanding together: each buffer is filled when its target is
 * completed.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush entries=16 window_memory=4K" ranks=2 limit=60
 *
 * Equal, contained, containing and merely overlapping ranges, from one target and from the same
 * displacement of another; also one with the MPI_IN_PLACE-like twist that origin buffers are
 * neighbours of each other.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 1024, K = 12 };

int main(int argc, char **argv)
{
    static const struct {
        int from, n;
    } range[K] = {{0, N},     {0, N}, {0, 1},     {0, N / 2}, {N / 2, N / 2}, {100, 300},
                  {250, 300}, {5, 1}, {N - 1, 1}, {0, N},     {400, 1},       {100, 300}};
    int mine[N], *base, total = 0, *buf;

    test_init(&argc, &argv);
    for (int k = 0; k < K; ++k) {
        total += range[k].n;
    }
    buf = malloc(sizeof(int) * total * test_size);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        for (int round = 0; round < 10; ++round) {
            int at = 0;
            for (int i = 0; i < N; ++i) {
                base[i] = 100000 * round + 10000 * test_rank + i;
            }
            if (round % 2) {
                test_barrier();
                OK(MPI_Win_lock_all(0, win));
            } else {
                OK(MPI_Win_fence(0, win));
            }
            memset(buf, 0x55, sizeof(int) * total * test_size);
            for (int k = 0; k < K; ++k) {
                for (int t = 0; t < test_size; ++t) {
                    OK(MPI_Get(buf + at, range[k].n, MPI_INT, t, range[k].from, range[k].n, MPI_INT,
                               win));
                    at += range[k].n;
                }
            }
            if (round % 2) {
                OK(MPI_Win_unlock_all(win));
            } else {
                OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
            }
            at = 0;
            for (int k = 0; k < K; ++k) {
                for (int t = 0; t < test_size; ++t) {
                    for (int i = 0; i < range[k].n; ++i) {
                        int want = 100000 * round + 10000 * t + range[k].from + i;
                        CHECK(want == buf[at + i], "round %d, get %d, target %d: [%d] = %d", round,
                              k, t, i, buf[at + i]);
                    }
                    at += range[k].n;
                }
            }
            test_barrier();
        }
        OK(MPI_Win_free(&win));
    }
    free(buf);
    return test_done();
}
