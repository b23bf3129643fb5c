/* M1: random receives, messages, probes and cancels match as in a naive model, step by step.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=120
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 receives and keeps the model: two plain lists. It tells the other ranks what to send, one message at a time,
 * and knows from the model which receive has to complete. When none has to, the message is followed by a second one
 * for a receive of its own, so that the first is known to be in the unexpected queue. (No other receive can take the
 * second: one that accepts any tag would have taken the first.) The seed is M1_SEED or the first argument.
 */
#include "test.h"

#include <stdint.h>
#include <time.h>

enum { STEPS = 3000, DEPTH = 64, BIG = 5000, TAGS = 4, FENCE = 1000 };
enum { STOP, SEND, SEND_FENCE, BARRIER };

typedef struct {
    int source, tag; /* as posted, or as sent */
    int id;          /* first number of the message */
    int count;
    MPI_Request request;
    int *buffer;
} entry_t;

static MPI_Comm data, control;
static uint64_t state, seed;
static int step;
static entry_t posted[DEPTH], unexpected[DEPTH];
static int num_posted, num_unexpected, next_id;

static int draw(int below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (int) (((state * UINT64_C(2685821657736338717)) >> 33) % (unsigned) below);
}

static void broken(const char *what)
{
    fprintf(stderr, "m1_fuzz: seed %llu, step %d: %s\n", (unsigned long long) seed, step, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int accepts(int source, int tag, const entry_t *message)
{
    return (MPI_ANY_SOURCE == source || message->source == source)
           && (MPI_ANY_TAG == tag || message->tag == tag);
}

static void drop(entry_t *list, int *count, int i)
{
    memmove(&list[i], &list[i + 1], (size_t) (--*count - i) * sizeof(list[0]));
}

static void check_message(const MPI_Status *status, const int *buffer, const entry_t *message)
{
    int count;

    MPI_Get_count(status, MPI_INT, &count);
    if (status->MPI_SOURCE != message->source || status->MPI_TAG != message->tag || count != message->count) {
        broken("wrong source, tag or count");
    }
    if (NULL != buffer && (buffer[0] != message->id || buffer[count - 1] != message->id)) {
        broken("the receive got another message");
    }
}

/* The request has to complete; a hang would say less than this. */
static void complete(MPI_Request *request, MPI_Status *status)
{
    time_t limit = time(NULL) + 20;
    int flag = 0;

    do {
        OK(MPI_Test(request, &flag, status));
    } while (!flag && time(NULL) < limit);
    if (!flag) {
        broken("a receive that matches did not complete");
    }
}

/* Which unexpected message a receive or probe may find: the first of its source. -1: none. */
static int legal(int source, int tag, int found_source)
{
    for (int i = 0; i < num_unexpected; ++i) {
        if (accepts(source, tag, &unexpected[i])
            && (MPI_ANY_SOURCE == found_source || unexpected[i].source == found_source)) {
            return i;
        }
    }
    return -1;
}

static void command(int to, int what, int tag, int id, int count)
{
    int order[4] = {what, tag, id, count};

    OK(MPI_Send(order, 4, MPI_INT, to, 0, control));
}

static void step_send(void)
{
    entry_t message = {1 + draw(test_size - 1), draw(TAGS), next_id++, draw(20) ? 1 + draw(4) : BIG, MPI_REQUEST_NULL,
                       NULL};
    MPI_Status status;
    int i = 0;

    while (i < num_posted && !accepts(posted[i].source, posted[i].tag, &message)) {
        ++i;
    }
    if (i < num_posted) {
        command(message.source, SEND, message.tag, message.id, message.count);
        complete(&posted[i].request, &status);
        check_message(&status, posted[i].buffer, &message);
        free(posted[i].buffer);
        drop(posted, &num_posted, i);
    } else if (num_unexpected < DEPTH) {
        MPI_Request fence;

        OK(MPI_Irecv(NULL, 0, MPI_INT, message.source, FENCE, data, &fence));
        command(message.source, SEND_FENCE, message.tag, message.id, message.count);
        complete(&fence, &status);
        unexpected[num_unexpected++] = message;
    }
}

static void step_receive(int source, int tag)
{
    entry_t receive = {source, tag, 0, 0, MPI_REQUEST_NULL, malloc(BIG * sizeof(int))};
    MPI_Status status;
    int flag, i;

    OK(MPI_Irecv(receive.buffer, BIG, MPI_INT, source, tag, data, &receive.request));
    if (0 <= legal(source, tag, MPI_ANY_SOURCE)) {
        complete(&receive.request, &status);
        i = legal(source, tag, status.MPI_SOURCE);
        if (0 > i) {
            broken("a receive completed from a source without a match");
        }
        check_message(&status, receive.buffer, &unexpected[i]);
        free(receive.buffer);
        drop(unexpected, &num_unexpected, i);
        return;
    }
    OK(MPI_Test(&receive.request, &flag, &status));
    if (flag) {
        broken("a receive without a match completed");
    }
    posted[num_posted++] = receive;
}

static void step_probe(int source, int tag, int matched)
{
    MPI_Status status, again;
    MPI_Message handle;
    int flag, count, i;

    if (matched) {
        OK(MPI_Improbe(source, tag, data, &flag, &handle, &status));
    } else {
        OK(MPI_Iprobe(source, tag, data, &flag, &status));
    }
    if (!flag) {
        if (0 <= legal(source, tag, MPI_ANY_SOURCE)) {
            broken("a probe did not see a message that is there");
        }
        return;
    }
    i = legal(source, tag, status.MPI_SOURCE);
    if (0 > i) {
        broken("a probe saw a message that cannot match");
    }
    check_message(&status, NULL, &unexpected[i]);
    if (matched) {
        int *buffer = malloc(BIG * sizeof(int));

        OK(MPI_Mrecv(buffer, BIG, MPI_INT, &handle, &again));
        MPI_Get_count(&again, MPI_INT, &count);
        if (buffer[0] != unexpected[i].id || buffer[count - 1] != unexpected[i].id || count != unexpected[i].count) {
            broken("mrecv got another message than mprobe");
        }
        free(buffer);
        drop(unexpected, &num_unexpected, i);
    }
}

static void step_cancel(int i)
{
    MPI_Status status;
    int cancelled;

    OK(MPI_Cancel(&posted[i].request));
    complete(&posted[i].request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled) {
        broken("an unmatched receive was not cancelled");
    }
    free(posted[i].buffer);
    drop(posted, &num_posted, i);
}

static void receiver(void)
{
    for (step = 0; step < STEPS; ++step) {
        int what = draw(100), source = draw(3) ? 1 + draw(test_size - 1) : MPI_ANY_SOURCE;
        int tag = draw(4) ? draw(TAGS) : MPI_ANY_TAG;
        int sends = (int[]){60, 25, 45}[step / 100 % 3]; /* phases with long queues on either side */

        if (what < sends) {
            step_send();
        } else if (what < 85) {
            if (num_posted < DEPTH) {
                step_receive(source, tag);
            }
        } else if (what < 93) {
            step_probe(source, tag, what % 2);
        } else if (what < 99) {
            if (0 < num_posted) {
                step_cancel(draw(num_posted));
            }
        } else {
            /* Library messages on the same communicator, with receives for any tag pending. */
            for (int i = 1; i < test_size; ++i) {
                command(i, BARRIER, 0, 0, 0);
            }
            OK(MPI_Barrier(data));
        }
    }
    while (0 < num_posted) {
        step_cancel(num_posted - 1);
    }
    while (0 < num_unexpected) {
        step_receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
    }
    for (int i = 1; i < test_size; ++i) {
        command(i, STOP, 0, 0, 0);
    }
}

static void sender(void)
{
    static MPI_Request requests[STEPS];
    static int *buffers[STEPS];
    int order[4], sent = 0;

    for (;;) {
        OK(MPI_Recv(order, 4, MPI_INT, 0, 0, control, MPI_STATUS_IGNORE));
        if (STOP == order[0]) {
            break;
        }
        if (BARRIER == order[0]) {
            OK(MPI_Barrier(data));
            continue;
        }
        buffers[sent] = malloc((size_t) order[3] * sizeof(int));
        for (int k = 0; k < order[3]; ++k) {
            buffers[sent][k] = order[2];
        }
        OK(MPI_Isend(buffers[sent], order[3], MPI_INT, 0, order[1], data, &requests[sent]));
        ++sent;
        if (SEND_FENCE == order[0]) {
            OK(MPI_Send(NULL, 0, MPI_INT, 0, FENCE, data));
        }
    }
    OK(MPI_Waitall(sent, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < sent; ++i) {
        free(buffers[i]);
    }
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : getenv("M1_SEED");

    test_init(&argc, &argv);
    seed = NULL != text ? strtoull(text, NULL, 0) : 20260303;
    state = 0 != seed ? seed : 1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &data));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &control));
    if (0 == test_rank) {
        receiver();
    } else {
        sender();
    }
    OK(MPI_Comm_free(&data));
    OK(MPI_Comm_free(&control));
    return test_done();
}
