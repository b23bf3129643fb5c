/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Adaptation: see the header for the rules and the contract.
 */
#include "osc_cached_adapt.h"

#include <stdbool.h>
#include <stddef.h>

/* Slots that the index, and bytes that the storage is a multiple of. */
#define INDEX_UNIT 16
#define STORAGE_UNIT 64

const osc_cached_adapt_params_t osc_cached_adapt_defaults = {
    .interval = 128,
    .conflict_threshold = 0.02,
    .index_increase = 2,
    .index_decrease = 0.5,
    .sparsity = 0.25,
    .capacity_threshold = 0.02,
    .memory_increase = 2,
    .memory_decrease = 0.5,
    .stable_threshold = 0.9,
    .free_threshold = 0.8,
};

/* A size, in slots or bytes, and what limits it. */
typedef struct {
    uint64_t size;
    uint64_t floor; /* what the contents need at a load of 3/4 */
    uint64_t min, max;
    uint64_t unit;
    double increase, decrease; /* factors */
} range_t;

static uint64_t least(uint64_t a, uint64_t b)
{
    return (a < b) ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return (a > b) ? a : b;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return (a < UINT64_MAX - b) ? a + b : UINT64_MAX;
}

static uint64_t round_up(uint64_t size, uint64_t unit)
{
    return saturating_add(size, unit - 1) / unit * unit;
}

static range_t make_range(uint64_t size, uint64_t used, uint64_t min, uint64_t max, uint64_t unit,
                          double increase, double decrease)
{
    range_t range;

    range.size = size;
    range.floor = round_up(saturating_add(used, used / 3 + (0 != used % 3)), unit);
    range.min = least(min, max);
    range.max = max;
    range.unit = unit;
    range.increase = increase;
    range.decrease = decrease;
    return range;
}

static uint64_t bounded(const range_t *range, uint64_t size)
{
    if (size > range->max) {
        bool was_above = range->size > range->max;

        return was_above ? least(range->size, most(range->floor, range->max)) : range->max;
    }
    return most(size, range->min);
}

/* Whether the bound leaves enough to be worth a copy of all (C8). */
static bool may_grow(const range_t *range)
{
    double least_gain = (range->increase - 1 < 0.125) ? range->increase - 1 : 0.125;

    return range->size < range->max
           && (double) (range->max - range->size) >= least_gain * (double) range->size;
}

static uint64_t grown(const range_t *range)
{
    double wanted = (double) range->size * range->increase;
    uint64_t next = saturating_add(range->size, range->unit);

    if (wanted >= (double) range->max) {
        return range->max;
    }
    return round_up(most((uint64_t) wanted, next), range->unit);
}

static uint64_t shrunk(const range_t *range)
{
    uint64_t wanted = (uint64_t) ((double) range->size * range->decrease);
    uint64_t next = (range->size - least(range->size, range->unit)) / range->unit * range->unit;

    wanted = least(round_up(wanted, range->unit), next);
    return least(range->size, most(wanted, range->floor));
}

/* Whether growing would have led here (C6). */
static bool may_shrink(const range_t *range)
{
    return (double) range->floor * range->increase < (double) range->size;
}

osc_cached_adapt_sizes_t osc_cached_adapt_decide(const osc_cached_adapt_params_t *params,
                                                 const osc_cached_adapt_window_t *window)
{
    range_t index =
        make_range(window->index_slots, window->index_entries, window->slots_min, window->slots_max,
                   INDEX_UNIT, params->index_increase, params->index_decrease);
    range_t storage = make_range(window->storage_bytes, window->storage_used, window->storage_min,
                                 window->storage_max, STORAGE_UNIT, params->memory_increase,
                                 params->memory_decrease);
    double gets = (double) window->gets;
    double conflicts = (double) window->conflicting;
    double no_room = (double) window->capacity + (double) window->failing;
    double conflicts_limit = params->conflict_threshold * gets;
    double no_room_limit = params->capacity_threshold * gets;
    osc_cached_adapt_sizes_t sizes;
    uint64_t slots = index.size, bytes = storage.size;

    if (window->gets >= params->interval) {
        bool grows = false;

        if (conflicts > conflicts_limit && may_grow(&index)) {
            slots = grown(&index);
            grows = true;
        }
        if (no_room > no_room_limit && may_grow(&storage)) {
            bytes = grown(&storage);
            grows = true;
        }
        if (!grows && 4 * conflicts <= conflicts_limit && may_shrink(&index)
            && (double) window->occupied < params->sparsity * (double) window->visited
            && (double) window->index_entries < params->sparsity * (double) index.size) {
            slots = shrunk(&index);
        }
        if (!grows && 4 * no_room <= no_room_limit && may_shrink(&storage)
            && (double) window->hits > params->stable_threshold * gets
            && (double) window->storage_used
                   < (1 - params->free_threshold) * (double) storage.size) {
            bytes = shrunk(&storage);
        }
    }
    sizes.index_slots = (uint32_t) bounded(&index, slots);
    sizes.storage_bytes = bounded(&storage, bytes);
    return sizes;
}

const char *osc_cached_adapt_params_check(const osc_cached_adapt_params_t *params)
{
    const struct {
        const char *name;
        double value, min, max;
    } fields[] = {
        {"interval", params->interval, 1, UINT32_MAX},
        {"conflict_threshold", params->conflict_threshold, 0, 1},
        {"index_increase", params->index_increase, 1.01, 16},
        {"index_decrease", params->index_decrease, 0.01, 0.99},
        {"sparsity", params->sparsity, 0, 1},
        {"capacity_threshold", params->capacity_threshold, 0, 1},
        {"memory_increase", params->memory_increase, 1.01, 16},
        {"memory_decrease", params->memory_decrease, 0.01, 0.99},
        {"stable_threshold", params->stable_threshold, 0, 1},
        {"free_threshold", params->free_threshold, 0, 1},
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); ++i) {
        /* What is not a number is not in the range either. */
        if (!(fields[i].value >= fields[i].min && fields[i].value <= fields[i].max)) {
            return fields[i].name;
        }
    }
    return NULL;
}
