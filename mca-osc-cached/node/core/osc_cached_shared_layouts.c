/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Numbers for layouts.
 */
#include "osc_cached_shared_layouts.h"

#include <string.h>

/* What is in front of a description. */
typedef struct {
    uint64_t count;
    uint64_t bytes;
    uint64_t check; /* of the count and the description */
} layout_t;

/* The hash FNV-1a. */
static uint64_t hash(uint64_t value, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < count; ++i) {
        value = (value ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return value;
}

static uint64_t check_of(uint64_t count, const void *description, uint64_t bytes)
{
    uint64_t value = hash(UINT64_C(0xcbf29ce484222325), &count, sizeof(count));

    return hash(value, description, bytes);
}

/* With what is in front of it. */
static uint64_t size_of(uint64_t bytes)
{
    return sizeof(layout_t) + (bytes + 7) / 8 * 8;
}

/* The layout at a place below used. @return false: there is none */
static bool read_layout(const osc_cached_shared_layouts_t *layouts, uint64_t at, uint64_t used,
                        layout_t *layout)
{
    if (OSC_CACHED_SHARED_LAYOUTS_BYTES < used || used - at < sizeof(*layout)) {
        return false;
    }
    memcpy(layout, layouts->bytes + at, sizeof(*layout));
    return layout->bytes <= used - at - sizeof(*layout);
}

bool osc_cached_shared_layouts_find(const osc_cached_shared_layouts_t *layouts, uint64_t count,
                                    const void *description, size_t bytes, uint32_t *number)
{
    uint64_t used = atomic_load_explicit(&layouts->used, memory_order_acquire);
    layout_t layout;

    *number = 0;
    for (uint64_t at = 0; at < used; at += size_of(layout.bytes)) {
        if (!read_layout(layouts, at, used, &layout)) {
            return false;
        }
        if (count == layout.count && bytes == layout.bytes
            && 0 == memcmp(layouts->bytes + at + sizeof(layout), description, bytes)) {
            *number = (uint32_t) (at / 8) + 1;
            return layout.check == check_of(count, description, bytes);
        }
    }
    return true;
}

bool osc_cached_shared_layouts_have_room(const osc_cached_shared_layouts_t *layouts, size_t bytes)
{
    uint64_t used = atomic_load_explicit(&layouts->used, memory_order_relaxed);

    return bytes <= OSC_CACHED_SHARED_LAYOUTS_BYTES && used <= OSC_CACHED_SHARED_LAYOUTS_BYTES
           && size_of(bytes) <= OSC_CACHED_SHARED_LAYOUTS_BYTES - used;
}

uint32_t osc_cached_shared_layouts_add(osc_cached_shared_layouts_t *layouts, uint64_t count,
                                       const void *description, size_t bytes)
{
    uint64_t used = atomic_load_explicit(&layouts->used, memory_order_relaxed);
    layout_t layout = {count, bytes, check_of(count, description, bytes)};

    if (!osc_cached_shared_layouts_have_room(layouts, bytes)) {
        return 0;
    }
    memcpy(layouts->bytes + used, &layout, sizeof(layout));
    memcpy(layouts->bytes + used + sizeof(layout), description, bytes);
    atomic_store_explicit(&layouts->used, used + size_of(bytes), memory_order_release);
    return (uint32_t) (used / 8) + 1;
}

bool osc_cached_shared_layouts_are_right(const osc_cached_shared_layouts_t *layouts)
{
    uint64_t used = atomic_load_explicit(&layouts->used, memory_order_acquire), at = 0;
    layout_t layout;

    while (at < used && read_layout(layouts, at, used, &layout)
           && layout.check
                  == check_of(layout.count, layouts->bytes + at + sizeof(layout), layout.bytes)) {
        at += size_of(layout.bytes);
    }
    return at == used;
}
