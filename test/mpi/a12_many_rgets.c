/* A12: thousands of MPI_Rget outstanding at once.
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 5000 };

int main(int argc, char **argv)
{
    int *base, *buf;
    MPI_Request *req;
    MPI_Win win;

    test_init(&argc, &argv);
    if (test_inner_is("ucx") && test_stock_5_0() && (test_over_tcp() || test_ucx_asserts())) {
        /* Each starts a flush of the whole UCX worker, which counts its endpoint's references in 8
         * bits. */
        test_skip("osc/ucx of a stock Open MPI 5.0 aborts: more than 254 MPI_Rget outstanding");
    }
    buf = malloc(N * sizeof(int));
    req = malloc(N * sizeof(MPI_Request));
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < N; ++i) {
            base[i] = 10000 * (round + 1) + i;
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            memset(buf, 0, N * sizeof(int));
            for (int i = 0; i < N; ++i) {
                OK(MPI_Rget(&buf[i], 1, MPI_INT, 1, i, 1, MPI_INT, win, &req[i]));
            }
            OK(MPI_Waitall(N, req, MPI_STATUSES_IGNORE));
            for (int i = 0; i < N; ++i) {
                CHECK(10000 * (round + 1) + i == buf[i], "round %d: [%d] = %d", round, i, buf[i]);
            }
        }
        OK(MPI_Win_unlock_all(win));
        test_barrier();
    }
    OK(MPI_Win_free(&win));
    free(buf);
    free(req);
    return test_done();
}
