/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment has no name: the first process of a node makes it, the others open it by that
 * process's number and descriptor, and nothing is left behind, whenever a process ends.  Its size
 * is what it may become; memory is reserved for what it has, step by step, so that no access can
 * fail.  Each step is paid by the budget of the process that needs it, or, if that is used up, by
 * that of the next one that keeps something and can: the budgets of the node are one.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/info.h"
#include "opal/util/proc.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/proc/proc.h"

#include "osc_cached_compat.h"
#include "osc_cached_descriptor.h"
#include "osc_cached_memory.h"
#include "osc_cached_node.h"
#include "osc_cached_params.h"

enum {
    AVERAGE = 64,           /* bytes of an entry, of which there may be so many that they fit */
    FIRST_MEMORY = 1 << 18, /* bytes of the arena at the start */
    FIRST_SLOTS = 1 << 10,  /* lines at the start */
    MOST_SLOTS = 1 << 26,   /* lines */
};

/* What a process tells the others: the first one of its node, and the rest if it is that. */
enum { FIRST, GOOD, MEMORY, SEED, WHERE, FIELDS = WHERE + OSC_CACHED_TOLD };

/* What the info key says, or else what the parameter says. */
static int wish_of(opal_info_t *info)
{
    int wish = ompi_osc_cached_params.share;
    char value[8];

    if (OSC_CACHED_HELPER_OFF == wish
        || !ompi_osc_cached_read_key(info, "ompi_osc_cached_share", value, sizeof(value))) {
        return wish;
    }
    return (0 == strcmp("on", value))    ? OSC_CACHED_HELPER_ON
           : (0 == strcmp("off", value)) ? OSC_CACHED_HELPER_OFF
                                         : wish;
}

void ompi_osc_cached_node_vote(opal_info_t *info, bool coherent, bool on_file,
                               int64_t votes[OSC_CACHED_VOTES])
{
    int wish = on_file ? OSC_CACHED_HELPER_OFF : wish_of(info);

    votes[OSC_CACHED_VOTE_SHARE] = OSC_CACHED_HELPER_ON == wish;
    /* when the process dies that hears for its node of what others write, the rest of the node must
     * not go on without it */
    votes[OSC_CACHED_VOTE_TOGETHER] =
        OSC_CACHED_HELPER_OFF != wish && coherent && !ompi_osc_cached_survives_deaths();
}

/* Beyond the limit of files, which the segment is, a signal would end the process. */
static bool may_end_at(uint64_t end)
{
    struct rlimit limit;

    return 0 == getrlimit(RLIMIT_FSIZE, &limit) && end <= limit.rlim_cur;
}

/* The rest of that part cannot be had. Pages at its ends may be those of others. */
static void shrink(void *context, uint64_t offset, uint64_t bytes)
{
    ompi_osc_cached_sharing_t *sharing = context;
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    uint64_t from = (offset + page - 1) / page * page, to = (offset + bytes) / page * page;

    if (from < to) {
        (void) fallocate(sharing->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) from,
                         (off_t) (to - from));
    }
    ompi_osc_cached_budget.give_back(ompi_osc_cached_budget.context, bytes);
    sharing->reserved -= bytes;
}

/* Memory for a part of the segment, before it is touched. */
static bool grow(void *context, uint64_t offset, uint64_t bytes)
{
    ompi_osc_cached_sharing_t *sharing = context;
    const osc_cached_budget_t *budget = &ompi_osc_cached_budget;

    if (!may_end_at(offset + bytes) || !budget->reserve(budget->context, bytes)) {
        return false;
    }
    sharing->reserved += bytes;
    if (0 != ompi_osc_cached_reserve_room(sharing->fd, offset, bytes, true)) {
        shrink(context, offset, bytes);
        return false;
    }
    return true;
}

/* What the private cache of a window has to know. */

static uint64_t generations(const void *context, int32_t target, uint64_t address, size_t bytes)
{
    const ompi_osc_cached_sharing_t *sharing = context;

    return osc_cached_shared_stamp(&sharing->shared, target, address, bytes);
}

/* A get has brought its bytes: they leave the private cache if the segment takes them. */
static bool publish(void *context, const osc_cached_entry_t *entry, uint64_t stamp, void *bytes)
{
    ompi_osc_cached_window_t *window = context;
    osc_cached_key_t key = {entry->address, entry->target, entry->layout};
    osc_cached_buffer_t buffer = {.address = bytes};

    return !ompi_osc_cached_type_is_own(key.layout) && ompi_osc_cached_node_is_used(window)
           && osc_cached_shared_publish(&window->sharing->shared, key, stamp, &buffer, entry->bytes,
                                        NULL);
}

/* The program or a change of the mode has invalidated what the window has. */
static void forget(ompi_osc_cached_window_t *window)
{
    osc_cached_shared_invalidate(&window->sharing->shared);
}

static unsigned long count(const ompi_osc_cached_window_t *window, int stat)
{
    const osc_cached_shared_t *shared = &window->sharing->shared;

    return (OSC_CACHED_STAT_node_bytes == stat)
               ? (unsigned long) osc_cached_shared_memory(shared)
               : (unsigned long) atomic_load_explicit(&shared->recoveries, memory_order_relaxed);
}

