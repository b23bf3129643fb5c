/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Per-window state.  All live states are in a list under a lock; calls find theirs without a lock
 * in a table indexed by the window's Fortran index (1.7 ns against 6 ns for the list and 12 ns for
 * opal_hash_table, measured with 16 windows).
 *
 * I1  a state is in the list exactly from _create to _unlink
 * I2  a slot of the current table is NULL or holds a state that is in the list
 * I3  a table, once published, is only freed at finalize: readers need no lock
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/runtime/mpiruntime.h"

#include "osc_cached_window.h"

static ompi_osc_cached_table_t empty_table = {.size = 0};
static ompi_osc_cached_window_t
    no_window; /* of nobody; in unused slots, so that no call looks for NULL */
static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static ompi_osc_cached_window_t *windows = NULL;
static int num_made = 0; /* windows */

ompi_osc_cached_table_t *_Atomic ompi_osc_cached_table = &empty_table;

uint32_t ompi_osc_cached_clock_ns = 0;

void ompi_osc_cached_clock_init(void)
{
    uint64_t least = 1000; /* ns; more it never is */

    for (int i = 0; i < 32; ++i) {
        uint64_t begin = ompi_osc_cached_now(), ns = ompi_osc_cached_now() - begin;

        least = (ns < least) ? ns : least;
    }
    ompi_osc_cached_clock_ns = (uint32_t) least;
}

ompi_osc_cached_window_t *ompi_osc_cached_window_create(ompi_win_t *win, const char *inner_name,
                                                        bool traced, bool inspected)
{
    ompi_osc_cached_window_t *window = calloc(1, sizeof(*window));

    if (NULL == window) {
        return NULL;
    }
    window->win = win;
    window->inner_name = inner_name;
    if (0 == strcmp("rdma", inner_name)) {
        window->flush_first = OSC_CACHED_FLUSH_LOCKED;
    } else if (0 != strcmp("pt2pt", inner_name)) { /* where a flush is a round trip */
        window->flush_first = OSC_CACHED_FLUSH_FETCHING;
    }
    window->starts_early = 0 == strcmp("pt2pt", inner_name);
    /* MPI_Session_init with MPI_THREAD_MULTIPLE sets only the second */
    window->threaded = ompi_mpi_thread_multiple || opal_using_threads();
    window->mode =
        ompi_osc_cached_mode_in_force(window, (ompi_osc_cached_mode_t) ompi_osc_cached_params.mode);
    window->stores = (ompi_osc_cached_stores_t) ompi_osc_cached_params.stores;
    window->traced = traced;
    window->inspected = inspected;
    window->ways = traced ? 0 : OSC_CACHED_WAY_DIRECT;
    window->counted =
        OSC_CACHED_STATS_OFF != ompi_osc_cached_params.stats || traced
        || (NULL != ompi_osc_cached_params.top && '\0' != ompi_osc_cached_params.top[0]);
    OBJ_CONSTRUCT(&window->lock, opal_mutex_t);

    opal_mutex_lock(&lock);
    window->number = num_made++;
    window->next = windows;
    windows = window;
    opal_mutex_unlock(&lock);
    return window;
}

