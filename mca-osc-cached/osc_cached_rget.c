/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Rget on their way that fill entries: a list of the window, because a request may be completed
 * after the window has been freed.
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <stdlib.h>

#include "ompi/constants.h"
#include "ompi/request/request.h"

#include "osc_cached_rget.h"

typedef struct ompi_osc_cached_rget_t {
    ompi_osc_cached_window_t *window; /* NULL: freed meanwhile */
    struct ompi_osc_cached_rget_t *next, *prev;
    ompi_osc_cached_peer_t *peer;
    uint64_t sequence;
    uint32_t record;
} rget_t;

static int rget_completed(ompi_request_t *request)
{
    rget_t *rget = request->req_complete_cb_data;
    ompi_osc_cached_window_t *window = rget->window;

    if (NULL != window) {
        if (MPI_SUCCESS != request->req_status.MPI_ERROR) { /* it has brought nothing */
            osc_cached_cache_invalidate_target(&rget->peer->cache);
        }
        osc_cached_cache_complete_one(&window->cache, &rget->peer->cache, rget->record,
                                      rget->sequence);
        if (NULL == rget->prev) {
            window->rgets = rget->next;
        } else {
            rget->prev->next = rget->next;
        }
        if (NULL != rget->next) {
            rget->next->prev = rget->prev;
        }
    }
    free(rget);
    return OMPI_SUCCESS;
}

struct ompi_osc_cached_rget_t *ompi_osc_cached_rget_prepare(const ompi_osc_cached_window_t *window)
{
    /* With several threads the request may complete while we attach ourselves to it: Open MPI's
     * ompi_request_set_callback is not made for that.  There may be several since
     * MPI_Session_init, and a window that was made before has no locks.  Nor is a request followed
     * that completes before its data has come, as those of 5.0 may. */
    return (window->threaded || opal_using_threads() || (4 < OMPI_MAJOR_VERSION && window->is_late))
               ? NULL
               : malloc(sizeof(rget_t));
}

void ompi_osc_cached_rget_follow(struct ompi_osc_cached_rget_t *rget,
                                 ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                 uint64_t sequence, uint32_t record, ompi_request_t *request)
{
    *rget = (rget_t){.window = window,
                     .next = window->rgets,
                     .peer = peer,
                     .sequence = sequence,
                     .record = record};
    if (NULL != rget->next) {
        rget->next->prev = rget;
    }
    window->rgets = rget;
    (void) ompi_request_set_callback(request, rget_completed, rget);
}

void ompi_osc_cached_rget_forget(ompi_osc_cached_window_t *window)
{
    for (rget_t *rget = window->rgets; NULL != rget; rget = rget->next) {
        rget->window = NULL;
    }
}
