/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "osc_cached_advice.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "osc_cached_text.h"

#define add osc_cached_text_add

/* A cache that would save less than this part of the time is not worth a setting: it is less than
 * two runs of a program differ by. */
static const double least_saving = 0.02;
/* The default mode is enough when it saves this part of what another one would. */
static const double enough = 0.8;
/* Gets of which less than this part repeats leave nothing to explain. */
static const double few = 0.1;

/* A coherent cache that would serve less than this part of the gets costs more than it saves: its
 * misses and writes need messages. */
static const double mostly = 0.5;
/* Bytes that are dropped together where data is coherent: a page of most machines. */
static const double block = 4096;

static void merge(osc_cached_advice_row_t *into, const osc_cached_advice_row_t *row)
{
    into->windows += row->windows;
    into->processes = (into->processes < row->processes) ? row->processes : into->processes;
    for (int side = 0; side < OSC_CACHED_ADVICE_SIDES; ++side) {
        for (int i = 0; i < OSC_CACHED_ADVISE_SUMS; ++i) {
            into->sums[side][i] += row->sums[side][i];
        }
        into->most_gets[side] += row->most_gets[side];
    }
}

void osc_cached_advice_add(osc_cached_advice_t *advice, const osc_cached_advice_row_t *row)
{
    osc_cached_advice_row_t *last = &advice->rows[OSC_CACHED_ADVICE_ROWS - 1];

    for (int i = 0; i < advice->count; ++i) {
        osc_cached_advice_row_t *other = &advice->rows[i];

        if (0 == strcmp(other->name, row->name) && 0 == strcmp(other->inner, row->inner)
            && other->cacheable == row->cacheable) {
            merge(other, row);
            return;
        }
    }
    if (advice->count < OSC_CACHED_ADVICE_ROWS) {
        advice->rows[advice->count++] = *row;
        return;
    }
    merge(last, row);
    snprintf(last->name, sizeof(last->name), "(others)");
}

/* What is advised */

static double sum_of(const osc_cached_advice_row_t *row, int sum)
{
    double all = 0;

    for (int side = 0; side < OSC_CACHED_ADVICE_SIDES; ++side) {
        all += row->sums[side][sum];
    }
    return all;
}

/* Of both sides together, times of the process with the most gets. Gets that are as fast as hits
 * are not cached. */
static osc_cached_prediction_t predict(const osc_cached_advice_t *advice,
                                       const osc_cached_advice_row_t *row,
                                       osc_cached_advise_life_t life, double memory)
{
    osc_cached_prediction_t all = {0};
    double gets = sum_of(row, OSC_CACHED_ADVISE_GETS);

    for (int side = 0; side < OSC_CACHED_ADVICE_SIDES; ++side) {
        const double *sums = row->sums[side];
        osc_cached_prediction_t one = osc_cached_advise_predict(sums, life, memory);
        double part = (0 < sums[OSC_CACHED_ADVISE_GETS])
                          ? row->most_gets[side] / sums[OSC_CACHED_ADVISE_GETS]
                          : 0;

        all.total_ns += part * one.total_ns;
        if (0 < one.saving_ns && advice->cheap_ns <= osc_cached_advise_get_ns(sums)) {
            all.saving_ns += part * one.saving_ns;
            all.hit_rate += one.hit_rate * sums[OSC_CACHED_ADVISE_GETS] / gets;
            all.memory += one.memory;
        }
    }
    return all;
}

