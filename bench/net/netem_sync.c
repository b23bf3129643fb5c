/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Synchronisation: osc/ucx completes, and the emulated network's time must have come.
 *
 * Time first where others see the end of an epoch: a lock is given back, and a fence or an epoch of
 * MPI_Win_start ended, when the operations are complete on the emulated network.  Data that was
 * held back is delivered when osc/ucx has it, and before others may write to the program's memory
 * again.
 */

#include "ompi_config.h"

#include "ompi/constants.h"

#include "netem.h"

enum { LOCK_BYTES = 8 }; /* what osc/ucx sends for a lock */

/* A moment; what was issued before it is complete when the inner synchronisation returns. */
typedef struct {
    netem_window_t *window;
    uint64_t called; /* ns */
    uint64_t sequence;
    netem_times_t all;
    netem_times_t one; /* of the target */
} moment_t;

static moment_t mark(const ompi_win_t *win, int target)
{
    moment_t moment = {.window = netem_window_of(win), .called = netem_now()};

    netem_lock();
    moment.sequence = moment.window->sequence;
    moment.all = moment.window->times;
    if (0 <= target) {
        moment.one = moment.window->peers[target].times;
    }
    netem_unlock();
    return moment;
}

/* osc/ucx has everything of a target (-1: of all). One by one where data was held back: UCX 1.13
 * returns too early from a flush of everything when both sides of shared memory fetch. */
static int flush_held(netem_window_t *window, int target)
{
    int first = (0 <= target) ? target : 0, last = (0 <= target) ? target : window->size - 1;

    for (int i = first; i <= last; ++i) {
        if (0 < window->peers[i].held) {
            int ret = window->inner.osc_flush(i, window->win);

            if (OMPI_SUCCESS != ret) {
                return ret;
            }
        }
    }
    return OMPI_SUCCESS;
}

/* A round trip, waited for. */
static void round_trip(const moment_t *moment, int target)
{
    netem_times_t times;

    if (target == moment->window->rank) {
        return;
    }
    netem_lock();
    times = netem_window_operation(moment->window, target, moment->called, LOCK_BYTES, LOCK_BYTES,
                                   true);
    netem_unlock();
    netem_wait_until(times.target);
}

/* Active targets */

int netem_sync_fence(int mpi_assert, ompi_win_t *win)
{
    moment_t moment = mark(win, -1);
    netem_window_t *window = moment.window;
    int ret;

    netem_wait_until(moment.all.target);
    if (0 < netem_settings.reorder) {
        /* between two of them nobody may write yet */
        ret = window->inner.osc_fence(mpi_assert & ~MPI_MODE_NOSUCCEED, win);
        if (OMPI_SUCCESS != ret) {
            return ret;
        }
        netem_hold_deliver(window, -1, moment.sequence);
        mpi_assert |= MPI_MODE_NOPRECEDE;
    }
    ret = window->inner.osc_fence(mpi_assert, win);
    if (OMPI_SUCCESS == ret) {
        netem_wait_until(netem_now() + netem_model_barrier(&netem_settings.network, window->size));
    }
    return ret;
}

/* A message of another process has arrived at the real NIC. */
static void receive(void)
{
    netem_wait_until(netem_now() + netem_settings.network.latency
                     + netem_settings.network.overhead);
}

int netem_sync_start(ompi_group_t *group, int mpi_assert, ompi_win_t *win)
{
    int ret = netem_window_of(win)->inner.osc_start(group, mpi_assert, win);

    if (OMPI_SUCCESS == ret && !(mpi_assert & MPI_MODE_NOCHECK)) {
        receive();
    }
    return ret;
}

int netem_sync_complete(ompi_win_t *win)
{
    moment_t moment = mark(win, -1);
    int ret;

    netem_wait_until(moment.all.target);
    ret = moment.window->inner.osc_complete(win);
    if (OMPI_SUCCESS == ret) {
        netem_hold_deliver(moment.window, -1, moment.sequence);
    }
    return ret;
}

