/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Get and MPI_Rget: the slots.  Three kinds of gets take a shorter way than those that are
 * looked up (osc_cached_get_looked_up.c): those that are passed through because the epoch or the
 * mode keeps nothing, or because it does not pay; hits and misses in their most frequent form,
 * plain_get() and plain_miss().
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <limits.h>
#include <string.h>

#include "coherence/osc_cached_coherence.h"
#include "osc_cached_get.h"
#include "osc_cached_get_internal.h"

enum { LANE_HITS = 1024 }; /* hits of a thread before they are collected, under the lock */

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

/* The same as ompi_osc_cached_get_looked_up(), of a get that plain_get() did not find, with what it
 * found out: one thread, runs of bytes on both sides, access to the target. Asked here is the rest
 * of may_be_cached(). Arguments one by one, and measured in a copy of its own: then none of it is
 * in memory but what the inner component and the cache want there. */
__opal_attribute_always_inline__ static inline int
miss(void *origin_addr, ompi_osc_cached_count_t origin_count, ompi_datatype_t *origin_dt,
     int target, ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
     ompi_datatype_t *target_dt, ompi_osc_cached_window_t *window, uint64_t begin)
{
    osc_cached_cache_t *cache = &window->cache;
    ompi_osc_cached_peer_t *peer = window->peers.recent;
    arguments_t a = {origin_addr,  origin_count, origin_dt, target, target_disp,
                     target_count, target_dt,    NULL,      false};
    osc_cached_key_t key = {(uint64_t) target_disp * unit_of(window, target)
                                + (uint64_t) target_dt->super.true_lb,
                            target, 0};
    osc_cached_buffer_t buffer = {.address = (char *) origin_addr + origin_dt->super.true_lb};
    size_t bytes = (size_t) target_count * target_dt->super.size;
    uint64_t stamp = osc_cached_cache_stamp(cache, &peer->cache), sequence;
    osc_cached_access_t access;
    int ret;

    if (OPAL_UNLIKELY(0 != cache->config.block)
        && is_plain_hit_inside(window, peer, key, buffer.address, bytes)) {
        return OMPI_SUCCESS;
    }
    if (OPAL_UNLIKELY(!osc_cached_cache_is_absent(cache, key) || osc_cached_is_nobody(peer)
                      || ompi_osc_cached_is_dirty(peer) || window->uncounted
                      || window->rank == target || 0 == bytes || INT_MAX < bytes
                      || !osc_cached_cache_takes(cache, bytes) || 0 != cache->config.block
                      || ompi_osc_cached_is_exposed(buffer.address, bytes))) {
        arguments_t copy = a; /* so that only here there is one in memory */

        return looked_up_get(window, &copy);
    }
    ++window->ticks;
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_gets);
    osc_cached_cache_missed(cache, bytes);
    ret = issue_measured(window, peer, &a, &begin, &sequence);
    if (OMPI_SUCCESS == ret) {
        access = osc_cached_cache_insert(cache, &peer->cache, key, cache->absent_hash, &buffer,
                                         bytes, stamp, sequence, NULL);
        tell_sizes(window);
        ompi_osc_cached_account(window, peer, key, bytes, access, 0, true);
        if (0 < begin) {
            osc_cached_profit_follow(&window->costs.miss_ns, ompi_osc_cached_since(begin, 2));
        }
    }
    return ret;
}

/* The arguments of cached_get(), in its order: none is moved on the way. */
__opal_attribute_noinline__ static int
plain_miss(void *origin_addr, ompi_osc_cached_count_t origin_count, ompi_datatype_t *origin_dt,
           int target, ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
           ompi_datatype_t *target_dt, ompi_osc_cached_window_t *window)
{
    return miss(origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt,
                window, 0);
}

/* The entry of a key in a coherent window, which is remembered; NULL: there is none with bytes. */
__opal_attribute_noinline__ static osc_cached_entry_t *
seek_coherent(osc_cached_cache_t *cache, const ompi_osc_cached_peer_t *peer, osc_cached_key_t key)
{
    osc_cached_entry_t *entry = osc_cached_cache_seek(
        cache, &peer->cache, key, osc_cached_index_hash(&cache->index, key), false);

    if (NULL == entry || OSC_CACHED_ENTRY_CACHED != entry->state) {
        return NULL;
    }
    *osc_cached_cache_memo(cache, key) = entry;
    return entry;
}

/* The entry that was found when a key was asked for last, if it is valid in a coherent window;
 * NULL: the others are found by osc_cached_cache_get, which remembers nothing. */
