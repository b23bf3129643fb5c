/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes and frees N windows, one after the other, or with a second argument all together, with a get
 * from the next process in each, for test/mpi/instructions to count.
 */

#include <mpi.h>

#include <stdlib.h>

enum { WINDOWS_MAX = 256 };

int main(int argc, char **argv)
{
    static double memory[1024];
    static MPI_Win wins[WINDOWS_MAX];
    int windows = (1 < argc) ? atoi(argv[1]) : 1, at_once = (2 < argc) ? windows : 1;
    int rank, size;
    double word;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < windows; i += at_once) {
        for (int k = 0; k < at_once && k < WINDOWS_MAX; ++k) {
            MPI_Win_create(memory, sizeof(memory), sizeof(memory[0]), MPI_INFO_NULL, MPI_COMM_WORLD,
                           &wins[k]);
            MPI_Win_fence(0, wins[k]);
            MPI_Get(&word, 1, MPI_DOUBLE, (rank + 1) % size, k, 1, MPI_DOUBLE, wins[k]);
            MPI_Win_fence(0, wins[k]);
        }
        for (int k = 0; k < at_once && k < WINDOWS_MAX; ++k) {
            MPI_Win_free(&wins[k]);
        }
    }
    return MPI_Finalize();
}
