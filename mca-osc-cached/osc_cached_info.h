/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The info keys of a window.
 */

#ifndef OSC_CACHED_INFO_H
#define OSC_CACHED_INFO_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Let MPI_Win_get_info report a value. */
void ompi_osc_cached_info_store(const ompi_win_t *win, const char *key, const char *value);
/** Let MPI_Win_get_info report the mode and the sizes in force. */
void ompi_osc_cached_info_tell(ompi_osc_cached_window_t *window);
/** What the keys of a new window say of the memory of its cache, if they are right: a cache of the
 * node is made before they are taken. */
void ompi_osc_cached_info_sizes(opal_info_t *info, osc_cached_config_t *config);
/** Take the window's info keys, now and when MPI_Win_set_info changes them. */
int ompi_osc_cached_info_subscribe(ompi_osc_cached_window_t *window);
/** The window ends: what Open MPI has for its info keys is for the next one. */
void ompi_osc_cached_info_leave(ompi_osc_cached_window_t *window);
void ompi_osc_cached_info_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_INFO_H */
