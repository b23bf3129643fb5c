/* H17: a target that has buffers for fewer origins than there are: those who have done all they wanted,
 * and wait in MPI, give theirs back, so that the others can go on.
 * test: for=osc-cached needs=cache ranks=4 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_memory=1M osc_cached_helper_spares=31"
 * test: for=osc-cached needs=cache ranks=4 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node osc_cached_helper_memory=1M osc_cached_helper_spares=31"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { ROUNDS = 3 };

int main(int argc, char **argv)
{
    struct counters c;
    long *base, one = 1;
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    *base = 0;
    test_barrier();
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int i = 0; i < ROUNDS; ++i) {
        for (int origin = 1; origin < test_size; ++origin) { /* the others wait for it */
            if (origin == test_rank) {
                OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
                OK(MPI_Win_flush(0, win));
            } else {
                helper_rest();
            }
            test_barrier();
        }
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    CHECK(0 != test_rank || ROUNDS * (test_size - 1) == *base, "the sum is %ld", *base);
    OK(MPI_Win_unlock(test_rank, win));
    helper_did(&c, ROUNDS * (unsigned long) (test_size - 1));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
