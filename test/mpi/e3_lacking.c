/* E3, A1, A11: a process that has no memory for the state of a target writes to it: its gets see
 * the write, and when that is complete other processes of the node keep what they fetch from there.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3,4 transport=shm,tcp limit=60 cflags=-rdynamic
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

static int lacking, refused; /* there is no memory for a target */

/* In the place of the C library's: blocks of the size and alignment of osc_cached_peers.c fail. */
int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (lacking && 64 == alignment && 64 == bytes % 128 && bytes < 40000) {
        ++refused;
        return 12;
    }
    *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    return NULL == *memory ? 12 : 0;
}

static long fetch(MPI_Win win, int target)
{
    long got = -1;

    OK(MPI_Get(&got, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(target, win));
    return got;
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base, value = 7;
    int mate, last;
    MPI_Win win;

    test_init(&argc, &argv);
    mate = test_mate();
    last = test_size - 1;
    win = keyed_window(NULL, sizeof(long), sizeof(long), &base, NULL);
    counters_open(&c, &win);
    *base = 1;
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    if (0 == test_rank) {
        lacking = 1;
        OK(MPI_Put(&value, 1, MPI_LONG, last, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(last, win));
        CHECK(0 < refused || test_is_plain(), "nothing was refused");
    }
    test_barrier();
    if (mate == test_rank) { /* may be kept, and is not valid any more after the flush of all */
        CHECK(7 == fetch(win, last), "other bytes");
    }
    test_barrier();
    if (0 == test_rank) {
        CHECK(7 == fetch(win, last), "other bytes than the own");
        OK(MPI_Win_flush_all(win));
        CHECK(7 == fetch(win, last), "other bytes than the own");
    }
    test_barrier();
    if (mate == test_rank) {
        unsigned long before = counter(&c, "node_hits");

        for (int i = 0; i < 4; ++i) {
            CHECK(7 == fetch(win, last), "other bytes");
        }
        COUNTS(&c, "node_hits", before + 3, "the target is written to for ever");
    }
    test_barrier();
    counters_add_up(&c);
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
