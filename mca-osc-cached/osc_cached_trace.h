/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_trace: one line per get, per operation of a window with a helper, and per event of a
 * coherent window, in a file per process.
 */

#ifndef OSC_CACHED_TRACE_H
#define OSC_CACHED_TRACE_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** One line of the trace; nothing when there is none. */
void ompi_osc_cached_trace_get(const ompi_osc_cached_window_t *window, int target, uint64_t address,
                               size_t bytes, const char *outcome);
/** One line for an operation of a window with a helper, or for what copies of a coherent one live
 * through, which no reader of gets takes for one.
 *
 * @param number  of the window
 * @param what    the route of an operation; else fill, inv or trap
 * @param which   operation; else what came of it */
void ompi_osc_cached_trace_line(int number, const char *what, const char *which, int target,
                                uint64_t address, uint64_t bytes);
/** @return whether there is a trace */
bool ompi_osc_cached_trace_init(void);
void ompi_osc_cached_trace_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_TRACE_H */
