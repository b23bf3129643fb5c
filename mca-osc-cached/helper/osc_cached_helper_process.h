/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The helper of this process: one server and its thread, one client, for all windows.
 *
 * Locks.  The server and the thread's worker have one, which is never held while anybody waits.
 * The client and the origin's worker have another one, always: MPI_Session_init may let several
 * threads call MPI from some moment on.  It is given back while a call waits.  Who takes both, to
 * learn or forget addresses, takes that one first.
 */

#ifndef OSC_CACHED_HELPER_PROCESS_H
#define OSC_CACHED_HELPER_PROCESS_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdint.h>

#include "ompi/group/group.h"

#include "core/osc_cached_client.h"
#include "core/osc_cached_server.h"
#include "osc_cached_helper.h"

BEGIN_C_DECLS

struct ompi_osc_cached_reader_t;

/**
 * Start it, if it does not run yet.
 *
 * @param serves  with a thread; else this process only sends requests to the helpers of others
 * @return NULL, or why it cannot run, in words
 */
const char *ompi_osc_cached_helper_start(bool serves);
bool ompi_osc_cached_helper_is_running(void);
/** Does it run, with a thread? */
bool ompi_osc_cached_helper_serves(void);
void ompi_osc_cached_helper_stop(void);

/** Counters of the helper of this process (osc_cached_helper_stats.def), in the order of that file:
 * all 0 where it does not run. */
void ompi_osc_cached_helper_counts(unsigned long *counts);
/** Print those that are not 0 on stderr. */
void ompi_osc_cached_helper_print(void);

/** Place the thread; see ompi_osc_cached_helper_place. */
void ompi_osc_cached_helper_settle(const char *const *processors, unsigned count, unsigned me);
/** The processors that the thread may use, as a list; "": not known, or there is none. */
void ompi_osc_cached_helper_runs_on(char *list, size_t bytes);

/** Where processes are: each must have been told of before it is reached.  Without a thread there
 * is no address, of 0 bytes. */
const void *ompi_osc_cached_helper_address(size_t *bytes);
bool ompi_osc_cached_helper_knows(uint64_t name);
/** While it runs: is this process connected to the helper of that one, or that one to ours? */
bool ompi_osc_cached_helper_asks(uint64_t name);
bool ompi_osc_cached_helper_is_asked_by(uint64_t name);
/** While it serves: is our thread connected to that of this process? */
bool ompi_osc_cached_helper_is_noted(uint64_t name);
/** @return whether there is memory */
bool ompi_osc_cached_helper_learn(uint64_t name, const void *address, size_t bytes);

/** A new number for a window whose first rank we are. */
uint32_t ompi_osc_cached_helper_number(void);

/**
 * Serve a window from now on.
 *
 * @param served  counts what is done on it
 * @param reader  does it, where the window is on a file; else NULL
 */
int ompi_osc_cached_helper_open(osc_cached_window_id_t id, void *base, uint64_t size,
                                _Atomic unsigned long *served,
                                struct ompi_osc_cached_reader_t *reader);
void ompi_osc_cached_helper_close(osc_cached_window_id_t id);
/** What a reader calls. */
void ompi_osc_cached_helper_stored(void *cookie, bool good);

/* As an origin.  These functions wait, and let everything progress meanwhile. */

/** @return NULL: it cannot be reached */
osc_cached_remote_t *ompi_osc_cached_helper_reach(uint64_t name);
/** Keep from now on what it refuses of a window, and no more. */
void ompi_osc_cached_helper_watch(osc_cached_remote_t *remote, osc_cached_window_id_t id,
                                  osc_cached_refusals_t *refusals);
void ompi_osc_cached_helper_unwatch(osc_cached_remote_t *remote, osc_cached_refusals_t *refusals);
/** Send all of an operation.  @return an Open MPI error code */
int ompi_osc_cached_helper_submit(osc_cached_remote_t *remote, osc_cached_call_t *call);
/** Take the lock of a window. */
int ompi_osc_cached_helper_lock(osc_cached_remote_t *remote, osc_cached_window_id_t id,
                                bool exclusive);
/** Give it back; all operations under it must be complete. */
int ompi_osc_cached_helper_unlock(osc_cached_remote_t *remote, osc_cached_window_id_t id);
/** Wait until a process has done all that we have sent so far.
 * @return why an operation on the window was refused since the last time */
/** Before a call that lets nothing else happen, of a process that has nothing to ask: where memory
 * of targets is scarce, others have it. */
void ompi_osc_cached_helper_give_back(void);
int ompi_osc_cached_helper_flush(osc_cached_remote_t *remote, osc_cached_refusals_t *refusals);
/** Wait until all answers to that are there, or there will be none. */
int ompi_osc_cached_helper_flush_local(osc_cached_remote_t *remote,
                                       const osc_cached_refusals_t *refusals);
/** The request of an R-form begins, and completes: while there is one, all of Open MPI's progress
 * is also ours. */
void ompi_osc_cached_helper_request_begun(void);
void ompi_osc_cached_helper_request_completed(void);
/** A refusal as an Open MPI error code. */
int ompi_osc_cached_helper_error(osc_cached_refused_t why);

/** An operation on our own memory, at once. */
int ompi_osc_cached_helper_local(const osc_cached_request_t *request,
                                 const osc_cached_layout_t *layout, const void *data, void *result);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_PROCESS_H */
