/* H22: UCX of the helper is told to use networks that do not reach the other processes: windows work
 * without a helper, and no process waits for another. Who asked for it is told.
 * test: for=osc-cached needs=cache ranks=2,3 transport=tcp limit=60 mca="osc_cached_helper=on" expect="text:cannot run: UCX does not reach the other processes"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

int main(int argc, char **argv)
{
    int target;
    long *base, one = 1;

    /* Open MPI's own UCX reads these variables first */
    setenv("MPI_UCX_TLS", "tcp,self", 1);
    setenv("UCX_TLS", "self", 1);
    test_init(&argc, &argv);
    target = (test_rank + 1) % test_size;
    for (int i = 0; i < 3; ++i) {
        MPI_Win win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
        struct counters c;

        counters_open(&c, &win);
        *base = 0;
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_unlock_all(win));
        test_barrier();
        OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
        CHECK(1 == *base, "%ld instead of 1", *base);
        OK(MPI_Win_unlock(test_rank, win));
        COUNTS(&c, "helper_operations", 0, "window %d", i);
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
