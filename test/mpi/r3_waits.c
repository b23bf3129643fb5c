/* R3 where gets wait for blocks (windows on files): what was asked for before a write, and arrives
 * after it, serves the gets that were issued before the write, and those alone. A get that begins
 * after the write neither joins who still waits (it reads what was written), nor is what arrives
 * kept (the get after that reads it, too).
 *
 * test: for=osc-cached needs=cache cache="stores=sync block=4K storage_route=helper" ranks=2 transport=shm,tcp cflags=-rdynamic
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync cooperate=paper block=4K" ranks=3 transport=shm,tcp cflags=-rdynamic
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coherent.h"
#include "cold.h"
#include "storage.h"

enum { OWNER, READER, BLOCK = 512, BLOCKS = 8, SLOW = 300000, SOON = 60000 }; /* longs; us */

/* In the place of the C library's: what was read is old when it arrives. */
ssize_t pread(int file, void *to, size_t bytes, off_t from)
{
    ssize_t got = (ssize_t) syscall(SYS_pread64, file, to, bytes, from);

    if (1 < cold) {
        usleep(SLOW);
    }
    return got;
}

static void get_block(MPI_Win win, int block, long *to)
{
    OK(MPI_Get(to, BLOCK, MPI_LONG, OWNER, (MPI_Aint) block * BLOCK, BLOCK, MPI_LONG, win));
}

/* @return whether the block was written between its reading and its arrival */
static int read_while_written(MPI_Win win, int block)
{
    static long before[BLOCK], since[BLOCK], after[BLOCK];

    get_block(win, block, before);
    coherent_tell(OWNER);
    coherent_hear(OWNER);
    get_block(win, block, since);
    OK(MPI_Win_flush(OWNER, win));
    for (int i = 0; i < 2; ++i) {
        get_block(win, block, after);
        OK(MPI_Win_flush(OWNER, win));
        CHECK(block + 1 == after[7], "block %d, get %d after it: %ld", block, i, after[7]);
    }
    CHECK(0 == before[7] || block + 1 == before[7], "block %d: %ld", block, before[7]);
    CHECK(block + 1 == since[7], "block %d, asked for after the write: %ld", block, since[7]);
    return 0 == before[7];
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base, word[BLOCK];
    int old = 0;
    MPI_Win win;

    test_init(&argc, &argv);
    storage_begin();
    OK(storage_allocate(BLOCKS * BLOCK * sizeof(long), sizeof(long), &base, &win, "waits", NULL));
    counters_open(&c, &win);
    memset(base, 0, BLOCKS * BLOCK * sizeof(long));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_lock_all(0, win));
    if (READER == test_rank) {
        get_block(win, BLOCKS - 1, word); /* now it is locked */
        OK(MPI_Win_flush(OWNER, win));
    }
    cold = 2;
    for (int block = 0; block < BLOCKS - 1; ++block) {
        if (READER == test_rank) {
            old += read_while_written(win, block);
        } else if (OWNER == test_rank) {
            coherent_hear(READER);
            usleep(SOON); /* the block has been read */
            base[block * BLOCK + 7] = block + 1;
            OK(MPI_Win_sync(win));
            coherent_tell(READER);
        }
    }
    cold = 0;
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    if (READER == test_rank) {
        CHECK(0 < old, "no block was written while it was on its way");
        CHECK(0 < counter(&c, "coherence_dropped"), "nothing was invalidated");
        CHECK(0 < counter(&c, "hits"), "never a hit");
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
