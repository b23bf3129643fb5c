/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "osc_cached_ranges.h"

#include <stddef.h>

enum { FIRST_SIZE = 16 }; /* ranges; most programs have fewer windows */

/* What readers read is stored with release and loaded with acquire order: whoever sees a new value
 * sees the odd sequence number before it, too, or a later one. */
static uintptr_t load(const _Atomic uintptr_t *value)
{
    return atomic_load_explicit(value, memory_order_acquire);
}

static void store(_Atomic uintptr_t *value, uintptr_t now)
{
    atomic_store_explicit(value, now, memory_order_release);
}

static osc_cached_ranges_array_t *array_of(const osc_cached_ranges_t *ranges)
{
    return atomic_load_explicit(&ranges->array, memory_order_acquire);
}

static uint32_t count_of(const osc_cached_ranges_array_t *array)
{
    return (NULL == array) ? 0 : atomic_load_explicit(&array->count, memory_order_acquire);
}

static void begin_change(osc_cached_ranges_t *ranges)
{
    atomic_fetch_add_explicit(&ranges->sequence, 1, memory_order_relaxed);
}

static void end_change(osc_cached_ranges_t *ranges)
{
    atomic_fetch_add_explicit(&ranges->sequence, 1, memory_order_release);
}

static void copy(osc_cached_range_t *to, const osc_cached_range_t *from)
{
    store(&to->start, load(&from->start));
    to->end = from->end;
    to->owner = from->owner;
}

/* I2, from a range on. */
static void update_reach(osc_cached_ranges_array_t *array, uint32_t first, uint32_t count)
{
    uintptr_t reach = (0 == first) ? 0 : load(&array->ranges[first - 1].reach);

    for (uint32_t i = first; i < count; ++i) {
        reach = (reach < array->ranges[i].end) ? array->ranges[i].end : reach;
        store(&array->ranges[i].reach, reach);
    }
}

