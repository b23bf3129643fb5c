/*
 * What the matching benchmarks share: processors, tokens between the ranks, clearing the caches,
 * lists of numbers and names in arguments, and batches that all ranks agree on.
 *
 * The matching component is chosen for a whole run, so these programs measure one, and bench/match
 * runs them with all components in turn. Rank 0 receives and measures. Traffic that is not measured
 * goes through a communicator of its own and so through other queues. What a program prints has
 * micro.h's form.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_MATCH_H
#define OMPI_LOCALITY_MATCH_H

#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "micro.h"

#if defined(__has_include) && __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else /* not to be counted */
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(label)
#endif

static MPI_Comm match_comm;  /* what is measured */
static MPI_Comm match_other; /* tokens */
static int match_size;

MICRO_UNUSED static void match_init(int *argc, char ***argv, int level)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (NULL != rank
        && atoi(rank) < 2) { /* those who measure never yield, whatever the others do */
        setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
    }
    micro_init_thread(argc, argv, level);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &match_comm));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &match_other));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &match_size));
}

MICRO_UNUSED static int match_done(void)
{
    OK(MPI_Comm_free(&match_comm));
    OK(MPI_Comm_free(&match_other));
    return micro_done();
}

/* More ranks than processors: rank 0 has the first processor for itself. */
MICRO_UNUSED static void match_bind(void)
{
    cpu_set_t allowed, mine;
    int first = -1, last = -1;

    if (0 != sched_getaffinity(0, sizeof(allowed), &allowed)) {
        return;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed)) {
            first = first < 0 ? cpu : first;
            last = cpu;
        }
    }
    CPU_ZERO(&mine);
    CPU_SET(0 == micro_rank ? first : last, &mine);
    sched_setaffinity(0, sizeof(mine), &mine);
}

/* Tokens and small numbers */

MICRO_UNUSED static void match_tell(int rank, long value)
{
    OK(MPI_Send(&value, 1, MPI_LONG, rank, 0, match_other));
}

MICRO_UNUSED static long match_hear(int rank)
{
    long value;

    OK(MPI_Recv(&value, 1, MPI_LONG, rank, 0, match_other, MPI_STATUS_IGNORE));
    return value;
}

/* Caches */

/* Bytes of the cache of this level, from --l2=BYTES or --l3=BYTES, else from what Linux says. */
static size_t match_cache_bytes(int level)
{
    char name[64], text[32] = "";
    size_t bytes = 0;

    snprintf(name, sizeof(name), "l%d", level);
    if (NULL != micro_option(name, NULL)) {
        return (size_t) micro_number(name, 0);
    }
    for (int index = 0; index < 8; ++index) {
        FILE *file;
        int found = 0;
        const char *base = "/sys/devices/system/cpu/cpu0/cache/index%d/%s";
        snprintf(name, sizeof(name), base, index, "level");
        file = fopen(name, "r");
        if (NULL == file) {
            break;
        }
        found = 1 == fscanf(file, "%31s", text) && level == atoi(text);
        fclose(file);
        snprintf(name, sizeof(name), base, index, "size");
        file = found ? fopen(name, "r") : NULL;
        if (NULL != file) {
            if (1 == fscanf(file, "%31s", text)) {
                bytes = (size_t) atol(text) * (NULL == strchr(text, 'M') ? 1024 : 1024 * 1024);
            }
            fclose(file);
        }
    }
    return bytes > 0 ? bytes : (2 == level ? 1 : 32) * 1024 * 1024;
}

/*
 * What clears nothing, the L2 cache, or all caches: writes to as many bytes, in an order that no
 * prefetcher and no replacement policy that resists scans knows. On a Neoverse V1 (L2 1 MiB, L3 32
 * MiB) an access costs 5 ns after a sweep in order of 8 MiB, 14 ns after this one of 8 MiB, and 115
 * ns after this one of 64 MiB.
 */
struct match_clear {
    const char *name;
    size_t bytes; /* a power of two */
    unsigned char *memory;
};

MICRO_UNUSED static struct match_clear match_clear_make(const char *name)
{
    struct match_clear c = {"warm", 0, NULL};
    size_t wanted = 0;

    if (0 == strcmp(name, "l2")) {
        c.name = "L2 cleared";
        wanted = 8 * match_cache_bytes(2);
    } else if (0 == strcmp(name, "llc")) {
        c.name = "LLC cleared";
        wanted = 2 * match_cache_bytes(3);
    }
    if (wanted > 0) {
        for (c.bytes = 4096; c.bytes < wanted; c.bytes *= 2) {
        }
        c.memory = micro_memory(c.bytes);
    }
    return c;
}

