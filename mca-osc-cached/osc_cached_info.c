/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of the modes, and the info keys of a window:
 *
 *   ompi_osc_cached_mode         off | transparent | always | user; beats the MCA variable
 *   ompi_osc_cached_invalidate   "true": forget what was fetched so far
 *
 * MPI_Win_get_info reports what the callbacks return, so they return what is in force.
 */

#include "ompi_config.h"

#include <string.h>

#include "opal/util/info_subscriber.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
#include "ompi/constants.h"

#include "osc_cached.h"

/* the info interface became const-correct in Open MPI 5.0 */
#if OMPI_MAJOR_VERSION >= 5
#define INFO_CONST const
#else
#define INFO_CONST
#endif

static const mca_base_var_enum_value_t modes[] = {
    {.value = OSC_CACHED_MODE_OFF, .string = "off"},
    {.value = OSC_CACHED_MODE_TRANSPARENT, .string = "transparent"},
    {.value = OSC_CACHED_MODE_ALWAYS, .string = "always"},
    {.value = OSC_CACHED_MODE_USER, .string = "user"},
    {.value = 0, .string = NULL},
};

const char *ompi_osc_cached_mode_name(ompi_osc_cached_mode_t mode)
{
    return modes[mode].string;
}

int ompi_osc_cached_mode_enum(mca_base_var_enum_t **enumerator)
{
    return mca_base_var_enum_create("osc_cached_mode", modes, enumerator);
}

static INFO_CONST char *mode_changed(opal_infosubscriber_t *object, INFO_CONST char *key,
                                     INFO_CONST char *value)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_search((ompi_win_t *) object);
    bool known = false;

    if (NULL == window) {
        return value;
    }
    for (int i = 0; NULL != modes[i].string && NULL != value; ++i) {
        if (0 == strcmp(value, modes[i].string)) {
            window->mode = (ompi_osc_cached_mode_t) modes[i].value;
            known = true;
        }
    }
    if (!known) {
        opal_show_help("help-mpi-osc-cached.txt", "bad-info-mode", true, opal_process_info.nodename,
                       window->win->w_name, key, NULL == value ? "" : value,
                       ompi_osc_cached_mode_name(window->mode));
    }
    return (INFO_CONST char *) ompi_osc_cached_mode_name(window->mode);
}

static INFO_CONST char *invalidate(opal_infosubscriber_t *object, INFO_CONST char *key,
                                   INFO_CONST char *value)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_search((ompi_win_t *) object);

    (void) key;
    if (NULL != window && NULL != value && 0 == strcmp(value, "true")) {
        ompi_osc_cached_count(window, OSC_CACHED_STAT_invalidations);
    }
    return (INFO_CONST char *) "false";
}

int ompi_osc_cached_info_subscribe(ompi_osc_cached_window_t *window)
{
    int ret = opal_infosubscribe_subscribe(
        &window->win->super, (INFO_CONST char *) "ompi_osc_cached_mode",
        (INFO_CONST char *) ompi_osc_cached_mode_name(window->mode), mode_changed);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    return opal_infosubscribe_subscribe(&window->win->super,
                                        (INFO_CONST char *) "ompi_osc_cached_invalidate",
                                        (INFO_CONST char *) "false", invalidate);
}