static inline osc_cached_entry_t *find_coherent(ompi_osc_cached_window_t *window,
                                                const ompi_osc_cached_peer_t *peer,
                                                osc_cached_key_t key, size_t bytes)
{
    osc_cached_cache_t *cache = &window->cache;
    const osc_cached_copies_t *copies = cache->more_context;
    osc_cached_entry_t *entry = *osc_cached_cache_memo(cache, key);

    if (OPAL_UNLIKELY(!osc_cached_cache_is_of(entry, key)
                      || OSC_CACHED_ENTRY_CACHED != entry->state)) {
        entry = seek_coherent(cache, peer, key);
        if (NULL == entry) {
            return NULL;
        }
    }
    return (bytes <= entry->bytes
            && entry->stamp
                   == osc_cached_cache_stamp(cache, &peer->cache)
                          + osc_cached_copies_stamp_of(copies, (uint32_t) key.target,
                                                       entry->address, entry->bytes))
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

/* A hit of the cache of the node, in a lane of the gate; see node_get(). */
static bool is_shared_node_hit(ompi_osc_cached_window_t *window, osc_cached_lane_t *lane,
                               ompi_osc_cached_peer_t *peer, osc_cached_key_t key, char *buffer,
                               size_t bytes)
{
    osc_cached_shared_t *shared = &window->sharing->shared;
    bool hit = window->rank != key.target && !ompi_osc_cached_is_dirty(peer)
               && osc_cached_shared_hit(shared, key, 0, buffer, bytes, NULL, NULL, shared->more,
                                        osc_cached_gate_may_change(lane));

    if (hit) {
        osc_cached_gate_count(lane, peer, bytes);
    }
    return hit;
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
        hit = ompi_osc_cached_shares(window)
                  ? is_shared_node_hit(window, lane, peer, key, buffer, bytes)
                  : osc_cached_gate_hit(lane, &window->cache, peer, key, 0, buffer, bytes);
        if (OPAL_UNLIKELY(!hit && 0 != window->cache.config.block)
            && !ompi_osc_cached_shares(window)) {
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
        return ompi_osc_cached_get_looked_up(window, a);
    }
    trace_bypassed(window, a);
    return inner_get(window, a);
}

/* ompi_osc_cached_coherence_term, where compilers see it. */
static inline uint64_t coherent_term(const void *context, int32_t target, uint64_t address,
                                     size_t bytes)
{
    return osc_cached_copies_stamp_of(context, (uint32_t) target, address, bytes);
}

/* The same as plain_get() in a window that shares the cache of its node. What entries of this
 * process say of a target is asked here: others have put theirs there. While own writes to it are
 * on their way, there is none with the right stamp, but in a coherent window, where these drop only
 * their blocks, which others may fetch again. Not inside of blocks. */
__opal_attribute_always_inline__ static inline plain_t
node_get(ompi_osc_cached_window_t *window, uint32_t ways, void *origin_addr,
         ompi_osc_cached_count_t origin_count, const ompi_datatype_t *origin_dt, int target,
         ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
         const ompi_datatype_t *target_dt, bool coherent)
{
    enum { PLAIN = OPAL_DATATYPE_FLAG_CONTIGUOUS | OPAL_DATATYPE_FLAG_NO_GAPS };
    ompi_osc_cached_peer_t *peer = osc_cached_peers_find_again(&window->peers, target);
    size_t bytes = (size_t) target_count * target_dt->super.size;
    char *buffer = (char *) origin_addr + origin_dt->super.true_lb;
    osc_cached_key_t key = {0, target, 0};

    if (PLAIN != (origin_dt->super.flags & target_dt->super.flags & PLAIN)
        || osc_cached_is_nobody(peer) || !ompi_osc_cached_has_access(ways, peer)
        || 0 < peer->profit.passed || (size_t) origin_count * origin_dt->super.size != bytes
        || window->rank == target || 0 == (window->ticks + 1) % MEASURED
        || (coherent && peer->completed < peer->written) /* this thread is in no write */
        || ompi_osc_cached_is_exposed(buffer, bytes)) {
        return PLAIN_NOT;
    }
    key.address =
        (uint64_t) target_disp * unit_of(window, target) + (uint64_t) target_dt->super.true_lb;
    if (!osc_cached_shared_hit(&window->sharing->shared, key, 0, buffer, bytes, NULL, NULL,
                               coherent ? coherent_term : NULL, true)) {
        return PLAIN_MISS;
    }
    ++window->ticks; /* not one of the private cache's gets */
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_gets);
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_hits);
    ompi_osc_cached_count_alone(window, OSC_CACHED_STAT_node_hits);
    ompi_osc_cached_add_alone(window, OSC_CACHED_STAT_bytes_served, bytes);
    if (OPAL_UNLIKELY(osc_cached_profit_count(&peer->profit, true))) {
        ompi_osc_cached_account_round(window, peer);
    }
    return PLAIN_HIT;
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
    return (PLAIN_MISS == plain)
               ? miss(a->origin_addr, a->origin_count, a->origin_dt, a->target, a->target_disp,
                      a->target_count, a->target_dt, window, begin)
               : looked_up_get(window, a);
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
    if (PLAIN_MISS == plain) {
        return plain_miss(origin_addr, origin_count, origin_dt, target, target_disp, target_count,
                          target_dt, window);
    }
    arguments_t a = {origin_addr,  origin_count, origin_dt, target, target_disp,
                     target_count, target_dt,    NULL,      false};
    if (PLAIN_MEASURED == plain) {
        return measured_get(window, ways, &a);
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
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);

    ompi_osc_cached_coherence_receive(window, origin_addr, (size_t) origin_count, origin_dt);
    return cached_get(origin_addr, origin_count, origin_dt, target, target_disp, target_count,
                      target_dt, window);
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

