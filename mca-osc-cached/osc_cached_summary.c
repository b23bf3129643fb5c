/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What users are told of their windows at the end.
 *
 * One table for a job.  What the processes of a window counted is added up in MPI_Win_free, which
 * all of them call: in MPI_Finalize there is nobody left to talk to.  The first process of a window
 * has the sums, and tells them in MPI_Finalize; mostly that is rank 0 of MPI_COMM_WORLD for all
 * windows.  They are added up over a copy of the window's communicator, if all its processes want
 * that: they agree on it when the window is created.
 */

#include "ompi_config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"

#include "osc_cached_advise.h"
#include "osc_cached_memory.h"
#include "osc_cached_summary.h"

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static osc_cached_table_t table;
static osc_cached_advice_t advice;

bool ompi_osc_cached_summary_wanted(void)
{
    return OSC_CACHED_STATS_JOB == ompi_osc_cached_params.stats
           || OSC_CACHED_STATS_JSON == ompi_osc_cached_params.stats
           || 0 < ompi_osc_cached_numbers.verify
           || OSC_CACHED_ADVISE_OFF != ompi_osc_cached_params.advise;
}

void ompi_osc_cached_summary_begin(ompi_osc_cached_window_t *window, ompi_communicator_t *comm)
{
    int mine = NULL != window, all = 0;

    if (OMPI_SUCCESS
            == comm->c_coll->coll_allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm,
                                            comm->c_coll->coll_allreduce_module)
        && all && OMPI_SUCCESS != ompi_comm_dup(comm, &window->comm)) {
        window->comm = NULL;
    }
}

/* What was seen of a window by those who watched it. Collective. */
static void advise(ompi_osc_cached_window_t *window)
{
    ompi_communicator_t *comm = window->comm;
    const char *name = window->win->w_name;
    double mine[OSC_CACHED_ADVICE_SIDES][OSC_CACHED_ADVISE_SUMS], gets[OSC_CACHED_ADVICE_SIDES];
    osc_cached_advice_row_t row = {
        .inner = window->inner_name,
        .windows = 1,
        .processes = 1,
        .cacheable = window->cacheable,
    };

    ompi_osc_cached_advise_sums(window, mine);
    memcpy(row.sums, mine, sizeof(mine));
    for (int side = 0; side < OSC_CACHED_ADVICE_SIDES; ++side) {
        row.most_gets[side] = gets[side] = mine[side][OSC_CACHED_ADVISE_GETS];
    }
    if (NULL != comm
        && OMPI_SUCCESS
               == comm->c_coll->coll_reduce(
                   mine, row.sums, OSC_CACHED_ADVICE_SIDES * OSC_CACHED_ADVISE_SUMS, MPI_DOUBLE,
                   MPI_SUM, 0, comm, comm->c_coll->coll_reduce_module)
        && OMPI_SUCCESS
               == comm->c_coll->coll_reduce(gets, row.most_gets, OSC_CACHED_ADVICE_SIDES,
                                            MPI_DOUBLE, MPI_MAX, 0, comm,
                                            comm->c_coll->coll_reduce_module)) {
        row.processes = (uint32_t) ompi_comm_size(comm);
    }
    if (0 == ompi_group_rank(window->win->w_group)) {
        snprintf(row.name, sizeof(row.name), "%s", (NULL == name) ? "" : name);
        opal_mutex_lock(&lock);
        osc_cached_advice_add(&advice, &row);
        opal_mutex_unlock(&lock);
    }
}

void ompi_osc_cached_summary_freed(ompi_osc_cached_window_t *window)
{
    ompi_communicator_t *comm = window->comm;
    const char *name = window->win->w_name;
    uint64_t mine[OSC_CACHED_SUMS];
    osc_cached_row_t row = {
        .mode =
            ompi_osc_cached_modes[(NULL == window->advised) ? window->mode : OSC_CACHED_MODE_OFF]
                .string,
        .inner = window->inner_name,
        .windows = 1,
        .processes = 1,
        .cacheable = window->cacheable,
        .passes_passive = OSC_CACHED_MODE_TRANSPARENT == window->mode && NULL == window->coherence
                          && OSC_CACHED_PASSIVE_NONE == ompi_osc_cached_params.passive_scope,
        .in_sysv = window->in_sysv,
    };

    if (OSC_CACHED_STATS_RANKS == ompi_osc_cached_params.stats) {
        ompi_osc_cached_window_print(window);
    }
    if (!ompi_osc_cached_summary_wanted()) {
        return;
    }
    if (OSC_CACHED_ADVISE_OFF != ompi_osc_cached_params.advise) {
        advise(window);
    }
    ompi_osc_cached_window_sums(window, mine);
    memcpy(row.sums, mine, sizeof(mine));
    if (NULL != comm
        && OMPI_SUCCESS
               == comm->c_coll->coll_reduce(mine, row.sums, OSC_CACHED_SUMS, MPI_UINT64_T, MPI_SUM,
                                            0, comm, comm->c_coll->coll_reduce_module)) {
        row.processes = (uint32_t) ompi_comm_size(comm);
    }
    if (0 == ompi_group_rank(window->win->w_group)) {
        snprintf(row.name, sizeof(row.name), "%s", (NULL == name) ? "" : name);
        opal_mutex_lock(&lock);
        osc_cached_table_add(&table, &row);
        opal_mutex_unlock(&lock);
    }
}

static void print(char *text)
{
    /* not opal_output, which may put something before it: that would be no JSON */
    (void) fputs(text, stderr);
    free(text);
}

static void tell_table(void)
{
    char *text = (0 < table.count) ? malloc(OSC_CACHED_TABLE_BYTES) : NULL;

    if (NULL != text) {
        text[0] = '\0';
        if (OSC_CACHED_STATS_JOB == ompi_osc_cached_params.stats) {
            osc_cached_table_print(&table, text, OSC_CACHED_TABLE_BYTES);
        } else if (OSC_CACHED_STATS_JSON == ompi_osc_cached_params.stats) {
            osc_cached_table_json(&table, text, OSC_CACHED_TABLE_BYTES);
        } else if (0 < ompi_osc_cached_numbers.verify) { /* else it is here for advice */
            osc_cached_table_verified(&table, text, OSC_CACHED_TABLE_BYTES);
        }
        print(text);
    }
    table.count = 0;
}

static void tell_advice(void)
{
    char *text = (0 < advice.count) ? malloc(OSC_CACHED_ADVICE_BYTES) : NULL;

    if (NULL != text) {
        advice.memory = (double) ompi_osc_cached_budget.available(ompi_osc_cached_budget.context);
        advice.cheap_ns = ompi_osc_cached_cheap_below();
        if (OSC_CACHED_ADVISE_JSON == ompi_osc_cached_params.advise
            || OSC_CACHED_STATS_JSON == ompi_osc_cached_params.stats) {
            osc_cached_advice_json(&advice, text, OSC_CACHED_ADVICE_BYTES);
        } else {
            osc_cached_advice_print(&advice, text, OSC_CACHED_ADVICE_BYTES);
        }
        print(text);
    }
    advice.count = 0;
}

void ompi_osc_cached_summary_finalize(void)
{
    /* JSON has no decimal comma, whatever the program's locale has */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t) 0), before = uselocale(plain);

    tell_table();
    tell_advice();
    (void) uselocale(before);
    if ((locale_t) 0 != plain) {
        freelocale(plain);
    }
}
