/* M3: probe, mprobe/mrecv, cancel and persistent requests.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <time.h>

enum { BIG = 30000 };

static int left, right;
static int *big;

static void later(void)
{
    struct timespec pause = {0, 2000000};

    nanosleep(&pause, NULL);
}

/* Blocking probes, posted before and after the message; the message is still there afterwards. */
static void probes(int count)
{
    MPI_Status status;
    MPI_Request request;
    int got;

    for (int round = 0; round < 20; ++round) {
        if (round % 2) {
            later(); /* the neighbour's probe waits */
        }
        big[0] = 100 * test_rank + round;
        OK(MPI_Isend(big, count, MPI_INT, right, round, MPI_COMM_WORLD, &request));
        OK(MPI_Probe(round % 4 < 2 ? left : MPI_ANY_SOURCE, round % 3 ? round : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        MPI_Get_count(&status, MPI_INT, &got);
        CHECK(left == status.MPI_SOURCE && round == status.MPI_TAG && count == got,
              "probe: source %d, tag %d, count %d", status.MPI_SOURCE, status.MPI_TAG, got);
        {
            int *in = malloc((size_t) count * sizeof(int));

            OK(MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(100 * left + round == in[0], "received %d", in[0]);
            free(in);
        }
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    test_barrier();
}

/* A matched probe takes the message away from receives that come later. */
static void matched_probes(int count)
{
    MPI_Status status;
    MPI_Request requests[3], recv;
    MPI_Message message;
    int *in = malloc((size_t) count * sizeof(int)), *out = malloc(2 * (size_t) count * sizeof(int)), flag;

    for (int round = 0; round < 20; ++round) {
        out[0] = 100 * test_rank + round;
        out[count] = out[0] + 50;
        if (round % 2) {
            later();
        }
        OK(MPI_Isend(out, count, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out + count, count, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Mprobe(round % 3 ? left : MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &message, &status));
        CHECK(left == status.MPI_SOURCE && 3 == status.MPI_TAG, "mprobe: source %d, tag %d", status.MPI_SOURCE,
              status.MPI_TAG);
        OK(MPI_Recv(in, count, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(100 * left + round + 50 == in[0], "the receive after mprobe got %d", in[0]);
        if (round % 2) {
            OK(MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Imrecv(in, count, MPI_INT, &message, &recv));
            OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
        }
        CHECK(100 * left + round == in[0], "mrecv got %d", in[0]);
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Improbe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
        CHECK(!flag, "improbe found tag %d", status.MPI_TAG);
        test_barrier();
    }
    free(in);
    free(out);
}

/* Cancelled receives, at the ends and in the middle, are skipped by messages. */
static void cancels(void)
{
    enum { N = 60 };
    MPI_Request recv[N];
    MPI_Status status;
    int in[N], out, cancelled;

    for (int i = 0; i < N; ++i) {
        in[i] = -1;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, i % 5 ? 4 : MPI_ANY_TAG, MPI_COMM_WORLD,
                     &recv[i]));
    }
    for (int i = N - 1; i >= 0; --i) {
        if (0 == i % 3 || i > 50) {
            OK(MPI_Cancel(&recv[i]));
            OK(MPI_Wait(&recv[i], &status));
            MPI_Test_cancelled(&status, &cancelled);
            CHECK(cancelled, "receive %d was not cancelled", i);
        }
    }
    test_barrier();
    out = 0;
    for (int i = 0; i < N; ++i) {
        if (i % 3 && i <= 50) {
            out = 1000 * test_rank + i;
            OK(MPI_Send(&out, 1, MPI_INT, right, 4, MPI_COMM_WORLD));
        }
    }
    for (int i = 0; i < N; ++i) {
        if (i % 3 && i <= 50) {
            OK(MPI_Wait(&recv[i], &status));
            MPI_Test_cancelled(&status, &cancelled);
            CHECK(!cancelled && 1000 * left + i == in[i], "receive %d got %d", i, in[i]);
        } else {
            CHECK(-1 == in[i], "cancelled receive %d got %d", i, in[i]);
        }
    }
    /* Too late: the message is there already. */
    OK(MPI_Irecv(&in[0], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &recv[0]));
    out = 7;
    OK(MPI_Send(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
    OK(MPI_Recv(&in[1], 0, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Send(&out, 1, MPI_INT, right, 6, MPI_COMM_WORLD));
    OK(MPI_Recv(&in[1], 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Cancel(&recv[0]));
    OK(MPI_Wait(&recv[0], &status));
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(!cancelled && 7 == in[0], "a matched receive was cancelled, or got %d", in[0]);
    test_barrier();
}

/* A persistent receive is posted anew, behind the others, at each start. */
static void persistents(void)
{
    enum { N = 8 };
    MPI_Request recv[N], send[N];
    MPI_Status status;
    int in[N], out[N], cancelled;

    for (int i = 0; i < N; ++i) {
        OK(MPI_Recv_init(&in[i], 1, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, i % 3 ? 8 : MPI_ANY_TAG, MPI_COMM_WORLD,
                         &recv[i]));
        OK(MPI_Send_init(&out[i], 1, MPI_INT, right, 8, MPI_COMM_WORLD, &send[i]));
    }
    for (int round = 0; round < 30; ++round) {
        int first = round % N;

        if (round % 2) {
            test_barrier();
        }
        for (int i = 0; i < N; ++i) {
            out[i] = 1000 * test_rank + 10 * round + i;
            in[i] = -1;
        }
        for (int i = 0; i < N; ++i) {
            OK(MPI_Start(&recv[(first + i) % N]));
        }
        if (0 == round % 5) {
            /* The first started one is withdrawn and started again: now it is the last. */
            OK(MPI_Cancel(&recv[first]));
            OK(MPI_Wait(&recv[first], &status));
            MPI_Test_cancelled(&status, &cancelled);
            CHECK(cancelled, "round %d: not cancelled", round);
            OK(MPI_Start(&recv[first]));
            first = (first + 1) % N;
        }
        test_barrier();
        OK(MPI_Startall(N, send));
        OK(MPI_Waitall(N, recv, MPI_STATUSES_IGNORE));
        OK(MPI_Waitall(N, send, MPI_STATUSES_IGNORE));
        for (int i = 0; i < N; ++i) {
            CHECK(1000 * left + 10 * round + i == in[(first + i) % N], "round %d: receive %d got %d", round, i,
                  in[(first + i) % N]);
        }
    }
    for (int i = 0; i < N; ++i) {
        OK(MPI_Request_free(&recv[i]));
        OK(MPI_Request_free(&send[i]));
    }
    test_barrier();
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    big = calloc(BIG, sizeof(int));
    probes(1);
    probes(BIG);
    matched_probes(1);
    matched_probes(BIG);
    cancels();
    persistents();
    free(big);
    return test_done();
}
