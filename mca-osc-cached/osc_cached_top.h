/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_top: what the cache does while the job runs, in a file per process.
 */

#ifndef OSC_CACHED_TOP_H
#define OSC_CACHED_TOP_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** A window was created: from now on there is a file, if one is wanted. */
void ompi_osc_cached_top_init(void);
void ompi_osc_cached_top_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_TOP_H */
