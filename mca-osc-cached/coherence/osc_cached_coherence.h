/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Coherence, for the rest of osc/cached: copies of a window's memory that are valid until somebody
 * writes, in passive epochs, too.  README.md tells how; rules R1 to R8, O1, O3 and O4 are there.
 *
 *     get of what is not there    _keeps        may it be kept, and under which term of the stamp?
 *     windows that cooperate      _get, and _settle before gets are completed
 *     put, accumulate, atomic     _write, inner call, _written
 *     fence, unlock, ...          _before, inner call, _after
 *     flush                       _mark, inner call, _after
 *
 * Windows that are not coherent never come here.
 */

#ifndef OSC_CACHED_COHERENCE_H
#define OSC_CACHED_COHERENCE_H

#include "osc_cached_window.h"
#include "core/osc_cached_copies.h"

BEGIN_C_DECLS

enum {
    OSC_CACHED_EVERYBODY = -1, /**< all targets */
    OSC_CACHED_NOT_HELD = -1,  /**< a write that needs no hold */
};

typedef enum {
    OSC_CACHED_TELLS_NOTHING,
    OSC_CACHED_TELLS_UNTOLD, /**< MPI_MODE_NOSTORE: what was stored before the last synchronisation,
                                if that told nothing */
    OSC_CACHED_TELLS_STORES
} ompi_osc_cached_tells_t;

/** Something writes to memory past the page tables: a network, a GPU, or another process by a
 * device. */
bool ompi_osc_cached_coherence_has_device(void);

/** What a synchronisation that begins now completes. */
typedef struct {
    uint64_t others;  /**< writes to other processes */
    uint64_t own;     /**< to the memory of this process */
    bool writes;      /**< there are some */
    bool holds;       /**< our own memory is held until it ends, all of it */
    uint32_t changes; /**< or what it has stored to: number of that; 0: nothing */
} ompi_osc_cached_mark_t;

/**
 * What this process thinks of coherence for a new window.
 *
 * @param on_file     its memory is a file
 * @param[out] votes  of which ompi_osc_cached_window_units finds the least
 * @return whether it wants coherence, and with it a helper
 */
bool ompi_osc_cached_coherence_vote(ompi_communicator_t *comm, opal_info_t *info, bool on_file,
                                    int64_t votes[OSC_CACHED_VOTES]);

/**
 * Memory for a window of MPI_Win_allocate whose stores are to be detected, where nobody of the
 * window has another process of it on its node.  The inner component's is for the processes of a
 * node: UCX takes a System V segment, if it may, which the kernel does not protect.  Collective,
 * unless the votes are against it.
 *
 * @param votes  the least of all
 */
ompi_osc_cached_own_memory_t
ompi_osc_cached_coherence_allocate(ompi_communicator_t *comm, size_t size,
                                   const int64_t votes[OSC_CACHED_VOTES]);

/** After the inner component's window has been freed. */
void ompi_osc_cached_coherence_release(const ompi_osc_cached_own_memory_t *memory);

/**
 * Make a new window coherent, if that is wanted and possible on all its processes.  Collective,
 * unless the votes are against it.  After the helper, and before ompi_osc_cached_forward_install.
 * The cache's more_context is the window's osc_cached_copies_t then.
 *
 * @param window  NULL: there is no memory for it
 * @param shared  the memory is in another window, too
 * @param votes   the least of all
 * @param together  who is one sharer with others, the same on all processes
 */
void ompi_osc_cached_coherence_attach(ompi_osc_cached_window_t *window, opal_info_t *info,
                                      const void *base, size_t size, bool shared,
                                      ompi_communicator_t *comm,
                                      const int64_t votes[OSC_CACHED_VOTES],
                                      const ompi_osc_cached_together_t *together);
/** Bytes that processes with one cache need together for that. @return 0: they shall have none */
uint64_t ompi_osc_cached_coherence_together(ompi_communicator_t *comm,
                                            const int64_t votes[OSC_CACHED_VOTES]);

/** Before MPI_Win_free: what was asked is answered, and nobody has copies of our memory. */
void ompi_osc_cached_coherence_drain(struct ompi_osc_cached_coherence_t *coherence);
/** After it. @param coherence  NULL: it was not coherent */
void ompi_osc_cached_coherence_destroy(struct ompi_osc_cached_coherence_t *coherence);

/** Memory becomes part of a window: windows that have it already give out no copies any more (O3);
 * when this returns, there are none. */
void ompi_osc_cached_coherence_exposed(const void *base, size_t size);

