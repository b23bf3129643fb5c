/* M1: of the receives that match a message the first posted gets it; of the messages the first sent.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every rank receives from its left neighbour. Messages are numbered; sizes alternate between eager and rendezvous,
 * queues are deep enough to need many arrays, and receives with and without wildcards are mixed.
 */
#include "test.h"

enum { N = 300, BIG = 20000, TAGS = 7 };

static int left, right;
static int *in[N], *out[N];

static int length(int i)
{
    return 0 == i % 50 ? BIG : 1 + i % 5;
}

static void fill(void)
{
    for (int i = 0; i < N; ++i) {
        for (int k = 0; k < length(i); ++k) {
            out[i][k] = test_rank * 1000000 + i;
        }
        memset(in[i], 0x55, BIG * sizeof(int));
    }
}

static void check(const char *what, int slot, const MPI_Status *status, int message)
{
    int count;

    MPI_Get_count(status, MPI_INT, &count);
    CHECK(in[slot][0] == left * 1000000 + message, "%s: receive %d got message %d, wanted %d", what, slot,
          in[slot][0] - left * 1000000, message);
    CHECK(count == length(message) && in[slot][count - 1] == in[slot][0], "%s: receive %d: %d numbers, wanted %d", what,
          slot, count, length(message));
    CHECK(left == status->MPI_SOURCE, "%s: receive %d: source %d", what, slot, status->MPI_SOURCE);
}

/* Receives first. Which of the kinds of receive comes when must not matter: all match. */
static void posted_same_tag(void)
{
    MPI_Request recv[N], send[N];
    MPI_Status status[N];

    fill();
    for (int i = 0; i < N; ++i) {
        OK(MPI_Irecv(in[i], BIG, MPI_INT, i % 3 ? left : MPI_ANY_SOURCE, i % 4 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD,
                     &recv[i]));
    }
    test_barrier();
    for (int i = 0; i < N; ++i) {
        OK(MPI_Isend(out[i], length(i), MPI_INT, right, 5, MPI_COMM_WORLD, &send[i]));
    }
    OK(MPI_Waitall(N, recv, status));
    for (int i = 0; i < N; ++i) {
        check("posted", i, &status[i], i);
    }
    OK(MPI_Waitall(N, send, MPI_STATUSES_IGNORE));
    test_barrier();
}

/* Receives first, by tag, wild and specific; messages come in another order of tags. */
static void posted_by_tag(void)
{
    MPI_Request recv[N], send[N];
    MPI_Status status[N];
    int next[TAGS] = {0};

    fill();
    for (int i = 0; i < N; ++i) {
        OK(MPI_Irecv(in[i], BIG, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, i % TAGS, MPI_COMM_WORLD, &recv[i]));
    }
    test_barrier();
    for (int i = 0; i < N; ++i) {
        OK(MPI_Isend(out[i], length(i), MPI_INT, right, TAGS - 1 - i % TAGS, MPI_COMM_WORLD, &send[i]));
    }
    for (int tag = 0; tag < TAGS; ++tag) {
        next[tag] = TAGS - 1 - tag; /* first message with this tag */
    }
    for (int i = 0; i < N; ++i) {
        int message = next[i % TAGS];

        if (message < N) {
            OK(MPI_Wait(&recv[i], &status[i]));
            check("by tag", i, &status[i], message);
            next[i % TAGS] += TAGS;
        } else {
            OK(MPI_Cancel(&recv[i]));
            OK(MPI_Wait(&recv[i], MPI_STATUS_IGNORE));
        }
    }
    /* Tags do not come equally often: what no receive was posted for is taken now. */
    for (int tag = 0; tag < TAGS; ++tag) {
        for (int message = next[tag]; message < N; message += TAGS) {
            OK(MPI_Recv(in[0], BIG, MPI_INT, left, tag, MPI_COMM_WORLD, &status[0]));
            check("by tag, rest", 0, &status[0], message);
        }
    }
    OK(MPI_Waitall(N, send, MPI_STATUSES_IGNORE));
    test_barrier();
}

/* Messages first: taken tag by tag from the last to the first, the rest with wildcards in the order they were sent. */
static void unexpected(void)
{
    MPI_Request send[N + 1];
    MPI_Status status;
    int slot = 0;

    fill();
    for (int i = 0; i < N; ++i) {
        OK(MPI_Isend(out[i], length(i), MPI_INT, right, i % TAGS, MPI_COMM_WORLD, &send[i]));
    }
    OK(MPI_Isend(NULL, 0, MPI_INT, right, 99, MPI_COMM_WORLD, &send[N]));
    OK(MPI_Recv(NULL, 0, MPI_INT, left, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* all are here now */
    for (int tag = TAGS - 1; tag >= TAGS / 2; --tag) {
        for (int message = tag; message < N; message += TAGS) {
            OK(MPI_Recv(in[slot], BIG, MPI_INT, message % 2 ? left : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
            check("unexpected", slot++, &status, message);
        }
    }
    for (int message = 0; message < N; ++message) {
        if (message % TAGS < TAGS / 2) {
            OK(MPI_Recv(in[slot], BIG, MPI_INT, message % 3 ? left : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
            CHECK(message % TAGS == status.MPI_TAG, "tag %d, wanted %d", status.MPI_TAG, message % TAGS);
            check("unexpected, any tag", slot++, &status, message);
        }
    }
    OK(MPI_Waitall(N + 1, send, MPI_STATUSES_IGNORE));
    test_barrier();
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    for (int i = 0; i < N; ++i) {
        in[i] = malloc(BIG * sizeof(int));
        out[i] = malloc(length(i) * sizeof(int));
    }
    posted_same_tag();
    posted_by_tag();
    unexpected();
    for (int i = 0; i < N; ++i) {
        free(in[i]);
        free(out[i]);
    }
    return test_done();
}
