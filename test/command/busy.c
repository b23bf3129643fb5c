/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the same data of its neighbour again and again, until the file named on the command line
 * exists. The window is called "table".
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { VALUES = 1000 };

int main(int argc, char **argv)
{
    static long memory[VALUES], got[VALUES];
    int rank, size, stop = argc < 2;
    MPI_Win window;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(memory, sizeof(memory), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_name(window, "table");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    while (!stop) {
        for (int i = 0; i < VALUES; i += 10) {
            MPI_Get(&got[i], 10, MPI_LONG, (rank + 1) % size, i, 10, MPI_LONG, window);
        }
        MPI_Win_flush_all(window);
        (void) usleep(1000);
        stop = 0 == access(argv[1], F_OK);
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
