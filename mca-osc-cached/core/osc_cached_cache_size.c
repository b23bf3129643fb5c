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
    ENTRIES_MIN = 16,   /* when the budget is short */
    MEMORY_MIN = 4096,  /* bytes, the same */
    VICTIMS_SHARE = 16, /* of an interval: fewer victims say nothing about admission */
    SEEN_PER_ENTRY = 2  /* keys remembered by admission for each entry of the index */
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

/* Entries for an index: one more than slots, for the get that takes the place of another. And
 * regions: one more again, for an entry that moves to a larger one. */
static inline uint32_t entries_for(uint32_t slots)
{
    return slots + 1;
}

static inline uint32_t regions_for(uint32_t slots)
{
    return slots + 2;
}

/* What the index makes of a number of entries. */
static inline uint32_t slots_for(uint32_t entries)
{
    return (entries + OSC_CACHED_INDEX_SLOTS_MIN - 1) / OSC_CACHED_INDEX_SLOTS_MIN
           * OSC_CACHED_INDEX_SLOTS_MIN;
}

/* What a slot of the index costs: itself, its entry, its region descriptors, its share of seen. */
static inline uint64_t index_cost(uint64_t slots)
{
    return slots
           * (sizeof(osc_cached_index_line_t) / OSC_CACHED_INDEX_LINE_SLOTS
              + sizeof(osc_cached_entry_t) + 2 * sizeof(osc_cached_region_t)
              + SEEN_PER_ENTRY * sizeof(uint32_t));
}

/* Life */

