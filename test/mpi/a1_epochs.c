/* A1: what a passive epoch has cached is forgotten by an own write in an active epoch after it,
 * also where nothing is cached in active epochs (gets that the inner component brings late), and
 * where nobody looks at the counters.
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2,3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"
#include "writes.h"

enum { N = 16, ACTIVE = 5 };

static long fetch(MPI_Win win)
{
    long got = -1;

    OK(MPI_Get(&got, 1, MPI_LONG, 1, 1, 1, MPI_LONG, win));
    OK(MPI_Win_flush(1, win));
    return got;
}

/* Of the first process, to the second one. */
static void write_actively(MPI_Win win, int fenced, int way, long now, long next)
{
    static const int peers[2] = {1, 0};
    MPI_Group all, peer;
    long old = -1;

    if (fenced) {
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        if (0 == test_rank) {
            write_issue(win, way, 1, 1, now, next, &old);
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    } else if (test_rank < 2) {
        OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
        OK(MPI_Group_incl(all, 1, &peers[test_rank], &peer));
        if (0 == test_rank) {
            OK(MPI_Win_start(peer, 0, win));
            write_issue(win, way, 1, 1, now, next, &old);
            OK(MPI_Win_complete(win));
        } else {
            OK(MPI_Win_post(peer, 0, win));
            OK(MPI_Win_wait(win));
        }
        OK(MPI_Group_free(&peer));
        OK(MPI_Group_free(&all));
    }
}

static void try(const char *mode, long *mine, int counted)
{
    struct counters c;
    long *base, now = 1001;
    MPI_Win win = keyed_window(mine, N * sizeof(long), sizeof(long), &base, "ompi_osc_cached_mode",
                               mode, NULL);

    if (counted) {
        counters_open(&c, &win);
    }
    for (int i = 0; i < N; ++i) {
        base[i] = 1000 * test_rank + i;
    }
    test_barrier();
    for (int i = 0; i < 2 * ACTIVE; ++i) {
        static const int ways[ACTIVE] = {0, 2, 4, 6, 7}; /* active epochs have no requests */
        long next = 5000 + i;
        unsigned long hits = counted ? counter(&c, "hits") : 0;

        if (0 == test_rank) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
            CHECK(now == fetch(win), "mode %s, %d: before", mode, i);
            CHECK(now == fetch(win), "mode %s, %d: again", mode, i);
            OK(MPI_Win_unlock(1, win));
            CHECK(!counted || hits < counter(&c, "hits"), "mode %s, %d: the second get hits", mode,
                  i);
        }
        test_barrier();
        write_actively(win, i < ACTIVE, ways[i % ACTIVE], now, next);
        test_barrier();
        now = next;
    }
    if (counted && 0 == test_rank) {
        counters_add_up(&c);
    }
    if (counted) {
        counters_close(&c);
    }
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    long mine[N];

    test_init(&argc, &argv);
    for (int k = 0; k < 8; ++k) {
        try(k % 2 ? "user" : "always", k / 2 % 2 ? NULL : mine, k < 4);
    }
    return test_done();
}
