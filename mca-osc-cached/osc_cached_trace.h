/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_trace: one line per get, and per operation of a window with a helper, in a file per
 * process.
 */

#ifndef OSC_CACHED_TRACE_H
#define OSC_CACHED_TRACE_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** One line of the trace; nothing when there is none. */
void ompi_osc_cached_trace_get(const ompi_osc_cached_window_t *window, int target, uint64_t address,
                               size_t bytes, const char *outcome);
/** One line for an operation of a window with a helper, which no reader of gets takes for one. */
void ompi_osc_cached_trace_route(const ompi_osc_cached_window_t *window, const char *route,
                                 const char *operation, int target, uint64_t address,
                                 uint64_t bytes);
/** @return whether there is a trace */
bool ompi_osc_cached_trace_init(void);
void ompi_osc_cached_trace_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_TRACE_H */
