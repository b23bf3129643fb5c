/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What scale.c predicts, measured: the same workload with MPI, told by the components' performance
 * variables (MPI_T). Rank 0 prints.
 *
 *     measure cache|helper|coherence|matching
 */
#include "workload.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                       \
    do {                                                               \
        if (MPI_SUCCESS != (call)) {                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call); \
            MPI_Abort(MPI_COMM_WORLD, 1);                              \
        }                                                              \
    } while (0)

static MPI_T_pvar_session session;
static int rank, ranks;

/* Performance variables of an object (NULL: of the process), which count from here on. */
typedef struct {
    MPI_T_pvar_handle handle[8];
    const char *name[8];
    int count;
} variables_t;

static void watch(variables_t *variables, const char *prefix, const char *wanted, void *object)
{
    int count;

    OK(MPI_T_pvar_get_num(&count));
    for (int i = 0; i < count; ++i) {
        char name[256];
        int length = sizeof(name), verbosity, class, bind, readonly, continuous, atomic, values;
        MPI_Datatype type;
        MPI_T_enum meaning;

        if (MPI_SUCCESS
                == MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &meaning, NULL,
                                       NULL, &bind, &readonly, &continuous, &atomic)
            && 0 == strncmp(name, prefix, strlen(prefix))
            && 0 == strcmp(name + strlen(prefix), wanted)) {
            variables->name[variables->count] = wanted;
            OK(MPI_T_pvar_handle_alloc(session, i, object, &variables->handle[variables->count],
                                       &values));
            ++variables->count;
            return;
        }
    }
    fprintf(stderr, "there is no variable %s%s\n", prefix, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned long value_of(const variables_t *variables, int i)
{
    unsigned long value[64] = {0};

    OK(MPI_T_pvar_read(session, variables->handle[i], value));
    return value[0];
}

/* Rank 0 tells them; nobody looks at them any more. */
static void tell(variables_t *variables, const char *part, const char *pattern)
{
    for (int i = 0; i < variables->count; ++i) {
        if (0 == rank) {
            workload_tell(part, (uint32_t) ranks, pattern, variables->name[i],
                          (double) value_of(variables, i));
        }
        OK(MPI_T_pvar_handle_free(session, &variables->handle[i]));
    }
}

static MPI_Win make_window(size_t bytes, void **base)
{
    MPI_Win win;

    OK(MPI_Alloc_mem((MPI_Aint) bytes, MPI_INFO_NULL, base));
    memset(*base, 0, bytes);
    OK(MPI_Win_create(*base, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return win;
}

static void free_window(MPI_Win *win, void *base)
{
    OK(MPI_Win_free(win));
    OK(MPI_Free_mem(base));
}

static void run_cache(uint32_t pattern)
{
    workload_t workload = {.random = 1, .ranks = (uint32_t) ranks, .pattern = pattern};
    variables_t variables = {.count = 0}, fetches = {.count = 0};
    char buffer[WORKLOAD_BYTES];
    unsigned long fetched = 0;
    void *base;
    MPI_Win win;

    OK(MPI_Win_allocate(WORKLOAD_BLOCKS * WORKLOAD_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                        &win));
    memset(base, 0, WORKLOAD_BLOCKS * WORKLOAD_BYTES);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    watch(&variables, "osc_cached_", "hits", &win);
    watch(&variables, "osc_cached_", "index_entries", &win);
    watch(&variables, "osc_cached_", "storage_used", &win);
    watch(&variables, "osc_cached_", "budget_taken", &win);
    watch(&fetches, "osc_cached_", "direct", &win);
    watch(&fetches, "osc_cached_", "conflicting", &win);
    watch(&fetches, "osc_cached_", "capacity", &win);
    watch(&fetches, "osc_cached_", "failing", &win);
    watch(&fetches, "osc_cached_", "declined", &win);
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; 0 == rank && i < WORKLOAD_GETS; ++i) {
        uint32_t target, block;

        workload_next(&workload, &target, &block);
        OK(MPI_Get(buffer, WORKLOAD_BYTES, MPI_BYTE, (int) target,
                   (MPI_Aint) block * WORKLOAD_BYTES, WORKLOAD_BYTES, MPI_BYTE, win));
        OK(MPI_Win_flush((int) target, win));
    }
    for (int i = 0; i < fetches.count; ++i) {
        fetched += value_of(&fetches, i);
        OK(MPI_T_pvar_handle_free(session, &fetches.handle[i]));
    }
    tell(&variables, "cache", workload_patterns[pattern]);
    if (0 == rank) {
        workload_tell("cache", workload.ranks, workload_patterns[pattern], "fetches",
                      (double) fetched);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

static void run_helper(void)
{
    variables_t variables = {.count = 0};
    long one = 1;
    void *base;
    MPI_Win win = make_window(64, &base);

    watch(&variables, "osc_cached_", "helper_accumulate_requests", NULL);
    watch(&variables, "osc_cached_", "helper_sessions", NULL);
    watch(&variables, "osc_cached_", "helper_revoked", NULL);
    watch(&variables, "osc_cached_", "helper_acks", NULL);
    watch(&variables, "osc_cached_", "helper_memory_most", NULL);
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win)); /* no locks: only updates */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; 0 != rank && i < WORKLOAD_UPDATES; ++i) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    tell(&variables, "helper", "in turns");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_unlock_all(win));
    free_window(&win, base);
}

