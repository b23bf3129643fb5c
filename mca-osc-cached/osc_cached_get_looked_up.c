/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A get that is looked up takes four steps, in ompi_osc_cached_get_looked_up() and then in this
 * order:
 *
 *     1 may it be cached?   no: pass(), to the inner component, counted as outstanding
 *     2 look up
 *     3 act                 hit()      copied; the inner component does not hear of it
 *                           join()     filled when the get it waits for is complete
 *                           partial()  the first bytes copied, the inner get fetches the rest
 *                           miss()     inner get first, then the cache's work while it flies;
 *                                      with block fetch fetch_block() instead, if there is room
 *                           from_pool() all of these, where processes keep blocks (coherence/)
 *     4 account             for the counters, the profit estimate and the trace
 *
 * The inner functions are called without the window's lock: they may take long, and make progress.
 */

#include "ompi_config.h"

#include "osc_cached_get_internal.h"

#include <limits.h>
#include <stdlib.h>

#include "coherence/osc_cached_coherence.h"
#include "osc_cached_bounce.h"
#include "osc_cached_rget.h"
#include "osc_cached_verify.h"

enum { RETRY_OPEN = 65536 }; /* gets until another attempt when there was no memory */

static bool may_be_cached(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                          const arguments_t *a, wanted_t *wanted);
static osc_cached_access_t look_up(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                   const arguments_t *a, wanted_t *wanted, size_t *have);
static int pass(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                const arguments_t *a);
static int hit(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, const arguments_t *a,
               wanted_t *wanted);
static int join(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, wanted_t *wanted);
static size_t usable(const ompi_osc_cached_window_t *window, const wanted_t *wanted, size_t have);
static int partial(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                   const arguments_t *a, wanted_t *wanted, size_t have);
static int miss(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                const arguments_t *a, wanted_t *wanted);
static int from_pool(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                     const arguments_t *a, const wanted_t *wanted);

/* Each action gives up the lock. */
int ompi_osc_cached_get_looked_up(ompi_osc_cached_window_t *window, const arguments_t *a)
{
    ompi_osc_cached_peer_t *peer;
    wanted_t wanted;
    size_t have = 0;

    ompi_osc_cached_window_lock(window);
    peer = ompi_osc_cached_peer_used(window, a->target);
    if (osc_cached_is_nobody(peer) || !may_be_cached(window, peer, a, &wanted)) {
        ompi_osc_cached_window_unlock(window);
        trace_bypassed(window, a);
        return pass(window, peer, a);
    }
    if (OPAL_UNLIKELY(ompi_osc_cached_has_pool(window) && ompi_osc_cached_is_coherent(window))) {
        return from_pool(window, peer, a, &wanted);
    }
    switch (look_up(window, peer, a, &wanted, &have)) {
    case OSC_CACHED_HIT:
        return hit(window, peer, a, &wanted);
    case OSC_CACHED_JOIN:
        return join(window, peer, &wanted);
    case OSC_CACHED_PARTIAL:
        have = usable(window, &wanted, have);
        return (0 < have) ? partial(window, peer, a, &wanted, have)
                          : miss(window, peer, a, &wanted);
    case OSC_CACHED_MISSING:
        return miss(window, peer, a, &wanted);
    default:
        account(window, peer, &wanted, OSC_CACHED_FAILING, 0);
        ompi_osc_cached_window_unlock(window);
        return pass(window, peer, a);
    }
}

/* 1 May it be cached? */

/* Whether nothing in the cache can be older than an own write that is on its way: each drops its
 * blocks, and until it is complete this process asks for none of them. But others of the node do.
 */
static inline bool has_only_own(const ompi_osc_cached_window_t *window)
{
    return ompi_osc_cached_is_coherent(window) && !ompi_osc_cached_shares(window);
}

