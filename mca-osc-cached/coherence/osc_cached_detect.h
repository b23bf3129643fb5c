/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * O2: the owner's plain stores and its directory.  A thread of its own waits for stores to pages
 * that others have copies of:
 *
 *     FILL      pages of the block are protected, then the reader is entered
 *     store     waits; the thread holds the blocks of the page: INV to all who have copies
 *     last ACK  HELD: the page is released, the store continues, the hold ends; the next FILL
 *               protects it again
 *
 * An owner whose stores wait too often takes all copies back and shares nothing for a while.
 *
 * Nobody may store to the window under the lock of the directory: that store would wait for itself.
 */
#ifndef OSC_CACHED_DETECT_H
#define OSC_CACHED_DETECT_H

#include "core/osc_cached_directory.h"
#include "osc_cached_stores.h"

typedef struct {
    void *base; /**< of the window */
    size_t size;
    bool inner;  /**< memory of the inner component */
    bool device; /**< a device may write to it */
    uint8_t block_shift;
    osc_cached_directory_t *directory; /**< with protect */
    const osc_cached_post_t *post;
    /** The lock of the directory. */
    void (*enter)(void *context);
    void (*leave)(void *context);
    void *context;
    uint64_t (*now)(void); /**< nanoseconds */
    /** A store has waited for more than slow nanoseconds (0: not told), somewhere in the bytes
     * [from, to) of the window; once for each, from the thread, without the lock. */
    uint64_t slow;
    void (*tell_slow)(void *context, uint64_t from, uint64_t to);
    /** A store to these bytes, of one page, waits; as tell_slow.  NULL: nobody wants to know. */
    void (*tell_trap)(void *context, uint64_t from, uint64_t to);
} ompi_osc_cached_detect_config_t;

typedef struct ompi_osc_cached_detect ompi_osc_cached_detect_t;

/** Whether stores can be noticed; memory is watched, by a thread, when the first FILL comes.
 *
 * @return NULL: reason says why they cannot */
ompi_osc_cached_detect_t *ompi_osc_cached_detect_open(const ompi_osc_cached_detect_config_t *config,
                                                      ompi_osc_cached_stores_reason_t *reason);

/** Before the memory goes, or becomes part of another window; the directory is closed, nobody has a
 * copy, and the lock is not held.  NULL is allowed. */
void ompi_osc_cached_detect_close(ompi_osc_cached_detect_t *detect);

/* The lock is held: */

/** A FILL, before osc_cached_directory_receive.  @return the flags for it */
unsigned ompi_osc_cached_detect_fill(ompi_osc_cached_detect_t *detect, uint64_t block);

/** HELD for the owner itself, from within the directory.  @return whether a store waits for it */
bool ompi_osc_cached_detect_held(ompi_osc_cached_detect_t *detect, uint32_t name);

/** HELD, for anybody: pages that have bytes of these blocks only are not protected from now on.
 *
 * @param count  OSC_CACHED_ALL_BLOCKS, with first 0: all */
void ompi_osc_cached_detect_open_pages(ompi_osc_cached_detect_t *detect, uint64_t first,
                                       uint64_t count);

/** After osc_cached_directory_receive: stores whose hold is there continue. */
void ompi_osc_cached_detect_settle(ompi_osc_cached_detect_t *detect);

/** Pages whose stores have waited. */
uint64_t ompi_osc_cached_detect_traps(const ompi_osc_cached_detect_t *detect);

#endif /* OSC_CACHED_DETECT_H */
