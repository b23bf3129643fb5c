/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What users are told of their windows at the end (osc_cached_stats, osc_cached_verify).
 */

#ifndef OSC_CACHED_SUMMARY_H
#define OSC_CACHED_SUMMARY_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Whether this process wants to add up what the processes of a window counted. */
bool ompi_osc_cached_summary_wanted(void);
/** A window is created, and all its processes want that. Collective; window is NULL where there was
 * no memory for it. */
void ompi_osc_cached_summary_begin(ompi_osc_cached_window_t *window, ompi_communicator_t *comm);
/** A window is freed. Collective. */
void ompi_osc_cached_summary_freed(ompi_osc_cached_window_t *window);
/** Tell it. */
void ompi_osc_cached_summary_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_SUMMARY_H */
