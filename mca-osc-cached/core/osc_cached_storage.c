/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Arena of line-aligned regions: see the header for layout and invariants.
 */
#include "osc_cached_storage.h"

#include <string.h>

#define LINE OSC_CACHED_STORAGE_LINE
#define NONE OSC_CACHED_STORAGE_NONE
#define HUGE_PAGE ((size_t) 2 << 20) /* bytes, of x86_64, and of aarch64 with 4 KiB pages */
#define SMALL_PAGE ((size_t) 4096)   /* bytes; the smallest of all systems */

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if !defined(WITH_ASAN) && defined(OSC_CACHED_VALGRIND) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#define WITH_VALGRIND 1
#endif
#endif

#if defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>
#define REDZONE 1
#define POISON(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define UNPOISON(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#elif defined(WITH_VALGRIND)
#include <valgrind/memcheck.h>
#define REDZONE 1
#define POISON(memory, bytes) VALGRIND_MAKE_MEM_NOACCESS(memory, bytes)
#define UNPOISON(memory, bytes) VALGRIND_MAKE_MEM_UNDEFINED(memory, bytes)
#else
#define REDZONE 0
#define POISON(memory, bytes) ((void) (memory), (void) (bytes))
#define UNPOISON(memory, bytes) ((void) (memory), (void) (bytes))
#endif

typedef osc_cached_region_t region_t;

_Static_assert(32 == sizeof(region_t), "two descriptors per cache line");
_Static_assert(offsetof(region_t, lines) == offsetof(region_t, hole.size)
                   && offsetof(region_t, begin) == offsetof(region_t, hole.address),
               "used and free regions have their place in the same fields");

/* Lines of a region for this many bytes, or 0 when there is no such number. */
static uint32_t lines_for(size_t bytes)
{
    uint64_t lines = (uint64_t) bytes / LINE + (0 != bytes % LINE) + REDZONE;

    return (0 == bytes || lines >= UINT32_MAX) ? 0 : (uint32_t) lines;
}

static uint8_t slack_for(size_t bytes)
{
    return (uint8_t) ((LINE - bytes % LINE) % LINE);
}

/* Descriptors for this many used regions: those, a hole before each and one at the end. */
static uint32_t descriptors_for(uint32_t max_regions, uint32_t lines)
{
    uint32_t most = 2 * max_regions + 1;

    return (most < lines) ? most : lines;
}

/* Blocks */

/* A block of less than a page may share it with others; _prefault steps from page to page. */
static void *block_get(const osc_cached_alloc_t *alloc, size_t bytes)
{
    size_t alignment = (bytes < SMALL_PAGE) ? LINE : (bytes < HUGE_PAGE) ? SMALL_PAGE : HUGE_PAGE;

    return alloc->alloc(alloc->context, alignment, bytes);
}

static char *arena_get(const osc_cached_alloc_t *alloc, uint32_t lines)
{
    size_t bytes = (size_t) lines * LINE;
    char *arena = block_get(alloc, bytes);

    if (NULL != arena) {
        POISON(arena, bytes);
    }
    return arena;
}

static void arena_put(const osc_cached_alloc_t *alloc, char *arena, uint32_t lines)
{
    UNPOISON(arena, (size_t) lines * LINE);
    alloc->free(alloc->context, arena, (size_t) lines * LINE);
}

static region_t *pool_get(const osc_cached_alloc_t *alloc, uint32_t descriptors)
{
    return block_get(alloc, (size_t) descriptors * sizeof(region_t));
}

/* Descriptors */

static uint32_t descriptor_get(osc_cached_storage_t *storage)
{
    uint32_t index = storage->unused;

    if (NONE != index) {
        storage->unused = storage->regions[index].next;
    } else if (storage->num_fresh < storage->num_descriptors) {
        index = storage->num_fresh++;
    }
    return index;
}

static void descriptor_put(osc_cached_storage_t *storage, uint32_t index)
{
    storage->regions[index].used = 0;
    storage->regions[index].next = storage->unused;
    storage->unused = index;
}

/* The list */

