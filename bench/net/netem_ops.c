/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Communication: to osc/ucx, then to the model; and the table of functions.
 */

#include "ompi_config.h"

#include <string.h>

#include "mpi.h"
#include "ompi/constants.h"

#include "netem.h"

/* What an operation moves, in bytes. */
typedef struct {
    size_t sent;
    size_t fetched;
    bool fetches;
} traffic_t;

static size_t bytes_of(int count, const ompi_datatype_t *type)
{
    return (size_t) count * type->super.size;
}

static traffic_t write_of(int count, const ompi_datatype_t *type)
{
    return (traffic_t){.sent = bytes_of(count, type)};
}

static traffic_t update_of(size_t sent, int count, const ompi_datatype_t *type)
{
    return (traffic_t){.sent = sent, .fetched = bytes_of(count, type), .fetches = true};
}

/* MPI_NO_OP sends nothing. */
static size_t operand_of(const struct ompi_op_t *op, int count, const ompi_datatype_t *type)
{
    return (MPI_NO_OP == op) ? 0 : bytes_of(count, type);
}

/* An operation was called and has been issued to osc/ucx: when is it complete?  The processor is
 * busy until it is with the NIC. */
static void issued(netem_window_t *window, int target, uint64_t called, traffic_t traffic,
                   netem_held_t *held, ompi_request_t **request)
{
    uint64_t busy = called + netem_settings.network.overhead;
    netem_times_t times;

    netem_lock();
    times = netem_window_operation(window, target, called, traffic.sent, traffic.fetched,
                                   traffic.fetches);
    if (NULL != held) {
        held->requested = NULL != request;
        netem_hold_add(window, held);
    }
    netem_unlock();
    if (NULL != request) {
        netem_request_wrap(request, times.origin, held);
    }
    while (netem_now() < busy) {
    }
}

/* one function: the slot, the parameters, the same as arguments, what it moves, its request */
#define OPERATION(slot, parameters, arguments, traffic, request)    \
    static int netem_##slot parameters                              \
    {                                                               \
        netem_window_t *window = netem_window_of(win);              \
        uint64_t called = netem_now();                              \
        int ret = window->inner.osc_##slot arguments;               \
                                                                    \
        if (OMPI_SUCCESS == ret && target != window->rank) {        \
            issued(window, target, called, traffic, NULL, request); \
        }                                                           \
        return ret;                                                 \
    }

OPERATION(put,
          (const void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt, int target,
           ptrdiff_t target_disp, int target_count, struct ompi_datatype_t *target_dt,
           ompi_win_t *win),
          (origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt, win),
          write_of(target_count, target_dt), NULL)

OPERATION(rput,
          (const void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt, int target,
           ptrdiff_t target_disp, int target_count, struct ompi_datatype_t *target_dt,
           ompi_win_t *win, struct ompi_request_t **request),
          (origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt, win,
           request),
          write_of(target_count, target_dt), request)

OPERATION(accumulate,
          (const void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt, int target,
           ptrdiff_t target_disp, int target_count, struct ompi_datatype_t *target_dt,
           struct ompi_op_t *op, ompi_win_t *win),
          (origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt, op,
           win),
          write_of(target_count, target_dt), NULL)

OPERATION(raccumulate,
          (const void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt, int target,
           ptrdiff_t target_disp, int target_count, struct ompi_datatype_t *target_dt,
           struct ompi_op_t *op, ompi_win_t *win, struct ompi_request_t **request),
          (origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt, op,
           win, request),
          write_of(target_count, target_dt), request)

OPERATION(get_accumulate,
          (const void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt,
           void *result_addr, int result_count, struct ompi_datatype_t *result_dt, int target,
           ptrdiff_t target_disp, int target_count, struct ompi_datatype_t *target_dt,
           struct ompi_op_t *op, ompi_win_t *win),
          (origin_addr, origin_count, origin_dt, result_addr, result_count, result_dt, target,
           target_disp, target_count, target_dt, op, win),
          update_of(operand_of(op, target_count, target_dt), target_count, target_dt), NULL)

OPERATION(rget_accumulate,
          (const void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt,
           void *result_addr, int result_count, struct ompi_datatype_t *result_dt, int target,
           ptrdiff_t target_disp, int target_count, struct ompi_datatype_t *target_dt,
           struct ompi_op_t *op, ompi_win_t *win, struct ompi_request_t **request),
          (origin_addr, origin_count, origin_dt, result_addr, result_count, result_dt, target,
           target_disp, target_count, target_dt, op, win, request),
          update_of(operand_of(op, target_count, target_dt), target_count, target_dt), request)

