/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a window that has one helper per node: each process allocates its part so that the
 * others of its node can map it, too.  The first process of a node has the helper that serves all
 * parts; puts and gets inside of a node are copies.
 *
 *     rank            0        1        2     |     3        4
 *     memory       [ part ] [ part ] [ part ] |  [ part ] [ part ]     memfd of each process
 *     mapped by           0, 1, 2             |        3, 4
 *     served by         helper of 0           |     helper of 3
 *
 * The inner component gets the memory as it gets that of MPI_Win_create.
 */

#ifndef OSC_CACHED_HELPER_NODE_H
#define OSC_CACHED_HELPER_NODE_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stddef.h>

#include "ompi/communicator/communicator.h"
#include "ompi/proc/proc.h"

BEGIN_C_DECLS

/** The memory of a process. */
typedef struct {
    int rank;
    void *base; /**< NULL: it has none */
    size_t size;
} ompi_osc_cached_part_t;

typedef struct ompi_osc_cached_node_t {
    ompi_osc_cached_part_t mine;
    int *helpers;                 /**< by rank: the rank whose process has the helper of its node */
    ompi_osc_cached_part_t *part; /**< of all processes of our node */
    int parts;
} ompi_osc_cached_node_t;

/** The rank whose process has the helper that serves a rank.  @param node  NULL: each its own */
static inline int ompi_osc_cached_node_helper(const ompi_osc_cached_node_t *node, int rank)
{
    return (NULL == node) ? rank : node->helpers[rank];
}

/**
 * Allocate our part.  Collective.
 *
 * @param[out] why  what failed here, in words; NULL: nothing, or not here
 * @return NULL on all processes when it could not be done on one of them
 */
ompi_osc_cached_node_t *ompi_osc_cached_node_create(ompi_communicator_t *comm, size_t size,
                                                    const char **why);

/** Nobody uses it any more. */
void ompi_osc_cached_node_destroy(ompi_osc_cached_node_t *node);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_NODE_H */
