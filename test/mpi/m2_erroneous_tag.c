/* Rule M2: a message whose tag is that of MPI_ANY_TAG, which only a program without argument checks
 * can send, waits for ever, and the others are received.
 *
 * test: for=pml ranks=2 transport=shm mca="mpi_param_check=0"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

int main(int argc, char **argv)
{
    int value, found = 0;

    test_init(&argc, &argv);
    if (1 == test_rank) {
        for (int i = 0; i < 3; ++i) {
            value = i;
            OK(MPI_Send(&value, 1, MPI_INT, 0, (1 == i) ? -1 : i, MPI_COMM_WORLD));
        }
    }
    test_barrier();
    if (0 == test_rank) {
        for (int i = 0; i < 3; i += 2) {
            OK(MPI_Recv(&value, 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(i == value, "%d was received, not %d", value, i);
        }
        OK(MPI_Iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
        CHECK(!found, "there is something for any tag");
    }
    return test_done();
}
