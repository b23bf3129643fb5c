/*
 * Hits of two at the same time: MPI_Get and MPI_Win_flush of 64 bytes at 256 addresses, which are
 * in the cache, by two processes of a node or by two threads of a process, beside one of them
 * alone.
 *
 *     together [--workers=processes|threads] [--window=allocate|create] [--rounds=N]
 *
 * Rank 1 has the data and sleeps.  Ranks 0 and 2, or two threads of rank 0, hit: one, both, the
 * other one, in turns of 2 ms each, which they know by the clock.  Windows: mode always, with a
 * cache for each process and with one for the node.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* CPU_SET */

#include "micro.h"

#include <pthread.h>
#include <sched.h>

#define TURN_NS 2e6
#define START_NS 20e6 /* until all of them are ready */

enum { BYTES = 64, ADDRESSES = 256, BATCH = 64, OTHER = 2 /* rank */ };
enum { FIRST_ALONE, BOTH, SECOND_ALONE, TURNS };
enum { PARTS = 7 }; /* of the rounds, between which the windows take turns */

typedef struct {
    _Alignas(128) struct micro_gets gets; /* which a thread changes with each get */
    int number;                           /* 0 or 1 */
    long rounds;
    double start;
    double *rates[TURNS]; /* hits per ns, one value per round */
} worker_t;

static void sleep_until(double when)
{
    double left = when - micro_now_ns();

    if (0 < left) {
        nanosleep(&(struct timespec){(time_t) (left / 1e9), (long) fmod(left, 1e9)}, NULL);
    }
}

/* Each has a processor of its own. */
static void take_processor(int number)
{
    cpu_set_t all, own;

    CPU_ZERO(&own);
    if (0 != sched_getaffinity(0, sizeof(all), &all)) {
        return;
    }
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &all) && 0 == number--) {
            CPU_SET(i, &own);
            (void) sched_setaffinity(0, sizeof(own), &own);
        }
    }
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    cpu_set_t before;

    (void) sched_getaffinity(0, sizeof(before), &before);
    take_processor(worker->number);
    for (long turn = 0; turn < worker->rounds * TURNS; ++turn) {
        double begin = worker->start + (double) turn * TURN_NS, now;
        long hits = 0;

        if ((0 == worker->number ? SECOND_ALONE : FIRST_ALONE) == turn % TURNS) {
            continue;
        }
        sleep_until(begin - TURN_NS / 10);
        while (micro_now_ns() < begin) {
        }
        begin = micro_now_ns(); /* when it was late, it was not hitting */
        do {
            micro_get_flush(&worker->gets, BATCH);
            hits += BATCH;
            now = micro_now_ns();
        } while (now < worker->start + ((double) turn + 0.9) * TURN_NS);
        worker->rates[turn % TURNS][turn / TURNS] = (double) hits / (now - begin);
    }
    (void) sched_setaffinity(0, sizeof(before), &before);
    return NULL;
}

static void prepare(worker_t *worker, struct micro_window *window, int number, long rounds)
{
    *worker = (worker_t){.gets = {window, micro_memory(BYTES), BYTES, BYTES, ADDRESSES, 97, 0},
                         .number = number,
                         .rounds = rounds};
    for (int i = 0; i < TURNS; ++i) {
        worker->rates[i] = micro_memory((size_t) rounds * sizeof(double));
    }
}

/* Hits of one share setting, per ns, one value per round. */
typedef struct {
    const char *share, *what;
    double *alone, *both;
} results_t;

static void report(const results_t *results, bool threads, long rounds)
{
    double *ns = micro_memory((size_t) rounds * sizeof(double));
    char what[64];

    snprintf(what, sizeof(what), "%s, %s", threads ? "threads" : "processes", results->what);
    for (long i = 0; i < rounds; ++i) {
        ns[i] = 1 / results->alone[i];
    }
    micro_print("together", what, BYTES, "hit, alone", "ns", ns, rounds);
    for (long i = 0; i < rounds; ++i) {
        ns[i] = 2 / results->both[i];
    }
    micro_print("together", what, BYTES, "hit, together", "ns", ns, rounds);
    micro_print_ratio("together", what, BYTES, "hits of two/of one", results->both, results->alone,
                      1, 0, rounds);
    fflush(stdout);
    free(ns);
}

