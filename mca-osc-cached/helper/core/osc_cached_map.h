/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * A table from two numbers to a pointer: process names to sessions, names of windows to windows.
 *
 * Open addressing with linear probing, at most half full; what is removed leaves no mark, the cells
 * behind it move up. It doubles when it is half full and never shrinks.
 *
 * Invariants (osc_cached_map_verify returns the number of the first broken one):
 *  I1 cells is 0 or a power of two, and count is at most half of it.
 *  I2 count is the number of cells with a value.
 *  I3 no empty cell lies between where a key's search begins and the cell it is in.
 */
#ifndef OSC_CACHED_MAP_H
#define OSC_CACHED_MAP_H

#include "osc_cached_alloc.h"

#include <stdint.h>

typedef struct osc_cached_map_cell {
    uint64_t first;
    uint64_t second;
    void *value; /**< NULL: empty */
} osc_cached_map_cell_t;

typedef struct osc_cached_map {
    const osc_cached_alloc_t *alloc;
    osc_cached_map_cell_t *cell;
    uint32_t cells;
    uint32_t count;
} osc_cached_map_t;

void osc_cached_map_init(osc_cached_map_t *map, const osc_cached_alloc_t *alloc);

/** Give the table's memory back; what it points to is not looked at. */
void osc_cached_map_fini(osc_cached_map_t *map);

/** @return the value, or NULL */
void *osc_cached_map_get(const osc_cached_map_t *map, uint64_t first, uint64_t second);

/**
 * Add a key that is not there. The value must not be NULL.
 *
 * @return OSC_CACHED_OK, or OSC_CACHED_NO_MEMORY with the table unchanged
 */
int osc_cached_map_add(osc_cached_map_t *map, uint64_t first, uint64_t second, void *value);

/** @return the value that is gone, or NULL when there was none */
void *osc_cached_map_remove(osc_cached_map_t *map, uint64_t first, uint64_t second);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_map_verify(const osc_cached_map_t *map);

#endif /* OSC_CACHED_MAP_H */
