/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Where the core gets its memory, and what its functions return.
 *
 * Every object of the core takes an osc_cached_alloc_t at creation and calls it only in its create,
 * resize and destroy functions. The tests pass one that fails at the Nth call. The glue may pass
 * one that maps large blocks itself: huge pages (madvise, hugetlbfs) are asked for there, and
 * nowhere in the core.
 */
#ifndef OSC_CACHED_ALLOC_H
#define OSC_CACHED_ALLOC_H

#include <stddef.h>

/** What a core function can report. A miss is a status, not an error. */
enum {
    OSC_CACHED_OK = 0,
    OSC_CACHED_NOT_FOUND,
    OSC_CACHED_FULL,
    OSC_CACHED_NO_MEMORY,
    OSC_CACHED_BAD_ARGUMENT
};

typedef struct {
    /** Memory of at least this many bytes, not initialised, or NULL. The alignment is a power of
     * two, at least the size of a pointer. */
    void *(*alloc)(void *context, size_t alignment, size_t bytes);
    /** The number of bytes is that given to alloc. The memory may be NULL. */
    void (*free)(void *context, void *memory, size_t bytes);
    void *context;
} osc_cached_alloc_t;

/** aligned_alloc and free of the C library */
extern const osc_cached_alloc_t osc_cached_alloc_default;

#endif /* OSC_CACHED_ALLOC_H */
