/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Numbers for layouts of bytes that do not lie in one run, which the processes of a node share:
 * equal layouts have the same number in all of them, others have another one. A layout is a
 * description, of any bytes, and how often it is repeated.
 *
 * It is in memory that is 0 at first, and never moves. Layouts are only added, one behind the
 * other, by who has a lock; the bytes in use are counted last, so who dies while adding one has
 * added nothing, and who searches needs no lock. Each has a check: when a description is damaged so
 * that it is another one, its number is not given to who asks for that.
 */
#ifndef OSC_CACHED_SHARED_LAYOUTS_H
#define OSC_CACHED_SHARED_LAYOUTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OSC_CACHED_SHARED_LAYOUTS_BYTES = 16384 }; /**< of all layouts */

typedef struct {
    _Atomic uint64_t used; /**< bytes */
    char bytes[OSC_CACHED_SHARED_LAYOUTS_BYTES];
} osc_cached_shared_layouts_t;

/**
 * @param count        of what is described
 * @param description  so many bytes
 * @param[out] number  0: it is not there
 * @return false: it is damaged
 */
bool osc_cached_shared_layouts_find(const osc_cached_shared_layouts_t *layouts, uint64_t count,
                                    const void *description, size_t bytes, uint32_t *number);

/** Whether there is room for one with such a description; not for ever. */
bool osc_cached_shared_layouts_have_room(const osc_cached_shared_layouts_t *layouts, size_t bytes);

/** One that is not there. @return its number; 0: there is no room */
uint32_t osc_cached_shared_layouts_add(osc_cached_shared_layouts_t *layouts, uint64_t count,
                                       const void *description, size_t bytes);

/** Whether they fill the bytes in use, and their checks are right. */
bool osc_cached_shared_layouts_are_right(const osc_cached_shared_layouts_t *layouts);

#endif /* OSC_CACHED_SHARED_LAYOUTS_H */
