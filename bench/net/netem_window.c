/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows, the NIC of this process, and the time.
 */

#include "ompi_config.h"

#include <stdlib.h>

#include "opal/runtime/opal_progress.h"
#include "ompi/group/group.h"

#include "netem.h"

opal_mutex_t netem_mutex = OPAL_MUTEX_STATIC_INIT;
netem_counts_t netem_counts;

static netem_window_t *windows = NULL;
static netem_nic_t nic;

netem_window_t *netem_window_create(ompi_win_t *win)
{
    netem_window_t *window = calloc(1, sizeof(*window));

    if (NULL == window) {
        return NULL;
    }
    window->win = win;
    window->rank = ompi_group_rank(win->w_group);
    window->size = ompi_group_size(win->w_group);
    window->peers = calloc((size_t) window->size, sizeof(*window->peers));
    if (NULL == window->peers) {
        free(window);
        return NULL;
    }
    OBJ_CONSTRUCT(&window->held, opal_list_t);
    netem_lock();
    window->next = windows;
    windows = window;
    netem_unlock();
    return window;
}

netem_window_t *netem_window_of(const ompi_win_t *win)
{
    netem_window_t *window;

    netem_lock();
    for (window = windows; win != window->win; window = window->next) {
    }
    netem_unlock();
    return window;
}

void netem_window_destroy(netem_window_t *window)
{
    netem_window_t **link = &windows;

    netem_lock();
    while (window != *link) {
        link = &(*link)->next;
    }
    *link = window->next;
    netem_hold_forget(window);
    netem_unlock();
    OBJ_DESTRUCT(&window->held);
    free(window->peers);
    free(window);
}

uint64_t netem_random(void)
{
    static uint64_t state = 0;

    if (0 == state) {
        state = (netem_settings.seed + 1) * 0x9e3779b97f4a7c15;
    }
    /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

bool netem_fails(uint64_t *calls, uint64_t which)
{
    bool fails;

    netem_lock();
    fails = ++*calls == which;
    netem_unlock();
    return fails;
}

static void extend(netem_times_t *all, netem_times_t one)
{
    all->origin = (all->origin < one.origin) ? one.origin : all->origin;
    all->target = (all->target < one.target) ? one.target : all->target;
}

netem_times_t netem_window_operation(netem_window_t *window, int target, uint64_t called,
                                     size_t sent, size_t fetched, bool fetches)
{
    netem_times_t times =
        netem_model_operation(&netem_settings.network, &nic, called, sent, fetched, fetches);

    if (0 < netem_settings.delay) {
        uint64_t delay = netem_random() % (netem_settings.delay + 1);

        times.origin += delay;
        times.target += delay;
    }
    extend(&window->peers[target].times, times);
    extend(&window->times, times);
    ++window->sequence;
    ++netem_counts.operations;
    netem_counts.bytes += sent + fetched;
    return times;
}

/* This is no idle time: a call of sched_yield would take half of what a get does. */
static void set_waiting(bool begins)
{
    static int waiting = 0; /* threads */
    static bool yields;

    if (begins && 1 == ++waiting) {
        yields = opal_progress_set_yield_when_idle(false);
    } else if (!begins && 0 == --waiting) {
        (void) opal_progress_set_yield_when_idle(yields);
    }
}

void netem_wait_until(uint64_t due)
{
    uint64_t begin = netem_now(), now = begin;

    if (due <= now) {
        return;
    }
    netem_lock();
    set_waiting(true);
    netem_unlock();
    while (now < due) {
        opal_progress();
        now = netem_now();
    }
    netem_lock();
    set_waiting(false);
    netem_counts.waited_ns += now - begin;
    netem_unlock();
}
