/* A helper without a core of its own moves from processor to processor, after as many bytes as
 * osc_cached_helper_move says; without that it stays.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 args=1000000
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args=0
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <unistd.h>

enum { VALUES = 1000, SUMS = 500 };

int main(int argc, char **argv)
{
    /* bytes combined count eight times, and once as they were brought */
    unsigned long limit = strtoul(argv[1], NULL, 10), weight = 9UL * VALUES * SUMS * sizeof(long);
    unsigned long moves;
    struct counters c;
    long *base, ones[VALUES];
    MPI_Win win;

    setenv("OMPI_MCA_osc_cached_helper", "on", 1);
    setenv("OMPI_MCA_osc_cached_helper_move", argv[1], 1);
    test_init(&argc, &argv);
    counters_open_all(&c, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    win = test_win_make(NULL, sizeof(ones), sizeof(long), &base);
    memset(base, 0, sizeof(ones));
    for (int i = 0; i < VALUES; ++i) {
        ones[i] = i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < SUMS; ++i) {
        OK(MPI_Accumulate(ones, VALUES, MPI_LONG, 1 - test_rank, 0, VALUES, MPI_LONG, MPI_SUM,
                          win));
        OK(MPI_Win_flush(1 - test_rank, win));
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    for (int i = 0; i < VALUES; ++i) {
        CHECK(base[i] == (long) i * SUMS, "sum %d is %ld", i, base[i]);
    }
    COUNTS(&c, "helper_accumulate_requests", SUMS, "of the other process");
    moves = counter(&c, "helper_moves");
    if (0 == limit) {
        CHECK(0 == moves, "it moved %lu times", moves);
    } else {
        /* it looks whenever nothing more has come, after each sum at least */
        CHECK(weight / (limit + weight / SUMS) - 1 <= moves && moves <= weight / limit,
              "it moved %lu times, wanted about %lu", moves, weight / limit);
    }
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
