/* A1: cached bytes of a target are forgotten by an own write to it, in every mode, those of other
 * targets are not.
 *
 * test: for=osc-cached needs=cache cache="passive_scope=flush" ranks=2,3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"
#include "writes.h"

enum { N = 16, WAYS = 9 };

static long fetch(MPI_Win win, int t, int at)
{
    long got = -1;

    OK(MPI_Get(&got, 1, MPI_LONG, t, at, 1, MPI_LONG, win));
    OK(MPI_Win_flush_local(t, win));
    return got;
}

static void write_one(MPI_Win win, int way, int t, int at, long now, long next)
{
    long got = -1, pair[2] = {next, 1000 * t + at + 3};

    if (way < WRITE_WAYS) {
        write_issue(win, way, t, at, now, next, &got);
    } else { /* through a datatype with gaps, around the word */
        MPI_Datatype vector;

        OK(MPI_Type_vector(2, 1, 3, MPI_LONG, &vector));
        OK(MPI_Type_commit(&vector));
        OK(MPI_Put(pair, 2, MPI_LONG, t, at, 1, vector, win));
        OK(MPI_Type_free(&vector));
    }
    OK(MPI_Win_flush(t, win));
}

static void origin(MPI_Win win, struct counters *c, const char *mode)
{
    long now = 1001;

    for (int way = 0; way < WAYS; ++way) {
        long next = 5000 + way;
        unsigned long hits;

        CHECK(now == fetch(win, 1, 1), "mode %s, way %d: before", mode, way);
        hits = counter(c, "hits");
        CHECK(now == fetch(win, 1, 1), "mode %s, way %d: again", mode, way);
        COUNTS(c, "hits", hits + 1, "mode %s, way %d: the second get", mode, way);
        if (test_size > 2) {
            CHECK(2001 == fetch(win, 2, 1), "mode %s, way %d: the other target", mode, way);
        }
        hits = counter(c, "hits");
        write_one(win, way, 1, 1, now, next);
        now = next;
        CHECK(now == fetch(win, 1, 1), "mode %s, way %d: after the write", mode, way);
        COUNTS(c, "hits", hits, "mode %s, way %d: the get after the write", mode, way);
        if (test_size > 2) {
            CHECK(2001 == fetch(win, 2, 1), "mode %s, way %d: the other target", mode, way);
            COUNTS(c, "hits", hits + 1, "mode %s, way %d: a get from the other target", mode, way);
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"always", "user", "transparent"};
    long mine[N], *base;

    test_init(&argc, &argv);
    for (int k = 0; k < 6; ++k) {
        struct counters c;
        MPI_Win win = keyed_window(k < 3 ? mine : NULL, sizeof(mine), sizeof(long), &base,
                                   "ompi_osc_cached_mode", modes[k % 3], NULL);

        counters_open(&c, &win);
        for (int i = 0; i < N; ++i) {
            base[i] = 1000 * test_rank + i;
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            origin(win, &c, modes[k % 3]);
            counters_add_up(&c);
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
