/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_verify (rule A16): each hit is fetched once more, into a buffer of ours, and compared
 * at the next synchronisation.  It finds the program whose window is not as read-only as it said.
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/runtime/mpiruntime.h"

#include "osc_cached_compat.h"
#include "osc_cached_type.h"
#include "osc_cached_verify.h"

/* A hit that was fetched again. */
typedef struct ompi_osc_cached_shadow_t {
    struct ompi_osc_cached_shadow_t *next;
    osc_cached_key_t key;
    uint64_t sequence;
    size_t bytes;
    char *served;  /* what the program got */
    char *present; /* what is there */
} shadow_t;

static void free_shadow(shadow_t *shadow)
{
    free(shadow->served);
    free(shadow);
}

void ompi_osc_cached_verify_hit(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                osc_cached_key_t key, const osc_cached_buffer_t *buffer,
                                size_t bytes, ptrdiff_t target_disp,
                                ompi_osc_cached_count_t target_count, ompi_datatype_t *target_dt)
{
    shadow_t *shadow;
    int ret;

    if (ompi_osc_cached_comes_late(window)) {
        return; /* nobody knows when there is something to compare with */
    }
    shadow = calloc(1, sizeof(*shadow));
    if (NULL == shadow) {
        return;
    }
    shadow->served = malloc(2 * bytes);
    if (NULL == shadow->served) {
        free(shadow);
        return;
    }
    shadow->present = shadow->served + bytes;
    shadow->key = key;
    shadow->bytes = bytes;
    if (NULL == buffer->type) {
        memcpy(shadow->served, buffer->address, bytes);
    } else {
        ompi_osc_cached_type_copy(buffer, shadow->served, bytes, false);
    }
    ret = window->inner.osc_get(shadow->present, (ompi_osc_cached_count_t) bytes, MPI_BYTE,
                                key.target, target_disp, target_count, target_dt, window->win);
    if (OMPI_ERR_RMA_SYNC == ret) {
        free_shadow(shadow);
        return;
    }
    if (OMPI_SUCCESS != ret) {
        shadow->bytes = 0; /* nothing to compare, but it may be on its way */
    }
    ompi_osc_cached_window_lock(window);
    shadow->sequence = ompi_osc_cached_issued(window, peer);
    shadow->next = window->shadows;
    window->shadows = shadow;
    ompi_osc_cached_window_unlock(window);
}

static void report(ompi_osc_cached_window_t *window, const shadow_t *shadow)
{
    static bool explained = false;
    ompi_osc_cached_peer_t *peer;
    size_t first = 0, last = shadow->bytes - 1;
    bool aborts = 2 == ompi_osc_cached_numbers.verify, known;

    while (shadow->served[first] == shadow->present[first]) {
        ++first;
    }
    while (shadow->served[last] == shadow->present[last]) {
        --last;
    }
    ompi_osc_cached_count(window, OSC_CACHED_STAT_mismatches);
    ompi_osc_cached_window_lock(window);
    peer = ompi_osc_cached_peer(window, shadow->key.target);
    known = peer->reported;
    peer->reported = true;
    ompi_osc_cached_window_unlock(window);
    if (known && !aborts) {
        return; /* one example of each target is enough */
    }
    if (explained && !aborts) {
        /* Open MPI shows a help text once */
        opal_output(0, "osc/cached: rank %d window \"%s\": bytes %lu to %lu of rank %d differ, too",
                    ompi_group_rank(window->win->w_group), window->win->w_name,
                    (unsigned long) (shadow->key.address + first),
                    (unsigned long) (shadow->key.address + last), (int) shadow->key.target);
        return;
    }
    explained = true;
    opal_show_help("help-mpi-osc-cached.txt", "verify", true,
                   aborts ? "The job is aborted, as osc_cached_verify 2 asks for."
                          : "The program goes on with the old bytes.",
                   opal_process_info.nodename, ompi_group_rank(window->win->w_group),
                   window->win->w_name, ompi_osc_cached_modes[window->mode].string,
                   (int) shadow->key.target, (unsigned long) (shadow->key.address + first),
                   (unsigned long) (shadow->key.address + last),
                   (0 == shadow->key.layout) ? "" : " (counted in the packed data of a datatype)");
    if (aborts) {
        (void) ompi_mpi_abort(&ompi_mpi_comm_world.comm, 1);
    }
}

void ompi_osc_cached_verify_compare(ompi_osc_cached_window_t *window,
                                    const ompi_osc_cached_peer_t *peer, uint64_t sequence)
{
    shadow_t *done = NULL, **link, *shadow;

    if (OPAL_LIKELY(0 == ompi_osc_cached_numbers.verify)) {
        return;
    }
    ompi_osc_cached_window_lock(window);
    for (link = &window->shadows; NULL != (shadow = *link);) {
        if (shadow->sequence <= sequence && (NULL == peer || peer->rank == shadow->key.target)) {
            *link = shadow->next;
            shadow->next = done;
            done = shadow;
        } else {
            link = &shadow->next;
        }
    }
    ompi_osc_cached_window_unlock(window);
    while (NULL != (shadow = done)) {
        done = shadow->next;
        ompi_osc_cached_add(window, OSC_CACHED_STAT_verified, 0 < shadow->bytes);
        if (0 != memcmp(shadow->served, shadow->present, shadow->bytes)) {
            report(window, shadow);
        }
        free_shadow(shadow);
    }
}

void ompi_osc_cached_verify_forget(ompi_osc_cached_window_t *window)
{
    while (NULL != window->shadows) {
        shadow_t *shadow = window->shadows;

        window->shadows = shadow->next;
        free_shadow(shadow);
    }
}
