/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The coherence of a window: its creation, which all processes must agree on, its end, and memory
 * that becomes part of a second window.
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"

#include "osc_cached_coherence_state.h"
#include "osc_cached_compat.h"
#include "osc_cached_mapping.h"
#include "osc_cached_memory.h"

enum {
    MAX_LINES = 1 << 18,   /* blocks in a directory: 32 MiB, and 48 while it grows */
    MAX_BLOCKS = 1 << 14,  /* blocks that a process remembers to have asked for: 640 KiB */
    POOL_BLOCKS = 1 << 16, /* the same with a pool of blocks: 2.5 MiB */
    DIRECTS_TO_RECALL = 4, /* reads that a kept hold may turn away */
};

/* All of this process, and their lock. */
static coherence_t *all = NULL;
static opal_mutex_t listing = OPAL_MUTEX_STATIC_INIT;

/* --- Stores that are noticed (O2) */

static void enter_window(void *context)
{
    ompi_osc_cached_helper_enter();
}

static void leave_window(void *context)
{
    ompi_osc_cached_coherence_leave(context);
}

/* Before others know of the window.  @return why it cannot be had */
static ompi_osc_cached_stores_reason_t begin_detection(coherence_t *c,
                                                       const ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_detect_config_t config = {
        .base = (void *) c->base,
        .size = c->size,
        .inner = MPI_WIN_FLAVOR_ALLOCATE == window->inner_flavor,
        .device = ompi_osc_cached_coherence_has_device(),
        .block_shift = c->copies.config.block_shift,
        .directory = &c->directory,
        .post = &c->post,
        .enter = enter_window,
        .leave = leave_window,
        .context = c,
        .now = ompi_osc_cached_now,
        .slow = (uint64_t) (1e9 * ompi_osc_cached_numbers.slow_seconds),
        .tell_slow = ompi_osc_cached_coherence_tell_slow_store,
        .tell_trap = c->traced ? ompi_osc_cached_coherence_trace_trap : NULL,
    };
    ompi_osc_cached_stores_reason_t reason;

    if (ompi_osc_cached_survives_deaths()) {
        return OSC_CACHED_STORES_DEATHS; /* the program makes no progress, and hears of none */
    }
    if ((size_t) sysconf(_SC_PAGESIZE) >> config.block_shift > 1) {
        return OSC_CACHED_STORES_SMALL; /* here pages are larger than elsewhere */
    }
    if ((uintptr_t) c - (uintptr_t) c->base < c->size) {
        return OSC_CACHED_STORES_OURS;
    }
    c->detect = ompi_osc_cached_detect_open(&config, &reason);
    return reason;
}

/* The directory is closed, and nobody has copies. */
static void end_detection(coherence_t *c)
{
    ompi_osc_cached_detect_t *detect;

    ompi_osc_cached_helper_enter();
    detect = c->detect;
    c->traps += (NULL == detect) ? 0 : ompi_osc_cached_detect_traps(detect);
    c->detect = NULL;
    ompi_osc_cached_coherence_leave(c);
    /* whose thread may want the lock once more */
    ompi_osc_cached_detect_close(detect);
}

/* --- Memory in two windows (O3) */

static bool has_no_copies(coherence_t *c, int target)
{
    return !osc_cached_directory_is_shared(&c->directory);
}

/* For good; the list is locked. */
static void stop_sharing(coherence_t *c)
{
    ompi_osc_cached_helper_enter();
    osc_cached_directory_close(&c->directory, &c->post);
    ompi_osc_cached_coherence_leave(c);
    ompi_osc_cached_coherence_await(c, has_no_copies, 0);
    end_detection(c);
}

/* Who creates a window makes its memory known, and then looks for windows that have it; who makes a
 * window coherent enters it here, and then looks whether its memory is in another one.  So one of
 * two threads that do so at the same time finds the other one. */
static void enter_list(coherence_t *c)
{
    opal_mutex_lock(&listing);
    c->next = all;
    all = c;
    if (0 < c->size && ompi_osc_cached_is_exposed_twice(c->win, c->base, c->size)) {
        stop_sharing(c);
    }
    opal_mutex_unlock(&listing);
}

/* While others still answer for this window: later a thread that creates another one over the
 * memory could not call copies back, and others may read theirs until they free it, too. */
static void leave_list(coherence_t *c)
{
    coherence_t **link = &all;

    opal_mutex_lock(&listing);
    stop_sharing(c);
    while (c != *link) {
        link = &(*link)->next;
    }
    *link = c->next;
    opal_mutex_unlock(&listing);
}