/* Why a cache is not worth it. */
static osc_cached_advice_verdict_t why_not(const osc_cached_advice_t *advice,
                                           const osc_cached_advice_row_t *row,
                                           const osc_cached_advice_told_t *told)
{
    double least = least_saving * told->total_ns;

    return (told->get_ns <= advice->cheap_ns) ? OSC_CACHED_ADVICE_CHEAP
           : (least <= predict(advice, row, told->life, HUGE_VAL).saving_ns)
               ? OSC_CACHED_ADVICE_LARGE
           : (told->repeated < few) ? OSC_CACHED_ADVICE_DISTINCT
           : (least <= predict(advice, row, OSC_CACHED_ADVISE_REPEATS, HUGE_VAL).saving_ns)
               ? OSC_CACHED_ADVICE_WRITTEN
           : (2 * sum_of(row, OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_REPEATS)
              <= sum_of(row, OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_REPEATS))
               ? OSC_CACHED_ADVICE_CHEAP
           : (0 < told->differed) ? OSC_CACHED_ADVICE_CHANGES
                                  : OSC_CACHED_ADVICE_WRITTEN;
}

/* What a coherent cache could do. The prediction leaves out repeated gets whose bytes differed; but
 * a write drops all of its block, and so what other gets have brought of it. */
static osc_cached_prediction_t predict_coherent(const osc_cached_advice_t *advice,
                                                const osc_cached_advice_row_t *row)
{
    osc_cached_prediction_t coherent =
        predict(advice, row, OSC_CACHED_ADVISE_REPEATS, advice->memory);
    double checked = sum_of(row, OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_REPEATS);
    double differed = sum_of(row, OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_REPEATS);
    double bytes = sum_of(row, OSC_CACHED_ADVISE_GET_BYTES);
    double others = (0 < bytes) ? block * sum_of(row, OSC_CACHED_ADVISE_TIMED_GETS) / bytes - 1 : 0;

    if (0 < checked && 0 < others) {
        double whole = pow(1 - differed / checked, others);

        coherent.hit_rate *= whole;
        coherent.saving_ns *= whole;
    }
    return coherent;
}

osc_cached_advice_told_t osc_cached_advice_of(const osc_cached_advice_t *advice,
                                              const osc_cached_advice_row_t *row)
{
    osc_cached_advice_told_t told = {
        .verdict = OSC_CACHED_ADVICE_SERVES,
        .life = OSC_CACHED_ADVISE_ALWAYS,
        .gets = sum_of(row, OSC_CACHED_ADVISE_GETS),
        .atomics = row->sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_ATOMICS]};
    double memory = sum_of(row, OSC_CACHED_ADVISE_MEMORY) / row->processes;
    osc_cached_prediction_t now, best;

    if (!row->cacheable || 0 == told.gets) {
        told.verdict = row->cacheable ? OSC_CACHED_ADVICE_NO_GETS : OSC_CACHED_ADVICE_NEVER;
        return told;
    }
    if (0 < sum_of(row, OSC_CACHED_ADVISE_INVALIDATIONS)) {
        told.life = OSC_CACHED_ADVISE_USER; /* the program was written for it */
    }
    now = predict(advice, row, OSC_CACHED_ADVISE_TRANSPARENT, advice->memory);
    best = predict(advice, row, told.life, advice->memory);
    if (0 < now.saving_ns && enough * best.saving_ns <= now.saving_ns) {
        told.life = OSC_CACHED_ADVISE_TRANSPARENT;
        best = now;
    }
    for (int side = 0; side < OSC_CACHED_ADVICE_SIDES; ++side) {
        double part = row->sums[side][OSC_CACHED_ADVISE_GETS] / told.gets;

        told.repeated += part * osc_cached_advise_repeated(row->sums[side]);
        told.get_ns += part * osc_cached_advise_get_ns(row->sums[side]);
    }
    told.checked = sum_of(row, OSC_CACHED_ADVISE_CHECKED + (int) told.life);
    told.differed = sum_of(row, OSC_CACHED_ADVISE_DIFFERED + (int) told.life);
    told.total_ns = best.total_ns;
    if (best.saving_ns <= least_saving * best.total_ns) {
        told.verdict = why_not(advice, row, &told);
        told.memory = memory;
        if (OSC_CACHED_ADVICE_WRITTEN != told.verdict) {
            return told;
        }
    } else if (0 < told.differed && OSC_CACHED_ADVISE_TRANSPARENT != told.life) {
        told.verdict = OSC_CACHED_ADVICE_CHANGES;
    }
    if (OSC_CACHED_ADVICE_SERVES != told.verdict) {
        best = predict_coherent(advice, row);
        if (best.hit_rate < mostly || best.saving_ns <= least_saving * best.total_ns) {
            best.saving_ns = 0;
        }
        told.coherent_ns = best.saving_ns;
    }
    told.hit_rate = best.hit_rate;
    told.saving_ns = best.saving_ns;
    told.memory = (best.memory < memory) ? best.memory : memory;
    return told;
}

