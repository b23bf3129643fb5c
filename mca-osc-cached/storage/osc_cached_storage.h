/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows on files, for the rest of osc/cached: MPI_Win_allocate with the info key
 * alloc_type=storage gives memory that is a mapped file.
 *
 * It stands under everything: the inner component makes the window as if by MPI_Win_create over the
 * mapped memory, and the two functions of the inner module that the room replaces, osc_sync and
 * osc_free, are its own before the helper and the cache look at them.  Gets that are copies stand
 * between the helper and the cache.
 */

#ifndef OSC_CACHED_STORAGE_WINDOW_H
#define OSC_CACHED_STORAGE_WINDOW_H

#include "ompi_config.h"

#include "opal/util/info.h"
#include "ompi/win/win.h"

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Whether a window is to be on a file. */
bool ompi_osc_cached_storage_is_wanted(opal_info_t *info, int flavor);

/** Do all processes of a window of MPI_Win_allocate want that, or none?  Collective; tells when
 * not.
 */
bool ompi_osc_cached_storage_is_agreed(ompi_communicator_t *comm, bool wanted);

/**
 * Open and map the file of a new window.  Collective; when a process cannot, no process gets a
 * window, and that process has told why.
 *
 * @param[out] base  memory of the window
 */
int ompi_osc_cached_storage_open(ompi_win_t *win, void **base, size_t size,
                                 ompi_communicator_t *comm, opal_info_t *info);

/** Helpers cannot serve the window, and nobody else can: tell the user, before it is freed. */
void ompi_osc_cached_storage_give_up(const ompi_win_t *win);

/**
 * The inner component has made the window, or not (result): then all is undone.
 *
 * @param why_not  a topic of the help texts
 * @param refused  its processes have agreed on no window, and all call this; NULL: they have not
 * @param seen     the kernel of this process sees what others write; by a device they could write
 *                 past it
 */
void ompi_osc_cached_storage_attach(ompi_win_t *win, int result, const char *why_not,
                                    ompi_communicator_t *refused, bool seen);

/** Where the bytes of a window on a file are. */
typedef struct {
    int descriptor;
    char *base;          /**< all are mapped here, */
    uint64_t size;       /**< so many, */
    uint64_t start, end; /**< of which these are in the file, */
    uint64_t offset;     /**< from this byte of it on; the others are memory */
    bool in_memory;      /**< the file system is: its pages are as good as any other memory */
    int advice;          /**< for the kernel, of a mapping */
} ompi_osc_cached_mapped_file_t;

/** Whether the window was asked to be on a file, be it only in part, or not at all. */
bool ompi_osc_cached_storage_has(const ompi_win_t *win);
/** @return false: the window is on no file, or nothing of it is there */
bool ompi_osc_cached_storage_find(const ompi_win_t *win, ompi_osc_cached_mapped_file_t *stored);

/**
 * Map the files of the other processes of the node, for gets that are copies then; where that
 * cannot be done nothing changes.  Collective; after the helper, before
 * ompi_osc_cached_forward_install.
 *
 * @param window  NULL: there is no memory for it
 * @param wanted  by this process
 */
void ompi_osc_cached_storage_attach_near(ompi_osc_cached_window_t *window,
                                         ompi_communicator_t *comm, bool wanted);
/** The window is free.  @param near  NULL: there is none */
void ompi_osc_cached_storage_release_near(struct ompi_osc_cached_near_t *near);

/** Let MPI_Win_get_info report the keys in force. */
void ompi_osc_cached_storage_tell(const ompi_win_t *win);

/** What MPI_Win_sync does for the file; nothing for other windows. */
int ompi_osc_cached_storage_sync(const ompi_win_t *win);

/** The window is about to be freed: count what that is going to write; nothing for other windows.
 */
void ompi_osc_cached_storage_count(const ompi_win_t *win);

END_C_DECLS

#endif /* OSC_CACHED_STORAGE_WINDOW_H */
