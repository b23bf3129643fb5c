/* Explicit invalidation: the info key everywhere, MPIX_Win_cache_invalidate in a patched Open MPI.
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=user" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Harmless on every window, whatever component serves it: what is got afterwards is what is there.
 */
#include "test.h"

static void invalidate_by_info(MPI_Win win)
{
    test_set_key(win, "ompi_osc_cached_invalidate", "true");
}

static void invalidate_by_extension(MPI_Win win)
{
#if defined(OMPI_HAVE_MPI_EXT_CACHED)
    OK(MPIX_Win_cache_invalidate(win));
    FAILS(MPIX_Win_cache_invalidate(MPI_WIN_NULL), MPI_ERR_WIN);
#else
    invalidate_by_info(win);
#endif
}

int main(int argc, char **argv)
{
    void (*const ways[])(MPI_Win) = {invalidate_by_info, invalidate_by_extension};
    int *base, target, got;
    MPI_Win win;

    test_init(&argc, &argv);
    target = (test_rank + 1) % test_size;
    win = test_win_make(NULL, sizeof(int), sizeof(int), &base);
    for (int round = 0; round < 20; ++round) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win));
        *base = 100 * test_rank + round;
        OK(MPI_Win_unlock(test_rank, win));
        ways[round % 2](win);
        test_barrier();
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        OK(MPI_Get(&got, 1, MPI_INT, target, 0, 1, MPI_INT, win));
        OK(MPI_Win_unlock(target, win));
        CHECK(100 * target + round == got, "got %d in round %d", got, round);
        test_barrier();
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
