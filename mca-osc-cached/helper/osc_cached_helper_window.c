/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows with a helper: how they get one, and their end.
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"

#include "osc_cached_params.h"
#include "osc_cached_helper.h"
#include "osc_cached_helper_epoch.h"
#include "osc_cached_helper_reader.h"
#include "osc_cached_helper_shape.h"
#include "osc_cached_helper_target.h"
#include "osc_cached_helper_vote.h"
#include "osc_cached_helper_window.h"
#include "storage/osc_cached_storage.h"

/* All of this process, for MPI_Win_free: by then the cache has forgotten the window. */
static ompi_osc_cached_helper_t *helpers = NULL;
static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;

static void destroy(ompi_osc_cached_helper_t *helper)
{
    ompi_osc_cached_helper_target_t *target, *next;

    ompi_osc_cached_reader_destroy(helper->reader);
    for (target = ompi_osc_cached_targets_first(helper); NULL != target; target = next) {
        next = target->next;
        ompi_osc_cached_helper_unwatch(target->remote, &target->refusals);
        free(target);
    }
    osc_cached_map_fini(&helper->targets);
    OBJ_DESTRUCT(&helper->lock);
    free(helper);
}

/* What our helper serves: our own memory, that of all processes of the node, or none. */
static bool open_all(ompi_osc_cached_helper_t *helper)
{
    const ompi_osc_cached_node_t *node = helper->node;
    int last = (NULL == node) ? 1 : (helper->rank == node->helpers[helper->rank]) ? node->parts : 0;
    bool good = true;

    for (helper->opened = 0; helper->opened < last && good; helper->opened += good) {
        ompi_osc_cached_part_t part = (NULL == node) ? helper->mine : node->part[helper->opened];

        good =
            OMPI_SUCCESS
            == ompi_osc_cached_helper_open(ompi_osc_cached_helper_id(helper, part.rank), part.base,
                                           part.size, &helper->served, helper->reader);
    }
    return good;
}

static void close_all(ompi_osc_cached_helper_t *helper)
{
    while (0 < helper->opened) {
        --helper->opened;
        ompi_osc_cached_helper_close(ompi_osc_cached_helper_id(
            helper,
            (NULL == helper->node) ? helper->rank : helper->node->part[helper->opened].rank));
    }
}

static int helper_free(ompi_win_t *win)
{
    ompi_osc_cached_helper_t **link, *helper;
    int flushed, ret;

    opal_mutex_lock(&lock);
    for (link = &helpers; win != (*link)->win; link = &(*link)->next) {
    }
    helper = *link;
    *link = helper->next;
    opal_mutex_unlock(&lock);
    flushed = ompi_osc_cached_targets_flush(helper);
    *win->w_osc_module = helper->inner;
    /* All processes wait for each other in there, and each has nothing on its way to another one
     * when it comes: then nobody needs our memory, and no lock of the window. */
    ret = win->w_osc_module->osc_free(win);
    close_all(helper);
    destroy(helper);
    return ompi_osc_cached_helper_first_error(ret, flushed);
}

/* --- Creation */

/* Put our functions into the module, where it has its own. */
static void install(ompi_osc_cached_helper_t *helper)
{
    typedef int (*slot_t)(void);
    enum { SLOTS = sizeof(ompi_osc_base_module_t) / sizeof(slot_t) };
    slot_t mine[SLOTS], more[SLOTS], theirs[SLOTS];

    helper->inner = *helper->win->w_osc_module;
    memcpy(mine, &ompi_osc_cached_helper_epochs, sizeof(mine));
    memcpy(more, &ompi_osc_cached_helper_operations, sizeof(more));
    memcpy(theirs, &helper->inner, sizeof(theirs));
    for (int i = 0; i < SLOTS; ++i) {
        slot_t ours = (NULL != mine[i]) ? mine[i] : more[i];

        if (NULL != ours && NULL != theirs[i]) {
            memcpy((char *) helper->win->w_osc_module + i * sizeof(slot_t), &ours, sizeof(slot_t));
        }
    }
    helper->win->w_osc_module->osc_free = helper_free;
}

/* What a new window's helper needs of this process. */
static bool prepare(ompi_osc_cached_helper_t *helper, const ompi_osc_cached_window_t *window,
                    ompi_communicator_t *comm, const int64_t votes[OSC_CACHED_VOTES])
{
    ompi_osc_cached_mapped_file_t file;

    if (ompi_osc_cached_storage_find(window->win, &file)) {
        helper->reader = ompi_osc_cached_reader_create(&file, ompi_osc_cached_helper_stored);
        if (NULL == helper->reader) {
            return false;
        }
    }
    return ompi_osc_cached_helper_reaches_others(comm, helper->node, votes)
           && (0 != window->disp_unit || NULL != window->disp_units) && open_all(helper);
}

