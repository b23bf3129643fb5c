/* Several windows of all kinds alive at once, freed in any order, made again: each keeps its own
 * bytes.
 *
 * test: for=osc ranks=2,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2,4 transport=shm,tcp limit=60
 *
 * Open MPI gives the index of a freed window to the next one; the same memory under a new window,
 * or the same index with other memory, must not bring back old bytes.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { W = 12, N = 50 };

static MPI_Win win[W];
static int *base[W], memory[W][N], stamp[W];

static void make(int w, int id)
{
    if (w % 2) {
        win[w] = test_win_make(memory[w / 4], sizeof(memory[w]), sizeof(int), &base[w]);
    } else {
        win[w] = test_win_make(NULL, sizeof(memory[w]), sizeof(int), &base[w]);
    }
    stamp[w] = id;
    for (int i = 0; i < N; ++i) {
        base[w][i] = 1000 * id + 100 * test_rank + i;
    }
    test_barrier();
}

static void check(int w)
{
    int got[N], t = (test_rank + 1 + w) % test_size;

    for (int twice = 0; twice < 2; ++twice) {
        memset(got, 0x55, sizeof(got));
        if (w % 3) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win[w]));
            OK(MPI_Get(got, N, MPI_INT, t, 0, N, MPI_INT, win[w]));
            OK(MPI_Win_unlock(t, win[w]));
        } else {
            OK(MPI_Win_fence(0, win[w]));
            OK(MPI_Get(got, N, MPI_INT, t, 0, N, MPI_INT, win[w]));
            OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win[w]));
        }
        for (int i = 0; i < N; ++i) {
            CHECK(1000 * stamp[w] + 100 * t + i == got[i], "window %d (%d): [%d] = %d", w, stamp[w],
                  i, got[i]);
        }
    }
    test_barrier();
}

int main(int argc, char **argv)
{
    int id = 1, order[W] = {3, 0, 11, 5, 1, 9, 10, 2, 8, 4, 7, 6};

    test_init(&argc, &argv);
    for (int w = 0; w < W; ++w) {
        win[w] = MPI_WIN_NULL;
    }
    for (int round = 0; round < 3; ++round) {
        /* memory[w / 4] is used by up to two windows, never at once */
        for (int k = 0; k < W; ++k) {
            int w = order[(k + round) % W];
            if (w % 2 && MPI_WIN_NULL != win[w ^ 2]) {
                OK(MPI_Win_free(&win[w ^ 2]));
            }
            if (MPI_WIN_NULL != win[w]) {
                OK(MPI_Win_free(&win[w]));
            }
            make(w, id++);
            for (int v = 0; v < W; ++v) {
                if (MPI_WIN_NULL != win[v]) {
                    check(v);
                }
            }
        }
        for (int k = 0; k < W / 2; ++k) {
            if (MPI_WIN_NULL != win[order[k]]) {
                OK(MPI_Win_free(&win[order[k]]));
            }
        }
    }
    for (int w = W - 1; w >= 0; --w) {
        if (MPI_WIN_NULL != win[w]) {
            OK(MPI_Win_free(&win[w]));
        }
    }
    /* Many more than were ever alive together, with nothing done in between. */
    for (int k = 0; k < 100; ++k) {
        MPI_Win w = test_win_make(NULL, 64, 1, &base[0]);
        OK(MPI_Win_free(&w));
    }
    return test_done();
}
