/* R3, R7: what was asked for before a write is not kept after it. A process asks for a block,
 * writes to it before the answer is there, and reads it until that is a hit: another one's write is
 * seen all the same. So it is by who reads word by word of a block while another process writes to
 * all of them, and by who polls one.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <unistd.h>

enum { BLOCK = 512 /* words */, BLOCKS = 12, READS = 24, LAST = 40, WORDS = 2 * BLOCKS * BLOCK };

static long words[BLOCK];

static void put(MPI_Win win, MPI_Aint disp, long value)
{
    OK(MPI_Put(&value, 1, MPI_LONG, 0, disp, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, got;

    test_init(&argc, &argv);
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &base));
    memset(base, 0, WORDS * sizeof(long));
    win = test_win_make(base, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    /* with a copy of another block nobody gets a hold of all: the answer to a first request is a
     * copy */
    CHECK(1 != test_rank || coherent_warm(win, &c, 0, 0, 0), "never a hit");
    test_barrier();
    for (int i = 1; i < BLOCKS; ++i) {
        MPI_Aint disp = (MPI_Aint) i * BLOCK + 17;

        if (1 == test_rank) {
            (void) coherent_get(win, 0, disp);
            (void) coherent_get(win, 0, disp); /* which asks for it */
            put(win, disp, i);
            for (int k = 0; k < READS; ++k) {
                got = coherent_get(win, 0, disp);
                CHECK(i == got, "block %d: %ld after its own write", i, got);
            }
            coherent_tell(2);
            coherent_hear(2);
            got = coherent_get(win, 0, disp);
            CHECK(-i == got, "block %d: %ld after another one's write", i, got);
        } else if (2 == test_rank) {
            coherent_hear(1);
            put(win, disp, -i);
            coherent_tell(1);
        }
    }
    test_barrier();
    for (int i = 1; i < BLOCKS; ++i) {
        MPI_Aint disp = (MPI_Aint) (BLOCKS + i) * BLOCK;

        if (1 == test_rank) {
            int written = 0;

            CHECK(coherent_warm(win, &c, 0, disp, 0), "block %d: never a hit", i);
            coherent_tell(2);
            for (int k = 1; !written; k = k % (BLOCK - 1) + 1) {
                MPI_Request request; /* each is a get of its own: blocks are not fetched for it */

                OK(MPI_Rget(&got, 1, MPI_LONG, 0, disp + k, 1, MPI_LONG, win, &request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                OK(MPI_Iprobe(2, 99, MPI_COMM_WORLD, &written, MPI_STATUS_IGNORE));
            }
            coherent_hear(2);
            for (int k = 0; k < BLOCK; ++k) {
                got = coherent_get(win, 0, disp + k);
                CHECK(i == got, "block %d, word %d: %ld after the write of all", i, k, got);
            }
        } else if (2 == test_rank) {
            for (int k = 0; k < BLOCK; ++k) {
                words[k] = i;
            }
            coherent_hear(1);
            usleep((useconds_t) (i * 1000));
            OK(MPI_Put(words, BLOCK, MPI_LONG, 0, disp, BLOCK, MPI_LONG, win));
            OK(MPI_Win_flush(0, win));
            coherent_tell(1);
        }
    }
    test_barrier();
    if (2 == test_rank) {
        for (long i = 1; i <= LAST; ++i) {
            usleep((useconds_t) (i * 7919 % 20000)); /* so that there are copies, of some age */
            put(win, 3, i);
        }
    } else if (1 == test_rank) {
        double since = MPI_Wtime();

        do {
            got = coherent_get(win, 0, 3);
        } while (LAST != got && MPI_Wtime() - since < 30);
        CHECK(LAST == got, "the last value is never seen: %ld", got);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    CHECK(0 < coherent_sum(&c, "coherence_fills"), "nobody asked for anything");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
