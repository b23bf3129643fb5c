/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One cache for the processes of a node (core/osc_cached_shared.h): what one of them has fetched is
 * a hit for all.
 *
 *     rank          0          1          2      |      3          4
 *     private   [ pending ][ pending ][ pending ]|  [ pending ][ pending ] core/osc_cached_cache.h
 *                    \         |         /       |        \      /
 *     shared         [      segment      ]       |     [  segment  ]          memfd of ranks 0 and
 * 3
 *
 * A get looks into the segment, and then into the private cache, where it may find another get of
 * this process that is on its way. What a get has brought goes from the private cache into the
 * segment; what the segment does not take stays private. The private cache's stamps have the
 * segment's generations as their third term, so that what one process invalidates is invalid for
 * gets on their way, too.
 *
 * Modes always and user share where the program declares that this is right, and mode coherent by
 * itself: there the generations that INVs count up are in the segment, and owners of memory send
 * them to one process of a node (coherence/). In the others the window has its private cache alone.
 */

#ifndef OSC_CACHED_NODE_H
#define OSC_CACHED_NODE_H

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"

#include "core/osc_cached_shared.h"
#include "osc_cached_type.h"
#include "osc_cached_window.h"

BEGIN_C_DECLS

/** The segment of a window, as this process has it. */
typedef struct ompi_osc_cached_sharing_t {
    osc_cached_shared_t shared;
    void *memory;
    uint64_t size; /**< bytes that are mapped */
    int fd;
    uint64_t reserved; /**< bytes of the segment that this process's budget has paid for */
    bool *writes;      /**< by target: own writes that the segment knows of */
} ompi_osc_cached_sharing_t;

/**
 * Whether this process wants to share a new window's cache.
 *
 * @param coherent  it will be coherent, or nothing is shared unless the program declares it
 */
void ompi_osc_cached_node_vote(opal_info_t *info, bool coherent, bool on_file,
                               int64_t votes[OSC_CACHED_VOTES]);

/**
 * Make memory to share with the others of the node. Collective.
 *
 * @param window  may be NULL
 * @param extra   bytes that all processes of a node need for coherence, on all nodes or on none; 0:
 * no coherence
 * @return first: to be freed; NULL with extra: not everybody has them
 */
ompi_osc_cached_together_t ompi_osc_cached_node_attach(ompi_osc_cached_window_t *window,
                                                       ompi_communicator_t *comm,
                                                       const int64_t votes[OSC_CACHED_VOTES],
                                                       uint64_t extra);

/** Whether the window is coherent is known: share its cache, or not after all. */
void ompi_osc_cached_node_begin(ompi_osc_cached_window_t *window,
                                const int64_t votes[OSC_CACHED_VOTES]);

/** After all have freed the window. @param sharing  may be NULL */
void ompi_osc_cached_node_detach(ompi_osc_cached_sharing_t *sharing);

/** An own write is about to be issued; caller holds the lock. */
void ompi_osc_cached_node_write(ompi_osc_cached_window_t *window, int target);

/** All own writes to a target are complete; caller holds the lock. */
void ompi_osc_cached_node_written(ompi_osc_cached_window_t *window, int target);

/** Whether the window looks into its segment now. */
static inline bool ompi_osc_cached_node_is_used(const ompi_osc_cached_window_t *window)
{
    return OPAL_UNLIKELY(ompi_osc_cached_shares(window));
}

/** Copy bytes from the segment, if they are there. */
static inline bool ompi_osc_cached_node_get(ompi_osc_cached_window_t *window, osc_cached_key_t key,
                                            uint32_t skip, const osc_cached_buffer_t *buffer,
                                            size_t bytes)
{
    return !ompi_osc_cached_type_is_own(key.layout)
           && osc_cached_shared_hit(&window->sharing->shared, key, skip, buffer->address, bytes,
                                    NULL == buffer->type ? NULL : buffer, window->cache.config.copy,
                                    window->sharing->shared.more, true);
}

/** Whether nobody may keep what is fetched from a target; ask after the stamp was taken. */
static inline bool ompi_osc_cached_node_is_written(const ompi_osc_cached_window_t *window,
                                                   int target)
{
    return osc_cached_shared_is_written(&window->sharing->shared, target);
}

END_C_DECLS

#endif /* OSC_CACHED_NODE_H */
