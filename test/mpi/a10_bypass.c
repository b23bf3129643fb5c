/* A10: what a cache cannot win is passed through: self, dynamic windows, targets as cheap as a hit.
 * test: for=osc-cached cache="mode=always" args="never" ranks=2 transport=shm,tcp
 * test: for=osc-cached mca="osc_cached_bypass_below=1000000000" args="cheap" transport=shm,tcp
 * test: for=osc-cached mca="osc_cached_mode=always" args="dear" ranks=2 transport=shm,tcp
 *
 * "dear": with default settings a target behind a network, or on this node but in memory of the
 * program (MPI_Win_create), where a get costs a microsecond, is cached.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 64, ROUNDS = 2000 };

static void fetch(MPI_Win win, int t, MPI_Aint at, int want)
{
    int got = -1;

    OK(MPI_Get(&got, 1, MPI_INT, t, at, 1, MPI_INT, win));
    OK(MPI_Win_flush(t, win));
    CHECK(want == got, "target %d: %d, wanted %d", t, got, want);
}

static void never(void)
{
    MPI_Aint at, theirs;
    struct counters c;
    int *base, mine[N];
    MPI_Win win = test_win_make(NULL, sizeof(mine), sizeof(int), &base);

    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 50; ++round) {
        base[3] = round; /* at once: nothing of it is kept */
        OK(MPI_Win_sync(win));
        fetch(win, test_rank, 3, round);
    }
    COUNTS(&c, "bypassed", 50, "self");
    COUNTS(&c, "hits", 0, "self");
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    test_win(win);
    counters_open(&c, &win);
    OK(MPI_Win_attach(win, mine, sizeof(mine)));
    OK(MPI_Get_address(mine, &at));
    OK(MPI_Sendrecv(&at, 1, MPI_AINT, 1 - test_rank, 0, &theirs, 1, MPI_AINT, 1 - test_rank, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    mine[0] = 100 + test_rank;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 10; ++round) {
        fetch(win, 1 - test_rank, theirs, 101 - test_rank);
    }
    COUNTS(&c, "bypassed", 10, "a dynamic window");
    COUNTS(&c, "hits", 0, "a dynamic window");
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_detach(win, mine));
    counters_close(&c);
    OK(MPI_Win_free(&win));
}

static void measured(int cheap)
{
    static int memory[N];
    struct counters c;
    int *base;
    MPI_Win win = keyed_window(memory, sizeof(memory), sizeof(int), &base, "ompi_osc_cached_mode",
                               "always", NULL);

    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = 100 * test_rank + i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        for (int round = 0; round < ROUNDS; ++round) {
            fetch(win, 1, round % N, 100 + round % N);
        }
        if (cheap) {
            CHECK(counter(&c, "bypassed") > ROUNDS / 2, "%lu of %d gets bypassed",
                  counter(&c, "bypassed"), ROUNDS);
        } else {
            CHECK(counter(&c, "hits") > ROUNDS / 2, "%lu of %d gets hit", counter(&c, "hits"),
                  ROUNDS);
        }
        counters_add_up(&c);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    if (argc > 1 && 0 == strcmp(argv[1], "never")) {
        never();
    } else {
        measured(argc > 1 && 0 == strcmp(argv[1], "cheap"));
    }
    return test_done();
}
