/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What the files of the cache share: osc_cached_cache.c (gets), osc_cached_cache_complete.c (their
 * completion), osc_cached_cache_records.c (those on their way), osc_cached_cache_size.c (memory and
 * sizes) and osc_cached_cache_verify.c (invariants).
 */
#ifndef OSC_CACHED_CACHE_INTERNAL_H
#define OSC_CACHED_CACHE_INTERNAL_H

#include "osc_cached_cache.h"

/** Percent of an index that entries may take: they must find their places in a new one. */
#define OSC_CACHED_CACHE_LOAD_MAX 95

/** Gets that can be on their way in an open cache whatever its budget is used for. */
#define OSC_CACHED_CACHE_RECORDS_MIN 16u

/** Take bytes from the budget; false: there are not that many. */
bool osc_cached_cache_reserve(osc_cached_cache_t *cache, uint64_t bytes);
void osc_cached_cache_give_back(osc_cached_cache_t *cache, uint64_t bytes);
/** Bytes that the budget still has. */
uint64_t osc_cached_cache_available(const osc_cached_cache_t *cache);

/** Take more of what a gradual cache does not have yet: slots when the index is nearly full, bytes
 * when there is no hole for so many, which is at most max_bytes. */
void osc_cached_cache_grow_slots(osc_cached_cache_t *cache);
void osc_cached_cache_grow_memory(osc_cached_cache_t *cache, size_t bytes);

/** All entries leave at once; none is pinned. */
void osc_cached_cache_clear(osc_cached_cache_t *cache);

/** One entry leaves; false: none of those looked at may. */
bool osc_cached_cache_evict(osc_cached_cache_t *cache);

/** Most entries that insertions let an index have. */
static inline uint32_t osc_cached_cache_entries_max(const osc_cached_cache_t *cache, uint32_t slots)
{
    /* so full an index still takes a new entry in 35 ns */
    return (OSC_CACHED_SCHEME_DUEL == cache->config.scheme) ? slots - slots / 8 : slots;
}

static inline osc_cached_holes_kind_t osc_cached_cache_holes_kind(osc_cached_scheme_t scheme)
{
    return (OSC_CACHED_SCHEME_DUEL == scheme) ? OSC_CACHED_HOLES_IN_BINS
                                              : OSC_CACHED_HOLES_BEST_FIT;
}

static inline osc_cached_key_t osc_cached_cache_key_of(const osc_cached_entry_t *entry)
{
    osc_cached_key_t key = {entry->address, entry->target, entry->layout};

    return key;
}

static inline osc_cached_key_t osc_cached_cache_index_key(void *cache, uint32_t number)
{
    return osc_cached_cache_key_of(&((const osc_cached_cache_t *) cache)->storage.entries[number]);
}

static inline uint64_t osc_cached_cache_hash_of(const osc_cached_cache_t *cache,
                                                const osc_cached_entry_t *entry)
{
    return osc_cached_index_hash(&cache->index, osc_cached_cache_key_of(entry));
}

/** The entry is not pinned, and in the index. */
static inline void osc_cached_cache_drop(osc_cached_cache_t *cache, uint32_t number)
{
    const osc_cached_entry_t *entry = &cache->storage.entries[number];

    (void) osc_cached_index_remove(&cache->index, osc_cached_cache_hash_of(cache, entry), number);
    osc_cached_storage_release(&cache->storage, number);
}

/* Only the owner knows the targets: an entry that an own write to its target has killed looks alive
 * here; it ages and leaves like others. */
static inline bool osc_cached_cache_is_dead(const osc_cached_cache_t *cache,
                                            const osc_cached_entry_t *entry)
{
    return entry->generation != (uint32_t) cache->generation;
}

static inline uint64_t osc_cached_cache_smaller(uint64_t a, uint64_t b)
{
    return (a < b) ? a : b;
}

static inline uint64_t osc_cached_cache_larger(uint64_t a, uint64_t b)
{
    return (a < b) ? b : a;
}

#endif /* OSC_CACHED_CACHE_INTERNAL_H */
