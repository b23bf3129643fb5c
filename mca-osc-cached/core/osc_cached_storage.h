/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The storage of the cache: one arena that is cut into used regions and holes (the S_w of the
 * CLaMPI paper, IPDPS 2017, sections III-C2 and III-C3), and the entries that describe them.
 *
 * Memory layout (the paper's Fig. 6). The arena is one block of bytes, seen in units of 16 bytes;
 * every region begins at a unit and is a whole number of units. Each region has one entry, a cache
 * line outside of the arena, which holds all that the cache knows of it: the key, the state, what
 * the scheme counts, the place. A hole is an entry, too: where others have their key it has its
 * links (osc_cached_holes.h). Entries form a doubly linked list in the order of addresses:
 *
 *     arena   |##### A ####|....|### B ###|## C ##|.........|#### D ####|
 *             0            |    |         |       |         |         capacity
 *     list    head> A <-> hole <-> B <-> C <-> hole <-> D <tail
 *                           |                    |
 *     holes                 +---- by size -------+
 *
 * A region ends where the next one begins, so its size is in no field. It may be larger than its
 * data: when no entry is left for the rest of a hole, the new region takes all of it.
 *
 * A new region takes the start of the hole, so that what is left of the hole follows it and the
 * region can be extended in place. Releasing merges with the holes on both sides.
 *
 * The hand is the region at which the search for those that leave begins (osc_cached_duel.h). It
 * is kept here, because only here is known what becomes of a region.
 *
 * Names. An entry is named by its number, which stays the same while the region lives, except in
 * _renumber. An offset (units from the start of the arena) stays the same until the next resize,
 * which moves the arena to another block and all regions together.
 *
 * Memory is asked for in _create and _resize, and given back in these and in _destroy; the array of
 * entries can be exchanged (_set_entries). The arena is aligned to 2 MiB when it is that large.
 * Huge pages are the allocator's business: the glue passes one that maps and advises
 * (madvise(MADV_HUGEPAGE)).
 *
 * Redzones. When this file is compiled with AddressSanitizer, or with OSC_CACHED_VALGRIND defined
 * and <valgrind/memcheck.h> present, holes are poisoned, and each used region ends with one more
 * unit that is poisoned as well. Other builds have neither.
 *
 * Nothing here is thread-safe; the cache above holds its lock.
 *
 * Invariants (osc_cached_storage_verify returns the number of the first broken one):
 *  I1 before and after mirror each other from head to tail; the first region begins at unit 0, each
 *     other one behind its predecessor, and all end at the capacity.
 *  I2 no region is empty, no two holes are neighbours, and a hole knows its size and place.
 *  I3 num_used and used_units are the sums over the list, and every entry below num_fresh is in
 *     the list or, MISSING, in the chain of free ones, once.
 *  I4 osc_cached_holes obeys its own invariants, and has as many as the list.
 *  I5 a used region has room for its bytes of data; holes and free entries have none.
 *  I6 the hand is in the list.
 *  I7 with AddressSanitizer: used regions can be accessed, their last unit and holes cannot.
 */
#ifndef OSC_CACHED_STORAGE_H
#define OSC_CACHED_STORAGE_H

#include "osc_cached_alloc.h"
#include "osc_cached_holes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a unit: what regions are multiples of, and their alignment. */
#define OSC_CACHED_STORAGE_UNIT 16

/** Largest arena in bytes: offsets are 32 bits wide. */
#define OSC_CACHED_STORAGE_MAX_CAPACITY ((uint64_t) (UINT32_MAX - 1) * OSC_CACHED_STORAGE_UNIT)

/** No entry. */
#define OSC_CACHED_STORAGE_NONE UINT32_MAX

typedef enum {
    OSC_CACHED_ENTRY_MISSING, /**< without a region, in the chain of free entries */
    OSC_CACHED_ENTRY_PENDING, /**< its bytes are being fetched */
    OSC_CACHED_ENTRY_CACHED,  /**< its bytes are here */
    OSC_CACHED_ENTRY_HOLE     /**< free bytes */
} osc_cached_state_t;

/** One cache line. */
typedef struct {
    union {
        struct {
            uint64_t address; /**< key */
            int32_t target;   /**< key */
            uint32_t layout;  /**< key, right behind the target */
            uint64_t stamp;   /**< the cache's: see Validity there */
        };
        osc_cached_avl_node_t hole; /**< HOLE; size and address in units */
    };
    uint32_t bytes;  /**< of data, which a move keeps; in a cache 0 unless CACHED */
    uint32_t offset; /**< of its region, in units */
    uint32_t before; /**< region before this one, or NONE */
    uint32_t after;  /**< region behind this one, or NONE; MISSING: the next free entry */
    uint32_t last;   /**< number of the last get that matched, its low half */
    uint32_t gap;    /**< mean distance of these gets */
    uint32_t fill;   /**< record that fills or extends it, or NONE */
    uint32_t pins;   /**< records that name it */
    /** of the cache when it was fetched; 32 bits: after 2^32 invalidations a dead entry that is
     * still here ages like a living one, and is still not served */
    uint32_t generation;
    uint16_t count; /**< of its gets, decaying, in 1/256 (osc_cached_duel.h) */
    uint8_t state;  /**< osc_cached_state_t */
} __attribute__((__aligned__(64))) osc_cached_entry_t;

typedef struct {
    osc_cached_alloc_t alloc;
    char *arena;
    osc_cached_entry_t *entries;
    osc_cached_holes_t holes;
    uint32_t capacity;    /**< units of the arena */
    uint32_t max_entries; /**< size of the array */
    uint32_t num_fresh;   /**< no region has an entry from this one on */
    uint32_t free_entry;  /**< chain of free entries, or NONE */
    uint32_t head;        /**< region at the start of the arena */
    uint32_t tail;        /**< region at its end */
    uint32_t hand;        /**< region at which the next search for victims begins */
    uint32_t num_used;    /**< used regions */
    uint32_t used_units;  /**< of these */
    uint32_t redzone;     /**< units at the end of each used region: 1 or 0, see above */
} osc_cached_storage_t;

/**
 * Create an arena, all of it free.
 *
 * @param capacity     bytes, rounded down to units; at least one unit, at most MAX_CAPACITY
 * @param max_entries  regions and holes together, at least 2
 * @param alloc        NULL for osc_cached_alloc_default
 * @return OSC_CACHED_OK, OSC_CACHED_BAD_ARGUMENT or OSC_CACHED_NO_MEMORY
 */
int osc_cached_storage_create(osc_cached_storage_t *storage, uint64_t capacity,
                              uint32_t max_entries, osc_cached_holes_kind_t kind,
                              const osc_cached_alloc_t *alloc);

/** Give all memory back. All regions and pointers end here. A second call does nothing. */
void osc_cached_storage_destroy(osc_cached_storage_t *storage);

/** All regions end: the arena is one hole, as after _create. O(1). */
void osc_cached_storage_clear(osc_cached_storage_t *storage);

/** Find holes in this way from now on. O(regions). */
void osc_cached_storage_set_holes(osc_cached_storage_t *storage, osc_cached_holes_kind_t kind);

/** Units of a region for this many bytes; 0: there is no such number. */
static inline uint32_t osc_cached_storage_units_for(const osc_cached_storage_t *storage,
                                                    size_t bytes)
{
    uint64_t units = (uint64_t) bytes / OSC_CACHED_STORAGE_UNIT
                     + (0 != bytes % OSC_CACHED_STORAGE_UNIT) + storage->redzone;

    return (0 == bytes || UINT32_MAX <= units) ? 0 : (uint32_t) units;
}

/**
 * Use a hole, if one that is large enough is found. The contents are undefined.
 *
 * @param bytes  at least 1
 * @return the entry, PENDING, of which state, offset, neighbours, bytes, pins and fill are set; or
 *         NONE
 */
uint32_t osc_cached_storage_alloc(osc_cached_storage_t *storage, size_t bytes);

/**
 * Use neighbouring regions and holes, which end, and the start of them becomes a new region. They
 * are large enough. The hand moves to what follows.
 *
 * @param first  of them; stays the number of the new one
 * @return first
 */
uint32_t osc_cached_storage_replace(osc_cached_storage_t *storage, uint32_t first, uint32_t regions,
                                    size_t bytes);

/** Give a region back: a hole, or a part of one. */
void osc_cached_storage_release(osc_cached_storage_t *storage, uint32_t number);

/**
 * Make a region longer, in place; its contents stay.
 *
 * @return whether there is room for so many bytes; if not, nothing changed
 */
bool osc_cached_storage_extend(osc_cached_storage_t *storage, uint32_t number, size_t bytes);

/**
 * Change the capacity. No region is lost and contents stay; all are moved together at the start of
 * a new block, so for a moment both blocks exist.
 *
 * @param capacity  as in _create
 * @return OSC_CACHED_OK, or with nothing changed: OSC_CACHED_FULL: the used regions do not fit;
 *         OSC_CACHED_NO_MEMORY; OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_storage_resize(osc_cached_storage_t *storage, uint64_t capacity);

/** Called for each used region that gets another number. It must not call functions of this file.
 */
typedef void (*osc_cached_storage_moved_fn_t)(void *context, uint32_t from, uint32_t to);

/**
 * Give all entries numbers below a limit. When holes are in the way, all regions are moved
 * together, which needs another arena for a moment.
 *
 * @return OSC_CACHED_OK, or with no number changed: OSC_CACHED_FULL: there are more used regions;
 *         OSC_CACHED_NO_MEMORY
 */
int osc_cached_storage_renumber(osc_cached_storage_t *storage, uint32_t limit,
                                osc_cached_storage_moved_fn_t moved, void *context);

/** Another array of entries, of the same allocator; all numbers in use are below its size. */
void osc_cached_storage_set_entries(osc_cached_storage_t *storage, osc_cached_entry_t *entries,
                                    uint32_t max_entries);

/** Touch pages that were never used, so that no later call or copy faults: right after _create,
 * _resize and _set_entries, when all regions are together. */
void osc_cached_storage_prefault(osc_cached_storage_t *storage);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_storage_verify(const osc_cached_storage_t *storage);

/** Where the data at an offset is. Valid until the next resize. */
static inline void *osc_cached_storage_at(const osc_cached_storage_t *storage, uint32_t offset)
{
    return storage->arena + (size_t) offset * OSC_CACHED_STORAGE_UNIT;
}

/** Units of a region or hole. */
static inline uint32_t osc_cached_storage_units(const osc_cached_storage_t *storage,
                                                uint32_t number)
{
    const osc_cached_entry_t *entry = &storage->entries[number];
    uint32_t end = (OSC_CACHED_STORAGE_NONE == entry->after)
                       ? storage->capacity
                       : storage->entries[entry->after].offset;

    return end - entry->offset;
}

/** Bytes that a used region has room for. */
static inline size_t osc_cached_storage_room(const osc_cached_storage_t *storage, uint32_t number)
{
    return (size_t) (osc_cached_storage_units(storage, number) - storage->redzone)
           * OSC_CACHED_STORAGE_UNIT;
}

static inline bool osc_cached_storage_is_hole(const osc_cached_storage_t *storage, uint32_t number)
{
    return OSC_CACHED_STORAGE_NONE != number
           && OSC_CACHED_ENTRY_HOLE == storage->entries[number].state;
}

/** Free bytes next to a region, before and behind (the paper's d_c). */
static inline uint64_t osc_cached_storage_adjacent(const osc_cached_storage_t *storage,
                                                   uint32_t number)
{
    const osc_cached_entry_t *entries = storage->entries;
    uint32_t before = entries[number].before, after = entries[number].after;
    uint64_t units = 0;

    if (osc_cached_storage_is_hole(storage, before)) {
        units += entries[before].hole.size;
    }
    if (osc_cached_storage_is_hole(storage, after)) {
        units += entries[after].hole.size;
    }
    return units * OSC_CACHED_STORAGE_UNIT;
}

/** Bytes of the arena. */
static inline uint64_t osc_cached_storage_capacity(const osc_cached_storage_t *storage)
{
    return (uint64_t) storage->capacity * OSC_CACHED_STORAGE_UNIT;
}

/** Bytes of the arena that used regions occupy: whole units, with redzones. */
static inline uint64_t osc_cached_storage_used_bytes(const osc_cached_storage_t *storage)
{
    return (uint64_t) storage->used_units * OSC_CACHED_STORAGE_UNIT;
}

#endif /* OSC_CACHED_STORAGE_H */