/* Put a descriptor between prev and the region after it; prev NONE: at the head. */
static void link_after(osc_cached_storage_t *storage, uint32_t index, uint32_t prev)
{
    region_t *regions = storage->regions;
    uint32_t next = (NONE == prev) ? storage->head : regions[prev].next;

    regions[index].prev = prev;
    regions[index].next = next;
    if (NONE == prev) {
        storage->head = index;
    } else {
        regions[prev].next = index;
    }
    if (NONE == next) {
        storage->tail = index;
    } else {
        regions[next].prev = index;
    }
}

static void unlink_region(osc_cached_storage_t *storage, uint32_t index)
{
    region_t *regions = storage->regions;
    uint32_t prev = regions[index].prev;
    uint32_t next = regions[index].next;

    if (NONE == prev) {
        storage->head = next;
    } else {
        regions[prev].next = next;
    }
    if (NONE == next) {
        storage->tail = prev;
    } else {
        regions[next].prev = prev;
    }
}

static bool is_free(const osc_cached_storage_t *storage, uint32_t index)
{
    return NONE != index && !storage->regions[index].used;
}

/* Add to d_c of a used region; at the ends of the arena there is none. */
static void adjacent_add(osc_cached_storage_t *storage, uint32_t index, uint32_t lines)
{
    if (NONE != index) {
        storage->regions[index].adjacent += lines;
    }
}

/* Holes. The size and place of a hole change only between hole_close and hole_open. */

static void hole_open(osc_cached_storage_t *storage, uint32_t index)
{
    storage->regions[index].used = 0;
    (void) osc_cached_avl_insert(&storage->holes, index);
}

static void hole_close(osc_cached_storage_t *storage, uint32_t index)
{
    (void) osc_cached_avl_remove(&storage->holes, index);
}

/* A hole, out of the tree, of which nothing is left. */
static void hole_drop(osc_cached_storage_t *storage, uint32_t index)
{
    unlink_region(storage, index);
    descriptor_put(storage, index);
}

/* All from the end of the last region to the capacity becomes a hole; the tail is used, or NONE. */
static void tail_open(osc_cached_storage_t *storage)
{
    uint32_t last = storage->tail;
    uint32_t begin = 0;
    uint32_t index;

    if (NONE != last) {
        begin = storage->regions[last].begin + storage->regions[last].lines;
    }
    if (begin == storage->capacity) {
        return;
    }
    index = descriptor_get(storage);
    storage->regions[index].begin = begin;
    storage->regions[index].lines = storage->capacity - begin;
    link_after(storage, index, last);
    hole_open(storage, index);
    adjacent_add(storage, last, storage->capacity - begin);
}

/* The reverse, if the tail is a hole. */
static void tail_close(osc_cached_storage_t *storage)
{
    uint32_t last = storage->tail;

    if (is_free(storage, last)) {
        adjacent_add(storage, storage->regions[last].prev, -storage->regions[last].lines);
        hole_close(storage, last);
        hole_drop(storage, last);
    }
}

/* Life */

static void reset(osc_cached_storage_t *storage)
{
    osc_cached_avl_clear(&storage->holes);
    storage->num_fresh = 0;
    storage->unused = NONE;
    storage->head = NONE;
    storage->tail = NONE;
    storage->num_used = 0;
    storage->used_lines = 0;
    tail_open(storage);
}

static bool capacity_lines(uint64_t capacity, uint32_t *lines)
{
    if (capacity < LINE || capacity > OSC_CACHED_STORAGE_MAX_CAPACITY || capacity > SIZE_MAX) {
        return false;
    }
    *lines = (uint32_t) (capacity / LINE);
    return true;
}

