/* H11: an exclusive lock is granted though two others have MPI_Win_lock_all in turns, each until it
 * knows that the other one has it, too; but not for long.
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=120 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { TARGET = 3, LOCKS = 5, MOST = 200, OVER = 1, HAS = 2 };

static MPI_Win win;

/* What the other one has told so far. */
static void forget(int other)
{
    int has;

    do {
        OK(MPI_Iprobe(other, HAS, MPI_COMM_WORLD, &has, MPI_STATUS_IGNORE));
        if (has) {
            OK(MPI_Recv(NULL, 0, MPI_BYTE, other, HAS, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    } while (has);
}

/* Wait until the other one tells that it has the lock, or for some ms. */
static void wait_for(int other)
{
    double end = MPI_Wtime() + 4e-3;
    int has = 0;

    while (!has && MPI_Wtime() < end) {
        OK(MPI_Iprobe(other, HAS, MPI_COMM_WORLD, &has, MPI_STATUS_IGNORE));
    }
    if (has) {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, other, HAS, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* @return the epochs until process 0 has had its locks */
static long share(void)
{
    const long one = 1;
    int other = 3 - test_rank, over = 0;
    long epochs = 0;

    do {
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(TARGET, win));
        forget(other);
        OK(MPI_Send(NULL, 0, MPI_BYTE, other, HAS, MPI_COMM_WORLD));
        wait_for(other);
        OK(MPI_Win_unlock_all(win));
        ++epochs;
        OK(MPI_Iprobe(0, OVER, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE));
    } while (!over && epochs < LOCKS * MOST);
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return epochs;
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base, epochs = 0, all, old;

    test_init(&argc, &argv);
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    *base = 0;
    test_barrier();
    if (0 == test_rank) {
        for (int i = 0; i < LOCKS; ++i) {
            helper_rest();
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
            OK(MPI_Get(&old, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, win));
            OK(MPI_Win_unlock(TARGET, win));
        }
        for (int rank = 1; rank < TARGET; ++rank) {
            OK(MPI_Send(NULL, 0, MPI_BYTE, rank, OVER, MPI_COMM_WORLD));
        }
    } else if (test_rank < TARGET) {
        epochs = share();
        CHECK(epochs < LOCKS * MOST, "%d exclusive locks took %ld epochs of another", LOCKS,
              epochs);
    } else {
        helper_rest_long();
    }
    test_barrier();
    if (1 == test_rank || 2 == test_rank) {
        forget(3 - test_rank);
    }
    OK(MPI_Allreduce(&epochs, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(TARGET != test_rank || all == *base, "%ld epochs, and the sum is %ld", all, *base);
    /* the gets of rank 0 may be the inner component's; MPI_Win_lock_all has the own lock, too */
    if (0 < epochs) {
        COUNTS(&c, "helper_operations", epochs, "not all sums were given to helpers");
    }
    CHECK(TARGET != test_rank || (unsigned long) all <= counter(&c, "helper_served"),
          "the helper did %lu operations", counter(&c, "helper_served"));
    COUNTS(&c, "helper_locks", 0 == test_rank ? LOCKS : 2 * epochs,
           "not all locks came from helpers");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