static const char *mode_of(osc_cached_advise_life_t life)
{
    return (OSC_CACHED_ADVISE_TRANSPARENT == life) ? "transparent"
           : (OSC_CACHED_ADVISE_USER == life)      ? "user"
                                                   : "always";
}

/* Words */

/* "3.40 of 5.10 s": both in the unit of the second. */
static void add_times(osc_cached_text_t *text, double part, double whole)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;

    for (; unit < 3 && 1000 <= whole; ++unit) {
        part /= 1000;
        whole /= 1000;
    }
    add(text, "%.3g of %.3g %s", part, whole, units[unit]);
}

static void add_coherent(osc_cached_text_t *text, const osc_cached_advice_told_t *told,
                         const char *gets)
{
    if (0 < told->coherent_ns) {
        add(text, "; mode coherent could serve about %.3g %% of %s gets and save ",
            100 * told->hit_rate, gets);
        add_times(text, told->coherent_ns, told->total_ns);
    }
}

static void add_reason(osc_cached_text_t *text, const osc_cached_advice_told_t *told)
{
    char gets[16], memory[16], checked[16], differed[16], time[16];

    osc_cached_text_number((uint64_t) told->gets, gets);
    osc_cached_text_bytes((uint64_t) told->memory, memory);
    osc_cached_text_number((uint64_t) told->checked, checked);
    osc_cached_text_number((uint64_t) told->differed, differed);
    osc_cached_text_time((uint64_t) told->get_ns, time);
    switch (told->verdict) {
    case OSC_CACHED_ADVICE_NEVER:
        add(text, "shared and dynamic windows, and those of osc/sm, are never cached");
        break;
    case OSC_CACHED_ADVICE_NO_GETS:
        if (0 < told->atomics) {
            osc_cached_text_number((uint64_t) told->atomics, gets);
            add(text,
                "nothing to cache: it was not read by MPI_Get or MPI_Rget; %s accumulates and "
                "atomics went to other nodes, where a helper may execute them while its process "
                "computes",
                gets);
        } else {
            add(text, "nothing to gain: it was not read by MPI_Get or MPI_Rget");
        }
        break;
    case OSC_CACHED_ADVICE_DISTINCT:
        if (1 < told->gets) {
            add(text, "nothing to gain: %.2g %% of %s gets repeat", 100 * told->repeated, gets);
        } else {
            add(text, "nothing to gain: there was one get");
        }
        break;
    case OSC_CACHED_ADVICE_CHEAP:
        add(text, "nothing to gain: a get takes %s, about as long as a hit", time);
        break;
    case OSC_CACHED_ADVICE_WRITTEN:
        add(text,
            "%s: %.3g %% of %s gets repeat, but the process writes to the target between them",
            (0 < told->coherent_ns) ? "mode always gains nothing" : "nothing to gain",
            100 * told->repeated, gets);
        add_coherent(text, told, gets);
        break;
    case OSC_CACHED_ADVICE_LARGE:
        add(text,
            "nothing to gain with the memory that a process may use: %.3g %% of %s gets repeat, "
            "but their data needs %s (osc_cached_memory)",
            100 * told->repeated, gets, memory);
        break;
    case OSC_CACHED_ADVICE_CHANGES:
        add(text, "bytes differed in %s of %s repeated gets: mode %s would be wrong", differed,
            checked, mode_of(told->life));
        add_coherent(text, told, gets);
        if (0 < told->coherent_ns) {
            add(text, ", and so could mode user with MPIX_Win_cache_invalidate or the info key "
                      "ompi_osc_cached_invalidate where data changes");
        }
        break;
    case OSC_CACHED_ADVICE_SERVES:
        add(text, "mode %s would have served %.3g %% of %s gets and saved ", mode_of(told->life),
            100 * told->hit_rate, gets);
        add_times(text, told->saving_ns, told->total_ns);
        add(text, " with %s", memory);
        if (OSC_CACHED_ADVISE_TRANSPARENT == told->life) {
            break;
        }
        if (0 < told->checked) {
            add(text, "; no byte differed between repeated gets (%s checked)", checked);
        } else {
            add(text, "; whether bytes change was not checked: run with osc_cached_verify 1");
        }
    }
}

