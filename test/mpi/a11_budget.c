/* A11: when the memory of all windows together is used up, gets are not kept, and nothing else.
 * test: for=osc-cached cache="mode=always memory=64K" ranks=2 transport=shm,tcp
 * test: for=osc-cached cache="mode=always memory=4K entries=16" ranks=2 transport=shm
 * test: for=osc-cached cache="mode=always memory=1 max_entry=1" ranks=2 transport=shm
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { W = 8, N = 1 << 14 };

int main(int argc, char **argv)
{
    static int got[N];
    struct counters c[W];
    unsigned long storage = 0;
    MPI_Win win[W];
    int *base[W];

    test_init(&argc, &argv);
    for (int w = 0; w < W; ++w) {
        win[w] = test_win_make(NULL, N * sizeof(int), sizeof(int), &base[w]);
        counters_open(&c[w], &win[w]);
        for (int i = 0; i < N; ++i) {
            base[w][i] = 100000 * w + i;
        }
    }
    test_barrier();
    for (int w = 0; w < W; ++w) {
        OK(MPI_Win_lock_all(0, win[w]));
    }
    for (int k = 0; 0 == test_rank && k < 400; ++k) {
        int w = k % W, n = 1 + (k * 37) % 500, at = (k * 613) % (N - n);

        if (k % 5 == 0) { /* a large one now and then */
            at = 0;
            n = N;
        }
        memset(got, 0x55, n * sizeof(int));
        OK(MPI_Get(got, n, MPI_INT, 1, at, n, MPI_INT, win[w]));
        OK(MPI_Win_flush(1, win[w]));
        for (int i = 0; i < n; ++i) {
            CHECK(100000 * w + at + i == got[i], "get %d: [%d] = %d", k, at + i, got[i]);
        }
    }
    for (int w = 0; w < W; ++w) {
        storage += counter(&c[w], "storage_capacity");
        counters_add_up(&c[w]);
    }
    CHECK(storage <= 64 * 1024, "%lu bytes of storage", storage);
    test_barrier();
    for (int w = 0; w < W; ++w) {
        OK(MPI_Win_unlock_all(win[w]));
        counters_close(&c[w]);
        OK(MPI_Win_free(&win[w]));
    }
    return test_done();
}
