/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The cache's gets: records, entries and victims, admission.
 */
#include "osc_cached_cache_internal.h"

enum {
    HAND_STEP = 4,       /* entries looked at per insertion: two lines beside the one at work */
    RECORDS_SHARE = 4,   /* records take at most 1 / this of what the cache has and may have */
    RECORDS_KEPT = 1024, /* a larger array is given back when no get is on its way */
};

/* Records. They count against the budget, so a program with more gets on their way than that allows
 * has some that are not kept and do not wait for others, and no more memory in use. */

/* What an array takes from the budget: the smallest one is paid for by osc_cached_cache_open. */
static inline uint64_t records_cost(uint32_t max)
{
    return (max <= OSC_CACHED_CACHE_RECORDS_MIN)
               ? 0
               : (uint64_t) (max - OSC_CACHED_CACHE_RECORDS_MIN) * sizeof(osc_cached_record_t);
}

static void free_records(osc_cached_cache_t *cache)
{
    cache->alloc.free(cache->alloc.context, cache->records,
                      cache->max_records * sizeof(*cache->records));
    osc_cached_cache_give_back(cache, records_cost(cache->max_records));
}

/* Move the records to another array; the budget holds both meanwhile. */
static bool move_records(osc_cached_cache_t *cache, uint32_t max)
{
    uint64_t cost = records_cost(max);
    osc_cached_record_t *records;

    if (UINT32_MAX / 4 < max
        || (0 < cost
            && ((cache->reserved + osc_cached_cache_available(cache)) / RECORDS_SHARE < cost
                || !osc_cached_cache_reserve(cache, cost)))) {
        return false;
    }
    records = cache->alloc.alloc(cache->alloc.context, 64, max * sizeof(*records));
    if (NULL == records) {
        osc_cached_cache_give_back(cache, cost);
        return false;
    }
    if (0 < cache->fresh_records) {
        memcpy(records, cache->records, cache->fresh_records * sizeof(*records));
    }
    free_records(cache);
    cache->records = records;
    cache->max_records = max;
    return true;
}

static bool grow_records(osc_cached_cache_t *cache)
{
    if (0 < cache->max_records) {
        return move_records(cache, 2 * cache->max_records);
    }
    return (OSC_CACHED_CACHE_RECORDS_MIN < cache->last_records
            && move_records(cache, cache->last_records))
           || move_records(cache, OSC_CACHED_CACHE_RECORDS_MIN);
}

/* No get is on its way: give a large array back. The next one has the size that was needed now, so
 * a program with many gets in each epoch does not pay for growing in each. */
static inline void trim_records(osc_cached_cache_t *cache)
{
    if (0 == cache->num_records && RECORDS_KEPT < cache->max_records) {
        cache->last_records = cache->fresh_records;
        free_records(cache);
        cache->records = NULL;
        cache->max_records = 0;
        cache->fresh_records = 0;
        cache->free_record = 0;
    }
}

/* A record at the end of its target's list, or NULL without memory. */
static osc_cached_record_t *add_record(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                       osc_cached_entry_t *entry, const osc_cached_buffer_t *buffer,
                                       uint64_t sequence)
{
    osc_cached_record_t *record;
    uint32_t number;

    number = cache->free_record;
    if (0 != number) {
        cache->free_record = cache->records[number - 1].next;
    } else if (cache->fresh_records < cache->max_records || grow_records(cache)) {
        number = ++cache->fresh_records;
    } else {
        return NULL;
    }
    record = &cache->records[number - 1];
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
    if ((NULL != record->buffer.type || NULL != record->buffer.from)
        && NULL != cache->config.done) {
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

    if (OSC_CACHED_CACHE_NONE != number) {
        cache->free_entry = cache->entries[number].region;
    } else if (cache->num_fresh < cache->max_entries) {
        number = cache->num_fresh++;
    }
    return number;
}

void osc_cached_cache_free_entry(osc_cached_cache_t *cache, uint32_t number)
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

    (void) osc_cached_index_remove(&cache->index, osc_cached_cache_hash_of(cache, entry), number);
    osc_cached_storage_release(&cache->storage, entry->region);
    osc_cached_cache_free_entry(cache, number);
}

