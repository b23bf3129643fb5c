/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Arena and entries: see the header for layout and invariants.
 */
#include "osc_cached_storage.h"

#include <string.h>

#define UNIT OSC_CACHED_STORAGE_UNIT
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

typedef osc_cached_entry_t entry_t;

_Static_assert(64 == sizeof(entry_t), "an entry is a cache line");
_Static_assert(offsetof(entry_t, target) + 4 == offsetof(entry_t, layout),
               "osc_cached_cache_match compares both at once");

/* The arena */

static char *arena_get(const osc_cached_alloc_t *alloc, uint32_t units)
{
    size_t bytes = (size_t) units * UNIT;
    size_t alignment = (bytes < SMALL_PAGE) ? 64 : (bytes < HUGE_PAGE) ? SMALL_PAGE : HUGE_PAGE;
    char *arena = alloc->alloc(alloc->context, alignment, bytes);

    if (NULL != arena) {
        POISON(arena, bytes);
    }
    return arena;
}

static void arena_put(const osc_cached_alloc_t *alloc, char *arena, uint32_t units)
{
    UNPOISON(arena, (size_t) units * UNIT);
    alloc->free(alloc->context, arena, (size_t) units * UNIT);
}

/* Entries */

static uint32_t take_entry(osc_cached_storage_t *storage)
{
    uint32_t number = storage->free_entry;

    if (NONE != number) {
        storage->free_entry = storage->entries[number].after;
    } else if (storage->num_fresh < storage->max_entries) {
        number = storage->num_fresh++;
    }
    return number;
}

static void free_entry(osc_cached_storage_t *storage, uint32_t number)
{
    entry_t *entry = &storage->entries[number];

    entry->state = OSC_CACHED_ENTRY_MISSING;
    entry->bytes = 0;
    entry->pins = 0;
    entry->after = storage->free_entry;
    storage->free_entry = number;
}

/* The list */

/* Who follows a region, or begins the arena, becomes another one. */
static void set_after(osc_cached_storage_t *storage, uint32_t number, uint32_t after)
{
    if (NONE == number) {
        storage->head = after;
    } else {
        storage->entries[number].after = after;
    }
    if (NONE == after) {
        storage->tail = number;
    } else {
        storage->entries[after].before = number;
    }
}

/* A region ends; another one has its bytes. */
static void drop(osc_cached_storage_t *storage, uint32_t number, uint32_t heir)
{
    set_after(storage, storage->entries[number].before, storage->entries[number].after);
    if (number == storage->hand) {
        storage->hand = heir;
    }
    free_entry(storage, number);
}

/* Make an entry, which is in the list, the hole at its place, or change one between
 * osc_cached_holes_remove and this. */
static void open_hole(osc_cached_storage_t *storage, uint32_t number, uint32_t offset,
                      uint32_t units)
{
    entry_t *entry = &storage->entries[number];

    entry->state = OSC_CACHED_ENTRY_HOLE;
    entry->bytes = 0;
    entry->pins = 0;
    entry->offset = offset;
    entry->hole.address = offset;
    entry->hole.size = units;
    osc_cached_holes_add(&storage->holes, number);
}

/* All from the end of the last region to the capacity becomes a hole; the tail is used, or NONE. */
static void open_tail(osc_cached_storage_t *storage, uint32_t begin)
{
    uint32_t number;

    if (begin < storage->capacity) {
        number = take_entry(storage);
        set_after(storage, storage->tail, number);
        set_after(storage, number, NONE);
        open_hole(storage, number, begin, storage->capacity - begin);
    }
    storage->hand = storage->head;
}

/* A region, which is in the list and not a hole, is used. */
static void begin_use(osc_cached_storage_t *storage, uint32_t number, uint32_t units, size_t bytes)
{
    entry_t *entry = &storage->entries[number];

    entry->state = OSC_CACHED_ENTRY_PENDING;
    entry->bytes = (uint32_t) bytes;
    entry->pins = 0;
    entry->fill = NONE;
    ++storage->num_used;
    storage->used_units += units;
    UNPOISON(osc_cached_storage_at(storage, entry->offset), (size_t) (units - REDZONE) * UNIT);
}

/* Life */

