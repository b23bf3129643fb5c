/* N1: where nothing is reused and a get is not slow, hardly a get is looked up after the first
 * 10,000; when the program begins to reuse its data, the cache comes back.
 *
 * test: for=osc-cached transport=shm alone=1 mca="osc_cached_mode=always osc_cached_bypass_below=0"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { GETS = 40000, FIRST = 10000, BYTES = 64, PLACES = 64, ROUNDS = 4000 };

static void get(MPI_Win win, int place)
{
    char buffer[BYTES];

    OK(MPI_Get(buffer, BYTES, MPI_BYTE, 1, (MPI_Aint) place * BYTES, BYTES, MPI_BYTE, win));
    OK(MPI_Win_flush(1, win));
}

/* Were the gets so slow that a look into the cache is lost in them? */
static int look(MPI_Win *win)
{
    struct counters c;
    double begin = MPI_Wtime(), us;
    int slow;

    counters_open(&c, win);
    for (int i = 0; i < FIRST; ++i) {
        get(*win, i);
    }
    us = (MPI_Wtime() - begin) / FIRST * 1e6;
    counters_close(&c);
    counters_open(&c, win);
    for (int i = FIRST; i < GETS; ++i) {
        get(*win, i);
    }
    slow = us > 20;
    CHECK(slow || counter(&c, "bypassed") > (GETS - FIRST) * 9ul / 10,
          "%lu of %d gets of %.1f us bypassed", counter(&c, "bypassed"), GETS - FIRST, us);
    counters_close(&c);
    counters_open(&c, win);
    for (int i = 0; i < ROUNDS; ++i) {
        for (int place = 0; place < PLACES; ++place) {
            get(*win, place);
        }
    }
    CHECK(counter(&c, "hits") > ROUNDS * PLACES / 2ul, "%lu of %d gets of the same data hit",
          counter(&c, "hits"), ROUNDS * PLACES);
    counters_close(&c);
    return slow && 0 == test_failures;
}

int main(int argc, char **argv)
{
    char *mine, *base;
    MPI_Win win;
    int slow = 0;

    test_init(&argc, &argv);
    mine = calloc(GETS, BYTES);
    win = test_win_make(mine, (MPI_Aint) GETS * BYTES, 1, &base);
    OK(MPI_Win_lock_all(0, win));
    test_barrier();
    if (0 == test_rank) {
        slow = look(&win);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    free(mine);
    OK(MPI_Bcast(&slow, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (slow) {
        test_skip("a get takes more than 20 us here: a look into the cache is lost in it");
    }
    return test_done();
}
