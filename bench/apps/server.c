/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A server with many clients that answers requests in an order of its own.
 *
 *     mpirun -np 3 server [--requests=N] [--rounds=N] [--work=N] [--seed=N] [--late] [--check]
 *
 * Rank 0 is the server, all others are clients.  The requests of a round are numbered; the number
 * is the tag, and a random client has it.  Clients send their requests in any order, but the server
 * must apply them in the order of their numbers, because each one changes what it answers to the
 * next. It does not know who has which, so it receives from MPI_ANY_SOURCE: one receive for each
 * number, posted before the requests come.  The answer goes back with the same tag, to the client,
 * who waits for all of its answers at once.
 *
 * --late: the server was busy while the requests came, and takes them from the queue of unexpected
 * messages one by one.  --check compares with a serial run.
 */

#include "app.h"

static long requests = 4000, rounds = 5, work = 16, seed = 1, late, check;
static MPI_Comm control; /* its messages stay out of the queues that are of interest */

static uint64_t question_of(long round, long number)
{
    return app_random_at((uint64_t) seed, (uint64_t) (round * requests + number));
}

static int client_of(long round, long number)
{
    return 1 + (int) (question_of(round, number) % (uint64_t) (app_size - 1));
}

/* What the server is for: a request changes its state, which is the answer. */
static uint64_t apply(uint64_t state, uint64_t question)
{
    for (long i = 0; i < work; ++i) {
        question = app_random_at(question, (uint64_t) i);
    }
    return app_random_at(state, question);
}

/* Collects the answers, each bit and each place. */
static uint64_t digest(uint64_t answer, long round, long number)
{
    return answer * (uint64_t) (2 * (round * requests + number) + 1);
}

static void answer_all(uint64_t *state, uint64_t *questions, MPI_Request *waiting)
{
    for (long i = 0; i < requests; ++i) {
        MPI_Status status;
        if (late) {
            MPI_Recv(&questions[i], 1, MPI_UINT64_T, MPI_ANY_SOURCE, (int) i, MPI_COMM_WORLD,
                     &status);
        } else {
            MPI_Wait(&waiting[i], &status);
        }
        *state = apply(*state, questions[i]);
        MPI_Send(state, 1, MPI_UINT64_T, status.MPI_SOURCE, (int) i, MPI_COMM_WORLD);
    }
}

/* Time from the first request to the last answer, over all rounds. */
static double serve(void)
{
    uint64_t *questions = app_allocate((size_t) requests * sizeof(*questions));
    MPI_Request *waiting = app_allocate((size_t) requests * sizeof(MPI_Request));
    uint64_t state = 0;
    double seconds = 0, start;

    for (long round = 0; round < rounds; ++round) {
        for (long i = 0; i < requests && !late; ++i) {
            MPI_Irecv(&questions[i], 1, MPI_UINT64_T, MPI_ANY_SOURCE, (int) i, MPI_COMM_WORLD,
                      &waiting[i]);
        }
        MPI_Barrier(control); /* receives are posted, or all requests are there */
        start = MPI_Wtime();
        answer_all(&state, questions, waiting);
        seconds += MPI_Wtime() - start;
    }
    free(questions);
    free(waiting);
    return seconds;
}

/* The numbers of my requests in a random order; how many. */
static int my_requests(long round, int *numbers)
{
    uint64_t stream = (uint64_t) (seed * app_size + app_rank) << 32 | (uint64_t) round;
    int n = 0;

    for (long i = 0; i < requests; ++i) {
        if (app_rank == client_of(round, i)) {
            int j = (int) (app_random_at(stream, (uint64_t) i) % (uint64_t) (n + 1));
            numbers[n++] = numbers[j];
            numbers[j] = (int) i;
        }
    }
    return n;
}

/* The digest of all answers. */
static uint64_t ask(void)
{
    size_t count = (size_t) requests;
    uint64_t *questions = app_allocate(count * sizeof(*questions)), sum = 0;
    uint64_t *answers = app_allocate(count * sizeof(*answers));
    MPI_Request *pending = app_allocate(2 * count * sizeof(MPI_Request));
    int *numbers = app_allocate(count * sizeof(*numbers));

    for (long round = 0; round < rounds; ++round) {
        int n = my_requests(round, numbers);
        for (int i = 0; i < n; ++i) {
            MPI_Irecv(&answers[i], 1, MPI_UINT64_T, 0, numbers[i], MPI_COMM_WORLD, &pending[i]);
        }
        if (!late) {
            MPI_Barrier(control);
        }
        for (int i = 0; i < n; ++i) {
            questions[i] = question_of(round, numbers[i]);
            MPI_Isend(&questions[i], 1, MPI_UINT64_T, 0, numbers[i], MPI_COMM_WORLD,
                      &pending[n + i]);
        }
        if (late) {
            MPI_Barrier(control);
        }
        MPI_Waitall(2 * n, pending, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; ++i) {
            sum += digest(answers[i], round, numbers[i]);
        }
    }
    free(questions);
    free(answers);
    free(pending);
    free(numbers);
    return sum;
}

static uint64_t serial_checksum(void)
{
    uint64_t state = 0, sum = 0;

    for (long round = 0; round < rounds; ++round) {
        for (long i = 0; i < requests; ++i) {
            state = apply(state, question_of(round, i));
            sum += digest(state, round, i);
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    const app_number_t numbers[] = {{"requests", &requests, 1, 1000000},
                                    {"rounds", &rounds, 1, 100000},
                                    {"work", &work, 0, 1000000},
                                    {"seed", &seed, 0, 1000000},
                                    {"late", &late, 0, 0},
                                    {"check", &check, 0, 0},
                                    {NULL, NULL, 0, 0}};
    uint64_t answered, checksum;
    double serve_seconds = 0, total;

    app_begin(&argc, &argv, MPI_THREAD_SINGLE);
    app_read_arguments(argc, argv, numbers, NULL,
                       "server [--requests=N] [--rounds=N] [--work=N] [--seed=N] [--late] "
                       "[--check]");
    if (app_size < 2) {
        app_die("this program needs two processes", NULL);
    }
    app_need_tags(requests - 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);

    MPI_Barrier(control);
    total = MPI_Wtime();
    if (0 == app_rank) {
        serve_seconds = serve();
        checksum = app_sum(0);
    } else {
        checksum = app_sum(ask());
    }
    total = app_slowest(MPI_Wtime() - total);

    answered = (uint64_t) requests * (uint64_t) rounds;
    app_report_count("processes", (uint64_t) app_size);
    app_report_count("queue_length", (uint64_t) requests);
    app_report_count("messages", 2 * answered);
    app_report_count("checksum", checksum);
    app_report_seconds("serve_seconds", serve_seconds);
    app_report_seconds("request_seconds", serve_seconds / (double) answered);
    app_report_seconds("total_seconds", total);
    MPI_Comm_free(&control);
    return app_end(check, 0 != app_rank || !check || checksum == serial_checksum());
}
