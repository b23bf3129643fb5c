/*
 * The component's counters: summed over windows and ranks, so that the runner can tell a fuzz that
 * exercised the cache from one that did not. A component without them prints none.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"

#define PREFIX "osc_cached_"

/* The first OUTCOMES are what a get can end as, then the gets themselves. */
static const char *const names[] = {"hits",
                                    "partial_hits",
                                    "joins",
                                    "direct",
                                    "conflicting",
                                    "capacity",
                                    "failing",
                                    "bypassed",
                                    "declined",
                                    "unshared",
                                    "gets",
                                    "rgets",
                                    "evictions",
                                    "resizes",
                                    "invalidations",
                                    "bytes_served",
                                    "bytes_fetched",
                                    "block_fetches",
                                    "node_hits",
                                    "helper_operations",
                                    "helper_locks",
                                    "helper_served",
                                    "file_synced",
                                    "file_reads",
                                    "file_near",
                                    "file_read_waits",
                                    "coherence_fills",
                                    "coherence_directs",
                                    "coherence_holds",
                                    "coherence_recalls",
                                    "coherence_dropped",
                                    "coherence_syncs",
                                    "coherence_traps",
                                    "cooperate_kept",
                                    "cooperate_forwards",
                                    "cooperate_evictions"};
enum { COUNTERS = sizeof(names) / sizeof(names[0]), OUTCOMES = 10, GETS = 10, RGETS = 11 };

static MPI_T_pvar_session session;
static int number[COUNTERS];
static MPI_T_pvar_handle handle[MAX_WINDOWS][COUNTERS];
static unsigned long sum[COUNTERS];
static long bad_sums;
static bool complete = true; /* all outcomes are counted here */

void counters_init(void)
{
    int n, provided;

    /* MPI_THREAD_MULTIPLE here would make Open MPI, and so osc/cached, ready for several threads */
    OK(MPI_T_init_thread(options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_num(&n));
    for (int c = 0; c < COUNTERS; ++c) {
        number[c] = -1;
    }
    for (int i = 0; i < n; ++i) {
        char name[256];
        int len = sizeof(name), verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype datatype;
        MPI_T_enum enumtype;

        if (MPI_SUCCESS
            != MPI_T_pvar_get_info(i, name, &len, &verbosity, &class, &datatype, &enumtype, NULL,
                                   NULL, &bind, &readonly, &continuous, &atomic)) {
            continue;
        }
        for (int c = 0; c < COUNTERS; ++c) {
            if (0 == strncmp(name, PREFIX, strlen(PREFIX))
                && 0 == strcmp(name + strlen(PREFIX), names[c])) {
                number[c] = i;
            }
        }
    }
    for (int c = 0; c < OUTCOMES + 2; ++c) {
        complete = complete && number[c] >= 0;
    }
}

void counters_open(int window)
{
    for (int c = 0; c < COUNTERS; ++c) {
        int count;
        handle[window][c] = MPI_T_PVAR_HANDLE_NULL;
        if (number[c] >= 0
            && MPI_SUCCESS
                   != MPI_T_pvar_handle_alloc(session, number[c], &windows[window].win,
                                              &handle[window][c], &count)) {
            handle[window][c] = MPI_T_PVAR_HANDLE_NULL; /* served by another component */
        }
    }
}

void counters_close(int window)
{
    unsigned long value[COUNTERS] = {0}, outcomes = 0;

    for (int c = 0; c < COUNTERS; ++c) {
        if (MPI_T_PVAR_HANDLE_NULL != handle[window][c]) {
            OK(MPI_T_pvar_read(session, handle[window][c], &value[c]));
            OK(MPI_T_pvar_handle_free(session, &handle[window][c]));
            sum[c] += value[c];
            outcomes += c < OUTCOMES ? value[c] : 0;
        }
    }
    if (complete && MODE_OFF != options.mode && MODE_MIXED != options.mode
        && outcomes != value[GETS] + value[RGETS]) {
        fprintf(stderr, "rma_fuzz: rank %d: %lu gets and %lu rgets, but %lu outcomes:", fuzz_rank,
                value[GETS], value[RGETS], outcomes);
        for (int c = 0; c < OUTCOMES; ++c) {
            fprintf(stderr, " %s %lu", names[c], value[c]);
        }
        fputc('\n', stderr);
        ++bad_sums;
    }
}

long counters_print(FILE *out)
{
    unsigned long all[COUNTERS];
    long bad;

    OK(MPI_Reduce(sum, all, COUNTERS, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&bad_sums, &bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    for (int c = 0; 0 == fuzz_rank && c < COUNTERS; ++c) {
        if (number[c] >= 0) {
            fprintf(out, "counter %s %lu\n", names[c], all[c]);
        }
    }
    return bad;
}

void counters_finish(void)
{
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
}
