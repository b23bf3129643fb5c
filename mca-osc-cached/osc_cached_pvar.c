/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The counters of a window as MPI_T performance variables osc_cached_<name>, bound to the window.
 */

#include "ompi_config.h"

#include "opal/mca/base/mca_base_pvar.h"
#include "ompi/constants.h"

#include "osc_cached.h"

/* A tool may read a handle after its window was freed: the window pointer is only compared, never
 * followed. */
static int read_counter(const mca_base_pvar_t *pvar, void *value, void *win)
{
    return ompi_osc_cached_window_read(win, (int) (intptr_t) pvar->ctx, value) ? OMPI_SUCCESS
                                                                               : OMPI_ERR_NOT_FOUND;
}

/* Never fails: Open MPI (4.1.4, 5.0.7) crashes when a handle is refused here. A window of another
 * component has no such counters; reading one of it fails. */
static int notify(mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *win, int *count)
{
    (void) pvar;
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        /* a handle counts from its beginning */
        ompi_osc_cached_window_count_all(win);
        *count = 1;
    }
    return OMPI_SUCCESS;
}

int ompi_osc_cached_pvar_register(void)
{
    int ret;

#define REGISTER(name, help, class)                                                             \
    ret = mca_base_component_pvar_register(                                                     \
        &mca_osc_cached_component.osc_version, #name, help, OPAL_INFO_LVL_4,                    \
        MCA_BASE_PVAR_CLASS_##class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG, NULL,                     \
        MCA_BASE_VAR_BIND_MPI_WIN, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, \
        read_counter, NULL, notify, (void *) (intptr_t) OSC_CACHED_STAT_##name);                \
    if (0 > ret) {                                                                              \
        return ret;                                                                             \
    }
#define OSC_CACHED_STAT(name, help) REGISTER(name, help, COUNTER)
#define OSC_CACHED_LEVEL(name, help) REGISTER(name, help, SIZE)
#include "core/osc_cached_stats.def"
    return OMPI_SUCCESS;
}
