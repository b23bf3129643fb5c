/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of somebody who has not heard of any cache: each process looks up entries of a table
 * that the next process has.
 */
#include <mpi.h>
#include <stdio.h>

enum { ENTRIES = 100, LOOKUPS = 2000 };

int main(int argc, char **argv)
{
    int rank, size, next;
    long *table, entry, sum = 0;
    unsigned state = 1;
    double start;
    MPI_Win window;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    MPI_Win_allocate(ENTRIES * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &table,
                     &window);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < ENTRIES; ++i) {
        table[i] = 1000L * i + rank;
    }
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < LOOKUPS; ++i) {
        state = 1103515245u * state + 12345u;
        MPI_Get(&entry, 1, MPI_LONG, next, state / 65536u % ENTRIES, 1, MPI_LONG, window);
        MPI_Win_flush(next, window);
        sum += entry;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (0 == rank) {
        printf("seconds %.6f\n", MPI_Wtime() - start);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (0 == rank) {
        printf("result %ld\n", sum);
    }
    MPI_Finalize();
    return 0;
}