int ompi_osc_cached_window_units(ompi_communicator_t *comm, ompi_osc_cached_disp_unit_t disp_unit,
                                 size_t size, ompi_osc_cached_disp_unit_t *unit,
                                 ompi_osc_cached_disp_unit_t **units, uint64_t *reach,
                                 uint64_t *largest, bool *together, int64_t votes[OSC_CACHED_VOTES])
{
    enum { OWN = 5 };
    /* who has no memory is no target */
    int64_t mine[OWN + OSC_CACHED_VOTES] = {
        disp_unit, -disp_unit, (0 < size) ? (int64_t) size : INT64_MAX, -(int64_t) size, *together};
    int64_t least[OWN + OSC_CACHED_VOTES] = {0};
    ompi_osc_cached_disp_unit_t *all;
    int ret;

    *unit = 0;
    *units = NULL;
    memcpy(mine + OWN, votes, OSC_CACHED_VOTES * sizeof(*votes));
    ret = comm->c_coll->coll_allreduce(mine, least, OWN + OSC_CACHED_VOTES, MPI_INT64_T, MPI_MIN,
                                       comm, comm->c_coll->coll_allreduce_module);
    if (OMPI_SUCCESS != ret) {
        memset(least, 0, sizeof(least));
    }
    memcpy(votes, least + OWN, OSC_CACHED_VOTES * sizeof(*votes));
    *reach = (INT64_MAX != least[2]) ? (uint64_t) least[2] : 0;
    *largest = (uint64_t) -least[3];
    *together = 0 < least[4];
    if (OMPI_SUCCESS != ret || least[0] == -least[1]) {
        *unit = (OMPI_SUCCESS == ret) ? disp_unit : 0;
        return ret; /* with one unit for all, nothing is allocated for each process */
    }
    /* when one process has no memory nobody caches, and nobody waits for it */
    all = malloc(ompi_comm_size(comm) * sizeof(*all));
    mine[0] = NULL != all;
    ret = comm->c_coll->coll_allreduce(mine, least, 1, MPI_INT64_T, MPI_MIN, comm,
                                       comm->c_coll->coll_allreduce_module);
    if (OMPI_SUCCESS == ret && 0 < least[0]) {
        ret = comm->c_coll->coll_allgather(&disp_unit, 1, OSC_CACHED_MPI_DISP_UNIT, all, 1,
                                           OSC_CACHED_MPI_DISP_UNIT, comm,
                                           comm->c_coll->coll_allgather_module);
        if (OMPI_SUCCESS == ret) {
            *units = all;
            return OMPI_SUCCESS;
        }
    }
    free(all);
    return ret;
}

void ompi_osc_cached_window_prepare(ompi_osc_cached_window_t *window,
                                    const osc_cached_config_t *config,
                                    const osc_cached_alloc_t *alloc,
                                    ompi_osc_cached_disp_unit_t unit,
                                    ompi_osc_cached_disp_unit_t *units)
{
    window->disp_unit = unit;
    window->disp_units = units;
    window->rank = ompi_group_rank(window->win->w_group);
    window->costs.hit_ns = 50; /* until they are measured */
    window->costs.miss_ns = 150;
    window->cache.config = *config; /* info keys are read and reported for every window */
    if ((0 == unit && NULL == units)
        || OSC_CACHED_OK != osc_cached_cache_create(&window->cache, config, alloc)) {
        return;
    }
    osc_cached_peers_create(&window->peers, (uint32_t) ompi_group_size(window->win->w_group),
                            alloc);
    if (window->threaded) {
        window->gate =
            alloc->alloc(alloc->context, _Alignof(osc_cached_gate_t), sizeof(osc_cached_gate_t));
        if (NULL != window->gate) {
            memset(window->gate, 0, sizeof(*window->gate));
        }
    }
    window->cacheable = true;
}

void ompi_osc_cached_window_lock_threaded(ompi_osc_cached_window_t *window)
{
    osc_cached_gate_counts_t counts;

    opal_mutex_lock(&window->lock);
    if (NULL == window->gate) {
        return;
    }
    osc_cached_gate_close(window->gate);
    counts = osc_cached_gate_collect(window->gate, &window->cache, &window->costs);
    if (0 < counts.hits) {
        window->ticks += (uint32_t) counts.hits;
        ompi_osc_cached_add(window, OSC_CACHED_STAT_gets, counts.hits);
        ompi_osc_cached_add(window, OSC_CACHED_STAT_hits, counts.hits);
        ompi_osc_cached_add(window, OSC_CACHED_STAT_node_hits, counts.others);
        ompi_osc_cached_add(window, OSC_CACHED_STAT_bytes_served, counts.bytes);
    }
    if (0 < counts.flushes) {
        ompi_osc_cached_add(window, OSC_CACHED_STAT_flushes, counts.flushes);
        ompi_osc_cached_add(window, OSC_CACHED_STAT_local_flushes, counts.flushes);
    }
}

ompi_osc_cached_peer_t *ompi_osc_cached_peer_add(ompi_osc_cached_window_t *window, int target)
{
    bool lacking = window->peers.lacking;
    ompi_osc_cached_peer_t *peer = osc_cached_peers_add(&window->peers, target);

    if (osc_cached_is_nobody(peer)) {
        window->loose = true;
    } else if (lacking) {
        /* operations to it that were not counted may be on their way */
        peer->written = ompi_osc_cached_issued(window, peer);
    }
    return peer;
}

