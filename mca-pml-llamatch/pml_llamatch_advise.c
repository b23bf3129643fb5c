/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * pml_llamatch_advise: what the job is told of its communicators (core/llamatch_advice.h).
 *
 * At the top of MPI_Finalize, while messages can still be sent, each process sends what it has seen
 * to rank 0 of MPI_COMM_WORLD, which prints it. Who takes part is known from the modex: processes
 * may have been started with different parameters. A process that ends without MPI_Finalize
 * (sessions) tells of itself only, if it is rank 0.
 */
#include "ompi_config.h"

#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opal/util/proc.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/hook/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#if OMPI_MAJOR_VERSION < 5
#include "opal/mca/pmix/pmix.h"
#else
#include "opal/mca/pmix/pmix-internal.h"
#endif

#include "pml_llamatch_glue.h"

#define MODEX_KEY "pml.llamatch.advise"

#if OMPI_MAJOR_VERSION < 5
#define MODEX_SCOPE OPAL_PMIX_GLOBAL
#else
#define MODEX_SCOPE PMIX_GLOBAL
#endif

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static llamatch_lists_t lists;
static llamatch_advice_t *advice; /* of this process; NULL: nobody asked for it, or it was given */
static bool selected;
static uint64_t begin_ns, begin_cpu_ns;

/* A watch, and whose it is. */
typedef struct watched {
    llamatch_watch_t watch; /* first: the engine leads here */
    ompi_communicator_t *comm;
    struct watched *next;
    struct watched **from; /* what points to it: the next of another one, or all_watched */
} watched_t;

static watched_t *all_watched; /* under the lock */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    (void) clock_gettime(clock, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static uint64_t now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* --- samples -------------------------------------------------------------------------------- */

void *mca_pml_llamatch_sample_posted(mca_pml_llamatch_queues_t *queues, llamatch_peer_t *peer,
                                     int tag)
{
    llamatch_watch_message(queues->engine.watch, &queues->engine, peer, tag);
    return mca_pml_llamatch_take_posted(queues, peer, tag);
}

llamatch_message_t mca_pml_llamatch_watch_unexpected(mca_pml_llamatch_queues_t *queues,
                                                     llamatch_peer_t *peer,
                                                     const mca_pml_base_request_t *request)
{
    const mca_pml_llamatch_comm_t *comm =
        (const mca_pml_llamatch_comm_t *) ((const char *) queues
                                           - offsetof(mca_pml_llamatch_comm_t, queues));
    llamatch_watch_t *watch = queues->engine.watch;

    if (0 == --watch->left) {
        llamatch_watch_receive(watch, &queues->engine, peer, request->req_tag, comm->num_procs);
    }
    return mca_pml_llamatch_take_unexpected(queues, peer, request);
}

/* --- communicators -------------------------------------------------------------------------- */

void mca_pml_llamatch_advise_add_comm(ompi_communicator_t *comm)
{
    watched_t *watched = (NULL != advice) ? malloc(sizeof(*watched)) : NULL;

    if (NULL == watched) {
        return;
    }
    llamatch_watch_init(&watched->watch, &lists);
    watched->comm = comm;
    comm->c_pml_comm->queues->engine.watch = &watched->watch;
    opal_mutex_lock(&lock);
    watched->next = all_watched;
    watched->from = &all_watched;
    if (NULL != watched->next) {
        watched->next->from = &watched->next;
    }
    all_watched = watched;
    opal_mutex_unlock(&lock);
}

/* Note what was seen of a communicator, and watch it no longer. Its messages may still come, also
 * in another thread. The lock is held. */
static void end_watch(watched_t *watched)
{
    mca_pml_llamatch_comm_t *state = watched->comm->c_pml_comm;

    *watched->from = watched->next;
    if (NULL != watched->next) {
        watched->next->from = watched->from;
    }
    LLAMATCH_MATCHING_LOCK(&state->matching_lock);
    state->queues->engine.watch = NULL;
    if (NULL != advice) {
        llamatch_advice_add(advice, mca_pml_llamatch_name(watched->comm), &watched->watch,
                            &state->queues->engine);
    }
    LLAMATCH_MATCHING_UNLOCK(&state->matching_lock);
    free(watched);
}

void mca_pml_llamatch_advise_del_comm(ompi_communicator_t *comm)
{
    opal_mutex_lock(&lock);
    if (NULL != comm->c_pml_comm->queues->engine.watch) {
        end_watch((watched_t *) comm->c_pml_comm->queues->engine.watch);
    }
    opal_mutex_unlock(&lock);
}

/* --- the job -------------------------------------------------------------------------------- */

static size_t advice_size(uint32_t rows)
{
    return offsetof(llamatch_advice_t, rows) + rows * sizeof(llamatch_row_t);
}

/* Does a process of MPI_COMM_WORLD give advice? */
static bool takes_part(int rank)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(&ompi_mpi_comm_world.comm, rank);
    uint8_t *value = NULL;
    size_t size = 0;
    int rc;

    OPAL_MODEX_RECV_STRING(rc, MODEX_KEY, &proc->super.proc_name, &value, &size);
    if (0 < size) {
        free(value);
    }
    return OPAL_SUCCESS == rc && 0 < size;
}

