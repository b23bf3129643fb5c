/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The cache's invariants.
 */
#include "osc_cached_cache_internal.h"

static int verify_list(const osc_cached_cache_t *cache, const osc_cached_target_t *target,
                       uint32_t *count, uint32_t *pins)
{
    bool parked = target == &cache->parked;
    uint64_t before = 0;
    uint32_t prev = 0;

    for (uint32_t i = target->head; 0 != i; prev = i, i = cache->records[i - 1].next) {
        const osc_cached_record_t *record = &cache->records[i - 1];
        const osc_cached_entry_t *entry = &cache->storage.entries[record->entry];

        ++*count;
        if (parked != (OSC_CACHED_CACHE_PARKED == record->sequence) || record->prev != prev
            || (!parked && record->sequence <= before)) {
            return 5;
        }
        before = record->sequence;
        ++pins[record->entry];
        if (record->fills ? entry->fill != i - 1
                          : OSC_CACHED_ENTRY_PENDING == entry->state && !parked
                                && record->sequence <= cache->records[entry->fill].sequence) {
            return 6;
        }
    }
    return (target->tail == prev) ? 0 : 5;
}

static int verify_records(const osc_cached_cache_t *cache, const osc_cached_target_t *targets,
                          uint32_t num_targets, uint32_t *pins)
{
    uint32_t count = 0;
    int broken = verify_list(cache, &cache->parked, &count, pins);

    for (uint32_t t = 0; t < num_targets && 0 == broken; ++t) {
        broken = verify_list(cache, &targets[t], &count, pins);
    }
    return (0 != broken || count == cache->num_records) ? broken : 4;
}

int osc_cached_cache_verify(const osc_cached_cache_t *cache, const osc_cached_target_t *targets,
                            uint32_t num_targets)
{
    uint32_t used = 0, *pins;
    int broken = 0;

    if (!cache->open) {
        return 0;
    }
    if (0 != osc_cached_index_verify(&cache->index, osc_cached_cache_index_key, (void *) cache)
        || 0 != osc_cached_storage_verify(&cache->storage)) {
        return 1;
    }
    pins = cache->alloc.alloc(cache->alloc.context, 64, cache->storage.max_entries * sizeof(*pins));
    if (NULL == pins) {
        return 0; /* cannot tell */
    }
    memset(pins, 0, cache->storage.max_entries * sizeof(*pins));
    broken = verify_records(cache, targets, num_targets, pins);
    for (uint32_t i = 0; i < cache->storage.num_fresh && 0 == broken; ++i) {
        const osc_cached_entry_t *entry = &cache->storage.entries[i];

        if (OSC_CACHED_ENTRY_MISSING == entry->state || OSC_CACHED_ENTRY_HOLE == entry->state) {
            continue;
        }
        ++used;
        if (i
            != osc_cached_index_lookup(&cache->index, osc_cached_cache_hash_of(cache, entry),
                                       osc_cached_cache_key_of(entry), osc_cached_cache_match,
                                       cache->storage.entries)) {
            broken = 2;
        } else if (entry->pins != pins[i]
                   || (OSC_CACHED_ENTRY_PENDING == entry->state
                           ? 0 < entry->bytes || OSC_CACHED_CACHE_NONE == entry->fill
                           : 0 == entry->bytes
                                 || (OSC_CACHED_CACHE_NONE != entry->fill
                                     && cache->records[entry->fill].lends))) {
            broken = 4;
        } else if (cache->all_dead && !osc_cached_cache_is_dead(cache, entry)) {
            broken = 9;
        }
    }
    if (0 == broken && used != cache->index.count) {
        broken = 2;
    }
    if (0 == broken && used != cache->storage.num_used) {
        broken = 3;
    }
    if (0 == broken
        && cache->storage.holes.kind != osc_cached_cache_holes_kind(cache->config.scheme)) {
        broken = 7;
    }
    if (0 == broken
        && OSC_CACHED_INDEX_NONE
               != osc_cached_index_lookup(
                   &cache->index, osc_cached_index_hash(&cache->index, cache->absent),
                   cache->absent, osc_cached_cache_match, cache->storage.entries)) {
        broken = 8;
    }
    cache->alloc.free(cache->alloc.context, pins, cache->storage.max_entries * sizeof(*pins));
    return broken;
}
