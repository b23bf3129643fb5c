/* S1, S2, S3 in windows of mode transparent that are coherent in passive epochs, with no mode
 * given: gets of a fence or start epoch serve each other at once, and nobody after it; what was
 * fetched in a passive epoch serves the next one, too, until it is written. Nothing of a fence's
 * epoch is served after MPI_Win_lock.
 *
 * test: for=osc-cached needs=cache cache="helper=on" ranks=2,3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="helper=on verify=2" ranks=3 transport=tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 16384, AT = 9000, ROUNDS = 6 };

_Alignas(65536) static long words[WORDS];

/* Two gets of an active epoch: one goes out. */
static void get_twice(MPI_Win win, int target, long got[2])
{
    got[0] = got[1] = -1;
    for (int i = 0; i < 2; ++i) {
        OK(MPI_Get(&got[i], 1, MPI_LONG, target, AT, 1, MPI_LONG, win));
    }
}

static void check_twice(struct counters *c, unsigned long joins, const long got[2], long wanted,
                        const char *epoch)
{
    CHECK(wanted == got[0] && wanted == got[1], "%s: %ld and %ld, wanted %ld", epoch, got[0],
          got[1], wanted);
    COUNTS(c, "joins", joins, "%s", epoch);
}

static void active_epochs(MPI_Win win, struct counters *c, int right, MPI_Group all, long *value)
{
    unsigned long hits = counter(c, "hits"), joins = counter(c, "joins");
    unsigned long each = !test_gets_are_late();
    long got[2];

    words[AT] = ++*value + test_rank; /* of passive epochs nothing is left */
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    get_twice(win, right, got);
    OK(MPI_Win_fence(0, win));
    check_twice(c, joins + each, got, *value + right, "fence");
    words[AT] = ++*value + test_rank;
    OK(MPI_Win_fence(0, win));
    get_twice(win, right, got);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    check_twice(c, joins + 2 * each, got, *value + right, "the next fence");
    words[AT] = ++*value + test_rank;
    OK(MPI_Win_post(all, 0, win));
    OK(MPI_Win_start(all, 0, win));
    get_twice(win, right, got);
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    check_twice(c, joins + 3 * each, got, *value + right, "start");
    COUNTS(c, "hits", hits, "active epochs");
    test_barrier();
}

/* Read until it is a hit, or for half a second: an owner whose stores have waited for long, because
 * others kept it from its processor, shares nothing for a while. */
static int is_warm(MPI_Win win, struct counters *c, int target, long wanted)
{
    unsigned long hits = counter(c, "hits");
    double since = MPI_Wtime();

    while (counter(c, "hits") == hits && MPI_Wtime() - since < 0.5) {
        long got = coherent_get(win, target, AT);

        CHECK(wanted == got, "before: %ld, wanted %ld", got, wanted);
    }
    return counter(c, "hits") > hits;
}

/* Passive epochs, after all had the others. */
static void passive_epochs(MPI_Win win, struct counters *c, int right, long *value)
{
    unsigned long hits;
    long got;
    int warm;

    OK(MPI_Win_fence(0, win)); /* whose epoch ends with the lock */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    warm = is_warm(win, c, right, *value + right);
    OK(MPI_Win_unlock(right, win));
    hits = counter(c, "hits");
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    got = coherent_get(win, right, AT);
    OK(MPI_Win_unlock(right, win));
    CHECK(*value + right == got, "the next lock: %ld, wanted %ld", got, *value + right);
    CHECK(!warm || hits + 1 == counter(c, "hits"), "the next lock: no hit");
    test_barrier();
    words[AT] = ++*value + test_rank;
    test_barrier();
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    got = coherent_get(win, right, AT);
    CHECK(*value + right == got, "stored: %ld, wanted %ld", got, *value + right);
    (void) is_warm(win, c, right, *value + right);
    OK(MPI_Win_unlock_all(win));
    test_barrier();
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Group all;
    MPI_Win win;
    void *base;
    long value = 0;
    int right;

    test_init(&argc, &argv);
    right = (test_rank + 1) % test_size;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    words[AT] = test_rank;
    win = test_win_make(words, sizeof(words), sizeof(long), &base);
    if (!coherent_is(win)) {
        test_skip("stores cannot be detected here");
    }
    counters_open(&c, &win);
    test_barrier();
    for (int round = 0; round < ROUNDS; ++round) {
        active_epochs(win, &c, right, all, &value);
        passive_epochs(win, &c, right, &value);
    }
    CHECK(0 < coherent_sum(&c, "hits"), "never a hit");
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    counters_close(&c);
    OK(MPI_Group_free(&all));
    OK(MPI_Win_free(&win));
    return test_done();
}
