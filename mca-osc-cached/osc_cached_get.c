/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Get and MPI_Rget.  A get takes four steps, in get_looked_up() and then in this order:
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
 * Three kinds of gets take a shorter way: those that are passed through because the epoch or the
 * mode keeps nothing, or because it does not pay; hits and misses in their most frequent form,
 * plain_get() and plain_miss().
 *
 * The inner functions are called without the window's lock: they may take long, and make progress.
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"

#include "coherence/osc_cached_coherence.h"
#include "core/osc_cached_block.h"
#include "node/osc_cached_node.h"
#include "osc_cached_account.h"
#include "osc_cached_bounce.h"
#include "osc_cached_get.h"
#include "osc_cached_info.h"
#include "osc_cached_memory.h"
#include "osc_cached_rget.h"
#include "osc_cached_sync.h"
#include "osc_cached_trace.h"
#include "osc_cached_type.h"
#include "osc_cached_verify.h"

enum {
    MEASURED = 64,     /* one looked-up get of these is measured */
    BATCH_TIMED = 16,  /* real gets that are measured between two synchronisations, at the most */
    LANE_HITS = 1024,  /* hits of a thread before they are collected, under the lock */
    RETRY_OPEN = 65536 /* gets until another attempt when there was no memory */
};

/* The arguments of a get. */
typedef struct {
    void *origin_addr;
    ompi_osc_cached_count_t origin_count;
    ompi_datatype_t *origin_dt;
    int target;
    ptrdiff_t target_disp;
    ompi_osc_cached_count_t target_count;
    ompi_datatype_t *target_dt;
    ompi_request_t **request; /* NULL: MPI_Get */
} arguments_t;

/* What the cache needs to know of it. */
typedef struct {
    osc_cached_key_t key;
    uint64_t hash;
    osc_cached_buffer_t buffer;
    size_t bytes;
    osc_cached_block_t block; /* around it, that may be fetched; bytes 0: none */
    uint64_t begin;           /* ns; this get is measured since then, 0: it is not */
} wanted_t;

static int inner_get(ompi_osc_cached_window_t *window, const arguments_t *a);
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
static void trace_bypassed(const ompi_osc_cached_window_t *window, const arguments_t *a);
static inline void account(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                           const wanted_t *wanted, osc_cached_access_t access, size_t served,
                           bool plain);

/* A get in an epoch and a mode that keep something. Each action gives up the lock. */
static int get_looked_up(ompi_osc_cached_window_t *window, const arguments_t *a)
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
        account(window, peer, &wanted, OSC_CACHED_FAILING, 0, false);
        ompi_osc_cached_window_unlock(window);
        return pass(window, peer, a);
    }
}

/* 1 May it be cached? */

static inline size_t unit_of(const ompi_osc_cached_window_t *window, int target)
{
    return (0 < window->disp_unit) ? window->disp_unit : window->disp_units[target];
}

