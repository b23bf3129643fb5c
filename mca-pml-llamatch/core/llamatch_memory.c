/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Memory from libc.
 */
#include "llamatch_memory.h"

#include <stdlib.h>

static void *libc_alloc(void *context, size_t alignment, size_t bytes)
{
    (void) context;
    /* C11 wants a multiple of the alignment. */
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void libc_free(void *context, void *memory, size_t bytes)
{
    (void) context;
    (void) bytes;
    free(memory);
}

const llamatch_allocator_t llamatch_allocator_libc = {libc_alloc, libc_free, NULL};
