/* A1: after an own put, accumulate or atomic to a target, no get is served from bytes fetched
 * before it.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=3 transport=shm limit=60
 *
 * One lock_all epoch. get x; write x in one of eight ways; get x again, also with another size and
 * from one byte range that only overlaps. With three ranks the write goes to one target and both
 * are read.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "writes.h"

enum { N = 64, WAYS = WRITE_WAYS };

static void write_one(MPI_Win win, int way, int t, int at, long now, long next)
{
    long got = -1;

    write_issue(win, way, t, at, now, next, &got);
    OK(MPI_Win_flush(t, win));
    if (way >= WRITE_FETCHES) {
        CHECK(now == got, "way %d: fetched %ld, wanted %ld", way, got, now);
    }
}

static void origin(MPI_Win win)
{
    long model[3][N], got[N];

    for (int t = 0; t < test_size; ++t) {
        for (int i = 0; i < N; ++i) {
            model[t][i] = 1000 * t + i;
        }
    }
    for (int round = 0; round < 10 * WAYS; ++round) {
        int t = 1 + round % (test_size - 1), at = (round * 7) % N, way = round % WAYS;

        for (int pass = 0; pass < 3; ++pass) {
            int from = 2 == pass ? (at > 3 ? at - 3 : 0) : 0, n = 1 == pass ? at + 1 : N - from;
            for (int r = 1; r < test_size; ++r) {
                memset(got, 0x55, sizeof(got));
                OK(MPI_Get(got, n, MPI_LONG, r, from, n, MPI_LONG, win));
                OK(MPI_Win_flush(r, win));
                for (int i = 0; i < n; ++i) {
                    CHECK(model[r][from + i] == got[i],
                          "round %d, pass %d, target %d: [%d] = %ld, wanted %ld", round, pass, r,
                          from + i, got[i], model[r][from + i]);
                }
            }
        }
        write_one(win, way, t, at, model[t][at], 5000 + round);
        model[t][at] = 5000 + round;
    }
}

int main(int argc, char **argv)
{
    long mine[N], *base;

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(long), &base);

        for (int i = 0; i < N; ++i) {
            base[i] = 1000 * test_rank + i;
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            origin(win);
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
