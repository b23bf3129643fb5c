/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes (rule A8).
 */

#ifndef OSC_CACHED_TYPE_H
#define OSC_CACHED_TYPE_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** The core's copy and done functions for buffers with a datatype. */
void ompi_osc_cached_type_copy(const osc_cached_buffer_t *buffer, void *bytes, size_t size,
                               bool to_buffer);
void ompi_osc_cached_type_done(const osc_cached_buffer_t *buffer);
/** A record will have this buffer: keep its datatypes until it is done. */
void ompi_osc_cached_type_keep(const osc_cached_buffer_t *buffer);
/** Whether a number of a layout is one that other processes have for another one. 0 is that of
 * bytes in one run. */
static inline bool ompi_osc_cached_type_is_own(uint32_t layout)
{
    return 0 != layout >> 31;
}

/** A number for this layout of the target's memory that no other one has in this window; 0: none.
 */
uint32_t ompi_osc_cached_type_layout(ompi_osc_cached_window_t *window, ompi_datatype_t *type,
                                     ompi_osc_cached_count_t count);
void ompi_osc_cached_type_forget(ompi_osc_cached_window_t *window);

END_C_DECLS

#endif /* OSC_CACHED_TYPE_H */
