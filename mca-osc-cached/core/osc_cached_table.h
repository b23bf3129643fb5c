/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the cache did for the windows of a job, as a table and as JSON.
 *
 * A row is a window, or several with the same name, mode and inner component: programs that create
 * windows in a loop have as many as they like.  When there are too many rows, the last one takes
 * what comes.
 */

#ifndef OSC_CACHED_TABLE_H
#define OSC_CACHED_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#define OSC_CACHED_STAT(name, help) OSC_CACHED_STAT_##name,
#define OSC_CACHED_LEVEL(name, help) OSC_CACHED_STAT_##name,
#include "osc_cached_stats.def"
    OSC_CACHED_STAT_COUNT
};

enum {
    OSC_CACHED_TABLE_ROWS = 64,
    OSC_CACHED_TABLE_SHOWN = 10, /**< of which a table shows so many, those with the most gets */
    OSC_CACHED_TABLE_NAME = 64,  /**< bytes */
    /** bytes that are enough for any table, and for any JSON */
    OSC_CACHED_TABLE_BYTES = (OSC_CACHED_TABLE_ROWS + 2) * (OSC_CACHED_STAT_COUNT + 8) * 64
};

/** What is added up over processes and windows. */
typedef enum {
    OSC_CACHED_SUM_TARGETS = OSC_CACHED_STAT_COUNT, /**< that were used */
    OSC_CACHED_SUM_CHEAP,                           /**< of these, as fast as the cache */
    OSC_CACHED_SUM_SAMPLED,                         /**< of these, for which caching did not pay */
    OSC_CACHED_SUMS
} osc_cached_sum_t;

typedef struct {
    char name[OSC_CACHED_TABLE_NAME];
    const char *mode, *inner; /**< live as long as the process */
    uint32_t windows;
    uint32_t processes;  /**< that were counted, of a window */
    bool cacheable;      /**< else such windows are never cached */
    bool passes_passive; /**< the mode keeps nothing in passive epochs */
    bool in_sysv;        /**< because it lies in memory that cannot be protected */
    uint64_t sums[OSC_CACHED_SUMS];
} osc_cached_row_t;

typedef struct {
    int count; /**< all 0 at the start */
    osc_cached_row_t rows[OSC_CACHED_TABLE_ROWS];
} osc_cached_table_t;

/** Names of the counters of osc_cached_stats.def. */
extern const char *const osc_cached_stat_names[OSC_CACHED_STAT_COUNT];

/** Add a window (row->windows is 1). */
void osc_cached_table_add(osc_cached_table_t *table, const osc_cached_row_t *row);
/** For people: a line for the job, and one to five for each of the first rows. */
void osc_cached_table_print(const osc_cached_table_t *table, char *text, size_t size);
/** Of that the line that tells what osc_cached_verify has done; nothing if it has not. */
void osc_cached_table_verified(const osc_cached_table_t *table, char *text, size_t size);
/** For programs: one JSON object. */
void osc_cached_table_json(const osc_cached_table_t *table, char *text, size_t size);

#endif /* OSC_CACHED_TABLE_H */
