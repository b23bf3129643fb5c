/* M3: intercommunicators match by the rank in the remote group.
 * test: for=pml ranks=2,4,5 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * With 5 ranks the groups differ in size, so that a rank of one is out of range in the other.
 */
#include "test.h"

enum { N = 40 };

int main(int argc, char **argv)
{
    MPI_Comm half, inter, merged;
    MPI_Request requests[N];
    MPI_Status status;
    int color, mine, remote, in[N], out, flag, got = 0, next[64] = {0};

    test_init(&argc, &argv);
    color = test_rank >= test_size / 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, color, test_rank, &half));
    OK(MPI_Comm_rank(half, &mine));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, color ? 0 : test_size / 2, 12, &inter));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    OK(MPI_Comm_remote_size(inter, &remote));

    /* Posted for each remote rank; messages in order per sender. */
    for (int i = 0; i < N; ++i) {
        OK(MPI_Irecv(&in[i], 1, MPI_INT, i % remote, 1, inter, &requests[i]));
    }
    OK(MPI_Barrier(inter));
    for (int i = 0; i < N; ++i) {
        for (int to = 0; to < remote; ++to) {
            /* Receive i of rank `to` is for our rank when i % (its remote size) == mine. */
            int sizes[2] = {test_size / 2, test_size - test_size / 2};

            if (i % sizes[color] == mine) {
                out = 1000 * test_rank + i;
                OK(MPI_Send(&out, 1, MPI_INT, to, 1, inter));
            }
        }
    }
    for (int i = 0; i < N; ++i) {
        int world = i % remote + (color ? 0 : test_size / 2);

        OK(MPI_Wait(&requests[i], &status));
        CHECK(1000 * world + i == in[i] && i % remote == status.MPI_SOURCE, "receive %d got %d from %d", i, in[i],
              status.MPI_SOURCE);
    }
    OK(MPI_Barrier(inter));

    /* Any source, any tag, probed first. */
    for (int i = 0; i < N; ++i) {
        for (int to = 0; to < remote; ++to) {
            out = 1000 * test_rank + i;
            OK(MPI_Send(&out, 1, MPI_INT, to, i, inter));
        }
    }
    while (got < N * remote) {
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &flag, &status));
        if (flag) {
            int world = status.MPI_SOURCE + (color ? 0 : test_size / 2);

            CHECK(0 <= status.MPI_SOURCE && status.MPI_SOURCE < remote, "source %d of %d", status.MPI_SOURCE, remote);
            CHECK(next[status.MPI_SOURCE] == status.MPI_TAG, "from %d: tag %d, wanted %d", status.MPI_SOURCE,
                  status.MPI_TAG, next[status.MPI_SOURCE]);
            ++next[status.MPI_SOURCE];
            OK(MPI_Recv(&out, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, inter, MPI_STATUS_IGNORE));
            CHECK(1000 * world + status.MPI_TAG == out, "got %d from %d, tag %d", out, world, status.MPI_TAG);
            ++got;
        }
    }
    OK(MPI_Intercomm_merge(inter, color, &merged));
    OK(MPI_Barrier(merged));
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
    return test_done();
}
