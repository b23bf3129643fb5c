/*
 * What the micro-benchmarks share: two windows on the same data, one cached and one with caching
 * off (the baseline, which goes straight to the component below), subjects timed in short batches
 * that take turns, medians with 95 % confidence intervals, and the counters of a window.
 *
 * Rank 0 is the origin and measures; rank 1 is the target and waits in MPI_Recv, where it makes
 * progress.  Rank 0 prints the results (results.h).  The median of paired differences and ratios is
 * taken round by round, so that what disturbs both subjects of a round cancels.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_MICRO_H
#define OMPI_LOCALITY_MICRO_H

#include "results.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICRO_ORIGIN 0
#define MICRO_TARGET 1
#define MICRO_BATCH_NS 100000.0 /* long enough for the clock, short enough for a time slice */

static int micro_rank;
static MPI_T_pvar_session micro_session;

#define OK(call)                                                              \
    do {                                                                      \
        if (MPI_SUCCESS != (call)) {                                          \
            fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #call); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                     \
        }                                                                     \
    } while (0)

MICRO_UNUSED static void *micro_memory(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    if (NULL == memory) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, 0, bytes);
    return memory;
}

/* For any number of processes; they may give another thread level than MPI_THREAD_SINGLE. */
MICRO_UNUSED static void micro_init_thread(int *argc, char ***argv, int level)
{
    int provided;

    MPI_Init_thread(argc, argv, level, &provided);
    micro_argc = *argc;
    micro_argv = *argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &micro_rank);
    if (provided < level) {
        fprintf(stderr, "%s needs more thread support than this Open MPI has\n", micro_argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    OK(MPI_T_init_thread(level, &provided));
    OK(MPI_T_pvar_session_create(&micro_session));
}

MICRO_UNUSED static void micro_init(int *argc, char ***argv)
{
    int size;

    micro_init_thread(argc, argv, MPI_THREAD_SINGLE);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (2 != size) {
        fprintf(stderr, "%s needs 2 processes\n", micro_argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

MICRO_UNUSED static int micro_done(void)
{
    OK(MPI_T_pvar_session_free(&micro_session));
    OK(MPI_T_finalize());
    MPI_Finalize();
    return 0;
}

/* The target waits here, and makes progress, until the origin has measured. */
#define MICRO_MEASURE(call)                                                                        \
    do {                                                                                           \
        int token_ = 0;                                                                            \
        if (MICRO_ORIGIN == micro_rank) {                                                          \
            call;                                                                                  \
            fflush(stdout);                                                                        \
            OK(MPI_Send(&token_, 1, MPI_INT, MICRO_TARGET, 0, MPI_COMM_WORLD));                    \
        } else {                                                                                   \
            OK(MPI_Recv(&token_, 1, MPI_INT, MICRO_ORIGIN, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); \
        }                                                                                          \
    } while (0)

/* Windows */

enum micro_counter {
    MICRO_GETS,
    MICRO_HITS,
    MICRO_PARTIAL_HITS,
    MICRO_JOINS,
    MICRO_DIRECT,
    MICRO_CONFLICTING,
    MICRO_CAPACITY,
    MICRO_FAILING,
    MICRO_BYPASSED,
    MICRO_DECLINED,
    MICRO_EVICTIONS,
    MICRO_RESIZES,
    MICRO_INDEX_ENTRIES,
    MICRO_INDEX_CAPACITY,
    MICRO_STORAGE_USED,
    MICRO_STORAGE_CAPACITY,
    MICRO_COUNTERS
};

static const char *const micro_counter_names[MICRO_COUNTERS] = {
    "gets",          "hits",           "partial_hits", "joins",
    "direct",        "conflicting",    "capacity",     "failing",
    "bypassed",      "declined",       "evictions",    "resizes",
    "index_entries", "index_capacity", "storage_used", "storage_capacity"};

struct micro_window {
    MPI_Win win;
    unsigned char *base;
    void *created; /* what MPI_Win_create was given, NULL after MPI_Win_allocate */
    MPI_T_pvar_handle counter[MICRO_COUNTERS];
};

/* @return -1: there is none of that name */
MICRO_UNUSED static int micro_find_pvar(const char *wanted)
{
    char found[256];
    int count, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum set;

    OK(MPI_T_pvar_get_num(&count));
    for (int i = 0; i < count; ++i) {
        int length = sizeof(found), none = 0;
        if (MPI_SUCCESS
                == MPI_T_pvar_get_info(i, found, &length, &verbosity, &class, &type, &set, NULL,
                                       &none, &bind, &readonly, &continuous, &atomic)
            && 0 == strcmp(found, wanted)) {
            return i;
        }
    }
    return -1;
}

static unsigned char micro_byte(size_t offset)
{
    return (unsigned char) ((offset * 0x9e3779b97f4a7c15u) >> 56);
}

/* Collective. The target has the bytes, and the origin has touched each page of them.
 * info: pairs of key and value, ended by NULL; the baseline is {mode, off}. Counters only where a
 * mode asks for caching: who reads them has every call counted. */
MICRO_UNUSED static void micro_window_make(struct micro_window *w, size_t bytes,
                                           const char *const *info)
{
    bool create = 0 == strcmp(micro_option("window", "allocate"), "create");
    size_t mine = MICRO_TARGET == micro_rank ? bytes : 0;
    bool counted = false;
    MPI_Info pairs;

    OK(MPI_Info_create(&pairs));
    for (; NULL != info[0]; info += 2) {
        OK(MPI_Info_set(pairs, info[0], info[1]));
        counted = counted
                  || (0 == strcmp(info[0], "ompi_osc_cached_mode") && 0 != strcmp(info[1], "off"));
    }
    w->created = create && 0 < mine ? micro_memory(mine) : NULL;
    if (create) {
        w->base = w->created;
        OK(MPI_Win_create(w->base, (MPI_Aint) mine, 1, pairs, MPI_COMM_WORLD, &w->win));
    } else {
        OK(MPI_Win_allocate((MPI_Aint) mine, 1, pairs, MPI_COMM_WORLD, &w->base, &w->win));
    }
    OK(MPI_Info_free(&pairs));
    for (size_t i = 0; i < mine; ++i) {
        w->base[i] = micro_byte(i);
    }
    for (int i = 0; i < MICRO_COUNTERS; ++i) {
        char name[128];
        int index, count;
        snprintf(name, sizeof(name), "osc_cached_%s", micro_counter_names[i]);
        index = counted ? micro_find_pvar(name) : -1;
        w->counter[i] = MPI_T_PVAR_HANDLE_NULL;
        if (index >= 0) {
            OK(MPI_T_pvar_handle_alloc(micro_session, index, &w->win, &w->counter[i], &count));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win));
    if (MICRO_ORIGIN == micro_rank) {
        for (size_t page = 0; page < bytes; page += 4096) {
            unsigned char byte = micro_byte(page);
            OK(MPI_Put(&byte, 1, MPI_BYTE, MICRO_TARGET, (MPI_Aint) page, 1, MPI_BYTE, w->win));
            OK(MPI_Win_flush_local(MICRO_TARGET, w->win));
        }
    }
    OK(MPI_Win_unlock_all(w->win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win));
}

MICRO_UNUSED static void micro_window_free(struct micro_window *w)
{
    OK(MPI_Win_unlock_all(w->win));
    for (int i = 0; i < MICRO_COUNTERS; ++i) {
        if (MPI_T_PVAR_HANDLE_NULL != w->counter[i]) {
            OK(MPI_T_pvar_handle_free(micro_session, &w->counter[i]));
        }
    }
    OK(MPI_Win_free(&w->win));
    free(w->created);
}

/* NAN: this Open MPI counts nothing of that name. */
MICRO_UNUSED static double micro_count(struct micro_window *w, enum micro_counter which)
{
    unsigned long value;

    if (MPI_T_PVAR_HANDLE_NULL == w->counter[which]) {
        return NAN;
    }
    OK(MPI_T_pvar_read(micro_session, w->counter[which], &value));
    return (double) value;
}

/* Gets, each followed by a flush, of an address pattern */

struct micro_gets {
    struct micro_window *window;
    unsigned char *buffer;
    size_t bytes;  /* of a get */
    size_t stride; /* between addresses */
    size_t count;  /* addresses, a power of two */
    size_t step;   /* 1: in order; another odd number: scattered */
    size_t next;
};

MICRO_UNUSED static void micro_get_flush(void *argument, long n)
{
    struct micro_gets *g = argument;
    MPI_Win win = g->window->win;

    for (long i = 0; i < n; ++i) {
        MPI_Get(g->buffer, (int) g->bytes, MPI_BYTE, MICRO_TARGET, (MPI_Aint) (g->next * g->stride),
                (int) g->bytes, MPI_BYTE, win);
        MPI_Win_flush(MICRO_TARGET, win);
        g->next = (g->next + g->step) & (g->count - 1);
    }
}

/* The next get must bring the right bytes. */
MICRO_UNUSED static void micro_check(struct micro_gets *g)
{
    size_t last = g->next * g->stride;

    micro_get_flush(g, 1);
    for (size_t i = 0; i < g->bytes; ++i) {
        if (g->buffer[i] != micro_byte(last + i)) {
            fprintf(stderr, "wrong byte %zu of a get of %zu at %zu\n", i, g->bytes, last);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* Subjects, timed in turns */

struct micro_subject {
    void (*run)(void *argument, long n);
    void *argument;
    long batch;
    double *ns; /* per operation, one value per round */
};

static double micro_time_batch(struct micro_subject *s, long n)
{
    double start = micro_now_ns();

    s->run(s->argument, n);
    return micro_now_ns() - start;
}

/* Each subject's batch is made long enough first; a non-zero batch is kept. */
MICRO_UNUSED static void micro_interleave(struct micro_subject *subjects, int count, long rounds)
{
    for (int s = 0; s < count; ++s) {
        subjects[s].ns = realloc(subjects[s].ns, (size_t) rounds * sizeof(double));
        if (0 == subjects[s].batch) {
            subjects[s].batch = 1;
            while (micro_time_batch(&subjects[s], subjects[s].batch) < MICRO_BATCH_NS) {
                subjects[s].batch *= 2;
            }
        }
    }
    for (long round = 0; round < rounds; ++round) {
        for (int turn = 0; turn < count; ++turn) {
            struct micro_subject *s = &subjects[(round + turn) % count];
            s->ns[round] = micro_time_batch(s, s->batch) / (double) s->batch;
        }
    }
}

#endif
