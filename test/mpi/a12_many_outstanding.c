/* A12: 100,000 gets outstanding at once, none lost, none mixed up.
 * test: for=osc ranks=2 transport=shm,tcp limit=120
 * test: for=osc-cached cache="passive_scope=flush" ranks=2 transport=shm,tcp limit=120
 *
 * Distinct words, then the same word over and over, then with some MPI_Rget among them; the window
 * changes in between. (200 of those: a12_many_rgets says why.)
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 100000, R = 200 };

int main(int argc, char **argv)
{
    int *base, *buf;
    MPI_Request *req;

    test_init(&argc, &argv);
    if (test_inner_is("pt2pt") && !test_over_tcp()) {
        test_skip("osc/pt2pt waits for ever over shared memory: too many gets outstanding");
    }
    buf = malloc(N * sizeof(int));
    req = malloc(R * sizeof(MPI_Request));
    for (int allocate = 0; allocate < 2; ++allocate) {
        void *mine = allocate ? NULL : malloc(N * sizeof(int));
        MPI_Win win = test_win_make(mine, N * sizeof(int), sizeof(int), &base);

        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < N; ++i) {
                base[i] = 1000000 * (round + 1) + i;
            }
            test_barrier();
            OK(MPI_Win_lock_all(0, win));
            if (0 == test_rank) {
                memset(buf, 0, N * sizeof(int));
                for (int i = 0; i < N; ++i) {
                    int at = 1 == round ? 4711 : i;
                    if (2 == round && i < R) {
                        OK(MPI_Rget(&buf[i], 1, MPI_INT, 1, at, 1, MPI_INT, win, &req[i]));
                    } else {
                        OK(MPI_Get(&buf[i], 1, MPI_INT, 1, at, 1, MPI_INT, win));
                    }
                }
                if (2 == round) {
                    OK(MPI_Waitall(R, req, MPI_STATUSES_IGNORE));
                }
                OK(MPI_Win_flush(1, win));
                for (int i = 0; i < N; ++i) {
                    int want = 1000000 * (round + 1) + (1 == round ? 4711 : i);
                    CHECK(want == buf[i], "round %d: [%d] = %d, wanted %d", round, i, buf[i], want);
                }
            }
            OK(MPI_Win_unlock_all(win));
            test_barrier();
        }
        OK(MPI_Win_free(&win));
        free(mine);
    }
    free(buf);
    free(req);
    return test_done();
}
