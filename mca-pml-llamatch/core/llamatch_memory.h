/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What all parts of the matching core share: status values, the cache line, and where memory
 * comes from.
 */
#ifndef LLAMATCH_MEMORY_H
#define LLAMATCH_MEMORY_H

#include <stddef.h>

/** What a core function can report. A search that finds nothing is no error. */
typedef enum {
    LLAMATCH_OK = 0,
    LLAMATCH_NOT_FOUND = 1,
    LLAMATCH_ERR_NO_MEMORY = -1,
    LLAMATCH_ERR_ARGUMENT = -2,
    LLAMATCH_ERR_SYSTEM = -3 /**< the system refused something: a thread, a binding */
} llamatch_status_t;

/** Bytes of a cache line. */
#define LLAMATCH_LINE 64

/** Where memory comes from. alloc returns NULL on failure; free gets the same size back. */
typedef struct llamatch_allocator {
    void *(*alloc)(void *context, size_t alignment, size_t bytes);
    void (*free)(void *context, void *memory, size_t bytes);
    void *context;
} llamatch_allocator_t;

#endif /* LLAMATCH_MEMORY_H */