static void count_victim(osc_cached_cache_t *cache, const osc_cached_entry_t *entry)
{
    ++cache->evictions;
    if (!osc_cached_cache_is_dead(cache, entry)) {
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
    view->victim = osc_cached_cache_is_dead(cache, entry) ? OSC_CACHED_VICTIM_FIRST
                                                          : OSC_CACHED_VICTIM_BY_SCORE;
    view->last = entry->last;
    /* read when this one is the victim */
    __builtin_prefetch(&cache->storage.regions[entry->region], 1);
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

/* One entry leaves the index; its region is the caller's. OSC_CACHED_CACHE_NONE: none of those
 * looked at may. */
static uint32_t evict_to_region(osc_cached_cache_t *cache)
{
    osc_cached_evict_query_t query = make_query(cache);
    uint32_t visited = 0, occupied = 0, position, number, region;

    position = osc_cached_evict_sample_with(&cache->index, &query, view_entry, &visited, &occupied);
    cache->interval.visited += visited;
    cache->interval.occupied += occupied;
    if (OSC_CACHED_INDEX_NONE == position) {
        return OSC_CACHED_CACHE_NONE;
    }
    number = osc_cached_index_at(&cache->index, position);
    region = cache->entries[number].region;
    count_victim(cache, &cache->entries[number]);
    (void) osc_cached_index_remove_at(&cache->index, position);
    osc_cached_cache_free_entry(cache, number);
    return region;
}

bool osc_cached_cache_evict(osc_cached_cache_t *cache)
{
    uint32_t region = evict_to_region(cache);

    if (OSC_CACHED_CACHE_NONE == region) {
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
    osc_cached_cache_free_entry(cache, victim);
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
        uint32_t region = OSC_CACHED_CACHE_NONE;

        if (evictions < cache->config.evictions) {
            region = evict_to_region(cache);
        }
        if (OSC_CACHED_CACHE_NONE == region) {
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
        if (OSC_CACHED_ENTRY_MISSING != entry->state && 0 == entry->pins
            && osc_cached_cache_is_dead(cache, entry)) {
            drop_entry(cache, cache->hand);
        }
        ++cache->hand;
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
        && cache->index.count < (uint64_t) osc_cached_index_num_slots(&cache->index)
                                    * OSC_CACHED_CACHE_LOAD_MAX / 100) {
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
        if (OSC_CACHED_CACHE_NONE == number) {
            return OSC_CACHED_FAILING;
        }
        entry = &cache->entries[number];
        entry->address = key.address;
        entry->target = key.target;
        entry->layout = key.layout;
        /* with a pin it is nobody's victim meanwhile */
        entry->pins = 1;
        entry->state = OSC_CACHED_ENTRY_PENDING;
        entry->fill = OSC_CACHED_CACHE_NONE;
        if (!index_entry(cache, hash, number, &access)) {
            ++cache->interval.no_slot;
            osc_cached_cache_free_entry(cache, number);
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
        osc_cached_cache_free_entry(cache, number);
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
    entry->generation = (uint32_t) cache->generation;
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
    cache->interval.most_entries =
        osc_cached_cache_larger(cache->interval.most_entries, cache->index.count);
    cache->interval.most_used = osc_cached_cache_larger(
        cache->interval.most_used, osc_cached_storage_used_bytes(&cache->storage));
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
            /* the owner keeps the buffer's types: this record has not begun */
            record->buffer.type = record->buffer.from = NULL;
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
        entry->fill = OSC_CACHED_CACHE_NONE;
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
    trim_records(cache);
}

void osc_cached_cache_complete_one(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                   uint32_t record, uint64_t sequence)
{
    if (record < cache->fresh_records && sequence == cache->records[record].sequence) {
        finish(cache, target, record);
        trim_records(cache);
    }
}

void osc_cached_cache_disown(osc_cached_cache_t *cache, uint32_t record)
{
    cache->entries[cache->records[record].entry].stamp = UINT64_MAX; /* no sum of generations */
}

osc_cached_buffer_t osc_cached_cache_withdraw(osc_cached_cache_t *cache,
                                              osc_cached_target_t *target, uint32_t record)
{
    uint32_t number = cache->records[record].entry;
    osc_cached_entry_t *entry = &cache->entries[number];
    osc_cached_buffer_t buffer = cache->records[record].buffer;

    cache->records[record].buffer.type = cache->records[record].buffer.from = NULL;
    remove_record(cache, target, record);
    if (0 == --entry->pins && entry->stamp != osc_cached_cache_stamp(cache, target)) {
        drop_entry(cache, number);
    }
    return buffer;
}
