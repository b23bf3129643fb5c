/* H11: locks of the helper: exclusive ones exclude all others, those of lock_all too, and the
 * target's own; puts and accumulates are complete before the lock is given back.
 * test: for=osc-cached needs=cache ranks=2,4 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=4 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { ROUNDS = 40, WORDS = 64 };

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, words[WORDS], one = 1;

    test_init(&argc, &argv);
    win = test_win_make(NULL, (WORDS + 1) * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, (WORDS + 1) * sizeof(long));
    test_barrier();
    for (int i = 0; i < ROUNDS; ++i) {
        int target = (test_rank + i) % test_size;

        helper_rest();
        if (0 == i % 4) { /* all words of a window are equal, whenever nobody writes */
            OK(MPI_Win_lock_all(0, win));
            for (int t = 0; t < test_size; ++t) {
                OK(MPI_Get(words, WORDS, MPI_LONG, t, 0, WORDS, MPI_LONG, win));
                OK(MPI_Win_flush(t, win));
                for (int k = 1; k < WORDS; ++k) {
                    CHECK(words[k] == words[0], "rank %d: half of an update", t);
                }
                OK(MPI_Accumulate(&one, 1, MPI_LONG, t, WORDS, 1, MPI_LONG, MPI_SUM, win));
            }
            OK(MPI_Win_unlock_all(win));
        } else if (1 == i % 4) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
            OK(MPI_Get(words, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, win));
            OK(MPI_Win_flush(target, win));
            for (int k = 1; k < WORDS; ++k) {
                CHECK(words[k] == words[0], "rank %d: half of an update", target);
            }
            OK(MPI_Win_unlock(target, win));
        } else {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
            OK(MPI_Get(words, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, win));
            OK(MPI_Win_flush(target, win));
            for (int k = 0; k < WORDS; ++k) {
                ++words[k];
            }
            OK(MPI_Put(words, WORDS / 2, MPI_LONG, target, 0, WORDS / 2, MPI_LONG, win));
            OK(MPI_Win_flush(target, win));
            OK(MPI_Accumulate(words + WORDS / 2, WORDS / 2, MPI_LONG, target, WORDS / 2, WORDS / 2,
                              MPI_LONG, MPI_REPLACE, win));
            OK(MPI_Win_unlock(target, win));
        }
    }
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win));
    CHECK(ROUNDS / 4 * test_size == base[WORDS], "%ld sums", base[WORDS]);
    one = base[0];
    OK(MPI_Win_unlock(test_rank, win));
    OK(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(ROUNDS / 2 * test_size == one, "%ld updates under exclusive locks", one);
    /* lock_all has one at each rank */
    COUNTS(&c, "helper_locks", ROUNDS / 4 * test_size + ROUNDS / 4 * 3 + 1,
           "not all locks came from helpers");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
