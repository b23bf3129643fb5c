/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Rget on their way that fill entries.
 */

#ifndef OSC_CACHED_RGET_H
#define OSC_CACHED_RGET_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Memory for one, that is free()d or handed to the next; NULL: it cannot be followed. */
struct ompi_osc_cached_rget_t *ompi_osc_cached_rget_prepare(const ompi_osc_cached_window_t *window);
/** Fill the entry of a record when the request of its get completes. */
void ompi_osc_cached_rget_follow(struct ompi_osc_cached_rget_t *rget,
                                 ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                 uint64_t sequence, uint32_t record, ompi_request_t *request);
/** The window is freed: requests that are completed later fill nothing. */
void ompi_osc_cached_rget_forget(ompi_osc_cached_window_t *window);

END_C_DECLS

#endif /* OSC_CACHED_RGET_H */