static bool capacity_units(uint64_t capacity, uint32_t *units)
{
    if (capacity < UNIT || capacity > OSC_CACHED_STORAGE_MAX_CAPACITY || capacity > SIZE_MAX) {
        return false;
    }
    *units = (uint32_t) (capacity / UNIT);
    return true;
}

int osc_cached_storage_create(osc_cached_storage_t *storage, uint64_t capacity,
                              uint32_t max_entries, osc_cached_holes_kind_t kind,
                              const osc_cached_alloc_t *alloc)
{
    osc_cached_storage_t made;

    memset(&made, 0, sizeof(made));
    if (!capacity_units(capacity, &made.capacity) || max_entries < 2 || NONE == max_entries) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    made.alloc = (NULL != alloc) ? *alloc : osc_cached_alloc_default;
    made.max_entries = max_entries;
    made.redzone = REDZONE;
    made.entries = made.alloc.alloc(made.alloc.context, 64, (size_t) max_entries * sizeof(entry_t));
    if (NULL == made.entries) {
        return OSC_CACHED_NO_MEMORY;
    }
    made.arena = arena_get(&made.alloc, made.capacity);
    if (NULL == made.arena) {
        made.alloc.free(made.alloc.context, made.entries, (size_t) max_entries * sizeof(entry_t));
        return OSC_CACHED_NO_MEMORY;
    }
    osc_cached_holes_rebase(&made.holes, &made.entries[0].hole, sizeof(entry_t), max_entries);
    made.holes.kind = kind;
    osc_cached_storage_clear(&made);
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
    alloc->free(alloc->context, storage->entries, (size_t) storage->max_entries * sizeof(entry_t));
    storage->arena = NULL;
    storage->entries = NULL;
}

void osc_cached_storage_clear(osc_cached_storage_t *storage)
{
    POISON(storage->arena, (size_t) storage->capacity * UNIT);
    storage->num_fresh = storage->num_used = storage->used_units = 0;
    storage->free_entry = storage->head = storage->tail = NONE;
    osc_cached_holes_clear(&storage->holes, storage->holes.kind);
    open_tail(storage, 0);
}

void osc_cached_storage_set_holes(osc_cached_storage_t *storage, osc_cached_holes_kind_t kind)
{
    if (kind == storage->holes.kind) {
        return;
    }
    osc_cached_holes_clear(&storage->holes, kind);
    for (uint32_t i = storage->head; NONE != i; i = storage->entries[i].after) {
        if (osc_cached_storage_is_hole(storage, i)) {
            osc_cached_holes_add(&storage->holes, i);
        }
    }
}

/* Regions */

/* A new region at the start of a hole, which is larger, and stays where it is found. */
static uint32_t split_hole(osc_cached_storage_t *storage, uint32_t number, uint32_t units)
{
    uint32_t region = take_entry(storage);
    entry_t *entry, *hole = &storage->entries[number];

    if (NONE != region) {
        entry = &storage->entries[region];
        entry->offset = hole->offset;
        entry->before = hole->before;
        entry->after = number;
        if (NONE == hole->before) {
            storage->head = region;
        } else {
            storage->entries[hole->before].after = region;
        }
        hole->before = region;
        hole->offset += units;
        osc_cached_holes_cut(&storage->holes, number, units);
        storage->hand = (number == storage->hand) ? region : storage->hand;
    }
    return region;
}

uint32_t osc_cached_storage_alloc(osc_cached_storage_t *storage, size_t bytes)
{
    uint32_t units = osc_cached_storage_units_for(storage, bytes), hole, number, have;

    if (0 == units || storage->capacity - storage->used_units < units
        || NONE == (hole = osc_cached_holes_find(&storage->holes, units))) {
        return NONE;
    }
    have = storage->entries[hole].hole.size;
    number = (units < have) ? split_hole(storage, hole, units) : NONE;
    if (NONE == number) {
        osc_cached_holes_remove(&storage->holes, hole);
        number = hole;
        units = have;
    }
    begin_use(storage, number, units, bytes);
    return number;
}

/* A region is not used any more. */
static void end_use(osc_cached_storage_t *storage, uint32_t number, uint32_t units)
{
    POISON(osc_cached_storage_at(storage, storage->entries[number].offset), (size_t) units * UNIT);
    --storage->num_used;
    storage->used_units -= units;
}