static void run_coherence(void)
{
    variables_t variables = {.count = 0};
    long value = 0;
    void *base;
    MPI_Win win = make_window(WORKLOAD_PAGES * WORKLOAD_PAGE, &base);

    watch(&variables, "osc_cached_", "hits", &win);
    OK(MPI_Win_lock_all(0, win));
    if (0 == rank) {
        OK(MPI_T_pvar_handle_free(session, &variables.handle[0]));
        variables.count = 0;
        watch(&variables, "osc_cached_", "helper_notes", NULL);
        watch(&variables, "osc_cached_", "coherence_invalidations", &win);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int block = 0; 0 != rank && block < WORKLOAD_PAGES; ++block) {
        unsigned long hits = value_of(&variables, 0);

        while (hits == value_of(&variables, 0)) {
            OK(MPI_Get(&value, 1, MPI_LONG, 0, block * WORKLOAD_PAGE, 1, MPI_LONG, win));
            OK(MPI_Win_flush(0, win));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == rank) {
        OK(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    tell(&variables, "coherence", "all read");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_unlock_all(win));
    free_window(&win, base);
}

static void run_matching(void)
{
    int count = WORKLOAD_RECEIVES * (ranks - 1);
    MPI_Request *requests = calloc((size_t) count + 1, sizeof(*requests));
    variables_t variables = {.count = 0}, arena = {.count = 0};
    unsigned long used;
    MPI_Comm comm;

    if (NULL == requests) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    watch(&variables, "pml_llamatch_", "posted_length_max", &comm);
    watch(&variables, "pml_llamatch_", "posted_matches", &comm);
    watch(&variables, "pml_llamatch_", "posted_depth_sum", &comm);
    watch(&arena, "pml_llamatch_", "arena_used", NULL);
    used = value_of(&arena, 0);
    for (int i = 0; 0 == rank && i < count; ++i) {
        OK(MPI_Irecv(NULL, 0, MPI_INT, 1 + i % (ranks - 1), i / (ranks - 1), comm, &requests[i]));
    }
    if (0 == rank) {
        workload_tell("matching", (uint32_t) ranks, "all peers", "arena_used",
                      (double) (value_of(&arena, 0) - used));
    }
    OK(MPI_T_pvar_handle_free(session, &arena.handle[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int tag = WORKLOAD_RECEIVES; 0 != rank && 0 < tag--;) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, tag, comm));
    }
    if (0 == rank) {
        OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    }
    tell(&variables, "matching", "all peers");
    free(requests);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    const char *part = 1 < argc ? argv[1] : "";
    int provided;

    OK(MPI_Init(&argc, &argv));
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    for (uint32_t pattern = 0; 0 == strcmp("cache", part) && pattern < WORKLOAD_PATTERNS;
         ++pattern) {
        run_cache(pattern);
    }
    if (0 == strcmp("helper", part)) {
        run_helper();
    } else if (0 == strcmp("coherence", part)) {
        run_coherence();
    } else if (0 == strcmp("matching", part)) {
        run_matching();
    }
    OK(MPI_Finalize());
    return 0;
}
