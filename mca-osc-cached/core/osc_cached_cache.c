/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "osc_cached_cache.h"

enum {
    NONE = 0xffffffff,
    HAND_STEP = 4,        /* entries looked at per insertion: two lines beside the one at work */
    RECORDS_MIN = 64,     /* gets outstanding at the same time, grows */
    ENTRIES_MIN = 16,     /* when the budget is short */
    MEMORY_MIN = 4096,    /* bytes, the same */
    VICTIMS_SHARE = 16,   /* of an interval: fewer victims say nothing about admission */
    SEEN_PER_ENTRY = 2,   /* keys remembered by admission for each entry of the index */
    LOAD_PERCENT_MAX = 95 /* of a new index: its entries must find their places again */
};

static inline osc_cached_key_t key_of_entry(const osc_cached_entry_t *entry)
{
    osc_cached_key_t key = {entry->address, entry->target, entry->layout};

    return key;
}

static osc_cached_key_t index_key_of(void *cache, uint32_t number)
{
    return key_of_entry(&((const osc_cached_cache_t *) cache)->entries[number]);
}

static inline uint64_t hash_of_entry(const osc_cached_cache_t *cache,
                                     const osc_cached_entry_t *entry)
{
    return osc_cached_index_hash(&cache->index, key_of_entry(entry));
}

/* Only the owner knows the targets: an entry that an own write to its target has killed looks alive
 * here; it ages and leaves like others. */
static inline bool is_dead(const osc_cached_cache_t *cache, const osc_cached_entry_t *entry)
{
    return entry->stamp / OSC_CACHED_CACHE_GENERATION
           < cache->generation / OSC_CACHED_CACHE_GENERATION;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return (a < b) ? b : a;
}

/* Budget */

static bool reserve(osc_cached_cache_t *cache, uint64_t bytes)
{
    const osc_cached_budget_t *budget = &cache->config.budget;

    if (NULL != budget->reserve && !budget->reserve(budget->context, bytes)) {
        return false;
    }
    cache->reserved += bytes;
    return true;
}

static void give_back(osc_cached_cache_t *cache, uint64_t bytes)
{
    const osc_cached_budget_t *budget = &cache->config.budget;

    cache->reserved -= bytes;
    if (NULL != budget->give_back) {
        budget->give_back(budget->context, bytes);
    }
}

static uint64_t available(const osc_cached_cache_t *cache)
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
    cache->free_entry = NONE;
    return OSC_CACHED_OK;
}

