/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The components under us.
 */

#ifndef OSC_CACHED_INNER_H
#define OSC_CACHED_INNER_H

#include "ompi_config.h"

#include "opal/util/info.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"

#include "osc_cached_compat.h"

BEGIN_C_DECLS

/** Of the Open MPI that has loaded us; when we step aside, not the one we were built for. */
extern int ompi_osc_cached_running_major;

/** What osc_query and osc_select are told of a window. */
typedef struct {
    ompi_win_t *win;
    void **base;
    size_t size;
    ompi_osc_cached_disp_unit_t disp_unit;
    ompi_communicator_t *comm;
    opal_info_t *info;
    int flavor;
    int refusal; /**< an error that Open MPI hands to the program when nothing serves the window */
} ompi_osc_cached_request_t;

/** Find and initialise the components named by osc_cached_inner. */
int ompi_osc_cached_inner_init(bool enable_progress_threads, bool enable_mpi_threads);
void ompi_osc_cached_inner_finalize(void);

/** Give Open MPI the components that it would have without us, for a component that is not going to
 * be there; instead of the two above. */
void ompi_osc_cached_inner_step_aside(bool enable_progress_threads, bool enable_mpi_threads);

/**
 * The component that serves a window, or NULL: Open MPI has none for it, with or without us.
 *
 * @param[out] wraps  it is one of osc_cached_inner; if not, it is what serves the window without us
 */
ompi_osc_base_component_t *ompi_osc_cached_inner_find(ompi_osc_cached_request_t *request,
                                                      bool *wraps);
/** What the last call for this window has found. Other components are not asked again, some of
 * which say each time why they refuse; unless another thread has made a window meanwhile. */
ompi_osc_base_component_t *ompi_osc_cached_inner_found(ompi_osc_cached_request_t *request,
                                                       bool *wraps);
/** Tell the user, once, why none of osc_cached_inner serves a window, and what does (NULL:
 * nothing). */
void ompi_osc_cached_inner_explain(const ompi_osc_cached_request_t *request,
                                   const ompi_osc_base_component_t *served_by);

END_C_DECLS

#endif /* OSC_CACHED_INNER_H */
