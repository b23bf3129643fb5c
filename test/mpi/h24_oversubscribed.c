/* H24: six processes and their helpers on one processor: sums and exclusive locks come to their
 * end, each process has its turn, and nobody waits for a time slice per operation.
 * test: for=osc-cached needs=cache ranks=6 cpus=0 transport=shm,tcp limit=120 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { SUMS = 200, TURNS = 20, TARGET = 0 };

int main(int argc, char **argv)
{
    struct counters c; /* of the process */
    long *base, one = 1, word;
    MPI_Win win;

    test_init(&argc, &argv);
    counters_open_all(&c, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    win = test_win_make(NULL, 2 * sizeof(long), sizeof(long), &base);
    memset(base, 0, 2 * sizeof(long));
    test_barrier();
    if (TARGET != test_rank) {
        OK(MPI_Win_lock_all(0, win));
        for (int i = 0; i < SUMS; ++i) {
            OK(MPI_Accumulate(&one, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, MPI_SUM, win));
            OK(MPI_Win_flush(TARGET, win));
        }
        OK(MPI_Win_unlock_all(win));
        for (int i = 0; i < TURNS; ++i) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
            OK(MPI_Get(&word, 1, MPI_LONG, TARGET, 1, 1, MPI_LONG, win));
            OK(MPI_Win_flush(TARGET, win));
            ++word;
            OK(MPI_Put(&word, 1, MPI_LONG, TARGET, 1, 1, MPI_LONG, win));
            OK(MPI_Win_unlock(TARGET, win));
        }
    }
    test_barrier();
    if (TARGET == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win));
        CHECK((long) SUMS * (test_size - 1) == base[0], "the sum is %ld", base[0]);
        CHECK((long) TURNS * (test_size - 1) == base[1], "%ld turns", base[1]);
        OK(MPI_Win_unlock(TARGET, win));
    }
    COUNTS(&c, "helper_accumulate_requests", TARGET == test_rank ? SUMS * (test_size - 1) : 0,
           "rank %d", test_rank);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
