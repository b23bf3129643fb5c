/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 makes N puts and gets of 8 bytes, each with a flush, that the inner component does, of
 * windows without and with a helper, for test/mpi/instructions to count, which callgrind does from
 * mark to mark. The kinds are printed in their order.
 *
 * Memory that is reached without its process is recognised by its speed, which it does not have
 * under callgrind: so the clock goes slower, too.
 */

#define _GNU_SOURCE
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 100 }; /* until it is known how the memory is reached */

/* In the place of libc's: 1000 times slower. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    long result = syscall(SYS_clock_gettime, clock, time);
    uint64_t ns = ((uint64_t) time->tv_sec * 1000000000 + (uint64_t) time->tv_nsec) / 1000;

    time->tv_sec = (time_t) (ns / 1000000000);
    time->tv_nsec = (long) (ns % 1000000000);
    return (int) result;
}

void mark(void);

/* a function of its own, that callgrind can find */
__attribute__((__noinline__)) void mark(void)
{
    __asm__ volatile("");
}

static void move(MPI_Win win, int count, int puts)
{
    static double buffer;

    for (int i = 0; i < count; ++i) {
        if (puts) {
            MPI_Put(&buffer, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win);
        } else {
            MPI_Get(&buffer, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win);
        }
        MPI_Win_flush(1, win);
    }
}

static void use_window(const char *helper, int count, int rank)
{
    double *base;
    MPI_Info info;
    MPI_Win win;

    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_osc_cached_helper", helper);
    MPI_Win_allocate((MPI_Aint) sizeof(double), sizeof(double), info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    MPI_Win_lock_all(0, win);
    for (int puts = 0; puts < 2 && 0 == rank; ++puts) {
        move(win, WARM, puts);
        mark();
        move(win, count, puts);
        mark(); /* not as the last thing, or it might be no call */
        printf("%s-%s\n", helper, puts ? "put" : "get");
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int count = 2 <= argc ? atoi(argv[1]) : 0, rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    use_window("off", count, rank);
    use_window("on", count, rank);
    MPI_Finalize();
    return 0;
}
