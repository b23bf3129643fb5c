/* A10: MPI_Win_allocate_shared: direct loads and stores and RMA calls see the same memory.
 * test: for=osc ranks=2,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" args=coherent ranks=2,4 transport=shm,tcp limit=60
 *
 * Coherent: nothing is kept in passive epochs, in which a coherent window has hits.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 100, READS = 1000 };

/* Stores to the memory of another process, which nothing tells the cache of. */
static void read_passive(MPI_Win win, int target, int *theirs)
{
    struct counters c;
    int got = -1;

    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < READS; ++i) {
        *(volatile int *) &theirs[5] = i;
        OK(MPI_Win_sync(win));
        OK(MPI_Get(&got, 1, MPI_INT, target, 5, 1, MPI_INT, win));
        OK(MPI_Win_flush(target, win));
        CHECK(i == got, "%d stored, %d read", i, got);
    }
    OK(MPI_Win_unlock_all(win));
    COUNTS(&c, "bypassed", READS, "a shared window");
    COUNTS(&c, "hits", 0, "a shared window");
    COUNTS(&c, "coherence_fills", 0, "a shared window");
    test_barrier();
    counters_close(&c);
}

int main(int argc, char **argv)
{
    int *base = NULL, got[N], rc, failed, any, unit;
    MPI_Aint bytes;
    MPI_Win win = MPI_WIN_NULL;

    test_init(&argc, &argv);
    rc = MPI_Win_allocate_shared(sizeof(got), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                                 &win);
    failed = MPI_SUCCESS != rc;
    OK(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (any && 0x0401 == test_openmpi()) {
        test_skip("osc/ucx of Open MPI 4.1 has no shared windows");
    }
    CHECK(!failed, "error code %d", rc);
    if (any) {
        return test_done();
    }
    test_win(win);
    for (int round = 0; round < 10; ++round) {
        int t = (test_rank + 1 + round) % test_size, *theirs = NULL,
            mark = 77000 + 100 * round + test_rank;

        OK(MPI_Win_shared_query(win, t, &bytes, &unit, &theirs));
        CHECK((MPI_Aint) sizeof(got) == bytes && sizeof(int) == unit && NULL != theirs,
              "%ld bytes, unit %d, at %p", (long) bytes, unit, (void *) theirs);
        for (int i = 0; i < N; ++i) {
            base[i] = 1000 * round + 100 * test_rank + i;
        }
        OK(MPI_Win_fence(0, win));
        CHECK(1000 * round + 100 * t == theirs[0], "round %d: load %d", round, theirs[0]);
        memset(got, 0x55, sizeof(got));
        OK(MPI_Get(got, N, MPI_INT, t, 0, N, MPI_INT, win));
        OK(MPI_Win_fence(0, win));
        for (int i = 0; i < N; ++i) {
            CHECK(1000 * round + 100 * t + i == got[i], "round %d: [%d] = %d", round, i, got[i]);
        }
        theirs[N - 1] = mark; /* a store by another process, seen by a get of the owner's memory */
        OK(MPI_Win_fence(0, win));
        OK(MPI_Get(got, N, MPI_INT, t, 0, N, MPI_INT, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK(mark == got[N - 1], "round %d: after the store %d", round, got[N - 1]);
        test_barrier();
    }
    if (argc > 1) {
        int t = (test_rank + 1) % test_size, *theirs = NULL;

        OK(MPI_Win_shared_query(win, t, &bytes, &unit, &theirs));
        read_passive(win, t, theirs);
    }
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
    OK(MPI_Win_free(&win));
    return test_done();
}
