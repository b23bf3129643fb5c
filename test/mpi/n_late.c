/* The emulated network with osc_netem_reorder: the data of a get is not there before the
 * synchronisation that completes it, and right after it; of a window's other bytes none changes.
 *
 * Run by test/mpi/netem.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 64, GETS = 8 };

static int value(int rank, int i)
{
    return 1000 * (rank + 1) + i;
}

static int target;

/* How many of them are the target's. */
static int right(const int *got, int from, int n)
{
    int count = 0;

    for (int i = 0; i < n; ++i) {
        count += value(target, from + i) == got[i];
    }
    return count;
}

static void plain(MPI_Win win)
{
    int got[GETS][N];

    memset(got, 0, sizeof(got));
    for (int k = 0; k < GETS; ++k) {
        OK(MPI_Get(got[k], N, MPI_INT, target, k, N, MPI_INT, win));
        CHECK(0 == right(got[k], k, N), "get %d: data before the flush", k);
    }
    OK(MPI_Win_flush(target, win));
    for (int k = 0; k < GETS; ++k) {
        CHECK(N == right(got[k], k, N), "get %d: wrong data after the flush", k);
    }
}

static void requests(MPI_Win win)
{
    int got[GETS][N], left = GETS, which;
    MPI_Request request[GETS];

    for (int k = 0; k < GETS; ++k) {
        OK(MPI_Rget(got[k], N, MPI_INT, target, k, N, MPI_INT, win, &request[k]));
        CHECK(0 == right(got[k], k, N), "rget %d: data before its time", k);
    }
    while (0 < left--) {
        OK(MPI_Waitany(GETS, request, &which, MPI_STATUS_IGNORE));
        CHECK(N == right(got[which], which, N), "rget %d: wrong data after its completion", which);
    }
    /* a flush completes them, too */
    OK(MPI_Rget(got[0], N, MPI_INT, target, 0, N, MPI_INT, win, &request[0]));
    OK(MPI_Win_flush(target, win));
    CHECK(N == right(got[0], 0, N), "rget: wrong data after the flush");
    OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
}

/* Every other element: those between are the program's. */
static void strided(MPI_Win win)
{
    int got[2 * N], other = -7;
    MPI_Datatype type;

    for (int i = 0; i < 2 * N; ++i) {
        got[i] = other;
    }
    OK(MPI_Type_vector(N, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Get(got, 1, type, target, 0, N, MPI_INT, win));
    OK(MPI_Type_free(&type));
    OK(MPI_Win_flush_all(win));
    for (int i = 0; i < N; ++i) {
        CHECK(value(target, i) == got[2 * i] && other == got[2 * i + 1], "element %d: %d %d", i,
              got[2 * i], got[2 * i + 1]);
    }
}

static void active(MPI_Win win)
{
    int got[N];

    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(got, N, MPI_INT, target, 3, N, MPI_INT, win));
    CHECK(0 == right(got, 3, N), "data before the fence");
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(N == right(got, 3, N), "wrong data after the fence");
}

int main(int argc, char **argv)
{
    int mine[N + GETS], *base;

    test_init(&argc, &argv);
    target = (test_rank + 1) % test_size;
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(int), &base);

        for (int i = 0; i < N + GETS; ++i) {
            base[i] = value(test_rank, i);
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        plain(win);
        requests(win);
        strided(win);
        OK(MPI_Win_unlock_all(win));
        test_barrier();
        active(win);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
