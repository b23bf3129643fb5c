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

#include "ompi/group/group.h"

#include "core/osc_cached_server.h"
#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Register one performance variable per counter of the helper of this process. */
int ompi_osc_cached_helper_register(const mca_base_component_t *component);

/**
 * What this process thinks of a helper for a new window.
 *
 * @param inner       name of the component under us
 * @param needed      another room cannot do without, of this process and not of its node
 * @param[out] votes  of which ompi_osc_cached_window_units finds the least
 */
void ompi_osc_cached_helper_vote(const ompi_win_t *win, ompi_communicator_t *comm,
                                 opal_info_t *info, int flavor, const void *base, const char *inner,
                                 bool needed, int64_t votes[OSC_CACHED_VOTES]);

/** A window that is not cached has no helper: tell who asked for one. */
void ompi_osc_cached_helper_refuse(opal_info_t *info, int flavor);

/**
 * Are the helpers to do all operations of a window on a file, because the inner component cannot
 * have its memory?  Starts them.  Collective, unless the votes are against it.
 */
bool ompi_osc_cached_helper_serves_alone(ompi_communicator_t *comm,
                                         int64_t votes[OSC_CACHED_VOTES]);

/** May gets from processes of the node come later than the end of an active epoch or a flush of all
 * targets, from memory that this inner component was given in this way? */
bool ompi_osc_cached_helper_is_late(ompi_communicator_t *comm, const char *inner, int flavor);
/** Are all processes on one node? */
bool ompi_osc_cached_helper_all_are_near(ompi_communicator_t *comm);

/** Whether nobody else may: with the inner component, operations would go wrong. */
bool ompi_osc_cached_helper_must_serve(const int64_t votes[OSC_CACHED_VOTES]);
/** The same, before there are votes, and the other way round.  Collective. */
bool ompi_osc_cached_helper_is_right_with(const ompi_win_t *win, ompi_communicator_t *comm,
                                          const char *inner);

/**
 * Allocate the memory of a window that has one helper per node.  Collective, unless the votes are
 * against it.
 *
 * @param on_file    it has memory, which is a file
 * @param[out] base  of it
 * @return NULL: it is the inner component's, on all processes
 */
struct ompi_osc_cached_node_t *ompi_osc_cached_helper_allocate(ompi_communicator_t *comm,
                                                               size_t size,
                                                               int64_t votes[OSC_CACHED_VOTES],
                                                               bool on_file, void **base);
/** The window is free.  @param memory  NULL: there is none */
void ompi_osc_cached_helper_release(struct ompi_osc_cached_node_t *memory);

/** Whether no other process of a window is on this node. */
bool ompi_osc_cached_helper_is_apart(ompi_communicator_t *comm);

/** Whether a new window has a helper, if it can. @param votes  the least of all */
bool ompi_osc_cached_helper_is_agreed(const int64_t votes[OSC_CACHED_VOTES]);

/**
 * Give a new window a helper, if that is wanted and possible on all its processes.  Collective,
 * unless the votes are against it.  To be called before ompi_osc_cached_forward_install.
 *
 * @param window  NULL: there is no memory for it
 * @param memory  from ompi_osc_cached_helper_allocate
 * @param base    the memory of the window
 * @param votes   the least of all
 * @param alone   from ompi_osc_cached_helper_serves_alone
 * @return whether the window has one; all processes have the same answer
 */
bool ompi_osc_cached_helper_attach(ompi_osc_cached_window_t *window,
                                   struct ompi_osc_cached_node_t *memory, void *base, size_t size,
                                   ompi_communicator_t *comm, const int64_t votes[OSC_CACHED_VOTES],
                                   bool alone);

/* Notes: messages from helper to helper, for rooms whose windows have one */

/** Name of a process, the same for all. */
static inline uint64_t ompi_osc_cached_helper_name(ompi_group_t *group, int rank)
{
    opal_process_name_t name = ompi_group_get_proc_name(group, rank);

    return (uint64_t) name.jobid << 32 | name.vpid;
}

/** Whether UCX has enough file descriptors for notes between all processes of a new window, which
 * has a helper in each one.  Not collective: others may have another answer. */
bool ompi_osc_cached_helper_can_note(ompi_communicator_t *comm);
/** The name of our memory of a window with a helper, in notes to us. */
osc_cached_window_id_t ompi_osc_cached_helper_names(const ompi_osc_cached_window_t *window);

/** From now on notes of a window with a helper are told to listen, under the server's lock, until
 * the window is freed. */
void ompi_osc_cached_helper_listen(osc_cached_window_id_t id, osc_cached_listen_fn_t listen,
                                   void *context);
/** And those of windows that nobody listens to. */
void ompi_osc_cached_helper_listen_to_strays(osc_cached_listen_fn_t listen);
/** The server's lock, which is never held while anybody waits. */
void ompi_osc_cached_helper_enter(void);
void ompi_osc_cached_helper_leave(void);
/** Send a note to the helper of another process; the lock is held.  What cannot be sent is sent
 * later: somebody may wait for it.  @param data  note.length bytes of malloc(), or NULL */
void ompi_osc_cached_helper_note(uint64_t name, osc_cached_request_t note, void *data);
/** Notes with data that are on their way out; the lock is held. */
uint32_t ompi_osc_cached_helper_queued(void);

/**
 * Read our own memory of a window with a helper, which may be on a file, without waiting for it.
 *
 * @param ended  LATER: called by another thread, without the lock, when it is there or has failed
 */
osc_cached_stored_t ompi_osc_cached_helper_read(struct ompi_osc_cached_helper_t *helper,
                                                uint64_t at, uint32_t bytes, void *to,
                                                void (*ended)(void *cookie, bool good),
                                                void *cookie);
/** Is all of it in memory? */
bool ompi_osc_cached_helper_has_in_memory(const struct ompi_osc_cached_helper_t *helper,
                                          uint64_t at, uint64_t bytes);

/** May a put or a get with this layout at the target go to its helper?  The window has one. */
bool ompi_osc_cached_helper_may_move(const ompi_osc_cached_window_t *window,
                                     ompi_osc_cached_count_t count,
                                     const struct ompi_datatype_t *type);

/** Was it the inner component from which a flush has its error, which has left operations undone?
 * That of a helper never does, and to a process that has died there is nothing to do.
 * @param rank  of the target; negative: of any */
bool ompi_osc_cached_helper_has_failed(struct ompi_osc_cached_helper_t *helper, int rank);

/** Before a copy from a target's memory, in the place of a get: is there an epoch for it, and the
 * lock that belongs to it?  The window has a helper; where not, the get is its own. */
bool ompi_osc_cached_helper_may_copy(const ompi_osc_cached_window_t *window, int rank);

/** May gets from mapped memory of other processes of the node be copies?  The inner component has
 * the memory of the window, epochs have begun when a get is called, and over shared memory these
 * are copies elsewhere, too.  @param votes  the least of all */
bool ompi_osc_cached_helper_lets_copy(const char *inner, const int64_t votes[OSC_CACHED_VOTES]);

/** Has the node a network that reaches into memory by itself? */
bool ompi_osc_cached_helper_has_rdma(void);

/** Stop the thread of this process, if there is one. */
void ompi_osc_cached_helper_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_H */