/**
 * A get of other processes' memory is about to be issued that is not in the cache.
 *
 * @return whether it may be kept, under a stamp from before this call; the blocks may have been
 *         asked for, so that a later one may
 */
bool ompi_osc_cached_coherence_keeps(ompi_osc_cached_window_t *window, int target, uint64_t address,
                                     size_t bytes);

/** What becomes of a get in a window whose processes cooperate. */
typedef enum {
    OSC_CACHED_POOL_PASS,  /**< fetch it past the pool */
    OSC_CACHED_POOL_HIT,   /**< it is in the buffer */
    OSC_CACHED_POOL_WAITS, /**< it will be before _settle ends, or is fetched there */
} ompi_osc_cached_pool_t;

/**
 * A get of other processes' memory, whose address is a multiple of the displacement unit.
 *
 * @param waits  it need not be there at once
 */
ompi_osc_cached_pool_t ompi_osc_cached_coherence_get(ompi_osc_cached_window_t *window, int target,
                                                     uint64_t address, void *buffer, size_t bytes,
                                                     bool waits);
/** Memory was exposed: those that wait and whose buffers are there are fetched by _settle, as the
 * thread that brings blocks must not store to a window's memory. */
void ompi_osc_cached_coherence_withdraw(ompi_osc_cached_window_t *window);
/** After one that waits: not too many of them. */
void ompi_osc_cached_coherence_limit(ompi_osc_cached_window_t *window);
/** Before whatever completes gets of a target, or of OSC_CACHED_EVERYBODY: what waits is there, or
 * has been issued. */
int ompi_osc_cached_coherence_settle(ompi_osc_cached_window_t *window, int target);

/**
 * A write is about to be issued.
 *
 * @param executed  perhaps by the target's helper: waits until its pages are not protected
 * @return the name of its hold, or OSC_CACHED_NOT_HELD, for ompi_osc_cached_coherence_written
 */
int64_t ompi_osc_cached_coherence_write(ompi_osc_cached_window_t *window, int target,
                                        ptrdiff_t disp, size_t count,
                                        const struct ompi_datatype_t *type, bool executed);
/** It was. @param forgotten  nobody will tell when it is complete */
void ompi_osc_cached_coherence_written(ompi_osc_cached_window_t *window, int target, int64_t name,
                                       bool forgotten);

/** A get, or the result of an atomic operation, is about to be issued into this buffer. */
void ompi_osc_cached_coherence_receive_slowly(ompi_osc_cached_window_t *window, const void *buffer,
                                              size_t count, const struct ompi_datatype_t *type);
static inline void ompi_osc_cached_coherence_receive(ompi_osc_cached_window_t *window,
                                                     const void *buffer, size_t count,
                                                     const struct ompi_datatype_t *type)
{
    if (0 < count && OSC_CACHED_STORES_SYNC == window->stores && NULL != window->coherence) {
        ompi_osc_cached_coherence_receive_slowly(window, buffer, count, type);
    }
}

/** Before a flush. */
ompi_osc_cached_mark_t ompi_osc_cached_coherence_mark(ompi_osc_cached_window_t *window);
/**
 * Before a synchronisation that tells others by itself that it has happened: waits until nobody has
 * copies of what was written (R6), and of what this process has stored (O1).
 *
 * @param target  whose writes it completes, or OSC_CACHED_EVERYBODY, or our own rank: only O1
 * @param tells  whether others then expect to see what this process has stored to its memory
 */
ompi_osc_cached_mark_t ompi_osc_cached_coherence_before(ompi_osc_cached_window_t *window,
                                                        int target, ompi_osc_cached_tells_t tells);
/** What MPI_Win_post and MPI_Win_fence tell. */
static inline ompi_osc_cached_tells_t ompi_osc_cached_tells_of(int mpi_assert)
{
    return (mpi_assert & MPI_MODE_NOSTORE) ? OSC_CACHED_TELLS_UNTOLD : OSC_CACHED_TELLS_STORES;
}

/** The same of a synchronisation that tells nothing, and has happened. */
void ompi_osc_cached_coherence_tell_nothing_slowly(ompi_osc_cached_window_t *window);
static inline void ompi_osc_cached_tell_nothing(ompi_osc_cached_window_t *window)
{
    if (NULL != window->coherence) {
        ompi_osc_cached_coherence_tell_nothing_slowly(window);
    }
}

/** After any of them. @param completes  it has completed the writes of before */
void ompi_osc_cached_coherence_after(ompi_osc_cached_window_t *window, int target, bool completes,
                                     ompi_osc_cached_mark_t *mark);

END_C_DECLS

#endif /* OSC_CACHED_COHERENCE_H */
