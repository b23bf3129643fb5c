/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting for others: who has died is not waited for, and of who is slow the user hears.
 */

#include "ompi_config.h"

#include <pthread.h>
#include <sched.h>

#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"

#include "osc_cached_coherence_state.h"
#include "osc_cached_compat.h"

enum { SPINS = 32 }; /* looks before the processor is offered to others */

static bool is_target_held(coherence_t *c, int target)
{
    return osc_cached_copies_is_held(&c->copies, (uint32_t) target);
}

/* One wait, of some time. */
typedef struct {
    uint64_t since, looked, asked; /* ns; 0: not yet */
    int owner;                     /* who was asked whom it waits for */
    uint32_t dead;                 /* so many were told of */
    bool told;
} patience_t;

static void tell_of_death(coherence_t *c, uint32_t rank)
{
    for (uint32_t k = 0; k < c->num_dirty; ++k) {
        if (!c->is_dead[c->dirty[k]] && !is_target_held(c, (int) c->dirty[k])) {
            ompi_osc_cached_coherence_send(c,
                                           &(osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_DEAD,
                                                                   .peer = c->dirty[k],
                                                                   .owner = c->dirty[k],
                                                                   .reader = rank,
                                                                   .count = 1});
        }
    }
}

/* Those of which Open MPI knows that they have died are told to those whose answers we wait for,
 * once in each wait: a death may have been known before it; the lock is held. */
static void look_for_dead(coherence_t *c, patience_t *patience)
{
    uint32_t ranks = ompi_osc_cached_survives_deaths() ? c->copies.config.ranks : 0, dead = 0;

    for (uint32_t i = 0; i < ranks; ++i) {
        if (!c->is_dead[i]
            && ompi_osc_cached_is_dead(ompi_group_get_proc_name(c->win->w_group, (int) i))) {
            ompi_osc_cached_coherence_bury(c, i);
        }
        dead += c->is_dead[i];
    }
    for (uint32_t i = 0; i < ranks && patience->dead < dead; ++i) {
        if (c->is_dead[i]) {
            tell_of_death(c, i);
        }
    }
    patience->dead = dead;
}

/* Whom do we wait for?  Ourselves, as an owner: that is known; the lock is held. */
static void ask_for_slow(coherence_t *c, patience_t *patience)
{
    uint32_t rank;

    c->slow = OSC_CACHED_NOBODY;
    patience->owner = (int) c->rank;
    if (osc_cached_directory_slow(&c->directory, 0, OSC_CACHED_ALL_BLOCKS, &rank)) {
        c->slow = (int) rank;
        return;
    }
    for (uint32_t i = 0; i < c->num_dirty; ++i) {
        if (!is_target_held(c, (int) c->dirty[i])) {
            patience->owner = (int) c->dirty[i];
            ompi_osc_cached_coherence_send(c,
                                           &(osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_SLOW,
                                                                   .peer = c->dirty[i],
                                                                   .owner = c->dirty[i],
                                                                   .count = 1});
            return;
        }
    }
}

/* opal_show_help() is for one thread at a time, and those that watch stores call it, too. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

/* Somebody lets us wait: it may be dead, and after some seconds the user hears of it once. */
static void lose_patience(coherence_t *c, patience_t *patience)
{
    static const uint64_t second = 1000000000;
    uint64_t now = ompi_osc_cached_now();
    int slow;

    if (0 == patience->since) {
        patience->since = patience->looked = now;
    }
    if (now - patience->looked < second / 10) {
        return;
    }
    patience->looked = now;
    ompi_osc_cached_helper_enter();
    look_for_dead(c, patience);
    if (0 == patience->asked && 0 < ompi_osc_cached_numbers.slow_seconds
        && ompi_osc_cached_numbers.slow_seconds < (double) (now - patience->since) / 1e9) {
        patience->asked = now;
        ask_for_slow(c, patience);
    }
    slow = c->slow;
    ompi_osc_cached_coherence_leave(c);
    if (0 < patience->asked && !patience->told
        && (OSC_CACHED_NOBODY != slow || second < now - patience->asked)) {
        patience->told = true;
        (void) pthread_mutex_lock(&telling);
        opal_show_help("help-mpi-osc-cached.txt", "slow-process", true,
                       (int) ompi_osc_cached_numbers.slow_seconds,
                       (OSC_CACHED_NOBODY != slow) ? slow : patience->owner, (int) c->rank,
                       opal_process_info.nodename);
        (void) pthread_mutex_unlock(&telling);
    }
}

void ompi_osc_cached_coherence_await(coherence_t *c, ompi_osc_cached_coherence_condition_t is_true,
                                     int target)
{
    patience_t patience = {.since = 0};
    unsigned spins = 0;
    bool done;

    do {
        ompi_osc_cached_helper_enter();
        done = is_true(c, target);
        ompi_osc_cached_coherence_leave(c);
        if (!done) {
            opal_progress();
            if (SPINS < ++spins) {
                (void) sched_yield();
                lose_patience(c, &patience);
            }
        }
    } while (!done);
}

static bool are_all_held(coherence_t *c, int target)
{
    bool held = true;

    for (uint32_t i = 0; i < c->num_dirty && held; ++i) {
        held = is_target_held(c, (int) c->dirty[i]);
    }
    return held;
}

void ompi_osc_cached_coherence_await_held(coherence_t *c, int target)
{
    if ((uint32_t) target != c->rank) {
        ompi_osc_cached_coherence_await(
            c, OSC_CACHED_EVERYBODY == target ? are_all_held : is_target_held, target);
    }
}

void ompi_osc_cached_coherence_await_write(coherence_t *c, int target)
{
    ompi_osc_cached_coherence_await(
        c, (uint32_t) target == c->rank ? ompi_osc_cached_coherence_is_own_held : is_target_held,
        target);
}

void ompi_osc_cached_coherence_tell_slow_store(void *context, uint64_t from, uint64_t to)
{
    coherence_t *c = context;
    uint64_t first, count;
    uint32_t rank;
    bool waits;

    osc_cached_copies_blocks(&c->copies, from, to - from, &first, &count);
    ompi_osc_cached_helper_enter();
    waits = osc_cached_directory_slow(&c->directory, first, count, &rank);
    ompi_osc_cached_coherence_leave(c);
    if (waits) { /* still */
        (void) pthread_mutex_lock(&telling);
        opal_show_help("help-mpi-osc-cached.txt", "slow-store", true,
                       (int) ompi_osc_cached_numbers.slow_seconds, (int) rank, c->win->w_name,
                       (unsigned long long) from, (unsigned long long) to - 1, (int) c->rank,
                       opal_process_info.nodename);
        (void) pthread_mutex_unlock(&telling);
    }
}
