/* E2: what a process of the node has fetched with a datatype that leaves gaps is a hit for the others, for equal
 * layouts and no others, whoever asks for them first; and so when there is no room for more of them in the segment.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=user share=on verify=2" ranks=3 transport=shm limit=60
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3 transport=shm limit=60 args=many
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { LONGS = 4096, BLOCKS = 4, MANY = 300 };

static int mate, last; /* of rank 0's node, the target */

/* BLOCKS words, each so many behind the other; the description is longer where they are listed. */
static MPI_Datatype make(int stride, int listed)
{
    MPI_Datatype type;
    int places[BLOCKS];

    for (int i = 0; i < BLOCKS; ++i) {
        places[i] = i * stride;
    }
    if (listed) {
        OK(MPI_Type_create_indexed_block(BLOCKS, 1, places, MPI_LONG, &type));
    } else {
        OK(MPI_Type_vector(BLOCKS, 1, stride, MPI_LONG, &type));
    }
    OK(MPI_Type_commit(&type));
    return type;
}

static void fetch(MPI_Win win, int at, int stride, int listed)
{
    MPI_Datatype type = make(stride, listed);
    long got[BLOCKS] = {0};

    OK(MPI_Get(got, BLOCKS, MPI_LONG, last, at, 1, type, win));
    OK(MPI_Win_flush(last, win));
    for (int i = 0; i < BLOCKS; ++i) {
        CHECK(1000L * last + at + i * stride == got[i], "%ld at %d + %d x %d", got[i], at, i,
              stride);
    }
    OK(MPI_Type_free(&type));
}

/* The others ask in another order, so that their own numbers would be others. */
static void fetch_all(MPI_Win win, int strides, int backwards, int listed)
{
    for (int k = 0; k < strides; ++k) {
        fetch(win, 8, 2 + (backwards ? strides - 1 - k : k), listed);
    }
}

int main(int argc, char **argv)
{
    int strides = argc > 1 ? MANY : 5;
    long *base;
    struct counters c;
    MPI_Win win;

    test_init(&argc, &argv);
    mate = test_mate();
    last = test_size - 1;
    win = test_win_make(NULL, sizeof(long[LONGS]), sizeof(long), &base);
    counters_open(&c, &win);
    for (int i = 0; i < LONGS; ++i) {
        base[i] = 1000L * test_rank + i;
    }
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    if (0 == test_rank) {
        fetch_all(win, strides, 0, 1);
        fetch_all(win, strides, 0, 0);
    }
    test_barrier();
    if (mate == test_rank) {
        unsigned long hits;

        fetch_all(win, strides, 1, 1);
        fetch_all(win, strides, 1, 0);
        hits = counter(&c, "node_hits");
        if (OMPI_MAJOR_VERSION >= 6) { /* descriptions have gaps: osc_cached_type.c */
            CHECK(hits <= 2UL * strides, "%lu node hits", hits);
        } else if (MANY == strides) { /* the first of them */
            CHECK(10 < hits && hits < 2 * MANY, "%lu node hits", hits);
        } else {
            CHECK(2UL * strides == hits, "%lu node hits", hits);
        }
        OK(MPI_Put(&base[0], 1, MPI_LONG, last, LONGS - 1, 1, MPI_LONG, win));
        OK(MPI_Win_flush(last, win));
        fetch(win, 8, 2, 0);
        COUNTS(&c, "node_hits", hits, "after an own write");
    }
    counters_add_up(&c);
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
