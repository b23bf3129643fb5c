/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The counters of a window as MPI_T performance variables osc_cached_<name>, bound to the window.
 */

#include "ompi_config.h"

#include <stdlib.h>

#include "opal/mca/base/mca_base_pvar.h"
#include "ompi/constants.h"

#include "osc_cached_pvar.h"

/*
 * A handle knows its window by the address, and that is all we are told when it is read. The window
 * may have been freed, and another one may have got its address. So we note which windows have
 * handles, and which of these were freed; before anything is done with a handle, all those of freed
 * windows lose their address. Open MPI calls us with MPI_T's lock held: its lists of handles do not
 * change meanwhile. MPI_Win_free does not have that lock, and only notes.
 */
typedef struct binding {
    struct binding *next;
    const void *win;
    bool freed;
} binding_t;

static binding_t *bindings; /* at most one of a window that was not freed */
static opal_mutex_t bindings_lock = OPAL_MUTEX_STATIC_INIT;
static const char freed_window; /* its address is that of no window */

/* Handles of all counters that are bound to @p win. */
static void detach_handles(int group, const void *win)
{
    int count = 0;

    (void) mca_base_pvar_get_count(&count);
    for (int i = 0; i < count; ++i) {
        const mca_base_pvar_t *pvar;
        opal_list_item_t *item;

        if (OPAL_SUCCESS != mca_base_pvar_get(i, &pvar) || group != pvar->group_index) {
            continue;
        }
        OPAL_LIST_FOREACH(item, (opal_list_t *) &pvar->bound_handles, opal_list_item_t)
        {
            char *place = (char *) item - offsetof(mca_base_pvar_handle_t, list2);
            mca_base_pvar_handle_t *handle = (void *) place;

            if (win == handle->obj_handle) {
                handle->obj_handle = (void *) &freed_window;
            }
        }
    }
}

/* @return the binding of a window that was not freed; bindings_lock is held */
static binding_t *find_binding(const mca_base_pvar_t *pvar, const void *win)
{
    binding_t *found = NULL, **at = &bindings, *binding;

    while (NULL != (binding = *at)) {
        if (binding->freed) {
            detach_handles(pvar->group_index, binding->win);
            *at = binding->next;
            free(binding);
            continue;
        }
        if (win == binding->win) {
            found = binding;
        }
        at = &binding->next;
    }
    return found;
}

static void bind_window(const mca_base_pvar_t *pvar, const void *win)
{
    binding_t *binding;

    opal_mutex_lock(&bindings_lock);
    if (NULL == find_binding(pvar, win) && NULL != ompi_osc_cached_window_search(win)) {
        binding = malloc(sizeof(*binding)); /* without it the handle reads nothing */
        if (NULL != binding) {
            binding->next = bindings;
            binding->win = win;
            binding->freed = false;
            bindings = binding;
        }
    }
    opal_mutex_unlock(&bindings_lock);
}

void ompi_osc_cached_pvar_freed(const ompi_win_t *win)
{
    opal_mutex_lock(&bindings_lock);
    for (binding_t *binding = bindings; NULL != binding; binding = binding->next) {
        if (win == binding->win) {
            binding->freed = true;
        }
    }
    opal_mutex_unlock(&bindings_lock);
}

void ompi_osc_cached_pvar_finalize(void)
{
    binding_t *binding;

    while (NULL != (binding = bindings)) {
        bindings = binding->next;
        free(binding);
    }
}

static int read_counter(const mca_base_pvar_t *pvar, void *value, void *win)
{
    bool bound;

    opal_mutex_lock(&bindings_lock);
    bound = NULL != find_binding(pvar, win);
    opal_mutex_unlock(&bindings_lock);
    return (bound && ompi_osc_cached_window_read(win, (int) (intptr_t) pvar->ctx, value))
               ? OMPI_SUCCESS
               : OMPI_ERR_NOT_FOUND;
}

/* Never fails: Open MPI (4.1.4, 5.0.7) crashes when a handle is refused here. A window of another
 * component has no such counters; reading one of it fails. */
static int notify(mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *win, int *count)
{
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        bind_window(pvar, win);
        /* a handle counts from its beginning */
        ompi_osc_cached_window_count_all(win);
        *count = 1;
    }
    return OMPI_SUCCESS;
}

int ompi_osc_cached_pvar_register(const mca_base_component_t *component)
{
    int ret;

#define REGISTER(name, help, class)                                                              \
    ret = mca_base_component_pvar_register(                                                      \
        component, #name, help, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_##class,                    \
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG, NULL, MCA_BASE_VAR_BIND_MPI_WIN,                        \
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL, notify, \
        (void *) (intptr_t) OSC_CACHED_STAT_##name);                                             \
    if (0 > ret) {                                                                               \
        return ret;                                                                              \
    }
#define OSC_CACHED_STAT(name, help) REGISTER(name, help, COUNTER)
#define OSC_CACHED_LEVEL(name, help) REGISTER(name, help, SIZE)
#include "core/osc_cached_stats.def"
    return OMPI_SUCCESS;
}
