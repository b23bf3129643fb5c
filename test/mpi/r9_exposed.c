/* A get that waits for a block of a file, into memory that becomes part of a second window whose
 * stores are detected, before the block comes: by then its page is protected, as another process
 * has a copy of it, and the thread that brings the block must not store there. Nor may it be written
 * after the get is complete.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync block=4K window_memory=64K adaptive=false" ranks=2 transport=shm,tcp cflags=-rdynamic limit=60 allow="Mode coherent was asked for"
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync block=4K window_memory=64K adaptive=false storage_route=helper" args=attach ranks=2 transport=tcp cflags=-rdynamic limit=60 allow="Mode coherent was asked for"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coherent.h"
#include "cold.h"
#include "storage.h"

enum { BLOCK = 512, BLOCKS = 8, HALF = BLOCK / 2 }; /* longs; blocks */

/* In the place of the C library's: reading a file takes until it is in memory. */
ssize_t pread(int file, void *to, size_t bytes, off_t from)
{
    while (cold) {
        usleep(1000);
    }
    return (ssize_t) syscall(SYS_pread64, file, to, bytes, from);
}

static long value(int i)
{
    return 1000 + i;
}

/* Rank 1 has the file, rank 0 the memory. */
int main(int argc, char **argv)
{
    struct counters c, d;
    size_t bytes = 4 * (size_t) sysconf(_SC_PAGESIZE);
    int words = (int) (bytes / sizeof(long)), attach;
    unsigned long fills;
    long *base, *late, *garbage, one[HALF];
    MPI_Aint at = 0;
    MPI_Info info;
    MPI_Win win, second;

    test_init(&argc, &argv);
    attach = argc > 1 && 0 == strcmp(argv[1], "attach");
    late = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    garbage = malloc(bytes);
    CHECK(MAP_FAILED != late && NULL != garbage, "no memory");
    memset(late, 0, bytes);
    storage_begin();
    OK(storage_allocate(BLOCKS * BLOCK * sizeof(long), sizeof(long), &base, &win, "blocks", NULL));
    counters_open(&c, &win);
    for (int i = 0; i < BLOCKS * BLOCK; ++i) {
        base[i] = value(i);
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (attach) {
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &second));
    }
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        (void) coherent_get(win, 1, 0); /* now it is locked */
    }
    test_barrier();
    cold = 1 == test_rank;
    test_barrier();
    if (0 == test_rank) {
        fills = counter(&c, "coherence_fills");
        OK(MPI_Get(late, HALF, MPI_LONG, 1, BLOCK + 7, HALF, MPI_LONG, win));
        CHECK(fills < counter(&c, "coherence_fills"), "nothing was asked for");
    }
    if (attach) {
        if (0 == test_rank) {
            OK(MPI_Win_attach(second, late, bytes));
            OK(MPI_Get_address(late, &at));
        }
        OK(MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD));
    } else {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "ompi_osc_cached_stores", "detect"));
        OK(MPI_Win_create(late, 0 == test_rank ? bytes : 0, sizeof(long), info, MPI_COMM_WORLD,
                          &second));
        OK(MPI_Info_free(&info));
    }
    test_win(second);
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, second));
    if (1 == test_rank) {
        if (!attach && coherent_is(second)) { /* the other half of the page */
            counters_open(&d, &second);
            CHECK(coherent_warm(second, &d, 0, BLOCK - 1, 0), "never a hit");
            counters_close(&d);
        }
        cold = 0;
    }
    if (0 == test_rank) {
        OK(MPI_Win_flush(1, win));
        for (int i = 0; i < HALF; ++i) {
            CHECK(value(BLOCK + 7 + i) == late[i], "[%d] = %ld", i, late[i]);
        }
    }
    test_barrier();
    if (1 == test_rank) { /* what was fetched is there for others, too */
        OK(MPI_Get(one, HALF, MPI_LONG, 0, at, HALF, MPI_LONG, second));
        OK(MPI_Win_flush(0, second));
        for (int i = 0; i < HALF; ++i) {
            CHECK(value(BLOCK + 7 + i) == one[i], "of rank 0: [%d] = %ld", i, one[i]);
        }
        memset(garbage, 0xaa, bytes);
        OK(MPI_Put(garbage, words, MPI_LONG, 0, at, words, MPI_LONG, second));
        OK(MPI_Win_flush(0, second));
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    if (0 == test_rank) {
        OK(MPI_Win_sync(second));
        memset(garbage, 0xaa, bytes);
        CHECK(0 == memcmp(late, garbage, bytes), "written over");
    }
    OK(MPI_Win_unlock_all(second));
    test_barrier();
    if (attach && 0 == test_rank) {
        OK(MPI_Win_detach(second, late));
    }
    OK(MPI_Win_free(&second));
    counters_add_up(&c);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    storage_end();
    free(garbage);
    OK(munmap(late, bytes));
    return test_done();
}