int osc_cached_storage_create(osc_cached_storage_t *storage, uint64_t capacity,
                              uint32_t max_regions, const osc_cached_alloc_t *alloc)
{
    osc_cached_storage_t made;

    memset(&made, 0, sizeof(made));
    if (!capacity_lines(capacity, &made.capacity) || 0 == max_regions
        || OSC_CACHED_STORAGE_MAX_REGIONS < max_regions) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    made.alloc = (NULL != alloc) ? *alloc : osc_cached_alloc_default;
    made.max_regions = max_regions;
    made.redzone = REDZONE;
    made.num_descriptors = descriptors_for(max_regions, made.capacity);
    made.regions = pool_get(&made.alloc, made.num_descriptors);
    if (NULL == made.regions) {
        return OSC_CACHED_NO_MEMORY;
    }
    made.arena = arena_get(&made.alloc, made.capacity);
    if (NULL == made.arena) {
        made.alloc.free(made.alloc.context, made.regions,
                        (size_t) made.num_descriptors * sizeof(region_t));
        return OSC_CACHED_NO_MEMORY;
    }
    osc_cached_avl_rebase(&made.holes, &made.regions[0].hole, sizeof(region_t),
                          made.num_descriptors);
    reset(&made);
    *storage = made;
    return OSC_CACHED_OK;
}

void osc_cached_storage_destroy(osc_cached_storage_t *storage)
{
    const osc_cached_alloc_t *alloc = &storage->alloc;

    if (NULL == storage->arena) {
        return;
    }
    arena_put(alloc, storage->arena, storage->capacity);
    alloc->free(alloc->context, storage->regions,
                (size_t) storage->num_descriptors * sizeof(region_t));
    storage->arena = NULL;
    storage->regions = NULL;
}

void osc_cached_storage_clear(osc_cached_storage_t *storage)
{
    POISON(storage->arena, (size_t) storage->capacity * LINE);
    reset(storage);
}

/* Regions */

int osc_cached_storage_alloc(osc_cached_storage_t *storage, size_t bytes, uint32_t owner,
                             uint32_t *region)
{
    uint32_t lines = lines_for(bytes);
    uint32_t hole, left, index, prev;
    region_t *made;

    if (0 == bytes) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (0 == lines || lines > storage->capacity - storage->used_lines) {
        return OSC_CACHED_FULL;
    }
    if (storage->num_used == storage->max_regions) {
        return OSC_CACHED_NO_MEMORY;
    }
    hole = osc_cached_avl_cut(&storage->holes, lines);
    if (NONE == hole) {
        return OSC_CACHED_FULL;
    }
    prev = storage->regions[hole].prev;
    left = storage->regions[hole].lines;
    adjacent_add(storage, prev, -(left + lines));
    adjacent_add(storage, storage->regions[hole].next, -lines);
    /* If nothing is left of the hole, its descriptor becomes that of the region. Else there is an
     * unused one: 2 * max_regions + 1 are enough for one more used region, or one per line. */
    index = (0 == left) ? hole : descriptor_get(storage);
    made = &storage->regions[index];
    made->begin = storage->regions[hole].begin - lines;
    made->lines = lines;
    made->adjacent = left;
    if (index != hole) {
        link_after(storage, index, prev);
    }
    made->owner = owner;
    made->used = 1;
    made->slack = slack_for(bytes);
    ++storage->num_used;
    storage->used_lines += lines;
    UNPOISON(osc_cached_storage_pointer(storage, index), bytes);
    *region = index;
    return OSC_CACHED_OK;
}

void osc_cached_storage_release(osc_cached_storage_t *storage, uint32_t region)
{
    region_t *regions = storage->regions;
    region_t *released = &regions[region];
    uint32_t before = released->prev;
    uint32_t behind = released->next;
    uint32_t lines = released->lines;
    uint32_t added_before = lines; /* to what the used region before the hole has next to it */
    uint32_t added_behind = lines;

    POISON(osc_cached_storage_pointer(storage, region), (size_t) lines * LINE);
    --storage->num_used;
    storage->used_lines -= lines;
    if (is_free(storage, behind)) {
        hole_close(storage, behind);
        added_before += regions[behind].lines;
        released->lines += regions[behind].lines;
        hole_drop(storage, behind);
    }
    if (is_free(storage, before)) {
        hole_close(storage, before);
        added_behind += regions[before].lines;
        released->begin = regions[before].begin;
        released->lines += regions[before].lines;
        hole_drop(storage, before);
    }
    adjacent_add(storage, released->prev, added_before);
    adjacent_add(storage, released->next, added_behind);
    hole_open(storage, region);
}

