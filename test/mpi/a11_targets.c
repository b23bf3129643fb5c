/* A11: a target for whose state there is no memory is served uncached, with all that is promised of
 * order and completion; when there is memory again, it is cached.
 * test: for=osc-cached cache="mode=always" ranks=3 transport=shm,tcp needs=cache
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 16 };

static int lacking; /* there is no memory for a target */
static int refused;

/* In the place of the C library's: blocks of the size and alignment of osc_cached_peers.c fail. */
int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (lacking && 64 == alignment && 64 == bytes % 128 && bytes < 40000) {
        ++refused;
        return 12;
    }
    *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    return NULL == *memory ? 12 : 0;
}

static MPI_Win win;
static int got[N];

static void get(int target, int at, int wanted)
{
    got[at] = -1;
    OK(MPI_Get(&got[at], 1, MPI_INT, target, at, 1, MPI_INT, win));
    OK(MPI_Win_flush(target, win));
    CHECK(wanted == got[at], "rank %d has %d at %d", target, got[at], at);
}

/* A put, and gets of what it has written. */
static void write_and_read(int at, int value)
{
    OK(MPI_Put(&value, 1, MPI_INT, 2, at, 1, MPI_INT, win));
    OK(MPI_Win_flush(2, win));
    get(2, at, value);
    get(2, at, value);
}

int main(int argc, char **argv)
{
    struct counters c;
    int *base, value;

    test_init(&argc, &argv);
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = 100 * test_rank + i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        get(1, 0, 100);
        get(1, 0, 100);
        COUNTS(&c, "hits", 1, "a target with memory");

        lacking = 1;
        get(2, 0, 200);
        get(2, 0, 200);
        write_and_read(0, 7);
        OK(MPI_Win_flush(2, win));
        OK(MPI_Get(&got[1], 1, MPI_INT, 2, 1, 1, MPI_INT, win));
        OK(MPI_Win_flush_all(win));
        CHECK(201 == got[1], "%d after a flush of all", got[1]);
        OK(MPI_Get(&got[2], 1, MPI_INT, 2, 2, 1, MPI_INT, win));
        OK(MPI_Win_flush_local_all(win));
        CHECK(202 == got[2], "%d after a local flush of all", got[2]);
        get(1, 0, 100);
        COUNTS(&c, "hits", 2, "only the target with memory");
        CHECK(0 < refused || test_is_plain(), "nothing was refused");

        /* the put is on its way when there is memory again: what is got then is not kept */
        value = 8;
        OK(MPI_Put(&value, 1, MPI_INT, 2, 3, 1, MPI_INT, win));
        lacking = 0;
        OK(MPI_Get(&got[4], 1, MPI_INT, 2, 4, 1, MPI_INT, win));
        OK(MPI_Win_flush(2, win));
        CHECK(204 == got[4], "%d", got[4]);
        COUNTS(&c, "hits", 2, "a put to that target was not counted");
        get(2, 3, 8);
        get(2, 3, 8);
        get(2, 4, 204);
        get(2, 4, 204);
        COUNTS(&c, "hits", 4, "a target that has memory now");
        write_and_read(3, 9);
        COUNTS(&c, "hits", 5, "after another put");
    }
    OK(MPI_Win_unlock_all(win));
    counters_add_up(&c);
    counters_close(&c);
    test_barrier();
    OK(MPI_Win_free(&win));

    /* the same in epochs that name their targets */
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < N; ++i) {
        base[i] = 100 * test_rank + i;
    }
    test_barrier();
    if (0 == test_rank) {
        lacking = 1;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
        get(2, 5, 205);
        write_and_read(5, 11);
        OK(MPI_Win_unlock(2, win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
        lacking = 0;
        get(2, 5, 11);
        OK(MPI_Win_unlock(2, win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
        get(2, 5, 11);
        write_and_read(5, 12);
        OK(MPI_Win_unlock(2, win));
    }
    OK(MPI_Win_fence(0, win));
    lacking = 1;
    value = 1000 + test_rank;
    OK(MPI_Put(&value, 1, MPI_INT, (test_rank + 1) % test_size, 6, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&got[6], 1, MPI_INT, (test_rank + 1) % test_size, 6, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(value == got[6], "%d after a fence", got[6]);
    lacking = 0;
    OK(MPI_Win_free(&win));
    return test_done();
}