/* Neighbouring regions and holes end, and the first of them is so large, or larger when no entry is
 * left for the rest. @return its units */
static uint32_t merge(osc_cached_storage_t *storage, uint32_t first, uint32_t regions,
                      uint32_t units)
{
    const entry_t *entries = storage->entries;
    uint32_t number = first, next, have;

    for (uint32_t i = 0; i < regions; ++i, number = next) {
        next = entries[number].after;
        if (OSC_CACHED_ENTRY_HOLE == entries[number].state) {
            osc_cached_holes_remove(&storage->holes, number);
        } else {
            end_use(storage, number, osc_cached_storage_units(storage, number));
        }
        if (0 < i) {
            drop(storage, number, first);
        }
    }
    have = osc_cached_storage_units(storage, first);
    if (units < have) {
        /* what it does not need is a hole, together with one that follows */
        number = entries[first].after;
        if (osc_cached_storage_is_hole(storage, number)) {
            osc_cached_holes_remove(&storage->holes, number);
            open_hole(storage, number, entries[first].offset + units,
                      entries[number].hole.size + have - units);
            have = units;
        } else if (NONE != (next = take_entry(storage))) {
            set_after(storage, next, number);
            set_after(storage, first, next);
            open_hole(storage, next, entries[first].offset + units, have - units);
            have = units;
        }
    }
    return have;
}

uint32_t osc_cached_storage_replace(osc_cached_storage_t *storage, uint32_t first, uint32_t regions,
                                    size_t bytes)
{
    const entry_t *entry = &storage->entries[first];
    uint32_t units = osc_cached_storage_units_for(storage, bytes);

    if (1 == regions && OSC_CACHED_ENTRY_HOLE != entry->state
        && units == osc_cached_storage_units(storage, first)) {
        end_use(storage, first, units); /* data of one size: one leaves for the other */
    } else {
        units = merge(storage, first, regions, units);
    }
    begin_use(storage, first, units, bytes);
    storage->hand = (NONE == entry->after) ? storage->head : entry->after;
    return first;
}

void osc_cached_storage_release(osc_cached_storage_t *storage, uint32_t number)
{
    const entry_t *entries = storage->entries;
    uint32_t before = entries[number].before, after = entries[number].after;
    uint32_t units = osc_cached_storage_units(storage, number);

    end_use(storage, number, units);
    if (osc_cached_storage_is_hole(storage, after)) {
        osc_cached_holes_remove(&storage->holes, after);
        units += entries[after].hole.size;
        drop(storage, after, number);
    }
    if (osc_cached_storage_is_hole(storage, before)) {
        osc_cached_holes_remove(&storage->holes, before);
        units += entries[before].hole.size;
        drop(storage, number, before);
        number = before;
    }
    open_hole(storage, number, entries[number].offset, units);
}

bool osc_cached_storage_extend(osc_cached_storage_t *storage, uint32_t number, size_t bytes)
{
    const entry_t *entries = storage->entries;
    uint32_t units = osc_cached_storage_units_for(storage, bytes);
    uint32_t have = osc_cached_storage_units(storage, number), more = units - have;
    uint32_t hole = entries[number].after, rest;

    if (0 == units) {
        return false;
    }
    if (units <= have) {
        return true;
    }
    if (!osc_cached_storage_is_hole(storage, hole) || entries[hole].hole.size < more) {
        return false;
    }
    rest = entries[hole].hole.size - more;
    osc_cached_holes_remove(&storage->holes, hole);
    if (0 < rest) {
        open_hole(storage, hole, entries[hole].offset + more, rest);
    } else {
        drop(storage, hole, number);
    }
    storage->used_units += more;
    UNPOISON(osc_cached_storage_at(storage, entries[number].offset + have - REDZONE),
             (size_t) more * UNIT);
    return true;
}

/* Size */

