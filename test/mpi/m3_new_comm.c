/* M3: messages that come before their communicator exists here are matched like all others.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every rank sends as soon as it has the new communicator; some ranks come late. From 5.0 on, also for communicators
 * made from a group, whose first messages carry a longer header.
 */
#include "test.h"

#include <time.h>

enum { N = 20, BIG = 20000, ROUNDS = 12 };

static void talk(MPI_Comm comm, int round, int wild)
{
    static int out[BIG], in[BIG];
    MPI_Request requests[64 * N];
    MPI_Status status;
    int rank, size, n = 0, next[64] = {0};

    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    for (int k = 0; k < BIG; ++k) {
        out[k] = 1000 * round + rank;
    }
    for (int i = 0; i < N; ++i) {
        for (int to = 0; to < size; ++to) {
            OK(MPI_Isend(out, 7 == i ? BIG : i + 1, MPI_INT, to, i, comm, &requests[n++]));
        }
    }
    for (int i = 0; i < N * size; ++i) {
        int source = wild ? MPI_ANY_SOURCE : i % size, count;

        OK(MPI_Recv(in, BIG, MPI_INT, source, MPI_ANY_TAG, comm, &status));
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(0 <= status.MPI_SOURCE && status.MPI_SOURCE < size, "source %d", status.MPI_SOURCE);
        source = status.MPI_SOURCE;
        CHECK(next[source] == status.MPI_TAG, "round %d: from %d: tag %d, wanted %d", round, source, status.MPI_TAG,
              next[source]);
        CHECK((7 == status.MPI_TAG ? BIG : status.MPI_TAG + 1) == count, "round %d: from %d: tag %d, count %d", round,
              source, status.MPI_TAG, count);
        CHECK(1000 * round + source == in[0] && in[0] == in[count - 1], "round %d: from %d: %d", round, source, in[0]);
        ++next[source];
    }
    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
}

static void late(int round)
{
    if (round % test_size == test_rank) {
        struct timespec pause = {0, 3000000};

        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    test_init(&argc, &argv);
    if (test_size > 64) {
        test_skip("too many ranks");
    }
    for (int round = 0; round < ROUNDS; ++round) {
        late(round);
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        talk(comm, round, round % 2);
        OK(MPI_Comm_free(&comm));
        late(round);
        OK(MPI_Comm_split(MPI_COMM_WORLD, test_size > 2 && 0 == test_rank, -test_rank, &comm));
        talk(comm, round, round % 2);
        OK(MPI_Comm_free(&comm));
    }
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Group group;
        char tag[32];

        snprintf(tag, sizeof(tag), "m3_new_comm %d", round);
        OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
        late(round);
        OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        OK(MPI_Group_free(&group));
        late(round + 1);
        talk(comm, round, round % 2);
        OK(MPI_Comm_free(&comm));
    }
#endif
    return test_done();
}
