/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Our functions in the place of an inner module's.
 */

#ifndef OSC_CACHED_FORWARD_H
#define OSC_CACHED_FORWARD_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Replace functions of the window's module by ours; keep the old ones in window->inner. */
void ompi_osc_cached_forward_install(ompi_osc_cached_window_t *window);

END_C_DECLS

#endif /* OSC_CACHED_FORWARD_H */
