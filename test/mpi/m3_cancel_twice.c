/* M3: a receive may be cancelled twice, and others are matched as if it had never been.
 * test: for=pml-llamatch ranks=1,2 transport=shm limit=60
 * test: for=pml-llamatch mca="pml_llamatch_engine=hash" ranks=1 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 200 };

int main(int argc, char **argv)
{
    MPI_Request requests[N];
    MPI_Status status;
    int values[N], cancelled;

    test_init(&argc, &argv);
    for (int i = 0; i < N; ++i) {
        values[i] = -1;
        OK(MPI_Irecv(&values[i], 1, MPI_INT, test_rank, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < N; i += 2) {
        OK(MPI_Cancel(&requests[i]));
        OK(MPI_Cancel(&requests[i]));
    }
    for (int i = 1; i < N; i += 2) {
        OK(MPI_Send(&i, 1, MPI_INT, test_rank, i, MPI_COMM_WORLD));
    }
    for (int i = 0; i < N; ++i) {
        OK(MPI_Wait(&requests[i], &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        CHECK((0 == i % 2) == !!cancelled, "receive %d: cancelled is %d", i, cancelled);
        CHECK((cancelled ? -1 : i) == values[i], "receive %d got %d", i, values[i]);
    }
    return test_done();
}
