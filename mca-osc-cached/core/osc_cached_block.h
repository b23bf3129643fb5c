/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Block fetch: a small get that is missing fetches the aligned block around it, so that its
 * neighbours are hits.
 *
 *     window  0        B       2B       3B    reach
 *             |--------|--------|--------|-----|
 *                        ^get^   ^get^     get    a block that the window's end cuts
 *                      |--------|--------|-----|  what is fetched
 *
 * Reach is how far all windows of the targets go: what is beyond is not known to be there. A get
 * that lies in two blocks is fetched alone.
 */
#ifndef OSC_CACHED_BLOCK_H
#define OSC_CACHED_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OSC_CACHED_BLOCK_MIN = 256, OSC_CACHED_BLOCK_MAX = 1024 };

typedef struct {
    uint64_t begin; /**< address */
    uint32_t bytes; /**< 0: there is no block */
    uint32_t skip;  /**< bytes from its begin to the get's */
} osc_cached_block_t;

/** Bytes of blocks, of any kind: 0, none, or a power of two. */
static inline bool osc_cached_block_allowed(uint64_t bytes, uint64_t least, uint64_t most)
{
    return 0 == bytes || (least <= bytes && bytes <= most && 0 == (bytes & (bytes - 1)));
}

/**
 * The block around a get.
 *
 * @param size   of blocks, allowed and not 0
 * @param reach  bytes of the window
 */
static inline osc_cached_block_t osc_cached_block_of(uint32_t size, uint64_t reach,
                                                     uint64_t address, size_t bytes)
{
    osc_cached_block_t block = {address - address % size, 0, (uint32_t) (address % size)};

    if (bytes < size && block.skip + bytes <= size && block.begin < reach
        && block.skip + bytes <= reach - block.begin) {
        block.bytes = (reach - block.begin < size) ? (uint32_t) (reach - block.begin) : size;
    }
    return block;
}

#endif /* OSC_CACHED_BLOCK_H */