/* Whether the memory of a buffer is exposed by a window. */
static inline bool is_exposed(const osc_cached_buffer_t *buffer, size_t bytes)
{
    const opal_datatype_t *type;
    size_t span;

    if (OPAL_LIKELY(NULL == buffer->type)) {
        return ompi_osc_cached_is_exposed(buffer->address, bytes);
    }
    type = &((const ompi_datatype_t *) buffer->type)->super;
    span = (size_t) (type->true_ub - type->true_lb)
           + (size_t) (buffer->count - 1) * (size_t) (type->ub - type->lb);
    return ompi_osc_cached_is_exposed((char *) buffer->address + type->true_lb, span);
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
        || (ompi_osc_cached_is_dirty(peer) && !ompi_osc_cached_is_coherent(window))
        || window->uncounted) {
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
    if (OPAL_LIKELY(opal_datatype_is_contiguous_memory_layout(target, a->target_count))) {
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
    if (OPAL_LIKELY(opal_datatype_is_contiguous_memory_layout(origin, a->origin_count))) {
        wanted->buffer.address = (char *) a->origin_addr + origin->true_lb;
        wanted->buffer.type = NULL;
        return !ompi_osc_cached_is_exposed(wanted->buffer.address, wanted->bytes);
    }
    wanted->buffer.address = a->origin_addr;
    wanted->buffer.type = a->origin_dt;
    return 0 <= origin->ub - origin->lb && !is_exposed(&wanted->buffer, wanted->bytes);
}

/* 2 Look up */

/* The block around a get, where the window declares that all of it stays the same. */
static osc_cached_block_t block_of(const ompi_osc_cached_window_t *window,
                                   const ompi_osc_cached_peer_t *peer, osc_cached_key_t key,
                                   size_t bytes)
{
    const osc_cached_config_t *config = &window->cache.config;
    osc_cached_block_t none = {0, 0, 0};

    if (0 == config->block || 0 != key.layout || 0 < peer->profit.passed
        || NULL != window->coherence
        || (OSC_CACHED_MODE_ALWAYS != window->mode && OSC_CACHED_MODE_USER != window->mode)) {
        return none;
    }
    return osc_cached_block_of(config->block, config->reach, key.address, bytes);
}

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
static inline bool is_in_node(ompi_osc_cached_window_t *window, osc_cached_key_t key,
                              const osc_cached_block_t *block, const osc_cached_buffer_t *buffer,
                              size_t bytes)
{
    bool there = ompi_osc_cached_node_get(window, key, 0, buffer, bytes);

    if (!there && OPAL_UNLIKELY(0 < block->bytes)) {
        key.address = block->begin;
        there = ompi_osc_cached_node_get(window, key, block->skip, buffer, bytes);
    }
    if (there) {
        ++window->cache.gets;
        window->cache.got_bytes += bytes;
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
    if (OPAL_UNLIKELY(!cache->open)) {
        return OSC_CACHED_MISSING;
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
    if (ompi_osc_cached_node_is_used(window)
        && is_in_node(window, wanted->key, &wanted->block, &wanted->buffer, wanted->bytes)) {
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

static int inner_get(ompi_osc_cached_window_t *window, const arguments_t *a)
{
    if (NULL == a->request) {
        return window->inner.osc_get(a->origin_addr, a->origin_count, a->origin_dt, a->target,
                                     a->target_disp, a->target_count, a->target_dt, window->win);
    }
    return window->inner.osc_rget(a->origin_addr, a->origin_count, a->origin_dt, a->target,
                                  a->target_disp, a->target_count, a->target_dt, window->win,
                                  a->request);
}

/* A batch has at most BATCH_TIMED of them: a sum that has no place says enough. */
static inline uint32_t sum_ns(uint32_t sum, uint64_t more)
{
    return (more < UINT32_MAX - sum) ? sum + (uint32_t) more : UINT32_MAX;
}

/* The real get, measured if it is the turn of this target, and counted as outstanding. On success
 * the caller has the lock, and *sequence is the number of this get. */
static inline int issue(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                        const arguments_t *a, uint64_t *sequence)
{
    uint64_t begin = 0;
    bool timed =
        !OSC_CACHED_READ(peer->untimed) && OSC_CACHED_READ(peer->batch_timed) < BATCH_TIMED;
    int ret;

    if (timed) {
        begin = ompi_osc_cached_now();
    }
    ret = inner_get(window, a);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != ret)) {
        return ret;
    }
    ompi_osc_cached_window_lock(window);
    if (timed) {
        peer->batch_ns = sum_ns(peer->batch_ns, ompi_osc_cached_since(begin, 1));
        OSC_CACHED_WRITE(peer->batch_timed, peer->batch_timed + 1);
        window->timed = true;
    }
    ++peer->batch_gets;
    *sequence = ompi_osc_cached_issued(window, peer);
    return OMPI_SUCCESS;
}

/* The same, of a get that is measured since then: what the real one takes is not ours. */
static inline int issue_measured(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                 const arguments_t *a, uint64_t *begin, uint64_t *sequence)
{
    uint64_t issued = (0 < *begin) ? ompi_osc_cached_now() : 0;
    int ret = issue(window, peer, a, sequence);

    if (0 < *begin) {
        *begin += ompi_osc_cached_now() - issued;
    }
    return ret;
}

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
    account(window, peer, wanted, OSC_CACHED_HIT, wanted->bytes, false);
    if (0 < wanted->begin) {
        osc_cached_profit_follow(&window->costs.hit_ns, ompi_osc_cached_since(wanted->begin, 1));
    }
    return end_hit(window, peer, a, wanted);
}

static int join(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, wanted_t *wanted)
{
    ompi_osc_cached_type_keep(&wanted->buffer);
    (void) ompi_osc_cached_issued(window, peer);
    account(window, peer, wanted, OSC_CACHED_JOIN, wanted->bytes, false);
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
    account(window, peer, wanted, OSC_CACHED_PARTIAL, have, false);
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
    if (cache->config.block < before || !is_open(window)
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
        osc_cached_cache_abandon(cache, record);
        ompi_osc_cached_window_unlock(window);
        return true;
    }
    (void) ompi_osc_cached_issued(window, peer);
    waits = osc_cached_cache_block_issued(cache, &peer->cache, record, stamp, sequence);
    account(window, peer, wanted, OSC_CACHED_DIRECT, 0, false);
    ompi_osc_cached_count(window, OSC_CACHED_STAT_block_fetches);
    ompi_osc_cached_add(window, OSC_CACHED_STAT_bytes_fetched, block->bytes - wanted->bytes);
    if (OPAL_UNLIKELY(window->told_resizes != cache->resizes)) {
        ompi_osc_cached_info_tell(window);
    }
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

/* It is on its way: keep it if there is room; caller holds the lock. Plain: see plain_miss(). */
__opal_attribute_always_inline__ static inline uint32_t
keep(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, wanted_t *wanted,
     uint64_t stamp, uint64_t sequence, osc_cached_access_t *access, bool plain)
{
    osc_cached_cache_t *cache = &window->cache;
    uint32_t record = OSC_CACHED_CACHE_NONE;

    wanted->buffer.from = NULL; /* it has been fetched */
    if (!plain) {
        ompi_osc_cached_type_keep(&wanted->buffer);
    }
    *access = osc_cached_cache_insert(cache, &peer->cache, wanted->key, wanted->hash,
                                      &wanted->buffer, wanted->bytes, stamp, sequence, &record);
    if (!plain && OSC_CACHED_CACHE_NONE == record) {
        ompi_osc_cached_type_done(&wanted->buffer);
    }
    if (OPAL_UNLIKELY(window->told_resizes != cache->resizes)) {
        ompi_osc_cached_info_tell(window);
    }
    return record;
}

/* Whether what a get will bring may be kept in a coherent window, and under which stamp. */
static bool is_shared(ompi_osc_cached_window_t *window, const ompi_osc_cached_peer_t *peer,
                      const wanted_t *wanted, uint64_t *stamp)
{
    uint64_t more;

    if (!ompi_osc_cached_coherence_keeps(window, wanted->key.target, wanted->key.address,
                                         wanted->bytes, &more)) {
        return false;
    }
    *stamp = osc_cached_cache_stamp(&window->cache, &peer->cache) + more;
    return true;
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
        if (ompi_osc_cached_is_coherent(window) && !is_shared(window, peer, wanted, &stamp)) {
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
    record = keep(window, peer, wanted, stamp, sequence, &access, false);

done:
    account(window, peer, wanted, access, 0, false);
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

/* 4 Account */

/* A get that is not looked up, for the trace. */
static inline void trace_bypassed(const ompi_osc_cached_window_t *window, const arguments_t *a)
{
    if (OPAL_UNLIKELY(window->traced)) {
        ompi_osc_cached_trace_get(window, a->target,
                                  (uint64_t) a->target_disp
                                      * (window->cacheable ? unit_of(window, a->target) : 1),
                                  (size_t) a->target_count * a->target_dt->super.size, "bypassed");
    }
}

__opal_attribute_always_inline__ static inline void
account(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, const wanted_t *wanted,
        osc_cached_access_t access, size_t served, bool plain)
{
    ompi_osc_cached_account(window, peer, wanted->key, wanted->bytes, access, served, plain);
}

/* Memory was exposed */

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

static int withdraw(ompi_osc_cached_window_t *window)
{
    osc_cached_cache_t *cache = &window->cache;
    int ret = OMPI_SUCCESS;

    ompi_osc_cached_window_lock(window);
    for (uint32_t i = 0; 0 < cache->num_records && i < cache->fresh_records; ++i) {
        const osc_cached_record_t *record = &cache->records[i];

        if (0 != record->sequence && record->fills && is_exposed(&record->buffer, record->bytes)) {
            osc_cached_cache_disown(cache, i);
        }
    }
    for (uint32_t i = 0; 0 < cache->num_records && i < cache->fresh_records; ++i) {
        const osc_cached_record_t *record = &cache->records[i];
        ompi_osc_cached_peer_t *peer;
        osc_cached_buffer_t buffer;
        uint64_t sequence;
        arguments_t a;

        if (!waits_exposed(cache, record)) {
            continue;
        }
        a = arguments_of(window, &cache->storage.entries[record->entry], record);
        peer = ompi_osc_cached_peer(window, a.target);
        buffer = osc_cached_cache_withdraw(cache, &peer->cache, i);
        ompi_osc_cached_window_unlock(window);
        ret = issue(window, peer, &a, &sequence);
        ompi_osc_cached_type_done(&buffer);
        if (OMPI_SUCCESS != ret) {
            return ret;
        }
    }
    ompi_osc_cached_window_unlock(window);
    return OMPI_SUCCESS;
}

int ompi_osc_cached_get_withdraw(void)
{
    return ompi_osc_cached_window_each(withdraw);
}

/* The slots */

static int looked_up_get(ompi_osc_cached_window_t *window, const arguments_t *a);

/* A hit whose bytes lie at an offset of an entry. */
__opal_attribute_always_inline__ static inline void
plain_hit(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, osc_cached_entry_t *entry,
          uint32_t skip, char *buffer, size_t bytes)
{
    osc_cached_cache_t *cache = &window->cache;

    ++window->ticks;
    (void) osc_cached_cache_hit(cache, entry, bytes);
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_gets);
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_hits);
    ompi_osc_cached_add_alone(window, OSC_CACHED_STAT_bytes_served, bytes);
    if (OPAL_UNLIKELY(osc_cached_profit_count(&peer->profit, true))) {
        ompi_osc_cached_account_round(window, peer);
    }
    memcpy(buffer, (char *) osc_cached_storage_at(&cache->storage, entry->offset) + skip, bytes);
}

/* The same as plain_get(), of a get inside of a block. */
__opal_attribute_noinline__ static bool is_plain_hit_inside(ompi_osc_cached_window_t *window,
                                                            ompi_osc_cached_peer_t *peer,
                                                            osc_cached_key_t key, char *buffer,
                                                            size_t bytes)
{
    osc_cached_block_t block = block_of(window, peer, key, bytes);
    osc_cached_entry_t *entry;

    if (0 == block.bytes || ompi_osc_cached_is_exposed(buffer, bytes)) {
        return false;
    }
    key.address = block.begin;
    entry = osc_cached_cache_find_again(&window->cache, &peer->cache, key, block.skip + bytes);
    if (NULL == entry) {
        return false;
    }
    plain_hit(window, peer, entry, block.skip, buffer, bytes);
    return true;
}

/* The same as get_looked_up(), of a get that plain_get() did not find, with what it found out: one
 * thread, runs of bytes on both sides, access to the target. Asked here is the rest of
 * may_be_cached(). */
__opal_attribute_noinline__ static int plain_miss(ompi_osc_cached_window_t *window,
                                                  const arguments_t *a, uint64_t begin)
{
    osc_cached_cache_t *cache = &window->cache;
    ompi_osc_cached_peer_t *peer = window->peers.recent;
    wanted_t wanted = {.key = {(uint64_t) a->target_disp * unit_of(window, a->target)
                                   + (uint64_t) a->target_dt->super.true_lb,
                               a->target, 0},
                       .hash = cache->absent_hash,
                       .buffer.address = (char *) a->origin_addr + a->origin_dt->super.true_lb,
                       .bytes = (size_t) a->target_count * a->target_dt->super.size};
    uint64_t stamp = osc_cached_cache_stamp(cache, &peer->cache), sequence;
    osc_cached_access_t access;
    int ret;

    if (OPAL_UNLIKELY(0 != cache->config.block)
        && is_plain_hit_inside(window, peer, wanted.key, wanted.buffer.address, wanted.bytes)) {
        return OMPI_SUCCESS;
    }
    if (!osc_cached_cache_is_absent(cache, wanted.key) || osc_cached_is_nobody(peer)
        || ompi_osc_cached_is_dirty(peer) || window->uncounted || window->rank == a->target
        || 0 == wanted.bytes || INT_MAX < wanted.bytes
        || !osc_cached_cache_takes(cache, wanted.bytes) || 0 != cache->config.block
        || ompi_osc_cached_is_exposed(wanted.buffer.address, wanted.bytes)) {
        return looked_up_get(window, a);
    }
    ++window->ticks;
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_gets);
    osc_cached_cache_missed(cache, wanted.bytes);
    ret = issue_measured(window, peer, a, &begin, &sequence);
    if (OMPI_SUCCESS == ret) {
        (void) keep(window, peer, &wanted, stamp, sequence, &access, true);
        account(window, peer, &wanted, access, 0, true);
        if (0 < begin) {
            osc_cached_profit_follow(&window->costs.miss_ns, ompi_osc_cached_since(begin, 2));
        }
    }
    return ret;
}

/* The entry that was found when a key was asked for last, if it is valid in a coherent window;
 * NULL: the others are found by osc_cached_cache_get, which remembers nothing. */
static inline osc_cached_entry_t *find_coherent(ompi_osc_cached_window_t *window,
                                                const ompi_osc_cached_peer_t *peer,
                                                osc_cached_key_t key, size_t bytes)
{
    osc_cached_cache_t *cache = &window->cache;
    const osc_cached_copies_t *copies = cache->more_context;
    osc_cached_entry_t **memo = osc_cached_cache_memo(cache, key), *entry = *memo;
    uint64_t first, count;

    if (!osc_cached_cache_is_of(entry, key) || OSC_CACHED_ENTRY_CACHED != entry->state) {
        entry = osc_cached_cache_seek(cache, &peer->cache, key,
                                      osc_cached_index_hash(&cache->index, key), false);
        if (NULL == entry || OSC_CACHED_ENTRY_CACHED != entry->state) {
            return NULL;
        }
        *memo = entry;
    }
    osc_cached_copies_blocks(copies, entry->address, entry->bytes, &first, &count);
    return (bytes <= entry->bytes
            && entry->stamp
                   == osc_cached_cache_stamp(cache, &peer->cache)
                          + osc_cached_copies_stamp(copies, (uint32_t) key.target, first, count))
               ? entry
               : NULL;
}

typedef enum { PLAIN_HIT, PLAIN_MISS, PLAIN_MEASURED, PLAIN_NOT } plain_t;

/* The whole of a hit in its most frequent form: one thread, runs of bytes on both sides. Of what
 * may_be_cached() asks, an entry with the right stamp answers most: there is none for this process
 * itself, and none while own writes or uncounted operations are on their way. Measured: by the
 * caller; else it may be the turn of this one to be. */
__opal_attribute_always_inline__ static inline plain_t
plain_get(ompi_osc_cached_window_t *window, uint32_t ways, void *origin_addr,
          ompi_osc_cached_count_t origin_count, const ompi_datatype_t *origin_dt, int target,
          ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
          const ompi_datatype_t *target_dt, bool measured, bool coherent)
{
    enum { PLAIN = OPAL_DATATYPE_FLAG_CONTIGUOUS | OPAL_DATATYPE_FLAG_NO_GAPS };
    ompi_osc_cached_peer_t *peer = osc_cached_peers_find_again(&window->peers, target);
    osc_cached_cache_t *cache = &window->cache;
    size_t bytes = (size_t) target_count * target_dt->super.size;
    char *buffer = (char *) origin_addr + origin_dt->super.true_lb;
    osc_cached_key_t key = {0, target, 0};
    osc_cached_entry_t *entry;

    if (PLAIN != (origin_dt->super.flags & target_dt->super.flags & PLAIN)
        || !ompi_osc_cached_has_access(ways, peer) || 0 < peer->profit.passed
        || (size_t) origin_count * origin_dt->super.size != bytes) {
        return PLAIN_NOT;
    }
    if (!measured && OPAL_UNLIKELY(0 == (window->ticks + 1) % MEASURED)) {
        return PLAIN_MEASURED;
    }
    key.address =
        (uint64_t) target_disp * unit_of(window, target) + (uint64_t) target_dt->super.true_lb;
    entry = coherent ? find_coherent(window, peer, key, bytes)
                     : osc_cached_cache_find_again(cache, &peer->cache, key, bytes);
    if (OPAL_UNLIKELY(NULL == entry)) {
        return PLAIN_MISS;
    }
    if (ompi_osc_cached_is_exposed(buffer, bytes)) {
        return PLAIN_NOT;
    }
    plain_hit(window, peer, entry, 0, buffer, bytes);
    return PLAIN_HIT;
}

/* The same with several threads, in a lane of the gate: beside hits of others, and while nobody
 * holds the lock. */
__opal_attribute_noinline__ static bool is_shared_hit(ompi_osc_cached_window_t *window,
                                                      const arguments_t *a)
{
    enum { PLAIN = OPAL_DATATYPE_FLAG_CONTIGUOUS | OPAL_DATATYPE_FLAG_NO_GAPS };
    const opal_datatype_t *origin = &a->origin_dt->super, *target = &a->target_dt->super;
    size_t bytes = (size_t) a->target_count * target->size;
    char *buffer = (char *) a->origin_addr + origin->true_lb;
    osc_cached_key_t key = {0, a->target, 0};
    osc_cached_lane_t *lane;
    ompi_osc_cached_peer_t *peer;
    osc_cached_block_t block;
    uint64_t begin;
    bool hit = false;

    if (PLAIN != (origin->flags & target->flags & PLAIN)
        || (size_t) a->origin_count * origin->size != bytes
        || ompi_osc_cached_is_exposed(buffer, bytes)) {
        return false;
    }
    lane = osc_cached_gate_enter(window->gate);
    if (NULL == lane) {
        return false;
    }
    peer = ompi_osc_cached_peer(window, a->target);
    if ((window->ways & OSC_CACHED_WAY_SHARED) && !osc_cached_is_nobody(peer)
        && ompi_osc_cached_has_access(window->ways, peer) && 0 == peer->profit.passed
        && lane->hits < LANE_HITS && !osc_cached_gate_round_ends(peer)) {
        begin = (0 == lane->hits % MEASURED) ? ompi_osc_cached_now() : 0;
        key.address =
            (uint64_t) a->target_disp * unit_of(window, a->target) + (uint64_t) target->true_lb;
        hit = osc_cached_gate_hit(lane, &window->cache, peer, key, 0, buffer, bytes);
        if (OPAL_UNLIKELY(!hit && 0 != window->cache.config.block)) {
            block = block_of(window, peer, key, bytes);
            key.address = block.begin;
            hit =
                0 < block.bytes
                && osc_cached_gate_hit(lane, &window->cache, peer, key, block.skip, buffer, bytes);
        }
        if (hit && 0 < begin) {
            lane->hit_ns = (uint32_t) ompi_osc_cached_since(begin, 1);
        }
    }
    osc_cached_gate_leave(lane);
    return hit;
}

/* not one path with what follows: it takes only the registers it needs */
__opal_attribute_noinline__ static int looked_up_get(ompi_osc_cached_window_t *window,
                                                     const arguments_t *a)
{
    ompi_osc_cached_count(window, OSC_CACHED_STAT_gets);
    if (OPAL_LIKELY(ompi_osc_cached_ways(window) & OSC_CACHED_WAY_LOOKUP)) {
        return get_looked_up(window, a);
    }
    trace_bypassed(window, a);
    return inner_get(window, a);
}

/* The same as plain_get() in a coherent window; what is no hit, or is to be measured, is looked up.
 */
__opal_attribute_noinline__ static bool is_coherent_hit(ompi_osc_cached_window_t *window,
                                                        uint32_t ways, const arguments_t *a)
{
    return PLAIN_HIT
           == plain_get(window, ways, a->origin_addr, a->origin_count, a->origin_dt, a->target,
                        a->target_disp, a->target_count, a->target_dt, false, true);
}

/* The same in a window that shares the cache of its node. What entries of this process say of a
 * target is asked here: others have put theirs there. */
__opal_attribute_noinline__ static bool is_node_hit(ompi_osc_cached_window_t *window, uint32_t ways,
                                                    const arguments_t *a)
{
    enum { PLAIN = OPAL_DATATYPE_FLAG_CONTIGUOUS | OPAL_DATATYPE_FLAG_NO_GAPS };
    const opal_datatype_t *origin = &a->origin_dt->super, *target = &a->target_dt->super;
    ompi_osc_cached_peer_t *peer = osc_cached_peers_find_again(&window->peers, a->target);
    size_t bytes = (size_t) a->target_count * target->size;
    osc_cached_buffer_t buffer = {.address = (char *) a->origin_addr + origin->true_lb};
    osc_cached_key_t key = {0, a->target, 0};
    osc_cached_block_t block;

    if (PLAIN != (origin->flags & target->flags & PLAIN) || osc_cached_is_nobody(peer)
        || !ompi_osc_cached_has_access(ways, peer) || 0 < peer->profit.passed || 0 == bytes
        || (size_t) a->origin_count * origin->size != bytes || window->rank == a->target
        || window->uncounted || ompi_osc_cached_is_dirty(peer)
        || 0 == (window->ticks + 1) % MEASURED
        || ompi_osc_cached_is_exposed(buffer.address, bytes)) {
        return false;
    }
    key.address =
        (uint64_t) a->target_disp * unit_of(window, a->target) + (uint64_t) target->true_lb;
    block.bytes = 0;
    if (OPAL_UNLIKELY(0 != window->cache.config.block)) {
        block = block_of(window, peer, key, bytes);
    }
    if (!is_in_node(window, key, &block, &buffer, bytes)) {
        return false;
    }
    ++window->ticks;
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_gets);
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_hits);
    ompi_osc_cached_add_alone(window, OSC_CACHED_STAT_bytes_served, bytes);
    if (OPAL_UNLIKELY(osc_cached_profit_count(&peer->profit, true))) {
        ompi_osc_cached_account_round(window, peer);
    }
    return true;
}

