/* H11: shared locks that are taken one after the other, in any order, do not wait for an exclusive
 * one that waits for one of them: of MPI_Win_lock_all, and of MPI_Win_lock.
 * test: for=osc-cached needs=cache ranks=4 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=4 transport=shm,tcp limit=60 args=each mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 * test: for=osc ranks=4 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <time.h>

enum { ROUNDS = 5 };

static MPI_Win win;
static int each;

static void use(int target)
{
    const long one = 1;

    if (each) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    }
    OK(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(target, win));
}

/* The locks of two targets; in between somebody waits for the first one alone. */
static void share(int first, int second)
{
    const struct timespec moment = {.tv_nsec = 50000000}; /* until it waits, mostly */

    if (!each) {
        OK(MPI_Win_lock_all(0, win));
    }
    use(first);
    OK(MPI_Send(NULL, 0, MPI_BYTE, first, 0, MPI_COMM_WORLD));
    nanosleep(&moment, NULL);
    use(second);
    if (each) {
        OK(MPI_Win_unlock(first, win));
        OK(MPI_Win_unlock(second, win));
    } else {
        OK(MPI_Win_unlock_all(win));
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base;

    test_init(&argc, &argv);
    each = 1 < argc;
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    if (helper_is_on()) {
        counters_open(&c, &win);
    }
    *base = 0;
    test_barrier();
    for (int round = 0; round < ROUNDS; ++round) {
        helper_rest();
        if (test_rank < 2) {
            share(2 + test_rank, 3 - test_rank);
        } else {
            OK(MPI_Recv(NULL, 0, MPI_BYTE, test_rank - 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win));
            ++*base;
            OK(MPI_Win_unlock(test_rank, win));
        }
    }
    test_barrier();
    CHECK(test_rank < 2 || 3 * ROUNDS == *base, "the sum is %ld", *base);
    if (helper_is_on()) {
        int locks = 1; /* of the own memory */

        if (test_rank < 2) { /* of both targets; MPI_Win_lock_all has that of the own memory, too */
            locks = each ? 2 : 3;
        }
        helper_did(&c, 4 * ROUNDS);
        COUNTS(&c, "helper_locks", locks * ROUNDS, "not all locks came from helpers");
        counters_close(&c);
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
