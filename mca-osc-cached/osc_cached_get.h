/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The slots get and rget.
 */

#ifndef OSC_CACHED_GET_H
#define OSC_CACHED_GET_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

int ompi_osc_cached_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                        struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                        ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                        ompi_win_t *win);
/** The same in a coherent window: its hits are looked for first. */
int ompi_osc_cached_coherent_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                                 struct ompi_datatype_t *origin_dt, int target,
                                 ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
                                 struct ompi_datatype_t *target_dt, ompi_win_t *win);
/** The same in a window that shares the cache of its node. */
int ompi_osc_cached_sharing_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                                struct ompi_datatype_t *origin_dt, int target,
                                ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
                                struct ompi_datatype_t *target_dt, ompi_win_t *win);
int ompi_osc_cached_sharing_coherent_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                                         struct ompi_datatype_t *origin_dt, int target,
                                         ptrdiff_t target_disp,
                                         ompi_osc_cached_count_t target_count,
                                         struct ompi_datatype_t *target_dt, ompi_win_t *win);
int ompi_osc_cached_rget(void *origin_addr, ompi_osc_cached_count_t origin_count,
                         struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                         ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                         ompi_win_t *win, struct ompi_request_t **request);

END_C_DECLS

#endif /* OSC_CACHED_GET_H */
