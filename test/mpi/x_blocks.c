/* Block fetch: a small get that is missing fetches the aligned block around it, cut at the window's
 * end, whatever the displacement unit is; gets inside are hits, or wait for it. Not in mode
 * transparent, not for a get in two blocks, and an invalidation ends it as all else.
 *
 * test: for=osc-cached needs=cache cache="mode=always block_fetch=256" ranks=2,4 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { BYTES = 1000, N = 8 };

static const int units[] = {1, 1, 8, 24}; /* by rank; the last one divides no block */
static struct counters c;
static MPI_Win win;

static unsigned char value(int rank, int round, int at)
{
    return (unsigned char) (at * 7 + (at >> 8) * 3 + rank * 31 + round * 101);
}

static void get(unsigned char *buffer, int t, int at)
{
    memset(buffer, 0xa5, N + 8);
    OK(MPI_Get(buffer, N, MPI_BYTE, t, at / units[t], N, MPI_BYTE, win));
}

static void check(const unsigned char *buffer, int t, int round, int at)
{
    for (int i = 0; i < N; ++i) {
        CHECK(value(t, round, at + i) == buffer[i], "target %d: byte %d is %d, not %d", t, at + i,
              buffer[i], value(t, round, at + i));
    }
    CHECK(0xa5 == buffer[N], "target %d: more than was asked for", t);
}

/* One get of bytes at an address, which fetches so many bytes, and hits or does not. */
static void fetch(int t, int round, int at, unsigned long bytes, unsigned long hits)
{
    unsigned char buffer[N + 8];
    unsigned long fetched = counter(&c, "bytes_fetched") + bytes, hit = counter(&c, "hits") + hits;

    get(buffer, t, at);
    OK(MPI_Win_flush(t, win));
    check(buffer, t, round, at);
    COUNTS(&c, "bytes_fetched", fetched, "get of %d from %d", at, t);
    COUNTS(&c, "hits", hit, "get of %d from %d", at, t);
}

static void fetch_all(int t, int round)
{
    unsigned char first[N + 8], second[N + 8];
    unsigned long blocks = counter(&c, "block_fetches"), joins = counter(&c, "joins");

    fetch(t, round, 48, 256, 0);
    fetch(t, round, 0, 0, 1);
    fetch(t, round, 240, 0, 1);
    fetch(t, round, 192, 0, 1);
    COUNTS(&c, "block_fetches", blocks + 1, "target %d", t);
    get(first, t, 264);
    get(second, t, 480); /* on its way */
    COUNTS(&c, "joins", joins + 1, "target %d", t);
    OK(MPI_Win_flush(t, win));
    check(first, t, round, 264);
    check(second, t, round, 480);
    fetch(t, round, 984, BYTES - 768, 0); /* the window ends */
    fetch(t, round, 792, 0, 1);
    COUNTS(&c, "block_fetches", blocks + 3, "target %d", t);
    if (1 == units[t]) {
        fetch(t, round, 764, N, 0); /* in two blocks */
        fetch(t, round, 764, 0, 1);
        fetch(t, round, BYTES - N, 0, 1);
        COUNTS(&c, "block_fetches", blocks + 3, "target %d", t);
    }
}

static void fill(unsigned char *base, int round)
{
    for (int i = 0; 0 < test_rank && i < BYTES; ++i) {
        base[i] = value(test_rank, round, i);
    }
    test_barrier();
}

int main(int argc, char **argv)
{
    unsigned char *base;
    unsigned long blocks;

    test_init(&argc, &argv);
    /* rank 0 has no memory in the window, and is no target */
    win = test_win_make(NULL, (0 == test_rank) ? 0 : BYTES, units[test_rank], &base);
    counters_open(&c, &win);
    fill(base, 0);
    OK(MPI_Win_lock_all(0, win));
    for (int t = 1; 0 == test_rank && t < test_size; ++t) {
        fetch_all(t, 0);
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();

    test_set_key(win, "ompi_osc_cached_mode", "user");
    fill(base, 1);
    test_set_key(win, "ompi_osc_cached_invalidate", "true");
    OK(MPI_Win_lock_all(0, win));
    for (int t = 1; 0 == test_rank && t < test_size; ++t) {
        fetch_all(t, 1);
    }
    OK(MPI_Win_unlock_all(win));

    test_set_key(win, "ompi_osc_cached_block_fetch", "0");
    test_set_key(win, "ompi_osc_cached_invalidate", "true");
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        fetch(1, 1, 48, N, 0);
    }
    OK(MPI_Win_unlock_all(win));

    test_set_key(win, "ompi_osc_cached_block_fetch", "512");
    test_set_key(win, "ompi_osc_cached_mode", "transparent");
    blocks = counter(&c, "block_fetches");
    OK(MPI_Win_fence(0, win));
    if (0 == test_rank) {
        unsigned char buffer[N + 8];

        get(buffer, 1, 48);
        OK(MPI_Win_fence(0, win));
        check(buffer, 1, 1, 48);
        COUNTS(&c, "block_fetches", blocks, "mode transparent");
    } else {
        OK(MPI_Win_fence(0, win));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
