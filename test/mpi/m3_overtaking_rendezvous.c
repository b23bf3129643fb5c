/* M3: overtaking messages of every protocol leave collectives working.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=20
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver that counts rendezvous and synchronous messages, which a sender under the hint does
 * not, waits for ever for the first message of the next collective (O1). Open MPI 5.0.7 does not
 * honour the hint, which hides this.
 */
#include "test.h"

#include "overtaking.h"

int main(int argc, char **argv)
{
    static int out[100000], in[100000];
    int left, right;
    MPI_Comm comm;

    test_init(&argc, &argv);
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    comm = with_overtaking(MPI_COMM_WORLD);
    for (int round = 0; round < 20; ++round) {
        int count = round % 2 ? 100000 : 1;
        MPI_Request requests[2];

        out[0] = out[count - 1] = 100 * round + test_rank;
        if (round % 4 < 2) { /* else the receive is posted after the message came */
            OK(MPI_Irecv(in, count, MPI_INT, left, round, comm, &requests[0]));
        }
        test_barrier();
        if (1 == count) {
            OK(MPI_Issend(out, count, MPI_INT, right, round, comm, &requests[1]));
        } else {
            OK(MPI_Isend(out, count, MPI_INT, right, round, comm, &requests[1]));
        }
        if (round % 4 >= 2) {
            OK(MPI_Probe(left, round, comm, MPI_STATUS_IGNORE));
            OK(MPI_Irecv(in, count, MPI_INT, left, round, comm, &requests[0]));
        }
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(100 * round + left == in[0] && in[0] == in[count - 1], "round %d: got %d", round,
              in[0]);
        collectives(comm, round);
    }
    OK(MPI_Comm_free(&comm));
    return test_done();
}
