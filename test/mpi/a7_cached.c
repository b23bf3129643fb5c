/* A7: fewer bytes at an address are a hit, more bytes a partial hit that fetches only the rest, and
 * neither datatype nor disp_unit matters.
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2,3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { BYTES = 4096 };

static unsigned char value(int rank, int at)
{
    return (unsigned char) (at * 7 + (at >> 8) * 3 + rank * 31);
}

static void fetch(MPI_Win win, int t, int at, int n, MPI_Datatype type)
{
    unsigned char buf[BYTES + 16];
    int size;

    MPI_Type_size(type, &size);
    memset(buf, 0xa5, sizeof(buf));
    OK(MPI_Get(buf + 8, n / size, type, t, at >> t, n / size, type, win));
    OK(MPI_Win_flush(t, win));
    for (int i = 0; i < n; ++i) {
        CHECK(value(t, at + i) == buf[8 + i], "target %d, %d bytes at %d: byte %d is %d", t, n, at,
              i, buf[8 + i]);
    }
    for (int i = 0; i < 8; ++i) {
        CHECK(0xa5 == buf[i] && 0xa5 == buf[8 + n + i], "target %d, %d bytes at %d: overrun", t, n,
              at);
    }
}

int main(int argc, char **argv)
{
    unsigned char *base;
    struct counters c;
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, BYTES, 1 << test_rank, &base);
    counters_open(&c, &win);
    for (int i = 0; i < BYTES; ++i) {
        base[i] = value(test_rank, i);
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int t = 1; 0 == test_rank && t < test_size; ++t) {
        unsigned long before = t - 1;

        fetch(win, t, 64, 256, MPI_BYTE);
        COUNTS(&c, "bytes_fetched", before * 640 + 256, "the first get from target %d", t);
        COUNTS(&c, "direct", before + 1, "the first get from target %d", t);
        fetch(win, t, 64, 256, MPI_DOUBLE);
        fetch(win, t, 64, 256, MPI_SHORT);
        fetch(win, t, 64, 8, MPI_INT);
        fetch(win, t, 64, 255, MPI_BYTE);
        COUNTS(&c, "hits", before * 7 + 4, "as much or less, target %d", t);
        COUNTS(&c, "bytes_fetched", before * 640 + 256, "as much or less, target %d", t);
        fetch(win, t, 64, 640, MPI_INT);
        COUNTS(&c, "partial_hits", before + 1, "more, target %d", t);
        COUNTS(&c, "bytes_fetched", before * 640 + 640, "more, target %d: only the rest", t);
        fetch(win, t, 64, 640, MPI_BYTE);
        fetch(win, t, 64, 400, MPI_LONG);
        fetch(win, t, 64, 256, MPI_LONG);
        COUNTS(&c, "hits", before * 7 + 7, "again, target %d", t);
        COUNTS(&c, "bytes_fetched", before * 640 + 640, "again, target %d", t);
    }
    if (0 == test_rank) {
        counters_add_up(&c);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