/* Whether the mode keeps anything in the present epoch. */
static bool keeps(const ompi_osc_cached_window_t *window)
{
    return window->cacheable && OSC_CACHED_EPOCH_NONE != window->epoch && NULL == window->advised
           && OSC_CACHED_LIFETIME_NOTHING
                  != osc_cached_lifetime(
                      window->mode, NULL != window->coherence,
                      osc_cached_epoch_is_passive(window->epoch),
                      (ompi_osc_cached_passive_t) ompi_osc_cached_params.passive_scope);
}

/* Whether the present epoch uses nothing of it, and adds nothing. */
static bool pauses(const ompi_osc_cached_window_t *window)
{
    /* who waits for a get on its way would have what was in the buffer before, for good */
    if (window->all_are_late && !osc_cached_epoch_is_passive(window->epoch)) {
        return true;
    }
    /* the target may store, and tell so, until it posts, for which a hit would not wait */
    return window->starts_early && OSC_CACHED_EPOCH_START == window->epoch
           && OSC_CACHED_MODE_COHERENT == window->mode;
}

static uint32_t find_ways(const ompi_osc_cached_window_t *window)
{
    bool passive = osc_cached_epoch_is_passive(window->epoch);
    bool quick = !window->threaded && !window->traced;
    bool unseen = !window->traced && !window->inspected;
    bool plain = unseen && window->cache.open;
    bool coherent = NULL != window->coherence;
    bool simple = !coherent && NULL == window->sharing;
    bool node = unseen && ompi_osc_cached_shares(window) && !window->uncounted;
    bool gated = NULL != window->gate;
    uint32_t ways = coherent ? OSC_CACHED_WAY_COHERENT : 0;

    if (!keeps(window)) {
        return ways | (window->traced ? 0 : OSC_CACHED_WAY_DIRECT);
    }
    if (pauses(window)) { /* what mode transparent keeps ends with the epoch that fetched it */
        ways |= (OSC_CACHED_MODE_TRANSPARENT != window->mode) ? OSC_CACHED_WAY_WRITES : 0;
        return ways | (window->traced ? 0 : OSC_CACHED_WAY_DIRECT);
    }
    ways |= OSC_CACHED_WAY_LOOKUP | OSC_CACHED_WAY_WRITES;
    ways |= passive ? OSC_CACHED_WAY_PASSIVE : 0;
    if (osc_cached_epoch_has_all(window->epoch)) {
        ways |= window->all_checked ? OSC_CACHED_WAY_LATER : OSC_CACHED_WAY_EVERYONE;
    }
    ways |= quick ? OSC_CACHED_WAY_QUICK : 0;
    if (unseen && quick && ompi_osc_cached_shares(window)) {
        ways |= node ? OSC_CACHED_WAY_NODE : 0;
    } else if (plain && quick) {
        ways |= simple ? OSC_CACHED_WAY_PLAIN : coherent ? OSC_CACHED_WAY_COHERENT_PLAIN : 0;
    }
    ways |= (gated && ((plain && simple) || node)) ? OSC_CACHED_WAY_SHARED : 0;
    if (!window->uncounted && quick && OSC_CACHED_EPOCH_FENCE == window->epoch && !coherent) {
        ways |= OSC_CACHED_WAY_PLAIN_FENCE;
    }
    if (!window->uncounted && unseen && passive
        && (OSC_CACHED_MODE_TRANSPARENT != window->mode || ompi_osc_cached_is_coherent(window))) {
        ways |= quick ? OSC_CACHED_WAY_PLAIN_FLUSH : 0;
        ways |= (gated && (plain || node)) ? OSC_CACHED_WAY_SHARED_FLUSH : 0;
    }
    return ways;
}

void ompi_osc_cached_window_update(ompi_osc_cached_window_t *window)
{
    OSC_CACHED_WRITE(window->ways, find_ways(window));
    /* rules S1, S2: what a get of these epochs brings is complete when it is dead; with threads one
     * may wait for a get that another thread completes */
    window->cache.joins_only = OSC_CACHED_MODE_TRANSPARENT == window->mode
                               && !osc_cached_epoch_is_passive(window->epoch) && !window->threaded;
    window->changed(window);
}

