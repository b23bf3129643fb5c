/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Where the bytes of a datatype lie in memory: a layout.
 *
 * A layout is a list of blocks, in the order in which the bytes are packed; a block is a number of
 * runs of equal length at equal distances. A vector is one block, whatever its count is; an indexed
 * type without any regularity has one block per run. Several elements of the type follow each other
 * at the layout's extent.
 *
 *     blocks   offset 0, run 16, runs 3, stride 64 | offset 256, run 8, runs 1
 *     memory   |####............|####............|####............|............|##
 *              0                64               128                           256
 *     packed   |####|####|####|##|                56 bytes per element
 *
 * The origin builds a layout from the runs of its datatype and sends it once; the target reads the
 * description, which may be any bytes, and keeps the layout. Both walk parts of it: a cursor stands
 * at a byte of the packed stream and yields runs.
 *
 * Invariants (osc_cached_layout_verify returns the number of the first broken one; what
 * osc_cached_layout_read accepts fulfils all):
 *  I1 there are 1..max blocks; run and runs of each are at least 1.
 *  I2 before of each block is the number of packed bytes of the blocks before it; packed is that of
 *     all, and at most OSC_CACHED_LAYOUT_BYTES.
 *  I3 low and high are the smallest offset of a byte and the largest one plus 1, and both, and
 * every stride and the extent, are within -OSC_CACHED_LAYOUT_BYTES .. OSC_CACHED_LAYOUT_BYTES.
 */
#ifndef OSC_CACHED_LAYOUT_H
#define OSC_CACHED_LAYOUT_H

#include "osc_cached_alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** No offset, stride or number of bytes is larger: sums and products of two stay within 64 bits. */
#define OSC_CACHED_LAYOUT_BYTES ((int64_t) 1 << 56)

typedef struct osc_cached_block {
    int64_t offset;  /**< of the first run, in bytes from the element's origin */
    int64_t stride;  /**< bytes from the start of a run to that of the next one */
    uint64_t run;    /**< bytes of a run */
    uint64_t runs;   /**< how many */
    uint64_t before; /**< packed bytes of the blocks before */
} osc_cached_block_t;

typedef struct osc_cached_layout {
    int64_t extent;  /**< bytes from an element to the next one */
    uint64_t packed; /**< bytes of an element */
    int64_t low;     /**< first byte of an element */
    int64_t high;    /**< one past its last byte */
    uint32_t blocks;
    uint32_t room; /**< blocks that there is memory for */
    osc_cached_block_t block[];
} osc_cached_layout_t;

/** Memory of a layout with this many blocks. */
static inline size_t osc_cached_layout_size(uint32_t blocks)
{
    return sizeof(osc_cached_layout_t) + blocks * sizeof(osc_cached_block_t);
}

/** An empty layout, to be built with osc_cached_layout_add. @return NULL: no memory */
osc_cached_layout_t *osc_cached_layout_new(const osc_cached_alloc_t *alloc, uint32_t room,
                                           int64_t extent);

void osc_cached_layout_free(const osc_cached_alloc_t *alloc, osc_cached_layout_t *layout);

/**
 * Append a run. Runs that follow each other in memory, and those at equal distances, share a block.
 *
 * @return OSC_CACHED_OK; OSC_CACHED_FULL when it would need more blocks than there is room for;
 *         OSC_CACHED_BAD_ARGUMENT when a number is too large
 */
int osc_cached_layout_add(osc_cached_layout_t *layout, int64_t offset, uint64_t bytes);

/**
 * The same layout as bytes: variable-length numbers, differences where they are small.
 *
 * @return bytes written, or 0 when @p bytes is not enough
 */
size_t osc_cached_layout_write(const osc_cached_layout_t *layout, void *to, size_t bytes);

/** Blocks of the layout that these bytes describe, or 0 when that cannot be. */
uint32_t osc_cached_layout_count(const void *from, size_t bytes);

/**
 * Read a layout.
 *
 * @return OSC_CACHED_OK and the layout, OSC_CACHED_BAD_ARGUMENT when the bytes are not a layout of
 *         at most @p max_blocks, OSC_CACHED_NO_MEMORY
 */
int osc_cached_layout_read(const osc_cached_alloc_t *alloc, const void *from, size_t bytes,
                           uint32_t max_blocks, osc_cached_layout_t **layout);

/** Are all bytes of @p count elements at @p at within a memory of @p size bytes? */
bool osc_cached_layout_fits(const osc_cached_layout_t *layout, uint64_t at, uint64_t count,
                            uint64_t size);

/** A place in the packed stream of several elements. */
typedef struct osc_cached_cursor {
    const osc_cached_layout_t *layout;
    int64_t element; /**< offset of the present element */
    uint32_t block;
    uint64_t run;  /**< number of the present run of the block */
    uint64_t done; /**< bytes of it that are behind */
} osc_cached_cursor_t;

/** Go to the byte @p offset of the packed stream, which must exist. */
void osc_cached_cursor_seek(osc_cached_cursor_t *cursor, const osc_cached_layout_t *layout,
                            uint64_t offset);

/**
 * Take the next bytes that lie together, at most @p most (at least 1).
 *
 * @return how many; @p offset is where they are, from the first element's origin
 */
uint64_t osc_cached_cursor_next(osc_cached_cursor_t *cursor, uint64_t most, int64_t *offset);

/**
 * Copy @p bytes bytes from the cursor on out of memory or into it. @p memory is the first element's
 * origin.
 */
void osc_cached_cursor_pack(osc_cached_cursor_t *cursor, const char *memory, void *to,
                            uint64_t bytes);
void osc_cached_cursor_unpack(osc_cached_cursor_t *cursor, char *memory, const void *from,
                              uint64_t bytes);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_layout_verify(const osc_cached_layout_t *layout);

#endif /* OSC_CACHED_LAYOUT_H */
