/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc/netem: an emulated network for benchmarks and tests; never part of an installation.
 *
 * It wraps osc/ucx as osc/cached wraps its inner component: the inner module stays where it is, and
 * the entries of its function table are replaced while the window lives.  An operation goes to
 * osc/ucx at once, and the model (netem_model.h) says when it would be complete.  Only a
 * synchronisation waits for that time: it passes while the program computes.  What osc/ucx itself
 * takes for an operation, a flush or a lock is part of the time, not added to it.
 *
 *     an operation          o in the call
 *     flush, unlock, ...    until the operations that it completes are complete
 *     request operations    the request is complete when the operation is
 *     lock, lock_all        one round trip, unless MPI_MODE_NOCHECK
 *     fence                 the operations, and a barrier (osc/ucx has one in every fence, also
 *                           with MPI_MODE_NOPRECEDE)
 *     start, wait, test     L + o after osc/ucx has the message
 *     to the process itself nothing
 *
 * The barrier of a fence, and what start, wait and test add, begin when osc/ucx's own call is over:
 * only then have the other processes come as far.
 *
 * Faults, for tests: see the parameters in netem_component.c.
 */

#ifndef NETEM_H
#define NETEM_H

#include "ompi_config.h"

#include <time.h>

#include "opal/class/opal_list.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/request/request.h"
#include "ompi/win/win.h"

#include "netem_model.h"

BEGIN_C_DECLS

/** The parameters as they are in force. */
typedef struct {
    netem_network_t network;
    uint64_t delay;      /**< ns, at the most, that an operation is complete later */
    uint64_t reorder;    /**< or 0 */
    uint64_t fail_get;   /**< which one */
    uint64_t fail_flush; /**< which one */
    uint64_t seed;
    uint64_t stats;  /**< or 0 */
    char label[160]; /**< for the user */
} netem_settings_t;

/** What the process has done so far. */
typedef struct {
    unsigned long operations; /**< over the network */
    unsigned long bytes;      /**< of these */
    unsigned long waited_ns;  /**< in synchronisations, for the emulated network */
} netem_counts_t;

struct netem_window_t;

/** A get whose data the program does not have yet; see netem_hold.c. */
typedef struct {
    opal_list_item_t super;
    struct netem_window_t *window; /**< whose list it is in; NULL: in none */
    int target;
    uint64_t sequence;
    void *origin_addr;
    int origin_count;
    ompi_datatype_t *origin_dt;
    char *memory;
    char *data;     /**< in it, laid out as at the origin */
    bool requested; /**< belongs to a request */
} netem_held_t;

OBJ_CLASS_DECLARATION(netem_held_t);

typedef struct {
    netem_times_t times; /**< when all is complete */
    int held;            /**< gets in the window's list */
} netem_peer_t;

/** One window; lives from osc_select to osc_free. */
typedef struct netem_window_t {
    ompi_win_t *win;
    ompi_osc_base_module_t inner; /**< its functions as osc/ucx left them */
    int rank;
    int size; /**< processes */
    netem_peer_t *peers;
    netem_times_t times; /**< of all peers */
    uint64_t sequence;   /**< of the last operation */
    opal_list_t held;
    struct netem_window_t *next;
} netem_window_t;

extern ompi_osc_base_component_t mca_osc_netem_component;
extern netem_settings_t netem_settings;
extern netem_counts_t netem_counts;
/** Of all that follows: windows, the NIC, what is held, the counters. */
extern opal_mutex_t netem_mutex;

/* netem_window.c */

netem_window_t *netem_window_create(ompi_win_t *win);
netem_window_t *netem_window_of(const ompi_win_t *win);
void netem_window_destroy(netem_window_t *window);
/** Hand an operation to the emulated network; caller holds the lock. */
netem_times_t netem_window_operation(netem_window_t *window, int target, uint64_t called,
                                     size_t sent, size_t fetched, bool fetches);

/* netem_ops.c: communication, and the table of functions */

void netem_ops_install(netem_window_t *window);

/* netem_sync.c: synchronisation */

int netem_sync_fence(int mpi_assert, ompi_win_t *win);
int netem_sync_start(ompi_group_t *group, int mpi_assert, ompi_win_t *win);
int netem_sync_complete(ompi_win_t *win);
int netem_sync_wait(ompi_win_t *win);
int netem_sync_test(ompi_win_t *win, int *flag);
int netem_sync_lock(int lock_type, int target, int mpi_assert, ompi_win_t *win);
int netem_sync_unlock(int target, ompi_win_t *win);
int netem_sync_lock_all(int mpi_assert, ompi_win_t *win);
int netem_sync_unlock_all(ompi_win_t *win);
int netem_sync_flush(int target, ompi_win_t *win);
int netem_sync_flush_all(ompi_win_t *win);
int netem_sync_flush_local(int target, ompi_win_t *win);
int netem_sync_flush_local_all(ompi_win_t *win);

/* netem_hold.c: data that comes late */

/** Memory to fetch into instead of the program's; NULL: there is none. */
netem_held_t *netem_hold_begin(void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                               int target);
/** Its get was refused. */
void netem_hold_drop(netem_held_t *held);
/** Its get was issued, as the last operation of the window; caller holds the lock. */
void netem_hold_add(netem_window_t *window, netem_held_t *held);
/** The gets of a target (-1: of all) up to a sequence number are complete. */
void netem_hold_deliver(netem_window_t *window, int target, uint64_t sequence);
/** The same for one that belongs to a request. */
void netem_hold_finish(netem_held_t *held);
/** The window is freed; caller holds the lock. */
void netem_hold_forget(netem_window_t *window);

/* netem_request.c */

/** Put a request of ours in the place of the inner one, complete not before a time. */
void netem_request_wrap(ompi_request_t **request, uint64_t due, netem_held_t *held);
void netem_request_finalize(void);

/* time, chance and faults */

static inline uint64_t netem_now(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/** A random number; caller holds the lock. */
uint64_t netem_random(void);
/** Count a call; true: it is the one that fails. */
bool netem_fails(uint64_t *calls, uint64_t which);
/** Let time pass, and others make progress. */
void netem_wait_until(uint64_t due);

static inline void netem_lock(void)
{
    OPAL_THREAD_LOCK(&netem_mutex);
}

static inline void netem_unlock(void)
{
    OPAL_THREAD_UNLOCK(&netem_mutex);
}

END_C_DECLS

#endif /* NETEM_H */