int osc_cached_storage_extend(osc_cached_storage_t *storage, uint32_t region, size_t bytes)
{
    region_t *used = &storage->regions[region];
    size_t old_bytes = osc_cached_storage_bytes(storage, region);
    uint32_t lines = lines_for(bytes);
    uint32_t more;

    if (bytes < old_bytes) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (0 == lines) {
        return OSC_CACHED_FULL;
    }
    more = lines - used->lines;
    if (0 < more) {
        uint32_t hole = used->next;

        if (!is_free(storage, hole) || storage->regions[hole].lines < more) {
            return OSC_CACHED_FULL;
        }
        hole_close(storage, hole);
        adjacent_add(storage, storage->regions[hole].next, -more);
        storage->regions[hole].begin += more;
        storage->regions[hole].lines -= more;
        if (0 < storage->regions[hole].lines) {
            hole_open(storage, hole);
        } else {
            hole_drop(storage, hole);
        }
        used->lines = lines;
        used->adjacent -= more;
        storage->used_lines += more;
    }
    used->slack = slack_for(bytes);
    UNPOISON((char *) osc_cached_storage_pointer(storage, region) + old_bytes, bytes - old_bytes);
    return OSC_CACHED_OK;
}

int osc_cached_storage_trim(osc_cached_storage_t *storage, uint32_t region, size_t bytes)
{
    region_t *used = &storage->regions[region];
    uint32_t old_lines = used->lines;
    uint32_t lines = lines_for(bytes);
    uint32_t less = old_lines - lines;
    uint32_t hole = used->next;

    if (0 == bytes || osc_cached_storage_bytes(storage, region) < bytes) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (0 < less) {
        uint32_t begin = used->begin + lines;

        if (is_free(storage, hole)) {
            hole_close(storage, hole);
            storage->regions[hole].lines += less;
        } else {
            hole = descriptor_get(storage);
            if (NONE == hole) {
                return OSC_CACHED_NO_MEMORY; /* the pool is large enough: not reached */
            }
            link_after(storage, hole, region);
            storage->regions[hole].lines = less;
        }
        storage->regions[hole].begin = begin;
        hole_open(storage, hole);
        adjacent_add(storage, storage->regions[hole].next, less);
        used->adjacent += less;
        used->lines = lines;
        storage->used_lines -= less;
    }
    used->slack = slack_for(bytes);
    POISON((char *) osc_cached_storage_pointer(storage, region) + bytes,
           (size_t) old_lines * LINE - bytes);
    return OSC_CACHED_OK;
}

/* Size */

static int pool_grow(osc_cached_storage_t *storage, uint32_t max_regions, uint32_t lines)
{
    uint32_t descriptors = descriptors_for(max_regions, lines);
    region_t *pool;

    if (descriptors > storage->num_descriptors) {
        pool = pool_get(&storage->alloc, descriptors);
        if (NULL == pool) {
            return OSC_CACHED_NO_MEMORY;
        }
        memcpy(pool, storage->regions, (size_t) storage->num_fresh * sizeof(region_t));
        storage->alloc.free(storage->alloc.context, storage->regions,
                            (size_t) storage->num_descriptors * sizeof(region_t));
        storage->regions = pool;
        storage->num_descriptors = descriptors;
        storage->touched = 0;
        osc_cached_avl_rebase(&storage->holes, &pool[0].hole, sizeof(region_t), descriptors);
    }
    return OSC_CACHED_OK;
}

int osc_cached_storage_reserve(osc_cached_storage_t *storage, uint32_t max_regions)
{
    int status;

    if (0 == max_regions || OSC_CACHED_STORAGE_MAX_REGIONS < max_regions) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (max_regions <= storage->max_regions) {
        return OSC_CACHED_OK;
    }
    status = pool_grow(storage, max_regions, storage->capacity);
    if (OSC_CACHED_OK == status) {
        storage->max_regions = max_regions;
    }
    return status;
}

