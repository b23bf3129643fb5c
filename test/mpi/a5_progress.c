/* Hits of MPI_Rget and MPI_Get need no network, but others need ours: a process that does nothing
 * but hit must still let the put of another one arrive.
 *
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

/* Gets the same value until the flag in our own window is set. */
static void hit_until(volatile long *flag, MPI_Win data, MPI_Win flags, int by_request)
{
    double begin = MPI_Wtime();
    long value = 0;

    while (0 == *flag && MPI_Wtime() - begin < 30) {
        if (by_request) {
            MPI_Request request;
            OK(MPI_Rget(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, data, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Get(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, data));
            OK(MPI_Win_flush(1, data));
        }
        CHECK(1 == value, "got %ld", value);
        OK(MPI_Win_sync(flags));
    }
    CHECK(0 != *flag, "the put has not arrived after 30 s (%s)",
          by_request ? "MPI_Rget" : "MPI_Get");
}

int main(int argc, char **argv)
{
    long flag[2] = {0, 0}, datum, one = 1, *base;
    MPI_Win data, flags;

    test_init(&argc, &argv);
    datum = test_rank;
    data = test_win_make(&datum, sizeof(datum), sizeof(datum), &base);
    flags = test_win_make(flag, sizeof(flag), sizeof(long), &base);
    OK(MPI_Win_lock_all(0, data));
    OK(MPI_Win_lock_all(0, flags));
    for (int by_request = 0; by_request < 2; ++by_request) {
        test_barrier();
        if (0 == test_rank) {
            hit_until(&flag[by_request], data, flags, by_request);
        } else {
            double begin = MPI_Wtime();
            while (MPI_Wtime() - begin < 0.3) {
                int there;
                OK(MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
            }
            OK(MPI_Put(&one, 1, MPI_LONG, 0, by_request, 1, MPI_LONG, flags));
            OK(MPI_Win_flush(0, flags));
        }
    }
    test_barrier();
    OK(MPI_Win_unlock_all(flags));
    OK(MPI_Win_unlock_all(data));
    OK(MPI_Win_free(&flags));
    OK(MPI_Win_free(&data));
    return test_done();
}
