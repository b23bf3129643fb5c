/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Noticing the owner's plain stores to pages that others have copies of: rule O2.  A store to a
 * protected page waits until the copies are gone.
 *
 *            arm: before a sharer is entered                 a thread stores: trapped()
 *     OPEN ----------------------------------> PROTECTED ----------------------------> WAITING
 *       ^                                          |                                      |
 *       +--- release: before the helper writes ----+        release: all copies are gone  |
 *       +---------------------------------------------------------------------------------+
 *
 * Pages are numbered from the one that the window begins in.  Those that are only partly in the
 * window hold other data, too, and are never protected.
 *
 * Whoever polls the descriptor must not store to the window while a page is protected: nobody
 * else would let that store continue.  The same holds for what it waits for.  It polls until
 * ompi_osc_cached_stores_close().
 *
 * What is not noticed: a device that writes to the memory (a network adapter, O_DIRECT and io_uring
 * into buffers that were registered before, a GPU); a process that has mapped the same memory, a
 * child after fork() too (memory of the inner component: they write to it only by RMA);
 * munmap, mremap and madvise that discard a page, after which it is not protected any more.
 */
#ifndef OSC_CACHED_STORES_H
#define OSC_CACHED_STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether stores can be noticed. */
typedef enum {
    OSC_CACHED_STORES_NOTICED,
    OSC_CACHED_STORES_NO_KERNEL,  /**< no userfaultfd, or it does not protect */
    OSC_CACHED_STORES_NO_RIGHT,   /**< system calls that write to the window would fail */
    OSC_CACHED_STORES_NO_FILES,   /**< descriptors */
    OSC_CACHED_STORES_NO_PAGE,    /**< no page that is the window's alone */
    OSC_CACHED_STORES_NO_MEMORY,  /**< for what is to be known of each page */
    OSC_CACHED_STORES_NOT_MAPPED, /**< or not known */
    OSC_CACHED_STORES_DEVICE,     /**< the caller knows of one that writes to memory */
    OSC_CACHED_STORES_SHARED,     /**< others may store to it */
    OSC_CACHED_STORES_SYSV,
    OSC_CACHED_STORES_FILE,
    OSC_CACHED_STORES_HUGE,
    OSC_CACHED_STORES_BUSY,   /**< another window watches it, or another library */
    OSC_CACHED_STORES_SMALL,  /**< blocks of the window are smaller than pages */
    OSC_CACHED_STORES_OURS,   /**< it has memory that the watcher needs */
    OSC_CACHED_STORES_DEATHS, /**< the job goes on when somebody dies, for whom stores wait */
    OSC_CACHED_STORES_REASONS
} ompi_osc_cached_stores_reason_t;

typedef struct {
    void *base; /**< of the window */
    size_t size;
    bool inner;     /**< memory of the inner component: others write to it only by RMA */
    bool device;    /**< a device may write to it */
    bool populates; /**< pages before they are protected, even where the kernel needs it no more */
    /** The first store to a protected page, from within ompi_osc_cached_stores_handle(). */
    void (*trapped)(void *context, size_t page);
    void *context;
    uint64_t (*now)(void); /**< nanoseconds */
} ompi_osc_cached_stores_config_t;

typedef struct ompi_osc_cached_watch ompi_osc_cached_watch_t;

/** Whether this process has what it needs of the system: if not, no memory can be watched. */
bool ompi_osc_cached_stores_can_be_noticed(void);

/** @return NULL: reason says why stores cannot be noticed */
ompi_osc_cached_watch_t *ompi_osc_cached_stores_open(const ompi_osc_cached_stores_config_t *config,
                                                     ompi_osc_cached_stores_reason_t *reason);

/** A sentence for people, without a full stop. */
const char *ompi_osc_cached_stores_text(ompi_osc_cached_stores_reason_t reason);

/** All stores continue.  Before the memory is unmapped; NULL is allowed. */
void ompi_osc_cached_stores_close(ompi_osc_cached_watch_t *stores);

/** To poll for POLLIN. */
int ompi_osc_cached_stores_descriptor(const ompi_osc_cached_watch_t *stores);

/** Calls trapped() for what has happened; does not wait. */
void ompi_osc_cached_stores_handle(ompi_osc_cached_watch_t *stores);

/** The pages that have bytes [from, to) of the window. */
void ompi_osc_cached_stores_pages(const ompi_osc_cached_watch_t *stores, uint64_t from, uint64_t to,
                                  size_t *first, size_t *count);

/** The bytes of the window that a page has. */
void ompi_osc_cached_stores_bytes(const ompi_osc_cached_watch_t *stores, size_t page,
                                  uint64_t *from, uint64_t *to);

/**
 * Protects pages, in one system call; those that are protected stay so.
 *
 * @return false: nothing was changed, and nobody may have copies of these pages now: some is waited
 *         for, or is not the window's alone, or is stored to too often
 */
bool ompi_osc_cached_stores_arm(ompi_osc_cached_watch_t *stores, size_t first, size_t count);

/** Stores to these pages continue, and are not noticed until the pages are armed again. */
void ompi_osc_cached_stores_release(ompi_osc_cached_watch_t *stores, size_t first, size_t count);

/**
 * Whether sharing pays for the owner, whose stores wait at most for 2 % of its time.  If not,
 * nothing is armed, and the caller should take back all copies and release all pages.
 */
bool ompi_osc_cached_stores_pays(ompi_osc_cached_watch_t *stores);

#endif /* OSC_CACHED_STORES_H */