int ompi_osc_cached_coherent_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                                 struct ompi_datatype_t *origin_dt, int target,
                                 ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
                                 struct ompi_datatype_t *target_dt, ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);

    if (OPAL_LIKELY(NULL != window)) {
        uint32_t ways = ompi_osc_cached_ways(window);

        if ((ways & OSC_CACHED_WAY_COHERENT_PLAIN)
            && PLAIN_HIT
                   == plain_get(window, ways, origin_addr, origin_count, origin_dt, target,
                                target_disp, target_count, target_dt, false, true)) {
            return OMPI_SUCCESS;
        }
        ompi_osc_cached_coherence_receive(window, origin_addr, (size_t) origin_count, origin_dt);
    }
    return ompi_osc_cached_get(origin_addr, origin_count, origin_dt, target, target_disp,
                               target_count, target_dt, win);
}

__opal_attribute_always_inline__ static inline int
sharing_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
            struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
            ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
            ompi_win_t *win, bool coherent)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);

    if (OPAL_LIKELY(NULL != window)) {
        uint32_t ways = ompi_osc_cached_ways(window);

        plain_t plain = (ways & OSC_CACHED_WAY_NODE)
                            ? node_get(window, ways, origin_addr, origin_count, origin_dt, target,
                                       target_disp, target_count, target_dt, coherent)
                            : PLAIN_NOT;

        if (OPAL_LIKELY(PLAIN_HIT == plain)) {
            return OMPI_SUCCESS;
        }
        if (coherent) {
            ompi_osc_cached_coherence_receive(window, origin_addr, (size_t) origin_count,
                                              origin_dt);
        }
        if (PLAIN_MISS == plain) {
            arguments_t a = {origin_addr,  origin_count, origin_dt, target, target_disp,
                             target_count, target_dt,    NULL,      true};

            return looked_up_get(window, &a);
        }
    }
    return ompi_osc_cached_get(origin_addr, origin_count, origin_dt, target, target_disp,
                               target_count, target_dt, win);
}

int ompi_osc_cached_sharing_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                                struct ompi_datatype_t *origin_dt, int target,
                                ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
                                struct ompi_datatype_t *target_dt, ompi_win_t *win)
{
    return sharing_get(origin_addr, origin_count, origin_dt, target, target_disp, target_count,
                       target_dt, win, false);
}

int ompi_osc_cached_sharing_coherent_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                                         struct ompi_datatype_t *origin_dt, int target,
                                         ptrdiff_t target_disp,
                                         ompi_osc_cached_count_t target_count,
                                         struct ompi_datatype_t *target_dt, ompi_win_t *win)
{
    return sharing_get(origin_addr, origin_count, origin_dt, target, target_disp, target_count,
                       target_dt, win, true);
}

__opal_attribute_noinline__ static int
cached_rget(void *origin_addr, ompi_osc_cached_count_t origin_count,
            struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
            ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
            ompi_win_t *win, struct ompi_request_t **request)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    arguments_t a = {origin_addr,  origin_count, origin_dt, target, target_disp,
                     target_count, target_dt,    request,   false};

    ompi_osc_cached_count(window, OSC_CACHED_STAT_rgets);
    ompi_osc_cached_coherence_receive(window, origin_addr, (size_t) origin_count, origin_dt);
    /* request operations are for passive epochs; elsewhere the inner component has its error */
    if (ompi_osc_cached_ways(window) & OSC_CACHED_WAY_PASSIVE) {
        return ompi_osc_cached_get_looked_up(window, &a);
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
        ompi_osc_cached_coherence_receive(window, origin_addr, (size_t) origin_count, origin_dt);
        next = window->inner.osc_rget;
    }
    return next(origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt,
                win, request);
}
