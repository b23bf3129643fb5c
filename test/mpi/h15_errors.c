/* H12, H15: an operation outside of the target's memory is an error of the origin at the next
 * flush of the window, and of no other one; one without an epoch at once; target and origin live.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

/* What was refused on one window is no error of another one, and is not forgotten with it. */
static void two_windows(MPI_Win win)
{
    long *base, one = 1;
    MPI_Win other = test_win_make(NULL, 4 * sizeof(long), sizeof(long), &base);

    test_barrier();
    if (0 == test_rank) {
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 4, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, other));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 3, 1, MPI_LONG, MPI_SUM, other));
        OK(MPI_Win_flush(1, other));
        OK(MPI_Win_flush_all(other));
        OK(MPI_Win_unlock(1, other));
    }
    OK(MPI_Win_fence(0, other));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, other));
    OK(MPI_Win_free(&other));
    if (0 == test_rank) {
        FAILS(MPI_Win_flush(1, win), MPI_ERR_RMA_RANGE);
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 4, 1, MPI_LONG, MPI_SUM, win));
        FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_RANGE);
    }
}

/* A result that was refused leaves the program's buffer as it is, also where it has gaps. */
static void refused_result(MPI_Win win)
{
    long got[8];
    MPI_Datatype every_second;

    if (0 != test_rank) {
        return;
    }
    OK(MPI_Type_vector(4, 1, 2, MPI_LONG, &every_second));
    OK(MPI_Type_commit(&every_second));
    OK(MPI_Win_lock_all(0, win));
    for (int target = 0; target < 2; ++target) {
        memset(got, -1, sizeof(got));
        if (0 == target) { /* our own memory */
            FAILS(MPI_Get_accumulate(NULL, 0, MPI_LONG, got, 1, every_second, 0, 1, 4, MPI_LONG,
                                     MPI_NO_OP, win),
                  MPI_ERR_RMA_RANGE);
        } else {
            OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, got, 1, every_second, 1, 1, 4, MPI_LONG,
                                  MPI_NO_OP, win));
            FAILS(MPI_Win_flush(1, win), MPI_ERR_RMA_RANGE);
        }
        for (int i = 0; i < 8; ++i) {
            CHECK(-1 == got[i], "target %d: word %d is %ld", target, i, got[i]);
        }
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Type_free(&every_second));
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, one = 1, got = 0;
    unsigned long did = 0;

    test_init(&argc, &argv);
    win = test_win_make(NULL, 4 * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, 4 * sizeof(long));
    test_barrier();
    if (0 == test_rank) {
        FAILS(MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win), MPI_ERR_RMA_SYNC);
        OK(MPI_Win_lock_all(0, win));
        for (int i = 0; i < 10; ++i) {
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 4, 1, MPI_LONG, MPI_SUM, win));
            FAILS(MPI_Win_flush(1, win), MPI_ERR_RMA_RANGE);
            OK(MPI_Fetch_and_op(&one, &got, MPI_LONG, 1, 1000000000, MPI_SUM, win));
            FAILS(MPI_Win_flush_all(win), MPI_ERR_RMA_RANGE);
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 3, 1, MPI_LONG, MPI_SUM, win));
            OK(MPI_Win_flush(1, win));
        }
        FAILS(MPI_Accumulate(&one, 1, MPI_LONG, 0, 4, 1, MPI_LONG, MPI_SUM, win),
              MPI_ERR_RMA_RANGE); /* our own memory */
        OK(MPI_Win_unlock_all(win));
    } else {
        helper_rest_long();
    }
    test_barrier();
    if (1 == test_rank) {
        CHECK(10 == base[3], "%ld of the good ones were done", base[3]);
        CHECK(0 == base[0] && 0 == base[1] && 0 == base[2], "the bad ones wrote");
    }
    OK(MPI_Reduce(&(unsigned long){counter(&c, "helper_served")}, &did, 1, MPI_UNSIGNED_LONG,
                  MPI_SUM, 0, MPI_COMM_WORLD));
    CHECK(0 != test_rank || 10 == did, "helpers did %lu of the 10 good ones", did);
    two_windows(win);
    refused_result(win);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