bool ompi_osc_cached_helper_attach(ompi_osc_cached_window_t *window, ompi_osc_cached_node_t *memory,
                                   void *base, size_t size, ompi_communicator_t *comm,
                                   const int64_t votes[OSC_CACHED_VOTES], bool alone)
{
    ompi_osc_cached_helper_t *helper;
    bool learnt;
    int good = 0;

    if (!ompi_osc_cached_helper_start_all(comm, memory, votes, &learnt)) {
        return false;
    }
    helper = (NULL == window) ? NULL : calloc(1, sizeof(*helper));
    if (NULL != helper) {
        helper->win = window->win;
        helper->window = window;
        helper->id.creator = ompi_osc_cached_helper_name(comm->c_local_group, 0);
        helper->id.number = (uint32_t) votes[OSC_CACHED_VOTE_NUMBER];
        helper->node = memory;
        helper->rank = ompi_comm_rank(comm);
        helper->mine = (ompi_osc_cached_part_t){.rank = helper->rank, .base = base, .size = size};
        helper->alone = alone;
        helper->looks =
            alone
            || (NULL != memory
                && OSC_CACHED_TRANSFERS_HELPER != ompi_osc_cached_params.helper_transfers);
        helper->starts_early = window->starts_early;
        helper->threaded = window->threaded;
        helper->one_sided = ompi_osc_cached_helper_has_rdma();
        OBJ_CONSTRUCT(&helper->lock, opal_mutex_t);
        osc_cached_map_init(&helper->targets, &osc_cached_alloc_default);
        good = learnt && prepare(helper, window, comm, votes);
    }
    /* and from here on others may send */
    if (OMPI_SUCCESS != ompi_osc_cached_helper_agree(comm, &good, 1, MPI_MIN) || !good) {
        if (NULL != helper) {
            close_all(helper);
            destroy(helper);
        }
        return false;
    }
    opal_mutex_lock(&lock);
    helper->next = helpers;
    helpers = helper;
    opal_mutex_unlock(&lock);
    install(helper);
    window->helper = helper;
    window->served = &helper->served;
    if (NULL != helper->reader) {
        const ompi_osc_cached_reader_counts_t *counts =
            ompi_osc_cached_reader_counts(helper->reader);

        window->file_reads = &counts->reads;
        window->file_bytes_read = &counts->bytes;
        window->file_read_waits = &counts->waits;
    }
    return true;
}

bool ompi_osc_cached_helper_may_move(const ompi_osc_cached_window_t *window,
                                     ompi_osc_cached_count_t count,
                                     const struct ompi_datatype_t *type)
{
    /* with threads the choice may be another one by then */
    return window->threaded
           || ompi_osc_cached_helper_has_choice(window->helper,
                                                ompi_osc_cached_is_one_run(&type->super, count));
}

bool ompi_osc_cached_helper_may_copy(const ompi_osc_cached_window_t *window, int rank)
{
    ompi_osc_cached_helper_target_t *target;

    return OMPI_SUCCESS == ompi_osc_cached_helper_access(window->helper, rank, &target)
           && NULL != target && !ompi_osc_cached_helper_has_lost(window->helper, rank);
}

osc_cached_window_id_t ompi_osc_cached_helper_names(const ompi_osc_cached_window_t *window)
{
    return ompi_osc_cached_helper_id(window->helper, window->helper->rank);
}

osc_cached_stored_t ompi_osc_cached_helper_read(ompi_osc_cached_helper_t *helper, uint64_t at,
                                                uint32_t bytes, void *to,
                                                void (*ended)(void *cookie, bool good),
                                                void *cookie)
{
    if (NULL != helper->reader) {
        return ompi_osc_cached_reader_read(helper->reader, at, bytes, to, ended, cookie);
    }
    memcpy(to, (const char *) helper->mine.base + at, bytes);
    return OSC_CACHED_STORE_DONE;
}

bool ompi_osc_cached_helper_has_in_memory(const ompi_osc_cached_helper_t *helper, uint64_t at,
                                          uint64_t bytes)
{
    return NULL == helper->reader
           || ompi_osc_cached_reader_has_in_memory(helper->reader, at, bytes);
}

void ompi_osc_cached_helper_finalize(void)
{
    if (ompi_osc_cached_params.helper_stats && ompi_osc_cached_helper_is_running()) {
        ompi_osc_cached_helper_print();
    }
    ompi_osc_cached_helper_stop();
    ompi_osc_cached_helper_forget_neighbours();
    ompi_osc_cached_shape_finalize();
}