void ompi_osc_cached_coherence_exposed(const void *base, size_t size)
{
    uintptr_t begin = (uintptr_t) base, end = begin + size;

    opal_mutex_lock(&listing);
    for (coherence_t *c = all; NULL != c; c = c->next) {
        uintptr_t from = (uintptr_t) c->base, to = from + c->size;

        if (begin < to && from < end) {
            stop_sharing(c);
        }
    }
    opal_mutex_unlock(&listing);
}

/* --- Creation */

static uint8_t log_of(uint64_t block)
{
    uint8_t shift = 0;

    while (UINT64_C(1) << shift < block) {
        ++shift;
    }
    return shift;
}

/* Before others know of the window. @return whether there is memory for it */
static bool begin_cooperation(coherence_t *c, const ompi_osc_cached_window_t *window,
                              ompi_osc_cached_cooperate_t policy)
{
    ompi_osc_cached_cooperate_config_t config = {
        .policy = policy,
        .helper = window->helper,
        .copies = &c->copies,
        .directory = &c->directory,
        .post = &c->post,
        .size = c->size,
        .send = ompi_osc_cached_coherence_send_bytes,
        .context = c,
        .enter = enter_window,
        .leave = leave_window,
    };

    c->cooperation = ompi_osc_cached_cooperate_create(&config);
    return NULL != c->cooperation;
}

/* Who hears of what we write, for each process: the first one of its node, but not ourselves, who
 * need no message, and so would have none to answer. */
static void name_listeners(coherence_t *c, const uint32_t *first, uint32_t ranks)
{
    uint32_t second = c->rank; /* of our node, if we are the first */

    for (uint32_t i = ranks; 0 < i--;) {
        second = (first[i] == c->rank && i != c->rank) ? i : second;
    }
    for (uint32_t i = 0; i < ranks; ++i) {
        c->listener[i] = (i == c->rank || first[i] != c->rank) ? first[i] : second;
    }
    c->listener[c->rank] = c->rank;
}

/* Blocks that a process remembers to have asked for: twice as many as there are, so that few lie in
 * the same place of the table. */
static uint32_t blocks_of(const ompi_osc_cached_window_t *window, uint32_t ranks, uint64_t block,
                          ompi_osc_cached_cooperate_t policy)
{
    uint32_t most = OSC_CACHED_COOPERATE_OFF == policy ? MAX_BLOCKS : POOL_BLOCKS;
    uint64_t each = window->largest / block + 1;

    return each < most / 2 / ranks ? (uint32_t) (2 * each * ranks) : most;
}

static coherence_t *create(const ompi_osc_cached_window_t *window, const void *base, size_t size,
                           const int64_t votes[OSC_CACHED_VOTES], bool protects,
                           const ompi_osc_cached_together_t *together, ompi_communicator_t *comm)
{
    uint32_t ranks = (uint32_t) ompi_comm_size(comm);
    ompi_osc_cached_cooperate_t policy =
        (ompi_osc_cached_cooperate_t) votes[OSC_CACHED_VOTE_COOPERATE];
    coherence_t *c = calloc(1, sizeof(*c));
    osc_cached_directory_config_t directory = {.ranks = ranks,
                                               .rank = (uint32_t) ompi_comm_rank(comm),
                                               .max_lines = MAX_LINES,
                                               .recall = DIRECTS_TO_RECALL,
                                               .protect = protects,
                                               .cooperate = OSC_CACHED_COOPERATE_PRIVATE < policy,
                                               .alloc = &osc_cached_alloc_default};
    osc_cached_copies_config_t copies = {
        .ranks = ranks,
        .rank = directory.rank,
        .max_blocks = blocks_of(window, ranks, (uint64_t) votes[OSC_CACHED_VOTE_BLOCK], policy),
        .block_shift = log_of((uint64_t) votes[OSC_CACHED_VOTE_BLOCK]),
        .waits = OSC_CACHED_COOPERATE_OFF != policy,
        .generation = together->memory,
        .name_step = together->places,
        .name_first = together->place,
        .alloc = &osc_cached_alloc_default};

    if (NULL == c) {
        return NULL;
    }
    OBJ_CONSTRUCT(&c->looking, opal_mutex_t);
    c->rank = directory.rank;
    c->base = base;
    c->size = size;
    c->protects = 0 == votes[OSC_CACHED_VOTE_OPEN];
    c->id = ompi_osc_cached_helper_names(window);
    c->win = window->win;
    c->traced = window->traced;
    c->number = window->number;
    c->slow = OSC_CACHED_NOBODY;
    c->own_held = true;
    /* other processes may have memory that the program has mapped, and devices raise no faults */
    ompi_osc_cached_changes_init(
        &c->changes, base, size, copies.block_shift,
        !ompi_osc_cached_coherence_has_device()
            && (MPI_WIN_FLAVOR_ALLOCATE == window->inner_flavor
                || OSC_CACHED_MAPPING_PRIVATE == ompi_osc_cached_mapping(base, size)));
    c->post = (osc_cached_post_t){.send = ompi_osc_cached_coherence_send, .context = c};
    c->names = malloc(ranks * sizeof(*c->names));
    c->dirty = malloc(ranks * sizeof(*c->dirty));
    c->is_dirty = calloc(ranks, sizeof(*c->is_dirty));
    c->is_dead = calloc(ranks, sizeof(*c->is_dead));
    if (NULL != together->first) {
        c->listener = malloc(ranks * sizeof(*c->listener));
        directory.node = c->listener;
    }
    if (!window->threaded) {
        c->passes = calloc(ranks, sizeof(*c->passes));
        c->passing = calloc(ranks, sizeof(*c->passing));
        c->passed = malloc(ranks * sizeof(*c->passed));
        c->is_passed = calloc(ranks, sizeof(*c->is_passed));
    }
    if (NULL == c->names || NULL == c->dirty || NULL == c->is_dirty || NULL == c->is_dead
        || (NULL != together->first && NULL == c->listener)
        || (!window->threaded
            && (NULL == c->passes || NULL == c->passing || NULL == c->passed
                || NULL == c->is_passed))
        || OSC_CACHED_OK != osc_cached_directory_init(&c->directory, &directory)) {
        c->directory.config.alloc = NULL;
        ompi_osc_cached_coherence_destroy(c);
        return NULL;
    }
    if (NULL != c->listener) {
        name_listeners(c, together->first, ranks);
    }
    if (OSC_CACHED_OK != osc_cached_copies_init(&c->copies, &copies)) {
        c->copies.config.alloc = NULL;
        ompi_osc_cached_coherence_destroy(c);
        return NULL;
    }
    for (uint32_t i = 0; i < ranks; ++i) {
        c->names[i] = ompi_osc_cached_helper_name(comm->c_local_group, (int) i);
    }
    if (OSC_CACHED_COOPERATE_OFF != policy && !begin_cooperation(c, window, policy)) {
        ompi_osc_cached_coherence_destroy(c);
        return NULL;
    }
    return c;
}

