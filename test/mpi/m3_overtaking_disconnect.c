/* M3: a communicator with mpi_assert_allow_overtaking can be disconnected like any other.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=20
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Open MPI 5.0.7 takes the hint for the mark of a communicator with another job's processes.
 */
#include "test.h"

#include "overtaking.h"

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    for (int round = 0; round < 3; ++round) {
        MPI_Comm comm = with_overtaking(MPI_COMM_WORLD);

        collectives(comm, round);
        OK(MPI_Comm_disconnect(&comm));
        CHECK(MPI_COMM_NULL == comm, "round %d: still there", round);
    }
    return test_done();
}
