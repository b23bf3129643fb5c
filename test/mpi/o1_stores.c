/* O1: with osc_cached_stores=sync, what a process has stored to its own window is seen by gets that
 * begin after its next MPI_Win_sync, unlock of any target, unlock_all, post or fence, and after a
 * flush of a put to itself. Rank 0 stores and tells the others by a message; they have copies. With
 * MPI_MODE_NOSTORE, and with osc_cached_stores=none, nothing is invalidated, but what was stored
 * before a synchronisation that tells nothing, and that MPI_MODE_NOSTORE therefore says nothing of.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync verify=2" ranks=2,3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=tcp
 * test: for=osc-cached needs=cache cache="stores=none" args="none" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 2048, WAYS = 9, AFTER_START = 8 };

static MPI_Group others, owner;

/* Rank 0: tell of base[7], in one way. */
static void tell_others(int way, long value, volatile long *base, MPI_Win win)
{
    long word = value;

    if (5 != way) {
        base[7] = value;
    }
    switch (way) {
    case 0: /* osc/ucx refuses it without an epoch */
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win));
        OK(MPI_Win_sync(win));
        break;
    case 1:
        OK(MPI_Win_lock(MPI_LOCK_SHARED, test_size - 1, 0, win));
        OK(MPI_Win_unlock(test_size - 1, win));
        break;
    case 2:
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Win_unlock_all(win));
        break;
    case 3:
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Win_unlock(0, win));
        break;
    case 4: /* in an epoch */
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
        OK(MPI_Win_sync(win));
        break;
    case 5:
        OK(MPI_Win_lock_all(0, win));
        OK(MPI_Put(&word, 1, MPI_LONG, 0, 7, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        break;
    case 6:
        OK(MPI_Win_post(others, 0, win));
        break;
    case AFTER_START:
        OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_post(others, MPI_MODE_NOSTORE, win));
        break;
    default:
        OK(MPI_Win_fence(0, win));
        break;
    }
    for (int i = 1; i < test_size; ++i) {
        coherent_tell(i);
    }
    if (0 == way) {
        OK(MPI_Win_unlock(0, win));
    }
    if (4 == way || 5 == way) {
        OK(MPI_Win_unlock_all(win));
    }
    if (6 == way || AFTER_START == way) {
        OK(MPI_Win_wait(win));
    }
    if (7 == way) {
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    }
}

/* The others. */
static void hear_and_look(int way, long value, struct counters *c, MPI_Win win)
{
    long got = -1;

    OK(MPI_Win_lock_all(0, win));
    CHECK(coherent_warm(win, c, 0, 7, value - 1), "way %d: never a hit", way);
    if (6 <= way) {
        OK(MPI_Win_unlock_all(win));
    }
    coherent_tell(0);
    if (6 == way || AFTER_START == way) {
        coherent_hear(0);
        OK(MPI_Win_start(owner, 0, win));
        OK(MPI_Get(&got, 1, MPI_LONG, 0, 7, 1, MPI_LONG, win));
        OK(MPI_Win_complete(win));
    } else if (7 == way) {
        OK(MPI_Win_fence(0, win));
        OK(MPI_Get(&got, 1, MPI_LONG, 0, 7, 1, MPI_LONG, win));
        coherent_hear(0);
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    } else {
        coherent_hear(0);
        got = coherent_get(win, 0, 7);
        OK(MPI_Win_unlock_all(win));
    }
    CHECK(value == got, "way %d: %ld, wanted %ld", way, got, value);
}

/* Nobody has stored: copies stay. */
static void nothing_stored(long value, struct counters *c, MPI_Win win, int none)
{
    unsigned long hits;

    if (0 == test_rank && !none) { /* tells of what was stored before */
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Win_unlock(0, win));
    }
    test_barrier();
    if (0 != test_rank) {
        OK(MPI_Win_lock_all(0, win));
        CHECK(coherent_warm(win, c, 0, 7, value), "never a hit");
        OK(MPI_Win_unlock_all(win));
    }
    test_barrier();
    OK(MPI_Win_fence(none ? 0 : MPI_MODE_NOSTORE, win));
    OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win));
    if (none && 0 == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Win_unlock(0, win));
    }
    test_barrier();
    if (0 != test_rank) {
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
        hits = counter(c, "hits");
        CHECK(value == coherent_get(win, 0, 7), "another value");
        COUNTS(c, "hits", hits + 1, "a copy was dropped for nothing");
        OK(MPI_Win_unlock_all(win));
    }
    test_barrier();
}

int main(int argc, char **argv)
{
    MPI_Group world;
    struct counters c;
    MPI_Win win;
    long *base, value = 0;
    int first = 0, none;

    test_init(&argc, &argv);
    none = argc > 1 && 0 == strcmp("none", argv[1]);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &first, &owner));
    OK(MPI_Group_excl(world, 1, &first, &others));
    coherent_window(&win, WORDS, &base, &c);
    for (int round = 0; round < 2 && !none; ++round) {
        for (int way = 0; way < WAYS; ++way) {
            ++value;
            if (0 != test_rank) {
                hear_and_look(way, value, &c, win);
            } else {
                for (int i = 1; i < test_size; ++i) {
                    coherent_hear(i);
                }
                tell_others(way, value, base, win);
            }
            test_barrier();
        }
    }
    nothing_stored(value, &c, win, none);
    if (none) {
        CHECK(0 == coherent_sum(&c, "coherence_invalidations"), "something was invalidated");
    } else {
        CHECK(2 * WAYS <= coherent_sum(&c, "coherence_syncs"), "nothing waited for copies to go");
    }
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&owner));
    OK(MPI_Group_free(&others));
    return test_done();
}
