/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A window with a helper, as its origins see it.
 *
 * Epochs.  Locks are the helper's alone.  The inner component has a passive epoch only for its own
 * operations, puts and gets: it begins, with MPI_MODE_NOCHECK, at the first of them.  Its locks and
 * flushes wait for connections, so for a target that computes; where it has nothing to do, they are
 * not called.
 *
 *     MPI_Win_lock      locked; held, unless MPI_MODE_NOCHECK
 *     MPI_Put, MPI_Get  inner: locked there, too; issued grows
 *     MPI_Win_flush     flushed is what issued was, so that it need not go there again
 *     MPI_Win_unlock    neither locked nor held nor inner
 *
 * and the same with MPI_Win_lock_all: all and inner_all, held of each target that is used.
 */

#ifndef OSC_CACHED_HELPER_WINDOW_H
#define OSC_CACHED_HELPER_WINDOW_H

#include <stdatomic.h>

#include "osc_cached_window.h"
#include "core/osc_cached_presence.h"
#include "core/osc_cached_route.h"
#include "osc_cached_helper_node.h"
#include "osc_cached_helper_process.h"

BEGIN_C_DECLS

/** A process of the window that we have to do with. */
typedef struct ompi_osc_cached_helper_target_t {
    struct ompi_osc_cached_helper_target_t *next; /**< of the window */
    osc_cached_remote_t *remote;
    osc_cached_refusals_t refusals;
    int rank;
    int type;              /**< of the lock */
    bool locked;           /**< by MPI_Win_lock */
    bool held;             /**< we have its lock at the helper */
    bool locking;          /**< a thread waits for it, in an epoch of MPI_Win_lock_all */
    bool inner;            /**< locked in the inner component, too */
    uint64_t issued;       /**< number of the last operation of the inner component */
    uint64_t flushed;      /**< those up to here are complete */
    bool failed;           /**< the last flush of the inner component: they are not */
    _Atomic uint64_t sent; /**< operations that were sent to the helper */
    _Atomic uint64_t done; /**< those up to here are complete */
    bool started;          /**< in the group of MPI_Win_start */
    bool ours;             /**< our own memory, whose helper is ours, too */
    const ompi_osc_cached_part_t *mapped; /**< its memory; NULL: that of another node */
    /** puts and gets of several blocks since the last flush, and before */
    osc_cached_route_t route;
    uint64_t began; /**< nanoseconds: when the first of them was sent; 0: they are not timed */
    /** puts and gets of one block, by the inner component */
    osc_cached_presence_t presence;
    uint64_t issued_at; /**< nanoseconds: the last of them, while that is of interest */
    uint64_t count;     /**< since the last flush */
    uint64_t bytes;     /**< of these */
    uint64_t lock_ns;   /**< nanoseconds that the fastest lock took: a round trip to the helper */
    uint32_t epochs;    /**< of MPI_Win_lock */
    /** the last datatype of several blocks, not threaded; another one in its place, as large and as
     * wide, is taken for it, which makes only the estimate of what it costs wrong */
    struct {
        const ompi_datatype_t *type;
        size_t bytes;
        ptrdiff_t end;
        uint64_t blocks;
    } shape;
} ompi_osc_cached_helper_target_t;

typedef struct ompi_osc_cached_helper_t {
    struct ompi_osc_cached_helper_t *next;
    ompi_win_t *win;
    ompi_osc_cached_window_t *window; /**< of the cache, until MPI_Win_free */
    osc_cached_window_id_t id;
    const ompi_osc_cached_node_t *node; /**< with one helper per node; NULL: one per process */
    /** of a window on a file, for our helper; NULL: it is in memory */
    struct ompi_osc_cached_reader_t *reader;
    /** the inner component does not have the memory: all operations are the helpers' */
    bool alone;
    /** puts and gets look at their target before a way is chosen: it may be mapped, or alone */
    bool looks;
    ompi_osc_cached_part_t mine;
    int rank;
    /** the functions of the inner component */
    ompi_osc_base_module_t inner;
    /** its MPI_Win_start does not wait for MPI_Win_post: in such epochs it does everything */
    bool starts_early;
    /** contiguous puts and gets need no help of the target anywhere */
    bool one_sided;
    _Atomic uint32_t away; /**< targets for which the helper does these, too */

    bool fence;        /**< in a fence epoch */
    int started;       /**< targets in an epoch of MPI_Win_start */
    int locks;         /**< targets locked by MPI_Win_lock */
    bool all;          /**< in an epoch of MPI_Win_lock_all */
    bool all_locks;    /**< in which targets are locked when we first use them */
    bool inner_all;    /**< the inner component is in such an epoch, too; it stays in it when a
                          process has died, which it would wait for */
    uint64_t sequence; /**< operations of the inner component in passive epochs */
    uint64_t flushed;  /**< those up to here are complete */

    osc_cached_map_t targets;                         /**< by rank */
    _Atomic(ompi_osc_cached_helper_target_t *) first; /**< of all; new ones come before it */
    _Atomic(ompi_osc_cached_helper_target_t *) last;  /**< the last one asked for */
    opal_mutex_t lock;                                /**< of targets, when threaded */
    bool threaded;
    int opened;                   /**< memories that our helper serves */
    _Atomic unsigned long served; /**< operations of others on these */
    _Atomic uint32_t quiet; /**< calls that had nothing to wait for, since the last progress */
} ompi_osc_cached_helper_t;

/** Of a window that has one. */
static inline ompi_osc_cached_helper_t *ompi_osc_cached_helper_of(ompi_win_t *win)
{
    return ompi_osc_cached_window_of(win)->helper;
}

/** The name of the memory of a rank, for the helper that serves it. */
static inline osc_cached_window_id_t
ompi_osc_cached_helper_id(const ompi_osc_cached_helper_t *helper, int rank)
{
    osc_cached_window_id_t id = helper->id;

    id.part = (NULL == helper->node) ? 0 : (uint32_t) rank + 1;
    return id;
}

/** A call had nothing to wait for. A program may repeat it until another process has done
 * something, for which that one may need our progress. */
static inline void ompi_osc_cached_helper_was_quiet(ompi_osc_cached_helper_t *helper)
{
    enum { QUIET = 128 };
    uint32_t quiet = 1 + atomic_load_explicit(&helper->quiet, memory_order_relaxed);

    atomic_store_explicit(&helper->quiet, (QUIET <= quiet) ? 0 : quiet, memory_order_relaxed);
    if (OPAL_UNLIKELY(QUIET <= quiet)) {
        ompi_osc_cached_progress_only(helper->window);
    }
}

/** The first error of two calls, of which the first counts. */
static inline int ompi_osc_cached_helper_first_error(int one, int other)
{
    return (OMPI_SUCCESS != one) ? one : other;
}

/** The functions for operations, in the places of a module (osc_cached_helper_origin.c). */
extern const ompi_osc_base_module_t ompi_osc_cached_helper_operations;

END_C_DECLS

#endif /* OSC_CACHED_HELPER_WINDOW_H */