static void join_all(void)
{
    ompi_communicator_t *world = &ompi_mpi_comm_world.comm;
    llamatch_advice_t *other = malloc(sizeof(*other));

    for (int rank = 1; rank < ompi_comm_size(world) && NULL != other; ++rank) {
        if (takes_part(rank)
            && OMPI_SUCCESS
                   == MCA_PML_CALL(recv(other, sizeof(*other), MPI_BYTE, rank,
                                        MCA_COLL_BASE_TAG_GATHER, world, MPI_STATUS_IGNORE))) {
            llamatch_advice_join(advice, other);
        }
    }
    free(other);
}

/* In the C locale: JSON has no decimal comma. */
static void print(void)
{
    char *text = malloc(LLAMATCH_ADVICE_BYTES);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t) 0), before = uselocale(plain);

    if (NULL != text) {
        if (LLAMATCH_ADVISE_JSON == mca_pml_llamatch_tuning.advise) {
            llamatch_advice_json(advice, text, LLAMATCH_ADVICE_BYTES);
        } else {
            llamatch_advice_print(advice, text, LLAMATCH_ADVICE_BYTES);
        }
        /* not opal_output, which may put something before it: that would be no JSON */
        (void) fputs(text, stderr);
        free(text);
    }
    (void) uselocale(before);
    if ((locale_t) 0 != plain) {
        freelocale(plain);
    }
}

/* What this process has seen until now. */
static void conclude(void)
{
    uint64_t run_ns = now_ns() - begin_ns;
    uint64_t cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu_ns;
    llamatch_heater_stats_t stats;

    opal_mutex_lock(&lock);
    while (NULL != all_watched) {
        end_watch(all_watched);
    }
    opal_mutex_unlock(&lock);
    /* not the time that others had the processors for */
    advice->run_ns = (double) ((cpu_ns < run_ns) ? cpu_ns : run_ns);
    advice->no_core =
        sysconf(_SC_NPROCESSORS_ONLN) < 2 * ((long) opal_process_info.num_local_peers + 1);
    advice->heated = LLAMATCH_HEATER_NONE != mca_pml_llamatch_heater_stats(&stats);
}

static void finalize_top(void)
{
    ompi_communicator_t *world = &ompi_mpi_comm_world.comm;

    if (NULL == advice) {
        return;
    }
    conclude();
    if (0 == ompi_comm_rank(world)) {
        join_all();
        print();
    } else if (takes_part(0)) {
        (void) MCA_PML_CALL(send(advice, advice_size(advice->count), MPI_BYTE, 0,
                                 MCA_COLL_BASE_TAG_GATHER, MCA_PML_BASE_SEND_STANDARD, world));
    }
    free(advice);
    advice = NULL;
}

static ompi_hook_base_component_t hook = {.hookm_mpi_finalize_top = finalize_top};

/* --- start and end -------------------------------------------------------------------------- */

void mca_pml_llamatch_advise_publish(void)
{
    int rc;

    if (LLAMATCH_ADVISE_OFF == mca_pml_llamatch_tuning.advise
        || !llamatch_lists_measure(&lists, now_ns)) {
        return;
    }
    advice = calloc(1, sizeof(*advice));
    if (NULL != advice) { /* else the others do not wait for this process */
        OPAL_MODEX_SEND_STRING(rc, MODEX_SCOPE, MODEX_KEY, "1", 2);
        (void) rc;
    }
}

void mca_pml_llamatch_advise_start(void)
{
    if (NULL != advice) {
        selected = true;
        begin_ns = now_ns();
        begin_cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        (void) ompi_hook_base_register_callbacks(&hook);
    }
}

void mca_pml_llamatch_advise_stop(void)
{
    if (selected) {
        (void) ompi_hook_base_deregister_callbacks(&hook);
    }
    if (selected && NULL != advice && 0 == opal_proc_local_get()->proc_name.vpid) {
        conclude();
        print();
    }
    free(advice);
    advice = NULL;
    selected = false;
}