void ompi_osc_cached_window_invalidate(ompi_osc_cached_window_t *window)
{
    if (window->cacheable) {
        ompi_osc_cached_window_lock(window);
        ompi_osc_cached_window_forget(window);
        OSC_CACHED_WRITE(window->invalidated, window->invalidated + 1);
        ompi_osc_cached_window_unlock(window);
    }
}

void ompi_osc_cached_progress_only(const ompi_osc_cached_window_t *window)
{
    if (window->threaded) {
        opal_progress();
    } else {
        bool yields = opal_progress_set_yield_when_idle(false);

        opal_progress();
        (void) opal_progress_set_yield_when_idle(yields);
    }
}

void ompi_osc_cached_window_unlink(ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_window_t **link;
    ompi_osc_cached_table_t *table;
    int index = window->win->w_f_to_c_index;

    opal_mutex_lock(&lock);
    for (link = &windows; NULL != *link; link = &(*link)->next) {
        if (window == *link) {
            *link = window->next;
            break;
        }
    }
    /* Open MPI takes the index back after osc_free */
    table = atomic_load_explicit(&ompi_osc_cached_table, memory_order_relaxed);
    if (index < table->size
        && window == atomic_load_explicit(&table->slots[index], memory_order_relaxed)) {
        atomic_store_explicit(&table->slots[index], &no_window, memory_order_relaxed);
    }
    opal_mutex_unlock(&lock);
}

void ompi_osc_cached_window_destroy(ompi_osc_cached_window_t *window)
{
    if (window->cacheable) {
        osc_cached_cache_destroy(&window->cache);
        window->peers.alloc.free(window->peers.alloc.context, window->gate, sizeof(*window->gate));
        osc_cached_peers_destroy(&window->peers);
        free(window->started);
    }
    if (NULL != window->comm) {
        (void) ompi_comm_free(&window->comm);
    }
    free(window->disp_units);
    OBJ_DESTRUCT(&window->lock);
    free(window);
}

/* caller holds the lock */
static ompi_osc_cached_window_t *search(const ompi_win_t *win)
{
    for (ompi_osc_cached_window_t *window = windows; NULL != window; window = window->next) {
        if (win == window->win) {
            return window;
        }
    }
    return NULL;
}

ompi_osc_cached_window_t *ompi_osc_cached_window_search(const ompi_win_t *win)
{
    ompi_osc_cached_window_t *window;

    opal_mutex_lock(&lock);
    window = search(win);
    opal_mutex_unlock(&lock);
    return window;
}

int ompi_osc_cached_window_each(int (*visit)(ompi_osc_cached_window_t *window))
{
    int ret = OMPI_SUCCESS;

    opal_mutex_lock(&lock);
    for (ompi_osc_cached_window_t *window = windows; NULL != window; window = window->next) {
        int one = visit(window);

        ret = (OMPI_SUCCESS != ret) ? ret : one;
    }
    opal_mutex_unlock(&lock);
    return ret;
}

/* What the threads of this process did for others; NULL: there are none. */
static unsigned long others_count(const _Atomic unsigned long *counter)
{
    return (NULL == counter) ? 0 : atomic_load_explicit(counter, memory_order_relaxed);
}