int netem_sync_wait(ompi_win_t *win)
{
    int ret = netem_window_of(win)->inner.osc_wait(win);

    if (OMPI_SUCCESS == ret) {
        receive();
    }
    return ret;
}

int netem_sync_test(ompi_win_t *win, int *flag)
{
    int ret = netem_window_of(win)->inner.osc_test(win, flag);

    if (OMPI_SUCCESS == ret && *flag) {
        receive();
    }
    return ret;
}

/* Passive targets */

int netem_sync_lock(int lock_type, int target, int mpi_assert, ompi_win_t *win)
{
    moment_t moment = mark(win, target);
    int ret = moment.window->inner.osc_lock(lock_type, target, mpi_assert, win);

    if (OMPI_SUCCESS == ret && !(mpi_assert & MPI_MODE_NOCHECK)) {
        round_trip(&moment, target);
    }
    return ret;
}

int netem_sync_lock_all(int mpi_assert, ompi_win_t *win)
{
    moment_t moment = mark(win, -1);
    int ret = moment.window->inner.osc_lock_all(mpi_assert, win);

    if (OMPI_SUCCESS == ret && !(mpi_assert & MPI_MODE_NOCHECK) && 1 < moment.window->size) {
        /* all at once; each is as far as the next one */
        round_trip(&moment, (0 == moment.window->rank) ? 1 : 0);
    }
    return ret;
}

int netem_sync_unlock(int target, ompi_win_t *win)
{
    moment_t moment = mark(win, target);
    int ret;

    netem_wait_until(moment.one.target);
    ret = flush_held(moment.window, target);
    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    netem_hold_deliver(moment.window, target, moment.sequence);
    return moment.window->inner.osc_unlock(target, win);
}

int netem_sync_unlock_all(ompi_win_t *win)
{
    moment_t moment = mark(win, -1);
    int ret;

    netem_wait_until(moment.all.target);
    ret = flush_held(moment.window, -1);
    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    netem_hold_deliver(moment.window, -1, moment.sequence);
    return moment.window->inner.osc_unlock_all(win);
}

static uint64_t flushes = 0; /* so far */

static int flush_one(int target, ompi_win_t *win, bool at_target)
{
    moment_t moment = mark(win, target);
    ompi_osc_base_module_t *inner = &moment.window->inner;
    int ret;

    if (netem_fails(&flushes, netem_settings.fail_flush)) {
        return OMPI_ERROR;
    }
    ret = at_target ? inner->osc_flush(target, win) : inner->osc_flush_local(target, win);
    if (OMPI_SUCCESS == ret) {
        netem_wait_until(at_target ? moment.one.target : moment.one.origin);
        netem_hold_deliver(moment.window, target, moment.sequence);
    }
    return ret;
}

static int flush_every(ompi_win_t *win, bool at_target)
{
    moment_t moment = mark(win, -1);
    ompi_osc_base_module_t *inner = &moment.window->inner;
    int ret;

    if (netem_fails(&flushes, netem_settings.fail_flush)) {
        return OMPI_ERROR;
    }
    ret = flush_held(moment.window, -1);
    if (OMPI_SUCCESS == ret) {
        ret = at_target ? inner->osc_flush_all(win) : inner->osc_flush_local_all(win);
    }
    if (OMPI_SUCCESS == ret) {
        netem_wait_until(at_target ? moment.all.target : moment.all.origin);
        netem_hold_deliver(moment.window, -1, moment.sequence);
    }
    return ret;
}

int netem_sync_flush(int target, ompi_win_t *win)
{
    return flush_one(target, win, true);
}

int netem_sync_flush_all(ompi_win_t *win)
{
    return flush_every(win, true);
}

int netem_sync_flush_local(int target, ompi_win_t *win)
{
    return flush_one(target, win, false);
}

int netem_sync_flush_local_all(ompi_win_t *win)
{
    return flush_every(win, false);
}
