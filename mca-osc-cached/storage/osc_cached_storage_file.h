/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of a window: opened, locked, allocated, mapped.  Knows nothing of Open MPI.
 */

#ifndef OSC_CACHED_STORAGE_FILE_H
#define OSC_CACHED_STORAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/osc_cached_file.h"

typedef struct {
    osc_cached_file_wish_t wish;
    osc_cached_file_plan_t plan;
    int descriptor;    /**< -1: nothing of the window is in a file */
    bool created;      /**< by this process */
    bool on_network;   /**< other nodes may have the same file */
    bool in_memory;    /**< its file system is: its pages are as good as any other memory */
    uint64_t identity; /**< of the file on all nodes, if it is on a network */
    uint64_t length;   /**< before it was allocated, */
    uint64_t room;     /**< and bytes free where it is */
    char *base;        /**< memory and file, one after the other; NULL: not mapped */
    size_t mapped;     /**< bytes */
} ompi_osc_cached_file_t;

/** Why a file cannot be used. */
typedef enum {
    OSC_CACHED_FILE_GOOD,
    OSC_CACHED_FILE_UNUSABLE, /**< errno tells */
    OSC_CACHED_FILE_FULL,     /**< no room for it */
    OSC_CACHED_FILE_MEMORY,   /**< no memory, or no addresses */
    OSC_CACHED_FILE_BUSY,     /**< another window has these bytes */
    OSC_CACHED_FILE_KIND,     /**< a directory, a device ... */
} ompi_osc_cached_file_state_t;

/**
 * Let the kernel write all pages of the file that are in memory again, although they are clean for
 * it: of pages that it could not write it tells once, and forgets them.  Bytes are not changed, and
 * others may write to them meanwhile.
 *
 * @return false: it cannot be done (before Linux 5.14), or the file system allows no changes any
 * more
 */
bool ompi_osc_cached_file_redirty(const ompi_osc_cached_file_t *file);

/** What the kernel is to be told of a mapping of the file, for madvise. */
int ompi_osc_cached_file_advice(const ompi_osc_cached_file_t *file);

/** Bytes of a page. */
uint64_t ompi_osc_cached_file_page(void);

/**
 * Open, or create, the file of the wish, and map what the plan says.
 *
 * The file is allocated before it is mapped: a store to a page for which there is no room would end
 * the process by a signal.
 *
 * @param file  its wish and plan are set; to be closed in any case
 * @param[out] error  errno, or 0
 */
ompi_osc_cached_file_state_t ompi_osc_cached_file_open(ompi_osc_cached_file_t *file, int *error);

/** The bytes of the mapped file. */
static inline char *ompi_osc_cached_file_bytes(const ompi_osc_cached_file_t *file)
{
    return file->base + file->plan.file_start;
}

/** Remove it if the wish says so; it stays mapped.  Who wants its bytes waits from now on, until
 * they are unlocked. */
void ompi_osc_cached_file_leave(ompi_osc_cached_file_t *file);

/** Let others have its bytes. */
void ompi_osc_cached_file_unlock(ompi_osc_cached_file_t *file);

/** Whether it has a name by which others could find its bytes. */
bool ompi_osc_cached_file_has_name(const ompi_osc_cached_file_t *file);

/** Leave, unmap and close it. */
void ompi_osc_cached_file_close(ompi_osc_cached_file_t *file);

/** Remove a file that was created for a window that is not, or cut it as it was; not when another
 * window has it. */
void ompi_osc_cached_file_undo(ompi_osc_cached_file_t *file);

#endif /* OSC_CACHED_STORAGE_FILE_H */
