/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The MCA variables, and how users write names and numbers.
 */

#include "ompi_config.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_vari.h"
#include "opal/util/proc.h"
#include "ompi/constants.h"

#include "core/osc_cached_block.h"
#include "osc_cached_compat.h"
#include "osc_cached_params.h"
#include "osc_cached_spelling.h"

ompi_osc_cached_params_t ompi_osc_cached_params = {
#define OSC_CACHED_PARAM(name, kind, def, level, scope, help) .name = def,
#define OSC_CACHED_NUMBER(name, unit, def, least, most, level, scope, help)
#include "osc_cached_params.def"
};

ompi_osc_cached_numbers_t ompi_osc_cached_numbers;

const mca_base_var_enum_value_t ompi_osc_cached_modes[] = {
    {.value = OSC_CACHED_MODE_OFF, .string = "off"},
    {.value = OSC_CACHED_MODE_TRANSPARENT, .string = "transparent"},
    {.value = OSC_CACHED_MODE_ALWAYS, .string = "always"},
    {.value = OSC_CACHED_MODE_USER, .string = "user"},
    {.value = OSC_CACHED_MODE_COHERENT, .string = "coherent"},
    {.value = 0, .string = NULL},
};

const mca_base_var_enum_value_t ompi_osc_cached_schemes[] = {
    {.value = OSC_CACHED_SCHEME_FULL, .string = "full"},
    {.value = OSC_CACHED_SCHEME_TEMPORAL, .string = "temporal"},
    {.value = OSC_CACHED_SCHEME_POSITIONAL, .string = "positional"},
    {.value = OSC_CACHED_SCHEME_DUEL, .string = "duel"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t passive_scopes[] = {
    {.value = OSC_CACHED_PASSIVE_NONE, .string = "none"},
    {.value = OSC_CACHED_PASSIVE_FLUSH, .string = "flush"},
    {.value = 0, .string = NULL},
};

const mca_base_var_enum_value_t ompi_osc_cached_stores[] = {
    {.value = OSC_CACHED_STORES_DETECT, .string = "detect"},
    {.value = OSC_CACHED_STORES_SYNC, .string = "sync"},
    {.value = OSC_CACHED_STORES_NONE, .string = "none"},
    {.value = OSC_CACHED_STORES_OFF, .string = "off"},
    {.value = 0, .string = NULL},
};

const mca_base_var_enum_value_t ompi_osc_cached_cooperations[] = {
    {.value = OSC_CACHED_COOPERATE_OFF, .string = "off"},
    {.value = OSC_CACHED_COOPERATE_PRIVATE, .string = "private"},
    {.value = OSC_CACHED_COOPERATE_PAPER, .string = "paper"},
    {.value = OSC_CACHED_COOPERATE_AUTO, .string = "auto"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t helper_wishes[] = {
    {.value = OSC_CACHED_HELPER_OFF, .string = "off"},
    {.value = OSC_CACHED_HELPER_AUTO, .string = "auto"},
    {.value = OSC_CACHED_HELPER_ON, .string = "on"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t transfers[] = {
    {.value = OSC_CACHED_TRANSFERS_COST, .string = "cost"},
    {.value = OSC_CACHED_TRANSFERS_HELPER, .string = "helper"},
    {.value = OSC_CACHED_TRANSFERS_INNER, .string = "inner"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t storage_syncs[] = {
    {.value = OSC_CACHED_SYNC_SYNC, .string = "sync"},
    {.value = OSC_CACHED_SYNC_ASYNC, .string = "async"},
    {.value = OSC_CACHED_SYNC_FREE, .string = "free"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t storage_routes[] = {
    {.value = OSC_CACHED_FILE_ROUTE_AUTO, .string = "auto"},
    {.value = OSC_CACHED_FILE_ROUTE_INNER, .string = "inner"},
    {.value = OSC_CACHED_FILE_ROUTE_HELPER, .string = "helper"},
    {.value = 0, .string = NULL},
};

/* the last two: it was a truth value */
static const mca_base_var_enum_value_t stats_kinds[] = {
    {.value = OSC_CACHED_STATS_OFF, .string = "off"},
    {.value = OSC_CACHED_STATS_JOB, .string = "job"},
    {.value = OSC_CACHED_STATS_RANKS, .string = "ranks"},
    {.value = OSC_CACHED_STATS_JSON, .string = "json"},
    {.value = OSC_CACHED_STATS_OFF, .string = "false"},
    {.value = OSC_CACHED_STATS_JOB, .string = "true"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t advise_kinds[] = {
    {.value = OSC_CACHED_ADVISE_OFF, .string = "off"},
    {.value = OSC_CACHED_ADVISE_TEXT, .string = "text"},
    {.value = OSC_CACHED_ADVISE_JSON, .string = "json"},
    {.value = OSC_CACHED_ADVISE_OFF, .string = "false"},
    {.value = OSC_CACHED_ADVISE_TEXT, .string = "true"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t helper_places[] = {
    {.value = OSC_CACHED_PER_PROCESS, .string = "process"},
    {.value = OSC_CACHED_PER_NODE, .string = "node"},
    {.value = 0, .string = NULL},
};

/* Numbers */

/* strtod, whatever the program's locale has for a point. */
static double read_double(const char *text, char **end)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t) 0), before = uselocale(plain);
    double value = strtod(text, end);

    (void) uselocale(before);
    if ((locale_t) 0 != plain) {
        freelocale(plain);
    }
    return value;
}

bool ompi_osc_cached_read_number(const char *text, ompi_osc_cached_unit_t unit, double least,
                                 double most, double *value)
{
    static const char suffixes[] = "KMG";
    const char *suffix;
    char *end;
    double read;

    if (OSC_CACHED_UNIT_CPU == unit && NULL != text
        && (0 == strcmp(text, "auto") || 0 == strcmp(text, "process"))) {
        *value = ('a' == *text) ? OSC_CACHED_CPU_AUTO : OSC_CACHED_CPU_PROCESS;
        return true;
    }
    /* what strtod takes beside numbers: white space, "inf", "nan", "0x" */
    if (NULL == text || 0 == strspn(text, "0123456789.")
        || strlen(text) != strspn(text, "0123456789.eE+-KMGkmg")) {
        return false;
    }
    errno = 0;
    read = read_double(text, &end);
    if (end == text || 0 != errno) {
        return false;
    }
    if ((OSC_CACHED_UNIT_BYTES == unit || OSC_CACHED_UNIT_BLOCK == unit) && '\0' != *end) {
        suffix = strchr(suffixes, *end & ~('a' - 'A'));
        if (NULL == suffix) {
            return false;
        }
        read = ldexp(read, 10 * (int) (suffix - suffixes + 1));
        ++end;
    }
    if ('\0' != *end || read < ((OSC_CACHED_UNIT_BLOCK == unit) ? 0 : least) || most < read
        || (OSC_CACHED_UNIT_RATIO != unit && read != (double) (uint64_t) read)
        || (OSC_CACHED_UNIT_BLOCK == unit
            && !osc_cached_block_allowed((uint64_t) read, (uint64_t) least, (uint64_t) most))) {
        return false;
    }
    *value = read;
    return true;
}

void ompi_osc_cached_write_number(double value, ompi_osc_cached_unit_t unit, char *text,
                                  size_t size)
{
    snprintf(text, size, (OSC_CACHED_UNIT_RATIO == unit) ? "%g" : "%.0f", value);
}

void ompi_osc_cached_write_short(double value, ompi_osc_cached_unit_t unit, char *text,
                                 size_t size)
{
    static const char *const suffixes[] = {"", "K", "M", "G"};
    int suffix = 0;
    size_t used;

    if (OSC_CACHED_UNIT_BYTES == unit || OSC_CACHED_UNIT_BLOCK == unit) {
        for (; suffix < 3 && 0 < value && 0 == fmod(value, 1024); ++suffix) {
            value /= 1024;
        }
    }
    ompi_osc_cached_write_number(value, unit, text, size);
    used = strlen(text);
    snprintf(text + used, size - used, "%s", suffixes[suffix]);
}

/* Read a number; a bad one is reported and replaced by the default. */
static double number(const char *name, const char *text, const char *standard,
                     ompi_osc_cached_unit_t unit, double least, double most, bool warns)
{
    char from[32], to[32];
    double value = 0;

    if (ompi_osc_cached_read_number(text, unit, least, most, &value)) {
        return value;
    }
    if (warns) {
        ompi_osc_cached_write_short(least, unit, from, sizeof(from));
        ompi_osc_cached_write_short(most, unit, to, sizeof(to));
        opal_show_help("help-mpi-osc-cached.txt", "bad-number", true, opal_process_info.nodename,
                       name, (NULL == text) ? "" : text,
                       (OSC_CACHED_UNIT_RATIO == unit)   ? "a number"
                       : (OSC_CACHED_UNIT_BYTES == unit) ? "a number of bytes (K, M, G)"
                       : (OSC_CACHED_UNIT_BLOCK == unit) ? "0, or a power of two"
                       : (OSC_CACHED_UNIT_CPU == unit)   ? "auto, process, or a whole number"
                                                         : "a whole number",
                       from, to, standard);
    }
    (void) ompi_osc_cached_read_number(standard, unit, least, most, &value);
    return value;
}

/* What the user wrote for a variable, or NULL: nothing. */
static const char *written(int index)
{
    const char *names[2], *text = NULL;
    const mca_base_var_t *var;

    if (0 > index || OPAL_SUCCESS != mca_base_var_get(index, &var)) {
        return NULL;
    }
    if (NULL != var->mbv_file_value) {
        return ((const mca_base_var_file_value_t *) var->mbv_file_value)->mbvfv_value;
    }
    names[0] = var->mbv_long_name;
    names[1] = var->mbv_full_name;
    for (int i = 0; i < 2 && NULL == text; ++i) {
        char *variable = NULL;

        if (NULL != names[i] && OPAL_SUCCESS == mca_base_var_env_name(names[i], &variable)) {
            text = getenv(variable);
            free(variable);
        }
    }
    return text;
}

/* A number is one to Open MPI and to MPI_T, too. Open MPI takes "12x" for 12 and "x" for 0: read
 * what the user wrote, and replace what it took that for. */
static void set_unsigned(unsigned long *storage, double value)
{
    *storage = (unsigned long) value;
}

static void set_double(double *storage, double value)
{
    *storage = value;
}

static void set_int(int *storage, double value)
{
    *storage = (int) value;
}

static char *cpu; /* osc_cached_helper_cpu, which may be a word */

int ompi_osc_cached_params_register(const mca_base_component_t *component, bool warns)
{
    mca_base_var_enum_t *mode_enum = NULL, *scheme_enum = NULL, *passive_enum = NULL,
                        *helper_enum = NULL, *transfers_enum = NULL, *sync_enum = NULL,
                        *per_enum = NULL, *route_enum = NULL, *stores_enum = NULL,
                        *stats_enum = NULL, *advise_enum = NULL, *cooperate_enum = NULL;
    const char *refused = NULL, *misspelt, *text;
    int ret;

    if (OPAL_SUCCESS
            != mca_base_var_enum_create("osc_cached_mode", ompi_osc_cached_modes, &mode_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_scheme", ompi_osc_cached_schemes,
                                           &scheme_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_passive_scope", passive_scopes,
                                           &passive_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_helper", helper_wishes, &helper_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_helper_transfers", transfers,
                                           &transfers_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_storage_sync", storage_syncs, &sync_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_storage_route", storage_routes, &route_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_helper_per", helper_places, &per_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_stores", ompi_osc_cached_stores,
                                           &stores_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_cooperate", ompi_osc_cached_cooperations,
                                           &cooperate_enum)
        || OPAL_SUCCESS != mca_base_var_enum_create("osc_cached_stats", stats_kinds, &stats_enum)
        || OPAL_SUCCESS
               != mca_base_var_enum_create("osc_cached_advise", advise_kinds, &advise_enum)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }

#define TYPE_STRING MCA_BASE_VAR_TYPE_STRING
#define TYPE_BOOL MCA_BASE_VAR_TYPE_BOOL
#define TYPE_MODE MCA_BASE_VAR_TYPE_INT
#define TYPE_SCHEME MCA_BASE_VAR_TYPE_INT
#define TYPE_PASSIVE MCA_BASE_VAR_TYPE_INT
#define TYPE_HELPER MCA_BASE_VAR_TYPE_INT
#define TYPE_TRANSFERS MCA_BASE_VAR_TYPE_INT
#define TYPE_SYNC MCA_BASE_VAR_TYPE_INT
#define TYPE_PER MCA_BASE_VAR_TYPE_INT
#define TYPE_STATS MCA_BASE_VAR_TYPE_INT
#define TYPE_ADVISE MCA_BASE_VAR_TYPE_INT
#define TYPE_FILE_ROUTE MCA_BASE_VAR_TYPE_INT
#define TYPE_STORES MCA_BASE_VAR_TYPE_INT
#define TYPE_COOPERATE MCA_BASE_VAR_TYPE_INT
#define ENUM_STRING NULL
#define ENUM_BOOL NULL
#define ENUM_MODE mode_enum
#define ENUM_SCHEME scheme_enum
#define ENUM_PASSIVE passive_enum
#define ENUM_HELPER helper_enum
#define ENUM_TRANSFERS transfers_enum
#define ENUM_SYNC sync_enum
#define ENUM_PER per_enum
#define ENUM_STATS stats_enum
#define ENUM_ADVISE advise_enum
#define ENUM_FILE_ROUTE route_enum
#define ENUM_STORES stores_enum
#define ENUM_COOPERATE cooperate_enum
#define OSC_CACHED_PARAM(name, kind, def, level, scope, help)                                     \
    ompi_osc_cached_params.name = def;                                                            \
    ret = mca_base_component_var_register(component, #name, help, TYPE_##kind, ENUM_##kind, 0, 0, \
                                          OPAL_INFO_LVL_##level, MCA_BASE_VAR_SCOPE_##scope,      \
                                          &ompi_osc_cached_params.name);                          \
    if (0 > ret) {                                                                                \
        refused = #name;                                                                          \
    }
    cpu = "auto";
#define TYPE_COUNT MCA_BASE_VAR_TYPE_UNSIGNED_LONG
#define TYPE_BYTES MCA_BASE_VAR_TYPE_UNSIGNED_LONG
#define TYPE_BLOCK MCA_BASE_VAR_TYPE_UNSIGNED_LONG
#define TYPE_RATIO MCA_BASE_VAR_TYPE_DOUBLE
#define TYPE_CPU MCA_BASE_VAR_TYPE_STRING
#define SET_COUNT set_unsigned
#define SET_BYTES set_unsigned
#define SET_BLOCK set_unsigned
#define SET_RATIO set_double
#define SET_CPU set_int
#define STORAGE_COUNT(name) &ompi_osc_cached_numbers.name
#define STORAGE_BYTES(name) &ompi_osc_cached_numbers.name
#define STORAGE_BLOCK(name) &ompi_osc_cached_numbers.name
#define STORAGE_RATIO(name) &ompi_osc_cached_numbers.name
#define STORAGE_CPU(name) &cpu
#define OSC_CACHED_NUMBER(name, unit, def, least, most, level, scope, help)                   \
    ret = mca_base_component_var_register(component, #name, help, TYPE_##unit, NULL, 0, 0,    \
                                          OPAL_INFO_LVL_##level, MCA_BASE_VAR_SCOPE_##scope,  \
                                          STORAGE_##unit(name));                              \
    text = written(ret);                                                                      \
    SET_##unit(&ompi_osc_cached_numbers.name, number(#name, (NULL == text) ? def : text, def, \
                                                     OSC_CACHED_UNIT_##unit, least, most, warns));
#include "osc_cached_params.def"

    OBJ_RELEASE(mode_enum);
    OBJ_RELEASE(scheme_enum);
    OBJ_RELEASE(passive_enum);
    OBJ_RELEASE(helper_enum);
    OBJ_RELEASE(transfers_enum);
    OBJ_RELEASE(sync_enum);
    OBJ_RELEASE(per_enum);
    OBJ_RELEASE(stats_enum);
    OBJ_RELEASE(advise_enum);
    OBJ_RELEASE(route_enum);
    OBJ_RELEASE(stores_enum);
    OBJ_RELEASE(cooperate_enum);

    if (NULL != refused) {
        /* Open MPI has named the value and the allowed ones; say what follows from it */
        ompi_osc_cached_params.mode = OSC_CACHED_MODE_OFF;
        opal_show_help("help-mpi-osc-cached.txt", "bad-value", true, opal_process_info.nodename,
                       refused);
    }
    misspelt = warns ? ompi_osc_cached_misspelt("osc_cached_") : "";
    if ('\0' != misspelt[0]) {
        opal_show_help("help-mpi-osc-cached.txt", "misspelt", false, misspelt);
    }
    return OMPI_SUCCESS;
}