/* Whether all processes can have it, and one has something to share. */
static bool is_agreed(ompi_communicator_t *comm, bool can, bool shares)
{
    int values[2] = {can, -(int) shares};

    return OMPI_SUCCESS
               == comm->c_coll->coll_allreduce(MPI_IN_PLACE, values, 2, MPI_INT, MPI_MIN, comm,
                                               comm->c_coll->coll_allreduce_module)
           && 0 < values[0] && 0 > values[1];
}

ompi_osc_cached_own_memory_t
ompi_osc_cached_coherence_allocate(ompi_communicator_t *comm, size_t size,
                                   const int64_t votes[OSC_CACHED_VOTES])
{
    ompi_osc_cached_own_memory_t memory = {NULL, 0, false};
    bool good = true;

    if (!votes[OSC_CACHED_VOTE_COHERENT] || votes[OSC_CACHED_VOTE_OPEN]
        || !votes[OSC_CACHED_VOTE_APART] || !ompi_osc_cached_helper_is_agreed(votes)) {
        return memory;
    }
    if (0 < size) { /* private: kernels before 5.19 protect nothing else */
        memory.base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        good = MAP_FAILED != memory.base;
        memory.bytes = good ? size : 0;
    }
    memory.ours = is_agreed(comm, good, true);
    if (!memory.ours) {
        ompi_osc_cached_coherence_release(&memory);
        memory = (ompi_osc_cached_own_memory_t){NULL, 0, false};
    }
    return memory;
}

void ompi_osc_cached_coherence_release(const ompi_osc_cached_own_memory_t *memory)
{
    if (0 < memory->bytes) {
        (void) munmap(memory->base, memory->bytes);
    }
}

uint64_t ompi_osc_cached_coherence_together(ompi_communicator_t *comm,
                                            const int64_t votes[OSC_CACHED_VOTES])
{
    bool wanted = votes[OSC_CACHED_VOTE_TOGETHER] && votes[OSC_CACHED_VOTE_COHERENT]
                  && OSC_CACHED_COOPERATE_OFF == votes[OSC_CACHED_VOTE_COOPERATE]
                  && ompi_osc_cached_helper_is_agreed(votes);

    return wanted
               ? osc_cached_copies_generations((uint32_t) ompi_comm_size(comm)) * sizeof(uint64_t)
               : 0;
}

