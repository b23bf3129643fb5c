/* H11: a shared lock, of MPI_Win_lock or MPI_Win_lock_all, does not wait for ever behind an
 * exclusive request: this one waits for somebody who waits for a message of who wants the shared one.
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 args=one mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=3 transport=tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 * test: for=osc ranks=3 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <time.h>

enum { FIRST, WRITER, TARGET, ROUNDS = 5 };

static MPI_Win win;
static int one_target;

static void begin_shared(void)
{
    if (one_target) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win));
    } else {
        OK(MPI_Win_lock_all(0, win));
    }
}

static void end_shared(void)
{
    if (one_target) {
        OK(MPI_Win_unlock(TARGET, win));
    } else {
        OK(MPI_Win_unlock_all(win));
    }
}

static void add_one(void)
{
    const long one = 1;

    OK(MPI_Accumulate(&one, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(TARGET, win));
}

static void tell(int rank)
{
    OK(MPI_Send(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD));
}

static void hear(int rank)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    const struct timespec moment = {.tv_nsec = 50000000}; /* until it waits, mostly */
    struct counters c;
    long *base;

    test_init(&argc, &argv);
    if (test_takes_sm()) {
        test_skip("osc/sm never ends here: a shared lock waits behind an exclusive request");
    }
    one_target = 1 < argc;
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    if (helper_is_on()) {
        counters_open(&c, &win);
    }
    *base = 0;
    test_barrier();
    for (int round = 0; round < ROUNDS; ++round) {
        helper_rest();
        switch (test_rank) {
        case FIRST:
            begin_shared();
            add_one();
            tell(WRITER);
            hear(TARGET);
            end_shared();
            break;
        case WRITER:
            hear(FIRST);
            tell(TARGET);
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
            add_one();
            OK(MPI_Win_unlock(TARGET, win));
            break;
        default:
            hear(WRITER);
            nanosleep(&moment, NULL);
            begin_shared();
            tell(FIRST);
            end_shared();
        }
        test_barrier();
    }
    CHECK(TARGET != test_rank || 2 * ROUNDS == *base, "the sum is %ld", *base);
    if (helper_is_on()) {
        helper_did(&c, 2 * ROUNDS);
        /* MPI_Win_lock_all takes that of the own memory, too */
        COUNTS(&c, "helper_locks", (FIRST == test_rank && !one_target ? 2 : 1) * ROUNDS,
               "not all locks came from helpers");
        counters_close(&c);
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
