/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets that wait for another one, or for a block, when memory of theirs is exposed.
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include "coherence/osc_cached_coherence.h"
#include "osc_cached_get_internal.h"
#include "osc_cached_withdraw.h"

/* A get that waits for another one, as a get of its own. */
static arguments_t arguments_of(const ompi_osc_cached_window_t *window,
                                const osc_cached_entry_t *entry, const osc_cached_record_t *record)
{
    const osc_cached_buffer_t *buffer = &record->buffer;
    uint64_t address = entry->address + record->offset;
    arguments_t a = {
        .origin_addr = buffer->address,
        .origin_count =
            (ompi_osc_cached_count_t) ((NULL == buffer->type) ? record->bytes : buffer->count),
        .origin_dt = (NULL == buffer->type) ? MPI_BYTE : buffer->type,
        .target = entry->target,
        .target_count =
            (ompi_osc_cached_count_t) ((NULL == buffer->from) ? record->bytes : buffer->from_count),
        .target_dt = (NULL == buffer->from) ? MPI_BYTE : buffer->from,
    };

    if (0 == entry->layout) {
        address -= (uint64_t) a.target_dt->super.true_lb;
    }
    a.target_disp = (ptrdiff_t) (address / unit_of(window, a.target));
    return a;
}

/* Whether a get waits for another one, and one of their buffers is exposed. */
static bool waits_exposed(const osc_cached_cache_t *cache, const osc_cached_record_t *record)
{
    const osc_cached_record_t *fill;

    if (0 == record->sequence || OSC_CACHED_CACHE_PARKED == record->sequence || record->fills) {
        return false; /* who has parked it asks again */
    }
    if (OSC_CACHED_ENTRY_PENDING == cache->storage.entries[record->entry].state) {
        fill = &cache->records[cache->storage.entries[record->entry].fill];
        if (is_exposed(&fill->buffer, fill->bytes)) {
            return true;
        }
    }
    return is_exposed(&record->buffer, record->bytes);
}

/* Does it still wait? */
static bool still_waits(const osc_cached_cache_t *cache, uint32_t i,
                        const osc_cached_record_t *before)
{
    const osc_cached_record_t *record = &cache->records[i];

    return i < cache->fresh_records && record->sequence == before->sequence
           && record->entry == before->entry && record->buffer.address == before->buffer.address
           && !record->fills;
}

/* A get that waits becomes one of its own. If that fails, it waits as before. Caller holds the
 * lock, which is given up meanwhile: a flush of another thread at that moment may end before what
 * is issued here has arrived. */
static int withdraw_one(ompi_osc_cached_window_t *window, uint32_t i)
{
    osc_cached_cache_t *cache = &window->cache;
    const osc_cached_record_t before = cache->records[i];
    arguments_t a = arguments_of(window, &cache->storage.entries[before.entry], &before);
    ompi_osc_cached_peer_t *peer = ompi_osc_cached_peer(window, a.target);
    uint64_t sequence;
    int ret;

    ompi_osc_cached_type_keep(&before.buffer);
    ompi_osc_cached_window_unlock(window);
    ret = issue(window, peer, &a, &sequence);
    if (OMPI_SUCCESS != ret) {
        ompi_osc_cached_window_lock(window);
        if (!still_waits(cache, i, &before)) {
            ret = OMPI_SUCCESS; /* its epoch has ended meanwhile */
        }
    } else if (still_waits(cache, i, &before)) {
        osc_cached_buffer_t buffer = osc_cached_cache_withdraw(cache, &peer->cache, i);

        ompi_osc_cached_type_done(&buffer);
    }
    ompi_osc_cached_type_done(&before.buffer);
    return ret;
}

static int withdraw(ompi_osc_cached_window_t *window)
{
    osc_cached_cache_t *cache = &window->cache;
    int ret = OMPI_SUCCESS;

    ompi_osc_cached_coherence_withdraw(window);
    ompi_osc_cached_window_lock(window);
    for (uint32_t i = 0; 0 < cache->num_records && i < cache->fresh_records; ++i) {
        const osc_cached_record_t *record = &cache->records[i];

        if (0 != record->sequence && record->fills && is_exposed(&record->buffer, record->bytes)) {
            osc_cached_cache_disown(cache, i);
        }
    }
    for (uint32_t i = 0; 0 < cache->num_records && i < cache->fresh_records; ++i) {
        if (waits_exposed(cache, &cache->records[i])) {
            int one = withdraw_one(window, i);

            ret = (OMPI_SUCCESS != ret) ? ret : one;
        }
    }
    ompi_osc_cached_window_unlock(window);
    return ret;
}

int ompi_osc_cached_withdraw(void)
{
    return ompi_osc_cached_window_each(withdraw);
}