static void update_max_bytes(osc_cached_cache_t *cache)
{
    uint64_t limit = osc_cached_storage_capacity(&cache->storage), max = limit / 4;

    if (cache->config.adaptive) {
        /* what is too large now fails, and so makes the storage grow */
        limit += available(cache) / 2;
        max = larger(max, limit / 8);
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
    uint64_t cost = index_cost(slots) + memory;
    int status;

    /* before anything is allocated: the index is cleared, which takes time and pages */
    if (!reserve(cache, cost)) {
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
    cache->free_entry = NONE;
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
    give_back(cache, cost);
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

    for (uint32_t i = 0; i < cache->max_records; ++i) {
        const osc_cached_record_t *record = &cache->records[i];
        if (0 != record->sequence && NULL != record->buffer.type && NULL != cache->config.done) {
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
        give_back(cache, cache->reserved);
    }
    memset(cache, 0, sizeof(*cache));
}

/* Records */

static bool grow_records(osc_cached_cache_t *cache)
{
    uint32_t max = (0 == cache->max_records) ? RECORDS_MIN : 2 * cache->max_records;
    osc_cached_record_t *records;

    if (UINT32_MAX / 4 < max) {
        return false;
    }
    records = cache->alloc.alloc(cache->alloc.context, 64, max * sizeof(*records));
    if (NULL == records) {
        return false;
    }
    memset(records, 0, max * sizeof(*records));
    if (0 < cache->max_records) {
        memcpy(records, cache->records, cache->max_records * sizeof(*records));
    }
    for (uint32_t i = max; cache->max_records < i; --i) {
        records[i - 1].next = cache->free_record;
        cache->free_record = i;
    }
    cache->alloc.free(cache->alloc.context, cache->records,
                      cache->max_records * sizeof(*cache->records));
    cache->records = records;
    cache->max_records = max;
    return true;
}

/* A record at the end of its target's list, or NULL without memory. */
static osc_cached_record_t *add_record(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                       osc_cached_entry_t *entry, const osc_cached_buffer_t *buffer,
                                       uint64_t sequence)
{
    osc_cached_record_t *record;
    uint32_t number;

    if (0 == cache->free_record && !grow_records(cache)) {
        return NULL;
    }
    number = cache->free_record;
    record = &cache->records[number - 1];
    cache->free_record = record->next;
    ++cache->num_records;

    record->buffer = *buffer;
    record->sequence = sequence;
    record->entry = (uint32_t) (entry - cache->entries);
    record->next = 0;
    record->prev = target->tail;
    if (0 == target->tail) {
        target->head = number;
    } else {
        cache->records[target->tail - 1].next = number;
    }
    target->tail = number;
    ++entry->pins;
    return record;
}

static void remove_record(osc_cached_cache_t *cache, osc_cached_target_t *target, uint32_t number)
{
    osc_cached_record_t *record = &cache->records[number];

    if (0 == record->prev) {
        target->head = record->next;
    } else {
        cache->records[record->prev - 1].next = record->next;
    }
    if (0 == record->next) {
        target->tail = record->prev;
    } else {
        cache->records[record->next - 1].prev = record->prev;
    }
    if (NULL != record->buffer.type && NULL != cache->config.done) {
        cache->config.done(&record->buffer);
    }
    record->sequence = 0;
    record->next = cache->free_record;
    cache->free_record = number + 1;
    --cache->num_records;
}

/* Entries */

static uint32_t take_entry(osc_cached_cache_t *cache)
{
    uint32_t number = cache->free_entry;

    if (NONE != number) {
        cache->free_entry = cache->entries[number].region;
    } else if (cache->num_fresh < cache->max_entries) {
        number = cache->num_fresh++;
    }
    return number;
}

static void free_entry(osc_cached_cache_t *cache, uint32_t number)
{
    osc_cached_entry_t *entry = &cache->entries[number];

    entry->state = OSC_CACHED_ENTRY_MISSING;
    entry->pins = 0; /* an insertion that fails has one */
    entry->region = cache->free_entry;
    cache->free_entry = number;
}

/* The entry is not pinned, and in the index. */
static void drop_entry(osc_cached_cache_t *cache, uint32_t number)
{
    osc_cached_entry_t *entry = &cache->entries[number];

    (void) osc_cached_index_remove(&cache->index, hash_of_entry(cache, entry), number);
    osc_cached_storage_release(&cache->storage, entry->region);
    free_entry(cache, number);
}

static void count_victim(osc_cached_cache_t *cache, const osc_cached_entry_t *entry)
{
    ++cache->evictions;
    if (!is_dead(cache, entry)) {
        ++cache->interval.victims;
        cache->interval.unused_victims += !entry->used;
    }
}

static inline void view_entry(void *context, uint32_t number, osc_cached_evict_view_t *view)
{
    const osc_cached_cache_t *cache = context;
    const osc_cached_entry_t *entry = &cache->entries[number];

    if (0 < entry->pins) {
        view->victim = OSC_CACHED_VICTIM_NEVER;
        return;
    }
    view->victim = is_dead(cache, entry) ? OSC_CACHED_VICTIM_FIRST : OSC_CACHED_VICTIM_BY_SCORE;
    view->last = entry->last;
    /* without a hole there is none next to it: one line of memory less to look at */
    view->adjacent = (0 == osc_cached_storage_num_holes(&cache->storage))
                         ? 0
                         : osc_cached_storage_adjacent(&cache->storage, entry->region);
}

static osc_cached_evict_query_t make_query(osc_cached_cache_t *cache)
{
    osc_cached_evict_query_t query = {
        .scheme = cache->config.scheme,
        .sample = cache->config.sample,
        .now = cache->gets,
        .average = (0 == cache->gets) ? 1 : cache->got_bytes / cache->gets + 1,
        .context = cache,
    };

    return query;
}

/* Ask for the entries that the next sample will look at, all at once and early. */
static inline void prefetch_sample(osc_cached_cache_t *cache)
{
    uint64_t random = cache->index.random;
    uint32_t slots = osc_cached_index_num_slots(&cache->index);
    uint32_t position = osc_cached_index_random_position(&cache->index);
    uint32_t end =
        (cache->config.sample < slots - position) ? position + cache->config.sample : slots;

    cache->index.random = random; /* the sample will begin at the same position */
    for (; position < end; ++position) {
        uint32_t number = osc_cached_index_at(&cache->index, position);
        __builtin_prefetch(&cache->entries[(OSC_CACHED_INDEX_NONE == number) ? 0 : number]);
    }
}

/* One entry leaves the index; its region is the caller's. NONE: none of those looked at may. */
static uint32_t evict_to_region(osc_cached_cache_t *cache)
{
    osc_cached_evict_query_t query = make_query(cache);
    uint32_t visited = 0, occupied = 0, position, number, region;

    position = osc_cached_evict_sample_with(&cache->index, &query, view_entry, &visited, &occupied);
    cache->interval.visited += visited;
    cache->interval.occupied += occupied;
    if (OSC_CACHED_INDEX_NONE == position) {
        return NONE;
    }
    number = osc_cached_index_at(&cache->index, position);
    region = cache->entries[number].region;
    count_victim(cache, &cache->entries[number]);
    (void) osc_cached_index_remove_at(&cache->index, position);
    free_entry(cache, number);
    return region;
}

/* One entry leaves; false: none of those looked at may. */
static bool evict_one(osc_cached_cache_t *cache)
{
    uint32_t region = evict_to_region(cache);

    if (NONE == region) {
        return false;
    }
    osc_cached_storage_release(&cache->storage, region);
    return true;
}

/* Take a region over for a new owner if it is as long as one for this many bytes would be: twice
 * the way through the tree is saved, and most programs have gets of few sizes. */
static bool take_over(osc_cached_cache_t *cache, uint32_t region, size_t bytes, uint32_t owner)
{
    size_t have = osc_cached_storage_bytes(&cache->storage, region);

    if ((have - 1) / OSC_CACHED_STORAGE_LINE != (bytes - 1) / OSC_CACHED_STORAGE_LINE) {
        return false;
    }
    osc_cached_storage_set_owner(&cache->storage, region, owner);
    return OSC_CACHED_OK
           == ((bytes < have) ? osc_cached_storage_trim(&cache->storage, region, bytes)
                              : osc_cached_storage_extend(&cache->storage, region, bytes));
}

/* Put a new entry into the index, at the cost of another one if need be. */
static bool index_entry(osc_cached_cache_t *cache, uint64_t hash, uint32_t number,
                        osc_cached_access_t *access)
{
    osc_cached_evict_query_t query;
    const osc_cached_index_step_t *path;
    uint32_t step, length, victim;

    if (OSC_CACHED_OK == osc_cached_index_insert(&cache->index, hash, number)) {
        return true;
    }
    query = make_query(cache);
    step = osc_cached_evict_path_with(&cache->index, &query, view_entry);
    if (OSC_CACHED_INDEX_NONE == step) {
        return false;
    }
    path = osc_cached_index_path(&cache->index, &length);
    victim = path[step].entry;
    count_victim(cache, &cache->entries[victim]);
    (void) osc_cached_index_replace(&cache->index, hash, number, step);
    osc_cached_storage_release(&cache->storage, cache->entries[victim].region);
    free_entry(cache, victim);
    *access = OSC_CACHED_CONFLICTING;
    return true;
}

/* Give an entry a region, at the cost of a bounded number of others. */
static bool store_entry(osc_cached_cache_t *cache, uint32_t number, size_t bytes,
                        osc_cached_access_t *access)
{
    osc_cached_entry_t *entry = &cache->entries[number];

    for (uint32_t evictions = 0;
         OSC_CACHED_OK != osc_cached_storage_alloc(&cache->storage, bytes, number, &entry->region);
         ++evictions) {
        uint32_t region = NONE;

        if (evictions < cache->config.evictions) {
            region = evict_to_region(cache);
        }
        if (NONE == region) {
            return false;
        }
        *access = OSC_CACHED_CAPACITY;
        if (take_over(cache, region, bytes, number)) {
            entry->region = region;
            break;
        }
        osc_cached_storage_release(&cache->storage, region);
    }
    entry->offset = osc_cached_storage_offset(&cache->storage, entry->region);
    return true;
}

/* Collect a few dead entries. */
static void move_hand(osc_cached_cache_t *cache)
{
    for (int i = 0; i < HAND_STEP && 0 < cache->hand_left; ++i, --cache->hand_left) {
        osc_cached_entry_t *entry;

        if (cache->num_fresh <= cache->hand) {
            cache->hand = 0;
        }
        entry = &cache->entries[cache->hand];
        if (OSC_CACHED_ENTRY_MISSING != entry->state && 0 == entry->pins && is_dead(cache, entry)) {
            drop_entry(cache, cache->hand);
        }
        ++cache->hand;
    }
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
        hash = hash_of_entry(cache, entry);
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
    cache->free_entry = NONE;
    for (uint32_t number = cache->num_fresh; 0 < number; --number) {
        if (OSC_CACHED_ENTRY_MISSING == cache->entries[number - 1].state) {
            free_entry(cache, number - 1);
        }
    }
}

/* Move the index to another table. Entries leave only if it does not find places for them. */
static int resize_table(osc_cached_cache_t *cache, uint32_t slots)
{
    uint64_t limit = (uint64_t) slots * LOAD_PERCENT_MAX / 100;
    int status;

    while (OSC_CACHED_FULL
           == (status = osc_cached_index_resize(&cache->index, slots, index_key_of, cache))) {
        do {
            if (!evict_one(cache)) {
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
        if (!reserve(cache, index_cost(after - before))) {
            return OSC_CACHED_NO_MEMORY;
        }
        status = osc_cached_storage_reserve(&cache->storage, regions_for(after));
    } else {
        if (is_pinned_from(cache, entries_for(after))) {
            return OSC_CACHED_FULL;
        }
        while (after < cache->index.count) {
            if (!evict_one(cache)) {
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
            give_back(cache, index_cost(after - before));
        }
        return status;
    }
    memcpy(array, cache->entries, (size_t) cache->num_fresh * sizeof(*array));
    alloc->free(alloc->context, cache->entries, (size_t) cache->max_entries * sizeof(*array));
    cache->entries = array;
    cache->max_entries = entries_for(after);
    if (after < before) {
        give_back(cache, index_cost(before - after));
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
    if (before < after && !reserve(cache, after - before)) {
        return OSC_CACHED_NO_MEMORY;
    }
    while (OSC_CACHED_FULL
           == (status = osc_cached_storage_resize(&cache->storage, after, storage_moved, cache))) {
        if (!evict_one(cache)) {
            break;
        }
    }
    if (OSC_CACHED_OK != status) {
        if (before < after) {
            give_back(cache, after - before);
        }
        return status;
    }
    if (after < before) {
        give_back(cache, before - after);
    }
    (void) osc_cached_storage_prefault(&cache->storage, SIZE_MAX);
    update_max_bytes(cache);
    ++cache->resizes;
    return OSC_CACHED_OK;
}

/* Look at the last interval: other sizes, and whether to be strict with new keys. */
static void adapt(osc_cached_cache_t *cache)
{
    uint64_t *access = cache->interval.access;
    uint64_t gets = cache->gets - cache->interval.first_get;
    uint64_t victims = cache->interval.victims;

    if (cache->config.adaptive) {
        uint32_t slots = osc_cached_index_num_slots(&cache->index);
        uint64_t memory = osc_cached_storage_capacity(&cache->storage);
        uint64_t more = available(cache), more_slots = more / 2 / index_cost(1);
        osc_cached_adapt_window_t window = {
            .gets = gets,
            .hits = access[OSC_CACHED_HIT] + access[OSC_CACHED_JOIN],
            .conflicting = access[OSC_CACHED_CONFLICTING] + cache->interval.no_slot,
            .capacity = access[OSC_CACHED_CAPACITY],
            .failing = cache->interval.no_room,
            .visited = cache->interval.visited,
            .occupied = cache->interval.occupied,
            .index_slots = slots,
            .index_entries = larger(cache->index.count, cache->interval.most_entries),
            .storage_bytes = memory,
            .storage_used =
                larger(osc_cached_storage_used_bytes(&cache->storage), cache->interval.most_used),
            .slots_min = OSC_CACHED_INDEX_SLOTS_MIN,
            .slots_max = (uint32_t) ((OSC_CACHED_INDEX_SLOTS_MAX - slots < more_slots)
                                         ? OSC_CACHED_INDEX_SLOTS_MAX
                                         : slots + more_slots),
            .storage_min = cache->least_memory,
            .storage_max = (OSC_CACHED_STORAGE_MAX_CAPACITY - memory < more / 2)
                               ? OSC_CACHED_STORAGE_MAX_CAPACITY
                               : memory + more / 2,
        };
        osc_cached_adapt_sizes_t sizes = osc_cached_adapt_decide(&cache->config.adapt, &window);

        if (sizes.index_slots != slots) {
            (void) osc_cached_cache_resize_index(cache, sizes.index_slots);
        }
        if (sizes.storage_bytes != memory) {
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

void osc_cached_cache_look(osc_cached_cache_t *cache)
{
    if (cache->open && cache->config.adapt.interval <= cache->gets - cache->interval.first_get) {
        adapt(cache);
    }
}

/* Whether admission refuses a key that is missing. */
static bool is_declined(osc_cached_cache_t *cache, uint64_t hash, size_t bytes)
{
    uint32_t *seen;
    uint32_t mark = (uint32_t) (hash >> 32) | 1;

    if (!cache->strict || 0 == cache->seen_size) {
        return false;
    }
    seen = &cache->seen[hash & (cache->seen_size - 1)];
    if (mark == *seen) {
        return false;
    }
    if (bytes <= osc_cached_storage_largest_free(&cache->storage)
        && cache->index.count
               < (uint64_t) osc_cached_index_num_slots(&cache->index) * LOAD_PERCENT_MAX / 100) {
        return false;
    }
    *seen = mark;
    return true;
}

/* Gets */

osc_cached_access_t osc_cached_cache_get_slowly(osc_cached_cache_t *cache,
                                                osc_cached_target_t *target,
                                                osc_cached_entry_t *entry,
                                                const osc_cached_buffer_t *buffer, size_t bytes,
                                                uint64_t sequence, size_t *have)
{
    osc_cached_record_t *record;

    entry->last = cache->gets;
    entry->used = 1;
    if (OSC_CACHED_ENTRY_CACHED == entry->state) {
        if (0 != entry->layout) {
            return OSC_CACHED_MISSING; /* another layout would have another name */
        }
        *have = entry->bytes;
        return OSC_CACHED_PARTIAL;
    }
    if (entry->bytes < bytes) {
        return OSC_CACHED_FAILING;
    }
    record = add_record(cache, target, entry, buffer, sequence);
    if (NULL == record) {
        return OSC_CACHED_FAILING;
    }
    record->fills = false;
    record->offset = 0;
    record->bytes = (uint32_t) bytes;
    ++cache->interval.access[OSC_CACHED_JOIN];
    return OSC_CACHED_JOIN;
}

static osc_cached_access_t insert(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                  osc_cached_key_t key, uint64_t hash,
                                  const osc_cached_buffer_t *buffer, size_t bytes, uint64_t stamp,
                                  uint64_t sequence, uint32_t *record_number)
{
    osc_cached_access_t access = OSC_CACHED_DIRECT;
    osc_cached_entry_t *entry;
    osc_cached_record_t *record;
    uint32_t number;

    if (cache->max_bytes < bytes || 0 == bytes || stamp != osc_cached_cache_stamp(cache, target)) {
        return OSC_CACHED_FAILING;
    }
    if (osc_cached_storage_capacity(&cache->storage) < bytes) {
        ++cache->interval.no_room;
        return OSC_CACHED_FAILING;
    }
    if (osc_cached_storage_free_bytes(&cache->storage) < bytes) {
        prefetch_sample(cache);
    }
    number =
        osc_cached_index_lookup(&cache->index, hash, key, osc_cached_cache_match, cache->entries);
    if (OSC_CACHED_INDEX_NONE == number) {
        if (is_declined(cache, hash, bytes)) {
            return OSC_CACHED_DECLINED;
        }
        number = take_entry(cache);
        if (NONE == number) {
            return OSC_CACHED_FAILING;
        }
        entry = &cache->entries[number];
        entry->address = key.address;
        entry->target = key.target;
        entry->layout = key.layout;
        /* with a pin it is nobody's victim meanwhile */
        entry->pins = 1;
        entry->state = OSC_CACHED_ENTRY_PENDING;
        entry->fill = NONE;
        if (!index_entry(cache, hash, number, &access)) {
            ++cache->interval.no_slot;
            free_entry(cache, number);
            return OSC_CACHED_FAILING;
        }
    } else {
        /* dead, or shorter than this get: keep its place, and its region if that is right */
        entry = &cache->entries[number];
        if (0 < entry->pins) {
            return OSC_CACHED_FAILING;
        }
        entry->pins = 1;
        if (bytes <= osc_cached_storage_bytes(&cache->storage, entry->region)
            && osc_cached_storage_bytes(&cache->storage, entry->region) / 2 <= bytes) {
            goto stored;
        }
        osc_cached_storage_release(&cache->storage, entry->region);
    }
    if (!store_entry(cache, number, bytes, &access)) {
        ++cache->interval.no_room;
        (void) osc_cached_index_remove(&cache->index, hash, number);
        free_entry(cache, number);
        return OSC_CACHED_FAILING;
    }

stored:
    record = add_record(cache, target, entry, buffer, sequence);
    --entry->pins;
    if (NULL == record) {
        drop_entry(cache, number);
        return OSC_CACHED_FAILING;
    }
    record->fills = true;
    record->offset = 0;
    record->bytes = (uint32_t) bytes;
    entry->state = OSC_CACHED_ENTRY_PENDING;
    entry->stamp = stamp;
    entry->last = cache->gets;
    entry->used = 0;
    entry->bytes = (uint32_t) bytes;
    entry->fill = (uint32_t) (record - cache->records);
    if (NULL != record_number) {
        *record_number = entry->fill;
    }
    return access;
}

osc_cached_access_t osc_cached_cache_insert(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                            osc_cached_key_t key, uint64_t hash,
                                            const osc_cached_buffer_t *buffer, size_t bytes,
                                            uint64_t stamp, uint64_t sequence, uint32_t *record)
{
    osc_cached_access_t access;

    if (0 < cache->hand_left) {
        move_hand(cache);
    }
    osc_cached_cache_look(cache);
    access = insert(cache, target, key, hash, buffer, bytes, stamp, sequence, record);
    ++cache->interval.access[access];
    cache->interval.most_entries = larger(cache->interval.most_entries, cache->index.count);
    cache->interval.most_used =
        larger(cache->interval.most_used, osc_cached_storage_used_bytes(&cache->storage));
    return access;
}

bool osc_cached_cache_extend(osc_cached_cache_t *cache, osc_cached_target_t *target,
                             osc_cached_key_t key, uint64_t hash, size_t from, size_t bytes,
                             const osc_cached_buffer_t *buffer, uint64_t stamp, uint64_t sequence)
{
    osc_cached_entry_t *entry = osc_cached_cache_find(cache, target, key, hash);
    osc_cached_record_t *record;

    if (NULL == entry || stamp != entry->stamp || OSC_CACHED_ENTRY_CACHED != entry->state
        || 0 < entry->pins || entry->bytes < from || bytes <= entry->bytes
        || cache->max_bytes < bytes) {
        return false;
    }
    record = add_record(cache, target, entry, buffer, sequence);
    if (NULL == record) {
        return false;
    }
    if (osc_cached_storage_bytes(&cache->storage, entry->region) < bytes
        && OSC_CACHED_OK != osc_cached_storage_extend(&cache->storage, entry->region, bytes)) {
        uint32_t number = (uint32_t) (entry - cache->entries), region;

        if (OSC_CACHED_OK != osc_cached_storage_alloc(&cache->storage, bytes, number, &region)) {
            /* the owner keeps the buffer's type: this record has not begun */
            record->buffer.type = NULL;
            remove_record(cache, target, (uint32_t) (record - cache->records));
            --entry->pins;
            return false;
        }
        memcpy(osc_cached_storage_pointer(&cache->storage, region),
               osc_cached_storage_at(&cache->storage, entry->offset), entry->bytes);
        osc_cached_storage_release(&cache->storage, entry->region);
        entry->region = region;
        entry->offset = osc_cached_storage_offset(&cache->storage, region);
    }
    record->fills = true;
    record->offset = (uint32_t) from;
    record->bytes = (uint32_t) (bytes - from);
    entry->fill = (uint32_t) (record - cache->records);
    return true;
}

static void finish(osc_cached_cache_t *cache, osc_cached_target_t *target, uint32_t number)
{
    osc_cached_record_t *record = &cache->records[number];
    uint32_t entry_number = record->entry;
    osc_cached_entry_t *entry = &cache->entries[entry_number];
    bool valid = entry->stamp == osc_cached_cache_stamp(cache, target);
    char *bytes = osc_cached_storage_at(&cache->storage, entry->offset + record->offset);

    if (!record->fills) {
        osc_cached_cache_copy(cache, entry, &record->buffer, record->bytes);
    } else {
        /* others may wait for it although it will not be served any more */
        if (valid || 1 < entry->pins) {
            if (NULL == record->buffer.type) {
                memcpy(bytes, record->buffer.address, record->bytes);
            } else {
                cache->config.copy(&record->buffer, bytes, record->bytes, false);
            }
        }
        entry->state = OSC_CACHED_ENTRY_CACHED;
        entry->bytes = record->offset + record->bytes;
        entry->fill = NONE;
    }
    remove_record(cache, target, number);
    if (0 == --entry->pins && !valid) {
        drop_entry(cache, entry_number);
    }
}

void osc_cached_cache_complete(osc_cached_cache_t *cache, osc_cached_target_t *target,
                               uint64_t sequence)
{
    while (0 != target->head && cache->records[target->head - 1].sequence <= sequence) {
        finish(cache, target, target->head - 1);
    }
}

void osc_cached_cache_complete_one(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                   uint32_t record, uint64_t sequence)
{
    if (record < cache->max_records && sequence == cache->records[record].sequence) {
        finish(cache, target, record);
    }
}

/* Verification */

static int verify_records(const osc_cached_cache_t *cache, const osc_cached_target_t *targets,
                          uint32_t num_targets, uint32_t *pins)
{
    uint32_t count = 0;

    for (uint32_t t = 0; t < num_targets; ++t) {
        uint64_t before = 0;
        uint32_t prev = 0;

        for (uint32_t i = targets[t].head; 0 != i; prev = i, i = cache->records[i - 1].next) {
            const osc_cached_record_t *record = &cache->records[i - 1];
            const osc_cached_entry_t *entry = &cache->entries[record->entry];

            ++count;
            if (record->sequence <= before || record->prev != prev) {
                return 5;
            }
            before = record->sequence;
            ++pins[record->entry];
            if (record->fills ? entry->fill != i - 1
                              : OSC_CACHED_ENTRY_PENDING == entry->state
                                    && record->sequence <= cache->records[entry->fill].sequence) {
                return 6;
            }
        }
        if (targets[t].tail != prev) {
            return 5;
        }
    }
    return (count == cache->num_records) ? 0 : 4;
}

int osc_cached_cache_verify(const osc_cached_cache_t *cache, const osc_cached_target_t *targets,
                            uint32_t num_targets)
{
    uint32_t used = 0, chained = 0, *pins;
    int broken = 0;

    if (!cache->open) {
        return 0;
    }
    if (0 != osc_cached_index_verify(&cache->index, index_key_of, (void *) cache)
        || 0 != osc_cached_storage_verify(&cache->storage)) {
        return 1;
    }
    pins = cache->alloc.alloc(cache->alloc.context, 64, cache->max_entries * sizeof(*pins));
    if (NULL == pins) {
        return 0; /* cannot tell */
    }
    memset(pins, 0, cache->max_entries * sizeof(*pins));
    broken = verify_records(cache, targets, num_targets, pins);
    for (uint32_t i = 0; i < cache->num_fresh && 0 == broken; ++i) {
        const osc_cached_entry_t *entry = &cache->entries[i];

        if (OSC_CACHED_ENTRY_MISSING == entry->state) {
            continue;
        }
        ++used;
        if (i
            != osc_cached_index_lookup(&cache->index, hash_of_entry(cache, entry),
                                       key_of_entry(entry), osc_cached_cache_match,
                                       cache->entries)) {
            broken = 2;
        } else if (i != osc_cached_storage_owner(&cache->storage, entry->region)
                   || osc_cached_storage_bytes(&cache->storage, entry->region) < entry->bytes
                   || osc_cached_storage_offset(&cache->storage, entry->region) != entry->offset) {
            broken = 3;
        } else if (entry->pins != pins[i]
                   || (OSC_CACHED_ENTRY_PENDING == entry->state && NONE == entry->fill)) {
            broken = 4;
        }
    }
    for (uint32_t i = cache->free_entry; NONE != i && chained <= cache->num_fresh && 0 == broken;
         i = cache->entries[i].region) {
        ++chained;
    }
    if (0 == broken && used != cache->index.count) {
        broken = 2;
    }
    if (0 == broken && used != osc_cached_storage_num_regions(&cache->storage)) {
        broken = 3;
    }
    if (0 == broken && used + chained != cache->num_fresh) {
        broken = 7;
    }
    cache->alloc.free(cache->alloc.context, pins, cache->max_entries * sizeof(*pins));
    return broken;
}
