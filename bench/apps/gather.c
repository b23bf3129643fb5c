/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A gather of many meshes that become ready in any order, as in the Fire Dynamics Simulator.
 *
 *     mpirun -np 2 gather [--meshes=N] [--values=N] [--steps=N] [--seed=N] [--late] [--check]
 *
 * Each process except rank 0 has many meshes of a few values (temperatures).  In each step it
 * computes them in an order that no one can foresee, and sends each one as soon as it is ready,
 * with its number as tag.  Rank 0 has posted a receive for each mesh, in the order of their
 * numbers, so that a message hardly ever matches the first one.  From all meshes it computes the
 * mean, which the next step starts from: a message in the wrong place changes the result.
 *
 * --late: rank 0 posts its receives when the messages are already there, and the queue that is long
 * is that of unexpected messages.  --check compares with a serial run.
 */

#include "app.h"

static long meshes = 2000, values = 8, steps = 20, seed = 1, late, check;
static MPI_Comm control; /* its messages stay out of the queues that are of interest */

/* The next temperatures of a mesh. */
static void advance(double *mesh, uint64_t number, double mean)
{
    for (long i = 0; i < values; ++i) {
        uint64_t heat = app_random_at((uint64_t) seed, number * (uint64_t) values + (uint64_t) i);
        mesh[i] = (mesh[i] + mean + (double) (heat % 1000)) / 2.5;
    }
}

static double mean_of(const double *all, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; ++i) {
        sum += all[i];
    }
    return sum / (double) count;
}

/* Each bit and each place counts. */
static uint64_t digest(const double *all, size_t count)
{
    uint64_t sum = 0, pattern;

    for (size_t i = 0; i < count; ++i) {
        memcpy(&pattern, &all[i], sizeof(pattern));
        sum += pattern * (2 * i + 1);
    }
    return sum;
}

static void shuffle(int *order, uint64_t step)
{
    uint64_t stream = (uint64_t) (seed * app_size + app_rank) << 32 | step;

    for (long i = 0; i < meshes; ++i) {
        long j = (long) (app_random_at(stream, (uint64_t) i) % (uint64_t) (i + 1));
        order[i] = order[j];
        order[j] = (int) i;
    }
}

/* All processes except rank 0 */
static void simulate(void)
{
    size_t count = (size_t) meshes;
    double *mine = app_allocate(count * (size_t) values * sizeof(*mine)), mean = 0;
    int *order = app_allocate(count * sizeof(*order));
    MPI_Request *requests = app_allocate(count * sizeof(MPI_Request));

    for (long step = 0; step < steps; ++step) {
        shuffle(order, (uint64_t) step);
        if (!late) {
            MPI_Barrier(control); /* receives are posted */
        }
        for (long i = 0; i < meshes; ++i) {
            double *mesh = mine + order[i] * values;
            advance(mesh, (uint64_t) ((app_rank - 1) * meshes + order[i]), mean);
            MPI_Isend(mesh, (int) values, MPI_DOUBLE, 0, order[i], MPI_COMM_WORLD, &requests[i]);
        }
        if (late) {
            MPI_Barrier(control);
        }
        MPI_Waitall((int) meshes, requests, MPI_STATUSES_IGNORE);
        MPI_Bcast(&mean, 1, MPI_DOUBLE, 0, control);
    }
    free(mine);
    free(order);
    free(requests);
}

static void post_receives(double *all, MPI_Request *requests)
{
    long n = 0;

    /* by mesh, then by process: what an application would loop over */
    for (long mesh = 0; mesh < meshes; ++mesh) {
        for (int process = 1; process < app_size; ++process) {
            MPI_Irecv(all + ((process - 1) * meshes + mesh) * values, (int) values, MPI_DOUBLE,
                      process, (int) mesh, MPI_COMM_WORLD, &requests[n++]);
        }
    }
}

/* Rank 0: the time that it spends with receives. */
static double gather(double *all)
{
    size_t count = (size_t) (meshes * (app_size - 1));
    MPI_Request *requests = app_allocate(count * sizeof(MPI_Request));
    double seconds = 0, start, mean;

    for (long step = 0; step < steps; ++step) {
        if (late) {
            MPI_Barrier(control);
            start = MPI_Wtime();
            post_receives(all, requests);
        } else {
            post_receives(all, requests);
            MPI_Barrier(control);
            start = MPI_Wtime();
        }
        MPI_Waitall((int) count, requests, MPI_STATUSES_IGNORE);
        seconds += MPI_Wtime() - start;
        mean = mean_of(all, count * (size_t) values);
        MPI_Bcast(&mean, 1, MPI_DOUBLE, 0, control);
    }
    free(requests);
    return seconds;
}

static uint64_t serial_checksum(void)
{
    long count = meshes * (app_size - 1);
    double *all = app_allocate((size_t) (count * values) * sizeof(*all)), mean = 0;
    uint64_t sum;

    for (long step = 0; step < steps; ++step) {
        for (long mesh = 0; mesh < count; ++mesh) {
            advance(all + mesh * values, (uint64_t) mesh, mean);
        }
        mean = mean_of(all, (size_t) (count * values));
    }
    sum = digest(all, (size_t) (count * values));
    free(all);
    return sum;
}

int main(int argc, char **argv)
{
    const app_number_t numbers[] = {{"meshes", &meshes, 1, 100000},
                                    {"values", &values, 1, 10000},
                                    {"steps", &steps, 1, 100000},
                                    {"seed", &seed, 0, 1000000},
                                    {"late", &late, 0, 0},
                                    {"check", &check, 0, 0},
                                    {NULL, NULL, 0, 0}};
    uint64_t messages, checksum = 0;
    double gather_seconds = 0, total;

    app_begin(&argc, &argv, MPI_THREAD_SINGLE);
    app_read_arguments(
        argc, argv, numbers, NULL,
        "gather [--meshes=N] [--values=N] [--steps=N] [--seed=N] [--late] [--check]");
    if (app_size < 2 || meshes * (app_size - 1) > INT32_MAX) {
        app_die("this program needs two processes, and at most 2^31 meshes in all", NULL);
    }
    app_need_tags(meshes - 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    messages = (uint64_t) meshes * (uint64_t) (app_size - 1);

    MPI_Barrier(control);
    total = MPI_Wtime();
    if (0 == app_rank) {
        size_t count = messages * (size_t) values;
        double *all = app_allocate(count * sizeof(*all));
        gather_seconds = gather(all);
        checksum = digest(all, count);
        free(all);
    } else {
        simulate();
    }
    total = app_slowest(MPI_Wtime() - total);

    app_report_count("processes", (uint64_t) app_size);
    app_report_count("queue_length", messages);
    app_report_count("messages", messages * (uint64_t) steps);
    app_report_count("checksum", checksum);
    app_report_seconds("gather_seconds", gather_seconds);
    app_report_seconds("message_seconds", gather_seconds / (double) (messages * (uint64_t) steps));
    app_report_seconds("total_seconds", total);
    MPI_Comm_free(&control);
    return app_end(check, 0 != app_rank || !check || checksum == serial_checksum());
}