/* Whether the cache may serve or keep a get, and under which name; caller holds the lock. */
static inline bool may_be_cached(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                 const arguments_t *a, wanted_t *wanted)
{
    const opal_datatype_t *origin = &a->origin_dt->super, *target = &a->target_dt->super;

    if (!osc_cached_profit_looks(&peer->profit, (uint64_t) a->target_disp)) {
        return false;
    }
    /* without access to the target the inner component returns its error (rule A14) */
    if (!ompi_osc_cached_has_access(window->ways, peer)
        || ompi_osc_cached_is_on_device(a->origin_addr) || window->rank == a->target
        || (ompi_osc_cached_is_dirty(peer) && !has_only_own(window)) || window->uncounted) {
        return false;
    }
    wanted->bytes = (size_t) a->target_count * target->size;
    if (0 == wanted->bytes || INT_MAX < wanted->bytes
        || (window->cache.open && !osc_cached_cache_takes(&window->cache, wanted->bytes))
        || (size_t) a->origin_count * origin->size != wanted->bytes) {
        return false;
    }
    wanted->key.target = a->target;
    wanted->key.layout = 0;
    wanted->key.address = (uint64_t) a->target_disp * unit_of(window, a->target);
    wanted->buffer.from = (0 == target->true_lb) ? NULL : a->target_dt;
    wanted->buffer.from_count = (size_t) a->target_count;
    if (OPAL_LIKELY(ompi_osc_cached_is_one_run(target, a->target_count))) {
        wanted->key.address += (uint64_t) target->true_lb;
    } else {
        if (ompi_osc_cached_is_coherent(window)) {
            return false; /* its bytes do not tell which blocks they are from */
        }
        wanted->key.layout = ompi_osc_cached_type_layout(window, a->target_dt, a->target_count);
        if (0 == wanted->key.layout) {
            return false;
        }
        wanted->buffer.from = a->target_dt;
    }
    wanted->buffer.count = a->origin_count;
    if (OPAL_LIKELY(ompi_osc_cached_is_one_run(origin, a->origin_count))) {
        wanted->buffer.address = (char *) a->origin_addr + origin->true_lb;
        wanted->buffer.type = NULL;
        return !ompi_osc_cached_is_exposed(wanted->buffer.address, wanted->bytes);
    }
    wanted->buffer.address = a->origin_addr;
    wanted->buffer.type = a->origin_dt;
    return 0 <= origin->ub - origin->lb && !is_exposed(&wanted->buffer, wanted->bytes);
}

/* 2 Look up */

/* A get may lie in a block that is here, or on its way. */
static osc_cached_access_t look_up_block(ompi_osc_cached_window_t *window,
                                         ompi_osc_cached_peer_t *peer, const arguments_t *a,
                                         const wanted_t *wanted)
{
    osc_cached_cache_t *cache = &window->cache;
    osc_cached_key_t key = wanted->key;
    osc_cached_entry_t *entry;

    key.address = wanted->block.begin;
    entry =
        osc_cached_cache_find(cache, &peer->cache, key, osc_cached_index_hash(&cache->index, key));
    return (NULL == entry)
               ? OSC_CACHED_MISSING
               : osc_cached_cache_get_inside(cache, &peer->cache, entry, wanted->block.skip,
                                             &wanted->buffer, wanted->bytes, NULL == a->request,
                                             window->sequence + 1);
}

/* A hit of the cache that the processes of the node share, or of a block that it has. */
static inline bool is_in_node(ompi_osc_cached_window_t *window, const arguments_t *a,
                              const wanted_t *wanted)
{
    osc_cached_key_t key = wanted->key;
    bool there;

    if (!ompi_osc_cached_node_is_used(window)) {
        return false;
    }
    there =
        !a->not_in_node && ompi_osc_cached_node_get(window, key, 0, &wanted->buffer, wanted->bytes);
    if (!there && OPAL_UNLIKELY(0 < wanted->block.bytes)) {
        key.address = wanted->block.begin;
        there = ompi_osc_cached_node_get(window, key, wanted->block.skip, &wanted->buffer,
                                         wanted->bytes);
    }
    if (there) {
        ++window->cache.gets;
        window->cache.got_bytes += wanted->bytes;
        ompi_osc_cached_count(window, OSC_CACHED_STAT_node_hits);
    }
    return there;
}

