/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * pml_llamatch_stats: what matching did, printed once per process at its end.
 *
 * Communicators come and go; what is told of each is kept as text, of the first MAX_COMMS that had
 * any traffic. The total has all.
 */
#include "ompi_config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "ompi/communicator/communicator.h"

#include "pml_llamatch_glue.h"

#define MAX_COMMS 64

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static char *text; /* NULL: none yet, or no memory */
static size_t length;
static int num_comms;
static llamatch_stats_t total[2];

__opal_attribute_format__(__printf__, 1, 2) static void append(const char *format, ...)
{
    char line[512], *longer;
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if ((int) sizeof(line) <= size) {
        size = (int) sizeof(line) - 1;
    }
    longer = realloc(text, length + (size_t) size + 1);
    if (NULL != longer) {
        text = longer;
        memcpy(text + length, line, (size_t) size + 1);
        length += (size_t) size;
    }
}

static void append_queue(const char *name, const llamatch_stats_t *stats)
{
    append("\n    %-10s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %10.1f %10" PRIu64 " %8" PRIu64,
           name, stats->matches, stats->length_max, stats->searches,
           mca_pml_llamatch_mean_depth(stats), stats->depth_max, stats->indexed);
}

static void append_queues(const llamatch_stats_t stats[2])
{
    append_queue("posted", &stats[false]);
    append_queue("unexpected", &stats[true]);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return (a < b) ? b : a;
}

void mca_pml_llamatch_summary_add(ompi_communicator_t *comm)
{
    const llamatch_engine_t *engine = &comm->c_pml_comm->queues->engine;
    llamatch_stats_t stats[2];

    if (!mca_pml_llamatch_tuning.stats) {
        return;
    }
    llamatch_engine_stats(engine, &stats[false], &stats[true]);
    if (0 == stats[false].length_max && 0 == stats[true].length_max) {
        return;
    }
    opal_mutex_lock(&lock);
    if (num_comms++ < MAX_COMMS) {
        append("\n  %s, rank %d of %d, engine %s", mca_pml_llamatch_name(comm),
               ompi_comm_rank(comm), ompi_comm_size(comm),
               mca_pml_llamatch_word(mca_pml_llamatch_engines, (int) engine->setup->kind));
        append_queues(stats);
    }
    for (int i = 0; i < 2; ++i) {
        total[i].matches += stats[i].matches;
        total[i].searches += stats[i].searches;
        total[i].depth_sum += stats[i].depth_sum;
        total[i].indexed += stats[i].indexed;
        total[i].depth_max = larger(total[i].depth_max, stats[i].depth_max);
        total[i].length_max = larger(total[i].length_max, stats[i].length_max);
    }
    opal_mutex_unlock(&lock);
}

static void append_heater(void)
{
    llamatch_heater_stats_t stats;

    if (LLAMATCH_HEATER_NONE == mca_pml_llamatch_heater_stats(&stats)) {
        append("\n  no heater");
        return;
    }
    append("\n  heater: %" PRIu64 " passes, %" PRIu64 " bytes and %" PRIu64 " ns each",
           stats.passes, (0 == stats.passes) ? 0 : stats.bytes_total / stats.passes,
           (0 == stats.passes) ? 0 : stats.ns_total / stats.passes);
}

void mca_pml_llamatch_summary_print(void)
{
    if (!mca_pml_llamatch_tuning.stats) {
        return;
    }
    append("\n  total of %d communicators", num_comms);
    append_queues(total);
    append("\n  arena: %zu bytes, %zu in use", llamatch_pool_bytes(mca_pml_llamatch_pool),
           llamatch_pool_used_bytes(mca_pml_llamatch_pool));
    append_heater();
    /* opal_output may put something before the first line */
    opal_output(0, "pml/llamatch: process %d\n    %-10s %12s %12s %12s %10s %10s %8s%s",
                (int) opal_proc_local_get()->proc_name.vpid, "queue", "matches", "most", "searches",
                "depth", "deepest", "hashes", (NULL == text) ? "" : text);
    free(text);
    text = NULL;
    length = 0;
    num_comms = 0;
    memset(total, 0, sizeof(total));
}