static uint32_t layout(ompi_osc_cached_window_t *window, uint64_t times, const void *description,
                       size_t bytes)
{
    return osc_cached_shared_layout(&window->sharing->shared, times, description, bytes);
}

/* Own writes (rule A1): the segment counts the processes that write to a target. */

void ompi_osc_cached_node_write(ompi_osc_cached_window_t *window, int target)
{
    ompi_osc_cached_sharing_t *sharing = window->sharing;

    if (!sharing->writes[target]) {
        sharing->writes[target] = true;
        osc_cached_shared_write_begin(&sharing->shared, target);
    }
}

void ompi_osc_cached_node_written(ompi_osc_cached_window_t *window, int target)
{
    ompi_osc_cached_sharing_t *sharing = window->sharing;

    if (sharing->writes[target]) {
        sharing->writes[target] = false;
        osc_cached_shared_write_end(&sharing->shared, target);
    }
}

/* Life */

static osc_cached_shared_config_t config_of(const int64_t *told, uint32_t targets, uint64_t extra)
{
    osc_cached_shared_config_t config = {
        .memory = FIRST_MEMORY,
        .slots = FIRST_SLOTS,
        .max_memory = (uint64_t) told[MEMORY],
        .max_slots = FIRST_SLOTS,
        .targets = targets,
        .extra = extra,
        .seed = (uint64_t) told[SEED],
    };

    if (config.max_memory < config.memory) {
        config.memory = config.max_memory;
    }
    while (config.max_slots < MOST_SLOTS && config.max_slots < config.max_memory / AVERAGE) {
        config.max_slots *= 2;
    }
    return config;
}

/* Map the segment, and make it or look at it. */
static bool map(ompi_osc_cached_sharing_t *sharing, const osc_cached_shared_config_t *config,
                bool makes)
{
    int ret;

    sharing->size = osc_cached_shared_size(config);
    if (0 == sharing->size
        || !ompi_osc_cached_may_map(atomic_load(&ompi_osc_cached_mapped) + sharing->size)
        || (makes
            && (!may_end_at(sharing->size) || 0 != ftruncate(sharing->fd, (off_t) sharing->size)
                || !grow(sharing, 0, osc_cached_shared_first(config))))) {
        return false;
    }
    sharing->memory = mmap(NULL, sharing->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                           sharing->fd, 0);
    if (MAP_FAILED == sharing->memory) {
        sharing->memory = NULL;
        return false;
    }
    atomic_fetch_add(&ompi_osc_cached_mapped, sharing->size);
    ret = makes
              ? osc_cached_shared_create(&sharing->shared, sharing->memory, config, grow, sharing)
              : osc_cached_shared_attach(&sharing->shared, sharing->memory, config, grow, sharing);
    sharing->shared.shrink = shrink;
    return OSC_CACHED_OK == ret;
}

/* The first process of the node. */
static void make(ompi_osc_cached_sharing_t *sharing, const osc_cached_config_t *cache, int ranks,
                 uint32_t targets, uint64_t extra, int64_t *told)
{
    const osc_cached_budget_t *budget = &ompi_osc_cached_budget;
    uint64_t each = cache->adaptive ? budget->available(budget->context) : cache->memory;
    osc_cached_shared_config_t config;

    sharing->fd = memfd_create("osc_cached_node", MFD_CLOEXEC);
    told[MEMORY] =
        (int64_t) (((UINT64_C(1) << 35) / (uint64_t) ranks < each) ? UINT64_C(1) << 35
                                                                   : each * (uint64_t) ranks);
    told[SEED] = (int64_t) cache->seed;
    config = config_of(told, targets, extra);
    told[GOOD] = ompi_osc_cached_may_keep(sharing->fd) && 0 == fchmod(sharing->fd, 0600)
                 && map(sharing, &config, true)
                 && ompi_osc_cached_tell_descriptor(sharing->fd, &told[WHERE]);
}

/* Another one. */
static bool find(ompi_osc_cached_sharing_t *sharing, uint32_t targets, uint64_t extra,
                 const int64_t *told)
{
    osc_cached_shared_config_t config = config_of(told, targets, extra);
    sharing->fd = ompi_osc_cached_reach_descriptor(&told[WHERE], O_RDWR);
    return ompi_osc_cached_may_keep(sharing->fd) && map(sharing, &config, false);
}

static ompi_osc_cached_sharing_t *create(ompi_osc_cached_window_t *window, int targets)
{
    ompi_osc_cached_sharing_t *sharing = NULL;

    if (NULL != window && window->cacheable) {
        sharing = calloc(1, sizeof(*sharing));
    }
    if (NULL != sharing) {
        sharing->fd = -1;
        sharing->writes = calloc((size_t) targets, sizeof(*sharing->writes));
        if (NULL == sharing->writes) {
            free(sharing);
            sharing = NULL;
        }
    }
    return sharing;
}

/* Whether everybody can say so; no: also when somebody cannot be asked. */
static bool is_agreed(ompi_communicator_t *comm, int can)
{
    return OMPI_SUCCESS
               == comm->c_coll->coll_allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, comm,
                                               comm->c_coll->coll_allreduce_module)
           && can;
}