/* Copy the data of all used regions to another block: one after the other, or as they are. */
static void copy_regions(const osc_cached_storage_t *storage, char *arena, bool compact)
{
    uint32_t line = 0;

    for (uint32_t i = osc_cached_storage_first(storage); NONE != i;
         i = osc_cached_storage_next(storage, i)) {
        const region_t *used = &storage->regions[i];
        size_t bytes = osc_cached_storage_bytes(storage, i);
        char *to = arena + (size_t) (compact ? line : used->begin) * LINE;

        UNPOISON(to, bytes);
        memcpy(to, osc_cached_storage_pointer(storage, i), bytes);
        line += used->lines;
    }
}

/* Give the descriptors the places that copy_regions gave the data. */
static void compact_list(osc_cached_storage_t *storage, osc_cached_storage_moved_fn_t moved,
                         void *context)
{
    uint32_t next, line = 0;

    osc_cached_avl_clear(&storage->holes);
    for (uint32_t i = storage->head; NONE != i; i = next) {
        region_t *region = &storage->regions[i];

        next = region->next;
        if (region->used) {
            bool changed = region->begin != line;

            region->begin = line;
            region->adjacent = 0;
            line += region->lines;
            if (changed) {
                moved(context, region->owner, (uint64_t) region->begin * LINE);
            }
        } else {
            hole_drop(storage, i);
        }
    }
}

