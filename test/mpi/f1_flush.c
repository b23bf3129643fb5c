/* Gets from windows on files are complete after MPI_Win_flush_all, and what is kept of them is
 * right: an osc/ucx that ends such a flush too early is helped as for windows of MPI_Win_create. Such
 * windows never share the cache of their node.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=120 cache="mode=always"
 * test: for=osc-cached needs=cache ranks=3 transport=shm limit=120 cache="mode=always share=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flush_all.h"
#include "storage.h"

int main(int argc, char **argv)
{
    struct counters c;
    unsigned char *base;
    MPI_Win win;

    test_init(&argc, &argv);
    storage_begin();
    OK(storage_allocate(BYTES, 1, &base, &win, "window", "storage_alloc_discard", "true", NULL));
    counters_open(&c, &win);
    fill(base);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    get_twice(win);
    OK(MPI_Win_unlock_all(win));
    COUNTS(&c, "node_bytes", 0, "there is a segment");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