static inline osc_cached_access_t look_up(ompi_osc_cached_window_t *window,
                                          ompi_osc_cached_peer_t *peer, const arguments_t *a,
                                          wanted_t *wanted, size_t *have)
{
    osc_cached_cache_t *cache = &window->cache;

    wanted->begin = 0;
    wanted->block = block_of(window, peer, wanted->key, wanted->bytes);
    ++window->ticks;
    if (OPAL_UNLIKELY(!cache->open)) { /* what others of the node have fetched is there */
        return is_in_node(window, a, wanted) ? OSC_CACHED_HIT : OSC_CACHED_MISSING;
    }
    /* few are looked up of a target that is sampled: what they cost must follow what it asks for
     * now */
    if (OPAL_UNLIKELY(0 == window->ticks % MEASURED || 0 < peer->profit.passed)) {
        wanted->begin = ompi_osc_cached_now();
    }
    if (OPAL_UNLIKELY(0 < wanted->block.skip && 0 < wanted->block.bytes)) {
        osc_cached_access_t access = look_up_block(window, peer, a, wanted);

        if (OSC_CACHED_MISSING != access) {
            return access;
        }
    }
    if (is_in_node(window, a, wanted)) {
        return OSC_CACHED_HIT;
    }
    wanted->hash = osc_cached_index_hash(&cache->index, wanted->key);
    if (OPAL_UNLIKELY(NULL != a->request)) {
        const osc_cached_entry_t *entry =
            osc_cached_cache_find(cache, &peer->cache, wanted->key, wanted->hash);

        if (NULL != entry && OSC_CACHED_ENTRY_PENDING == entry->state) {
            return OSC_CACHED_FAILING; /* nobody would complete the request of a get that waits */
        }
    }
    return osc_cached_cache_get(cache, &peer->cache, wanted->key, wanted->hash, &wanted->buffer,
                                wanted->bytes, window->sequence + 1, have);
}

/* 3 Act */

/* Past the cache. */
static int pass(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                const arguments_t *a)
{
    uint64_t sequence;
    int ret;

    if (OPAL_UNLIKELY(osc_cached_is_nobody(peer))) {
        return inner_get(window, a);
    }
    ret = issue(window, peer, a, &sequence);
    if (OMPI_SUCCESS == ret) {
        ompi_osc_cached_used(window, peer);
        ompi_osc_cached_window_unlock(window);
    }
    return ret;
}

/* A hit is copied, and counted. Gives up the lock. */
static inline int end_hit(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                          const arguments_t *a, const wanted_t *wanted)
{
    bool quiet = NULL != a->request && ompi_osc_cached_was_quiet(window);

    ompi_osc_cached_window_unlock(window);
    if (OPAL_UNLIKELY(0 < ompi_osc_cached_numbers.verify)) {
        ompi_osc_cached_verify_hit(window, peer, wanted->key, &wanted->buffer, wanted->bytes,
                                   a->target_disp, a->target_count, a->target_dt);
    }
    if (NULL != a->request) {
        *a->request = &ompi_request_empty;
    }
    if (OPAL_UNLIKELY(quiet)) {
        ompi_osc_cached_make_progress(window);
    }
    return OMPI_SUCCESS;
}

static inline int hit(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                      const arguments_t *a, wanted_t *wanted)
{
    account(window, peer, wanted, OSC_CACHED_HIT, wanted->bytes);
    if (0 < wanted->begin) {
        osc_cached_profit_follow(&window->costs.hit_ns, ompi_osc_cached_since(wanted->begin, 1));
    }
    return end_hit(window, peer, a, wanted);
}

