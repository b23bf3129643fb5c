/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process with many communicators pays for the heater: the processor time of all its threads
 * while it sleeps, with nothing to match and with one receive posted, and then the time of
 * MPI_Comm_dup and MPI_Comm_free.
 *
 * Arguments: --counts=100,20000 --sleep=MILLISECONDS --batches --ms
 */

#include "match.h"

#include <sys/resource.h>

#define PER_BATCH 100

static double processor_seconds(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double) (use.ru_utime.tv_sec + use.ru_stime.tv_sec)
           + (double) (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static void measure_sleep(const char *what, const char *quantity)
{
    useconds_t us = (useconds_t) micro_number("sleep", 300) * 1000;
    double start = micro_now_ns(), used = processor_seconds();

    usleep(us);
    used = processor_seconds() - used;
    micro_print_one("dup", what, 0, quantity, "%", 100e9 * used / (micro_now_ns() - start));
}

/* The median of all batches, not of the fastest: who waits for a lock does not always wait. */
static void measure_dup(const char *what)
{
    long most = micro_number("batches", 101), batches = 0;
    double ns[MATCH_MOST], end = micro_now_ns() + (double) micro_number("ms", 300) * 1e6;

    while (batches < most && batches < MATCH_MOST
           && (batches < MATCH_LEAST || micro_now_ns() < end)) {
        double start = micro_now_ns();
        for (int i = 0; i < PER_BATCH; ++i) {
            MPI_Comm comm;
            OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
            OK(MPI_Comm_free(&comm));
        }
        ns[batches++] = (micro_now_ns() - start) / PER_BATCH;
    }
    micro_print("dup", what, 0, "dup + free", "ns", ns, batches);
}

int main(int argc, char **argv)
{
    MPI_Comm *comms = NULL;
    char number[16], what[64], byte;
    int made = 0;

    match_init(&argc, &argv, MPI_THREAD_SINGLE);
    MATCH_EACH(number, micro_option("counts", "100,20000"))
    {
        MPI_Request request;
        int count = atoi(number);
        comms = realloc(comms, (size_t) count * sizeof(*comms));
        for (; made < count; ++made) {
            OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[made]));
        }
        snprintf(what, sizeof(what), "%d communicators", count);
        measure_sleep(what, "% of a core, idle");
        OK(MPI_Irecv(&byte, 1, MPI_BYTE, 0, 1, match_comm, &request));
        measure_sleep(what, "% of a core, 1 receive");
        measure_dup(what);
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    while (made > 0) {
        OK(MPI_Comm_free(&comms[--made]));
    }
    free(comms);
    return match_done();
}
