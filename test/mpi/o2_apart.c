/* O2: memory of MPI_Win_allocate can be watched like that of MPI_Win_create where each process of
 * the window has a node of its own; what is allocated then is right in every other way, too.
 *
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache ranks=2 transport=tcp env="UCX_TLS=all" limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"
#include "helper.h"

enum { WORDS = 4 * 65536 / sizeof(long) };

int main(int argc, char **argv)
{
    struct counters c;
    int *flavor, flag, alone, peer, first, second;
    long *base, *memory, got;
    MPI_Aint *size;
    MPI_Comm node;
    MPI_Win win, other;

    test_init(&argc, &argv);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &alone));
    alone = 1 == alone;
    peer = (test_rank + 1) % test_size;
    OK(MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                        &win));
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &memory));
    OK(MPI_Win_create(memory, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &other));
    counters_open(&c, &win);
    first = coherent_is(win);
    second = coherent_is(other);
    CHECK(!alone || first == second, "coherent: allocated %d, created %d", first, second);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && MPI_WIN_FLAVOR_ALLOCATE == *flavor, "flavor %d", *flavor);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && WORDS * sizeof(long) == (size_t) *size, "%ld bytes", (long) *size);
    for (int i = 0; i < WORDS; ++i) {
        base[i] = 1000 * test_rank + i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (alone && first) {
        CHECK(coherent_warm(win, &c, peer, 5000, 1000 * peer + 5000), "never shared");
    }
    test_barrier();
    base[5000] = -1; /* legal in the unified model: a fence of the processor, and a message */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    test_barrier();
    got = coherent_get(win, peer, 5000);
    CHECK(-1 == got, "an old value: %ld", got);
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    CHECK(!first || !alone || 0 < counter(&c, "hits"), "no hit");
    OK(MPI_Win_free(&other));
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(memory));
    OK(MPI_Comm_free(&node));
    return test_done();
}
