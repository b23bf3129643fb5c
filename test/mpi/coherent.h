/*
 * What the tests of coherence share: windows, reads that are kept after some time, and tokens that
 * tell a rank that something has happened, by a message and nothing else.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_COHERENT_H
#define OMPI_LOCALITY_COHERENT_H

#include "counters.h"

#include <unistd.h>

/* More reads of a block than a process needs to become a sharer of it, with notes on their way. */
enum { COHERENT_READS = 100000 };

/* A window of `words` longs that are 0, in memory that others cannot map, and its counters. */
__attribute__((unused)) static void coherent_window(MPI_Win *win, int words, long **base,
                                                    struct counters *c)
{
    OK(MPI_Alloc_mem(words * sizeof(long), MPI_INFO_NULL, base));
    memset(*base, 0, words * sizeof(long));
    *win = test_win_make(*base, words * sizeof(long), sizeof(long), base);
    counters_open(c, win);
    test_barrier();
}

__attribute__((unused)) static long coherent_get(MPI_Win win, int target, MPI_Aint disp)
{
    long got = -1;

    OK(MPI_Get(&got, 1, MPI_LONG, target, disp, 1, MPI_LONG, win));
    OK(MPI_Win_flush(target, win));
    return got;
}

/* Read until it is a hit; false: it never is. In a passive epoch. */
__attribute__((unused)) static int coherent_warm(MPI_Win win, struct counters *c, int target,
                                                 MPI_Aint disp, long wanted)
{
    unsigned long hits = counter(c, "hits");

    for (int i = 0; i < COHERENT_READS && counter(c, "hits") == hits; ++i) {
        long got = coherent_get(win, target, disp);

        CHECK(wanted == got, "read %d of %d:%ld: %ld, wanted %ld", i, target, (long) disp, got,
              wanted);
    }
    return counter(c, "hits") > hits;
}

/* Tell a rank, and be told. */
__attribute__((unused)) static void coherent_tell(int rank)
{
    OK(MPI_Send(NULL, 0, MPI_INT, rank, 99, MPI_COMM_WORLD));
}

__attribute__((unused)) static void coherent_hear(int rank)
{
    OK(MPI_Recv(NULL, 0, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Wait until a process of this node is stopped: it may be late, and answers others until then. */
__attribute__((unused)) static void coherent_stopped(int process)
{
    char path[64], state = ' ';

    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    while ('T' != state) {
        FILE *file = fopen(path, "r");

        CHECK(NULL != file && 1 == fscanf(file, "%*d (%*[^)]) %c", &state), "no %s", path);
        if (NULL == file) {
            return;
        }
        fclose(file);
        usleep(1000);
    }
}

/* The value of a key of a window; "" without. */
__attribute__((unused)) static const char *coherent_key(MPI_Win win, const char *key)
{
    static char value[64];
    int flag = 0;
    MPI_Info info;

    memset(value, 0, sizeof(value));
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, (char *) key, sizeof(value) - 1, value, &flag));
    OK(MPI_Info_free(&info));
    return flag ? value : "";
}

/* Whether there is coherence at all: in mode transparent, too, the window has blocks. */
__attribute__((unused)) static int coherent_is(MPI_Win win)
{
    return 0 != atoi(coherent_key(win, "ompi_osc_cached_block"));
}

/* Over all ranks. */
__attribute__((unused)) static unsigned long coherent_sum(struct counters *c, const char *name)
{
    unsigned long mine = counter(c, name), all = 0;

    OK(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

#endif /* OMPI_LOCALITY_COHERENT_H */
