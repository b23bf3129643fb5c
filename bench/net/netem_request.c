/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that are complete when the inner one is and the emulated network's time has come.  They
 * are looked at whenever Open MPI makes progress, which MPI_Wait and MPI_Test do.
 */

#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"
#include "ompi/constants.h"

#include "netem.h"

typedef struct {
    ompi_request_t super;
    ompi_request_t *inner;
    uint64_t due; /* ns */
    netem_held_t *held;
} netem_request_t;

static opal_list_t pending; /* under the lock */
static bool registered = false;

static int request_free(ompi_request_t **request)
{
    if (!REQUEST_COMPLETE(*request)) {
        return MPI_ERR_REQUEST; /* as osc/ucx */
    }
    OMPI_REQUEST_FINI(*request);
    OBJ_RELEASE(*request);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int request_cancel(ompi_request_t *request, int flag)
{
    (void) request;
    (void) flag;
    return MPI_ERR_REQUEST; /* as osc/ucx */
}

static void request_construct(netem_request_t *request)
{
    OMPI_REQUEST_INIT(&request->super, false);
    request->super.req_type = OMPI_REQUEST_WIN;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    request->held = NULL;
}

OBJ_CLASS_INSTANCE(netem_request_t, ompi_request_t, request_construct, NULL);

static void finish(netem_request_t *request)
{
    request->super.req_status = request->inner->req_status;
    (void) ompi_request_free(&request->inner);
    if (NULL != request->held) {
        netem_hold_finish(request->held);
    }
    (void) ompi_request_complete(&request->super, true);
}

/* A request that can be completed, taken out of the list; the newest first, if there is an order to
 * be broken. */
static netem_request_t *next_complete(uint64_t now)
{
    opal_list_item_t *item, *end;
    netem_request_t *request;
    bool newest = 0 < netem_settings.reorder;

    netem_lock();
    end = opal_list_get_end(&pending);
    for (item = newest ? opal_list_get_last(&pending) : opal_list_get_first(&pending); item != end;
         item = newest ? opal_list_get_prev(item) : opal_list_get_next(item)) {
        request = (netem_request_t *) item;
        if (request->due <= now && REQUEST_COMPLETE(request->inner)) {
            opal_list_remove_item(&pending, item);
            netem_unlock();
            return request;
        }
    }
    netem_unlock();
    return NULL;
}

static int progress(void)
{
    netem_request_t *request;
    int completed = 0;

    if (opal_list_is_empty(&pending)) {
        return 0;
    }
    while (NULL != (request = next_complete(netem_now()))) {
        finish(request);
        ++completed;
    }
    return completed;
}

void netem_request_wrap(ompi_request_t **request, uint64_t due, netem_held_t *held)
{
    netem_request_t *ours = OBJ_NEW(netem_request_t);

    if (NULL == ours) {
        /* no memory: not emulated, but right */
        while (!REQUEST_COMPLETE(*request)) {
            opal_progress();
        }
        if (NULL != held) {
            netem_hold_finish(held);
        }
        return;
    }
    ours->super.req_state = OMPI_REQUEST_ACTIVE;
    ours->super.req_mpi_object = (*request)->req_mpi_object;
    ours->inner = *request;
    ours->due = due;
    ours->held = held;
    *request = &ours->super;
    netem_lock();
    if (!registered) {
        registered = true;
        OBJ_CONSTRUCT(&pending, opal_list_t);
        (void) opal_progress_register(progress);
    }
    opal_list_append(&pending, (opal_list_item_t *) ours);
    netem_unlock();
}

void netem_request_finalize(void)
{
    if (registered) {
        registered = false;
        (void) opal_progress_unregister(progress);
        OBJ_DESTRUCT(&pending);
    }
}
