/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The storage of the cache: one arena that is cut into used and free regions (the S_w of the
 * CLaMPI paper, IPDPS 2017, sections III-C2 and III-C3).
 *
 * Memory layout (the paper's Fig. 6). The arena is one block of bytes, seen in lines of 64 bytes;
 * every region begins at a line and is a whole number of lines. Each region, used or free, has a
 * descriptor, outside of the arena. Descriptors form a doubly linked list in the order of
 * addresses; those of free regions are also nodes of an AVL tree by (size, address):
 *
 *     arena   |##### A ####|....|### B ###|## C ##|.........|#### D ####|
 *             0            |    |         |       |         |         capacity
 *     list    head> A <-> free <-> B <-> C <-> free <-> D <tail
 *                          |                     |
 *     tree                 +----- by size -------+          best fit: lower_bound(size)
 *
 *     d_A = size of the first hole, d_B the same, d_C = d_D = size of the second one
 *
 * d_c, the free bytes adjacent to a used region, is what eviction's positional score needs; it is
 * a field of the descriptor, adjusted for at most two neighbours by each operation.
 *
 * A new region takes the start of the hole, so that what is left of the hole follows it and the
 * region can be extended in place. Releasing merges with the holes on both sides.
 *
 * Names. A region is named by the number of its descriptor, which stays the same while the region
 * lives, through any resize. An offset (bytes from the start of the arena) stays the same except
 * when shrinking has to compact; the `moved` callback tells. A pointer is good until the next
 * resize, which moves the arena to another block: keep region numbers or offsets, not pointers.
 *
 * Descriptors. The pool has room for max_regions used regions and the holes between them
 * (2 * max_regions + 1, or one per line of the arena if that is less; 32 bytes each). It grows in
 * _reserve and _resize only, and does not shrink. When max_regions are in use, _alloc says
 * OSC_CACHED_NO_MEMORY, and no other function can run out of descriptors.
 *
 * Memory is asked for in _create, _reserve and _resize, and given back in these and in _destroy:
 * released regions are recycled, so a page of the arena faults once, at most, and not at all
 * after _prefault. The arena is aligned to 2 MiB when it is that large. Huge pages are the
 * allocator's business: the glue passes one that maps and advises (madvise(MADV_HUGEPAGE)).
 *
 * Redzones. When this file is compiled with AddressSanitizer, or with OSC_CACHED_VALGRIND defined
 * and <valgrind/memcheck.h> present, every byte of the arena that is not data of a used region is
 * poisoned, and each region ends with one more line that is never used. Other builds have neither.
 *
 * Nothing here is thread-safe; the cache above holds its lock.
 *
 * Invariants (osc_cached_storage_verify returns the number of the first broken one):
 *  I1 next and prev mirror each other from head to tail; the first region begins at line 0, each
 *     other one where its predecessor ends, and the last one ends at the capacity.
 *  I2 no region is empty, and no two free regions are neighbours.
 *  I3 num_used and used_lines are the sums over the list, num_used <= max_regions, and every
 *     descriptor below num_fresh is in the list or in the chain of unused ones, once.
 *  I4 the tree obeys its own invariants, and holds the free regions and nothing else.
 *  I5 adjacent of a used region is the sum of the lines of its free neighbours.
 *  I6 a used region has at least one byte of data, and less than a line of slack.
 *  I7 with AddressSanitizer: data of used regions can be accessed, the byte after it and the ends
 *     of free regions cannot.
 *
 * Measured (Neoverse-V1, 2 cores under other load, gcc -O2, medians of batches of 64 calls under
 * churn with random victims, 1,000 / 100,000 used regions):
 *     sizes 2^0..2^16 B (45 / 800 holes):       _alloc  80 / 103 ns, _release 77 / 167 ns
 *     sizes 1..1024 B   (90 / 2,800 holes):     _alloc 102 / 131 ns, _release 90 / 185 ns
 *     _clear: 0.1 to 0.3 us at any number of regions
 *     first copy of 4 KiB into a new region: 1.6 to 2.0 us, after _prefault 0.2 to 0.3 us (4 KiB
 * pages) _prefault 0.4 ms per MiB; _resize 0.4 to 0.5 ms per MiB of used data, most of it page
 * faults occupancy under churn, sizes 2^0..2^16 B in 4 MiB, random victims: 91 % (mean)
 */
#ifndef OSC_CACHED_STORAGE_H
#define OSC_CACHED_STORAGE_H

#include "osc_cached_alloc.h"
#include "osc_cached_avl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a line: the unit of regions, and their alignment. */
#define OSC_CACHED_STORAGE_LINE 64

/** Largest arena in bytes: line numbers are 32 bits wide, and the last one means "none". */
#define OSC_CACHED_STORAGE_MAX_CAPACITY ((uint64_t) (UINT32_MAX - 1) * OSC_CACHED_STORAGE_LINE)

/** Most used regions that can be asked for. */
#define OSC_CACHED_STORAGE_MAX_REGIONS (UINT32_MAX / 2 - 1)

/** No region. */
#define OSC_CACHED_STORAGE_NONE UINT32_MAX

/** Descriptor. Two of them per cache line, and none across two. */
typedef struct osc_cached_region {
    union {
        osc_cached_avl_node_t hole; /**< free: size is lines, address is begin */
        struct {
            uint32_t begin;    /**< lines from the start of the arena */
            uint32_t lines;    /**< of the whole region, with its redzone */
            uint32_t owner;    /**< used: entry number, the caller's */
            uint32_t adjacent; /**< used: free lines next to it (d_c) */
        };
    };
    uint32_t prev; /**< region before this one, or NONE */
    uint32_t next; /**< region after this one, or NONE; unused descriptors: the next of them */
    uint8_t used;  /**< 1: used, 0: free or an unused descriptor */
    uint8_t slack; /**< used: bytes between the end of the data and the end of its last line */
} osc_cached_region_t;

typedef struct osc_cached_storage {
    osc_cached_alloc_t alloc;
    char *arena;
    osc_cached_region_t *regions; /**< the pool of descriptors */
    osc_cached_avl_t holes;       /**< free regions */
    uint32_t capacity;            /**< lines of the arena */
    uint32_t max_regions;         /**< used regions there are descriptors for */
    uint32_t num_descriptors;     /**< in the pool */
    uint32_t num_fresh;           /**< descriptors from this one on were never used */
    uint32_t unused;              /**< chain of descriptors that were used, or NONE */
    uint32_t head;                /**< region at the start of the arena */
    uint32_t tail;                /**< region at its end */
    uint32_t num_used;            /**< used regions */
    uint32_t used_lines;          /**< sum of the lines of used regions */
    uint32_t redzone;             /**< lines at the end of each used region: 1 or 0, see above */
    size_t touched; /**< bytes of the pool, then of the arena, that _prefault has seen */
} osc_cached_storage_t;

/**
 * Create an arena, all of it free.
 *
 * @param capacity     bytes, rounded down to lines; at least one line, at most MAX_CAPACITY
 * @param max_regions  used regions to have descriptors for: 1..MAX_REGIONS
 * @param alloc        NULL for osc_cached_alloc_default
 * @return OSC_CACHED_OK, OSC_CACHED_BAD_ARGUMENT or OSC_CACHED_NO_MEMORY
 */
int osc_cached_storage_create(osc_cached_storage_t *storage, uint64_t capacity,
                              uint32_t max_regions, const osc_cached_alloc_t *alloc);

/** Give all memory back. All regions and pointers end here. A second call does nothing. */
void osc_cached_storage_destroy(osc_cached_storage_t *storage);

/** Release all regions at once, in O(1). No region number is valid afterwards. */
void osc_cached_storage_clear(osc_cached_storage_t *storage);

/**
 * Get a region: best fit, of equal holes that with the lowest address. Its contents are undefined.
 * O(log holes).
 *
 * @param bytes   at least 1
 * @param owner   any number; given back by _owner and to the moved callback
 * @param region  set on success only
 * @return OSC_CACHED_OK; OSC_CACHED_FULL: no hole is large enough; OSC_CACHED_NO_MEMORY: there are
 *         max_regions used regions (see _reserve); OSC_CACHED_BAD_ARGUMENT: bytes is 0
 */
int osc_cached_storage_alloc(osc_cached_storage_t *storage, size_t bytes, uint32_t owner,
                             uint32_t *region);

/** Give a region back. O(log holes). */
void osc_cached_storage_release(osc_cached_storage_t *storage, uint32_t region);

/**
 * Make a region longer, in place; its contents stay.
 *
 * @param bytes  new length, not less than the present one
 * @return OSC_CACHED_OK; OSC_CACHED_FULL: no hole follows, or it is too small; nothing changed;
 *         OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_storage_extend(osc_cached_storage_t *storage, uint32_t region, size_t bytes);

/**
 * Make a region shorter, in place; the first bytes stay.
 *
 * @param bytes  new length: at least 1, not more than the present one
 * @return OSC_CACHED_OK or OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_storage_trim(osc_cached_storage_t *storage, uint32_t region, size_t bytes);

/**
 * Called for each region whose offset changes while a shrinking arena is compacted. It must not
 * call functions of this file.
 */
typedef void (*osc_cached_storage_moved_fn_t)(void *context, uint32_t owner, uint64_t new_offset);

/**
 * Change the capacity. No region is lost and contents stay; pointers change in all cases. The data
 * is copied to a new block, so for a moment both blocks exist. Growing changes no offset.
 * Shrinking changes offsets when used regions lie beyond the new end: then all are moved together.
 *
 * @param capacity  as in _create
 * @param moved     NULL: never change an offset
 * @return OSC_CACHED_OK, or with nothing changed: OSC_CACHED_FULL: the used regions do not fit, or
 *         do not without moving and moved is NULL; OSC_CACHED_NO_MEMORY; OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_storage_resize(osc_cached_storage_t *storage, uint64_t capacity,
                              osc_cached_storage_moved_fn_t moved, void *context);

/**
 * Have descriptors for at least this many used regions. Region numbers stay.
 *
 * @return OSC_CACHED_OK, or with nothing changed OSC_CACHED_NO_MEMORY or OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_storage_reserve(osc_cached_storage_t *storage, uint32_t max_regions);

/**
 * Touch pages of the descriptors and of the arena, so that no later call or copy faults. May be
 * called in steps, each of a few pages. To be called again after _resize and _reserve. In builds
 * with redzones it only counts.
 *
 * @param bytes  at most this many more; SIZE_MAX for all
 * @return bytes that are still to be touched
 */
size_t osc_cached_storage_prefault(osc_cached_storage_t *storage, size_t bytes);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_storage_verify(const osc_cached_storage_t *storage);

/** The used region with the lowest address, or NONE. */
uint32_t osc_cached_storage_first(const osc_cached_storage_t *storage);

/** The next used region in the order of addresses, or NONE. O(1). */
uint32_t osc_cached_storage_next(const osc_cached_storage_t *storage, uint32_t region);

/** Where a region's data is. Valid until the next resize. */
static inline void *osc_cached_storage_pointer(const osc_cached_storage_t *storage, uint32_t region)
{
    return storage->arena + (size_t) storage->regions[region].begin * OSC_CACHED_STORAGE_LINE;
}

/** The same from an offset: without a look at the descriptor. */
static inline void *osc_cached_storage_at(const osc_cached_storage_t *storage, uint64_t offset)
{
    return storage->arena + offset;
}

/** Bytes from the start of the arena to the region. */
static inline uint64_t osc_cached_storage_offset(const osc_cached_storage_t *storage,
                                                 uint32_t region)
{
    return (uint64_t) storage->regions[region].begin * OSC_CACHED_STORAGE_LINE;
}

/** Bytes of data of a region, as asked for. */
static inline size_t osc_cached_storage_bytes(const osc_cached_storage_t *storage, uint32_t region)
{
    const osc_cached_region_t *descriptor = &storage->regions[region];

    return (size_t) (descriptor->lines - storage->redzone) * OSC_CACHED_STORAGE_LINE
           - descriptor->slack;
}

/** Free bytes next to a region, before and behind (the paper's d_c). */
static inline uint64_t osc_cached_storage_adjacent(const osc_cached_storage_t *storage,
                                                   uint32_t region)
{
    return (uint64_t) storage->regions[region].adjacent * OSC_CACHED_STORAGE_LINE;
}

static inline uint32_t osc_cached_storage_owner(const osc_cached_storage_t *storage,
                                                uint32_t region)
{
    return storage->regions[region].owner;
}

static inline void osc_cached_storage_set_owner(osc_cached_storage_t *storage, uint32_t region,
                                                uint32_t owner)
{
    storage->regions[region].owner = owner;
}

/** Bytes of the arena. */
static inline uint64_t osc_cached_storage_capacity(const osc_cached_storage_t *storage)
{
    return (uint64_t) storage->capacity * OSC_CACHED_STORAGE_LINE;
}

/** Bytes of the arena that used regions occupy: whole lines, with redzones. */
static inline uint64_t osc_cached_storage_used_bytes(const osc_cached_storage_t *storage)
{
    return (uint64_t) storage->used_lines * OSC_CACHED_STORAGE_LINE;
}

static inline uint64_t osc_cached_storage_free_bytes(const osc_cached_storage_t *storage)
{
    return (uint64_t) (storage->capacity - storage->used_lines) * OSC_CACHED_STORAGE_LINE;
}

/** Used regions. */
static inline uint32_t osc_cached_storage_num_regions(const osc_cached_storage_t *storage)
{
    return storage->num_used;
}

/** Free regions: the pieces that the free bytes are in. */
static inline uint32_t osc_cached_storage_num_holes(const osc_cached_storage_t *storage)
{
    return storage->holes.count;
}

/** The most bytes that _alloc could give now. O(log holes). */
uint64_t osc_cached_storage_largest_free(const osc_cached_storage_t *storage);

/** Bytes that the arena and the descriptors take, for a budget. */
static inline uint64_t osc_cached_storage_footprint(const osc_cached_storage_t *storage)
{
    return osc_cached_storage_capacity(storage)
           + (uint64_t) storage->num_descriptors * sizeof(osc_cached_region_t);
}

#endif /* OSC_CACHED_STORAGE_H */
