/* H11: MPI_Win_lock_all locks the memory of the process itself as well, which it may read and
 * change by loads and stores: nobody else has an exclusive lock of it meanwhile.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { ROUNDS = 60 };

static void rest(long us)
{
    const struct timespec moment = {.tv_nsec = us * 1000};

    nanosleep(&moment, NULL);
}

/* Both numbers become others, one after the other, and a third one more. */
static void change(MPI_Win win, long number)
{
    long more;

    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Put(&number, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Get(&more, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    rest(200);
    ++more;
    OK(MPI_Put(&number, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    OK(MPI_Put(&more, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
}

int main(int argc, char **argv)
{
    volatile long *base;
    struct counters c;
    int torn = 0, others, ended = 0;
    long own = 0;
    MPI_Win win;

    test_init(&argc, &argv);
    others = test_size - 1;
    win = test_win_make(NULL, 3 * sizeof(long), sizeof(long), &base);
    if (helper_is_on()) {
        counters_open(&c, &win);
    }
    base[0] = base[1] = base[2] = 0;
    test_barrier();
    for (int round = 0; 0 != test_rank && round < ROUNDS; ++round) {
        change(win, test_rank * ROUNDS + round);
    }
    if (0 != test_rank) {
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
    }
    while (0 == test_rank && ended < others) {
        long one, more;
        int flag;

        if (0 == own % 8) {
            helper_rest();
        }
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Win_sync(win));
        one = base[0];
        rest(100);
        torn += one != base[1];
        OK(MPI_Win_unlock_all(win));
        /* a change is one of another epoch: a shared lock lets others in */
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        more = base[2];
        rest(100);
        base[2] = more + 1;
        ++own;
        OK(MPI_Win_unlock(0, win));
        rest(100); /* others come in, also where locks are not fair */
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        if (flag) {
            OK(MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            ++ended;
        }
    }
    CHECK(0 == torn, "%d times between two halves of a change", torn);
    test_barrier();
    CHECK(0 != test_rank || others * ROUNDS + own == base[2], "%ld changes of %ld", base[2],
          others * ROUNDS + own);
    if (helper_is_on()) { /* rank 0 has two epochs each time */
        COUNTS(&c, "helper_locks", 0 == test_rank ? 2 * own : ROUNDS,
               "not all locks came from helpers");
        counters_close(&c);
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
