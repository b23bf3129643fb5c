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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"

#include "osc_cached_summary.h"

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static osc_cached_table_t table;

bool ompi_osc_cached_summary_wanted(void)
{
    return OSC_CACHED_STATS_JOB == ompi_osc_cached_params.stats
           || OSC_CACHED_STATS_JSON == ompi_osc_cached_params.stats
           || 0 < ompi_osc_cached_numbers.verify;
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

void ompi_osc_cached_summary_freed(ompi_osc_cached_window_t *window)
{
    ompi_communicator_t *comm = window->comm;
    const char *name = window->win->w_name;
    uint64_t mine[OSC_CACHED_SUMS];
    osc_cached_row_t row = {
        .mode = ompi_osc_cached_modes[window->mode].string,
        .inner = window->inner_name,
        .windows = 1,
        .processes = 1,
        .cacheable = window->cacheable,
        .passes_passive = OSC_CACHED_MODE_TRANSPARENT == window->mode
                          && OSC_CACHED_PASSIVE_NONE == ompi_osc_cached_params.passive_scope,
    };

    if (OSC_CACHED_STATS_RANKS == ompi_osc_cached_params.stats) {
        ompi_osc_cached_window_print(window);
    }
    if (!ompi_osc_cached_summary_wanted()) {
        return;
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

void ompi_osc_cached_summary_finalize(void)
{
    char *text = (0 < table.count) ? malloc(OSC_CACHED_TABLE_BYTES) : NULL;

    if (NULL != text) {
        if (OSC_CACHED_STATS_JOB == ompi_osc_cached_params.stats) {
            osc_cached_table_print(&table, text, OSC_CACHED_TABLE_BYTES);
        } else if (OSC_CACHED_STATS_JSON == ompi_osc_cached_params.stats) {
            osc_cached_table_json(&table, text, OSC_CACHED_TABLE_BYTES);
        } else {
            osc_cached_table_verified(&table, text, OSC_CACHED_TABLE_BYTES);
        }
        /* not opal_output, which may put something before it: that would be no JSON */
        (void) fputs(text, stderr);
        free(text);
    }
    table.count = 0;
}
