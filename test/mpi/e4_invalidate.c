/* E4: one process's invalidation counts for all of its node; so does its change of the mode.
 *
 * test: for=osc-cached needs=cache cache="mode=user share=on" ranks=3,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { ROUNDS = 20 };

int main(int argc, char **argv)
{
    struct counters c;
    long *base, got;
    int mate, last;
    MPI_Win win;

    test_init(&argc, &argv);
    mate = test_mate();
    last = test_size - 1;
    win = keyed_window(NULL, sizeof(long), sizeof(long), &base, NULL);
    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, win));
    for (long round = 0; round < ROUNDS; ++round) {
        if (last == test_rank) {
            *base = round;
            OK(MPI_Win_sync(win));
        }
        test_barrier();
        if (0 == test_rank && round % 2) {
            test_set_key(win, "ompi_osc_cached_invalidate", "true");
        } else if (0 == test_rank) {
            test_set_key(win, "ompi_osc_cached_mode", "transparent");
            test_set_key(win, "ompi_osc_cached_mode", "user");
        }
        test_barrier();
        for (int i = 0; i < 3 && (0 == test_rank || mate == test_rank); ++i) {
            got = -1;
            OK(MPI_Get(&got, 1, MPI_LONG, last, 0, 1, MPI_LONG, win));
            OK(MPI_Win_flush(last, win));
            CHECK(round == got, "round %ld: got %ld", round, got);
        }
        test_barrier();
    }
    if (mate == test_rank) {
        CHECK(0 < counter(&c, "node_hits"), "nothing was shared");
        COUNTS(&c, "invalidations", 0, "the other has done it");
    }
    counters_add_up(&c);
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
