/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings of windows that are chosen from outside of the program.
 *
 * A rule of osc_cached_rules sets info keys, those of osc_cached_info.def without their prefix.
 * Keys for the creation of a window are put into its info object before anybody has read it; those
 * that depend on its name are given to it as MPI_Win_set_info would, at its first call.
 */

#include "ompi_config.h"

#include <stdio.h>
#include <string.h>

#include "opal/util/info.h"
#include "opal/util/info_subscriber.h"
#include "opal/util/proc.h"

#include "core/osc_cached_rules.h"
#include "osc_cached_choose.h"
#include "osc_cached_compat.h"

#define PREFIX "ompi_osc_cached_"

static const struct {
    const char *key, *values;
} keys[] = {
#define OSC_CACHED_INFO(key, function, values, help) {#key, values},
#include "osc_cached_info.def"
};

static osc_cached_rules_t rules;
static osc_cached_rules_setting_t settings[OSC_CACHED_RULES_SETTINGS_MAX];
static int num_settings = 0;
static bool any;                           /* windows were created */
static bool matched[OSC_CACHED_RULES_MAX]; /* by one of them */

/* Whether a value is one of osc_cached_info.def: "off, on", or "4K to 32G". */
static bool is_allowed(const char *values, const char *value)
{
    char text[128], *to, *rest, *word;
    double least, most, number;

    snprintf(text, sizeof(text), "%s", values);
    to = strstr(text, " to ");
    if (NULL != to) {
        ompi_osc_cached_unit_t unit = (strlen(text) == strspn(text, "0123456789 to"))
                                          ? OSC_CACHED_UNIT_COUNT
                                          : OSC_CACHED_UNIT_BYTES;

        *to = '\0';
        return ompi_osc_cached_read_number(text, unit, 0, 0x1p53, &least)
               && ompi_osc_cached_read_number(to + strlen(" to "), unit, 0, 0x1p53, &most)
               && ompi_osc_cached_read_number(value, unit, least, most, &number);
    }
    for (word = strtok_r(text, ", ", &rest); NULL != word; word = strtok_r(NULL, ", ", &rest)) {
        if (0 == strcmp(word, value)) {
            return true;
        }
    }
    return false;
}

void ompi_osc_cached_choose_init(void)
{
    const char *text = ompi_osc_cached_params.rules, *wrong;
    size_t where = 0, from;

    num_settings = 0;
    any = false;
    memset(matched, 0, sizeof(matched));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        /* not another name of the mode, what is done once, nor what mode coherent needs */
        if (0 == strncmp(keys[i].key, PREFIX, strlen(PREFIX))
            && 0 != strcmp(keys[i].key, PREFIX "invalidate")
            && 0 != strcmp(keys[i].key, PREFIX "stores")
            && 0 != strcmp(keys[i].key, PREFIX "cooperate")
            && 0 != strcmp(keys[i].key, PREFIX "block")) {
            settings[num_settings++] = (osc_cached_rules_setting_t){
                .key = keys[i].key + strlen(PREFIX),
                /* on mode coherent all processes agree while a window is created */
                .values = (0 == strcmp(keys[i].key, PREFIX "mode"))
                              ? "off, transparent, always, user"
                              : keys[i].values,
                .early = 0 == strcmp(keys[i].key, PREFIX "helper")
                         || 0 == strcmp(keys[i].key, PREFIX "share"),
            };
        }
    }
    if (NULL == text) {
        rules.count = 0;
        rules.has_names = false;
        return;
    }
    wrong = osc_cached_rules_read(&rules, text, settings, num_settings, is_allowed, &where);
    if (NULL != wrong) {
        /* of a long text what fits into a line */
        from = (where < 40) ? 0 : where - 40;
        opal_show_help("help-mpi-osc-cached.txt", "bad-rules", true, wrong, text + from,
                       (int) (where - from), "", opal_process_info.nodename);
    }
}

static osc_cached_kind_t kind_of(int flavor)
{
    return (MPI_WIN_FLAVOR_CREATE == flavor)     ? OSC_CACHED_KIND_CREATE
           : (MPI_WIN_FLAVOR_ALLOCATE == flavor) ? OSC_CACHED_KIND_ALLOCATE
           : (MPI_WIN_FLAVOR_DYNAMIC == flavor)  ? OSC_CACHED_KIND_DYNAMIC
                                                 : OSC_CACHED_KIND_SHARED;
}

/* Which rules this window matches. */
static void note_matches(const osc_cached_rules_window_t *window)
{
    for (int i = 0; i < rules.count; ++i) {
        osc_cached_rules_t one; /* with this rule only; its words stay where they are */
        bool by_name;

        if (__atomic_load_n(&matched[i], __ATOMIC_RELAXED)) {
            continue;
        }
        one.count = 1;
        one.rules[0] = rules.rules[i];
        for (int j = 0; j < num_settings; ++j) {
            if (NULL != osc_cached_rules_value(&one, window, j, &by_name)) {
                __atomic_store_n(&matched[i], true, __ATOMIC_RELAXED);
            }
        }
    }
}

void ompi_osc_cached_choose_finalize(void)
{
    if (!any || OSC_CACHED_STATS_JOB != ompi_osc_cached_params.stats
        || 0 != opal_proc_local_get()->proc_name.vpid) {
        return;
    }
    for (int i = 0; i < rules.count; ++i) {
        const char *name = rules.rules[i].name;

        if (!matched[i]) {
            fprintf(stderr, "osc/cached: rule %d of osc_cached_rules%s%s matched no window\n",
                    i + 1, (NULL == name) ? "" : ", name=", (NULL == name) ? "" : name);
        }
    }
}

/* Add what the rules say; with a name, only what depends on it. */
static bool add_keys(opal_info_t *info, const osc_cached_rules_window_t *window, bool early)
{
    bool added = false;

    for (int i = 0; i < num_settings; ++i) {
        char key[OPAL_MAX_INFO_KEY + 1];
        bool by_name = false;
        const char *value = (early == settings[i].early)
                                ? osc_cached_rules_value(&rules, window, i, &by_name)
                                : NULL;

        if (NULL != value && by_name == (NULL != window->name)) {
            snprintf(key, sizeof(key), PREFIX "%s", settings[i].key);
            (void) opal_info_set(info, key, value);
            added = true;
        }
    }
    return added;
}

void ompi_osc_cached_choose(opal_info_t *info, int flavor, int processes, uint64_t largest,
                            bool early)
{
    osc_cached_rules_window_t window = {
        .size = largest, .processes = (uint64_t) processes, .kind = kind_of(flavor)};

    if (0 < rules.count && NULL != info) {
        (void) add_keys(info, &window, early);
        if (!early) {
            any = true;
            note_matches(&window);
        }
    }
}

/* The first call. */
static void entered(ompi_osc_cached_window_t *window)
{
    ompi_win_t *win = window->win;
    const char *name = win->w_name;
    osc_cached_rules_window_t described = {.name = (NULL == name) ? "" : name,
                                           .size = window->largest,
                                           .processes = (uint64_t) ompi_group_size(win->w_group),
                                           .kind = kind_of(win->w_flavor)};
    opal_info_t *info = OBJ_NEW(opal_info_t);

    note_matches(&described);
    if (NULL != info) {
        if (add_keys(info, &described, false)) {
            (void) opal_infosubscribe_change_info(&win->super, info);
        }
        OBJ_RELEASE(info);
    }
}

void ompi_osc_cached_choose_by_name(ompi_osc_cached_window_t *window)
{
    window->entered = (rules.has_names && window->cacheable) ? entered : NULL;
}
