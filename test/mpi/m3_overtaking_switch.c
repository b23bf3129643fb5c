/* M3: mpi_assert_allow_overtaking may be set while messages are under way.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=20
 * test: for=pml transport=shm mca="btl_sm_free_list_max=16 btl_vader_free_list_max=16"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver that goes by its own hint does not count messages that were counted when they were
 * sent, or waits for the number of a message that has none; it must also not forget the messages
 * that it holds back (O3). With few buffers messages come out of order: a small one needs none.
 * Open MPI 5.0.7 does not honour the hint, which hides this; 4.1.4 hangs.
 */
#include "test.h"

#include "overtaking.h"

enum { N = 60, SMALL = 1, EAGER = 700, BIG = 12000, NEVER = 2 * N };

static int message_count(int i)
{
    return 0 == i % 4 ? SMALL : 30 == i % N ? BIG : EAGER;
}

/* Rank 0 sends N messages to everybody, sets the hint, sends N more. */
static void send_all(MPI_Comm comm, MPI_Info info)
{
    static int out[2 * N][BIG];
    MPI_Request requests[64 * 2 * N];
    int n = 0;

    for (int i = 0; i < 2 * N; ++i) {
        if (N == i) {
            OK(MPI_Comm_set_info(comm, info));
        }
        out[i][0] = 10 * i;
        for (int to = 1; to < test_size; ++to) {
            OK(MPI_Isend(out[i], message_count(i), MPI_INT, to, i, comm, &requests[n++]));
        }
    }
    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
}

/* The others set it after so many receives. */
static void receive_all(MPI_Comm comm, MPI_Info info, int set_after)
{
    static int in[BIG];
    int flag;

    for (int i = 0; i < 2 * N; ++i) {
        if (i == set_after) {
            for (int k = 0; k < i; ++k) { /* something may be held back by now */
                OK(MPI_Iprobe(0, 3 * N, comm, &flag, MPI_STATUS_IGNORE));
            }
            OK(MPI_Comm_set_info(comm, info));
        }
        OK(MPI_Recv(in, BIG, MPI_INT, 0, i, comm, MPI_STATUS_IGNORE));
        CHECK(10 * i == in[0], "hint after %d: message %d is %d", set_after, i, in[0]);
    }
    if (NEVER == set_after) {
        OK(MPI_Comm_set_info(comm, info));
    }
}

int main(int argc, char **argv)
{
    MPI_Info info;

    test_init(&argc, &argv);
    info = overtaking_info();
    for (int set_after = 0; set_after <= NEVER; set_after += N / 5) {
        MPI_Comm comm;

        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        if (0 == test_rank) {
            send_all(comm, info);
        } else {
            receive_all(comm, info, set_after);
        }
        collectives(comm, set_after);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Info_free(&info));
    return test_done();
}
