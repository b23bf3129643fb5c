/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Completion of the cache's gets: what they have brought is kept, and copied to those that wait.
 */
#include "osc_cached_cache_records.h"

/* The same as finish(), where a buffer is lent. Its record stays until the last of those that wait
 * has its bytes; by then the entry is of no use any more. */
static void finish_lent(osc_cached_cache_t *cache, uint32_t number)
{
    const osc_cached_record_t *record = &cache->records[number];
    uint32_t entry_number = record->entry;
    osc_cached_entry_t *entry = &cache->storage.entries[entry_number];
    uint32_t lender = entry->fill;

    if (number != lender) {
        char *bytes = (char *) cache->records[lender].buffer.address + record->offset;

        if (NULL == record->buffer.type) {
            memmove(record->buffer.address, bytes, record->bytes); /* it may be the same buffer */
        } else {
            cache->config.copy(&record->buffer, bytes, record->bytes, true);
        }
        osc_cached_record_free(cache, number);
        --entry->pins;
    }
    if (1 == entry->pins) {
        osc_cached_record_free(cache, lender);
        entry->pins = 0;
        osc_cached_cache_drop(cache, entry_number);
    }
}

/* An entry that nobody waits for any more: it leaves when the owner has it, or it is not valid. */
static void settle_entry(osc_cached_cache_t *cache, const osc_cached_target_t *target,
                         uint32_t number, bool valid)
{
    const osc_cached_entry_t *entry = &cache->storage.entries[number];

    if (!valid
        || cache->filled(cache->filled_context, entry,
                         entry->stamp - osc_cached_cache_stamp(cache, target),
                         osc_cached_storage_at(&cache->storage, entry->offset))) {
        osc_cached_cache_drop(cache, number);
    }
}

static inline void set_filled(osc_cached_entry_t *entry, const osc_cached_record_t *record)
{
    entry->state = OSC_CACHED_ENTRY_CACHED;
    entry->bytes = record->offset + record->bytes;
    entry->fill = OSC_CACHED_CACHE_NONE;
}

/* The bytes of a record have come; it is in no list any more. */
__attribute__((__always_inline__)) static inline void
finish(osc_cached_cache_t *cache, const osc_cached_target_t *target, uint32_t number)
{
    const osc_cached_record_t *record = &cache->records[number];
    uint32_t entry_number = record->entry;
    osc_cached_entry_t *entry = &cache->storage.entries[entry_number];
    bool valid = osc_cached_cache_is_valid(cache, target, entry);
    char *bytes = (char *) osc_cached_storage_at(&cache->storage, entry->offset) + record->offset;

    if (record->lends || (!record->fills && OSC_CACHED_ENTRY_PENDING == entry->state)) {
        finish_lent(cache, number);
        return;
    }
    if (!record->fills) {
        osc_cached_cache_copy(cache, entry, record->offset, &record->buffer, record->bytes);
    } else {
        /* others may wait for it although it will not be served any more */
        if (valid || 1 < entry->pins) {
            if (NULL == record->buffer.type) {
                memcpy(bytes, record->buffer.address, record->bytes);
            } else {
                cache->config.copy(&record->buffer, bytes, record->bytes, false);
            }
        }
        set_filled(entry, record);
    }
    osc_cached_record_free(cache, number);
    if (0 == --entry->pins && (!valid || NULL != cache->filled)) {
        settle_entry(cache, target, entry_number, valid);
    }
}

/* The same of a get with a flush of its own, the most frequent: the only record of its target, that
 * nobody waits for. @return whether it is one */
static inline bool finish_alone(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                uint64_t sequence)
{
    const osc_cached_record_t *record;
    osc_cached_entry_t *entry;
    const void *from;
    char *to;
    size_t bytes;

    if (0 == target->head || target->head != target->tail || NULL != cache->more
        || NULL != cache->filled) {
        return false;
    }
    record = &cache->records[target->head - 1];
    if (sequence < record->sequence || !record->fills || record->lends
        || !osc_cached_buffer_is_bare(&record->buffer)) {
        return false;
    }
    entry = &cache->storage.entries[record->entry];
    if (1 != entry->pins || entry->stamp != osc_cached_cache_stamp(cache, target)) {
        return false;
    }
    to = (char *) osc_cached_storage_at(&cache->storage, entry->offset) + record->offset;
    from = record->buffer.address;
    bytes = record->bytes;
    set_filled(entry, record);
    entry->pins = 0;
    osc_cached_record_free(cache, target->head - 1);
    target->head = target->tail = 0;
    osc_cached_records_trim(cache);
    memcpy(to, from, bytes); /* last: nothing is needed after the call */
    return true;
}

/* not one function with the short way, which needs fewer registers */
__attribute__((__noinline__)) static void finish_all(osc_cached_cache_t *cache,
                                                     osc_cached_target_t *target, uint64_t sequence)
{
    uint32_t head = target->head;

    while (0 != head && cache->records[head - 1].sequence <= sequence) {
        uint32_t next = cache->records[head - 1].next;

        finish(cache, target, head - 1);
        head = next;
    }
    target->head = head;
    if (0 == head) {
        target->tail = 0;
    } else {
        cache->records[head - 1].prev = 0;
    }
    osc_cached_records_trim(cache);
}

void osc_cached_cache_complete(osc_cached_cache_t *cache, osc_cached_target_t *target,
                               uint64_t sequence)
{
    if (!finish_alone(cache, target, sequence)) {
        finish_all(cache, target, sequence);
    }
}

void osc_cached_cache_complete_one(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                   uint32_t record, uint64_t sequence)
{
    if (record < cache->fresh_records && sequence == cache->records[record].sequence) {
        osc_cached_record_unlink(cache, target, record);
        finish(cache, target, record);
        osc_cached_records_trim(cache);
    }
}

void osc_cached_cache_disown(osc_cached_cache_t *cache, uint32_t record)
{
    cache->storage.entries[cache->records[record].entry].stamp =
        UINT64_MAX; /* no sum of generations */
}

osc_cached_buffer_t osc_cached_cache_withdraw(osc_cached_cache_t *cache,
                                              osc_cached_target_t *target, uint32_t record)
{
    uint32_t number = cache->records[record].entry;
    osc_cached_entry_t *entry = &cache->storage.entries[number];
    osc_cached_buffer_t buffer = cache->records[record].buffer;

    cache->records[record].buffer.type = cache->records[record].buffer.from = NULL;
    osc_cached_record_remove(cache, target, record);
    if (0 == --entry->pins && !osc_cached_cache_is_valid(cache, target, entry)) {
        osc_cached_cache_drop(cache, number);
    }
    return buffer;
}
