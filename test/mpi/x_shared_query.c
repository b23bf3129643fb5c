/* MPI_Win_shared_query gives nobody the memory of another process where the owner alone may store to it, or where helpers have
 * its locks: its size is 0 (MPI 4.1), or that is an error of the inner component, as before Open MPI 6.0.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_mode=coherent osc_cached_stores=sync"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 mca="osc_cached_helper=on osc_cached_stores=off"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { BYTES = 4096 };

static void query(MPI_Win win, int rank, const char *mine)
{
    char *base = (char *) &base;
    MPI_Aint size = -1;
    int unit, rc = MPI_Win_shared_query(win, rank, &size, &unit, &base);

    CHECK(6 <= OMPI_MAJOR_VERSION || MPI_SUCCESS != rc, "rank %d: an answer", rank);
    if (MPI_SUCCESS != rc) {
        return;
    }
    if (rank == test_rank) {
        CHECK(BYTES == size && mine == base, "own memory: %ld bytes at %p, not %p", (long) size,
              (void *) base, (const void *) mine);
    } else if (MPI_PROC_NULL != rank || mine != base) {
        CHECK(0 == size && NULL == base, "rank %d: %ld bytes at %p", rank, (long) size,
              (void *) base);
    }
}

int main(int argc, char **argv)
{
    MPI_Win win;
    char *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, BYTES, 1, &base);
    test_barrier();
    for (int i = 0; i < test_size; ++i) {
        query(win, i, base);
    }
    query(win, MPI_PROC_NULL, base);
    test_barrier();
    OK(MPI_Win_free(&win));
    return test_done();
}
