/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_netem_reorder: the data of a get is held back until a synchronisation completes it, and
 * comes in another order than it was asked for.  Over shared memory osc/ucx writes it while the
 * call lasts, which hides the mistakes of a program, or of osc/cached, that reads too early.  So
 * the get fetches into memory of ours, and the program's buffer is overwritten with rubbish until
 * then.
 *
 * I1  what is in a window's list has been issued and not been delivered
 * I2  what belongs to a request is freed by it, anything else by its delivery
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "netem.h"

enum { RUBBISH = 0xa5 };

OBJ_CLASS_INSTANCE(netem_held_t, opal_list_item_t, NULL, NULL);

static void copy(const netem_held_t *held)
{
    (void) ompi_datatype_copy_content_same_ddt(held->origin_dt, held->origin_count,
                                               held->origin_addr, held->data);
}

netem_held_t *netem_hold_begin(void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                               int target)
{
    netem_held_t *held = OBJ_NEW(netem_held_t);
    ptrdiff_t gap, span = opal_datatype_span(&origin_dt->super, origin_count, &gap);

    if (NULL == held) {
        return NULL;
    }
    held->window = NULL;
    held->target = target;
    held->origin_addr = origin_addr;
    held->origin_count = origin_count;
    held->requested = false;
    held->memory = malloc((size_t) span + 1);
    if (NULL == held->memory) {
        OBJ_RELEASE(held);
        return NULL;
    }
    memset(held->memory, RUBBISH, (size_t) span);
    held->data = held->memory - gap;
    held->origin_dt = origin_dt;
    OBJ_RETAIN(origin_dt);
    copy(held);
    return held;
}

void netem_hold_add(netem_window_t *window, netem_held_t *held)
{
    held->window = window;
    held->sequence = window->sequence;
    ++window->peers[held->target].held;
    opal_list_append(&window->held, &held->super);
}

void netem_hold_drop(netem_held_t *held)
{
    free(held->memory);
    OBJ_RELEASE(held->origin_dt);
    OBJ_RELEASE(held);
}

/* caller holds the lock */
static void take_out(netem_held_t *held)
{
    --held->window->peers[held->target].held;
    opal_list_remove_item(&held->window->held, &held->super);
    held->window = NULL;
}

void netem_hold_deliver(netem_window_t *window, int target, uint64_t sequence)
{
    netem_held_t *held, *next;
    opal_list_t shuffled;

    if (0 == netem_settings.reorder) {
        return;
    }
    OBJ_CONSTRUCT(&shuffled, opal_list_t);
    netem_lock();
    OPAL_LIST_FOREACH_SAFE(held, next, &window->held, netem_held_t)
    {
        if ((0 > target || held->target == target) && held->sequence <= sequence) {
            take_out(held);
            if (netem_random() & 1) {
                opal_list_append(&shuffled, &held->super);
            } else {
                opal_list_prepend(&shuffled, &held->super);
            }
        }
    }
    /* under the lock: another thread's synchronisation of the same gets must not end before */
    while (NULL != (held = (netem_held_t *) opal_list_remove_first(&shuffled))) {
        copy(held);
        if (!held->requested) {
            netem_hold_drop(held);
        }
    }
    netem_unlock();
    OBJ_DESTRUCT(&shuffled);
}

void netem_hold_finish(netem_held_t *held)
{
    netem_lock();
    if (NULL != held->window) {
        take_out(held);
        copy(held);
    }
    netem_unlock();
    netem_hold_drop(held);
}

void netem_hold_forget(netem_window_t *window)
{
    netem_held_t *held, *next;

    OPAL_LIST_FOREACH_SAFE(held, next, &window->held, netem_held_t)
    {
        take_out(held);
        if (!held->requested) {
            netem_hold_drop(held);
        }
    }
}
