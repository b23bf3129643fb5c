/* H17: a target's memory for processes that have ended is free: one job after the other joins it,
 * adds to its memory, and leaves. UCX may still be connecting to one that has left, and say so.
 * test: for=osc-cached needs=cache ranks=1 transport=tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_memory=1M osc_cached_helper_spares=28" allow="UCX +ERROR connect.*Connection refused|UCX_TCP_MAX_CONN_RETRIES"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { JOBS = 8 };

/* Both sides: rank 1 adds to the memory of rank 0. */
static void add_one(MPI_Comm other, int high)
{
    const long one = 1;
    struct counters c;
    MPI_Comm both;
    MPI_Win win;
    long *base;
    int rank;

    OK(MPI_Intercomm_merge(other, high, &both));
    OK(MPI_Comm_rank(both, &rank));
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, both, &base, &win));
    if (0 == rank) { /* with MPI_T the end of a child would be an error of PMIx */
        counters_open(&c, &win);
    }
    *base = 0;
    OK(MPI_Barrier(both));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    if (1 == rank) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(both));
    CHECK(1 == rank || 1 == *base, "the sum is %ld", *base);
    if (0 == rank) {
        COUNTS(&c, "helper_served", 1, "not by the helper");
        counters_close(&c);
    }
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&both));
}

int main(int argc, char **argv)
{
    MPI_Comm other;

    test_init(&argc, &argv);
    OK(MPI_Comm_get_parent(&other));
    if (MPI_COMM_NULL != other) {
        add_one(other, 1);
        OK(MPI_Comm_disconnect(&other));
        return test_done();
    }
    for (int job = 0; job < JOBS; ++job) {
        OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other,
                          MPI_ERRCODES_IGNORE));
        add_one(other, 0);
        OK(MPI_Comm_disconnect(&other));
    }
    return test_done();
}
