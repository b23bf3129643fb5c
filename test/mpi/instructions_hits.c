/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 makes N hits, each a get and a flush, for test/mpi/instructions to count. The second
 * argument is a number of windows beside the one that is used: their memory lies behind the
 * buffer, the memory of the one that is used before it. With a third argument the program may use
 * several threads.
 */

#include <mpi.h>

#include <stdlib.h>

enum { ELEMENTS = 64, WINDOWS_MAX = 4096 };

static struct {
    double window[ELEMENTS];
    double buffer[ELEMENTS];
    double others[WINDOWS_MAX];
} memory;

void get_all(MPI_Win win, int count);

/* a function of its own, that callgrind can find */
__attribute__((__noinline__)) void get_all(MPI_Win win, int count)
{
    for (int i = 0; i < count; ++i) {
        int at = i % ELEMENTS;

        MPI_Get(&memory.buffer[at], 1, MPI_DOUBLE, 1, at, 1, MPI_DOUBLE, win);
        MPI_Win_flush(1, win);
    }
}

int main(int argc, char **argv)
{
    int count = 2 <= argc ? atoi(argv[1]) : 0, others = 3 <= argc ? atoi(argv[2]) : 0, rank;
    int level = 4 <= argc ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Win win, *more;

    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(memory.window, sizeof(memory.window), sizeof(double), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    more = malloc((size_t) (others + 1) * sizeof(*more));
    for (int i = 0; i < others; ++i) {
        MPI_Win_create(&memory.others[i % WINDOWS_MAX], sizeof(double), sizeof(double),
                       MPI_INFO_NULL, MPI_COMM_WORLD, &more[i]);
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    if (0 == rank) {
        for (int at = 0; at < ELEMENTS; ++at) {
            MPI_Get(&memory.buffer[at], 1, MPI_DOUBLE, 1, at, 1, MPI_DOUBLE, win);
        }
        MPI_Win_flush(1, win);
        get_all(win, count);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* who frees a window withdraws copies of its memory */
    MPI_Win_unlock_all(win);
    for (int i = 0; i < others; ++i) {
        MPI_Win_free(&more[i]);
    }
    free(more);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
