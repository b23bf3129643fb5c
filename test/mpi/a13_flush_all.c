/* A13, A3: gets from windows of MPI_Win_create are complete after MPI_Win_flush_all, and what is
 * kept of them is right, also with MPI_THREAD_MULTIPLE: an osc/ucx that ends such a flush too early
 * is helped.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=120 cache="mode=always"
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm args=allocate limit=120 cache="mode=always"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flush_all.h"

static unsigned char mine[BYTES];

int main(int argc, char **argv)
{
    unsigned char *base;
    MPI_Win win;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    win = test_win_make((1 < argc) ? NULL : mine, BYTES, 1, &base);
    fill(base);
    OK(MPI_Win_lock_all(0, win));
    test_barrier();
    get_twice(win);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
