/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The cache's memory: opening, the budget, growing and shrinking, adaptation.
 */
#include "osc_cached_cache_internal.h"

enum {
    ENTRIES_MIN = 16,       /* when the budget is short */
    MEMORY_MIN = 4096,      /* bytes, the same */
    FIRST_ENTRIES = 64,     /* of a gradual cache: with the storage about 16 KiB, */
    FIRST_MEMORY = 8 << 10, /* which the C library has at hand */
    GROWTH = 4              /* factor of its steps */
};

/* Budget */

bool osc_cached_cache_reserve(osc_cached_cache_t *cache, uint64_t bytes)
{
    const osc_cached_budget_t *budget = &cache->config.budget;

    if (NULL != budget->reserve && !budget->reserve(budget->context, bytes)) {
        return false;
    }
    cache->reserved += bytes;
    return true;
}

void osc_cached_cache_give_back(osc_cached_cache_t *cache, uint64_t bytes)
{
    const osc_cached_budget_t *budget = &cache->config.budget;

    cache->reserved -= bytes;
    if (NULL != budget->give_back) {
        budget->give_back(budget->context, bytes);
    }
}

uint64_t osc_cached_cache_available(const osc_cached_cache_t *cache)
{
    const osc_cached_budget_t *budget = &cache->config.budget;

    return (NULL != budget->available) ? budget->available(budget->context) : UINT64_MAX / 4;
}

/* Entries for an index: one for each slot, one for the get that takes the place of another, and for
 * holes one for each 8 slots (of 100 regions 3 to 10 are holes) and one. */
static inline uint32_t entries_for(uint32_t slots)
{
    return slots + slots / 8 + 2;
}

/* What the index makes of a number of entries. */
static inline uint32_t slots_for(uint32_t entries)
{
    return (entries + OSC_CACHED_INDEX_SLOTS_MIN - 1) / OSC_CACHED_INDEX_SLOTS_MIN
           * OSC_CACHED_INDEX_SLOTS_MIN;
}

/* What slots of the index cost, a multiple of 16: themselves, their entries, their ghosts. */
static inline uint64_t index_cost(uint64_t slots)
{
    return slots
               * (sizeof(osc_cached_index_line_t) / OSC_CACHED_INDEX_LINE_SLOTS
                  + sizeof(osc_cached_entry_t) + sizeof(osc_cached_ghost_t))
           + slots / 8 * sizeof(osc_cached_entry_t);
}

/* Life */