/* A counter, or what can be told from others; caller holds the lock of the window. */
static unsigned long read_stat(const ompi_osc_cached_window_t *window, int stat)
{
    static const int looked_up[] = {
        OSC_CACHED_STAT_hits,    OSC_CACHED_STAT_partial_hits, OSC_CACHED_STAT_joins,
        OSC_CACHED_STAT_direct,  OSC_CACHED_STAT_conflicting,  OSC_CACHED_STAT_capacity,
        OSC_CACHED_STAT_failing, OSC_CACHED_STAT_declined,     OSC_CACHED_STAT_unshared,
    };
    const osc_cached_cache_t *cache = &window->cache;
    osc_cached_peers_place_t place = {0};
    const ompi_osc_cached_peer_t *peer;
    unsigned long value = atomic_load_explicit(&window->stats[stat], memory_order_relaxed);
    uint64_t debt = window->debt_ns;

    switch (stat) {
    case OSC_CACHED_STAT_bypassed:
        /* not counted on the way past the cache, which must stay short */
        value = read_stat(window, OSC_CACHED_STAT_gets) + read_stat(window, OSC_CACHED_STAT_rgets);
        for (size_t i = 0; i < sizeof(looked_up) / sizeof(looked_up[0]); ++i) {
            value -= read_stat(window, looked_up[i]);
        }
        return value;
    case OSC_CACHED_STAT_ns_saved:
        /* counted at the end of a round */
        while (NULL != (peer = osc_cached_peers_next(&window->peers, &place))) {
            value += osc_cached_profit_settle(&peer->profit, &window->costs, &debt);
        }
        return value;
    case OSC_CACHED_STAT_helper_served:
        return others_count(window->served);
    case OSC_CACHED_STAT_file_reads:
        return others_count(window->file_reads);
    case OSC_CACHED_STAT_file_bytes_read:
        return others_count(window->file_bytes_read);
    case OSC_CACHED_STAT_file_read_waits:
        return others_count(window->file_read_waits);
    case OSC_CACHED_STAT_coherence_fills:
    case OSC_CACHED_STAT_coherence_directs:
    case OSC_CACHED_STAT_coherence_holds:
    case OSC_CACHED_STAT_coherence_recalls:
    case OSC_CACHED_STAT_coherence_dropped:
    case OSC_CACHED_STAT_coherence_invalidations:
    case OSC_CACHED_STAT_coherence_syncs:
    case OSC_CACHED_STAT_coherence_traps:
    case OSC_CACHED_STAT_cooperate_kept:
    case OSC_CACHED_STAT_cooperate_forwards:
    case OSC_CACHED_STAT_cooperate_backs:
    case OSC_CACHED_STAT_cooperate_evictions:
    case OSC_CACHED_STAT_cooperate_lasts:
        return (NULL == window->coherence_counts)
                   ? 0
                   : atomic_load_explicit(
                       &window->coherence_counts[stat - OSC_CACHED_STAT_coherence_fills],
                       memory_order_relaxed);
    case OSC_CACHED_STAT_node_bytes:
    case OSC_CACHED_STAT_node_recoveries:
        return (NULL == window->sharing) ? 0 : window->node_count(window, stat);
    case OSC_CACHED_STAT_evictions:
        return cache->evictions;
    case OSC_CACHED_STAT_resizes:
        return cache->resizes;
    case OSC_CACHED_STAT_index_entries:
        return cache->open ? cache->index.count : 0;
    case OSC_CACHED_STAT_index_capacity:
        return cache->open ? osc_cached_index_num_slots(&cache->index) : 0;
    case OSC_CACHED_STAT_storage_used:
        return cache->open ? osc_cached_storage_used_bytes(&cache->storage) : 0;
    case OSC_CACHED_STAT_storage_capacity:
        return cache->open ? osc_cached_storage_capacity(&cache->storage) : 0;
    case OSC_CACHED_STAT_budget_taken:
        return osc_cached_cache_footprint(cache);
    default:
        return value;
    }
}

void ompi_osc_cached_window_settle(ompi_osc_cached_window_t *window,
                                   const ompi_osc_cached_peer_t *peer)
{
    ompi_osc_cached_add(window, OSC_CACHED_STAT_ns_saved,
                        osc_cached_profit_settle(&peer->profit, &window->costs, &window->debt_ns));
}

bool ompi_osc_cached_window_read(const ompi_win_t *win, int stat, unsigned long *value)
{
    ompi_osc_cached_window_t *window;

    opal_mutex_lock(&lock);
    window = search(win);
    if (NULL != window) {
        ompi_osc_cached_window_lock(window);
        *value = read_stat(window, stat);
        ompi_osc_cached_window_unlock(window);
    }
    opal_mutex_unlock(&lock);
    return NULL != window;
}

void ompi_osc_cached_window_count_all(const ompi_win_t *win)
{
    ompi_osc_cached_window_t *window;

    opal_mutex_lock(&lock);
    window = search(win);
    if (NULL != window) {
        ompi_osc_cached_window_lock(window);
        window->counted = true;
        window->changed(window);
        ompi_osc_cached_window_unlock(window);
    }
    opal_mutex_unlock(&lock);
}

