/* A tool can set the counters of a window back to 0, each handle for itself; sizes stay what they
 * are.
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

static int index_of(const struct counters *c, const char *name)
{
    for (int i = 0; i < c->n; ++i) {
        if (0 == strcmp(name, c->name[i])) {
            return i;
        }
    }
    CHECK(0, "no counter %s", name);
    return 0;
}

static void get(int times, MPI_Win win)
{
    int value = 0;

    for (int i = 0; i < times; ++i) {
        OK(MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(1, win));
    }
}

int main(int argc, char **argv)
{
    struct counters a, b;
    MPI_Win win;
    int *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, sizeof(int), sizeof(int), &base);
    *base = test_rank;
    OK(MPI_Win_lock_all(0, win));
    test_barrier();
    if (0 == test_rank) {
        int hits, gets, entries;

        counters_open(&a, &win);
        counters_open(&b, &win);
        hits = index_of(&a, "hits");
        gets = index_of(&a, "gets");
        entries = index_of(&a, "index_entries");
        get(8, win);
        CHECK(7 == counters_read(&a, hits) && 8 == counters_read(&a, gets), "%lu hits of %lu gets",
              counters_read(&a, hits), counters_read(&a, gets));
        OK(MPI_T_pvar_reset(counters_session, a.handle[hits]));
        CHECK(0 == counters_read(&a, hits), "%lu hits after the reset", counters_read(&a, hits));
        get(3, win);
        CHECK(3 == counters_read(&a, hits), "%lu hits since the reset", counters_read(&a, hits));
        CHECK(11 == counters_read(&a, gets), "%lu gets", counters_read(&a, gets));
        CHECK(10 == counters_read(&b, hits), "another handle: %lu hits", counters_read(&b, hits));
        CHECK(1 == counters_read(&a, entries), "%lu entries", counters_read(&a, entries));
        counters_close(&a);
        counters_close(&b);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