static int join(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, wanted_t *wanted)
{
    ompi_osc_cached_type_keep(&wanted->buffer);
    (void) ompi_osc_cached_issued(window, peer);
    account(window, peer, wanted, OSC_CACHED_JOIN, wanted->bytes);
    ompi_osc_cached_window_unlock(window);
    return OMPI_SUCCESS;
}

/* How much of a partial hit can be used: the inner get must begin at a whole displacement. */
static size_t usable(const ompi_osc_cached_window_t *window, const wanted_t *wanted, size_t have)
{
    size_t beyond = (size_t) ((wanted->key.address + have) % unit_of(window, wanted->key.target));

    return (NULL == wanted->buffer.type && beyond < have && NULL == window->cache.more)
               ? have - beyond
               : 0;
}

/* The first bytes are there: copy them and fetch the rest. */
static int partial(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                   const arguments_t *a, wanted_t *wanted, size_t have)
{
    uint64_t stamp = osc_cached_cache_stamp(&window->cache, &peer->cache), sequence;
    arguments_t rest = *a;
    osc_cached_buffer_t buffer = wanted->buffer;
    int ret;

    (void) osc_cached_cache_copy_first(&window->cache, &peer->cache, wanted->key, wanted->hash,
                                       &wanted->buffer, have);
    account(window, peer, wanted, OSC_CACHED_PARTIAL, have);
    ompi_osc_cached_window_unlock(window);
    if (OPAL_UNLIKELY(0 < ompi_osc_cached_numbers.verify && 0 == a->target_dt->super.true_lb)) {
        ompi_osc_cached_verify_hit(window, peer, wanted->key, &wanted->buffer, have, a->target_disp,
                                   (int) have, MPI_BYTE);
    }

    buffer.address = (char *) wanted->buffer.address + have;
    buffer.from = NULL;
    rest.origin_addr = buffer.address;
    rest.origin_count = rest.target_count = (ompi_osc_cached_count_t) (wanted->bytes - have);
    rest.origin_dt = rest.target_dt = MPI_BYTE;
    rest.target_disp = (ptrdiff_t) ((wanted->key.address + have) / unit_of(window, a->target));
    ret = issue(window, peer, &rest, &sequence);
    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    /* the rest of an MPI_Rget is not kept: it would need the request, and repeats are hits anyway
     */
    if (NULL == a->request && !(window->threaded && is_exposed(&buffer, wanted->bytes - have))) {
        (void) osc_cached_cache_extend(&window->cache, &peer->cache, wanted->key, wanted->hash,
                                       have, wanted->bytes, &buffer, stamp, sequence);
    }
    ompi_osc_cached_window_unlock(window);
    return OMPI_SUCCESS;
}

/* The cache may be opened now: the get is on its way. */
static bool is_open(ompi_osc_cached_window_t *window)
{
    if (OPAL_LIKELY(window->cache.open)) {
        return true;
    }
    if (0 < window->retry_open) {
        --window->retry_open;
        return false;
    }
    window->retry_open = RETRY_OPEN;
    if (OSC_CACHED_OK != osc_cached_cache_open(&window->cache)) {
        return false;
    }
    ompi_osc_cached_window_update(window);
    if (osc_cached_cache_memory(&window->cache) != window->cache.config.memory
        || osc_cached_cache_slots(&window->cache) != window->cache.config.entries) {
        ompi_osc_cached_info_tell(window); /* less, or more, than was asked for */
    }
    return true;
}

/* It is not there: fetch the block around it, if that has room; false: there is none. The cache's
 * work is done before the get is issued: another place for it could not be found afterwards. Gives
 * up the lock. */
