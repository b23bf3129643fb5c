/* E2: what a process of the node has fetched is a hit for the others, once it is complete. With "private": not in mode
 * transparent, in passive epochs that are coherent by default either.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=user share=on" ranks=3 transport=shm limit=60
 * test: for=osc-cached needs=cache cache="mode=always share=on verify=2" ranks=3 transport=shm limit=60
 * test: for=osc-cached needs=cache cache="mode=always" ranks=3 transport=shm limit=60
 * test: for=osc-cached needs=cache cache="mode=transparent share=on" ranks=3 transport=shm limit=60 args=private
 * test: for=osc-cached needs=cache cache="mode=transparent share=on helper=on" ranks=4 transport=shm,tcp limit=60 args=private
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { N = 64, LONGS = 40 * N };

static int mate, last; /* of rank 0's node, the target */

static void fetch_all(MPI_Win win)
{
    for (int i = 0; i < N; ++i) {
        long got[8] = {0};

        OK(MPI_Get(got, 8, MPI_LONG, last, 40 * i, 8, MPI_LONG, win));
        OK(MPI_Win_flush(last, win));
        for (int j = 0; j < 8; ++j) {
            CHECK(1000L * last + 40 * i + j == got[j], "%ld at %d", got[j], 40 * i + j);
        }
    }
}

/* Other sizes, other types, and with a request. */
static void fetch_others(MPI_Win win, struct counters *c)
{
    unsigned long before = counter(c, "node_hits");
    long got[16];
    MPI_Datatype every_second;
    MPI_Request request;

    OK(MPI_Type_vector(4, 1, 2, MPI_LONG, &every_second));
    OK(MPI_Type_commit(&every_second));
    memset(got, 0, sizeof(got));
    OK(MPI_Get(got, 4, MPI_LONG, last, 40, 4, MPI_LONG, win)); /* fewer bytes */
    OK(MPI_Get(got + 4, 1, every_second, last, 40, 4, MPI_LONG, win));
    OK(MPI_Rget(got + 12, 4, MPI_LONG, last, 80, 4, MPI_LONG, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(last, win));
    for (int j = 0; j < 4; ++j) {
        CHECK(1000L * last + 40 + j == got[j], "fewer: %ld", got[j]);
        CHECK(1000L * last + 40 + j == got[4 + 2 * j], "with a type: %ld", got[4 + 2 * j]);
        CHECK(1000L * last + 80 + j == got[12 + j], "with a request: %ld", got[12 + j]);
    }
    CHECK(0 == got[5] && 0 == got[7], "gaps: %ld %ld", got[5], got[7]);
    COUNTS(c, "node_hits", before + 3, "of these");
    OK(MPI_Get(got, 16, MPI_LONG, last, 40, 16, MPI_LONG, win)); /* more than there is */
    OK(MPI_Win_flush(last, win));
    for (int j = 0; j < 16; ++j) {
        CHECK(1000L * last + 40 + j == got[j], "more: %ld", got[j]);
    }
    OK(MPI_Type_free(&every_second));
}

static void open_window(const char *wish, MPI_Win *win, struct counters *c)
{
    long *base;

    *win = keyed_window(NULL, sizeof(long[LONGS]), sizeof(long), &base, "ompi_osc_cached_share",
                        wish, NULL);
    counters_open(c, win);
    for (int i = 0; i < LONGS; ++i) {
        base[i] = 1000L * test_rank + i;
    }
    OK(MPI_Win_lock_all(0, *win));
    OK(MPI_Win_sync(*win));
    test_barrier();
}

static void close_window(MPI_Win *win, struct counters *c)
{
    counters_add_up(c);
    OK(MPI_Win_unlock_all(*win));
    counters_close(c);
    OK(MPI_Win_free(win));
}

static void one_window(const char *wish)
{
    int shares = 0 == strcmp("on", wish);
    const char *value;
    struct counters c;
    MPI_Win win;

    open_window(wish, &win, &c);
    value = coherent_key(win, "ompi_osc_cached_share");
    CHECK(0 == strcmp(wish, value), "the key says %s", value);
    if (0 == test_rank) {
        fetch_all(win);
        COUNTS(&c, "node_hits", 0, "nobody has fetched anything");
    }
    test_barrier();
    if (mate == test_rank) {
        fetch_all(win);
        COUNTS(&c, "node_hits", shares ? N : 0, "the other has fetched all");
        COUNTS(&c, "hits", shares ? N : 0, "the same");
        if (shares) {
            fetch_others(win, &c);
            CHECK(0 < counter(&c, "node_bytes"), "the segment has no memory");
        }
        COUNTS(&c, "node_recoveries", 0, "nobody has died");
    }
    test_barrier();
    if (0 == test_rank) {
        fetch_all(win);
        COUNTS(&c, "hits", N, "again");
        COUNTS(&c, "node_hits", shares ? N : 0, "again");
    }
    close_window(&win, &c);
}

/* Each process of the node has to fetch everything. */
static void nobody_shares(void)
{
    struct counters c;
    MPI_Win win;

    open_window("on", &win, &c);
    for (int reader = 0; reader < 2; ++reader) {
        if ((0 == reader ? 0 : mate) == test_rank) {
            fetch_all(win);
            COUNTS(&c, "hits", 0, "the first time");
            /* not the ends, which may be in pages that are not the window's alone */
            CHECK(!coherent_is(win)
                      || coherent_warm(win, &c, last, LONGS / 2, 1000L * last + LONGS / 2),
                  "no hit");
            fetch_all(win);
            COUNTS(&c, "node_hits", 0, "mode transparent");
        }
        test_barrier();
    }
    close_window(&win, &c);
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    mate = test_mate();
    last = test_size - 1;
    if (1 < argc) {
        nobody_shares();
        return test_done();
    }
    one_window("on");
    one_window("off");
    one_window("on");
    return test_done();
}
