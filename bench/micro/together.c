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

static void report(const char *what, const worker_t *one, const worker_t *other, long rounds)
{
    double *alone = micro_memory((size_t) rounds * sizeof(double));
    double *both = micro_memory((size_t) rounds * sizeof(double));
    double *ns = micro_memory((size_t) rounds * sizeof(double));

    for (long i = 0; i < rounds; ++i) {
        alone[i] = (one->rates[FIRST_ALONE][i] + other->rates[SECOND_ALONE][i]) / 2;
        both[i] = one->rates[BOTH][i] + other->rates[BOTH][i];
        ns[i] = 1 / alone[i];
    }
    micro_print("together", what, BYTES, "hit, alone", "ns", ns, rounds);
    for (long i = 0; i < rounds; ++i) {
        ns[i] = 2 / both[i];
    }
    micro_print("together", what, BYTES, "hit, together", "ns", ns, rounds);
    micro_print_ratio("together", what, BYTES, "hits of two/of one", both, alone, 1, 0, rounds);
    fflush(stdout);
    free(alone);
    free(both);
    free(ns);
}

static void measure(const char *share, bool threads, long rounds)
{
    const char *info[] = {"ompi_osc_cached_mode", "always", "ompi_osc_cached_share", share, NULL};
    struct micro_window window;
    worker_t workers[2];
    double start, misses;
    char what[64];

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
        snprintf(what, sizeof(what), "%s, %s", threads ? "threads" : "processes",
                 0 == strcmp("on", share) ? "a cache for the node" : "a cache for each process");
        report(what, &workers[0], &workers[1], rounds);
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
    measure("off", threads, micro_number("rounds", 101));
    measure("on", threads, micro_number("rounds", 101));
    return micro_done();
}