/* Settings */

/* Whether all windows with gets have the same recommendation, and which. */
static bool is_one_for_all(const osc_cached_advice_t *advice, osc_cached_advise_life_t *life)
{
    bool same = true, first = true;

    for (int i = 0; i < advice->count; ++i) {
        osc_cached_advice_told_t told = osc_cached_advice_of(advice, &advice->rows[i]);

        if (OSC_CACHED_ADVICE_NEVER != told.verdict && OSC_CACHED_ADVICE_NO_GETS != told.verdict) {
            same =
                same && OSC_CACHED_ADVICE_SERVES == told.verdict && (first || *life == told.life);
            *life = told.life;
            first = false;
        }
    }
    return same && !first;
}

/* Whether the program gave it a name: Open MPI's own ("ucx window 3") is a number that another
 * window has in another run. */
static bool has_name(const osc_cached_advice_row_t *row)
{
    size_t length = strlen(row->inner);

    return '\0' != row->name[0] && '(' != row->name[0]
           && (0 != strncmp(row->name, row->inner, length)
               || 0 != strncmp(row->name + length, " window ", 8));
}

/* Whether what is recommended for a window can be set from outside: for all, or by its name. */
static bool can_be_set(const osc_cached_advice_row_t *row, const osc_cached_advice_told_t *told,
                       bool one)
{
    return OSC_CACHED_ADVICE_SERVES == told->verdict
           && (one || OSC_CACHED_ADVISE_TRANSPARENT == told->life || has_name(row));
}

/* The name as a pattern of osc_cached_rules. */
static void add_pattern(osc_cached_text_t *text, const char *name)
{
    for (; '\0' != *name; ++name) {
        bool plain = isalnum((unsigned char) *name) || NULL != strchr("_-./", *name);

        add(text, "%c", plain ? *name : '?');
    }
}

/* A list of NAME=VALUE. */
enum { SETTINGS = 3, SETTING_BYTES = 64 + OSC_CACHED_ADVICE_ROWS * 96 };

typedef struct {
    int count;
    char list[SETTINGS][SETTING_BYTES];
} settings_t;

static void add_setting(settings_t *settings, const char *name, const char *value)
{
    snprintf(settings->list[settings->count++], SETTING_BYTES, "%s=%s", name, value);
}

/* For one window alone. */
static void set_one(settings_t *settings, const osc_cached_advice_told_t *told)
{
    settings->count = 0;
    if (OSC_CACHED_ADVICE_SERVES == told->verdict) {
        add_setting(settings, "osc", "cached");
        if (OSC_CACHED_ADVISE_TRANSPARENT != told->life) {
            add_setting(settings, "osc_cached_mode", mode_of(told->life));
        }
    }
}

