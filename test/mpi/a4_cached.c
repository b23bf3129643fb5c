/* A4: flush_local fills the entries of gets, before the user has the buffer back, and ends no life.
 * test: for=osc-cached needs=cache cache="passive_scope=flush" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 100 };

static void fetch(MPI_Win win, int local)
{
    int buf[N];

    memset(buf, 0x55, sizeof(buf));
    OK(MPI_Get(buf, N, MPI_INT, 1, 0, N, MPI_INT, win));
    switch (local) {
    case 0:
        OK(MPI_Win_flush(1, win));
        break;
    case 1:
        OK(MPI_Win_flush_local(1, win));
        break;
    case 2:
        OK(MPI_Win_flush_local_all(win));
        break;
    default:
        OK(MPI_Win_flush_all(win));
    }
    for (int i = 0; i < N; ++i) {
        CHECK(700 + i == buf[i], "[%d] = %d", i, buf[i]);
    }
    memset(buf, 0xaa, sizeof(buf)); /* what is kept must not live here */
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"always", "user", "transparent"};
    int mine[N], *base;

    test_init(&argc, &argv);
    for (int k = 0; k < 3; ++k) {
        struct counters c;
        MPI_Win win = keyed_window(k % 2 ? mine : NULL, sizeof(mine), sizeof(int), &base,
                                   "ompi_osc_cached_mode", modes[k], NULL);

        counters_open(&c, &win);
        for (int i = 0; i < N; ++i) {
            base[i] = 700 + i;
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            for (int way = 1; way <= 2; ++way) {
                fetch(win, way);
                fetch(win, way);
            }
            COUNTS(&c, "direct", 1, "mode %s: local flushes", modes[k]);
            COUNTS(&c, "hits", 3, "mode %s: local flushes", modes[k]);
            /* a flush does end it, in mode transparent with passive_scope=flush */
            fetch(win, 0);
            fetch(win, 3);
            fetch(win, 1);
            COUNTS(&c, "direct", 2 == k ? 3 : 1, "mode %s: flushes", modes[k]);
            COUNTS(&c, "hits", 2 == k ? 4 : 6, "mode %s: flushes", modes[k]);
            OK(MPI_Win_sync(win));
            fetch(win, 1);
            COUNTS(&c, "direct", 2 == k ? 4 : 1, "mode %s: MPI_Win_sync", modes[k]);
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