MICRO_UNUSED static void match_clear(struct match_clear *c)
{
    size_t lines = c->bytes / 64;

    for (size_t i = 0; i < lines; ++i) {
        *(volatile unsigned char *) (c->memory + (i * 2654435761u & (lines - 1)) * 64) =
            (unsigned char) i;
    }
}

/* Lists: "1,4096" and "one,other" */

MICRO_UNUSED static const char *match_next(const char *list, char *item, size_t bytes)
{
    size_t length = strcspn(list, ",");

    snprintf(item, bytes, "%.*s", (int) length, list);
    return ',' == list[length] ? list + length + 1 : list + length;
}

#define MATCH_EACH(item, list)                                                            \
    for (const char *rest_##item = match_next(list, item, sizeof(item)); '\0' != item[0]; \
         rest_##item = match_next(rest_##item, item, sizeof(item)))

/* Batches */

#define MATCH_MOST 1024 /* batches of a case */
#define MATCH_LEAST 5

/* What n iterations of a case do, on rank 0 and on rank 1. Returns the ns that count. */
typedef double (*match_iterations_fn)(void *context, long n);

/* The median of the fastest quarter: two processes that wait for each other lose whole time slices
 * when somebody else wants a processor, and most of the batches can have met that. */
MICRO_UNUSED static void match_print(const char *benchmark, const char *what, size_t bytes,
                                     const char *quantity, double *ns, long batches)
{
    qsort(ns, (size_t) batches, sizeof(double), micro_compare);
    micro_print(benchmark, what, bytes, quantity, "ns", ns, (batches + 3) / 4);
    fflush(stdout);
}

/* Under callgrind: what was executed since CALLGRIND_ZERO_STATS, for bench/match to read. */
MICRO_UNUSED static void match_counted(const char *what, double operations)
{
    char label[160];

    snprintf(label, sizeof(label), "%s|%.0f", what, operations);
    CALLGRIND_DUMP_STATS_AT(label);
}

static double match_batch(match_iterations_fn run, void *context, long n)
{
    if (match_size > 1) {
        match_tell(1, n);
    }
    return run(context, n);
}

/* Rank 0 under callgrind: the instructions of some iterations, after as many that warmed up. */
static void match_count(const char *benchmark, const char *what, match_iterations_fn run,
                        void *context, double operations)
{
    long n = 1 + (long) (1000 / operations);
    char label[128];

    (void) match_batch(run, context, n);
    CALLGRIND_ZERO_STATS;
    (void) match_batch(run, context, n);
    snprintf(label, sizeof(label), "%s: %s", benchmark, what);
    match_counted(label, (double) n * operations);
}

/* Rank 0 finds out how many iterations are a batch (with the cache cleared: one), and runs some
 * batches, after --ms=MILLISECONDS five. @return how many */
static long match_time(double *ns, match_iterations_fn run, void *context, bool one_each,
                       double operations)
{
    long most = micro_number("batches", 31), n = 1, batches = 0;
    double end;

    /* The fastest of some, because the first one warms up, and any one can be disturbed. */
    for (;;) {
        double fastest = match_batch(run, context, n);
        for (int i = 0; i < 3; ++i) {
            fastest = fmin(fastest, match_batch(run, context, n));
        }
        if (fastest >= MICRO_BATCH_NS || one_each) {
            break;
        }
        n *= 2;
    }
    end = micro_now_ns() + (double) micro_number("ms", 30) * 1e6;
    while (batches < most && batches < MATCH_MOST
           && (batches < MATCH_LEAST || micro_now_ns() < end)) {
        ns[batches++] = match_batch(run, context, n) / ((double) n * operations);
    }
    return batches;
}

/* Ranks 0 and 1 run batches of a case, and rank 0 prints the ns per operation. */
MICRO_UNUSED static void match_measure(const char *benchmark, const char *what, size_t bytes,
                                       const char *quantity, match_iterations_fn run, void *context,
                                       bool one_each, double operations)
{
    double ns[MATCH_MOST];
    long n;

    if (1 == micro_rank) {
        while (0 < (n = match_hear(0))) {
            (void) run(context, n);
        }
    }
    if (0 != micro_rank) {
        return;
    }
    if (RUNNING_ON_VALGRIND) {
        match_count(benchmark, what, run, context, operations);
    } else {
        n = match_time(ns, run, context, one_each, operations);
        match_print(benchmark, what, bytes, quantity, ns, n);
    }
    if (match_size > 1) {
        match_tell(1, 0);
    }
}

#endif
