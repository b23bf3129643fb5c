/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Own memory.  What this process does to its own memory, by puts to itself or by stores that a
 * synchronisation tells of, is one hold of all blocks, with as many users as there are
 * synchronisations and puts on their way.  Where it is known which blocks it has stored to
 * (osc_cached_changes), a synchronisation holds these alone; a second one that finds nothing waits
 * for the first one, which may have found what it was to find.
 */

#include "ompi_config.h"

#include <stdlib.h>

#include "osc_cached_coherence_state.h"

void ompi_osc_cached_coherence_take_own(coherence_t *c)
{
    if (0 == c->own_users++) {
        c->own_held = false;
        c->own_name = osc_cached_directory_hold(&c->directory, 0, OSC_CACHED_ALL_BLOCKS, &c->post);
    }
}

void ompi_osc_cached_coherence_drop_own(coherence_t *c)
{
    if (0 == --c->own_users) {
        osc_cached_directory_free(&c->directory, c->own_name);
    }
}

void ompi_osc_cached_coherence_own_is_held(coherence_t *c, uint32_t name)
{
    for (own_hold_t *hold = c->own_holds; NULL != hold; hold = hold->next) {
        if (0 == name || name == hold->name || 0 == hold->name) {
            hold->held = true;
            if (0 != name) {
                return;
            }
        }
    }
    c->own_held = true;
}

bool ompi_osc_cached_coherence_is_own_held(coherence_t *c, int target)
{
    bool held = c->own_held;

    for (own_hold_t *hold = c->own_holds; NULL != hold && held; hold = hold->next) {
        held = hold->held;
    }
    return held;
}

/* Hold some blocks of our own memory, the lock is held; false: there is no memory. */
static bool take_change(coherence_t *c, const ompi_osc_cached_change_t *change)
{
    own_hold_t *hold = calloc(1, sizeof(*hold));

    if (NULL == hold) {
        return false;
    }
    hold->of = c->own_looks;
    hold->next = c->own_holds;
    c->own_holds = hold;
    hold->name = osc_cached_directory_hold(&c->directory, change->first, change->count, &c->post);
    return true;
}

void ompi_osc_cached_coherence_hold_changes(coherence_t *c, ompi_osc_cached_mark_t *mark)
{
    ompi_osc_cached_change_t change[OSC_CACHED_CHANGES];
    int count;

    opal_mutex_lock(&c->looking);
    count = ompi_osc_cached_changes_read(&c->changes, change);
    ompi_osc_cached_helper_enter();
    if (0 == ++c->own_looks) {
        c->own_looks = 1;
    }
    mark->changes = (0 < count) ? c->own_looks : 0;
    mark->holds = -1 == count;
    for (int i = 0; i < count; ++i) {
        mark->holds = !take_change(c, &change[i]) || mark->holds;
    }
    if (mark->holds) {
        ompi_osc_cached_coherence_take_own(c);
    }
    c->syncs += 0 != count;
    ompi_osc_cached_coherence_leave(c);
    opal_mutex_unlock(&c->looking);
}

void ompi_osc_cached_coherence_drop_changes(coherence_t *c, uint32_t of)
{
    own_hold_t **link = &c->own_holds;

    while (NULL != *link) {
        own_hold_t *hold = *link;

        if (of == hold->of) {
            *link = hold->next;
            osc_cached_directory_free(&c->directory, hold->name);
            free(hold);
        } else {
            link = &hold->next;
        }
    }
}
