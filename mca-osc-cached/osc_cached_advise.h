/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_advise: a run without a cache that tells what one would do.
 */

#ifndef OSC_CACHED_ADVISE_GLUE_H
#define OSC_CACHED_ADVISE_GLUE_H

#include "core/osc_cached_advice.h"
#include "osc_cached_window.h"

BEGIN_C_DECLS

typedef struct ompi_osc_cached_advised_t ompi_osc_cached_advised_t;

/** Functions that watch gets, own writes and synchronisations; NULL where there is nothing to
 * watch. They stand in the table of a window that is watched, over what would stand there. */
extern const ompi_osc_base_module_t ompi_osc_cached_advise_functions;

/** Watch a new window, if that is asked for and it could be cached. */
void ompi_osc_cached_advise_begin(ompi_osc_cached_window_t *window);
/** What stands under these functions. */
ompi_osc_base_module_t *ompi_osc_cached_advise_below(ompi_osc_cached_window_t *window);
/** Gets rest from now on, or do not any more, or what stands under these functions is another. In a
 * rest gets are not for us; with several threads, or while somebody counts, they always are. */
void ompi_osc_cached_advise_changed(ompi_osc_cached_window_t *window);
/** What was seen; 0 everywhere in a window that is not watched. */
void ompi_osc_cached_advise_sums(ompi_osc_cached_window_t *window,
                                 double sums[OSC_CACHED_ADVICE_SIDES][OSC_CACHED_ADVISE_SUMS]);
void ompi_osc_cached_advise_end(ompi_osc_cached_window_t *window);

END_C_DECLS

#endif /* OSC_CACHED_ADVISE_GLUE_H */
