/* Copies and locks: who has locked all targets (MPI_Win_lock_all, shared) excludes one who locks
 * exclusively. So the first get from a target in such an epoch is not served from copies of before:
 * two words that are always changed together, under an exclusive lock, are never seen apart.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2,3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 4096, ROUNDS = 200 };

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, one, other, last = 0;
    unsigned long hits;

    test_init(&argc, &argv);
    coherent_window(&win, WORDS, &base, &c);
    if (test_size - 1 == test_rank) { /* a copy of before */
        OK(MPI_Win_lock_all(0, win));
        CHECK(coherent_warm(win, &c, 0, 0, 0), "never a hit");
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_lock_all(0, win));
        hits = counter(&c, "hits");
        CHECK(0 == coherent_get(win, 0, 0), "another value");
        COUNTS(&c, "hits", hits, "a hit before the lock was taken");
        CHECK(0 == coherent_get(win, 0, 0), "another value");
        COUNTS(&c, "hits", hits + 1, "no hit although it is locked");
        OK(MPI_Win_unlock_all(win));
    }
    test_barrier();
    for (int i = 1; i <= ROUNDS; ++i) {
        if (test_size - 1 == test_rank) {
            OK(MPI_Win_lock_all(0, win));
            for (int k = 0; k < 6; ++k) {
                one = coherent_get(win, 0, 0);
                other = coherent_get(win, 0, 2048);
                CHECK(one == other, "round %d: %ld and %ld", i, one, other);
                CHECK(last <= one, "round %d: %ld after %ld", i, one, last);
                last = one;
            }
            OK(MPI_Win_unlock_all(win));
        } else if (0 == test_rank) {
            long word = i;

            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Put(&word, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Put(&word, 1, MPI_LONG, 0, 2048, 1, MPI_LONG, win));
            OK(MPI_Win_unlock(0, win));
        }
    }
    test_barrier();
    CHECK(0 < coherent_sum(&c, "coherence_fills"), "nobody asked for anything");
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