static bool fetch_block(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                        const arguments_t *a, const wanted_t *wanted, int *ret)
{
    osc_cached_cache_t *cache = &window->cache;
    const osc_cached_block_t *block = &wanted->block;
    size_t unit = unit_of(window, a->target), before = block->begin % unit;
    arguments_t whole = *a;
    osc_cached_key_t key = wanted->key;
    osc_cached_buffer_t buffer;
    uint64_t stamp = osc_cached_cache_whole_stamp(cache, &peer->cache, block->begin, key.target,
                                                  block->bytes),
             sequence;
    uint32_t record, waits;

    /* the inner get must begin at a whole displacement */
    if (cache->config.block < before || !is_open(window) || ompi_osc_cached_comes_late(window)
        || (NULL != window->sharing && ompi_osc_cached_node_is_written(window, key.target))
        || !ompi_osc_cached_bounce_make(&buffer, before, block->bytes)) {
        return false;
    }
    key.address = block->begin;
    if (!osc_cached_cache_insert_block(cache, key, osc_cached_index_hash(&cache->index, key),
                                       &buffer, block->bytes, block->skip, &wanted->buffer,
                                       wanted->bytes, &record)) {
        ompi_osc_cached_bounce_done(&buffer);
        return false;
    }
    ompi_osc_cached_type_keep(&wanted->buffer);
    whole.origin_addr = (char *) buffer.address - before;
    whole.origin_count = whole.target_count = (ompi_osc_cached_count_t) (before + block->bytes);
    whole.origin_dt = whole.target_dt = MPI_BYTE;
    whole.target_disp = (ptrdiff_t) (block->begin / unit);
    ompi_osc_cached_window_unlock(window);
    *ret = issue(window, peer, &whole, &sequence);
    if (OMPI_SUCCESS != *ret) {
        ompi_osc_cached_window_lock(window);
        if (0 < sequence) { /* it may be on its way */
            cache->records[record].buffer.from = NULL;
            ompi_osc_cached_bounce_leave(&buffer, &window->bounces);
        }
        osc_cached_cache_abandon(cache, record);
        ompi_osc_cached_window_unlock(window);
        return true;
    }
    (void) ompi_osc_cached_issued(window, peer);
    waits = osc_cached_cache_block_issued(cache, &peer->cache, record, stamp, sequence);
    account(window, peer, wanted, OSC_CACHED_DIRECT, 0);
    ompi_osc_cached_count(window, OSC_CACHED_STAT_block_fetches);
    ompi_osc_cached_add(window, OSC_CACHED_STAT_bytes_fetched, block->bytes - wanted->bytes);
    tell_sizes(window);
    if (OPAL_UNLIKELY(window->threaded && is_exposed(&wanted->buffer, wanted->bytes))) {
        /* since the look-up, by another thread: it may not wait */
        buffer = osc_cached_cache_withdraw(cache, &peer->cache, waits);
        ompi_osc_cached_window_unlock(window);
        *ret = pass(window, peer, a);
        ompi_osc_cached_type_done(&buffer);
        return true;
    }
    ompi_osc_cached_window_unlock(window);
    return true;
}

/* It is on its way: keep it if there is room; caller holds the lock. */
static uint32_t keep(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                     wanted_t *wanted, uint64_t stamp, uint64_t sequence,
                     osc_cached_access_t *access)
{
    uint32_t record = OSC_CACHED_CACHE_NONE;

    wanted->buffer.from = NULL; /* it has been fetched */
    ompi_osc_cached_type_keep(&wanted->buffer);
    *access = osc_cached_cache_insert(&window->cache, &peer->cache, wanted->key, wanted->hash,
                                      &wanted->buffer, wanted->bytes, stamp, sequence, &record);
    if (OSC_CACHED_CACHE_NONE == record) {
        ompi_osc_cached_type_done(&wanted->buffer);
    }
    tell_sizes(window);
    return record;
}

