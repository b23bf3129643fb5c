/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "osc_cached_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "osc_cached_text.h"

const char *const osc_cached_stat_names[OSC_CACHED_STAT_COUNT] = {
#define OSC_CACHED_STAT(name, help) #name,
#define OSC_CACHED_LEVEL(name, help) #name,
#include "osc_cached_stats.def"
};

/* Of the present moment: not added up in the text, where processes may tell of the same thing. */
static const bool is_level[OSC_CACHED_STAT_COUNT] = {
#define OSC_CACHED_STAT(name, help) false,
#define OSC_CACHED_LEVEL(name, help) true,
#include "osc_cached_stats.def"
};

#define SUM(row, stat) ((row)->sums[OSC_CACHED_STAT_##stat])

/* Rows */

static void merge(osc_cached_row_t *into, const osc_cached_row_t *row)
{
    into->windows += row->windows;
    into->processes = (into->processes < row->processes) ? row->processes : into->processes;
    into->cacheable |= row->cacheable;
    into->passes_passive |= row->passes_passive;
    into->in_sysv |= row->in_sysv;
    for (int i = 0; i < OSC_CACHED_SUMS; ++i) {
        into->sums[i] += row->sums[i];
    }
}

void osc_cached_table_add(osc_cached_table_t *table, const osc_cached_row_t *row)
{
    for (int i = 0; i < table->count; ++i) {
        osc_cached_row_t *other = &table->rows[i];

        if (0 == strcmp(other->name, row->name) && 0 == strcmp(other->mode, row->mode)
            && 0 == strcmp(other->inner, row->inner) && other->cacheable == row->cacheable) {
            merge(other, row);
            return;
        }
    }
    if (table->count < OSC_CACHED_TABLE_ROWS) {
        table->rows[table->count++] = *row;
        return;
    }
    merge(&table->rows[OSC_CACHED_TABLE_ROWS - 1], row);
    snprintf(table->rows[OSC_CACHED_TABLE_ROWS - 1].name, OSC_CACHED_TABLE_NAME, "(others)");
}

static osc_cached_row_t total_of(const osc_cached_table_t *table)
{
    osc_cached_row_t total = {.mode = "", .inner = ""};

    for (int i = 0; i < table->count; ++i) {
        merge(&total, &table->rows[i]);
    }
    return total;
}

static uint64_t gets_of(const osc_cached_row_t *row)
{
    return SUM(row, gets) + SUM(row, rgets);
}

/* Gets that needed no network, of all, in percent. */
static double hit_rate(const osc_cached_row_t *row)
{
    uint64_t gets = gets_of(row);

    return (0 == gets) ? 0 : 100.0 * (double) (SUM(row, hits) + SUM(row, joins)) / (double) gets;
}

/* Text */

/* Why gets went past the cache; the mode comes before what single targets are like. */
static void add_reason(osc_cached_text_t *text, const osc_cached_row_t *row)
{
    uint64_t cheap = row->sums[OSC_CACHED_SUM_CHEAP], sampled = row->sums[OSC_CACHED_SUM_SAMPLED];
    uint64_t targets = row->sums[OSC_CACHED_SUM_TARGETS];

    if (!row->cacheable) {
        osc_cached_text_add(text, "windows of osc/sm, shared and dynamic ones are not cached");
    } else if (0 == strcmp(row->mode, "off")) {
        osc_cached_text_add(text, "mode off");
    } else if (row->passes_passive && 0 < SUM(row, locks)) {
        osc_cached_text_add(text, "mode transparent keeps nothing between lock and unlock; "
                                  "if the window is only read: osc_cached_mode always");
        if (row->in_sysv) {
            osc_cached_text_add(text, "; else UCX_TLS=^sysv, so that stores can be detected");
        }
    } else if (0 < cheap) {
        osc_cached_text_add(text,
                            "%" PRIu64 " of %" PRIu64 " targets are as fast as the cache "
                            "(osc_cached_bypass_below)",
                            cheap, targets);
    } else if (0 < sampled) {
        osc_cached_text_add(
            text, "caching did not pay off for %" PRIu64 " of %" PRIu64 " targets (osc_cached_profit)",
            sampled, targets);
    } else {
        osc_cached_text_add(
            text, "gets from the process itself, gets while its own writes are in flight, or gets "
                  "that are too large");
    }
}

/* The counters whose names begin with that of a group, of those that have counted something. */
static void add_group(osc_cached_text_t *text, const osc_cached_row_t *row, const char *group)
{
    size_t length = strlen(group);
    bool first = true;
    char number[16];

    for (int i = 0; i < OSC_CACHED_STAT_COUNT; ++i) {
        const char *name = osc_cached_stat_names[i];

        if (0 == strncmp(name, group, length) && '_' == name[length] && 0 < row->sums[i]
            && !is_level[i]) {
            osc_cached_text_number(row->sums[i], number);
            osc_cached_text_add(text, "%s%s%s %s %s", first ? "    " : "", first ? group : "",
                                first ? ":" : ",", number, name + length + 1);
            first = false;
        }
    }
    osc_cached_text_add(text, "%s", first ? "" : "\n");
}

