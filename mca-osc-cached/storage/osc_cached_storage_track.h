/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which pages of a mapped file were changed, by stores, by system calls and by other processes.
 * Knows nothing of Open MPI.
 */

#ifndef OSC_CACHED_STORAGE_TRACK_H
#define OSC_CACHED_STORAGE_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/osc_cached_dirty.h"

typedef struct {
    char *base;
    size_t size;
    int faults; /**< a userfaultfd; -1: the kernel cannot tell, every page counts as changed */
    int pages;  /**< /proc/self/pagemap */
} ompi_osc_cached_track_t;

/** From now on. */
void ompi_osc_cached_track_begin(ompi_osc_cached_track_t *track, char *base, size_t size);

/**
 * The pages that were changed since the beginning, or since the last call that forgets them.
 *
 * @param[out] dirty  bytes from base
 */
void ompi_osc_cached_track_read(ompi_osc_cached_track_t *track, bool forgets,
                                osc_cached_dirty_t *dirty);

/** Before the memory is unmapped. */
void ompi_osc_cached_track_end(ompi_osc_cached_track_t *track);

#endif /* OSC_CACHED_STORAGE_TRACK_H */