/* It is not there: fetch it, and keep it. */
static int miss(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                const arguments_t *a, wanted_t *wanted)
{
    uint64_t stamp = osc_cached_cache_stamp(&window->cache, &peer->cache), sequence;
    osc_cached_access_t access = OSC_CACHED_FAILING;
    uint32_t record = OSC_CACHED_CACHE_NONE;
    struct ompi_osc_cached_rget_t *rget = NULL;
    int ret;

    if (OPAL_UNLIKELY(NULL != window->cache.more)) {
        stamp = osc_cached_cache_whole_stamp(&window->cache, &peer->cache, wanted->key.address,
                                             wanted->key.target, wanted->bytes);
        if (ompi_osc_cached_is_coherent(window)
            && !ompi_osc_cached_coherence_keeps(window, wanted->key.target, wanted->key.address,
                                                wanted->bytes)) {
            access = OSC_CACHED_UNSHARED;
        }
        if (NULL != window->sharing
            && ompi_osc_cached_node_is_written(window, wanted->key.target)) {
            access = OSC_CACHED_UNSHARED;
        }
    }
    if (OPAL_UNLIKELY(0 < wanted->block.bytes && NULL == a->request)
        && fetch_block(window, peer, a, wanted, &ret)) {
        return ret;
    }
    ompi_osc_cached_window_unlock(window);
    ret = issue_measured(window, peer, a, &wanted->begin, &sequence);
    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (OSC_CACHED_UNSHARED == access || !is_open(window)
        || (window->threaded && is_exposed(&wanted->buffer, wanted->bytes))) {
        goto done; /* exposed: since the look-up, by another thread */
    }
    if (NULL != a->request) {
        rget = ompi_osc_cached_rget_prepare(window);
        if (NULL == rget) {
            goto done;
        }
    }
    wanted->hash = osc_cached_index_hash(&window->cache.index, wanted->key);
    record = keep(window, peer, wanted, stamp, sequence, &access);

done:
    account(window, peer, wanted, access, 0);
    if (0 < wanted->begin) {
        osc_cached_profit_follow(&window->costs.miss_ns, ompi_osc_cached_since(wanted->begin, 2));
    }
    ompi_osc_cached_window_unlock(window);
    if (OSC_CACHED_CACHE_NONE != record && NULL != rget) {
        ompi_osc_cached_rget_follow(rget, window, peer, sequence, record, *a->request);
    } else {
        free(rget);
    }
    return OMPI_SUCCESS;
}

/* From the blocks that this process has, or waits for. */
static int from_pool(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                     const arguments_t *a, const wanted_t *wanted)
{
    ompi_osc_cached_pool_t pool = OSC_CACHED_POOL_PASS;

    ++window->ticks;
    /* what waits is fetched from there if need be: at a whole displacement */
    if (NULL == wanted->buffer.type && 0 == wanted->key.address % unit_of(window, a->target)) {
        pool = ompi_osc_cached_coherence_get(window, a->target, wanted->key.address,
                                             wanted->buffer.address, wanted->bytes,
                                             NULL == a->request);
    }
    switch (pool) {
    case OSC_CACHED_POOL_HIT:
        ompi_osc_cached_account_bytes(window, wanted->key, wanted->bytes, OSC_CACHED_HIT,
                                      wanted->bytes, false);
        return end_hit(window, peer, a, wanted);
    case OSC_CACHED_POOL_WAITS:
        (void) ompi_osc_cached_issued(window, peer);
        ompi_osc_cached_account_bytes(window, wanted->key, wanted->bytes, OSC_CACHED_DIRECT, 0,
                                      false);
        ompi_osc_cached_window_unlock(window);
        ompi_osc_cached_coherence_limit(window);
        return OMPI_SUCCESS;
    default:
        ompi_osc_cached_account_bytes(window, wanted->key, wanted->bytes, OSC_CACHED_UNSHARED, 0,
                                      false);
        ompi_osc_cached_window_unlock(window);
        return pass(window, peer, a);
    }
}