OPERATION(fetch_and_op,
          (const void *origin_addr, void *result_addr, struct ompi_datatype_t *dt, int target,
           ptrdiff_t target_disp, struct ompi_op_t *op, ompi_win_t *win),
          (origin_addr, result_addr, dt, target, target_disp, op, win),
          update_of(operand_of(op, 1, dt), 1, dt), NULL)

OPERATION(compare_and_swap,
          (const void *origin_addr, const void *compare_addr, void *result_addr,
           struct ompi_datatype_t *dt, int target, ptrdiff_t target_disp, ompi_win_t *win),
          (origin_addr, compare_addr, result_addr, dt, target, target_disp, win),
          update_of(bytes_of(2, dt), 1, dt), NULL)

/* MPI_Get, and with a request MPI_Rget */
static int fetch(void *origin_addr, int origin_count, ompi_datatype_t *origin_dt, int target,
                 ptrdiff_t target_disp, int target_count, ompi_datatype_t *target_dt,
                 ompi_win_t *win, ompi_request_t **request)
{
    static uint64_t gets = 0;
    netem_window_t *window = netem_window_of(win);
    uint64_t called = netem_now();
    bool fails = netem_fails(&gets, netem_settings.fail_get);
    netem_held_t *held = NULL;
    int ret;

    if (fails && 0 == netem_settings.reorder) {
        return OMPI_ERROR;
    }
    if (0 < netem_settings.reorder && target != window->rank) {
        held = netem_hold_begin(origin_addr, origin_count, origin_dt, target);
        origin_addr = (NULL == held) ? origin_addr : held->data;
    }
    if (NULL == request) {
        ret = window->inner.osc_get(origin_addr, origin_count, origin_dt, target, target_disp,
                                    target_count, target_dt, win);
    } else {
        ret = window->inner.osc_rget(origin_addr, origin_count, origin_dt, target, target_disp,
                                     target_count, target_dt, win, request);
    }
    if (OMPI_SUCCESS == ret && target != window->rank) {
        issued(window, target, called, update_of(0, target_count, target_dt), held, request);
    } else if (NULL != held) {
        netem_hold_drop(held);
    }
    return fails ? OMPI_ERROR : ret;
}

static int netem_get(void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt,
                     int target, ptrdiff_t target_disp, int target_count,
                     struct ompi_datatype_t *target_dt, ompi_win_t *win)
{
    return fetch(origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt,
                 win, NULL);
}

static int netem_rget(void *origin_addr, int origin_count, struct ompi_datatype_t *origin_dt,
                      int target, ptrdiff_t target_disp, int target_count,
                      struct ompi_datatype_t *target_dt, ompi_win_t *win,
                      struct ompi_request_t **request)
{
    return fetch(origin_addr, origin_count, origin_dt, target, target_disp, target_count, target_dt,
                 win, request);
}

static int netem_free(ompi_win_t *win)
{
    netem_window_t *window = netem_window_of(win);
    ompi_osc_base_module_t inner = window->inner;

    *win->w_osc_module = inner;
    netem_window_destroy(window);
    return inner.osc_free(win);
}

void netem_ops_install(netem_window_t *window)
{
    ompi_osc_base_module_t *module = window->win->w_osc_module;

    window->inner = *module;
    module->osc_free = netem_free;
    module->osc_put = netem_put;
    module->osc_get = netem_get;
    module->osc_accumulate = netem_accumulate;
    module->osc_compare_and_swap = netem_compare_and_swap;
    module->osc_fetch_and_op = netem_fetch_and_op;
    module->osc_get_accumulate = netem_get_accumulate;
    module->osc_rput = netem_rput;
    module->osc_rget = netem_rget;
    module->osc_raccumulate = netem_raccumulate;
    module->osc_rget_accumulate = netem_rget_accumulate;
    module->osc_fence = netem_sync_fence;
    module->osc_start = netem_sync_start;
    module->osc_complete = netem_sync_complete;
    module->osc_wait = netem_sync_wait;
    module->osc_test = netem_sync_test;
    module->osc_lock = netem_sync_lock;
    module->osc_unlock = netem_sync_unlock;
    module->osc_lock_all = netem_sync_lock_all;
    module->osc_unlock_all = netem_sync_unlock_all;
    module->osc_flush = netem_sync_flush;
    module->osc_flush_all = netem_sync_flush_all;
    module->osc_flush_local = netem_sync_flush_local;
    module->osc_flush_local_all = netem_sync_flush_local_all;
}
