/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of gets share: osc_cached_get.c (the slots, and gets in their most frequent form),
 * osc_cached_get_looked_up.c (all others) and osc_cached_withdraw.c.
 */

#ifndef OSC_CACHED_GET_INTERNAL_H
#define OSC_CACHED_GET_INTERNAL_H

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"

#include "core/osc_cached_block.h"
#include "node/osc_cached_node.h"
#include "osc_cached_account.h"
#include "osc_cached_info.h"
#include "osc_cached_memory.h"
#include "osc_cached_sync.h"
#include "osc_cached_trace.h"
#include "osc_cached_type.h"

enum {
    MEASURED = 64,   /* one looked-up get of these is measured */
    BATCH_TIMED = 16 /* real gets that are measured between two synchronisations, at the most */
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
    bool not_in_node;         /* the cache of the node has been looked at, but for blocks */
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

/** A get in an epoch and a mode that keep something. */
int ompi_osc_cached_get_looked_up(ompi_osc_cached_window_t *window, const arguments_t *a);

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

/* The block around a get, where the window declares that all of it stays the same. */
static inline osc_cached_block_t block_of(const ompi_osc_cached_window_t *window,
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

static inline int inner_get(ompi_osc_cached_window_t *window, const arguments_t *a)
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

/* A get has failed: parts of it may be on their way, which flushes have to wait for. Without an
 * epoch there are none. *sequence is the number of this get, or 0. */
__opal_attribute_noinline__ static int
failed(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, int ret, uint64_t *sequence)
{
    *sequence = 0;
    if (OMPI_ERR_RMA_SYNC != ret) {
        ompi_osc_cached_window_lock(window);
        *sequence = ompi_osc_cached_issued(window, peer);
        ompi_osc_cached_window_unlock(window);
    }
    return ret;
}

/* The real get, measured if it is the turn of this target, and counted as outstanding. On success
 * the caller has the lock, and *sequence is the number of this get. */
__opal_attribute_always_inline__ static inline int issue(ompi_osc_cached_window_t *window,
                                                         ompi_osc_cached_peer_t *peer,
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
        return failed(window, peer, ret, sequence);
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
__opal_attribute_always_inline__ static inline int
issue_measured(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, const arguments_t *a,
               uint64_t *begin, uint64_t *sequence)
{
    uint64_t issued = (0 < *begin) ? ompi_osc_cached_now() : 0;
    int ret = issue(window, peer, a, sequence);

    if (0 < *begin) {
        *begin += ompi_osc_cached_now() - issued;
    }
    return ret;
}

__opal_attribute_always_inline__ static inline void
account(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer, const wanted_t *wanted,
        osc_cached_access_t access, size_t served)
{
    ompi_osc_cached_account(window, peer, wanted->key, wanted->bytes, access, served, false);
}

/* After an insertion, which may change the sizes of the cache; caller holds the lock. */
static inline void tell_sizes(ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->told_resizes != window->cache.resizes)) {
        ompi_osc_cached_info_tell(window);
    }
}

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

#endif /* OSC_CACHED_GET_INTERNAL_H */