void ompi_osc_cached_coherence_attach(ompi_osc_cached_window_t *window, opal_info_t *info,
                                      const void *base, size_t size, bool shared,
                                      ompi_communicator_t *comm,
                                      const int64_t votes[OSC_CACHED_VOTES],
                                      const ompi_osc_cached_together_t *together)
{
    ompi_osc_cached_wish_t wish = ompi_osc_cached_coherence_wish(info, false);
    bool detects = OSC_CACHED_STORES_DETECT == wish.stores;
    ompi_osc_cached_stores_reason_t reason = OSC_CACHED_STORES_NOTICED;
    coherence_t *c = NULL;
    bool good = false;

    /* a helper, and of which kind, all processes have or none */
    if (votes[OSC_CACHED_VOTE_COHERENT] && NULL != window && NULL != window->helper
        && NULL == window->memory) {
        if (window->cacheable && ompi_osc_cached_helper_can_note(comm)) {
            c = create(window, base, size, votes, detects, together, comm);
        }
        if (NULL != c && detects && !shared) {
            reason = begin_detection(c, window);
            if (OSC_CACHED_STORES_NOTICED != reason && OSC_CACHED_STORES_NO_PAGE != reason) {
                ompi_osc_cached_coherence_destroy(c);
                c = NULL;
            }
        }
        if (NULL != c) {
            ompi_osc_cached_helper_listen_to_strays(ompi_osc_cached_coherence_hear_stray);
            ompi_osc_cached_helper_listen(c->id, ompi_osc_cached_coherence_hear, c);
            if (shared) {
                ompi_osc_cached_helper_enter();
                osc_cached_directory_close(&c->directory, &c->post);
                ompi_osc_cached_coherence_leave(c);
            }
            enter_list(c);
        }
        /* and from here on others may send */
        good = is_agreed(comm, NULL != c,
                         ompi_osc_cached_coherence_insists(&wish)
                             || (!shared && OSC_CACHED_STORES_NO_PAGE != reason));
        if (!good && NULL != c) {
            leave_list(c);
            ompi_osc_cached_helper_listen(c->id, NULL, NULL);
            ompi_osc_cached_coherence_destroy(c);
        }
    }
    if (NULL == window) {
        return;
    }
    if (good) {
        window->coherence = c;
        window->coherence_counts = c->counts;
        window->coherence_block = (uint32_t) votes[OSC_CACHED_VOTE_BLOCK];
        window->stores = (ompi_osc_cached_stores_t) wish.stores;
        window->cooperate = (ompi_osc_cached_cooperate_t) votes[OSC_CACHED_VOTE_COOPERATE];
        window->cache.more = ompi_osc_cached_coherence_term;
        window->cache.more_context = &c->copies;
    } else if (OSC_CACHED_STORES_OFF == wish.stores) {
        window->stores = OSC_CACHED_STORES_OFF; /* MPI_Win_get_info tells what is in force */
    }
    window->in_sysv = !good && OSC_CACHED_STORES_SYSV == reason;
    if (!good && OSC_CACHED_MODE_COHERENT == wish.mode) {
        ompi_osc_cached_coherence_explain(window, info, &wish, reason, votes);
    }
    window->mode = ompi_osc_cached_mode_in_force(
        window, (OSC_CACHED_MODE_COHERENT == wish.mode) ? OSC_CACHED_MODE_COHERENT : window->mode);
}

/* --- End */

static bool is_answered(coherence_t *c, int target)
{
    bool answered = c->answered >= c->copies.counts.fills;

    for (uint32_t i = 0; i < c->copies.config.ranks && !answered; ++i) {
        answered = c->is_dead[i]; /* who may have been asked */
    }
    return answered;
}

void ompi_osc_cached_coherence_drain(struct ompi_osc_cached_coherence_t *coherence)
{
    if (NULL == coherence) {
        return;
    }
    ompi_osc_cached_coherence_await(coherence, is_answered, 0);
    leave_list(coherence);
}

void ompi_osc_cached_coherence_destroy(struct ompi_osc_cached_coherence_t *c)
{
    if (NULL == c) {
        return;
    }
    if (NULL != c->detect) {
        end_detection(c);
    }
    if (NULL != c->copies.config.alloc) {
        osc_cached_copies_fini(&c->copies);
    }
    if (NULL != c->directory.config.alloc) {
        osc_cached_directory_fini(&c->directory);
    }
    ompi_osc_cached_cooperate_destroy(c->cooperation);
    free(c->names);
    free(c->dirty);
    free(c->is_dirty);
    free(c->is_dead);
    free(c->listener);
    ompi_osc_cached_changes_end(&c->changes);
    OBJ_DESTRUCT(&c->looking);
    free(c->passes);
    free(c->passing);
    free(c->passed);
    free(c->is_passed);
    free(c);
}
