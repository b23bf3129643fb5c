/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which windows have a helper, and the start of helpers.
 */

#ifndef OSC_CACHED_HELPER_VOTE_H
#define OSC_CACHED_HELPER_VOTE_H

#include "osc_cached_window.h"
#include "osc_cached_helper_node.h"

BEGIN_C_DECLS

/** What processes say of a new window; the least of all counts. */
enum {
    OSC_CACHED_VOTE_WISH, /**< off, auto, on */
    OSC_CACHED_VOTE_RUNS, /**< it runs and knows the others */
    /** there is no other node, or a network that needs no helper; who is alone on its node knows
     * it */
    OSC_CACHED_VOTE_USELESS,
    OSC_CACHED_VOTE_NUMBER, /**< of the window, given by the first process */
    OSC_CACHED_VOTE_NODE,   /**< one helper per node */
    OSC_CACHED_VOTE_INNER,  /**< ompi_osc_cached_for_inner_t */
};

/** May the inner component have the memory of a window? */
typedef enum {
    OSC_CACHED_NOT_FOR_INNER, /**< operations would go wrong */
    OSC_CACHED_FOR_HELPER,    /**< where there is none: it may be able to */
    OSC_CACHED_FOR_INNER,
} ompi_osc_cached_for_inner_t;

/** A reduction of all processes. */
int ompi_osc_cached_helper_agree(ompi_communicator_t *comm, int *values, int count,
                                 struct ompi_op_t *op);

/**
 * Start the helpers of a window, where the votes are for it and they do not run, and tell each
 * process where the others are.  Collective, unless the votes are against it.
 *
 * @param node         with one helper per node; NULL: one per process
 * @param[out] learnt  this process knows all others
 * @return whether they run: all have the same answer
 */
bool ompi_osc_cached_helper_start_all(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node,
                                      const int64_t votes[OSC_CACHED_VOTES], bool *learnt);

/** The helper of this process has stopped: what was learnt of the others of its node is freed. */
void ompi_osc_cached_helper_forget_neighbours(void);

/** UCX may have been told to use networks that do not reach the others: seen at one of them. */
bool ompi_osc_cached_helper_reaches_others(ompi_communicator_t *comm,
                                           const ompi_osc_cached_node_t *node,
                                           const int64_t votes[OSC_CACHED_VOTES]);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_VOTE_H */
