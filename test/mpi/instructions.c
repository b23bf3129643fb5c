/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 calls some MPI functions N times each, for test/mpi/instructions to count. The target is
 * the process itself: no waiting, the same instructions every time. The words after N ask for
 * MPI_THREAD_MULTIPLE (multiple) and for another window than MPI_Win_allocate's (create, shared).
 */

#include <mpi.h>

#include <stdlib.h>
#include <string.h>

static MPI_Win win;
static double buffer, result, exposed;

static void call_get(void)
{
    MPI_Get(&buffer, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
}

static void call_put(void)
{
    MPI_Put(&buffer, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
}

static void call_rget(void)
{
    MPI_Request request;

    MPI_Rget(&buffer, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void call_get_accumulate(void)
{
    MPI_Get_accumulate(&buffer, 1, MPI_DOUBLE, &result, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM,
                       win);
}

static void call_flush(void)
{
    MPI_Win_flush(0, win);
}

static void call_flush_all(void)
{
    MPI_Win_flush_all(win);
}

static void call_sync(void)
{
    MPI_Win_sync(win);
}

int main(int argc, char **argv)
{
    void (*const calls[])(void) = {call_get,   call_put,       call_rget, call_get_accumulate,
                                   call_flush, call_flush_all, call_sync};
    int level = MPI_THREAD_SINGLE, create = 0, shared = 0, rank;
    int count = 2 <= argc ? atoi(argv[1]) : 0;
    double *base;

    for (int i = 2; i < argc; ++i) {
        level = 0 == strcmp("multiple", argv[i]) ? MPI_THREAD_MULTIPLE : level;
        create |= 0 == strcmp("create", argv[i]);
        shared |= 0 == strcmp("shared", argv[i]);
    }
    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (create) {
        MPI_Win_create(&exposed, sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else if (shared) {
        MPI_Win_allocate_shared(sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                                &win);
    } else {
        MPI_Win_allocate(sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (size_t c = 0; 0 == rank && c < sizeof(calls) / sizeof(calls[0]); ++c) {
        for (int i = 0; i < count; ++i) {
            calls[c]();
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