/* Ranges that start before an address. */
static uint32_t count_before(const osc_cached_ranges_array_t *array, uint32_t count, uintptr_t to)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (load(&array->ranges[middle].start) < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t bytes_of(uint32_t max)
{
    return sizeof(osc_cached_ranges_array_t) + (size_t) max * sizeof(osc_cached_range_t);
}

/* A larger array with the same ranges; nobody else knows it yet. */
static osc_cached_ranges_array_t *grow(const osc_cached_alloc_t *alloc,
                                       osc_cached_ranges_array_t *array)
{
    uint32_t max = (NULL == array) ? FIRST_SIZE : 2 * array->max, count = count_of(array);
    osc_cached_ranges_array_t *larger =
        alloc->alloc(alloc->context, _Alignof(osc_cached_ranges_array_t), bytes_of(max));

    if (NULL == larger) {
        return NULL;
    }
    larger->max = max;
    larger->replaced = array;
    for (uint32_t i = 0; i < count; ++i) {
        copy(&larger->ranges[i], &array->ranges[i]);
    }
    update_reach(larger, 0, count);
    atomic_store_explicit(&larger->count, count, memory_order_relaxed);
    return larger;
}

int osc_cached_ranges_add(osc_cached_ranges_t *ranges, const osc_cached_alloc_t *alloc,
                          const void *owner, uintptr_t start, uintptr_t end)
{
    osc_cached_ranges_array_t *array = array_of(ranges);
    uint32_t count = count_of(array), at;

    if (NULL == array || array->max == count) {
        array = grow(alloc, array);
        if (NULL == array) {
            return OSC_CACHED_NO_MEMORY;
        }
    }
    at = count_before(array, count, start);
    begin_change(ranges);
    atomic_store_explicit(&ranges->array, array, memory_order_release);
    for (uint32_t i = count; at < i; --i) {
        copy(&array->ranges[i], &array->ranges[i - 1]);
    }
    store(&array->ranges[at].start, start);
    array->ranges[at].end = end;
    array->ranges[at].owner = owner;
    update_reach(array, at, count + 1);
    atomic_store_explicit(&array->count, count + 1, memory_order_release);
    end_change(ranges);
    return OSC_CACHED_OK;
}

void osc_cached_ranges_remove(osc_cached_ranges_t *ranges, const void *owner, bool all,
                              uintptr_t start)
{
    osc_cached_ranges_array_t *array = array_of(ranges);
    uint32_t count = count_of(array), kept = 0;

    begin_change(ranges);
    for (uint32_t i = 0; i < count; ++i) {
        osc_cached_range_t *range = &array->ranges[i];

        if (owner == range->owner && (all || start == load(&range->start))) {
            continue;
        }
        if (kept < i) {
            copy(&array->ranges[kept], range);
        }
        ++kept;
    }
    if (kept < count) {
        update_reach(array, 0, kept);
        atomic_store_explicit(&array->count, kept, memory_order_release);
    }
    end_change(ranges);
}

osc_cached_ranges_answer_t osc_cached_ranges_ask(osc_cached_ranges_t *ranges, uintptr_t from,
                                                 uintptr_t to)
{
    uint64_t sequence = atomic_load_explicit(&ranges->sequence, memory_order_acquire);
    const osc_cached_ranges_array_t *array = array_of(ranges);
    uint32_t count = count_of(array);
    uint32_t gap = atomic_load_explicit(&ranges->gap, memory_order_relaxed);
    bool overlaps = false;

    /* the hint may be of long ago: it is believed when the buffer is in that gap now */
    if (count < gap || (gap < count && load(&array->ranges[gap].start) < to)
        || (0 < gap && from < load(&array->ranges[gap - 1].reach))) {
        gap = count_before(array, count, to);
        overlaps = 0 < gap && from < load(&array->ranges[gap - 1].reach);
        if (!overlaps) {
            atomic_store_explicit(&ranges->gap, gap, memory_order_relaxed);
        }
    }
    if (0 != sequence % 2
        || sequence != atomic_load_explicit(&ranges->sequence, memory_order_relaxed)) {
        return OSC_CACHED_RANGES_CHANGING;
    }
    return overlaps ? OSC_CACHED_RANGES_OVERLAP : OSC_CACHED_RANGES_APART;
}

bool osc_cached_ranges_others(const osc_cached_ranges_t *ranges, const void *owner, uintptr_t from,
                              uintptr_t to)
{
    const osc_cached_ranges_array_t *array = array_of(ranges);
    uint32_t before = count_before(array, count_of(array), to);

    for (uint32_t i = 0; i < before; ++i) {
        if (owner != array->ranges[i].owner && from < array->ranges[i].end) {
            return true;
        }
    }
    return false;
}

bool osc_cached_ranges_hull(const osc_cached_ranges_t *ranges, uintptr_t *from, uintptr_t *to)
{
    const osc_cached_ranges_array_t *array = array_of(ranges);
    uint32_t count = count_of(array);

    if (0 == count) {
        return false;
    }
    *from = load(&array->ranges[0].start);
    *to = load(&array->ranges[count - 1].reach);
    return true;
}

void osc_cached_ranges_destroy(osc_cached_ranges_t *ranges, const osc_cached_alloc_t *alloc)
{
    osc_cached_ranges_array_t *array = array_of(ranges);

    atomic_store_explicit(&ranges->array, NULL, memory_order_relaxed);
    while (NULL != array) {
        osc_cached_ranges_array_t *replaced = array->replaced;

        alloc->free(alloc->context, array, bytes_of(array->max));
        array = replaced;
    }
}

int osc_cached_ranges_verify(const osc_cached_ranges_t *ranges)
{
    const osc_cached_ranges_array_t *array = array_of(ranges);
    uint32_t count = count_of(array);
    uintptr_t reach = 0;

    for (uint32_t i = 0; i < count; ++i) {
        if (0 < i && load(&array->ranges[i].start) < load(&array->ranges[i - 1].start)) {
            return 1;
        }
        reach = (reach < array->ranges[i].end) ? array->ranges[i].end : reach;
        if (reach != load(&array->ranges[i].reach)) {
            return 2;
        }
    }
    return (0 == atomic_load_explicit(&ranges->sequence, memory_order_relaxed) % 2) ? 0 : 3;
}
