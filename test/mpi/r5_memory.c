/* A11, R5: an owner without memory for its directory shares what it has room for; gets of other
 * blocks go to the network, uncached and counted. When there is memory again, they are shared, too.
 * Without memory for a hold nothing is shared from then on, and a window that is created without
 * memory is not coherent. Who reads after a write reads what was written.
 *
 * test: for=osc-cached needs=cache cache="stores=sync verify=2" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <errno.h>
#include <stdatomic.h>

enum { BLOCK = 512 /* words */, BLOCKS = 80, ROOM = 32 /* of 64 lines, before there are 128 */ };

static _Atomic int refuses;

/* In the place of the C library's, by which osc/cached gets memory that it can do without. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *memory = NULL;

    if (refuses || 0 != posix_memalign(&memory, alignment, size)) {
        errno = ENOMEM;
        return NULL;
    }
    return memory;
}

/* Rank 1 reads all blocks. @return the hits */
static unsigned long read_all(MPI_Win win, struct counters *c, long wanted)
{
    unsigned long hits = counter(c, "hits");

    for (int i = 0; i < BLOCKS; ++i) {
        long got = coherent_get(win, 0, i * BLOCK);

        CHECK(wanted == got, "block %d: %ld, wanted %ld", i, got, wanted);
    }
    return counter(c, "hits") - hits;
}

static void write_all(MPI_Win win, long word)
{
    for (int i = 0; i < BLOCKS; ++i) {
        OK(MPI_Put(&word, 1, MPI_LONG, 0, i * BLOCK, 1, MPI_LONG, win));
    }
    OK(MPI_Win_flush(0, win));
}

/* Rank 0 has memory, or not, from now on. */
static void set_memory(int none)
{
    test_barrier();
    refuses = none && 0 == test_rank;
    test_barrier();
}

int main(int argc, char **argv)
{
    unsigned long hits;
    struct counters c;
    MPI_Win win;
    long *base, word = 0;

    test_init(&argc, &argv);
    coherent_window(&win, BLOCK * BLOCKS, &base, &c);
    OK(MPI_Win_lock_all(0, win));
    if (1 == test_rank) { /* there are tables of lines and holds then */
        OK(MPI_Put(&word, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        CHECK(coherent_warm(win, &c, 0, 0, 0), "never a hit");
    }
    set_memory(1);
    if (1 == test_rank) {
        for (int i = 0; i < COHERENT_READS && counter(&c, "coherence_directs") < BLOCKS - ROOM;
             ++i) {
            (void) read_all(win, &c, 0);
        }
        CHECK(BLOCKS - ROOM <= counter(&c, "coherence_directs"), "all blocks are shared");
        CHECK(BLOCKS - ROOM <= counter(&c, "unshared"), "they are not counted");
        hits = read_all(win, &c, 0);
        CHECK(0 < hits && hits <= ROOM, "%lu hits", hits);
    }
    set_memory(0);
    if (1 == test_rank) {
        CHECK(coherent_warm(win, &c, 0, (BLOCKS - 1) * BLOCK, 0), "there is memory: never a hit");
    }
    set_memory(1);
    if (1 == test_rank) { /* and none for holds: nothing is shared from then on */
        write_all(win, 5);
        (void) read_all(win, &c, 5);
    }
    set_memory(0);
    if (1 == test_rank) {
        write_all(win, 6);
        for (int i = 0; i < 4; ++i) {
            hits = read_all(win, &c, 6);
        }
        CHECK(0 == hits, "%lu hits", hits);
    }
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));

    set_memory(1);
    coherent_window(&win, BLOCK, &base, &c);
    set_memory(0);
    CHECK(!coherent_is(win), "a window without a directory is coherent");
    OK(MPI_Win_lock_all(0, win));
    if (1 == test_rank) {
        for (int i = 0; i < 10; ++i) {
            CHECK(0 == coherent_get(win, 0, 7), "a value that was not written");
        }
        COUNTS(&c, "hits", 0, "not coherent");
    }
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
