/* M3: overtaking persistent sends leave collectives working.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=20
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A sender that counts persistent sends, which a receiver under the hint does not, sends the next
 * collective's messages with a number that the receiver waits for in vain (O2). Open MPI 5.0.7 does
 * not honour the hint, which hides this.
 */
#include "test.h"

#include "overtaking.h"

int main(int argc, char **argv)
{
    enum { SMALL, BIG, SYNCHRONOUS, KINDS };
    static int out[KINDS][100000], in[100000];
    MPI_Request send[KINDS];
    MPI_Comm comm;
    int left, right;

    test_init(&argc, &argv);
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    comm = with_overtaking(MPI_COMM_WORLD);
    OK(MPI_Send_init(out[SMALL], 1, MPI_INT, right, SMALL, comm, &send[SMALL]));
    OK(MPI_Send_init(out[BIG], 100000, MPI_INT, right, BIG, comm, &send[BIG]));
    OK(MPI_Ssend_init(out[SYNCHRONOUS], 1, MPI_INT, right, SYNCHRONOUS, comm, &send[SYNCHRONOUS]));
    for (int round = 0; round < 20; ++round) {
        int kind = round % KINDS;

        out[kind][0] = 100 * round + test_rank;
        OK(MPI_Start(&send[kind]));
        OK(MPI_Recv(in, 100000, MPI_INT, left, kind, comm, MPI_STATUS_IGNORE));
        CHECK(100 * round + left == in[0], "round %d: got %d", round, in[0]);
        OK(MPI_Wait(&send[kind], MPI_STATUS_IGNORE));
        collectives(comm, round);
    }
    for (int kind = 0; kind < KINDS; ++kind) {
        OK(MPI_Request_free(&send[kind]));
    }
    OK(MPI_Comm_free(&comm));
    return test_done();
}
