/* P1: mode transparent does not serve bytes of an earlier epoch (CLaMPI's code: every mode is
 * "always", the second epoch still reads 1).
 *
 * test: for=osc ranks=2,3,4 transport=shm,tcp
 * test: for=osc-cached cache="" ranks=2,3,4 transport=shm,tcp
 * test: for=osc-cached cache="passive_scope=flush" ranks=2,3,4 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

int main(int argc, char **argv)
{
    int *base, got, t;
    MPI_Info info;
    MPI_Win win;

    test_init(&argc, &argv);
    t = (test_rank + 1) % test_size;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "CLAMPI_MODE", "1"));
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Info_free(&info));
    test_win(win);
    *base = 1;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int epoch = 0; epoch < 50; ++epoch) {
        for (int again = 0; again < 3; ++again) {
            got = -1;
            OK(MPI_Get(&got, 1, MPI_INT, t, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush(t, win));
            CHECK(1 + 98 * epoch == got, "epoch %d: %d", epoch, got);
        }
        test_barrier();
        *base += 98; /* 99, and so on */
        OK(MPI_Win_sync(win));
        test_barrier();
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
