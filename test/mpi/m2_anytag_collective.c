/* M2: MPI_ANY_TAG never takes or shows the library's own messages.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <time.h>

enum { ROUNDS = 50, MAX_RANKS = 64 };

static void collectives(MPI_Comm comm, int round)
{
    int value = test_rank + round, sum = 0, root = round % test_size, all[MAX_RANKS], every[MAX_RANKS];
    MPI_Request request;

    OK(MPI_Barrier(comm));
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(test_size * (test_size - 1) / 2 + test_size * round == sum, "round %d: sum %d", round, sum);
    OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
    CHECK(root + round == value, "round %d: bcast %d", round, value);
    for (int i = 0; i < test_size; ++i) {
        every[i] = 100 * test_rank + i;
    }
    OK(MPI_Alltoall(every, 1, MPI_INT, all, 1, MPI_INT, comm));
    for (int i = 0; i < test_size; ++i) {
        CHECK(100 * i + test_rank == all[i], "round %d: alltoall %d from %d", round, all[i], i);
    }
    OK(MPI_Ibarrier(comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int left, right;

    test_init(&argc, &argv);
    if (test_size > MAX_RANKS) {
        test_skip("too many ranks");
    }
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Request requests[2];
        MPI_Status status[2];
        int in[2] = {-1, -1}, out = 1000 * round + test_rank, flag;

        /* Pending over collectives: nothing may complete them. */
        OK(MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]));
        OK(MPI_Irecv(&in[1], 1, MPI_INT, left, MPI_ANY_TAG, comm, &requests[1]));
        collectives(comm, round);
        OK(MPI_Testany(2, requests, &flag, &flag, status));
        CHECK(-1 == in[0] && -1 == in[1], "round %d: a pending receive got %d, %d", round, in[0], in[1]);
        OK(MPI_Barrier(comm));
        OK(MPI_Send(&out, 1, MPI_INT, right, 0, comm));
        OK(MPI_Send(&out, 1, MPI_INT, right, 32767, comm));
        OK(MPI_Waitall(2, requests, status));
        CHECK(1000 * round + left == in[0] && 0 == status[0].MPI_TAG, "round %d: %d, tag %d", round, in[0],
              status[0].MPI_TAG);
        CHECK(1000 * round + left == in[1] && 32767 == status[1].MPI_TAG, "round %d: %d, tag %d", round, in[1],
              status[1].MPI_TAG);

        /* The others are in a collective, whose messages are unexpected here: a probe must not see them. */
        if (round % test_size == test_rank) {
            struct timespec pause = {0, 500000};

            for (int i = 0; i < 10; ++i) {
                OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status[0]));
                CHECK(!flag, "round %d: probe saw tag %d", round, status[0].MPI_TAG);
                OK(MPI_Iprobe(left, MPI_ANY_TAG, comm, &flag, &status[0]));
                CHECK(!flag, "round %d: probe of %d saw tag %d", round, left, status[0].MPI_TAG);
                nanosleep(&pause, NULL);
            }
        }
        collectives(comm, round);
    }
    OK(MPI_Comm_free(&comm));
    return test_done();
}
