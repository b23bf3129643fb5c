/* R10: copies may be dropped. An owner that is told so (pools of blocks: EVICT) does not ask for
 * them when the block is written; who has asked for the block again since is asked. Where it is not
 * told (caches that are too small), what is read after a write is what was written.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync cooperate=private block=4K window_memory=32K adaptive=false" args="told oldest" ranks=3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync cooperate=paper block=4K window_memory=32K adaptive=false storage_route=helper" args=told ranks=3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off entries=16 window_memory=4K adaptive=false verify=2" ranks=3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coherent.h"
#include "storage.h"

enum { OWNER, WRITER, READER, BLOCK = 512, BLOCKS = 32, POOL = 8, ROUNDS = 24 }; /* longs; blocks */

static MPI_Win win;
static struct counters c;
static int oldest;         /* of a pool the block leaves that was used longest ago */
static unsigned long late; /* writes that came to the owner before it was told */

static long read_block(int block)
{
    long got[BLOCK];

    OK(MPI_Get(got, BLOCK, MPI_LONG, OWNER, (MPI_Aint) block * BLOCK, BLOCK, MPI_LONG, win));
    OK(MPI_Win_flush(OWNER, win));
    return got[3];
}

/* Read blocks until none of those before is in the pool any more. */
static void read_others(int block)
{
    for (int i = 1; i <= 2 * POOL; ++i) {
        (void) read_block((block + i) % BLOCKS);
    }
}

/* The reader has a copy, or had one; it is written; the reader reads it. */
static void tell_to_write(int block, long value)
{
    coherent_tell(WRITER);
    coherent_hear(WRITER);
    CHECK(value == read_block(block), "block %d: %ld, wanted %ld", block, read_block(block), value);
}

static void write_block(int block, long value)
{
    coherent_hear(READER);
    OK(MPI_Put(&value, 1, MPI_LONG, OWNER, (MPI_Aint) block * BLOCK + 3, 1, MPI_LONG, win));
    OK(MPI_Win_flush(OWNER, win));
    coherent_tell(READER);
}

/* Of a pool, step by step. */
static void told(int block, long value)
{
    unsigned long evictions = counter(&c, "cooperate_evictions");
    unsigned long dropped = counter(&c, "coherence_dropped"), kept;

    (void) read_block(block);
    read_others(block);
    CHECK(evictions < counter(&c, "cooperate_evictions"), "block %d: nothing has left", block);
    kept = counter(&c, "cooperate_kept");
    if (0 == value % 2) { /* and it asks again */
        (void) read_block(block);
        kept = counter(&c, "cooperate_kept") - kept;
    } else {
        kept = 0;
    }
    tell_to_write(block, value);
    if (oldest) {
        dropped = counter(&c, "coherence_dropped") - dropped;
        CHECK(kept == dropped || (0 == kept && 1 == dropped),
              "block %d, asked for again: %lu, %lu messages", block, kept, dropped);
        late += dropped - kept;
    }
}

/* Of a cache, at random: what has left is still shared, for the owner. */
static void untold(long value)
{
    int block = rand() % BLOCKS;

    for (int i = rand() % 4; 0 <= i; --i) {
        (void) read_block(block);
    }
    for (int i = rand() % POOL; 0 < i; --i) {
        (void) read_block(rand() % BLOCKS);
    }
    OK(MPI_Send(&block, 1, MPI_INT, WRITER, 98, MPI_COMM_WORLD));
    tell_to_write(block, value);
}

int main(int argc, char **argv)
{
    int block, pool;
    long *base;

    test_init(&argc, &argv);
    pool = 1 < argc;
    oldest = 2 < argc;
    storage_begin();
    if (pool) {
        OK(storage_allocate(BLOCKS * BLOCK * sizeof(long), sizeof(long), &base, &win, "blocks",
                            NULL));
        memset(base, 0, BLOCKS * BLOCK * sizeof(long));
        counters_open(&c, &win);
        OK(MPI_Win_fence(0, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    } else {
        coherent_window(&win, BLOCKS * BLOCK, &base, &c);
    }
    OK(MPI_Win_lock_all(0, win));
    if (READER == test_rank) {
        (void) read_block(0); /* now it is locked */
    }
    for (long value = 1; value <= ROUNDS; ++value) {
        block = (int) (5 * value % BLOCKS);
        if (READER == test_rank) {
            if (pool) {
                told(block, value);
            } else {
                untold(value);
            }
        } else if (WRITER == test_rank) {
            if (!pool) {
                OK(MPI_Recv(&block, 1, MPI_INT, READER, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
            write_block(block, value);
        }
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    CHECK(0 < counter(&c, "coherence_dropped") || READER != test_rank, "nothing was invalidated");
    CHECK(late <= ROUNDS / 4, "%lu writes of %d that nobody had to be asked for", late, ROUNDS / 2);
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    if (!pool) {
        OK(MPI_Free_mem(base));
    }
    storage_end();
    return test_done();
}
