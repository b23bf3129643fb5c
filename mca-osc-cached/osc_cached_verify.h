/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_verify (rule A16).
 */

#ifndef OSC_CACHED_VERIFY_H
#define OSC_CACHED_VERIFY_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Fetch again what a hit has served; compared at the next synchronisation. */
void ompi_osc_cached_verify_hit(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                osc_cached_key_t key, const osc_cached_buffer_t *buffer,
                                size_t bytes, ptrdiff_t target_disp,
                                ompi_osc_cached_count_t target_count, ompi_datatype_t *target_dt);
/** The gets of a target, or of all (NULL), up to this sequence number are complete; caller holds no
 * lock. */
void ompi_osc_cached_verify_compare(ompi_osc_cached_window_t *window,
                                    const ompi_osc_cached_peer_t *peer, uint64_t sequence);
void ompi_osc_cached_verify_forget(ompi_osc_cached_window_t *window);

END_C_DECLS

#endif /* OSC_CACHED_VERIFY_H */
