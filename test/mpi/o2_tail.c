/* O2: in a window whose size is no multiple of a block, a write to the last whole block leaves the
 * rest behind it watched: the owner's next store there drops the copies of others.
 *
 * test: for=osc-cached needs=cache ranks=3 transport=tcp limit=60 mca="osc_cached_helper=on osc_cached_block=64K"
 * test: for=osc-cached needs=cache ranks=3 transport=tcp limit=60 args=unaligned mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <sys/mman.h>

enum { OWNER, READER, WRITER, PAGES = 64, ROUNDS = 3 };

int main(int argc, char **argv)
{
    const long word = 5;
    size_t page = (size_t) sysconf(_SC_PAGESIZE), skew = 0, block = 65536, bytes;
    MPI_Aint whole, rest;
    struct counters c;
    MPI_Win win;
    char *memory;
    long *base;

    test_init(&argc, &argv);
    memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (1 < argc) { /* it ends where a page ends */
        skew = page / 2;
        block = page;
    }
    bytes = 2 * block + block / 2;
    base = (long *) (memory + skew);
    whole = (MPI_Aint) (block / sizeof(long));
    rest = 2 * whole;
    OK(MPI_Win_create(base, (MPI_Aint) bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (!coherent_is(win)) {
        test_skip("stores cannot be detected here");
    }
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (long i = 0; i < ROUNDS; ++i) {
        if (READER == test_rank) {
            CHECK(coherent_warm(win, &c, OWNER, rest, i), "never a hit");
        }
        test_barrier();
        if (WRITER == test_rank) {
            OK(MPI_Put(&word, 1, MPI_LONG, OWNER, whole, 1, MPI_LONG, win));
            OK(MPI_Win_flush(OWNER, win));
        }
        test_barrier();
        if (OWNER == test_rank) {
            *(volatile long *) &base[rest] = i + 1;
            __sync_synchronize();
            coherent_tell(READER);
        } else if (READER == test_rank) {
            long got;

            coherent_hear(OWNER);
            got = coherent_get(win, OWNER, rest);
            CHECK(i + 1 == got, "round %ld: %ld", i, got);
        }
        test_barrier();
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
