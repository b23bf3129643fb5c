/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets of what is not in the cache, and those of windows whose processes have pools of blocks.
 */

#include "ompi_config.h"

#include "ompi/constants.h"

#include "osc_cached_coherence_state.h"
#include "osc_cached_memory.h"

enum { MAX_GETS = 64 }; /* that wait for blocks */

uint64_t ompi_osc_cached_coherence_term(const void *context, int32_t target, uint64_t address,
                                        size_t bytes)
{
    return osc_cached_copies_stamp_of(context, (uint32_t) target, address, bytes);
}

/* What must have been missed before, so that a block is asked for. As long as blocks that were
 * asked for are used, or that is not known, anything in it: a FILL takes about as long as two gets.
 * Then the same, in some places: enough to notice that they are used after all. Those that were
 * refused, because somebody holds the block and has not heard yet that it is wanted, say little of
 * that; and after each of them the next one comes later. */
static uint64_t parts_of(const ompi_osc_cached_window_t *window, uint64_t address)
{
    enum { FIRST = 64, USES = 2, REFUSALS = 8 };
    const osc_cached_copies_t *copies = &window->coherence->copies;
    uint64_t refused = copies->counts.directs,
             asked = copies->counts.fills - refused + refused / REFUSALS;
    unsigned long hits =
        atomic_load_explicit(&window->stats[OSC_CACHED_STAT_hits], memory_order_relaxed);

    return asked < FIRST + hits / USES ? OSC_CACHED_ALL_PARTS
                                       : osc_cached_copies_sampled_part(copies, address);
}

bool ompi_osc_cached_coherence_keeps(ompi_osc_cached_window_t *window, int target, uint64_t address,
                                     size_t bytes)
{
    coherence_t *c = window->coherence;
    osc_cached_copy_t copy;
    uint64_t first, count, stamp;
    uint32_t name;

    osc_cached_copies_blocks(&c->copies, address, bytes, &first, &count);
    ompi_osc_cached_helper_enter();
    copy = osc_cached_copies_miss(&c->copies, (uint32_t) target, first, count,
                                  parts_of(window, address), &stamp, &name, &c->post);
    ompi_osc_cached_coherence_leave(c);
    return OSC_CACHED_COPY_KEEP == copy;
}

static bool is_settled(coherence_t *c, int target)
{
    for (uint32_t i = 0; i < c->copies.config.ranks; ++i) {
        if (c->is_dead[i]) { /* who may have been asked to forward */
            ompi_osc_cached_cooperate_give_up(c->cooperation);
        }
    }
    return !ompi_osc_cached_cooperate_waits(c->cooperation, target);
}

static bool has_few_gets(coherence_t *c, int target)
{
    return MAX_GETS >= ompi_osc_cached_cooperate_gets(c->cooperation)
           || is_settled(c, OSC_CACHED_EVERYBODY);
}

ompi_osc_cached_pool_t ompi_osc_cached_coherence_get(ompi_osc_cached_window_t *window, int target,
                                                     uint64_t address, void *buffer, size_t bytes,
                                                     bool waits)
{
    coherence_t *c = window->coherence;
    ompi_osc_cached_fetch_t get = {
        .buffer = buffer, .address = address, .bytes = bytes, .target = target};
    ompi_osc_cached_pool_t pool = OSC_CACHED_POOL_PASS;

    ompi_osc_cached_helper_enter();
    /* since the look-up, by another thread, which may have withdrawn gets already */
    if (!window->threaded || !ompi_osc_cached_is_exposed(buffer, bytes)) {
        pool = ompi_osc_cached_cooperate_get(
            c->cooperation, &get, waits,
            window->cache.config.adaptive ? 0 : window->cache.config.memory);
    }
    ompi_osc_cached_coherence_leave(c);
    return pool;
}

void ompi_osc_cached_coherence_withdraw(ompi_osc_cached_window_t *window)
{
    coherence_t *c = window->coherence;

    if (NULL != c && NULL != c->cooperation) {
        ompi_osc_cached_helper_enter();
        ompi_osc_cached_cooperate_withdraw(c->cooperation);
        ompi_osc_cached_coherence_leave(c);
    }
}

void ompi_osc_cached_coherence_limit(ompi_osc_cached_window_t *window)
{
    coherence_t *c = window->coherence;

    if (MAX_GETS < ompi_osc_cached_cooperate_gets(c->cooperation)) {
        ompi_osc_cached_coherence_await(c, has_few_gets, 0);
    }
}

int ompi_osc_cached_coherence_settle(ompi_osc_cached_window_t *window, int target)
{
    coherence_t *c = window->coherence;
    ompi_osc_cached_fetch_t fetch;
    int ret = OMPI_SUCCESS;
    bool more = 0 < ompi_osc_cached_cooperate_gets(c->cooperation);

    if (more) {
        ompi_osc_cached_coherence_await(c, is_settled, target);
    }
    while (more) {
        ompi_osc_cached_helper_enter();
        more = ompi_osc_cached_cooperate_take(c->cooperation, target, &fetch);
        ompi_osc_cached_coherence_leave(c);
        if (more) {
            size_t unit =
                (0 < window->disp_unit) ? window->disp_unit : window->disp_units[fetch.target];
            int one =
                window->inner.osc_get(fetch.buffer, (ompi_osc_cached_count_t) fetch.bytes, MPI_BYTE,
                                      fetch.target, (ptrdiff_t) (fetch.address / unit),
                                      (ompi_osc_cached_count_t) fetch.bytes, MPI_BYTE, window->win);

            ret = (OMPI_SUCCESS == ret) ? one : ret;
        }
    }
    return ret;
}
