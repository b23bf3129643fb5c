/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc/cached: a one-sided component that wraps another one, the inner component.
 *
 *     MPI_Get(win) -> win->w_osc_module->osc_get    the inner module; while the window lives, its
 *                         |                         function table holds our functions
 *                         v
 *                     forward_get -> window->inner.osc_get    the function that stood there before
 *
 * The inner module stays in win->w_osc_module, because inner components cast that pointer to their
 * own module type and hand out its address for remote access: it can be neither replaced nor moved.
 * So the entries of its table are replaced in place, the old ones are kept per window, and they are
 * given back when the window is freed.  Inner modules are allocated per window; no other window
 * sees the change.
 */

#ifndef OSC_CACHED_H
#define OSC_CACHED_H

#include "ompi_config.h"

#include <stdatomic.h>

#include "mpi.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/info.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"

BEGIN_C_DECLS

typedef enum {
    OSC_CACHED_MODE_OFF,
    OSC_CACHED_MODE_TRANSPARENT,
    OSC_CACHED_MODE_ALWAYS,
    OSC_CACHED_MODE_USER,
} ompi_osc_cached_mode_t;

/** Values of the MCA variables of osc_cached_params.def. */
typedef struct {
#define OSC_CACHED_FIELD_STRING char *
#define OSC_CACHED_FIELD_BOOL bool
#define OSC_CACHED_FIELD_MODE int
#define OSC_CACHED_PARAM(name, kind, def, level, scope, help) OSC_CACHED_FIELD_##kind name;
#include "osc_cached_params.def"
} ompi_osc_cached_params_t;

enum {
#define OSC_CACHED_STAT(name, help) OSC_CACHED_STAT_##name,
#include "core/osc_cached_stats.def"
    OSC_CACHED_STAT_COUNT
};

/** What we know of one window; lives from osc_select to osc_free. */
typedef struct ompi_osc_cached_window_t {
    /** the window, and the proof that a slot of the window table is not stale */
    ompi_win_t *win;
    /** the inner module's functions as the inner component left them */
    ompi_osc_base_module_t inner;
    /** name of the inner component, for the summary */
    const char *inner_name;
    /** several threads may count at the same time */
    bool threaded;
    ompi_osc_cached_mode_t mode;
    /** number of calls, one per line of osc_cached_stats.def */
    _Atomic unsigned long stats[OSC_CACHED_STAT_COUNT];
    struct ompi_osc_cached_window_t *next;
} ompi_osc_cached_window_t;

/** Windows by their Fortran index: what a call needs to find its window in a few instructions. */
typedef struct ompi_osc_cached_table_t {
    int size; /* slots */
    /** the smaller table that this one replaced; a late reader may still look at it */
    struct ompi_osc_cached_table_t *replaced;
    ompi_osc_cached_window_t *_Atomic slots[];
} ompi_osc_cached_table_t;

extern ompi_osc_base_component_t mca_osc_cached_component;
extern ompi_osc_cached_params_t ompi_osc_cached_params;
extern ompi_osc_cached_table_t *_Atomic ompi_osc_cached_table;

/* osc_cached_component.c */

/** The component was named in the user's `osc` selection. */
bool ompi_osc_cached_is_asked_for(void);

/* osc_cached_inner.c: the components under us */

/** Find and initialise the components named by osc_cached_inner. */
int ompi_osc_cached_inner_init(bool enable_progress_threads, bool enable_mpi_threads);
void ompi_osc_cached_inner_finalize(void);

/**
 * The first inner component that can serve the window, or NULL.
 *
 * @param[out] priority  what its osc_query returned; without one, the last refusal
 */
ompi_osc_base_component_t *ompi_osc_cached_inner_find(ompi_win_t *win, void **base, size_t size,
                                                      int disp_unit, ompi_communicator_t *comm,
                                                      opal_info_t *info, int flavor, int *priority);

/** Tell the user, once, which inner components were tried for a window and what to set. */
void ompi_osc_cached_inner_explain(int flavor);

/* osc_cached_window.c: per-window state */

/** Make the state of a window; NULL when there is no memory for it. */
ompi_osc_cached_window_t *ompi_osc_cached_window_create(ompi_win_t *win, const char *inner_name);
/** Forget the state; the caller has given the inner functions back before. */
void ompi_osc_cached_window_destroy(ompi_osc_cached_window_t *window);
/** State of a window by search; NULL for a window that is not ours.  Never reads *win. */
ompi_osc_cached_window_t *ompi_osc_cached_window_search(const ompi_win_t *win);
/** Read a counter of a window; false for a window that is not ours.  Never reads *win. */
bool ompi_osc_cached_window_read(const ompi_win_t *win, int stat, unsigned long *value);
/** Search, and remember the result in the table for ompi_osc_cached_window_of(). */
ompi_osc_cached_window_t *ompi_osc_cached_window_enter(ompi_win_t *win);
/** Print the summary line of a window. */
void ompi_osc_cached_window_print(const ompi_osc_cached_window_t *window);
void ompi_osc_cached_window_finalize(void);

/* osc_cached_forward.c */

/** Replace the functions of the window's module by ours; keep the old ones in window->inner. */
void ompi_osc_cached_forward_install(ompi_osc_cached_window_t *window);

/* osc_cached_info.c */

const char *ompi_osc_cached_mode_name(ompi_osc_cached_mode_t mode);
/** Enumerator of the modes for the MCA variable; the caller releases it. */
int ompi_osc_cached_mode_enum(mca_base_var_enum_t **enumerator);
/** Take the window's info keys, now and when MPI_Win_set_info changes them. */
int ompi_osc_cached_info_subscribe(ompi_osc_cached_window_t *window);

/* osc_cached_pvar.c */

/** Register one performance variable per counter. */
int ompi_osc_cached_pvar_register(void);

/** State of a window of ours that has made a call before, else NULL. */
static inline ompi_osc_cached_window_t *ompi_osc_cached_window_known(const ompi_win_t *win)
{
    ompi_osc_cached_table_t *table =
        atomic_load_explicit(&ompi_osc_cached_table, memory_order_acquire);
    int index = win->w_f_to_c_index;

    if (OPAL_LIKELY(index < table->size)) {
        ompi_osc_cached_window_t *window =
            atomic_load_explicit(&table->slots[index], memory_order_acquire);
        if (OPAL_LIKELY(NULL != window && win == window->win)) {
            return window;
        }
    }
    return NULL;
}

/** State of a window of ours. */
static inline ompi_osc_cached_window_t *ompi_osc_cached_window_of(ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_known(win);

    /* the index is given to a window after osc_select: its first call enters it */
    return OPAL_LIKELY(NULL != window) ? window : ompi_osc_cached_window_enter(win);
}

static inline void ompi_osc_cached_count(ompi_osc_cached_window_t *window, int stat)
{
    _Atomic unsigned long *counter = &window->stats[stat];

    if (OPAL_UNLIKELY(window->threaded)) {
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    } else {
        /* a locked addition would cost a single-threaded program more than all the rest */
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    }
}

END_C_DECLS

#endif /* OSC_CACHED_H */