static void add(const worker_t *one, const worker_t *other, results_t *results, long begin,
                long rounds)
{
    for (long i = 0; i < rounds; ++i) {
        results->alone[begin + i] =
            (one->rates[FIRST_ALONE][i] + other->rates[SECOND_ALONE][i]) / 2;
        results->both[begin + i] = one->rates[BOTH][i] + other->rates[BOTH][i];
    }
}

/* So many rounds, from this one on. */
static void measure(results_t *results, bool threads, long from, long rounds)
{
    const char *info[] = {"ompi_osc_cached_mode", "always", "ompi_osc_cached_share", results->share,
                          NULL};
    struct micro_window window;
    worker_t workers[2];
    double start, misses;

    micro_window_make(&window, BYTES * ADDRESSES, info);
    prepare(&workers[0], &window, 0, rounds);
    prepare(&workers[1], &window, 1, rounds);
    if (MICRO_TARGET != micro_rank) {
        micro_get_flush(&workers[0].gets, 8 * ADDRESSES);
    }
    start = micro_now_ns() + START_NS;
    OK(MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    workers[0].start = workers[1].start = start;
    misses = micro_count(&window, MICRO_GETS) - micro_count(&window, MICRO_HITS);
    if (0 == micro_rank && threads) {
        pthread_t second;

        if (0 != pthread_create(&second, NULL, work, &workers[1])) {
            fprintf(stderr, "cannot start a thread\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        (void) work(&workers[0]);
        (void) pthread_join(second, NULL);
    } else if (0 == micro_rank || (OTHER == micro_rank && !threads)) {
        (void) work(&workers[0 == micro_rank ? 0 : 1]);
    }
    sleep_until(start + ((double) (rounds * TURNS) + 1) * TURN_NS);
    misses -= micro_count(&window, MICRO_GETS) - micro_count(&window, MICRO_HITS);
    if (MICRO_TARGET != micro_rank && 0 != misses) {
        fprintf(stderr, "%g misses\n", -misses);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < TURNS && !threads; ++i) {
        if (OTHER == micro_rank) {
            OK(MPI_Send(workers[1].rates[i], (int) rounds, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
        } else if (0 == micro_rank) {
            OK(MPI_Recv(workers[1].rates[i], (int) rounds, MPI_DOUBLE, OTHER, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        }
    }
    if (0 == micro_rank) {
        micro_check(&workers[0].gets);
        add(&workers[0], &workers[1], results, from, rounds);
    }
    for (int i = 0; i < 2; ++i) {
        for (int turn = 0; turn < TURNS; ++turn) {
            free(workers[i].rates[turn]);
        }
        free(workers[i].gets.buffer);
    }
    micro_window_free(&window);
}

int main(int argc, char **argv)
{
    results_t results[2] = {{"off", "a cache for each process", NULL, NULL},
                            {"on", "a cache for the node", NULL, NULL}};
    long rounds, part;
    bool threads = false;
    int size;

    for (int i = 1; i < argc; ++i) {
        threads = threads || 0 == strcmp("--workers=threads", argv[i]);
    }
    micro_init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (3 != size) {
        fprintf(stderr, "%s needs 3 processes\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rounds = micro_number("rounds", 105);
    part = (rounds < PARTS) ? 1 : rounds / PARTS;
    rounds = rounds / part * part;
    for (int i = 0; i < 2; ++i) {
        results[i].alone = micro_memory((size_t) rounds * sizeof(double));
        results[i].both = micro_memory((size_t) rounds * sizeof(double));
    }
    for (long round = 0; round < rounds; round += part) { /* the two in turns */
        measure(&results[round / part % 2], threads, round, part);
        measure(&results[1 - round / part % 2], threads, round, part);
    }
    if (0 == micro_rank) {
        report(&results[0], threads, rounds);
        report(&results[1], threads, rounds);
        micro_print_ratio("together", threads ? "threads" : "processes", BYTES,
                          "hit, node's cache/own", results[0].alone, results[1].alone, 1, 0,
                          rounds);
        micro_print_ratio("together", threads ? "threads" : "processes", BYTES,
                          "hit together, node's cache/own", results[0].both, results[1].both, 1, 0,
                          rounds);
    }
    for (int i = 0; i < 2; ++i) {
        free(results[i].alone);
        free(results[i].both);
    }
    return micro_done();
}