/* What plain hits and misses cost, measured in one of some. */
__opal_attribute_noinline__ static int measured_get(ompi_osc_cached_window_t *window, uint32_t ways,
                                                    const arguments_t *a)
{
    uint64_t begin = ompi_osc_cached_now();
    plain_t plain =
        plain_get(window, ways, a->origin_addr, a->origin_count, a->origin_dt, a->target,
                  a->target_disp, a->target_count, a->target_dt, true, false);

    if (PLAIN_HIT == plain) {
        osc_cached_profit_follow(&window->costs.hit_ns, ompi_osc_cached_since(begin, 1));
        return OMPI_SUCCESS;
    }
    return (PLAIN_MISS == plain) ? plain_miss(window, a, begin) : looked_up_get(window, a);
}

__opal_attribute_noinline__ static int
cached_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
           struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
           ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
           ompi_osc_cached_window_t *window)
{
    uint32_t ways = ompi_osc_cached_ways(window);
    plain_t plain = OPAL_LIKELY(ways & OSC_CACHED_WAY_PLAIN)
                        ? plain_get(window, ways, origin_addr, origin_count, origin_dt, target,
                                    target_disp, target_count, target_dt, false, false)
                        : PLAIN_NOT;

    if (OPAL_LIKELY(PLAIN_HIT == plain)) {
        return OMPI_SUCCESS;
    }
    arguments_t a = {origin_addr, origin_count, origin_dt, target,
                     target_disp, target_count, target_dt, NULL};
    if (PLAIN_MISS == plain) {
        return plain_miss(window, &a, 0);
    }
    if (PLAIN_MEASURED == plain) {
        return measured_get(window, ways, &a);
    }
    if ((ways & OSC_CACHED_WAY_COHERENT_PLAIN) && is_coherent_hit(window, ways, &a)) {
        return OMPI_SUCCESS;
    }
    if ((ways & OSC_CACHED_WAY_NODE) && is_node_hit(window, ways, &a)) {
        return OMPI_SUCCESS;
    }
    if ((ways & OSC_CACHED_WAY_SHARED) && is_shared_hit(window, &a)) {
        return OMPI_SUCCESS;
    }
    return looked_up_get(window, &a);
}

