/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The helper at the target, for the rest of osc/cached: accumulates, atomics and locks of a window
 * are done by a thread of the target's process.
 *
 * It stands between the cache and the inner component: where a window has it, the functions of the
 * inner module that it replaces are its own before the cache looks at them.  The cache on top sees
 * an inner component whose flushes complete both.
 */

#ifndef OSC_CACHED_HELPER_H
#define OSC_CACHED_HELPER_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Register one performance variable per counter of the helper of this process. */
int ompi_osc_cached_helper_register(const mca_base_component_t *component);

/**
 * What this process thinks of a helper for a new window.
 *
 * @param window      NULL: there is no memory for it
 * @param[out] votes  of which ompi_osc_cached_window_units finds the least
 */
void ompi_osc_cached_helper_vote(const ompi_osc_cached_window_t *window, ompi_communicator_t *comm,
                                 opal_info_t *info, int64_t votes[OSC_CACHED_VOTES]);

/**
 * Give a new window a helper, if that is wanted and possible on all its processes.  Collective,
 * unless the votes are against it.  To be called before ompi_osc_cached_forward_install.
 *
 * @param base   the memory of the window
 * @param votes  the least of all
 */
void ompi_osc_cached_helper_attach(ompi_osc_cached_window_t *window, void *base, size_t size,
                                   ompi_communicator_t *comm,
                                   const int64_t votes[OSC_CACHED_VOTES]);

/** Stop the thread of this process, if there is one. */
void ompi_osc_cached_helper_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_H */
