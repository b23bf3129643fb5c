/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that blocks are fetched to, of the budget.
 */

#ifndef OSC_CACHED_BOUNCE_H
#define OSC_CACHED_BOUNCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/osc_cached_cache.h"

BEGIN_C_DECLS

struct ompi_osc_cached_bounce_t;

/** A buffer of so many bytes, with others before it; false: there is no memory. */
bool ompi_osc_cached_bounce_make(osc_cached_buffer_t *buffer, size_t before, size_t bytes);
/** Such a buffer is not needed any more, but may still be written to: it stays until the end of the
 * list that is given. */
void ompi_osc_cached_bounce_leave(const osc_cached_buffer_t *buffer,
                                  struct ompi_osc_cached_bounce_t **list);
void ompi_osc_cached_bounce_forget(struct ompi_osc_cached_bounce_t *list);
/** A buffer, such a one or a program's, is not needed any more. */
void ompi_osc_cached_bounce_done(const osc_cached_buffer_t *buffer);

END_C_DECLS

#endif /* OSC_CACHED_BOUNCE_H */
