/* H11: short epochs of MPI_Win_lock over a network: what is put and got in them may go to the
 * helper that has the lock, with the message that ends the epoch; nothing is lost.
 * test: for=osc-cached needs=cache ranks=2,3 transport=tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { EPOCHS = 200, WORDS = 20 };

int main(int argc, char **argv)
{
    struct counters c;
    long *base, got[WORDS];
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, WORDS * sizeof(long));
    test_barrier();
    if (0 == test_rank) {
        helper_rest_long();
    }
    for (int i = 0; i < EPOCHS && 0 != test_rank; ++i) {
        int words = 0 == i % 10 ? WORDS : 1; /* some epochs have too many for that */

        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        for (int k = 0; k < words; ++k) {
            OK(MPI_Get(&got[k], 1, MPI_LONG, 0, k, 1, MPI_LONG, win));
        }
        OK(MPI_Win_flush(0, win));
        for (int k = 0; k < words; ++k) {
            ++got[k];
            OK(MPI_Put(&got[k], 1, MPI_LONG, 0, k, 1, MPI_LONG, win));
        }
        OK(MPI_Win_unlock(0, win));
    }
    COUNTS(&c, "helper_locks", 0 == test_rank ? 0 : EPOCHS, "one for each epoch");
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    for (int k = 0; k < WORDS && 0 == test_rank; ++k) {
        int wanted = (0 == k ? EPOCHS : EPOCHS / 10) * (test_size - 1);

        CHECK(wanted == base[k], "word %d is %ld, wanted %d", k, base[k], wanted);
    }
    OK(MPI_Win_unlock(test_rank, win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
