/* O4: windows are freed with copies and holds, after gets whose FILLs may not be answered yet:
 * nobody waits for ever, and the next window over the same memory knows nothing of them. Answers
 * for a window that is not known: test_osc_cached_note, as MPI_Win_free waits for what is asked.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 16384, WINDOWS = 6 };

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, word;
    unsigned long fills = 0, all = 0;

    test_init(&argc, &argv);
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &base));
    for (int i = 0; i < WINDOWS; ++i) {
        int next = (test_rank + 1) % test_size;

        for (int k = 0; k < WORDS; ++k) {
            base[k] = i;
        }
        win = test_win_make(base, WORDS * sizeof(long), sizeof(long), &base);
        counters_open(&c, &win);
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        for (int k = 0; k < 3 * 32; ++k) { /* the second of each block asks, and nobody waits */
            word = coherent_get(win, next, k % 32 * 512 + 1);
            CHECK(i == word, "window %d: %ld", i, word);
        }
        if (0 == i % 3) {
            word = -1;
            OK(MPI_Put(&word, 1, MPI_LONG, next, 5, 1, MPI_LONG, win));
        }
        OK(MPI_Win_unlock_all(win));
        fills += counter(&c, "coherence_fills");
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Allreduce(&fills, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(0 < all, "nobody asked for anything");
    OK(MPI_Free_mem(base));
    return test_done();
}
