/* M3: a persistent buffered send sends what is in the user's buffer when it is started.
 * test: for=pml-llamatch ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ob1 of Open MPI 4.1.4 and 5.0.7 fails: a request whose message went through the attached buffer
 * (above the eager limit, or when the network could not take it) sends the old data from there at
 * each later start.
 */
#include <unistd.h>

#include "test.h"

enum {
    KINDS = 10,   /* even: contiguous, odd: every second int */
    MOST = 60000, /* ints; more than all eager limits */
    AGAIN = 3,    /* new requests in place of freed ones */
    ROUNDS = 6,
    BURST = 3,    /* starts before the receiver receives */
    FLOOD = 4000, /* small messages while the receiver does not look */
    MICROSECONDS = 8000
};

static const int ints[KINDS] = {0, 0, 1, 1, 500, 500, 5000, 5000, MOST, MOST};
static int out[KINDS][2 * MOST], in[MOST];
static char buffer[2 * BURST * KINDS * (MOST * sizeof(int) + MPI_BSEND_OVERHEAD)]; /* ample */

static int value(int number, int kind, int i)
{
    return 1000003 * number + 101 * kind + i;
}

static void init(MPI_Request *requests)
{
    for (int kind = 0; kind < KINDS; ++kind) {
        int count = ints[kind];
        MPI_Datatype vector;

        if (0 == kind % 2) {
            OK(MPI_Bsend_init(out[kind], count, MPI_INT, 1, kind, MPI_COMM_WORLD, &requests[kind]));
            continue;
        }
        OK(MPI_Type_vector(count, 1, 2, MPI_INT, &vector));
        OK(MPI_Type_commit(&vector));
        OK(MPI_Bsend_init(out[kind], 1, vector, 1, kind, MPI_COMM_WORLD, &requests[kind]));
        OK(MPI_Type_free(&vector)); /* the request still has it */
    }
}

static void fill(int number)
{
    for (int kind = 0; kind < KINDS; ++kind) {
        for (int i = 0; i < ints[kind]; ++i) {
            out[kind][i * (1 + kind % 2)] = value(number, kind, i);
        }
    }
}

static void receive_all(int number)
{
    for (int kind = 0; kind < KINDS; ++kind) {
        int count, wrong = 0;
        MPI_Status status;

        OK(MPI_Recv(in, MOST, MPI_INT, 0, kind, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(ints[kind] == count, "kind %d: %d ints", kind, count);
        for (int i = 0; i < count; ++i) {
            wrong += value(number, kind, i) != in[i];
        }
        CHECK(0 == wrong, "message %d, kind %d: %d of %d ints are wrong, the first is %d for %d",
              number, kind, wrong, count, in[0], value(number, kind, 0));
    }
}

/* The requests are started again when their messages have been received, and, in a burst, before:
 * a large message is in the attached buffer then, and its request still in use. */
static void rounds(int first, int burst)
{
    MPI_Request requests[KINDS];

    if (0 == test_rank) {
        init(requests);
    }
    for (int number = first; number < first + ROUNDS * burst; number += burst) {
        for (int i = number; i < number + burst && 0 == test_rank; ++i) {
            fill(i);
            OK(MPI_Startall(KINDS, requests));
            OK(MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE));
            memset(out, -1, sizeof(out));
        }
        test_barrier();
        for (int i = number; i < number + burst && 1 == test_rank; ++i) {
            receive_all(i);
        }
        test_barrier();
    }
    if (0 == test_rank) {
        /* Freed before it has gone: it goes all the same. */
        fill(first - 1);
        OK(MPI_Startall(KINDS, requests));
        for (int kind = 0; kind < KINDS; ++kind) {
            OK(MPI_Request_free(&requests[kind]));
        }
    } else {
        receive_all(first - 1);
    }
    test_barrier();
}

/* A receiver that does not look lets the sender run out of what it sends small messages with. */
static void flood(void)
{
    static int messages[FLOOD];
    static MPI_Request requests[FLOOD];

    for (int i = 0; i < FLOOD && 0 == test_rank; ++i) {
        OK(MPI_Bsend_init(&messages[i], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]));
    }
    for (int round = 0; round < ROUNDS; ++round) {
        test_barrier();
        if (0 == test_rank) {
            for (int i = 0; i < FLOOD; ++i) {
                messages[i] = value(round, 0, i);
            }
            OK(MPI_Startall(FLOOD, requests));
            OK(MPI_Waitall(FLOOD, requests, MPI_STATUSES_IGNORE));
            memset(messages, -1, sizeof(messages));
            continue;
        }
        usleep(MICROSECONDS);
        for (int i = 0; i < FLOOD; ++i) {
            OK(MPI_Recv(in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value(round, 0, i) == in[0], "small message %d of round %d is %d", i, round,
                  in[0]);
        }
    }
    for (int i = 0; i < FLOOD && 0 == test_rank; ++i) {
        OK(MPI_Request_free(&requests[i]));
    }
}

int main(int argc, char **argv)
{
    int size;
    void *detached;

    test_init(&argc, &argv);
    OK(MPI_Buffer_attach(buffer, sizeof(buffer)));
    for (int again = 0; again < AGAIN; ++again) {
        rounds(1 + 100 * again, 1);
        rounds(51 + 100 * again, BURST);
    }
    flood();
    OK(MPI_Buffer_detach(&detached, &size));
    CHECK(buffer == detached && (int) sizeof(buffer) == size, "another buffer, of %d bytes", size);
    return test_done();
}
