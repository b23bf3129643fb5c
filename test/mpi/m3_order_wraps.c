/* M3: the order of receives survives 2^32 of them.
 * test: for=pml ranks=1 transport=shm limit=1800
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives for any source and for this one in turn, with numbers from just below to just above
 * 2^32: messages must find them in the order in which they were posted (O5). Every probe takes a
 * number, as a receive does. Ten minutes, so only when LOCALITY_LONG_TESTS is set.
 */
#include "test.h"

enum { N = 200 };

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request requests[N];
    int flag = 0, in[N];

    test_init(&argc, &argv);
    if (NULL == getenv("LOCALITY_LONG_TESTS")) {
        test_skip("takes ten minutes; LOCALITY_LONG_TESTS=1 runs it");
    }
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Send(NULL, 0, MPI_INT, 0, 7, comm)); /* a probe that finds something is the fastest */
    for (long long i = 0; i < (1LL << 32) - N / 2; ++i) {
        MPI_Iprobe(0, 7, comm, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(flag, "no message");
    for (int i = 0; i < N; ++i) {
        OK(MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, 1, comm, &requests[i]));
    }
    for (int i = 0; i < N; ++i) {
        OK(MPI_Send(&i, 1, MPI_INT, 0, 1, comm));
    }
    OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; ++i) {
        CHECK(i == in[i], "receive %d got message %d", i, in[i]);
    }
    OK(MPI_Recv(NULL, 0, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
    return test_done();
}