int osc_cached_cache_create(osc_cached_cache_t *cache, const osc_cached_config_t *config,
                            const osc_cached_alloc_t *alloc)
{
    if (0 == config->entries || OSC_CACHED_INDEX_SLOTS_MAX < config->entries
        || config->memory < OSC_CACHED_STORAGE_LINE || 0 == config->sample
        || OSC_CACHED_STORAGE_MAX_CAPACITY < config->memory
        || NULL != osc_cached_adapt_params_check(&config->adapt)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    memset(cache, 0, sizeof(*cache));
    cache->config = *config;
    cache->alloc = (NULL == alloc) ? osc_cached_alloc_default : *alloc;
    cache->free_entry = OSC_CACHED_CACHE_NONE;
    return OSC_CACHED_OK;
}

bool osc_cached_cache_has_room(const osc_cached_cache_t *cache, uint64_t gets)
{
    uint64_t room =
        cache->reserved + (cache->config.adaptive ? osc_cached_cache_available(cache) : 0);
    uint64_t mean = (0 < cache->gets) ? cache->got_bytes / cache->gets : 0;

    return gets <= room / ((mean / 64 + 1) * 64 + index_cost(1));
}

static void update_max_bytes(osc_cached_cache_t *cache)
{
    uint64_t limit = osc_cached_storage_capacity(&cache->storage), max = limit / 4;

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

/* Admission's memory of keys follows the size of the index; without it nothing is declined. */
static void remake_seen(osc_cached_cache_t *cache)
{
    uint32_t size = 64;

    while (size < SEEN_PER_ENTRY * osc_cached_index_num_slots(&cache->index) / 2) {
        size *= 2;
    }
    if (!cache->config.admission || size == cache->seen_size) {
        return;
    }
    cache->alloc.free(cache->alloc.context, cache->seen, cache->seen_size * sizeof(uint32_t));
    cache->seen_size = 0;
    cache->seen = cache->alloc.alloc(cache->alloc.context, 64, size * sizeof(uint32_t));
    if (NULL != cache->seen) {
        memset(cache->seen, 0, size * sizeof(uint32_t));
        cache->seen_size = size;
    }
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
    status = osc_cached_storage_create(&cache->storage, memory, regions_for(slots), alloc);
    if (OSC_CACHED_OK != status) {
        goto no_storage;
    }
    cache->max_entries = entries_for(slots);
    cache->entries =
        alloc->alloc(alloc->context, 64, (size_t) cache->max_entries * sizeof(*cache->entries));
    if (NULL == cache->entries) {
        status = OSC_CACHED_NO_MEMORY;
        goto no_entries;
    }
    cache->num_fresh = 0;
    cache->free_entry = OSC_CACHED_CACHE_NONE;
    cache->least_memory = memory;
    (void) osc_cached_storage_prefault(&cache->storage, SIZE_MAX);
    update_max_bytes(cache);
    remake_seen(cache);
    cache->open = true;
    return OSC_CACHED_OK;

no_entries:
    osc_cached_storage_destroy(&cache->storage);
no_storage:
    osc_cached_index_destroy(&cache->index);
no_index:
    osc_cached_cache_give_back(cache, cost);
    return status;
}

int osc_cached_cache_open(osc_cached_cache_t *cache)
{
    uint32_t entries = cache->config.entries;
    uint64_t memory = cache->config.memory;

    if (cache->open) {
        return OSC_CACHED_OK;
    }
    for (;;) {
        int status = open_with(cache, entries, memory);
        if (OSC_CACHED_NO_MEMORY != status || (entries <= ENTRIES_MIN && memory <= MEMORY_MIN)) {
            return status;
        }
        if (ENTRIES_MIN < entries) {
            entries = (entries / 2 < ENTRIES_MIN) ? ENTRIES_MIN : entries / 2;
        }
        if (MEMORY_MIN < memory) {
            memory = (memory / 2 < MEMORY_MIN) ? MEMORY_MIN : memory / 2;
        }
    }
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
    alloc->free(alloc->context, cache->seen, cache->seen_size * sizeof(uint32_t));
    if (cache->open) {
        osc_cached_storage_destroy(&cache->storage);
        osc_cached_index_destroy(&cache->index);
        alloc->free(alloc->context, cache->entries,
                    (size_t) cache->max_entries * sizeof(*cache->entries));
        osc_cached_cache_give_back(cache, cache->reserved);
    }
    memset(cache, 0, sizeof(*cache));
}

/* Sizes */

static void storage_moved(void *context, uint32_t owner, uint64_t offset)
{
    ((osc_cached_cache_t *) context)->entries[owner].offset = offset;
}

/* Whether records name an entry from this number on. */
static bool is_pinned_from(const osc_cached_cache_t *cache, uint32_t number)
{
    while (number < cache->num_fresh && 0 == cache->entries[number].pins) {
        ++number;
    }
    return number < cache->num_fresh;
}

/* Give all entries numbers below a limit; there are not more, and those above are not pinned. */
static void renumber_entries(osc_cached_cache_t *cache, uint32_t limit)
{
    uint32_t hole = 0;

    for (uint32_t number = limit; number < cache->num_fresh; ++number) {
        osc_cached_entry_t *entry = &cache->entries[number];
        uint64_t hash;

        if (OSC_CACHED_ENTRY_MISSING == entry->state) {
            continue;
        }
        while (OSC_CACHED_ENTRY_MISSING != cache->entries[hole].state) {
            ++hole;
        }
        hash = osc_cached_cache_hash_of(cache, entry);
        (void) osc_cached_index_remove(&cache->index, hash, number);
        cache->entries[hole] = *entry;
        osc_cached_storage_set_owner(&cache->storage, entry->region, hole);
        /* the place where it was is free */
        (void) osc_cached_index_insert(&cache->index, hash, hole);
    }
    /* the chain of free entries anew, without those above */
    if (limit < cache->num_fresh) {
        cache->num_fresh = limit;
    }
    cache->free_entry = OSC_CACHED_CACHE_NONE;
    for (uint32_t number = cache->num_fresh; 0 < number; --number) {
        if (OSC_CACHED_ENTRY_MISSING == cache->entries[number - 1].state) {
            osc_cached_cache_free_entry(cache, number - 1);
        }
    }
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

int osc_cached_cache_resize_index(osc_cached_cache_t *cache, uint32_t entries)
{
    const osc_cached_alloc_t *alloc = &cache->alloc;
    osc_cached_entry_t *array = NULL;
    uint32_t before, after;
    int status = OSC_CACHED_OK;

    if (0 == entries || OSC_CACHED_INDEX_SLOTS_MAX < entries) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    cache->config.entries = entries;
    if (!cache->open) {
        return OSC_CACHED_OK;
    }
    before = osc_cached_index_num_slots(&cache->index);
    after = slots_for(entries);
    if (after == before) {
        return OSC_CACHED_OK;
    }
    if (before < after) {
        if (!osc_cached_cache_reserve(cache, index_cost(after - before))) {
            return OSC_CACHED_NO_MEMORY;
        }
        status = osc_cached_storage_reserve(&cache->storage, regions_for(after));
    } else {
        if (is_pinned_from(cache, entries_for(after))) {
            return OSC_CACHED_FULL;
        }
        while (after < cache->index.count) {
            if (!osc_cached_cache_evict(cache)) {
                return OSC_CACHED_FULL;
            }
        }
        renumber_entries(cache, entries_for(after));
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
    memcpy(array, cache->entries, (size_t) cache->num_fresh * sizeof(*array));
    alloc->free(alloc->context, cache->entries, (size_t) cache->max_entries * sizeof(*array));
    cache->entries = array;
    cache->max_entries = entries_for(after);
    if (after < before) {
        osc_cached_cache_give_back(cache, index_cost(before - after));
    }
    remake_seen(cache);
    ++cache->resizes;
    return OSC_CACHED_OK;
}

int osc_cached_cache_resize_storage(osc_cached_cache_t *cache, uint64_t memory)
{
    uint64_t before, after = memory / OSC_CACHED_STORAGE_LINE * OSC_CACHED_STORAGE_LINE;
    int status;

    if (0 == after || OSC_CACHED_STORAGE_MAX_CAPACITY < after) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    cache->config.memory = memory;
    if (!cache->open) {
        return OSC_CACHED_OK;
    }
    before = osc_cached_storage_capacity(&cache->storage);
    if (after == before) {
        return OSC_CACHED_OK;
    }
    if (before < after && !osc_cached_cache_reserve(cache, after - before)) {
        return OSC_CACHED_NO_MEMORY;
    }
    while (OSC_CACHED_FULL
           == (status = osc_cached_storage_resize(&cache->storage, after, storage_moved, cache))) {
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
    (void) osc_cached_storage_prefault(&cache->storage, SIZE_MAX);
    update_max_bytes(cache);
    ++cache->resizes;
    return OSC_CACHED_OK;
}

/* The sizes that the counts of the interval ask for, as if it had at least so many gets. */
static osc_cached_adapt_sizes_t wanted_sizes(osc_cached_cache_t *cache, uint64_t least_gets)
{
    const uint64_t *access = cache->interval.access;
    uint32_t slots = osc_cached_index_num_slots(&cache->index);
    uint64_t memory = osc_cached_storage_capacity(&cache->storage);
    uint64_t more = osc_cached_cache_available(cache), more_slots = more / 2 / index_cost(1);
    osc_cached_adapt_window_t window = {
        .gets = osc_cached_cache_larger(cache->gets - cache->interval.first_get, least_gets),
        .hits = access[OSC_CACHED_HIT] + access[OSC_CACHED_JOIN],
        .conflicting = access[OSC_CACHED_CONFLICTING] + cache->interval.no_slot,
        .capacity = access[OSC_CACHED_CAPACITY],
        .failing = cache->interval.no_room,
        .visited = cache->interval.visited,
        .occupied = cache->interval.occupied,
        .index_slots = slots,
        .index_entries = osc_cached_cache_larger(cache->index.count, cache->interval.most_entries),
        .storage_bytes = memory,
        .storage_used = osc_cached_cache_larger(osc_cached_storage_used_bytes(&cache->storage),
                                                cache->interval.most_used),
        .slots_min = OSC_CACHED_INDEX_SLOTS_MIN,
        .slots_max = (uint32_t) ((OSC_CACHED_INDEX_SLOTS_MAX - slots < more_slots)
                                     ? OSC_CACHED_INDEX_SLOTS_MAX
                                     : slots + more_slots),
        .storage_min = cache->least_memory,
        .storage_max = (OSC_CACHED_STORAGE_MAX_CAPACITY - memory < more / 2)
                           ? OSC_CACHED_STORAGE_MAX_CAPACITY
                           : memory + more / 2,
    };

    return osc_cached_adapt_decide(&cache->config.adapt, &window);
}

/* Look at the last interval: other sizes, and whether to be strict with new keys. */
static void adapt(osc_cached_cache_t *cache)
{
    uint64_t *access = cache->interval.access;
    uint64_t gets = cache->gets - cache->interval.first_get;
    uint64_t victims = cache->interval.victims;

    if (cache->config.adaptive) {
        osc_cached_adapt_sizes_t sizes = wanted_sizes(cache, 0);

        if (sizes.index_slots != osc_cached_index_num_slots(&cache->index)) {
            (void) osc_cached_cache_resize_index(cache, sizes.index_slots);
        }
        if (sizes.storage_bytes != osc_cached_storage_capacity(&cache->storage)) {
            (void) osc_cached_cache_resize_storage(cache, sizes.storage_bytes);
        }
    }
    if (gets / VICTIMS_SHARE < victims) {
        cache->strict = victims < 2 * cache->interval.unused_victims;
    } else if (access[OSC_CACHED_DECLINED] + victims < gets / VICTIMS_SHARE) {
        cache->strict = false;
    }
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

    if (!cache->config.adaptive || cache->interval.at_bound
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
