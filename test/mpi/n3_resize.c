/* N3: index and storage grow and shrink and keep the entries.
 * test: for=osc-cached needs=cache cache="mode=always entries=16 window_memory=4K interval=16" transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 3000, PIECE = 25 };

static void fetch(MPI_Win win, int k)
{
    int got[PIECE];

    memset(got, 0x55, sizeof(got));
    OK(MPI_Get(got, PIECE, MPI_INT, 1, k * PIECE, PIECE, MPI_INT, win));
    OK(MPI_Win_flush(1, win));
    for (int i = 0; i < PIECE; ++i) {
        CHECK(k * PIECE + i == got[i], "piece %d: [%d] = %d", k, i, got[i]);
    }
}

/* Everything that was kept and has not left is still there. */
static void nothing_lost(struct counters *c, const char *when)
{
    unsigned long kept = counter(c, "direct") + counter(c, "conflicting") + counter(c, "capacity");

    COUNTS(c, "index_entries", kept - counter(c, "evictions"),
           "%s: %lu kept, %lu left, %lu resizes", when, kept, counter(c, "evictions"),
           counter(c, "resizes"));
}

int main(int argc, char **argv)
{
    unsigned long resizes, hits;
    struct counters c;
    MPI_Win win;
    int *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, (MPI_Aint) N * PIECE * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (int i = 0; i < N * PIECE; ++i) {
        base[i] = i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        for (int pass = 0; pass < 8; ++pass) {
            for (int k = 0; k < N; ++k) {
                fetch(win, k);
            }
            nothing_lost(&c, "growing");
        }
        resizes = counter(&c, "resizes");
        CHECK(resizes > 2, "%lu resizes", resizes);
        CHECK(counter(&c, "index_capacity") >= N, "room for %lu entries",
              counter(&c, "index_capacity"));
        CHECK(counter(&c, "storage_capacity") >= (unsigned long) N * PIECE * sizeof(int),
              "room for %lu bytes", counter(&c, "storage_capacity"));
        hits = counter(&c, "hits");
        for (int k = 0; k < N; ++k) {
            fetch(win, k);
        }
        CHECK(counter(&c, "hits") >= hits + N * 9 / 10, "%lu hits of %d in the last pass",
              counter(&c, "hits") - hits, N);
        /* little use of a large cache: it may shrink; what it keeps is right */
        for (int pass = 0; pass < 2000; ++pass) {
            fetch(win, pass % 7);
        }
        nothing_lost(&c, "shrinking");
        for (int k = 0; k < N; ++k) {
            fetch(win, k);
        }
        nothing_lost(&c, "growing again");
        counters_add_up(&c);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
