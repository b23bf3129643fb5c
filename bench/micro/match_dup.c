/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process with many communicators pays for the heater: the processor time of all its threads
 * while it sleeps, with nothing to match and with one receive posted, and then what MPI_Comm_dup
 * and MPI_Comm_free cost.
 *
 * Arguments: --counts=100,20000 --sleep=MILLISECONDS --ms
 */

#include "match.h"

#include <sys/resource.h>

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

/* How often this thread gave its processor away because it had to wait, as for a lock. */
static long waits(void)
{
    struct rusage use;

    getrusage(RUSAGE_THREAD, &use);
    return use.ru_nvcsw;
}

/* The mean, as not every call waits for a lock; and on a busy machine, where time says little, how
 * many do. */
static void measure_dup(const char *what)
{
    double start = micro_now_ns(), end = start + (double) micro_number("ms", 300) * 1e6, now;
    long waited = waits(), calls = 0;

    do {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
        OK(MPI_Comm_free(&comm));
        ++calls;
        now = micro_now_ns();
    } while (now < end);
    waited = waits() - waited;
    micro_print_one("dup", what, 0, "dup + free", "ns", (now - start) / (double) calls);
    micro_print_one("dup", what, 0, "waits in 1000", "waits",
                    1000 * (double) waited / (double) calls);
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
