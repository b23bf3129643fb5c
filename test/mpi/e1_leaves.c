/* E1: a process of a node is in MPI_Win_free already while another one hits in their cache, keeps data there, lets it grow,
 * and, in mode coherent, sees what a third one stores. First the process that has made the segment is early, then the
 * other one. They have two windows, which are freed one after the other.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=user share=on" ranks=3 transport=shm limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=4 transport=shm,tcp limit=60 args=coherent
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WINDOWS = 2, GETS = 2048, EACH = 24, LONGS = GETS * EACH, FIRST = 256, STORES = 5 };

static MPI_Win win[WINDOWS];
static struct counters c[WINDOWS];
static long *base[WINDOWS];
static int early, late, last; /* the last rank has the data */
static MPI_Comm rest;         /* without the early one */

static void fetch(int w, int gets)
{
    for (int i = 0; i < gets; ++i) {
        long got[EACH] = {0};

        OK(MPI_Get(got, EACH, MPI_LONG, last, EACH * i, EACH, MPI_LONG, win[w]));
        OK(MPI_Win_flush(last, win[w]));
        for (int j = 0; j < EACH; ++j) {
            CHECK(7000L * last + EACH * i + j == got[j], "%ld at %d", got[j], EACH * i + j);
        }
    }
}

/* What both have, then more than the segment has room for at first. */
static void use(int w)
{
    unsigned long before = counter(&c[w], "node_hits"), bytes = counter(&c[w], "node_bytes"), hits;

    OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win[w]));
    fetch(w, FIRST);
    hits = counter(&c[w], "node_hits") - before;
    CHECK(FIRST / 8 * 7 < hits, "%lu hits of the %d that both have", hits, FIRST);
    fetch(w, GETS);
    fetch(w, GETS);
    hits = counter(&c[w], "node_hits") - before;
    CHECK(FIRST + GETS < hits, "%lu hits: nothing more is kept", hits);
    CHECK(0 < w || bytes < counter(&c[w], "node_bytes"), "the segment has not grown");
    OK(MPI_Win_unlock(last, win[w]));
}

/* Mode coherent: the owner stores; the late one has, or fetches, what is there. */
static void see_stores(int w)
{
    for (long i = 1; i <= STORES; ++i) {
        if (last == test_rank) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win[w]));
            *base[w] = i;
            OK(MPI_Win_unlock(last, win[w]));
        }
        OK(MPI_Barrier(rest));
        if (late == test_rank) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win[w]));
            CHECK(i == coherent_get(win[w], last, 0), "an old value");
            CHECK(coherent_warm(win[w], &c[w], last, 0, i), "no hit after store %ld", i);
            OK(MPI_Win_unlock(last, win[w]));
        }
        OK(MPI_Barrier(rest));
    }
}

/* Both have something of each window; in mode coherent it was the early one that has asked the
 * owner. */
static void begin(int w, int coherent)
{
    unsigned long hits;

    for (int reader = 0; reader < 2; ++reader) {
        if ((0 == reader ? early : late) == test_rank) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win[w]));
            if (!coherent) {
                fetch(w, FIRST);
            } else {
                CHECK(coherent_warm(win[w], &c[w], last, 0, 0), "never a hit");
            }
            hits = counter(&c[w], "node_hits");
            CHECK((0 == reader && !coherent) || 0 < hits, "nothing was shared");
            OK(MPI_Win_unlock(last, win[w]));
        }
        test_barrier();
    }
}

static void one_is_early(int coherent)
{
    OK(MPI_Comm_split(MPI_COMM_WORLD, early == test_rank, 0, &rest));
    for (int w = 0; w < WINDOWS; ++w) {
        win[w] = test_win_make(NULL, sizeof(long[LONGS]), sizeof(long), &base[w]);
        counters_open(&c[w], &win[w]);
        for (int i = 0; i < LONGS; ++i) {
            base[w][i] = coherent ? 0 : 7000L * test_rank + i;
        }
        test_barrier();
        begin(w, coherent);
    }
    for (int w = 0; w < WINDOWS; ++w) {
        if (early != test_rank) {
            usleep(50000); /* the early one waits in MPI_Win_free */
            for (int used = w; used < WINDOWS; ++used) {
                if (coherent) {
                    see_stores(used);
                } else if (late == test_rank) {
                    use(used);
                }
            }
            OK(MPI_Barrier(rest));
        }
        counters_close(&c[w]);
        OK(MPI_Win_free(&win[w]));
    }
    OK(MPI_Comm_free(&rest));
}

int main(int argc, char **argv)
{
    int mate;

    test_init(&argc, &argv);
    last = test_size - 1;
    mate = test_mate();
    if (mate >= last) {
        test_skip("the first process shares a cache with no other one, or with the last one only");
    } else {
        early = 0;
        late = mate;
        one_is_early(1 < argc);
        early = mate;
        late = 0;
        one_is_early(1 < argc);
    }
    return test_done();
}
