/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The synchronisation slots, and what operations leave for them.
 */

#ifndef OSC_CACHED_SYNC_H
#define OSC_CACHED_SYNC_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

int ompi_osc_cached_fence(int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_start(ompi_group_t *group, int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_complete(ompi_win_t *win);
int ompi_osc_cached_lock(int lock_type, int target, int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_unlock(int target, ompi_win_t *win);
int ompi_osc_cached_lock_all(int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_unlock_all(ompi_win_t *win);
int ompi_osc_cached_sync(ompi_win_t *win);
int ompi_osc_cached_flush(int target, ompi_win_t *win);
int ompi_osc_cached_flush_all(ompi_win_t *win);
int ompi_osc_cached_flush_local(int target, ompi_win_t *win);
int ompi_osc_cached_flush_local_all(ompi_win_t *win);

enum { OSC_CACHED_QUIET = 128 }; /**< times that others can wait for progress */

/** Operations of others that wait for this process. */
void ompi_osc_cached_make_progress(ompi_osc_cached_window_t *window);

/** Something was complete without the inner component, which would have made progress for others:
 * whether it is time to. Caller holds the lock. */
static inline bool ompi_osc_cached_was_quiet(ompi_osc_cached_window_t *window)
{
    return OPAL_UNLIKELY(OSC_CACHED_QUIET <= ++window->quiet);
}

/** An own write to a target begins. @return its peer, for ompi_osc_cached_write_end */
ompi_osc_cached_peer_t *ompi_osc_cached_write_begin(ompi_osc_cached_window_t *window, int target);
/** Its inner call has returned. */
void ompi_osc_cached_write_end(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                               int target);

END_C_DECLS

#endif /* OSC_CACHED_SYNC_H */
