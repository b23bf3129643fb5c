/* MPI_PROC_NULL as the target of gets and flushes.
 *
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

int main(int argc, char **argv)
{
    int *base, value = -1, other;
    MPI_Request request;
    MPI_Win win;

    test_init(&argc, &argv);
    if (test_openmpi() < 0x0500 && test_inner_is("ucx")) {
        test_skip("osc/ucx of Open MPI 4.1 crashes in MPI_Win_flush of MPI_PROC_NULL");
    }
    other = 1 - test_rank;
    win = test_win_make(NULL, sizeof(int), sizeof(int), &base);
    *base = test_rank;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_flush(MPI_PROC_NULL, win));
    for (int i = 0; i < 10; ++i) {
        OK(MPI_Get(&value, 1, MPI_INT, other, 0, 1, MPI_INT, win));
        OK(MPI_Get(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
        OK(MPI_Rget(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Win_flush(MPI_PROC_NULL, win));
        OK(MPI_Win_flush_local(MPI_PROC_NULL, win));
        OK(MPI_Win_flush(other, win));
        CHECK(other == value, "got %d", value);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
