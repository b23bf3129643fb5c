/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "osc_cached_dirty.h"

#include <stdbool.h>
#include <string.h>

/* The range before the smallest gap. */
static int before_smallest_gap(const osc_cached_dirty_t *dirty)
{
    uint64_t smallest = UINT64_MAX;
    int found = 0;

    for (int i = 0; i + 1 < dirty->count; ++i) {
        uint64_t gap = dirty->ranges[i + 1].from - dirty->ranges[i].to;

        if (gap < smallest) {
            smallest = gap;
            found = i;
        }
    }
    return found;
}

void osc_cached_dirty_add(osc_cached_dirty_t *dirty, uint64_t from, uint64_t to)
{
    if (to <= from) {
        return;
    }
    dirty->bytes += to - from;
    if (0 < dirty->count && dirty->ranges[dirty->count - 1].to == from) {
        dirty->ranges[dirty->count - 1].to = to;
        return;
    }
    dirty->ranges[dirty->count].from = from;
    dirty->ranges[dirty->count].to = to;
    if (OSC_CACHED_DIRTY_RANGES < ++dirty->count) {
        int i = before_smallest_gap(dirty);

        dirty->ranges[i].to = dirty->ranges[i + 1].to;
        --dirty->count;
        memmove(&dirty->ranges[i + 1], &dirty->ranges[i + 2],
                (size_t) (dirty->count - i - 1) * sizeof(dirty->ranges[0]));
    }
}

osc_cached_dirty_t osc_cached_dirty_join(const osc_cached_dirty_t *one,
                                         const osc_cached_dirty_t *other)
{
    osc_cached_dirty_t joined = {0};
    uint64_t end = 0;
    int i = 0, j = 0;

    while (i < one->count || j < other->count) {
        bool first =
            j == other->count || (i < one->count && one->ranges[i].from <= other->ranges[j].from);
        uint64_t from = first ? one->ranges[i].from : other->ranges[j].from;
        uint64_t to = first ? one->ranges[i++].to : other->ranges[j++].to;

        osc_cached_dirty_add(&joined, (from < end) ? end : from, to);
        end = (end < to) ? to : end;
    }
    return joined;
}