/* Move all regions together, into a new arena. */
static int move_together(osc_cached_storage_t *storage, uint32_t capacity)
{
    uint32_t hand = osc_cached_storage_is_hole(storage, storage->hand) ? NONE : storage->hand;
    uint32_t next, end = 0;
    char *arena;

    if (storage->num_used == storage->max_entries && storage->used_units < capacity) {
        return OSC_CACHED_FULL; /* no entry for the hole at the end */
    }
    arena = arena_get(&storage->alloc, capacity);
    if (NULL == arena) {
        return OSC_CACHED_NO_MEMORY;
    }
    for (uint32_t i = storage->head; NONE != i; i = next) {
        entry_t *entry = &storage->entries[i];
        uint32_t units = osc_cached_storage_units(storage, i);
        char *to = arena + (size_t) end * UNIT;

        next = entry->after;
        if (OSC_CACHED_ENTRY_HOLE == entry->state) {
            drop(storage, i, i);
            continue;
        }
        UNPOISON(to, (size_t) (units - REDZONE) * UNIT);
        memcpy(to, osc_cached_storage_at(storage, entry->offset), entry->bytes);
        entry->offset = end;
        end += units;
    }
    arena_put(&storage->alloc, storage->arena, storage->capacity);
    storage->arena = arena;
    storage->capacity = capacity;
    osc_cached_holes_clear(&storage->holes, storage->holes.kind);
    open_tail(storage, end);
    if (NONE != hand) {
        storage->hand = hand;
    }
    return OSC_CACHED_OK;
}

