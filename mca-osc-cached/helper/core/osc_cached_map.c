/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * A table from two numbers to a pointer.
 */
#include "osc_cached_map.h"

#define FIRST_CELLS 16

void osc_cached_map_init(osc_cached_map_t *map, const osc_cached_alloc_t *alloc)
{
    *map = (osc_cached_map_t){.alloc = alloc};
}

void osc_cached_map_fini(osc_cached_map_t *map)
{
    map->alloc->free(map->alloc->context, map->cell, map->cells * sizeof(map->cell[0]));
    map->cell = NULL;
    map->cells = 0;
    map->count = 0;
}

/* Where a search begins. Names of processes differ in their low bits: a product spreads them. */
static uint32_t home(const osc_cached_map_t *map, uint64_t first, uint64_t second)
{
    uint64_t mixed = (first ^ (second << 32 | second >> 32)) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t) (mixed >> 32) & (map->cells - 1);
}

/* The cell of the key, or the empty one where it would be. There must be an empty one. */
static uint32_t find(const osc_cached_map_t *map, uint64_t first, uint64_t second)
{
    uint32_t i = home(map, first, second);

    while (NULL != map->cell[i].value
           && (first != map->cell[i].first || second != map->cell[i].second)) {
        i = (i + 1) & (map->cells - 1);
    }
    return i;
}

void *osc_cached_map_get(const osc_cached_map_t *map, uint64_t first, uint64_t second)
{
    return 0 == map->count ? NULL : map->cell[find(map, first, second)].value;
}

static int grow(osc_cached_map_t *map)
{
    osc_cached_map_t larger = {.alloc = map->alloc, .count = map->count};

    if (map->cells > UINT32_MAX / 4) {
        return OSC_CACHED_NO_MEMORY;
    }
    larger.cells = 0 == map->cells ? FIRST_CELLS : 2 * map->cells;
    larger.cell = map->alloc->alloc(map->alloc->context, sizeof(void *),
                                    larger.cells * sizeof(larger.cell[0]));
    if (NULL == larger.cell) {
        return OSC_CACHED_NO_MEMORY;
    }
    for (uint32_t i = 0; i < larger.cells; i++) {
        larger.cell[i] = (osc_cached_map_cell_t){.value = NULL};
    }
    for (uint32_t i = 0; i < map->cells; i++) {
        if (NULL != map->cell[i].value) {
            larger.cell[find(&larger, map->cell[i].first, map->cell[i].second)] = map->cell[i];
        }
    }
    map->alloc->free(map->alloc->context, map->cell, map->cells * sizeof(map->cell[0]));
    *map = larger;
    return OSC_CACHED_OK;
}

int osc_cached_map_add(osc_cached_map_t *map, uint64_t first, uint64_t second, void *value)
{
    if (map->count >= map->cells / 2 && OSC_CACHED_OK != grow(map)) {
        return OSC_CACHED_NO_MEMORY;
    }
    map->cell[find(map, first, second)] =
        (osc_cached_map_cell_t){.first = first, .second = second, .value = value};
    ++map->count;
    return OSC_CACHED_OK;
}

void *osc_cached_map_remove(osc_cached_map_t *map, uint64_t first, uint64_t second)
{
    uint32_t mask = map->cells - 1, hole, i;
    void *value;

    if (0 == map->count) {
        return NULL;
    }
    hole = find(map, first, second);
    value = map->cell[hole].value;
    if (NULL == value) {
        return NULL;
    }
    for (i = (hole + 1) & mask; NULL != map->cell[i].value; i = (i + 1) & mask) {
        uint32_t from = home(map, map->cell[i].first, map->cell[i].second);

        if (((i - from) & mask) >= ((i - hole) & mask)) { /* the hole is on its way */
            map->cell[hole] = map->cell[i];
            hole = i;
        }
    }
    map->cell[hole].value = NULL;
    --map->count;
    return value;
}

int osc_cached_map_verify(const osc_cached_map_t *map)
{
    uint32_t count = 0;

    if (0 != (map->cells & (map->cells - 1)) || map->count > map->cells / 2) {
        return 1;
    }
    for (uint32_t i = 0; i < map->cells; i++) {
        if (NULL != map->cell[i].value) {
            ++count;
            if (i != find(map, map->cell[i].first, map->cell[i].second)) {
                return 3;
            }
        }
    }
    return count == map->count ? 0 : 2;
}