static void add_row(osc_cached_text_t *text, const osc_cached_row_t *row)
{
    char gets[16], served[16], fetched[16], saved[16], memory[16], bypassed[16];

    osc_cached_text_number(gets_of(row), gets);
    osc_cached_text_bytes(SUM(row, bytes_served), served);
    osc_cached_text_bytes(SUM(row, bytes_fetched), fetched);
    osc_cached_text_time(SUM(row, ns_saved), saved);
    osc_cached_text_bytes(SUM(row, storage_used), memory);
    osc_cached_text_add(text,
                        "  %-20.20s %7" PRIu32 " %-11s %-7s %9s %7.1f %% %10s %10s %9s %10s\n",
                        ('\0' == row->name[0]) ? "(no name)" : row->name, row->windows, row->mode,
                        row->inner, gets, hit_rate(row), served, fetched, saved, memory);
    if (0 < SUM(row, bypassed)) {
        osc_cached_text_number(SUM(row, bypassed), bypassed);
        osc_cached_text_add(text, "    %s bypassed: ", bypassed);
        add_reason(text, row);
        osc_cached_text_add(text, "\n");
    }
    add_group(text, row, "node");
    add_group(text, row, "coherence");
    add_group(text, row, "cooperate");
    add_group(text, row, "file");
}

/* The row with the most gets of those that were not shown; -1: all were. */
static int next_row(const osc_cached_table_t *table, const bool shown[])
{
    int next = -1;

    for (int i = 0; i < table->count; ++i) {
        if (!shown[i] && (0 > next || gets_of(&table->rows[next]) < gets_of(&table->rows[i]))) {
            next = i;
        }
    }
    return next;
}

static void add_verified(osc_cached_text_t *text, const osc_cached_row_t *total)
{
    osc_cached_text_add(text,
                        "osc/cached: %" PRIu64 " hits compared with the target's memory, %" PRIu64
                        " differ\n",
                        SUM(total, verified), SUM(total, mismatches));
}

void osc_cached_table_verified(const osc_cached_table_t *table, char *buffer, size_t size)
{
    osc_cached_row_t total = total_of(table);
    osc_cached_text_t text = {.at = buffer, .left = size};

    add_verified(&text, &total);
}

void osc_cached_table_print(const osc_cached_table_t *table, char *buffer, size_t size)
{
    osc_cached_row_t total = total_of(table);
    bool shown[OSC_CACHED_TABLE_ROWS] = {false};
    osc_cached_text_t text = {.at = buffer, .left = size};
    char gets[16], saved[16];
    int i;

    osc_cached_text_number(gets_of(&total), gets);
    osc_cached_text_time(SUM(&total, ns_saved), saved);
    osc_cached_text_add(&text,
                        "osc/cached: %s get%s of %" PRIu32 " process%s in %" PRIu32
                        " window%s, %.1f %% from the cache; %s saved (estimate, all processes)\n",
                        gets, (1 == gets_of(&total)) ? "" : "s", total.processes,
                        (1 == total.processes) ? "" : "es", total.windows,
                        (1 == total.windows) ? "" : "s", hit_rate(&total), saved);
    if (0 < SUM(&total, verified)) {
        add_verified(&text, &total);
    }
    osc_cached_text_add(&text, "  %-20s %7s %-11s %-7s %9s %9s %10s %10s %9s %10s\n", "window",
                        "windows", "mode", "inner", "gets", "hit rate", "served", "fetched",
                        "saved", "memory");
    for (int n = 0; n < OSC_CACHED_TABLE_SHOWN && 0 <= (i = next_row(table, shown)); ++n) {
        shown[i] = true;
        add_row(&text, &table->rows[i]);
    }
    if (OSC_CACHED_TABLE_SHOWN < table->count) {
        osc_cached_text_add(&text, "  and %d more (osc_cached_stats json has all)\n",
                            table->count - OSC_CACHED_TABLE_SHOWN);
    }
}

static void add_json(osc_cached_text_t *text, const osc_cached_row_t *row)
{
    osc_cached_text_add(text,
                        "\"windows\": %" PRIu32 ", \"processes\": %" PRIu32 ", \"hit_rate\": %.4f",
                        row->windows, row->processes, hit_rate(row) / 100);
    for (int i = 0; i < OSC_CACHED_STAT_COUNT; ++i) {
        osc_cached_text_add(text, ", \"%s\": %" PRIu64, osc_cached_stat_names[i], row->sums[i]);
    }
}

void osc_cached_table_json(const osc_cached_table_t *table, char *buffer, size_t size)
{
    osc_cached_row_t total = total_of(table);
    osc_cached_text_t text = {.at = buffer, .left = size};

    osc_cached_text_add(&text, "{\"osc_cached\": {\"total\": {");
    add_json(&text, &total);
    osc_cached_text_add(&text, "}, \"windows\": [");
    for (int i = 0; i < table->count; ++i) {
        const osc_cached_row_t *row = &table->rows[i];

        osc_cached_text_add(&text, "%s{\"name\": ", (0 == i) ? "" : ", ");
        osc_cached_text_string(&text, row->name);
        osc_cached_text_add(&text, ", \"mode\": \"%s\", \"inner\": \"%s\", ", row->mode,
                            row->inner);
        if (0 < SUM(row, bypassed)) {
            osc_cached_text_add(&text, "\"bypassed_because\": \"");
            add_reason(&text, row);
            osc_cached_text_add(&text, "\", ");
        }
        add_json(&text, row);
        osc_cached_text_add(&text, "}");
    }
    osc_cached_text_add(&text, "]}}\n");
}