int osc_cached_cache_create(osc_cached_cache_t *cache, const osc_cached_config_t *config,
                            const osc_cached_alloc_t *alloc)
{
    if (0 == config->entries || OSC_CACHED_INDEX_SLOTS_MAX < config->entries
        || config->memory < OSC_CACHED_STORAGE_UNIT || 0 == config->sample
        || OSC_CACHED_STORAGE_MAX_CAPACITY < config->memory
        || NULL != osc_cached_adapt_params_check(&config->adapt)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    memset(cache, 0, sizeof(*cache));
    cache->config = *config;
    cache->alloc = (NULL == alloc) ? osc_cached_alloc_default : *alloc;
    cache->absent.target = -1;
    osc_cached_duel_create(&cache->duel);
    return OSC_CACHED_OK;
}

bool osc_cached_cache_has_room(const osc_cached_cache_t *cache, uint64_t gets)
{
    uint64_t room =
        cache->reserved + (cache->config.adaptive ? osc_cached_cache_available(cache) : 0);
    uint64_t mean = (0 < cache->gets) ? cache->got_bytes / cache->gets : 0;

    return gets <= room / (mean + OSC_CACHED_STORAGE_UNIT + index_cost(8) / 8);
}

uint32_t osc_cached_cache_slots(const osc_cached_cache_t *cache)
{
    if (!cache->open) {
        return slots_for(cache->config.entries);
    }
    return (0 < cache->later_slots) ? cache->later_slots
                                    : osc_cached_index_num_slots(&cache->index);
}

uint64_t osc_cached_cache_memory(const osc_cached_cache_t *cache)
{
    if (!cache->open) {
        return cache->config.memory;
    }
    return (0 < cache->later_memory) ? cache->later_memory
                                     : osc_cached_storage_capacity(&cache->storage);
}

static void update_max_bytes(osc_cached_cache_t *cache)
{
    uint64_t limit = osc_cached_cache_memory(cache), max = limit / 4;

    if (cache->config.adaptive) {
        /* what is too large now fails, and so makes the storage grow */
        limit += osc_cached_cache_available(cache) / 2;
        max = osc_cached_cache_larger(max, limit / 8);
    }
    if (0 < cache->config.max_entry) {
        max = (cache->config.max_entry < limit) ? cache->config.max_entry : limit;
    }
    cache->max_bytes = (OSC_CACHED_CACHE_MAX_ENTRY < max) ? OSC_CACHED_CACHE_MAX_ENTRY : max;
}

/* Any entry will do: it is looked at before it is believed. */
static void clear_memo(osc_cached_cache_t *cache)
{
    for (size_t i = 0; i < sizeof(cache->memo) / sizeof(cache->memo[0]); ++i) {
        cache->memo[i] = &cache->storage.entries[0];
    }
}

void osc_cached_cache_clear(osc_cached_cache_t *cache)
{
    osc_cached_index_clear(&cache->index);
    osc_cached_storage_clear(&cache->storage);
    clear_memo(cache); /* what it names has bytes still */
    cache->sweep = cache->sweep_left = 0;
    /* the entries may come back at once: P would follow them down and up, and all ghosts P */
    osc_cached_duel_hold(&cache->duel);
}

static int open_with(osc_cached_cache_t *cache, uint32_t entries, uint64_t memory)
{
    const osc_cached_alloc_t *alloc = &cache->alloc;
    uint32_t slots = slots_for(entries);
    uint64_t cost =
        index_cost(slots) + memory + OSC_CACHED_CACHE_RECORDS_MIN * sizeof(osc_cached_record_t);
    int status;

    /* before anything is allocated: the index is cleared, which takes time and pages */
    if (!osc_cached_cache_reserve(cache, cost)) {
        return OSC_CACHED_NO_MEMORY;
    }
    status = osc_cached_index_create(&cache->index, slots, 0, cache->config.seed, alloc);
    if (OSC_CACHED_OK != status) {
        goto no_index;
    }
    status = osc_cached_storage_create(&cache->storage, memory, entries_for(slots),
                                       osc_cached_cache_holes_kind(cache->config.scheme), alloc);
    if (OSC_CACHED_OK != status) {
        goto no_storage;
    }
    cache->least_memory = memory;
    clear_memo(cache);
    osc_cached_storage_prefault(&cache->storage);
    osc_cached_duel_resize(&cache->duel, slots, alloc);
    cache->open = true;
    return OSC_CACHED_OK;

no_storage:
    osc_cached_index_destroy(&cache->index);
no_index:
    osc_cached_cache_give_back(cache, cost);
    return status;
}

int osc_cached_cache_open(osc_cached_cache_t *cache)
{
    const osc_cached_config_t *config = &cache->config;
    uint32_t entries = config->entries;
    uint64_t memory = config->memory;
    int status;

    if (cache->open) {
        return OSC_CACHED_OK;
    }
    if (config->gradual) {
        entries = (uint32_t) osc_cached_cache_smaller(entries, FIRST_ENTRIES);
        memory = osc_cached_cache_smaller(memory, FIRST_MEMORY);
    }
    while (OSC_CACHED_NO_MEMORY == (status = open_with(cache, entries, memory))
           && (ENTRIES_MIN < entries || MEMORY_MIN < memory)) {
        if (ENTRIES_MIN < entries) {
            entries = (entries / 2 < ENTRIES_MIN) ? ENTRIES_MIN : entries / 2;
        }
        if (MEMORY_MIN < memory) {
            memory = (memory / 2 < MEMORY_MIN) ? MEMORY_MIN : memory / 2;
        }
    }
    if (OSC_CACHED_OK != status) {
        return status;
    }
    if (config->gradual) {
        uint64_t more = osc_cached_cache_available(cache);

        cache->later_slots = (uint32_t) osc_cached_cache_smaller(
            slots_for(config->entries), slots_for(entries) + more / index_cost(16) * 16);
        cache->later_memory = osc_cached_cache_smaller(config->memory, memory + more);
        cache->least_memory = cache->later_memory;
        cache->later_slots = (slots_for(entries) < cache->later_slots) ? cache->later_slots : 0;
        cache->later_memory = (memory < cache->later_memory) ? cache->later_memory : 0;
    }
    update_max_bytes(cache);
    return status;
}

void osc_cached_cache_destroy(osc_cached_cache_t *cache)
{
    const osc_cached_alloc_t *alloc = &cache->alloc;

    for (uint32_t i = 0; i < cache->fresh_records; ++i) {
        const osc_cached_record_t *record = &cache->records[i];
        if (0 != record->sequence && NULL != cache->config.done
            && (NULL != record->buffer.type || NULL != record->buffer.from)) {
            cache->config.done(&record->buffer);
        }
    }
    alloc->free(alloc->context, cache->records, cache->max_records * sizeof(*cache->records));
    if (cache->open) {
        osc_cached_storage_destroy(&cache->storage);
        osc_cached_index_destroy(&cache->index);
        osc_cached_duel_destroy(&cache->duel, alloc);
        osc_cached_cache_give_back(cache, cache->reserved);
    }
    memset(cache, 0, sizeof(*cache));
}

/* Sizes */

/* A used region has another number. */
static void entry_moved(void *context, uint32_t from, uint32_t to)
{
    osc_cached_cache_t *cache = context;
    uint64_t hash = osc_cached_cache_hash_of(cache, &cache->storage.entries[to]);

    (void) osc_cached_index_remove(&cache->index, hash, from);
    /* the place where it was is free */
    (void) osc_cached_index_insert(&cache->index, hash, to);
}

/* Whether records name an entry from this number on. */
static bool is_pinned_from(const osc_cached_cache_t *cache, uint32_t number)
{
    const osc_cached_storage_t *storage = &cache->storage;

    while (number < storage->num_fresh && 0 == storage->entries[number].pins) {
        ++number;
    }
    return number < storage->num_fresh;
}

/* Move the index to another table. Entries leave only if it does not find places for them. */
static int resize_table(osc_cached_cache_t *cache, uint32_t slots)
{
    uint64_t limit = (uint64_t) slots * OSC_CACHED_CACHE_LOAD_MAX / 100;
    int status;

    while (OSC_CACHED_FULL
           == (status = osc_cached_index_resize(&cache->index, slots, osc_cached_cache_index_key,
                                                cache))) {
        do {
            if (!osc_cached_cache_evict(cache)) {
                return OSC_CACHED_FULL;
            }
        } while (limit < cache->index.count);
    }
    return status;
}

/* Have so many slots, and entries for them. */
static int set_slots(osc_cached_cache_t *cache, uint32_t after)
{
    const osc_cached_alloc_t *alloc = &cache->alloc;
    osc_cached_entry_t *array = NULL;
    uint32_t before = osc_cached_index_num_slots(&cache->index);
    int status = OSC_CACHED_OK;

    if (before < after) {
        if (!osc_cached_cache_reserve(cache, index_cost(after - before))) {
            return OSC_CACHED_NO_MEMORY;
        }
    } else {
        if (is_pinned_from(cache, entries_for(after))) {
            return OSC_CACHED_FULL;
        }
        while (osc_cached_cache_entries_max(cache, after) < cache->index.count) {
            if (!osc_cached_cache_evict(cache)) {
                return OSC_CACHED_FULL;
            }
        }
        status =
            osc_cached_storage_renumber(&cache->storage, entries_for(after), entry_moved, cache);
    }
    if (OSC_CACHED_OK == status) {
        array = alloc->alloc(alloc->context, 64, (size_t) entries_for(after) * sizeof(*array));
        status = (NULL == array) ? OSC_CACHED_NO_MEMORY : resize_table(cache, after);
    }
    if (OSC_CACHED_OK != status) {
        alloc->free(alloc->context, array, (size_t) entries_for(after) * sizeof(*array));
        if (before < after) {
            osc_cached_cache_give_back(cache, index_cost(after - before));
        }
        return status;
    }
    osc_cached_storage_set_entries(&cache->storage, array, entries_for(after));
    clear_memo(cache);
    if (after < before) {
        osc_cached_cache_give_back(cache, index_cost(before - after));
    }
    osc_cached_duel_resize(&cache->duel, after, alloc);
    return OSC_CACHED_OK;
}

/* Have so many bytes of storage, whole units. */
static int set_memory(osc_cached_cache_t *cache, uint64_t after)
{
    uint64_t before = osc_cached_storage_capacity(&cache->storage);
    int status;

    if (before == after) { /* regions stay where they are, so what lies behind may be in use */
        return OSC_CACHED_OK;
    }
    if (before < after && !osc_cached_cache_reserve(cache, after - before)) {
        return OSC_CACHED_NO_MEMORY;
    }
    while (OSC_CACHED_FULL == (status = osc_cached_storage_resize(&cache->storage, after))) {
        if (!osc_cached_cache_evict(cache)) {
            break;
        }
    }
    if (OSC_CACHED_OK != status) {
        if (before < after) {
            osc_cached_cache_give_back(cache, after - before);
        }
        return status;
    }
    if (after < before) {
        osc_cached_cache_give_back(cache, before - after);
    }
    osc_cached_storage_prefault(&cache->storage);
    return OSC_CACHED_OK;
}

int osc_cached_cache_resize_index(osc_cached_cache_t *cache, uint32_t entries)
{
    int status = OSC_CACHED_OK;

    if (0 == entries || OSC_CACHED_INDEX_SLOTS_MAX < entries) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    cache->config.entries = entries;
    if (cache->open && slots_for(entries) != osc_cached_cache_slots(cache)) {
        status = set_slots(cache, slots_for(entries));
        if (OSC_CACHED_OK == status) {
            cache->later_slots = 0;
            ++cache->resizes;
        }
    }
    return status;
}

int osc_cached_cache_resize_storage(osc_cached_cache_t *cache, uint64_t memory)
{
    uint64_t bytes = memory / OSC_CACHED_STORAGE_UNIT * OSC_CACHED_STORAGE_UNIT;
    int status = OSC_CACHED_OK;

    if (0 == bytes || OSC_CACHED_STORAGE_MAX_CAPACITY < bytes) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    cache->config.memory = memory;
    if (cache->open && bytes != osc_cached_cache_memory(cache)) {
        status = set_memory(cache, bytes);
        if (OSC_CACHED_OK == status) {
            cache->later_memory = 0;
            update_max_bytes(cache);
            ++cache->resizes;
        }
    }
    return status;
}

void osc_cached_cache_grow_slots(osc_cached_cache_t *cache)
{
    uint32_t slots = osc_cached_index_num_slots(&cache->index);

    if (0 == cache->later_slots || cache->index.count < slots - slots / 8) {
        return;
    }
    for (uint32_t factor = GROWTH; 1 < factor; factor /= 2) {
        uint32_t more =
            (uint32_t) osc_cached_cache_smaller((uint64_t) slots * factor, cache->later_slots);

        if (OSC_CACHED_OK == set_slots(cache, more)) {
            cache->later_slots = (more < cache->later_slots) ? cache->later_slots : 0;
            return;
        }
    }
    cache->later_slots = 0;
    ++cache->resizes;
}

void osc_cached_cache_grow_memory(osc_cached_cache_t *cache, size_t bytes)
{
    osc_cached_storage_t *storage = &cache->storage;
    uint64_t memory = osc_cached_storage_capacity(storage);

    if (0 == cache->later_memory
        || OSC_CACHED_HOLES_NONE
               != osc_cached_holes_find(&storage->holes,
                                        osc_cached_storage_units_for(storage, bytes))) {
        return;
    }
    for (uint64_t factor = GROWTH; 1 < factor; factor /= 2) {
        uint64_t more = osc_cached_cache_smaller(memory * factor + bytes, cache->later_memory)
                        / OSC_CACHED_STORAGE_UNIT * OSC_CACHED_STORAGE_UNIT;

        if (OSC_CACHED_OK == set_memory(cache, more)) {
            cache->later_memory =
                (more + OSC_CACHED_STORAGE_UNIT <= cache->later_memory) ? cache->later_memory : 0;
            return;
        }
    }
    cache->later_memory = 0;
    cache->least_memory = memory;
    update_max_bytes(cache);
    ++cache->resizes;
}

/* The sizes that the counts of the interval ask for, as if it had at least so many gets. */
static osc_cached_adapt_sizes_t wanted_sizes(osc_cached_cache_t *cache, uint64_t least_gets)
{
    const uint64_t *access = cache->interval.access;
    uint64_t gets = cache->gets - cache->interval.first_get;
    uint32_t slots = osc_cached_index_num_slots(&cache->index);
    uint64_t memory = osc_cached_storage_capacity(&cache->storage);
    uint64_t more = osc_cached_cache_available(cache), more_slots = more / 2 * 8 / index_cost(8);
    /* duel looks at no positions of the index; of all, those with entries are occupied */
    bool duel = OSC_CACHED_SCHEME_DUEL == cache->config.scheme && 0 < cache->interval.no_room;
    osc_cached_adapt_window_t window = {
        .gets = osc_cached_cache_larger(gets, least_gets),
        .hits =
            gets - osc_cached_cache_smaller(gets, cache->interval.misses) + access[OSC_CACHED_JOIN],
        .conflicting = access[OSC_CACHED_CONFLICTING] + cache->interval.no_slot,
        .capacity = access[OSC_CACHED_CAPACITY],
        .failing = cache->interval.no_room,
        .visited = duel ? slots : cache->interval.visited,
        .occupied = duel ? cache->index.count : cache->interval.occupied,
        .index_slots = slots,
        .index_entries = osc_cached_cache_larger(cache->index.count, cache->interval.most_entries),
        .storage_bytes = memory,
        .storage_used = osc_cached_cache_larger(osc_cached_storage_used_bytes(&cache->storage),
                                                cache->interval.most_used),
        .slots_min = OSC_CACHED_INDEX_SLOTS_MIN,
        .slots_max = (uint32_t) ((OSC_CACHED_INDEX_SLOTS_MAX - slots < more_slots)
                                     ? OSC_CACHED_INDEX_SLOTS_MAX
                                     : slots + more_slots),
        .storage_min = osc_cached_cache_smaller(cache->least_memory, memory),
        .storage_max = (OSC_CACHED_STORAGE_MAX_CAPACITY - memory < more / 2)
                           ? OSC_CACHED_STORAGE_MAX_CAPACITY
                           : memory + more / 2,
    };

    return osc_cached_adapt_decide(&cache->config.adapt, &window);
}

/* Look at the last interval: other sizes, and another P if it was held. */
static void adapt(osc_cached_cache_t *cache)
{
    if (cache->config.adaptive) {
        osc_cached_adapt_sizes_t sizes = wanted_sizes(cache, 0);

        if (0 == cache->later_slots
            && sizes.index_slots != osc_cached_index_num_slots(&cache->index)) {
            (void) osc_cached_cache_resize_index(cache, sizes.index_slots);
        }
        if (0 == cache->later_memory
            && sizes.storage_bytes != osc_cached_storage_capacity(&cache->storage)) {
            (void) osc_cached_cache_resize_storage(cache, sizes.storage_bytes);
        }
    }
    osc_cached_duel_follow_now(&cache->duel, cache->index.count, (uint32_t) cache->gets);
    memset(&cache->interval, 0, sizeof(cache->interval));
    cache->interval.first_get = cache->gets;
}

/* An index that had more conflicts already than a whole interval may have does not wait for its
 * end. Tried once: it may have reached its bound. */
static void grow_index_early(osc_cached_cache_t *cache)
{
    const osc_cached_adapt_params_t *params = &cache->config.adapt;
    uint64_t conflicts = cache->interval.access[OSC_CACHED_CONFLICTING] + cache->interval.no_slot;
    uint32_t slots;

    if (!cache->config.adaptive || cache->interval.at_bound || 0 < cache->later_slots
        || (double) conflicts <= params->conflict_threshold * params->interval) {
        return;
    }
    slots = wanted_sizes(cache, params->interval).index_slots;
    if (osc_cached_index_num_slots(&cache->index) < slots
        && OSC_CACHED_OK == osc_cached_cache_resize_index(cache, slots)) {
        cache->interval.access[OSC_CACHED_CONFLICTING] = 0;
        cache->interval.no_slot = 0;
    } else {
        cache->interval.at_bound = true;
    }
}

void osc_cached_cache_set_scheme(osc_cached_cache_t *cache, osc_cached_scheme_t scheme)
{
    cache->config.scheme = scheme;
    if (cache->open) {
        osc_cached_storage_set_holes(&cache->storage, osc_cached_cache_holes_kind(scheme));
    }
}

void osc_cached_cache_look(osc_cached_cache_t *cache)
{
    if (!cache->open) {
        return;
    }
    if (cache->config.adapt.interval <= cache->gets - cache->interval.first_get) {
        adapt(cache);
    } else {
        grow_index_early(cache);
    }
}