/* A get that is passed through because caching it does not pay: not even counted as outstanding;
 * then every flush goes to the inner component. */
static inline bool does_not_pay(ompi_osc_cached_window_t *window, uint32_t ways, int target,
                                ptrdiff_t target_disp)
{
    ompi_osc_cached_peer_t *peer;

    if (!(ways & OSC_CACHED_WAY_QUICK)) {
        return false;
    }
    peer = osc_cached_peers_glance(&window->peers, target);
    /* an atomic read: compilers see that the second question answers the first, and ask only it */
    if (OPAL_LIKELY(0 == OSC_CACHED_READ(peer->profit.passed))
        || osc_cached_profit_looks(&peer->profit, (uint64_t) target_disp)) {
        return false;
    }
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_gets);
    peer->state |= OSC_CACHED_PEER_LOOSE;
    window->loose = true;
    return true;
}

/* The first get of a window, which is not known by its index yet. */
static int first_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                     struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                     ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                     ompi_win_t *win)
{
    return cached_get(origin_addr, origin_count, origin_dt, target, target_disp, target_count,
                      target_dt, ompi_osc_cached_window_of(win));
}

int ompi_osc_cached_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                        struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                        ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                        ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);
    ompi_osc_base_module_get_fn_t next = first_get;

    if (OPAL_LIKELY(NULL != window)) {
        uint32_t ways = ompi_osc_cached_ways(window);

        if (ways & OSC_CACHED_WAY_DIRECT) {
            ompi_osc_cached_count(window, OSC_CACHED_STAT_gets);
            next = window->inner.osc_get;
        } else if (does_not_pay(window, ways, target, target_disp)) {
            next = window->inner.osc_get;
        } else {
            return cached_get(origin_addr, origin_count, origin_dt, target, target_disp,
                              target_count, target_dt, window);
        }
    }
    return next(origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt,
                win);
}

