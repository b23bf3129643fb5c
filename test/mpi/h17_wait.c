/* H17: a process that waits in MPI_Win_wait, or in MPI_Win_start for another one's post, gives its
 * buffers at a target back to the process that it waits for: also when its unlock, after a put of
 * the inner component, is still on its way (put).
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_memory=1M osc_cached_helper_spares=31"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp args=put limit=60 mca="osc_cached_helper=on osc_cached_helper_memory=1M osc_cached_helper_spares=31"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <unistd.h>

/* To rank 0, in an epoch of its own. */
static void add_one(MPI_Win win)
{
    long one = 1;

    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock(0, win));
}

/* Rank 0 posts when rank 2 has been served, to rank 1, which has its buffers. */
static void wait_in_start(long *base, MPI_Group world, int puts, MPI_Win win)
{
    static const int mates[] = {1, 0};
    MPI_Group mate;
    long one = 1;

    test_barrier();
    if (1 == test_rank && puts) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Put(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
        OK(MPI_Win_unlock(0, win)); /* and right after it MPI_Win_start */
    } else if (1 == test_rank) {
        add_one(win);
    }
    if (!puts) {
        test_barrier();
    }
    if (2 == test_rank) {
        usleep(100000); /* rank 1 is in MPI_Win_start by then */
        add_one(win);
        OK(MPI_Send(&one, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD));
        return;
    }
    OK(MPI_Group_incl(world, 1, &mates[test_rank], &mate));
    if (0 == test_rank) {
        OK(MPI_Recv(&one, 1, MPI_LONG, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_post(mate, 0, win));
        OK(MPI_Win_wait(win));
        CHECK(5 == *base, "the sum is %ld", *base);
    } else {
        OK(MPI_Win_start(mate, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_complete(win));
    }
    OK(MPI_Group_free(&mate));
}

int main(int argc, char **argv)
{
    static const int targets[] = {0, 1}, origin = 2;
    MPI_Group world, group;
    struct counters c;
    long *base, one = 1;
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, 2 * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    *base = 0;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    test_barrier();
    if (1 == test_rank) {
        add_one(win);
    }
    test_barrier();
    if (2 == test_rank) {
        OK(MPI_Group_incl(world, 2, targets, &group));
        OK(MPI_Win_start(group, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_complete(win));
    } else {
        OK(MPI_Group_incl(world, 1, &origin, &group));
        OK(MPI_Win_post(group, 0, win));
        OK(MPI_Win_wait(win));
        CHECK(2 - test_rank == *base, "the sum is %ld", *base);
    }
    OK(MPI_Group_free(&group));
    wait_in_start(base, world, 1 < argc, win);
    OK(MPI_Group_free(&world));
    /* where MPI_Win_start does not wait for MPI_Win_post, its epochs are the inner component's */
    helper_did(&c, test_inner_is("pt2pt") ? 3 : 6);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
