/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a block is fetched to: nobody's buffer has room for it, and the storage may move.
 */

#include "ompi_config.h"

#include <stdlib.h>

#include "osc_cached_bounce.h"
#include "osc_cached_memory.h"
#include "osc_cached_type.h"

static char bounces; /* the mark of such a buffer, whose count is the address of the bounce */

typedef struct ompi_osc_cached_bounce_t {
    struct ompi_osc_cached_bounce_t *next; /* of those that stay */
    size_t bytes;                          /* with this header, of the budget */
    char data[];
} bounce_t;

bool ompi_osc_cached_bounce_make(osc_cached_buffer_t *buffer, size_t before, size_t bytes)
{
    size_t all = sizeof(bounce_t) + before + bytes;
    bounce_t *bounce;

    if (!ompi_osc_cached_budget.reserve(NULL, all)) {
        return false;
    }
    bounce = malloc(all);
    if (NULL == bounce) {
        ompi_osc_cached_budget.give_back(NULL, all);
        return false;
    }
    bounce->bytes = all;
    *buffer = (osc_cached_buffer_t){.address = bounce->data + before,
                                    .from = &bounces,
                                    .from_count = (size_t) (uintptr_t) bounce};
    return true;
}

static void done(bounce_t *bounce)
{
    ompi_osc_cached_budget.give_back(NULL, bounce->bytes);
    free(bounce);
}

void ompi_osc_cached_bounce_leave(const osc_cached_buffer_t *buffer, bounce_t **list)
{
    bounce_t *bounce = (bounce_t *) buffer->from_count;

    bounce->next = *list;
    *list = bounce;
}

void ompi_osc_cached_bounce_forget(bounce_t *list)
{
    while (NULL != list) {
        bounce_t *bounce = list;

        list = bounce->next;
        done(bounce);
    }
}

void ompi_osc_cached_bounce_done(const osc_cached_buffer_t *buffer)
{
    if (&bounces == buffer->from) {
        done((bounce_t *) buffer->from_count);
    } else {
        ompi_osc_cached_type_done(buffer);
    }
}
