/* M3: receives that nobody waits for outlive their communicators, and keep them until the messages
 * have come: short ones, and some of several fragments.
 * test: for=pml ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { COMMS = 1000, LONG = 3000, RECEIVER = 0, SENDER = 1 };

static MPI_Comm comm[COMMS];
static MPI_Request request[COMMS];

static void receive(int *words, int count)
{
    MPI_Request nobody;

    for (int i = 0; i < COMMS; ++i) {
        OK(MPI_Irecv(words + (size_t) i * count, count, MPI_INT,
                     (0 != i % 2) ? SENDER : MPI_ANY_SOURCE, 0, comm[i], &nobody));
        OK(MPI_Request_free(&nobody));
    }
}

static void freed(int count)
{
    int *words = calloc((size_t) COMMS * count, sizeof(*words));

    for (int i = 0; i < COMMS; ++i) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
    }
    if (RECEIVER == test_rank) {
        receive(words, count);
    }
    test_barrier();
    for (int i = 0; SENDER == test_rank && i < COMMS; ++i) {
        words[(size_t) i * count] = words[(size_t) (i + 1) * count - 1] = i + 1;
        OK(MPI_Isend(words + (size_t) i * count, count, MPI_INT, RECEIVER, 0, comm[i],
                     &request[i]));
    }
    for (int i = 0; i < COMMS; ++i) {
        OK(MPI_Comm_free(&comm[i]));
    }
    if (SENDER == test_rank) {
        OK(MPI_Waitall(COMMS, request, MPI_STATUSES_IGNORE));
        OK(MPI_Ssend(NULL, 0, MPI_INT, RECEIVER, 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_INT, SENDER, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    test_barrier();
    for (int i = 0; RECEIVER == test_rank && i < COMMS; ++i) {
        int first = words[(size_t) i * count], last = words[(size_t) (i + 1) * count - 1];

        CHECK(i + 1 == first && i + 1 == last, "message %d is %d ... %d", i, first, last);
    }
    free(words);
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    freed(1);
    freed(LONG);
    return test_done();
}
