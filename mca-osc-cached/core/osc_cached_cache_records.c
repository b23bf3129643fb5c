/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The array of the cache's records: growing and giving back.
 */
#include "osc_cached_cache_records.h"

enum { RECORDS_SHARE = 4 }; /* they take at most 1 / this of what the cache has and may have */

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

bool osc_cached_records_grow(osc_cached_cache_t *cache)
{
    if (0 < cache->max_records) {
        return move_records(cache, 2 * cache->max_records);
    }
    return (OSC_CACHED_CACHE_RECORDS_MIN < cache->last_records
            && move_records(cache, cache->last_records))
           || move_records(cache, OSC_CACHED_CACHE_RECORDS_MIN);
}

void osc_cached_records_give_back(osc_cached_cache_t *cache)
{
    cache->last_records = cache->fresh_records;
    free_records(cache);
    cache->records = NULL;
    cache->max_records = 0;
    cache->fresh_records = 0;
    cache->free_record = 0;
}