/* The processes of each node are one sharer. */
static ompi_osc_cached_together_t bring_together(const ompi_osc_cached_sharing_t *sharing, int size,
                                                 int rank, int64_t (*told)[FIELDS])
{
    ompi_osc_cached_together_t together = {
        .first = malloc((size_t) size * sizeof(*together.first)),
        .memory = (NULL == sharing) ? NULL : sharing->shared.extra,
    };

    for (int i = 0; NULL != together.first && i < size; ++i) {
        together.first[i] = (uint32_t) told[i][FIRST];
        if (told[i][FIRST] == told[rank][FIRST]) {
            together.place += i < rank;
            ++together.places;
        }
    }
    return together;
}

ompi_osc_cached_together_t ompi_osc_cached_node_attach(ompi_osc_cached_window_t *window,
                                                       ompi_communicator_t *comm,
                                                       const int64_t votes[OSC_CACHED_VOTES],
                                                       uint64_t extra)
{
    ompi_osc_cached_together_t together = {NULL, 0, 0, NULL};
    int size = ompi_comm_size(comm), rank = ompi_comm_rank(comm), first = rank, ranks = 0;
    ompi_osc_cached_sharing_t *sharing;
    int64_t(*told)[FIELDS];
    bool good = false, tells = true, all;

    if (!votes[OSC_CACHED_VOTE_SHARE] && 0 == extra) {
        return together;
    }
    for (int i = size - 1; 0 <= i; --i) {
        if (ompi_osc_cached_is_near(comm->c_local_group, i)) {
            first = i;
            ++ranks;
        }
    }
    told = calloc((size_t) size + 1, sizeof(*told));
    sharing = (1 < ranks) ? create(window, size) : NULL;
    all = is_agreed(comm, NULL != told); /* when one has no memory nobody waits for it */
    if (all) {
        told[size][FIRST] = first;
    }
    if (all && NULL != sharing && rank == first) {
        make(sharing, &window->cache.config, ranks, (uint32_t) size, extra, told[size]);
        good = told[size][GOOD];
    }
    all = all
          && OMPI_SUCCESS
                 == comm->c_coll->coll_allgather(told[size], FIELDS, MPI_INT64_T, told, FIELDS,
                                                 MPI_INT64_T, comm,
                                                 comm->c_coll->coll_allgather_module);
    if (!all) {
        good = false;
    } else if (rank != first && NULL != sharing) {
        tells = told[first][GOOD]; /* else the first one does */
        good = tells && find(sharing, (uint32_t) size, extra, told[first]);
    }
    if (!good && NULL != sharing && tells) {
        opal_show_help("help-mpi-osc-cached.txt", "no-sharing", true, opal_process_info.nodename);
    }
    if (0 < extra) {
        together = all ? bring_together(sharing, size, rank, told) : together;
        all = is_agreed(comm, NULL != together.first && (good || 1 == ranks));
        good = good && all;
        if (!all) {
            free(together.first);
            together = (ompi_osc_cached_together_t){NULL, 0, 0, NULL};
        }
    }
    free(told);
    if (good) {
        window->sharing = sharing;
    } else {
        ompi_osc_cached_node_detach(sharing);
    }
    return together;
}

void ompi_osc_cached_node_begin(ompi_osc_cached_window_t *window,
                                const int64_t votes[OSC_CACHED_VOTES])
{
    ompi_osc_cached_sharing_t *sharing = window->sharing;
    bool declared = votes[OSC_CACHED_VOTE_SHARE], coherent = NULL != window->coherence;

    if (NULL == sharing) {
        return;
    }
    if (coherent ? 0 == sharing->shared.config.extra : !declared) {
        ompi_osc_cached_node_detach(sharing);
        window->sharing = NULL;
        return;
    }
    /* not both: what modes always and user keep, no owner knows of, and no INV comes for it */
    window->shared_modes = coherent ? 1U << OSC_CACHED_MODE_COHERENT
                                    : 1U << OSC_CACHED_MODE_ALWAYS | 1U << OSC_CACHED_MODE_USER;
    /* what the private cache's stamps have so far, those of the segment have, too */
    sharing->shared.more = window->cache.more;
    sharing->shared.more_context = window->cache.more_context;
    window->cache.more = generations;
    window->cache.more_context = sharing;
    window->cache.filled = publish;
    window->cache.filled_context = window;
    window->forgets = forget;
    window->node_count = count;
    window->node_layout = layout;
}

void ompi_osc_cached_node_detach(ompi_osc_cached_sharing_t *sharing)
{
    if (NULL == sharing) {
        return;
    }
    if (NULL != sharing->memory) {
        (void) munmap(sharing->memory, sharing->size);
        atomic_fetch_sub(&ompi_osc_cached_mapped, sharing->size);
    }
    if (0 <= sharing->fd) {
        (void) close(sharing->fd);
    }
    ompi_osc_cached_budget.give_back(ompi_osc_cached_budget.context, sharing->reserved);
    free(sharing->writes);
    free(sharing);
}
