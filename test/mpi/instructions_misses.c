/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 makes N gets of 64 bytes, each with a flush, of each kind, for test/mpi/instructions to
 * count, which callgrind does from mark to mark: without a cache (off); hits; and what is missing:
 *
 *     direct    there is room
 *     kept      it takes the place of what was got once, long ago
 *     declined  what is there was got more often (duel)
 *
 * The kinds are printed in their order.
 */

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 64, GETS_MAX = 20000 };

void mark(void);

/* a function of its own, that callgrind can find */
__attribute__((__noinline__)) void mark(void)
{
    __asm__ volatile("");
}

static void get(MPI_Win win, int first, int count)
{
    static char buffer[BYTES];

    for (int i = first; i < first + count; ++i) {
        MPI_Get(buffer, BYTES, MPI_BYTE, 1, (MPI_Aint) i * BYTES, BYTES, MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
}

static void measure(MPI_Win win, int count, const char *scheme, const char *kind)
{
    mark();
    get(win, 0, count);
    mark(); /* not as the last thing, or it might be no call */
    printf("%s-%s\n", scheme, kind);
}

/* A window of which so many data fit into the cache. */
static MPI_Win open_window(const char *mode, const char *scheme, int fit)
{
    char memory[32], entries[32], *base;
    MPI_Info info;
    MPI_Win win;

    snprintf(memory, sizeof(memory), "%d", fit * BYTES);
    snprintf(entries, sizeof(entries), "%d", 2 * fit);
    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_osc_cached_mode", mode);
    MPI_Info_set(info, "ompi_osc_cached_scheme", scheme);
    MPI_Info_set(info, "ompi_osc_cached_memory", memory);
    MPI_Info_set(info, "ompi_osc_cached_entries", entries);
    MPI_Info_set(info, "ompi_osc_cached_adaptive", "false");
    MPI_Win_allocate((MPI_Aint) 2 * GETS_MAX * BYTES, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    return win;
}

static void close_window(MPI_Win win)
{
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void measure_scheme(const char *scheme, int count, int rank)
{
    MPI_Win win = open_window("always", scheme, 2 * count);

    if (0 == rank) {
        get(win, GETS_MAX, 1);
        measure(win, count, scheme, "direct");
        measure(win, count, scheme, "hit");
    }
    close_window(win);
    win = open_window("always", scheme, count);
    if (0 == rank) {
        get(win, GETS_MAX, count);
        measure(win, count, scheme, "kept");
    }
    close_window(win);
    win = open_window("always", scheme, count);
    if (0 == rank && 0 == strcmp(scheme, "duel")) {
        for (int i = 0; i < 4; ++i) {
            get(win, GETS_MAX, count);
        }
        measure(win, count, scheme, "declined");
    }
    close_window(win);
}

int main(int argc, char **argv)
{
    int count = 2 <= argc ? atoi(argv[1]) : 0, rank;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (count < 1 || GETS_MAX < count) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    win = open_window("off", "duel", count);
    if (0 == rank) {
        get(win, GETS_MAX, 1);
        measure(win, count, "no", "cache");
    }
    close_window(win);
    measure_scheme("duel", count, rank);
    measure_scheme("full", count, rank);
    MPI_Finalize();
    return 0;
}
