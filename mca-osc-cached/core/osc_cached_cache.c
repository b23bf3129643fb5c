/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The cache's gets: entries and victims.
 */
#include "osc_cached_cache_records.h"

enum {
    SWEEP_STEP = 4,    /* entries looked at per insertion for being dead */
    CLEAR_MAX = 65536, /* slots that one insertion clears at the most: 512 KiB */
    CLEAR_SLOTS = 32,  /* that are cleared in less time than one entry is dropped: 256 bytes */
};

/* Entries */

static inline void view_entry(void *context, uint32_t number, osc_cached_evict_view_t *view)
{
    const osc_cached_cache_t *cache = context;
    const osc_cached_entry_t *entry = &cache->storage.entries[number];

    if (0 < entry->pins) {
        view->victim = OSC_CACHED_VICTIM_NEVER;
        return;
    }
    view->victim = osc_cached_cache_is_dead(cache, entry) ? OSC_CACHED_VICTIM_FIRST
                                                          : OSC_CACHED_VICTIM_BY_SCORE;
    view->last = cache->gets - (uint32_t) ((uint32_t) cache->gets - entry->last);
    /* without a hole there is none next to it: two lines of memory less to look at */
    view->adjacent = (0 == cache->storage.holes.count)
                         ? 0
                         : osc_cached_storage_adjacent(&cache->storage, number);
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

/* The paper's victim: the one with the lowest score of a sample. */
static uint32_t find_sampled(osc_cached_cache_t *cache)
{
    osc_cached_evict_query_t query = make_query(cache);
    uint32_t visited = 0, occupied = 0, position;

    position = osc_cached_evict_sample(&cache->index, &query, view_entry, &visited, &occupied);
    cache->interval.visited += visited;
    cache->interval.occupied += occupied;
    return (OSC_CACHED_INDEX_NONE == position) ? OSC_CACHED_CACHE_NONE
                                               : osc_cached_index_at(&cache->index, position);
}

static inline uint32_t value_of(const osc_cached_cache_t *cache, const osc_cached_entry_t *entry)
{
    return osc_cached_cache_is_dead(cache, entry)
               ? 0
               : osc_cached_duel_value(&cache->duel, entry, (uint32_t) cache->gets);
}

static void move_hand(osc_cached_storage_t *storage)
{
    uint32_t next = storage->entries[storage->hand].after;

    storage->hand = (OSC_CACHED_STORAGE_NONE == next) ? storage->head : next;
}

/* Without a newcomer: the entry that is worth least of the next few; at least one, if any may. */
static uint32_t find_least(osc_cached_cache_t *cache)
{
    osc_cached_storage_t *storage = &cache->storage;
    uint32_t best = OSC_CACHED_CACHE_NONE, least = UINT32_MAX;
    uint64_t regions = (uint64_t) storage->num_used + storage->holes.count;

    for (uint64_t i = 0;
         i < regions && (i < OSC_CACHED_DUEL_REGIONS || OSC_CACHED_CACHE_NONE == best); ++i) {
        const osc_cached_entry_t *entry = &storage->entries[storage->hand];

        if (OSC_CACHED_ENTRY_HOLE != entry->state && 0 == entry->pins
            && value_of(cache, entry) < least) {
            least = value_of(cache, entry);
            best = storage->hand;
        }
        move_hand(storage);
    }
    return best;
}

/* An entry leaves the index for another; its region is the caller's. */
static void expel(osc_cached_cache_t *cache, uint32_t number)
{
    const osc_cached_entry_t *entry = &cache->storage.entries[number];
    uint64_t hash = osc_cached_cache_hash_of(cache, entry);

    ++cache->evictions;
    osc_cached_duel_remember(&cache->duel, hash, entry->count, entry->last);
    (void) osc_cached_index_remove(&cache->index, hash, number);
}

bool osc_cached_cache_evict(osc_cached_cache_t *cache)
{
    uint32_t number =
        (OSC_CACHED_SCHEME_DUEL == cache->config.scheme) ? find_least(cache) : find_sampled(cache);

    if (OSC_CACHED_CACHE_NONE == number) {
        return false;
    }
    expel(cache, number);
    osc_cached_storage_release(&cache->storage, number);
    return true;
}

static inline void forget_absent(osc_cached_cache_t *cache)
{
    cache->absent.target = -1;
}

/* Put a new entry into the index, at the cost of another one if need be. */
static bool index_entry(osc_cached_cache_t *cache, uint64_t hash, uint32_t number,
                        osc_cached_access_t *access)
{
    osc_cached_evict_query_t query;
    const osc_cached_index_step_t *path;
    uint32_t step, length, victim;

    forget_absent(cache);
    if (OSC_CACHED_OK == osc_cached_index_insert(&cache->index, hash, number)) {
        return true;
    }
    query = make_query(cache);
    step = osc_cached_evict_path(&cache->index, &query, view_entry);
    if (OSC_CACHED_INDEX_NONE == step) {
        return false;
    }
    path = osc_cached_index_path(&cache->index, &length);
    victim = path[step].entry;
    ++cache->evictions;
    (void) osc_cached_index_replace(&cache->index, hash, number, step);
    osc_cached_storage_release(&cache->storage, victim);
    if (OSC_CACHED_DIRECT == *access) {
        *access = OSC_CACHED_CONFLICTING;
    }
    return true;
}

/* A region in a hole, for which the storage of a gradual cache may grow. A full storage has often
 * no hole at all, and nothing to look for. */
static uint32_t store_in_hole(osc_cached_cache_t *cache, size_t bytes)
{
    uint32_t number = (0 < cache->storage.holes.count)
                          ? osc_cached_storage_alloc(&cache->storage, bytes)
                          : OSC_CACHED_CACHE_NONE;

    if (OSC_CACHED_CACHE_NONE == number && 0 < cache->later_memory) {
        osc_cached_cache_grow_memory(cache, bytes);
        number = osc_cached_storage_alloc(&cache->storage, bytes);
    }
    return number;
}

/* A region for a new entry, at the cost of a bounded number of others; the paper's. */
static uint32_t store_sampled(osc_cached_cache_t *cache, size_t bytes, osc_cached_access_t *access)
{
    uint32_t number = store_in_hole(cache, bytes), evictions = 0;

    *access = OSC_CACHED_DIRECT;
    while (OSC_CACHED_CACHE_NONE == number) {
        if (cache->config.evictions <= evictions++ || !osc_cached_cache_evict(cache)) {
            ++cache->interval.no_room;
            *access = OSC_CACHED_FAILING;
            break;
        }
        *access = OSC_CACHED_CAPACITY;
        number = osc_cached_storage_alloc(&cache->storage, bytes);
    }
    return number;
}

/* How many regions from the hand on give way to a newcomer of this count; 0: they do not. */
static uint32_t fight(const osc_cached_cache_t *cache, uint32_t units, uint32_t count,
                      bool needs_entry)
{
    const osc_cached_storage_t *storage = &cache->storage;
    uint32_t number = storage->hand, begin = storage->entries[number].offset, sum = 0;

    for (uint32_t regions = 1; regions <= OSC_CACHED_DUEL_REGIONS; ++regions) {
        const osc_cached_entry_t *entry = &storage->entries[number];
        uint32_t end;

        if (OSC_CACHED_ENTRY_HOLE != entry->state) {
            sum += value_of(cache, entry);
            if (count < sum || 0 < entry->pins) {
                return 0;
            }
            needs_entry = false;
        }
        number = entry->after;
        end = (OSC_CACHED_STORAGE_NONE == number) ? storage->capacity
                                                  : storage->entries[number].offset;
        if (units <= end - begin && !needs_entry) {
            return regions;
        }
        if (OSC_CACHED_STORAGE_NONE == number) {
            return 0;
        }
    }
    return 0;
}

/* A region for a new entry: in a hole, or where a duel is won. */
static uint32_t store_by_duel(osc_cached_cache_t *cache, uint32_t count, size_t bytes,
                              osc_cached_access_t *access)
{
    osc_cached_storage_t *storage = &cache->storage;
    uint32_t units = osc_cached_storage_units_for(storage, bytes);
    uint32_t slots = osc_cached_index_num_slots(&cache->index);
    bool full_index = osc_cached_cache_entries_max(cache, slots) <= cache->index.count;

    if (!full_index) {
        uint32_t number = store_in_hole(cache, bytes);

        if (OSC_CACHED_CACHE_NONE != number) {
            *access = OSC_CACHED_DIRECT;
            return number;
        }
    } else {
        osc_cached_cache_grow_memory(cache, bytes);
    }
    for (int i = 0; i < OSC_CACHED_DUEL_TRIES; ++i) {
        uint32_t regions = fight(cache, units, count, full_index), number = storage->hand;

        if (0 == regions) {
            move_hand(storage);
            continue;
        }
        for (uint32_t k = 0; k < regions; ++k) {
            if (OSC_CACHED_ENTRY_HOLE != storage->entries[number].state) {
                expel(cache, number);
            }
            number = storage->entries[number].after;
        }
        *access = full_index ? OSC_CACHED_CONFLICTING : OSC_CACHED_CAPACITY;
        return osc_cached_storage_replace(storage, storage->hand, regions, bytes);
    }
    cache->interval.no_slot += full_index;
    cache->interval.no_room +=
        !full_index || OSC_CACHED_HOLES_NONE == osc_cached_holes_find(&storage->holes, units);
    *access = OSC_CACHED_DECLINED;
    return OSC_CACHED_CACHE_NONE;
}

/* Whether it takes less to clear the cache than to drop its entries, which are all dead. */
static bool is_worth_clearing(const osc_cached_cache_t *cache)
{
    uint32_t slots = osc_cached_index_num_slots(&cache->index);

    return 0 == cache->num_records && slots <= CLEAR_MAX
           && slots / CLEAR_SLOTS <= cache->index.count;
}

/* Collect a few dead entries; all of them at once, if that is worth it. */
static void sweep(osc_cached_cache_t *cache)
{
    const osc_cached_storage_t *storage = &cache->storage;
    bool all_dead = cache->all_dead;

    cache->all_dead = false; /* one is about to be made */
    if (0 == cache->index.count) {
        cache->sweep_left = 0;
    } else if (all_dead && is_worth_clearing(cache)) {
        osc_cached_cache_clear(cache);
    }
    for (int i = 0; i < SWEEP_STEP && 0 < cache->sweep_left; ++i, --cache->sweep_left) {
        const osc_cached_entry_t *entry;

        if (storage->num_fresh <= cache->sweep) {
            cache->sweep = 0;
        }
        entry = &storage->entries[cache->sweep];
        if ((OSC_CACHED_ENTRY_CACHED == entry->state || OSC_CACHED_ENTRY_PENDING == entry->state)
            && 0 == entry->pins && osc_cached_cache_is_dead(cache, entry)) {
            osc_cached_cache_drop(cache, cache->sweep);
        }
        ++cache->sweep;
    }
}

/* Gets */

osc_cached_access_t osc_cached_cache_get_slowly(osc_cached_cache_t *cache,
                                                osc_cached_target_t *target,
                                                osc_cached_entry_t *entry,
                                                const osc_cached_buffer_t *buffer, size_t bytes,
                                                uint64_t sequence, size_t *have)
{
    osc_cached_record_t *record;

    (void) osc_cached_duel_hit(&cache->duel, entry, (uint32_t) cache->gets);
    if (OSC_CACHED_ENTRY_CACHED == entry->state) {
        if (0 != entry->layout) {
            return OSC_CACHED_MISSING; /* another layout would have another name */
        }
        *have = entry->bytes;
        return OSC_CACHED_PARTIAL;
    }
    if (cache->records[entry->fill].bytes < bytes) {
        return OSC_CACHED_FAILING;
    }
    record = osc_cached_record_add(cache, target, entry, buffer, sequence);
    if (NULL == record) {
        return OSC_CACHED_FAILING;
    }
    record->fills = false;
    record->offset = 0;
    record->bytes = (uint32_t) bytes;
    ++cache->interval.access[OSC_CACHED_JOIN];
    return OSC_CACHED_JOIN;
}

osc_cached_access_t osc_cached_cache_get_inside(osc_cached_cache_t *cache,
                                                osc_cached_target_t *target,
                                                osc_cached_entry_t *entry, uint32_t skip,
                                                const osc_cached_buffer_t *buffer, size_t bytes,
                                                bool joins, uint64_t sequence)
{
    osc_cached_record_t *record;

    if (skip + bytes <= entry->bytes) {
        cache->distance = osc_cached_cache_hit(cache, entry, bytes);
        osc_cached_cache_copy(cache, entry, skip, buffer, bytes);
        return OSC_CACHED_HIT;
    }
    if (OSC_CACHED_ENTRY_PENDING != entry->state || !joins
        || cache->records[entry->fill].bytes < skip + bytes
        || NULL == (record = osc_cached_record_add(cache, target, entry, buffer, sequence))) {
        return OSC_CACHED_MISSING;
    }
    record->fills = false;
    record->offset = skip;
    record->bytes = (uint32_t) bytes;
    (void) osc_cached_cache_hit(cache, entry, bytes);
    ++cache->interval.misses;
    ++cache->interval.access[OSC_CACHED_JOIN];
    return OSC_CACHED_JOIN;
}

/* Whether a region is right for an entry that is fetched anew. */
static bool is_right(const osc_cached_storage_t *storage, uint32_t number, size_t bytes)
{
    size_t room = osc_cached_storage_room(storage, number);

    return bytes <= room && room <= 2 * bytes + OSC_CACHED_STORAGE_UNIT;
}

/* Before an entry is made: what is dead leaves, and there are slots. */
static inline void prepare_insertion(osc_cached_cache_t *cache)
{
    if (0 < cache->sweep_left) {
        sweep(cache);
    }
    if (cache->config.adapt.interval <= cache->gets - cache->interval.first_get
        || 0 < cache->interval.access[OSC_CACHED_CONFLICTING] + cache->interval.no_slot) {
        osc_cached_cache_look(cache);
    }
    if (0 < cache->later_slots) {
        osc_cached_cache_grow_slots(cache);
    }
}

static inline osc_cached_access_t insert(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                         osc_cached_key_t key, uint64_t hash,
                                         const osc_cached_buffer_t *buffer, size_t bytes,
                                         uint64_t stamp, uint64_t sequence, uint32_t *record_number)
{
    osc_cached_access_t access = OSC_CACHED_DIRECT;
    uint32_t number, count, gap, now = (uint32_t) cache->gets;
    bool lends = cache->joins_only && NULL == buffer->type;
    size_t room = lends ? 1 : bytes;
    osc_cached_entry_t *entry;
    osc_cached_record_t *record;

    if (cache->max_bytes < room || 0 == bytes
        || stamp != osc_cached_cache_whole_stamp(cache, target, key.address, key.target, bytes)) {
        return OSC_CACHED_FAILING;
    }
    number = osc_cached_cache_is_absent(cache, key)
                 ? OSC_CACHED_INDEX_NONE
                 : osc_cached_index_lookup(&cache->index, hash, key, osc_cached_cache_match,
                                           cache->storage.entries);
    if (OSC_CACHED_INDEX_NONE == number) {
        osc_cached_duel_recall(&cache->duel, hash, now, &count, &gap);
    } else {
        /* dead, or shorter than this get */
        entry = &cache->storage.entries[number];
        if (0 < entry->pins) {
            return OSC_CACHED_FAILING;
        }
        (void) osc_cached_duel_hit(&cache->duel, entry, now);
        count = entry->count;
        gap = entry->gap;
        if (!is_right(&cache->storage, number, room)) {
            osc_cached_cache_drop(cache, number);
            number = OSC_CACHED_INDEX_NONE;
        }
    }
    if (osc_cached_storage_capacity(&cache->storage) < room) {
        osc_cached_cache_grow_memory(cache, room);
        if (osc_cached_storage_capacity(&cache->storage) < room) {
            ++cache->interval.no_room;
            return OSC_CACHED_FAILING;
        }
    }
    if (OSC_CACHED_INDEX_NONE == number) {
        number = (OSC_CACHED_SCHEME_DUEL == cache->config.scheme)
                     ? store_by_duel(cache, count, room, &access)
                     : store_sampled(cache, room, &access);
        if (OSC_CACHED_CACHE_NONE == number) {
            osc_cached_duel_remember(&cache->duel, hash, count, now);
            return access;
        }
        entry = &cache->storage.entries[number];
        entry->address = key.address;
        entry->target = key.target;
        entry->layout = key.layout;
        if (!index_entry(cache, hash, number, &access)) {
            ++cache->interval.no_slot;
            osc_cached_storage_release(&cache->storage, number);
            return OSC_CACHED_FAILING;
        }
    }
    entry = &cache->storage.entries[number];
    record = osc_cached_record_add(cache, target, entry, buffer, sequence);
    if (NULL == record) {
        osc_cached_cache_drop(cache, number);
        return OSC_CACHED_FAILING;
    }
    record->fills = true;
    record->lends = lends;
    record->offset = 0;
    record->bytes = (uint32_t) bytes;
    entry->state = OSC_CACHED_ENTRY_PENDING;
    entry->stamp = stamp;
    entry->generation = (uint32_t) cache->generation;
    entry->last = now;
    entry->count = (uint16_t) count;
    entry->gap = gap;
    entry->bytes = 0;
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

    prepare_insertion(cache);
    osc_cached_duel_follow(&cache->duel, cache->index.count, (uint32_t) cache->gets);
    access = insert(cache, target, key, hash, buffer, bytes, stamp, sequence, record);
    ++cache->interval.access[access];
    cache->interval.most_entries =
        osc_cached_cache_larger(cache->interval.most_entries, cache->index.count);
    cache->interval.most_used = osc_cached_cache_larger(
        cache->interval.most_used, osc_cached_storage_used_bytes(&cache->storage));
    return access;
}

/* A place in storage and index that nobody uses. */
static uint32_t find_free(osc_cached_cache_t *cache, osc_cached_key_t key, uint64_t hash,
                          size_t bytes)
{
    uint32_t slots = osc_cached_index_num_slots(&cache->index), old, number;
    osc_cached_entry_t *entry;

    if (cache->max_bytes < bytes || slots - slots / 8 <= cache->index.count) {
        return OSC_CACHED_CACHE_NONE;
    }
    old = osc_cached_index_lookup(&cache->index, hash, key, osc_cached_cache_match,
                                  cache->storage.entries);
    if (OSC_CACHED_INDEX_NONE != old && 0 < cache->storage.entries[old].pins) {
        return OSC_CACHED_CACHE_NONE;
    }
    number = store_in_hole(cache, bytes);
    if (OSC_CACHED_CACHE_NONE == number) {
        return number;
    }
    if (OSC_CACHED_INDEX_NONE != old) { /* dead, or shorter; it stays where there is no room */
        osc_cached_cache_drop(cache, old);
    }
    forget_absent(cache);
    entry = &cache->storage.entries[number];
    entry->address = key.address;
    entry->target = key.target;
    entry->layout = key.layout;
    if (OSC_CACHED_OK != osc_cached_index_insert(&cache->index, hash, number)) {
        osc_cached_storage_release(&cache->storage, number);
        return OSC_CACHED_CACHE_NONE;
    }
    return number;
}

bool osc_cached_cache_insert_block(osc_cached_cache_t *cache, osc_cached_key_t key, uint64_t hash,
                                   const osc_cached_buffer_t *buffer, size_t bytes, uint32_t skip,
                                   const osc_cached_buffer_t *to, size_t wanted,
                                   uint32_t *record_number)
{
    osc_cached_entry_t *entry;
    osc_cached_record_t *record;
    uint32_t number, count, gap, fill;

    prepare_insertion(cache);
    number = find_free(cache, key, hash, bytes);
    if (OSC_CACHED_CACHE_NONE == number) {
        return false;
    }
    entry = &cache->storage.entries[number];
    record = osc_cached_record_add(cache, &cache->parked, entry, buffer, OSC_CACHED_CACHE_PARKED);
    if (NULL == record) {
        osc_cached_cache_drop(cache, number);
        return false;
    }
    fill = (uint32_t) (record - cache->records);
    record->fills = true;
    record->offset = 0;
    record->bytes = (uint32_t) bytes;
    osc_cached_duel_recall(&cache->duel, hash, (uint32_t) cache->gets, &count, &gap);
    entry->state = OSC_CACHED_ENTRY_PENDING;
    entry->stamp = UINT64_MAX; /* no sum of generations: nobody finds it */
    entry->generation = (uint32_t) cache->generation;
    entry->last = (uint32_t) cache->gets;
    entry->count = (uint16_t) count;
    entry->gap = gap;
    entry->bytes = 0;
    entry->fill = fill;
    record = osc_cached_record_add(cache, &cache->parked, entry, to, OSC_CACHED_CACHE_PARKED);
    if (NULL == record) {
        /* the caller's buffer stays the caller's */
        cache->records[fill].buffer.type = cache->records[fill].buffer.from = NULL;
        osc_cached_cache_abandon(cache, fill);
        return false;
    }
    record->fills = false;
    record->offset = skip;
    record->bytes = (uint32_t) wanted;
    ++cache->interval.access[OSC_CACHED_DIRECT];
    cache->interval.most_entries =
        osc_cached_cache_larger(cache->interval.most_entries, cache->index.count);
    cache->interval.most_used = osc_cached_cache_larger(
        cache->interval.most_used, osc_cached_storage_used_bytes(&cache->storage));
    *record_number = fill;
    return true;
}

uint32_t osc_cached_cache_block_issued(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                       uint32_t record, uint64_t stamp, uint64_t sequence)
{
    uint32_t waits = cache->records[record].next - 1; /* they were parked together */

    osc_cached_record_unlink(cache, &cache->parked, record);
    osc_cached_record_unlink(cache, &cache->parked, waits);
    osc_cached_record_link(cache, target, record, sequence);
    osc_cached_record_link(cache, target, waits, sequence + 1);
    cache->storage.entries[cache->records[record].entry].stamp = stamp;
    return waits;
}

void osc_cached_cache_abandon(osc_cached_cache_t *cache, uint32_t record)
{
    uint32_t number = cache->records[record].entry;
    osc_cached_entry_t *entry = &cache->storage.entries[number];
    uint32_t waits = cache->records[record].next;

    if (1 < entry->pins) {
        osc_cached_record_remove(cache, &cache->parked, waits - 1);
    }
    osc_cached_record_remove(cache, &cache->parked, record);
    entry->pins = 0;
    osc_cached_cache_drop(cache, number);
}

/* Have room for so many bytes of an entry that is in the index and not pinned, without an eviction.
 * The entry, which may be another one afterwards, or NULL. */
static osc_cached_entry_t *make_room(osc_cached_cache_t *cache, uint64_t hash, uint32_t number,
                                     size_t bytes)
{
    osc_cached_storage_t *storage = &cache->storage;
    osc_cached_entry_t *from = &storage->entries[number], *to;
    uint32_t other;

    if (osc_cached_storage_extend(storage, number, bytes)) {
        return from;
    }
    other = store_in_hole(cache, bytes);
    if (OSC_CACHED_CACHE_NONE == other) {
        return NULL;
    }
    to = &storage->entries[other];
    to->address = from->address;
    to->stamp = from->stamp;
    to->target = from->target;
    to->layout = from->layout;
    to->bytes = from->bytes;
    to->last = from->last;
    to->gap = from->gap;
    to->generation = from->generation;
    to->count = from->count;
    to->state = from->state;
    memcpy(osc_cached_storage_at(storage, to->offset), osc_cached_storage_at(storage, from->offset),
           from->bytes);
    (void) osc_cached_index_remove(&cache->index, hash, number);
    /* the place where it was is free */
    (void) osc_cached_index_insert(&cache->index, hash, other);
    osc_cached_storage_release(storage, number);
    return to;
}

bool osc_cached_cache_extend(osc_cached_cache_t *cache, osc_cached_target_t *target,
                             osc_cached_key_t key, uint64_t hash, size_t from, size_t bytes,
                             const osc_cached_buffer_t *buffer, uint64_t stamp, uint64_t sequence)
{
    osc_cached_entry_t *entry;
    osc_cached_record_t *record;

    entry = osc_cached_cache_find(cache, target, key, hash);
    if (NULL == entry || stamp != entry->stamp || OSC_CACHED_ENTRY_CACHED != entry->state
        || 0 < entry->pins || entry->bytes < from || bytes <= entry->bytes
        || cache->max_bytes < bytes) {
        return false;
    }
    entry = make_room(cache, hash, (uint32_t) (entry - cache->storage.entries), bytes);
    record = (NULL == entry) ? NULL : osc_cached_record_add(cache, target, entry, buffer, sequence);
    if (NULL == record) {
        return false;
    }
    record->fills = true;
    record->offset = (uint32_t) from;
    record->bytes = (uint32_t) (bytes - from);
    entry->fill = (uint32_t) (record - cache->records);
    return true;
}
