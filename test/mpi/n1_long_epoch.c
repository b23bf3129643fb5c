/* N1: also inside one long epoch, before anything is complete, hardly a get is looked up after the
 * first 10,000 where nothing is reused and a get is not slow.
 *
 * test: for=osc-cached needs=cache transport=shm alone=1 mca="osc_cached_bypass_below=0"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { GETS = 80000, FIRST = 20000 };

int main(int argc, char **argv)
{
    int *base, *got = malloc(GETS * sizeof(*got)), slow = 0;
    struct counters c;
    double us = 0;
    MPI_Win win;

    test_init(&argc, &argv);
    if (test_inner_is("pt2pt")) {
        test_skip("osc/pt2pt alone mixes up the answers to more than 65536 gets of an epoch");
    }
    win = test_win_make(NULL, GETS * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < GETS; ++i) {
        base[i] = 7 * i;
        got[i] = -1;
    }
    OK(MPI_Win_fence(0, win));
    if (0 == test_rank) {
        double begin = MPI_Wtime();

        for (int i = 0; i < FIRST; ++i) {
            OK(MPI_Get(&got[i], 1, MPI_INT, 1, i, 1, MPI_INT, win));
        }
        us = (MPI_Wtime() - begin) / FIRST * 1e6;
        counters_open(&c, &win);
        for (int i = FIRST; i < GETS; ++i) {
            OK(MPI_Get(&got[i], 1, MPI_INT, 1, i, 1, MPI_INT, win));
        }
        slow = us > 20;
        CHECK(slow || counter(&c, "bypassed") > (GETS - FIRST) * 9ul / 10,
              "%lu of %d gets of %.1f us bypassed", counter(&c, "bypassed"), GETS - FIRST, us);
        counters_close(&c);
    }
    OK(MPI_Win_fence(0, win));
    for (int i = 0; 0 == test_rank && i < GETS; ++i) {
        CHECK(7 * i == got[i], "[%d] = %d", i, got[i]);
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_free(&win));
    free(got);
    OK(MPI_Bcast(&slow, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (slow && 0 == test_failures) {
        test_skip("a get takes more than 20 us here: a look into the cache is lost in it");
    }
    return test_done();
}
