/* S3: passive target epochs: nothing is reused by default; with passive_scope=flush until the next
 * synchronisation that covers the target.
 *
 * test: for=osc-cached needs=cache cache="stores=off" ranks=2,3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="passive_scope=flush" args="flush" ranks=2,3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

static int stamp;

static void fetch(MPI_Win win, int t)
{
    int got = -1;

    OK(MPI_Get(&got, 1, MPI_INT, t, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush_local(t, win));
    CHECK(stamp + t == got, "target %d: %d, wanted %d", t, got, stamp + t);
}

/* All ranks: a new value everywhere, announced by a barrier. */
static void change(MPI_Win win, int *base)
{
    test_barrier();
    stamp += 100;
    *base = stamp + test_rank;
    OK(MPI_Win_sync(win));
    test_barrier();
}

static void one_way(MPI_Win win, int *base, struct counters *c, int how, int scope, int last)
{
    unsigned long hits;

    if (3 == how) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        if (last > 1) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win));
        }
    } else {
        OK(MPI_Win_lock_all(0, win));
    }
    if (0 == test_rank) {
        for (int t = 1; t <= last; ++t) {
            hits = counter(c, "hits");
            fetch(win, t);
            fetch(win, t);
            COUNTS(c, "hits", hits + scope, "way %d, two gets of one epoch", how);
        }
    }
    switch (how) {
    case 0:
        OK(MPI_Win_flush(1, win));
        OK(MPI_Win_flush(last, win));
        break;
    case 1:
        OK(MPI_Win_flush_all(win));
        break;
    case 2:
        OK(MPI_Win_sync(win));
        break;
    case 3:
        OK(MPI_Win_unlock(1, win));
        if (last > 1) {
            OK(MPI_Win_unlock(last, win));
        }
        OK(MPI_Win_lock_all(0, win));
        break;
    case 4:
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_lock_all(0, win));
        break;
    }
    change(win, base);
    if (0 == test_rank) {
        hits = counter(c, "hits");
        for (int t = 1; t <= last; ++t) {
            fetch(win, t);
        }
        COUNTS(c, "hits", hits, "way %d, after the synchronisation", how);
        if (scope && last > 1) { /* of one target only */
            OK(MPI_Win_flush(1, win));
            fetch(win, last);
            COUNTS(c, "hits", hits + 1, "way %d, a flush of another target", how);
        }
    }
    OK(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv)
{
    struct counters c;
    int *base, scope;
    MPI_Win win;

    test_init(&argc, &argv);
    scope = argc > 1;
    win = test_win_make(NULL, sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    *base = test_rank;
    test_barrier();
    for (int round = 0; round < 20; ++round) {
        one_way(win, base, &c, round % 5, scope, test_size - 1);
        test_barrier();
    }
    if (0 == test_rank && !scope) {
        int got[2];

        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Get(&got[0], 1, MPI_INT, 1, 0, 1, MPI_INT, win));
        OK(MPI_Get(&got[1], 1, MPI_INT, 1, 0, 1, MPI_INT, win));
        OK(MPI_Win_unlock_all(win));
        COUNTS(&c, "joins", 0, "nothing is reused");
        CHECK(counter(&c, "gets") == counter(&c, "bypassed"), "%lu gets, %lu bypassed",
              counter(&c, "gets"), counter(&c, "bypassed"));
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