int osc_cached_storage_resize(osc_cached_storage_t *storage, uint64_t capacity,
                              osc_cached_storage_moved_fn_t moved, void *context)
{
    uint32_t lines;
    uint32_t end = storage->capacity; /* of the used region with the highest address */
    bool compact;
    char *arena;

    if (!capacity_lines(capacity, &lines)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (lines == storage->capacity) {
        return OSC_CACHED_OK;
    }
    if (is_free(storage, storage->tail)) {
        end = storage->regions[storage->tail].begin;
    }
    compact = end > lines;
    if (storage->used_lines > lines || (compact && NULL == moved)) {
        return OSC_CACHED_FULL;
    }
    arena = arena_get(&storage->alloc, lines);
    if (NULL == arena) {
        return OSC_CACHED_NO_MEMORY;
    }
    if (OSC_CACHED_OK != pool_grow(storage, storage->max_regions, lines)) {
        arena_put(&storage->alloc, arena, lines);
        return OSC_CACHED_NO_MEMORY;
    }
    copy_regions(storage, arena, compact);
    arena_put(&storage->alloc, storage->arena, storage->capacity);
    storage->arena = arena;
    storage->touched = 0;
    if (compact) {
        storage->capacity = lines;
        compact_list(storage, moved, context);
    } else {
        tail_close(storage);
        storage->capacity = lines;
    }
    tail_open(storage);
    return OSC_CACHED_OK;
}

size_t osc_cached_storage_prefault(osc_cached_storage_t *storage, size_t bytes)
{
    size_t pool = (size_t) storage->num_descriptors * sizeof(region_t);
    size_t all = pool + (size_t) storage->capacity * LINE;
    size_t done = 0;

    while (storage->touched < all && done < bytes) {
        bool in_pool = storage->touched < pool;
        size_t rest = (in_pool ? pool : all) - storage->touched;
        size_t step = (rest < SMALL_PAGE) ? rest : SMALL_PAGE;

        if (!REDZONE) {
            volatile char *byte = in_pool ? (char *) storage->regions + storage->touched
                                          : storage->arena + (storage->touched - pool);
            bool data = in_pool ? storage->touched < storage->num_fresh * sizeof(region_t)
                                : 0 < storage->num_used;

            /* Reading a new page before writing to it would be a second fault. */
            *byte = data ? *byte : 0;
        }
        storage->touched += step;
        done += step;
    }
    return all - storage->touched;
}

/* Looking */

static uint32_t skip_holes(const osc_cached_storage_t *storage, uint32_t region)
{
    while (is_free(storage, region)) {
        region = storage->regions[region].next;
    }
    return region;
}

uint32_t osc_cached_storage_first(const osc_cached_storage_t *storage)
{
    return skip_holes(storage, storage->head);
}

uint32_t osc_cached_storage_next(const osc_cached_storage_t *storage, uint32_t region)
{
    return skip_holes(storage, storage->regions[region].next);
}

uint64_t osc_cached_storage_largest_free(const osc_cached_storage_t *storage)
{
    uint32_t last = osc_cached_avl_last(&storage->holes);

    return (NONE == last) ? 0 : (uint64_t) (storage->regions[last].lines - REDZONE) * LINE;
}

/* Verification */

typedef struct {
    uint32_t num_used;
    uint32_t num_free;
    uint32_t used_lines;
} sums_t;

static bool is_poisoned_right(const osc_cached_storage_t *storage, uint32_t index)
{
#if defined(WITH_ASAN)
    const region_t *region = &storage->regions[index];
    char *data = osc_cached_storage_pointer(storage, index);
    size_t all = (size_t) region->lines * LINE;

    if (region->used) {
        size_t bytes = osc_cached_storage_bytes(storage, index);

        return NULL == __asan_region_is_poisoned(data, bytes)
               && __asan_address_is_poisoned(data + bytes)
               && __asan_address_is_poisoned(data + all - 1);
    }
    return __asan_address_is_poisoned(data) && __asan_address_is_poisoned(data + all - 1);
#else
    (void) storage;
    (void) index;
    return true;
#endif
}

/* One region; its predecessor was found right. */
static int verify_region(const osc_cached_storage_t *storage, uint32_t index)
{
    const region_t *regions = storage->regions;
    const region_t *region = &regions[index];
    const region_t *prev = (NONE == region->prev) ? NULL : &regions[region->prev];
    uint32_t begin = (NULL == prev) ? 0 : prev->begin + prev->lines;
    uint32_t adjacent = 0;

    if (region->begin != begin || region->lines > storage->capacity - begin
        || (NONE != region->next && region->next >= storage->num_fresh)
        || (NONE == region->next ? storage->tail : regions[region->next].prev) != index
        || (NONE == region->next && begin + region->lines != storage->capacity)) {
        return 1;
    }
    if (0 == region->lines || (NULL != prev && !prev->used && !region->used)) {
        return 2;
    }
    if (!region->used) {
        if (osc_cached_avl_lower_bound(&storage->holes, region->lines, region->begin) != index) {
            return 4;
        }
    } else {
        adjacent += (NULL != prev && !prev->used) ? prev->lines : 0;
        adjacent += is_free(storage, region->next) ? regions[region->next].lines : 0;
        if (adjacent != region->adjacent) {
            return 5;
        }
        if (region->lines <= storage->redzone || region->slack >= LINE) {
            return 6;
        }
    }
    return 0;
}

int osc_cached_storage_verify(const osc_cached_storage_t *storage)
{
    sums_t sums = {0, 0, 0};
    uint32_t listed, num_unused = 0;
    int broken;

    if (storage->num_fresh > storage->num_descriptors) {
        return 3;
    }
    if (storage->head >= storage->num_fresh || NONE != storage->regions[storage->head].prev) {
        return 1;
    }
    if (storage->holes.capacity != storage->num_descriptors
        || 0 != osc_cached_avl_verify(&storage->holes)) {
        return 4;
    }
    for (uint32_t i = storage->head; NONE != i; i = storage->regions[i].next) {
        const region_t *region = &storage->regions[i];

        broken = verify_region(storage, i);
        if (0 != broken) {
            return broken;
        }
        if (region->used) {
            ++sums.num_used;
            sums.used_lines += region->lines;
        } else {
            ++sums.num_free;
        }
    }
    /* The addresses grow, so the list has no ring; this chain may have one if it is too long. */
    listed = sums.num_used + sums.num_free;
    for (uint32_t i = storage->unused; NONE != i && num_unused <= storage->num_fresh;
         i = storage->regions[i].next) {
        if (i >= storage->num_fresh) {
            return 3;
        }
        ++num_unused;
    }
    if (sums.num_used != storage->num_used || sums.used_lines != storage->used_lines
        || sums.num_used > storage->max_regions || listed + num_unused != storage->num_fresh) {
        return 3;
    }
    if (sums.num_free != storage->holes.count) {
        return 4;
    }
    for (uint32_t i = storage->head; NONE != i; i = storage->regions[i].next) {
        if (!is_poisoned_right(storage, i)) {
            return 7;
        }
    }
    return 0;
}
