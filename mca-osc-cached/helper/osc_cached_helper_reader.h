/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations of other processes on a window on a file, for the helper, which must not wait for a
 * device:
 *
 *     get of what is in memory    the helper, by preadv2(2) with RWF_NOWAIT
 *     other gets                  a thread of the window, by pread(2)
 *     everything that writes      that thread: the pages are read, then changed in the mapping,
 * where MPI_Win_sync finds it
 *
 * Nothing is loaded from the mapping that was not read before: an error of the device is an error
 * of the operation, not a signal.  Knows nothing of Open MPI.
 */

#ifndef OSC_CACHED_HELPER_READER_H
#define OSC_CACHED_HELPER_READER_H

#include "core/osc_cached_server.h"
#include "storage/osc_cached_storage.h"

typedef struct ompi_osc_cached_reader_t ompi_osc_cached_reader_t;

/** What was read for others. */
typedef struct {
    _Atomic unsigned long reads;
    _Atomic unsigned long bytes;
    _Atomic unsigned long waits; /**< reads of what was not in memory */
} ompi_osc_cached_reader_counts_t;

/**
 * @param file   open and mapped until the reader is destroyed
 * @param ended  called by the thread: for osc_cached_server_stored
 * @return NULL: there is no memory, or no thread
 */
ompi_osc_cached_reader_t *ompi_osc_cached_reader_create(const ompi_osc_cached_mapped_file_t *file,
                                                        void (*ended)(void *cookie, bool good));
/** All that was begun is ended first. */
void ompi_osc_cached_reader_destroy(ompi_osc_cached_reader_t *reader);

/** What osc_cached_server_use_store wants; the context is the reader. */
osc_cached_stored_t ompi_osc_cached_reader_store(void *context, const osc_cached_request_t *request,
                                                 const osc_cached_layout_t *layout,
                                                 const void *data, void *result, void *cookie);

/**
 * Read bytes of the window, as for a get of others.
 *
 * @param ended  LATER: called by the thread, with cookie
 */
osc_cached_stored_t ompi_osc_cached_reader_read(ompi_osc_cached_reader_t *reader, uint64_t at,
                                                uint32_t bytes, void *to,
                                                void (*ended)(void *cookie, bool good),
                                                void *cookie);

/** Are these bytes of the window in memory? */
bool ompi_osc_cached_reader_has_in_memory(const ompi_osc_cached_reader_t *reader, uint64_t at,
                                          uint64_t bytes);

/** An operation of this process itself, which excludes those of others. */
osc_cached_refused_t ompi_osc_cached_reader_local(ompi_osc_cached_reader_t *reader,
                                                  const osc_cached_request_t *request,
                                                  const osc_cached_layout_t *layout,
                                                  const void *data, void *result);

const ompi_osc_cached_reader_counts_t *
ompi_osc_cached_reader_counts(const ompi_osc_cached_reader_t *reader);

#endif /* OSC_CACHED_HELPER_READER_H */
