/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Epochs and flushes of a window with a helper.
 */

#ifndef OSC_CACHED_HELPER_EPOCH_H
#define OSC_CACHED_HELPER_EPOCH_H

#include "osc_cached_helper_window.h"

BEGIN_C_DECLS

/**
 * A put or a get was sent; may flush the target.
 *
 * @param requested  it has a request, by which it may complete before the next flush
 */
int ompi_osc_cached_helper_routed(ompi_osc_cached_helper_t *helper,
                                  ompi_osc_cached_helper_target_t *target, osc_cached_way_t way,
                                  uint64_t blocks, uint64_t bytes, bool requested);

/** The functions for epochs and flushes, in the places of a module. */
extern const ompi_osc_base_module_t ompi_osc_cached_helper_epochs;

END_C_DECLS

#endif /* OSC_CACHED_HELPER_EPOCH_H */
