/* The emulated network (bench/net): nothing is complete before its time, time passes while the
 * program computes, and what does not use the network costs nothing there.
 *
 * Run by test/mpi/netem, which gives the network's numbers to Open MPI and, as arguments, to this
 * program: L and o in ns, and megabytes per second.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <time.h>

enum { BYTES = 1 << 20, PIPELINED = 50, ATTEMPTS = 20 };

static double latency, overhead, bandwidth;
static char *got;
static struct counters counts;

/* The clock of the emulated network, ns. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* The network counts in whole ns. */
#define TOOK(begin, least)                                                      \
    do {                                                                        \
        double took_ = now() - (begin), least_ = (least) -2;                    \
        CHECK(took_ >= least_, "took %.0f ns, at least %.0f", took_, (least_)); \
    } while (0)

static double stream(double bytes)
{
    return (bytes - 1) * 1000 / bandwidth;
}

static void get(MPI_Win win, int bytes, int disp)
{
    OK(MPI_Get(got, bytes, MPI_BYTE, 1, disp, bytes, MPI_BYTE, win));
}

/* What rank 0 does to rank 1. */
static void complete_in_time(MPI_Win win)
{
    double begin = now(), round_trip = overhead + 2 * latency;
    MPI_Request request;
    long one = 1, old;

    get(win, 8, 0);
    TOOK(begin, overhead);
    OK(MPI_Win_flush(1, win));
    TOOK(begin, round_trip + stream(8));

    begin = now();
    get(win, BYTES, 0);
    OK(MPI_Win_flush_all(win));
    TOOK(begin, round_trip + stream(BYTES));

    begin = now();
    for (int i = 0; i < PIPELINED; ++i) {
        OK(MPI_Get(got + i, 1, MPI_BYTE, 1, i, 1, MPI_BYTE, win));
    }
    OK(MPI_Win_flush_local(1, win));
    TOOK(begin, PIPELINED * overhead + 2 * latency);

    begin = now();
    OK(MPI_Rget(got, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    TOOK(begin, round_trip + stream(8));

    begin = now();
    OK(MPI_Put(got, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win));
    OK(MPI_Win_flush_local(1, win));
    TOOK(begin, overhead + stream(BYTES));
    OK(MPI_Win_flush(1, win));
    TOOK(begin, round_trip + stream(BYTES));

    begin = now();
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, win));
    OK(MPI_Win_flush(1, win));
    TOOK(begin, round_trip);
}

static void overlaps(MPI_Win win)
{
    unsigned long before = counter(&counts, "waited_ns");
    int attempt;

    for (attempt = 0; attempt < ATTEMPTS && before == counter(&counts, "waited_ns"); ++attempt) {
        /* once, nothing will have stopped this process in between */
        get(win, 8, 64);
        OK(MPI_Win_flush(1, win));
    }
    CHECK(attempt < ATTEMPTS, "no flush has waited for the network");

    before = counter(&counts, "waited_ns");
    get(win, 8, 128);
    for (double begin = now(); now() < begin + overhead + 2 * latency + stream(8);) {
    }
    OK(MPI_Win_flush(1, win));
    CHECK(before == counter(&counts, "waited_ns"), "a flush waited though the time had passed");
}

static void only_the_network(MPI_Win win)
{
    unsigned long operations = counter(&counts, "operations"), bytes = counter(&counts, "bytes");
    unsigned long waited;

    get(win, 100, 0);
    OK(MPI_Win_flush(1, win));
    COUNTS(&counts, "operations", operations + 1, "one get");
    COUNTS(&counts, "bytes", bytes + 100, "one get of 100 bytes");

    waited = counter(&counts, "waited_ns");
    OK(MPI_Get(got, 100, MPI_BYTE, 0, 0, 100, MPI_BYTE, win));
    OK(MPI_Win_flush(0, win));
    COUNTS(&counts, "operations", operations + 1, "a get from the process itself");
    COUNTS(&counts, "waited_ns", waited, "a get from the process itself");
}

/* Two messages: the one that start waits for, and the one that wait or test is for. */
static void exposures(MPI_Win win)
{
    MPI_Group all, other;
    int rank = 1 - test_rank;

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &rank, &other));
    for (int tests = 0; tests < 2; ++tests) {
        double begin = now();

        if (0 == test_rank) {
            OK(MPI_Win_start(other, 0, win));
            OK(MPI_Win_complete(win));
        } else {
            OK(MPI_Win_post(other, 0, win));
            for (int done = 0; tests && !done;) {
                OK(MPI_Win_test(win, &done));
            }
            if (!tests) {
                OK(MPI_Win_wait(win));
            }
            TOOK(begin, 2 * (latency + overhead));
        }
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&other));
}

static void epochs(MPI_Win win)
{
    double begin;

    test_barrier();
    begin = now();
    OK(MPI_Win_fence(0, win));
    TOOK(begin, latency + 2 * overhead); /* two processes: a barrier of one round */
    begin = now();
    OK(MPI_Get(got, 8, MPI_BYTE, 1 - test_rank, 0, 8, MPI_BYTE, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    TOOK(begin, overhead + 2 * latency + stream(8) + latency + 2 * overhead);
    exposures(win);
    test_barrier();
    if (0 == test_rank) {
        begin = now();
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        TOOK(begin, overhead + 2 * latency);
        begin = now();
        get(win, 8, 0);
        OK(MPI_Win_unlock(1, win));
        TOOK(begin, overhead + 2 * latency + stream(8));
    }
    test_barrier();
}

int main(int argc, char **argv)
{
    char *base;
    MPI_Win win;

    test_init(&argc, &argv);
    if (4 != argc || 2 != test_size) {
        fprintf(stderr, "2 processes, and L, o and the bandwidth are needed\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    latency = atof(argv[1]);
    overhead = atof(argv[2]);
    bandwidth = atof(argv[3]);
    got = malloc(BYTES);
    counters_open_all(&counts, "osc_netem_", MPI_T_BIND_NO_OBJECT, NULL);
    win = test_win_make(NULL, BYTES, 1, &base);
    memset(base, 1 + test_rank, BYTES);
    test_barrier();
    epochs(win);
    if (0 == test_rank) {
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
        complete_in_time(win);
        overlaps(win);
        only_the_network(win);
        OK(MPI_Win_unlock_all(win));
    }
    test_barrier();
    counters_close(&counts);
    OK(MPI_Win_free(&win));
    free(got);
    return test_done();
}
