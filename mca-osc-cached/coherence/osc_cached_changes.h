/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * O1: which blocks of its own memory a process has stored to since its last synchronisation, so
 * that copies of others stay.  Asked for the first time it only begins to look, so that windows
 * that nobody caches cost nothing; and it ends where most pages are stored to all the time.
 *
 * Needs nothing of Open MPI.
 */

#ifndef OSC_CACHED_CHANGES_H
#define OSC_CACHED_CHANGES_H

#include "osc_cached_track.h"

enum {
    OSC_CACHED_CHANGES = 16,       /**< ranges; if there are more: everything */
    OSC_CACHED_CHANGES_BLOCKS = 64 /**< in a range; if there are more: everything */
};

typedef struct {
    uint64_t first, count; /**< blocks */
} ompi_osc_cached_change_t;

typedef struct {
    ompi_osc_cached_track_t track;
    char *base;
    size_t size;
    uint8_t block_shift;
    uint8_t many;  /**< times in a row that most pages were changed */
    bool possible; /**< false: everything counts as changed */
    bool tracks;
} ompi_osc_cached_changes_t;

/** @param possible  only this process stores there, and no device; other writers tell themselves */
void ompi_osc_cached_changes_init(ompi_osc_cached_changes_t *changes, const void *base, size_t size,
                                  uint8_t block_shift, bool possible);

/**
 * What was stored to since the last call, by threads whose stores are over; one thread at a time.
 *
 * @param[out] found  OSC_CACHED_CHANGES of them
 * @return how many; -1: everything may have been
 */
int ompi_osc_cached_changes_read(ompi_osc_cached_changes_t *changes,
                                 ompi_osc_cached_change_t *found);

/** Before the memory is unmapped. */
void ompi_osc_cached_changes_end(ompi_osc_cached_changes_t *changes);

#endif /* OSC_CACHED_CHANGES_H */
