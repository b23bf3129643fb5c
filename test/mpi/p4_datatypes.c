/* P4: a strided get after a contiguous one of as many bytes (CLaMPI's code: a false hit, wrong
 * data, and the gaps of the origin are overwritten).
 *
 * test: for=osc ranks=2,3,4 transport=shm,tcp
 * test: for=osc-cached cache="mode=always" ranks=2,3,4 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 64 };

static int got[2 * N];

static void fetch(MPI_Win win, int t, int origin_strided, int target_strided, MPI_Datatype strided)
{
    for (int i = 0; i < 2 * N; ++i) {
        got[i] = -7;
    }
    OK(MPI_Get(got, origin_strided ? 1 : N, origin_strided ? strided : MPI_INT, t, 0,
               target_strided ? 1 : N, target_strided ? strided : MPI_INT, win));
    OK(MPI_Win_flush(t, win));
    for (int i = 0; i < 2 * N; ++i) {
        int k = origin_strided ? i / 2 : i; /* the k-th element came here, or nothing did */
        int want = (origin_strided ? i % 2 : i >= N) ? -7 : 1000 * t + (target_strided ? 2 * k : k);

        CHECK(want == got[i], "origin %s, target %s: [%d] = %d, wanted %d",
              origin_strided ? "strided" : "contiguous", target_strided ? "strided" : "contiguous",
              i, got[i], want);
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype strided;
    int *base, t;
    MPI_Win win;

    test_init(&argc, &argv);
    t = (test_rank + 1) % test_size;
    OK(MPI_Type_vector(N, 1, 2, MPI_INT, &strided));
    OK(MPI_Type_commit(&strided));
    win = test_win_make(NULL, 2 * N * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < 2 * N; ++i) {
        base[i] = 1000 * test_rank + i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int pass = 0; pass < 3; ++pass) {
        fetch(win, t, 0, 0, strided);
        fetch(win, t, 1, 0, strided);
        fetch(win, t, 0, 1, strided);
        fetch(win, t, 1, 1, strided);
        fetch(win, t, 0, 0, strided);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    MPI_Type_free(&strided);
    return test_done();
}