__opal_attribute_noinline__ static int
cached_rget(void *origin_addr, ompi_osc_cached_count_t origin_count,
            struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
            ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
            ompi_win_t *win, struct ompi_request_t **request)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    arguments_t a = {origin_addr, origin_count, origin_dt, target,
                     target_disp, target_count, target_dt, request};

    ompi_osc_cached_count(window, OSC_CACHED_STAT_rgets);
    /* request operations are for passive epochs; elsewhere the inner component has its error */
    if (ompi_osc_cached_ways(window) & OSC_CACHED_WAY_PASSIVE) {
        return get_looked_up(window, &a);
    }
    trace_bypassed(window, &a);
    return inner_get(window, &a);
}

int ompi_osc_cached_rget(void *origin_addr, ompi_osc_cached_count_t origin_count,
                         struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                         ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                         ompi_win_t *win, struct ompi_request_t **request)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);
    ompi_osc_base_module_rget_fn_t next = cached_rget;

    if (OPAL_LIKELY(NULL != window) && (ompi_osc_cached_ways(window) & OSC_CACHED_WAY_DIRECT)) {
        ompi_osc_cached_count(window, OSC_CACHED_STAT_rgets);
        next = window->inner.osc_rget;
    }
    return next(origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt,
                win, request);
}
