/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The C library as the allocator of the core.
 */
#include "osc_cached_alloc.h"

#include <stdint.h>
#include <stdlib.h>

static void *default_alloc(void *context, size_t alignment, size_t bytes)
{
    (void) context;
    if (bytes > SIZE_MAX - alignment) {
        return NULL;
    }
    /* C11 wants a multiple of the alignment; and NULL means failure only. */
    bytes = (bytes + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment, 0 == bytes ? alignment : bytes);
}

static void default_free(void *context, void *memory, size_t bytes)
{
    (void) context;
    (void) bytes;
    free(memory);
}

const osc_cached_alloc_t osc_cached_alloc_default = {
    .alloc = default_alloc,
    .free = default_free,
    .context = NULL,
};
