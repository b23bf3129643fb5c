/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "ompi_config.h"

#include <stdio.h>

#include "opal/mca/base/mca_base_pvar.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "ompi/constants.h"

#include "osc_cached_helper.h"
#include "osc_cached_helper_process.h"

enum {
#define OSC_CACHED_HELPER_STAT(name, value, help) STAT_##name,
#define OSC_CACHED_HELPER_LEVEL(name, value, help) STAT_##name,
#include "osc_cached_helper_stats.def"
    STATS
};

static int read_counter(const mca_base_pvar_t *pvar, void *value, void *object)
{
    unsigned long counts[STATS];

    ompi_osc_cached_helper_counts(counts);
    *(unsigned long *) value = counts[(intptr_t) pvar->ctx];
    return OMPI_SUCCESS;
}

int ompi_osc_cached_helper_register(const mca_base_component_t *component)
{
    int ret;

#define REGISTER(name, help, class)                                                            \
    ret = mca_base_component_pvar_register(                                                    \
        component, #name, help, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_##class,                  \
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,                    \
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL, NULL, \
        (void *) (intptr_t) STAT_##name);                                                      \
    if (0 > ret) {                                                                             \
        return ret;                                                                            \
    }
#define OSC_CACHED_HELPER_STAT(name, value, help) REGISTER(name, help, COUNTER)
#define OSC_CACHED_HELPER_LEVEL(name, value, help) REGISTER(name, help, SIZE)
#include "osc_cached_helper_stats.def"
    return OMPI_SUCCESS;
}

void ompi_osc_cached_helper_print(void)
{
    static const char *const names[] = {
#define OSC_CACHED_HELPER_STAT(name, value, help) #name,
#define OSC_CACHED_HELPER_LEVEL(name, value, help) #name,
#include "osc_cached_helper_stats.def"
    };
    unsigned long counts[STATS];
    char text[2048], where[256];
    int used, column = 0;

    ompi_osc_cached_helper_counts(counts);
    ompi_osc_cached_helper_runs_on(where, sizeof(where));
    used = snprintf(text, sizeof(text), "osc/cached: helper of rank %d%s%s",
                    (int) opal_proc_local_get()->proc_name.vpid,
                    !ompi_osc_cached_helper_serves() ? " is that of its node"
                    : ('\0' == *where)               ? ""
                                                     : " on processor ",
                    where);
    for (int i = 0; i < STATS && used < (int) sizeof(text); ++i) {
        if (0 < counts[i]) {
            used += snprintf(text + used, sizeof(text) - used, "%s%-26s %14lu",
                             (0 == column++ % 2) ? "\n  " : "   ", names[i], counts[i]);
        }
    }
    opal_output(0, "%s", text);
}
