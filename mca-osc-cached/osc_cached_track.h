/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which pages of a window's memory were changed, by stores, by system calls and by other processes.
 * Knows nothing of Open MPI.
 */

#ifndef OSC_CACHED_TRACK_H
#define OSC_CACHED_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *base;
    size_t size;
    int faults; /**< a userfaultfd; -1: the kernel cannot tell, every page counts as changed */
    int pages;  /**< /proc/self/pagemap */
} ompi_osc_cached_track_t;

/** Bytes from base that were changed; calls come in order. */
typedef void (*ompi_osc_cached_track_found_t)(void *context, uint64_t from, uint64_t to);

/** From now on.  base is the beginning of a page. */
void ompi_osc_cached_track_begin(ompi_osc_cached_track_t *track, char *base, size_t size);

/**
 * The pages that were changed since the beginning, or since the last call that forgets them.
 *
 * @return false: the kernel cannot tell, whatever was found; every page counts as changed
 */
bool ompi_osc_cached_track_read(ompi_osc_cached_track_t *track, bool forgets,
                                ompi_osc_cached_track_found_t found, void *context);

/** Before the memory is unmapped. */
void ompi_osc_cached_track_end(ompi_osc_cached_track_t *track);

#endif /* OSC_CACHED_TRACK_H */
