/* R5, R8: a writer keeps its hold: where nobody reads, many writes send one HOLD. Readers are
 * turned away while it is held, so that it is recalled; then they share again, and the writer holds
 * only what it writes: copies of other blocks stay.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync verify=2" ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 8192, BLOCK = 512 /* words */ };

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, word;
    unsigned long hits;

    test_init(&argc, &argv);
    coherent_window(&win, WORDS, &base, &c);
    OK(MPI_Win_lock_all(0, win));
    if (1 == test_rank) {
        for (int i = 0; i < 200; ++i) {
            word = i;
            OK(MPI_Put(&word, 1, MPI_LONG, 0, 13 * i, 1, MPI_LONG, win));
            if (0 == i % 2) {
                OK(MPI_Accumulate(&word, 1, MPI_LONG, 0, 13 * i + 1, 1, MPI_LONG, MPI_SUM, win));
            }
            OK(MPI_Win_flush(0, win));
        }
        COUNTS(&c, "coherence_holds", 1, "200 writes where nobody reads");
    }
    test_barrier();
    if (2 == test_rank) { /* the writer does nothing: its helper lets go */
        CHECK(coherent_warm(win, &c, 0, 13, 1), "never shared");
        CHECK(0 < counter(&c, "coherence_directs"), "nobody held the block");
        CHECK(coherent_warm(win, &c, 0, 13 + BLOCK, 0), "never shared");
    }
    test_barrier();
    if (1 == test_rank) {
        COUNTS(&c, "coherence_recalls", 1, "the hold of all blocks");
        word = 77;
        OK(MPI_Put(&word, 1, MPI_LONG, 0, 13, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        COUNTS(&c, "coherence_holds", 2, "the block that was let go");
    }
    test_barrier();
    if (2 == test_rank) {
        CHECK(77 == coherent_get(win, 0, 13), "an old value");
        hits = counter(&c, "hits");
        CHECK(0 == coherent_get(win, 0, 13 + BLOCK), "another value");
        COUNTS(&c, "hits", hits + 1, "the copy of a block that nobody wrote");
    }
    test_barrier(); /* the owner's unlock_all has all copies dropped */
    OK(MPI_Win_unlock_all(win));
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
