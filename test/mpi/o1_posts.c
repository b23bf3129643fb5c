/* O1: what a process stores before MPI_Win_post is seen by gets of the epoch that this begins, also
 * where it has never begun an epoch of its own, nobody counts anything, and MPI_Win_start returns
 * before the post (osc/pt2pt; "late"), and copies of a passive epoch are there ("detect": the
 * default mode).
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="stores=sync" ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" args=late ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="helper=on" args=detect ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <unistd.h>

enum { WORDS = 8192, ROUNDS = 500, SAME = 10, AT = 5 * WORDS / 8 /* in a whole page */ };

/* Gets of a passive epoch, as many as copies take to come. */
static void fetch_passively(long value, MPI_Win win)
{
    enum { GETS = 50 };
    long got;

    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < GETS; ++i) {
        got = -1;
        OK(MPI_Get(&got, 1, MPI_LONG, 0, AT, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        CHECK(value == got, "passive: %ld, expected %ld", got, value);
        usleep(100);
    }
    OK(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv)
{
    int rounds, mate, late, passive;
    MPI_Group world, group;
    int copies = 0; /* rounds that had one: an owner that stores often stops sharing for a while */
    struct counters c;
    long *base, got;
    MPI_Win win;

    test_init(&argc, &argv);
    late = argc > 1;
    passive = late && 0 == strcmp(argv[1], "detect");
    rounds = passive ? SAME : late ? ROUNDS / 5 : ROUNDS;
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    memset(base, 0, WORDS * sizeof(long));
    mate = 1 - test_rank;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &mate, &group));
    if (late) {
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Win_unlock_all(win));
    }
    if (passive) {
        if (!coherent_is(win)) {
            test_skip("stores cannot be detected here");
        }
        counters_open(&c, &win);
    }
    test_barrier();
    for (int round = 0; round < rounds; ++round) {
        long value = passive ? round + 1 : round / SAME;

        if (passive) {
            if (1 == test_rank) {
                unsigned long hits = counter(&c, "hits");

                fetch_passively(round, win);
                copies += hits < counter(&c, "hits");
            }
            test_barrier();
        }
        if (0 == test_rank) {
            if (late) {
                usleep(passive ? 20000 : 300);
            }
            base[AT] = value;
            OK(MPI_Win_post(group, 0, win));
            OK(MPI_Win_wait(win));
        } else {
            got = -1;
            OK(MPI_Win_start(group, 0, win));
            OK(MPI_Get(&got, 1, MPI_LONG, 0, AT, 1, MPI_LONG, win));
            OK(MPI_Win_complete(win));
            CHECK(value == got, "round %d: %ld, expected %ld", round, got, value);
        }
    }
    if (passive) {
        CHECK(0 == test_rank || 0 < copies, "copies in %d of %d rounds", copies, rounds);
        counters_close(&c);
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    OK(MPI_Win_free(&win));
    return test_done();
}
