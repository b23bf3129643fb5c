/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whole pages are looked at, also where the window begins or ends inside of one: what others store
 * there counts, too, which only costs a message.
 */

#include "osc_cached_changes.h"

#include <unistd.h>

enum { MANY_TIMES = 8 }; /* a scan protects pages, and each first store to one takes 0.8 us */

typedef struct {
    ompi_osc_cached_changes_t *changes;
    ompi_osc_cached_change_t *found;
    uint64_t before; /* bytes of the first page that are not in the window */
    uint64_t bytes;  /* changed */
    int count;       /* -1: too many */
} search_t;

void ompi_osc_cached_changes_init(ompi_osc_cached_changes_t *changes, const void *base, size_t size,
                                  uint8_t block_shift, bool possible)
{
    *changes = (ompi_osc_cached_changes_t){.base = (char *) base,
                                           .size = size,
                                           .block_shift = block_shift,
                                           .possible = possible && 0 < size};
}

void ompi_osc_cached_changes_end(ompi_osc_cached_changes_t *changes)
{
    if (changes->tracks) {
        ompi_osc_cached_track_end(&changes->track);
    }
    changes->tracks = changes->possible = false;
}

static void add(void *context, uint64_t from, uint64_t to)
{
    search_t *search = context;
    ompi_osc_cached_changes_t *changes = search->changes;
    ompi_osc_cached_change_t *last = (0 < search->count) ? &search->found[search->count - 1] : NULL;
    uint64_t first, end;

    search->bytes += to - from;
    from = (from < search->before) ? 0 : from - search->before;
    to -= search->before;
    to = (to < changes->size) ? to : changes->size;
    if (-1 == search->count || to <= from) {
        return;
    }
    first = from >> changes->block_shift;
    end = ((to - 1) >> changes->block_shift) + 1;
    if (NULL != last && first <= last->first + last->count) {
        last->count = end - last->first;
    } else if (OSC_CACHED_CHANGES > search->count) {
        last = &search->found[search->count++];
        *last = (ompi_osc_cached_change_t){.first = first, .count = end - first};
    } else {
        search->count = -1;
        return;
    }
    if (OSC_CACHED_CHANGES_BLOCKS < last->count) {
        search->count = -1;
    }
}

int ompi_osc_cached_changes_read(ompi_osc_cached_changes_t *changes,
                                 ompi_osc_cached_change_t *found)
{
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE), before = (uintptr_t) changes->base % page;
    search_t search = {.changes = changes, .found = found, .before = before};

    if (!changes->possible) {
        return -1;
    }
    if (!changes->tracks) {
        ompi_osc_cached_track_begin(&changes->track, changes->base - before,
                                    changes->size + before);
        changes->tracks = true;
        return -1;
    }
    if (!ompi_osc_cached_track_read(&changes->track, true, add, &search)) {
        ompi_osc_cached_changes_end(changes);
        return -1;
    }
    changes->many = (changes->size / 2 < search.bytes) ? changes->many + 1 : 0;
    if (MANY_TIMES <= changes->many) {
        ompi_osc_cached_changes_end(changes);
        return -1;
    }
    return search.count;
}