/* For all of them. */
static void set_all(settings_t *settings, const osc_cached_advice_t *advice)
{
    osc_cached_advice_told_t told = {.verdict = OSC_CACHED_ADVICE_SERVES};
    char rules[SETTING_BYTES - 32] = "";
    osc_cached_text_t text = {.at = rules, .left = sizeof(rules)};
    bool any = false;

    if (is_one_for_all(advice, &told.life)) {
        set_one(settings, &told);
        return;
    }
    for (int i = 0; i < advice->count; ++i) {
        const osc_cached_advice_row_t *row = &advice->rows[i];

        told = osc_cached_advice_of(advice, row);
        if (can_be_set(row, &told, false)) {
            any = true;
            if (OSC_CACHED_ADVISE_TRANSPARENT != told.life) {
                add(&text, "%sname=", ('\0' == rules[0]) ? "" : "; ");
                add_pattern(&text, row->name);
                add(&text, ": mode=%s", mode_of(told.life));
            }
        }
    }
    settings->count = 0;
    if (any) {
        add_setting(settings, "osc", "cached");
    }
    if ('\0' != rules[0]) {
        add_setting(settings, "osc_cached_rules", rules);
    }
}

/* The rows, those with the most to gain first. */
static void rank(const osc_cached_advice_t *advice, int order[OSC_CACHED_ADVICE_ROWS])
{
    double saving_ns[OSC_CACHED_ADVICE_ROWS];

    for (int i = 0; i < advice->count; ++i) {
        osc_cached_advice_told_t told = osc_cached_advice_of(advice, &advice->rows[i]);
        int at = i;

        saving_ns[i] = (OSC_CACHED_ADVICE_SERVES == told.verdict) ? told.saving_ns : 0;
        for (; 0 < at && saving_ns[order[at - 1]] < saving_ns[i]; --at) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

/* With what a coherent cache may do for windows that no other one helps, too.
 * @return ns that it could save; 0: there are none */
static double set_coherent(settings_t *settings, const osc_cached_advice_t *advice)
{
    double ns = 0;

    for (int i = 0; i < advice->count; ++i) {
        ns += osc_cached_advice_of(advice, &advice->rows[i]).coherent_ns;
    }
    set_all(settings, advice);
    if (0 == settings->count) {
        add_setting(settings, "osc", "cached");
    }
    add_setting(settings, "osc_cached_stores", "sync");
    return ns;
}

/* Whether there is something that helpers execute; what they save is not predicted. */
static bool may_help(const osc_cached_advice_t *advice)
{
    bool may = false;

    for (int i = 0; i < advice->count; ++i) {
        may |= 0 < osc_cached_advice_of(advice, &advice->rows[i]).atomics;
    }
    return may;
}

static uint32_t processes_of(const osc_cached_advice_t *advice)
{
    uint32_t most = 0;

    for (int i = 0; i < advice->count; ++i) {
        most = (most < advice->rows[i].processes) ? advice->rows[i].processes : most;
    }
    return most;
}

/* As options of mpirun. */
static void add_options(osc_cached_text_t *text, const settings_t *settings)
{
    for (int i = 0; i < settings->count; ++i) {
        const char *value = strchr(settings->list[i], '=') + 1;
        const char *quote = (NULL != strchr(value, ' ')) ? "\"" : "";

        add(text, " --mca %.*s %s%s%s", (int) (value - settings->list[i] - 1), settings->list[i],
            quote, value, quote);
    }
    add(text, "\n");
}

void osc_cached_advice_print(const osc_cached_advice_t *advice, char *buffer, size_t size)
{
    osc_cached_text_t text = {.at = buffer, .left = size};
    osc_cached_advise_life_t life;
    bool one = is_one_for_all(advice, &life);
    int order[OSC_CACHED_ADVICE_ROWS];
    settings_t settings;

    rank(advice, order);
    add(&text,
        "osc/cached: advice (nothing was cached in this run; %" PRIu32
        " processes, times of the one with the most gets)\n",
        processes_of(advice));
    for (int i = 0; i < advice->count; ++i) {
        const osc_cached_advice_row_t *row = &advice->rows[order[i]];
        osc_cached_advice_told_t told = osc_cached_advice_of(advice, row);

        add(&text, "  %s", ('\0' == row->name[0]) ? "(no name)" : row->name);
        if (1 < row->windows) {
            add(&text, " (%" PRIu32 " windows)", row->windows);
        }
        add(&text, ": ");
        add_reason(&text, &told);
        if (OSC_CACHED_ADVICE_SERVES == told.verdict && !can_be_set(row, &told, one)) {
            add(&text,
                "; give it a name (MPI_Win_set_name), so that osc_cached_rules can choose it");
        }
        add(&text, "\n");
    }
    set_all(&settings, advice);
    if (0 < settings.count) {
        add(&text, "  Run with:");
        add_options(&text, &settings);
    } else {
        add(&text, may_help(advice)
                       ? "  Run without osc/cached, unless a run with its helpers is faster: --mca "
                         "osc cached\n"
                       : "  Run without osc/cached\n");
    }
    if (0 < set_coherent(&settings, advice)) {
        add(&text, "  Or try, if the program is correct in MPI's separate memory model "
                   "(osc_cached(7), CONSISTENCY):");
        add_options(&text, &settings);
    }
}

/* JSON */

static void add_settings(osc_cached_text_t *text, const char *name, const settings_t *settings)
{
    add(text, "\"%s\": [", name);
    for (int i = 0; i < settings->count; ++i) {
        add(text, "%s", (0 == i) ? "" : ", ");
        osc_cached_text_string(text, settings->list[i]);
    }
    add(text, "]");
}

void osc_cached_advice_json(const osc_cached_advice_t *advice, char *buffer, size_t size)
{
    osc_cached_text_t text = {.at = buffer, .left = size};
    osc_cached_advise_life_t life;
    bool one = is_one_for_all(advice, &life);
    double saving = 0, total = 0, coherent;
    int order[OSC_CACHED_ADVICE_ROWS];
    settings_t settings;

    rank(advice, order);
    add(&text, "{\"osc_cached_advise\": {\"windows\": [");
    for (int i = 0; i < advice->count; ++i) {
        const osc_cached_advice_row_t *row = &advice->rows[order[i]];
        osc_cached_advice_told_t told = osc_cached_advice_of(advice, row);
        char reason[1024];
        osc_cached_text_t words = {.at = reason, .left = sizeof(reason)};

        add_reason(&words, &told);
        set_one(&settings, &told);
        if (OSC_CACHED_ADVICE_SERVES != told.verdict) { /* what could be is in the reason */
            told.hit_rate = told.saving_ns = told.memory = 0;
        }
        total += told.total_ns;
        saving += can_be_set(row, &told, one) ? told.saving_ns : 0;
        add(&text, "%s{\"window\": ", (0 == i) ? "" : ", ");
        osc_cached_text_string(&text, row->name);
        add(&text, ", \"windows\": %" PRIu32 ", \"inner\": \"%s\", \"processes\": %" PRIu32 ", ",
            row->windows, row->inner, row->processes);
        add_settings(&text, "recommendation", &settings);
        add(&text,
            ", \"gets\": %.0f, \"repeated_rate\": %.4f, \"predicted_hit_rate\": %.4f, "
            "\"predicted_saving_seconds\": %.6f, \"total_seconds\": %.6f, \"memory_bytes\": %.0f, "
            "\"checked\": %.0f, \"differed\": %.0f, \"reason\": ",
            told.gets, told.repeated, told.hit_rate, told.saving_ns / 1e9, told.total_ns / 1e9,
            told.memory, told.checked, told.differed);
        osc_cached_text_string(&text, reason);
        add(&text, "}");
    }
    add(&text, "], ");
    coherent = set_coherent(&settings, advice);
    if (0 < coherent) {
        add_settings(&text, "candidate", &settings);
        add(&text, ", \"candidate_saving_seconds\": %.6f, ", (coherent + saving) / 1e9);
    }
    set_all(&settings, advice);
    add_settings(&text, "recommendation", &settings);
    add(&text, ", \"predicted_saving_seconds\": %.6f, \"total_seconds\": %.6f}}\n", saving / 1e9,
        total / 1e9);
}
