/* H: osc_cached_helper has another value on one process: off, and no process has a helper; auto, and
 * all have the same. Nobody waits for it.
 * test: for=osc-cached ranks=2,3 transport=shm,tcp limit=60 args="off"
 * test: for=osc-cached ranks=2,3 transport=shm,tcp limit=60 args="auto"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    struct counters c;
    long *base, one = 1;
    MPI_Win win;

    setenv("OMPI_MCA_osc_cached_helper",
           NULL != rank && 0 == strcmp(rank, "0") && 1 < argc ? argv[1] : "on", 1);
    test_init(&argc, &argv);
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    *base = 0;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, (test_rank + 1) % test_size, 0, 1, MPI_LONG, MPI_SUM,
                      win));
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    CHECK(1 == *base, "%ld instead of 1", *base);
    OK(MPI_Win_unlock(test_rank, win));
    if (counter(&c, "helper_operations") + counter(&c, "helper_served") > 0) {
        CHECK(0 == strcmp("auto", argv[1]), "there is a helper");
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
