/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_trace: one line per get, per operation of a window with a helper, and per event of a
 * coherent window, in a file per process, for "ompi-locality plot" and for programs.
 */

#include "ompi_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "opal/util/output.h"
#include "opal/util/proc.h"

#include "osc_cached_compat.h"
#include "osc_cached_trace.h"

static FILE *file = NULL;
static uint64_t start;
static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;

bool ompi_osc_cached_trace_init(void)
{
    char name[4096];

    if (NULL == ompi_osc_cached_params.trace || '\0' == ompi_osc_cached_params.trace[0]
        || NULL != file) {
        return NULL != file;
    }
    snprintf(name, sizeof(name), "%s.%d", ompi_osc_cached_params.trace,
             (int) opal_proc_local_get()->proc_name.vpid);
    file = fopen(name, "w");
    if (NULL == file) {
        opal_show_help("help-mpi-osc-cached.txt", "trace", true, strerror(errno),
                       opal_process_info.nodename, ompi_osc_cached_params.trace, name);
        return false;
    }
    fprintf(file, "# osc_cached trace 1\n# time_ns window target address bytes outcome\n");
    start = ompi_osc_cached_now();
    return true;
}

void ompi_osc_cached_trace_get(const ompi_osc_cached_window_t *window, int target, uint64_t address,
                               size_t bytes, const char *outcome)
{
    opal_mutex_lock(&lock);
    if (NULL != file) {
        fprintf(file, "%" PRIu64 " %d %d %" PRIu64 " %zu %s\n", ompi_osc_cached_now() - start,
                window->number, target, address, bytes, outcome);
    }
    opal_mutex_unlock(&lock);
}

void ompi_osc_cached_trace_line(int number, const char *what, const char *which, int target,
                                uint64_t address, uint64_t bytes)
{
    opal_mutex_lock(&lock);
    if (NULL != file) {
        fprintf(file, "#%s %s %" PRIu64 " %d %d %" PRIu64 " %" PRIu64 "\n", what, which,
                ompi_osc_cached_now() - start, number, target, address, bytes);
    }
    opal_mutex_unlock(&lock);
}

void ompi_osc_cached_trace_finalize(void)
{
    if (NULL != file) {
        fclose(file);
        file = NULL;
    }
}
