/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The counters of a window as MPI_T performance variables.
 */

#ifndef OSC_CACHED_PVAR_H
#define OSC_CACHED_PVAR_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Register one performance variable per counter. */
int ompi_osc_cached_pvar_register(const mca_base_component_t *component);
/** A window will be gone. */
void ompi_osc_cached_pvar_freed(const ompi_win_t *win);
void ompi_osc_cached_pvar_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_PVAR_H */