int osc_cached_storage_resize(osc_cached_storage_t *storage, uint64_t capacity)
{
    uint32_t units;

    if (!capacity_units(capacity, &units)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (units == storage->capacity) {
        return OSC_CACHED_OK;
    }
    return (units < storage->used_units) ? OSC_CACHED_FULL : move_together(storage, units);
}

int osc_cached_storage_renumber(osc_cached_storage_t *storage, uint32_t limit,
                                osc_cached_storage_moved_fn_t moved, void *context)
{
    entry_t *entries = storage->entries;
    uint32_t free = 0;
    int status;

    if (limit < storage->num_used + (storage->used_units < storage->capacity)) {
        return OSC_CACHED_FULL;
    }
    if (limit < storage->num_used + storage->holes.count) {
        status = move_together(storage, storage->capacity);
        if (OSC_CACHED_OK != status) {
            return status;
        }
    }
    for (uint32_t number = limit; number < storage->num_fresh; ++number) {
        bool hole = OSC_CACHED_ENTRY_HOLE == entries[number].state;

        if (OSC_CACHED_ENTRY_MISSING == entries[number].state) {
            continue;
        }
        while (OSC_CACHED_ENTRY_MISSING != entries[free].state) {
            ++free;
        }
        if (hole) {
            osc_cached_holes_remove(&storage->holes, number);
        }
        entries[free] = entries[number];
        set_after(storage, entries[free].before, free);
        set_after(storage, free, entries[free].after);
        if (number == storage->hand) {
            storage->hand = free;
        }
        entries[number].state = OSC_CACHED_ENTRY_MISSING;
        entries[number].bytes = 0;
        if (hole) {
            osc_cached_holes_add(&storage->holes, free);
        } else {
            moved(context, number, free);
        }
    }
    /* the chain of free entries anew, without those above */
    if (limit < storage->num_fresh) {
        storage->num_fresh = limit;
    }
    storage->free_entry = NONE;
    for (uint32_t number = storage->num_fresh; 0 < number; --number) {
        if (OSC_CACHED_ENTRY_MISSING == entries[number - 1].state) {
            free_entry(storage, number - 1);
        }
    }
    return OSC_CACHED_OK;
}

/* Write to each page of what was never written. */
static void touch(void *memory, size_t from, size_t bytes)
{
    for (; from < bytes; from += SMALL_PAGE) {
        *((volatile char *) memory + from) = 0;
    }
}

void osc_cached_storage_set_entries(osc_cached_storage_t *storage, osc_cached_entry_t *entries,
                                    uint32_t max_entries)
{
    memcpy(entries, storage->entries, (size_t) storage->num_fresh * sizeof(entry_t));
    touch(entries, (size_t) storage->num_fresh * sizeof(entry_t),
          (size_t) max_entries * sizeof(entry_t));
    storage->alloc.free(storage->alloc.context, storage->entries,
                        (size_t) storage->max_entries * sizeof(entry_t));
    storage->entries = entries;
    storage->max_entries = max_entries;
    osc_cached_holes_rebase(&storage->holes, &entries[0].hole, sizeof(entry_t), max_entries);
}

void osc_cached_storage_prefault(osc_cached_storage_t *storage)
{
    touch(storage->entries, (size_t) storage->num_fresh * sizeof(entry_t),
          (size_t) storage->max_entries * sizeof(entry_t));
    if (!REDZONE) {
        touch(storage->arena, (size_t) storage->used_units * UNIT,
              (size_t) storage->capacity * UNIT);
    }
}

/* Verification */

static bool is_poisoned_right(const osc_cached_storage_t *storage, uint32_t number)
{
#if defined(WITH_ASAN)
    const entry_t *entry = &storage->entries[number];
    char *data = osc_cached_storage_at(storage, entry->offset);
    size_t all = (size_t) osc_cached_storage_units(storage, number) * UNIT;

    if (OSC_CACHED_ENTRY_HOLE != entry->state) {
        return NULL == __asan_region_is_poisoned(data, all - UNIT)
               && __asan_address_is_poisoned(data + all - UNIT)
               && __asan_address_is_poisoned(data + all - 1);
    }
    return __asan_address_is_poisoned(data) && __asan_address_is_poisoned(data + all - 1);
#else
    (void) storage;
    (void) number;
    return true;
#endif
}

/* One region; its predecessor was found right. */
static int verify_region(const osc_cached_storage_t *storage, uint32_t number)
{
    const entry_t *entry = &storage->entries[number];
    uint32_t before = entry->before, after = entry->after;

    if ((NONE == before && 0 != entry->offset) || (NONE != after && storage->num_fresh <= after)
        || (NONE == after ? storage->tail : storage->entries[after].before) != number
        || storage->capacity < entry->offset
        || (NONE != after && storage->capacity < storage->entries[after].offset)) {
        return 1;
    }
    if (0 == osc_cached_storage_units(storage, number)
        || (NONE != after && storage->entries[after].offset <= entry->offset)) {
        return 2;
    }
    if (OSC_CACHED_ENTRY_HOLE == entry->state) {
        if (0 < entry->bytes) {
            return 5;
        }
        return (osc_cached_storage_is_hole(storage, before)
                || osc_cached_storage_units(storage, number) != entry->hole.size
                || entry->offset != entry->hole.address)
                   ? 2
                   : 0;
    }
    if (osc_cached_storage_units(storage, number) <= storage->redzone
        || osc_cached_storage_room(storage, number) < entry->bytes) {
        return 5;
    }
    return is_poisoned_right(storage, number) ? 0 : 7;
}

int osc_cached_storage_verify(const osc_cached_storage_t *storage)
{
    uint32_t num_used = 0, used_units = 0, num_holes = 0, num_free = 0;
    bool hand = false;

    if (storage->num_fresh > storage->max_entries) {
        return 3;
    }
    if (storage->head >= storage->num_fresh || NONE != storage->entries[storage->head].before) {
        return 1;
    }
    for (uint32_t i = storage->head; NONE != i; i = storage->entries[i].after) {
        /* the offsets grow, so the list has no ring */
        int broken = verify_region(storage, i);

        if (0 != broken) {
            return broken;
        }
        if (OSC_CACHED_ENTRY_MISSING == storage->entries[i].state) {
            return 3;
        }
        if (OSC_CACHED_ENTRY_HOLE == storage->entries[i].state) {
            ++num_holes;
        } else {
            ++num_used;
            used_units += osc_cached_storage_units(storage, i);
        }
        hand = hand || i == storage->hand;
    }
    for (uint32_t i = storage->free_entry; NONE != i && num_free <= storage->num_fresh;
         i = storage->entries[i].after) {
        if (i >= storage->num_fresh || OSC_CACHED_ENTRY_MISSING != storage->entries[i].state) {
            return 3;
        }
        if (0 < storage->entries[i].bytes) {
            return 5;
        }
        ++num_free;
    }
    if (num_used != storage->num_used || used_units != storage->used_units
        || num_used + num_holes + num_free != storage->num_fresh) {
        return 3;
    }
    if (num_holes != storage->holes.count || 0 != osc_cached_holes_verify(&storage->holes)) {
        return 4;
    }
    return hand ? 0 : 6;
}