/* caller holds the lock; the table that has a slot for the index, NULL without memory */
static ompi_osc_cached_table_t *table_for(int index)
{
    ompi_osc_cached_table_t *table =
        atomic_load_explicit(&ompi_osc_cached_table, memory_order_relaxed);
    ompi_osc_cached_table_t *larger;
    int size = 16; /* windows; most programs have fewer */

    if (index < table->size) {
        return table;
    }
    while (size <= index) {
        size *= 2;
    }
    larger = calloc(1, sizeof(*larger) + size * sizeof(larger->slots[0]));
    if (NULL == larger) {
        return NULL;
    }
    larger->size = size;
    larger->replaced = table;
    for (int i = 0; i < size; ++i) {
        atomic_store_explicit(&larger->slots[i],
                              (i < table->size)
                                  ? atomic_load_explicit(&table->slots[i], memory_order_relaxed)
                                  : &no_window,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&ompi_osc_cached_table, larger, memory_order_release);
    return larger;
}

ompi_osc_cached_window_t *ompi_osc_cached_window_enter(ompi_win_t *win)
{
    void (*entered)(ompi_osc_cached_window_t * window) = NULL;
    ompi_osc_cached_window_t *window;
    const char *name = win->w_name;
    int index = win->w_f_to_c_index;

    opal_mutex_lock(&lock);
    window = search(win);
    /* index 0 is MPI_WIN_NULL's, and every window's until Open MPI has given it one */
    if (NULL != window && 0 < index) {
        ompi_osc_cached_table_t *table = table_for(index);
        if (NULL != table) {
            atomic_store_explicit(&table->slots[index], window, memory_order_release);
        }
        entered = window->entered;
        window->entered = NULL;
        snprintf(window->name, sizeof(window->name), "%s", (NULL == name) ? "" : name);
    }
    opal_mutex_unlock(&lock);
    if (NULL != entered) {
        entered(window);
    }
    return window;
}

void ompi_osc_cached_window_sums(ompi_osc_cached_window_t *window, uint64_t sums[OSC_CACHED_SUMS])
{
    osc_cached_peers_place_t place = {0};
    const ompi_osc_cached_peer_t *peer;

    memset(sums, 0, OSC_CACHED_SUMS * sizeof(*sums));
    ompi_osc_cached_window_lock(window);
    for (int i = 0; i < OSC_CACHED_STAT_COUNT; ++i) {
        sums[i] = read_stat(window, i);
    }
    while (window->cacheable && NULL != (peer = osc_cached_peers_next(&window->peers, &place))) {
        osc_cached_profit_state_t state = osc_cached_profit_state(&peer->profit);

        ++sums[OSC_CACHED_SUM_TARGETS];
        sums[OSC_CACHED_SUM_CHEAP] += OSC_CACHED_CHEAP == state;
        sums[OSC_CACHED_SUM_SAMPLED] += OSC_CACHED_SAMPLED == state;
    }
    ompi_osc_cached_window_unlock(window);
}

void ompi_osc_cached_window_print(ompi_osc_cached_window_t *window)
{
    char text[4096];
    int used, column = 0;

    used = snprintf(text, sizeof(text), "osc/cached: rank %d window \"%s\" inner %s mode %s",
                    ompi_group_rank(window->win->w_group), window->win->w_name, window->inner_name,
                    ompi_osc_cached_modes[window->mode].string);
    ompi_osc_cached_window_lock(window);
    for (int i = 0; i < OSC_CACHED_STAT_COUNT && used < (int) sizeof(text); ++i) {
        unsigned long value = read_stat(window, i);
        if (0 < value) {
            used += snprintf(text + used, sizeof(text) - used, "%s%-16s %14lu",
                             (0 == column++ % 3) ? "\n  " : "   ", osc_cached_stat_names[i], value);
        }
    }
    ompi_osc_cached_window_unlock(window);
    opal_output(0, "%s", text);
}

void ompi_osc_cached_window_finalize(void)
{
    ompi_osc_cached_table_t *table =
        atomic_load_explicit(&ompi_osc_cached_table, memory_order_relaxed);

    atomic_store_explicit(&ompi_osc_cached_table, &empty_table, memory_order_relaxed);
    while (&empty_table != table) {
        ompi_osc_cached_table_t *replaced = table->replaced;
        free(table);
        table = replaced;
    }
}
