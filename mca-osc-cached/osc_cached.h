/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc/cached: a one-sided component that wraps another one, the inner component.
 *
 *     MPI_Get(win) -> win->w_osc_module->osc_get    the inner module; while the window lives, its
 *                         |                         function table holds our functions
 *                         v
 *                     ompi_osc_cached_get -> the cache (core/osc_cached_cache.h), or
 *                                         -> window->inner.osc_get   what stood in the table before
 *
 * The inner module stays in win->w_osc_module, because inner components cast that pointer to their
 * own module type and hand out its address for remote access: it can be neither replaced nor moved.
 * So the entries of its table are replaced in place, the old ones are kept per window, and they are
 * given back when the window is freed.  Inner modules are allocated per window; no other window
 * sees the change.
 *
 * Sequence numbers.  A window counts the operations that it hands to the inner component, each
 * after the inner function has returned.  A synchronisation reads the count before it calls the
 * inner one; when that returns, the operations up to that count are complete, whatever other
 * threads have issued meanwhile.  A target with operations beyond that is busy.
 *
 * Own writes (rule A1).  A write makes everything fetched from its target invalid, before it is
 * issued; from then until it is complete at the target, gets from there go past the cache, because
 * the write may take effect before or after them.
 */

#ifndef OSC_CACHED_H
#define OSC_CACHED_H

#include "ompi_config.h"

#include <stdatomic.h>
#include <time.h>

#include "mpi.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/info.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"

#include "core/osc_cached_cache.h"
#include "core/osc_cached_profit.h"
#include "osc_cached_compat.h"

BEGIN_C_DECLS

typedef enum {
    OSC_CACHED_MODE_OFF,
    OSC_CACHED_MODE_TRANSPARENT,
    OSC_CACHED_MODE_ALWAYS,
    OSC_CACHED_MODE_USER,
} ompi_osc_cached_mode_t;

/** What mode transparent keeps in a passive epoch. */
typedef enum {
    OSC_CACHED_PASSIVE_NONE,
    OSC_CACHED_PASSIVE_FLUSH,
} ompi_osc_cached_passive_t;

/** The access epoch of a window. */
typedef enum {
    OSC_CACHED_EPOCH_NONE,
    OSC_CACHED_EPOCH_FENCE,
    OSC_CACHED_EPOCH_START,    /**< MPI_Win_start */
    OSC_CACHED_EPOCH_LOCK,     /**< MPI_Win_lock, of one or more targets */
    OSC_CACHED_EPOCH_LOCK_ALL, /**< MPI_Win_lock_all */
} ompi_osc_cached_epoch_t;

/** Values of the MCA variables of osc_cached_params.def. */
typedef struct {
#define OSC_CACHED_FIELD_STRING char *
#define OSC_CACHED_FIELD_BOOL bool
#define OSC_CACHED_FIELD_MODE int
#define OSC_CACHED_FIELD_SCHEME int
#define OSC_CACHED_FIELD_PASSIVE int
#define OSC_CACHED_PARAM(name, kind, def, level, scope, help) OSC_CACHED_FIELD_##kind name;
#define OSC_CACHED_NUMBER(name, unit, def, least, most, level, scope, help) char *name;
#include "osc_cached_params.def"
} ompi_osc_cached_params_t;

/** The numbers among them, as read by us. */
typedef struct {
#define OSC_CACHED_PARAM(name, kind, def, level, scope, help)
#define OSC_CACHED_NUMBER(name, unit, def, least, most, level, scope, help) double name;
#include "osc_cached_params.def"
} ompi_osc_cached_numbers_t;

/** How a number is written. */
typedef enum {
    OSC_CACHED_UNIT_COUNT, /**< digits */
    OSC_CACHED_UNIT_BYTES, /**< digits, and K, M or G */
    OSC_CACHED_UNIT_RATIO, /**< with a fraction */
} ompi_osc_cached_unit_t;

enum {
#define OSC_CACHED_STAT(name, help) OSC_CACHED_STAT_##name,
#define OSC_CACHED_LEVEL(name, help) OSC_CACHED_STAT_##name,
#include "core/osc_cached_stats.def"
    OSC_CACHED_STAT_COUNT
};

/** A hit that osc_cached_verify has fetched again; see osc_cached_verify.c. */
typedef struct ompi_osc_cached_shadow_t ompi_osc_cached_shadow_t;

/**
 * Which way calls go, as mode and epoch allow: bits of a window's ways.
 *
 *     DIRECT                            nothing is cached: mode off, or a passive epoch of
 * transparent ACTIVE                            gets are looked up ACTIVE QUICK the same, by one
 * thread and without a trace ACTIVE QUICK PLAIN                the same, with an open cache and no
 * verification and with ACTIVE: PASSIVE; with QUICK: PLAIN_FENCE; with PASSIVE and PLAIN:
 * PLAIN_FLUSH none of them                      nothing is cached, but traced
 */
enum {
    OSC_CACHED_WAY_DIRECT = 1,       /**< gets go straight to the inner component */
    OSC_CACHED_WAY_ACTIVE = 2,       /**< gets go to the cache: the mode and the epoch allow it */
    OSC_CACHED_WAY_PASSIVE = 4,      /**< ... in an epoch of lock or lock_all */
    OSC_CACHED_WAY_PLAIN = 8,        /**< a hit needs nothing but a copy: no lock, no trace, ... */
    OSC_CACHED_WAY_QUICK = 16,       /**< the same for a get that is passed through */
    OSC_CACHED_WAY_PLAIN_FENCE = 32, /**< the same for a fence between two fence epochs */
    OSC_CACHED_WAY_PLAIN_FLUSH = 64, /**< the same for a flush that stays local */
};

/**
 * Threads.  What is read without a window's lock is written under it, and both are atomic: a
 * window's ways and busy, a peer's untimed and batch_timed.  They decide only which way a call
 * goes. A thread's own calls are what it sees in any case; of another thread's, any moment will do.
 * Everything else is read and written under the lock, or by windows that are not threaded.
 */
#define OSC_CACHED_READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define OSC_CACHED_WRITE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/** What we know of one target of a window; all 0 at the start. */
typedef struct ompi_osc_cached_peer_t {
    osc_cached_target_t cache;
    uint64_t issued;          /**< sequence number of the last operation to it */
    uint64_t completed;       /**< up to here all are complete at the target */
    uint64_t completed_local; /**< up to here all are complete at the origin */
    uint64_t written;         /**< sequence number of the last own write to it */
    uint32_t writing;         /**< own writes that are being issued */
    bool busy;                /**< in the window's list: issued is beyond completed */
    bool accessible;          /**< locked, or in the group of MPI_Win_start */
    bool loose;   /**< gets were passed through uncounted: flushes go to the inner one */
    bool untimed; /**< gets are not measured until the next synchronisation */
    osc_cached_profit_t profit;
    uint64_t round;       /**< number of the cache's gets when the round of profit began */
    uint32_t batch_gets;  /**< real gets since the last synchronisation */
    uint32_t batch_timed; /**< of these, measured */
    uint64_t batch_ns;    /**< that these took */
    uint32_t batches;     /**< synchronisations with real gets */
    struct ompi_osc_cached_peer_t *next_busy, *prev_busy;
    ompi_osc_cached_shadow_t *shadows;
    bool reported; /**< a difference that verification found */
} ompi_osc_cached_peer_t;

/** What we know of one window; lives from osc_select to osc_free. */
typedef struct ompi_osc_cached_window_t {
    /** OSC_CACHED_WAY_ bits; the first field: an atomic read takes no more instructions there */
    uint32_t ways;
    /** the window, and the proof that a slot of the window table is not stale */
    ompi_win_t *win;
    /** several threads may call at the same time */
    bool threaded;
    /** every target may be accessed: fence or lock_all; otherwise peer->accessible tells */
    bool everyone;
    /** operations were issued in this epoch that we did not count */
    bool untracked;
    /** somebody looks at the counters: every call is counted */
    bool counted;
    /** our functions for operations and flushes are in the module's table */
    bool installed;
    /** a window that can be cached: it has peers */
    bool cacheable;
    /** gets were passed through uncounted: a peer is loose */
    bool loose;
    /** gets on their way were measured: so is the synchronisation that completes them */
    bool timed;
    ompi_osc_cached_mode_t mode;
    ompi_osc_cached_epoch_t epoch;
    int rank;                                /**< ours */
    ompi_osc_cached_disp_unit_t disp_unit;   /**< bytes, of all targets, or 0: see disp_units */
    ompi_osc_cached_disp_unit_t *disp_units; /**< bytes, by target */
    ompi_osc_cached_peer_t *peers;
    uint64_t sequence;
    osc_cached_cache_t cache;
    opal_mutex_t lock; /**< of all that follows the inner calls, when threaded */
    ompi_osc_cached_peer_t *busy;
    int passes_left; /**< synchronisations until targets that are passed are tried again */
    int num_locks;   /**< targets locked by MPI_Win_lock */
    /** what a flush of all targets of the inner component leaves undone */
    enum {
        OSC_CACHED_FLUSH_ALL,      /**< nothing */
        OSC_CACHED_FLUSH_FETCHING, /**< gets of MPI_Win_create windows (osc/ucx) */
        OSC_CACHED_FLUSH_LOCKED,   /**< everything after MPI_Win_lock (osc/rdma) */
    } flush_first;
    uint32_t first_tick; /**< ticks when the epoch began */
    int num_started;     /**< targets in started */
    int *started;        /**< of MPI_Win_start */
    uint32_t ticks;      /**< gets, to measure one of some */
    uint32_t quiet;      /**< flushes since the last progress */
    uint32_t retry_open; /**< gets until another attempt to open the cache */
    osc_cached_profit_costs_t costs;
    bool subscribed;       /**< to the info keys */
    const char *mode_key;  /**< the string under which the mode came last: see is_overruled() */
    uint64_t told_resizes; /**< resizes that the window's info knows of */
    struct ompi_osc_cached_layouts_t *layouts;
    struct ompi_osc_cached_rget_t *rgets; /**< MPI_Rget on their way that fill entries */
    int number;                           /**< of the window in the trace */
    /** the inner module's functions as the inner component left them */
    ompi_osc_base_module_t inner;
    /** name of the inner component, for the summary */
    const char *inner_name;
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
extern ompi_osc_cached_numbers_t ompi_osc_cached_numbers;
/** hidden: each call finds it without a detour */
extern __opal_attribute_visibility__("hidden")
    ompi_osc_cached_table_t *_Atomic ompi_osc_cached_table;

/* osc_cached_component.c */

/** The component was named in the user's `osc` selection. */
bool ompi_osc_cached_is_asked_for(void);

/* osc_cached_inner.c: the components under us */

/** Of the Open MPI that has loaded us; when we step aside, not the one we were built for. */
extern int ompi_osc_cached_running_major;

/** What osc_query and osc_select are told of a window. */
typedef struct {
    ompi_win_t *win;
    void **base;
    size_t size;
    ompi_osc_cached_disp_unit_t disp_unit;
    ompi_communicator_t *comm;
    opal_info_t *info;
    int flavor;
    int refusal; /**< an error that Open MPI hands to the program when nothing serves the window */
} ompi_osc_cached_request_t;

/** Find and initialise the components named by osc_cached_inner. */
int ompi_osc_cached_inner_init(bool enable_progress_threads, bool enable_mpi_threads);
void ompi_osc_cached_inner_finalize(void);

/** Give Open MPI the components that it would have without us, for a component that is not going to
 * be there; instead of the two above. */
void ompi_osc_cached_inner_step_aside(bool enable_progress_threads, bool enable_mpi_threads);

/**
 * The component that serves a window, or NULL: Open MPI has none for it, with or without us.
 *
 * @param[out] wraps  it is one of osc_cached_inner; if not, it is what serves the window without us
 */
ompi_osc_base_component_t *ompi_osc_cached_inner_find(ompi_osc_cached_request_t *request,
                                                      bool *wraps);
/** Tell the user, once, why none of osc_cached_inner serves a window, and what does. */
void ompi_osc_cached_inner_explain(const ompi_osc_cached_request_t *request, const char *served_by);

/* osc_cached_window.c: per-window state */

/** Make the state of a window; NULL when there is no memory for it. */
ompi_osc_cached_window_t *ompi_osc_cached_window_create(ompi_win_t *win, const char *inner_name);
/**
 * The displacement units of a window's targets. Collective.
 *
 * @param[out] unit   of all targets, or 0
 * @param[out] units  by target when they differ, else NULL; when both are not given, some process
 *                    has no memory for them, and nobody caches
 */
int ompi_osc_cached_window_units(ompi_communicator_t *comm, ompi_osc_cached_disp_unit_t disp_unit,
                                 ompi_osc_cached_disp_unit_t *unit,
                                 ompi_osc_cached_disp_unit_t **units);
/**
 * Prepare the window for caching; without memory for that it stays uncached.
 *
 * @param units  belongs to the window from now on
 */
void ompi_osc_cached_window_prepare(ompi_osc_cached_window_t *window,
                                    ompi_osc_cached_disp_unit_t unit,
                                    ompi_osc_cached_disp_unit_t *units);
/** Mode or epoch have changed; caller holds the window's lock. */
void ompi_osc_cached_window_update(ompi_osc_cached_window_t *window);
/** Forget the state; then the caller gives the inner functions back. */
void ompi_osc_cached_window_destroy(ompi_osc_cached_window_t *window);
/** State of a window by search; NULL for a window that is not ours.  Never reads *win. */
ompi_osc_cached_window_t *ompi_osc_cached_window_search(const ompi_win_t *win);
/** Read a counter of a window; false for a window that is not ours.  Never reads *win. */
bool ompi_osc_cached_window_read(const ompi_win_t *win, int stat, unsigned long *value);
/** Search, and remember the result in the table for ompi_osc_cached_window_of(). */
ompi_osc_cached_window_t *ompi_osc_cached_window_enter(ompi_win_t *win);
/** Count every call from now on; nothing for a window that is not ours.  Never reads *win. */
void ompi_osc_cached_window_count_all(const ompi_win_t *win);
/** Do something with each window, until it fails. */
int ompi_osc_cached_window_each(int (*visit)(ompi_osc_cached_window_t *window));
/** Print the summary line of a window. */
void ompi_osc_cached_window_print(const ompi_osc_cached_window_t *window);
void ompi_osc_cached_window_finalize(void);

/* osc_cached_forward.c */

/** Replace functions of the window's module by ours; keep the old ones in window->inner. */
void ompi_osc_cached_forward_install(ompi_osc_cached_window_t *window);
/** The functions for operations and flushes, which are ours only while that has a purpose. */
void ompi_osc_cached_forward_update(ompi_osc_cached_window_t *window);

/* osc_cached_get.c: the slots get and rget */

int ompi_osc_cached_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                        struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                        ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                        ompi_win_t *win);
int ompi_osc_cached_rget(void *origin_addr, ompi_osc_cached_count_t origin_count,
                         struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                         ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                         ompi_win_t *win, struct ompi_request_t **request);
/** The buffers of some gets on their way are exposed now: what was to be copied from or to them
 * later is fetched by gets of its own. */
int ompi_osc_cached_get_withdraw(ompi_osc_cached_window_t *window);
/** MPI_Rget requests that are not complete will not find the window any more. */
void ompi_osc_cached_rget_forget(ompi_osc_cached_window_t *window);

/* osc_cached_type.c: datatypes */

/** The core's copy and done functions for buffers with a datatype. */
void ompi_osc_cached_type_copy(const osc_cached_buffer_t *buffer, void *bytes, size_t size,
                               bool to_buffer);
void ompi_osc_cached_type_done(const osc_cached_buffer_t *buffer);
/** A record will have this buffer: keep its datatypes until it is done. */
void ompi_osc_cached_type_keep(const osc_cached_buffer_t *buffer);
/** A number for this layout of the target's memory that no other one has in this window; 0: none.
 */
uint32_t ompi_osc_cached_type_layout(ompi_osc_cached_window_t *window, ompi_datatype_t *type,
                                     ompi_osc_cached_count_t count);
void ompi_osc_cached_type_forget(ompi_osc_cached_window_t *window);

/* osc_cached_sync.c: the synchronisation slots, and what an operation leaves for them */

int ompi_osc_cached_fence(int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_start(ompi_group_t *group, int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_complete(ompi_win_t *win);
int ompi_osc_cached_lock(int lock_type, int target, int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_unlock(int target, ompi_win_t *win);
int ompi_osc_cached_lock_all(int mpi_assert, ompi_win_t *win);
int ompi_osc_cached_unlock_all(ompi_win_t *win);
int ompi_osc_cached_sync(ompi_win_t *win);
int ompi_osc_cached_flush(int target, ompi_win_t *win);
int ompi_osc_cached_flush_all(ompi_win_t *win);
int ompi_osc_cached_flush_local(int target, ompi_win_t *win);
int ompi_osc_cached_flush_local_all(ompi_win_t *win);

/** Operations of others that wait for this process. */
void ompi_osc_cached_make_progress(ompi_osc_cached_window_t *window);

/** Something was complete without the inner component, which would have made progress for others:
 * whether it is time to. Caller holds the lock. */
static inline bool ompi_osc_cached_was_quiet(ompi_osc_cached_window_t *window)
{
    enum { QUIET = 128 }; /* times that others can wait */

    return OPAL_UNLIKELY(QUIET <= ++window->quiet);
}

/** An own write to a target begins; its inner call has returned. */
void ompi_osc_cached_write_begin(ompi_osc_cached_window_t *window, int target);
void ompi_osc_cached_write_end(ompi_osc_cached_window_t *window, int target);

/** Forget everything that was fetched. */
void ompi_osc_cached_invalidate(ompi_osc_cached_window_t *window);

/* osc_cached_memory.c: the budget of the process, and memory that windows expose */

extern const osc_cached_alloc_t ompi_osc_cached_alloc;
extern const osc_cached_budget_t ompi_osc_cached_budget;
/** Take the budget from the parameters. */
void ompi_osc_cached_memory_init(void);
/** Whether an address is in a device's memory. */
void ompi_osc_cached_devices_init(void);
bool ompi_osc_cached_is_on_device_slowly(const void *address);
extern bool ompi_osc_cached_has_devices;

static inline bool ompi_osc_cached_is_on_device(const void *address)
{
    return ompi_osc_cached_has_devices && ompi_osc_cached_is_on_device_slowly(address);
}

/** Memory that others may write through a window of this process, from now on, and no more. Before
 * they may: gets into that memory can be on their way. */
int ompi_osc_cached_expose(const ompi_win_t *win, const void *base, size_t size);
/** base NULL: all of a window */
void ompi_osc_cached_conceal(const ompi_win_t *win, const void *base);
/** Whether a buffer overlaps such memory. */
bool ompi_osc_cached_is_exposed_slowly(const void *base, size_t size);
extern _Atomic uintptr_t ompi_osc_cached_exposed_from, ompi_osc_cached_exposed_to;

static inline bool ompi_osc_cached_is_exposed(const void *base, size_t size)
{
    uintptr_t from = (uintptr_t) base;

    return from < atomic_load_explicit(&ompi_osc_cached_exposed_to, memory_order_relaxed)
           && atomic_load_explicit(&ompi_osc_cached_exposed_from, memory_order_relaxed)
                  < from + size
           && ompi_osc_cached_is_exposed_slowly(base, size);
}

/* osc_cached_verify.c: rule A16 */

/** Fetch again what a hit has served; compared at the next synchronisation. */
void ompi_osc_cached_verify_hit(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                osc_cached_key_t key, const osc_cached_buffer_t *buffer,
                                size_t bytes, ptrdiff_t target_disp,
                                ompi_osc_cached_count_t target_count, ompi_datatype_t *target_dt);
/** The gets up to this sequence number are complete; caller holds no lock. */
void ompi_osc_cached_verify_compare(ompi_osc_cached_window_t *window, ompi_osc_cached_peer_t *peer,
                                    uint64_t sequence);
void ompi_osc_cached_verify_forget(ompi_osc_cached_peer_t *peer);

/* osc_cached_trace.c */

/** One line of the trace. */
void ompi_osc_cached_trace_get(const ompi_osc_cached_window_t *window, int target, uint64_t address,
                               size_t bytes, const char *outcome);
void ompi_osc_cached_trace_init(void);
void ompi_osc_cached_trace_finalize(void);
extern bool ompi_osc_cached_tracing;

/* osc_cached_info.c */

const char *ompi_osc_cached_mode_name(ompi_osc_cached_mode_t mode);
/** Enumerators for the MCA variables; the caller releases them. */
int ompi_osc_cached_mode_enum(mca_base_var_enum_t **enumerator);
int ompi_osc_cached_scheme_enum(mca_base_var_enum_t **enumerator);
int ompi_osc_cached_passive_enum(mca_base_var_enum_t **enumerator);
/** Read a number; false: not one, or not between least and most. */
bool ompi_osc_cached_read_number(const char *text, ompi_osc_cached_unit_t unit, double least,
                                 double most, double *value);
/** Write it for the user. */
void ompi_osc_cached_write_number(double value, ompi_osc_cached_unit_t unit, char *text,
                                  size_t size);
/** Let MPI_Win_get_info report the mode and the sizes in force. */
void ompi_osc_cached_info_tell(ompi_osc_cached_window_t *window);
/** Take the window's info keys, now and when MPI_Win_set_info changes them. */
int ompi_osc_cached_info_subscribe(ompi_osc_cached_window_t *window);

/* osc_cached_pvar.c */

/** Register one performance variable per counter. */
int ompi_osc_cached_pvar_register(void);
/** A window will be gone. */
void ompi_osc_cached_pvar_freed(const ompi_win_t *win);
void ompi_osc_cached_pvar_finalize(void);

/* time and locks */

static inline uint64_t ompi_osc_cached_now(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static inline void ompi_osc_cached_window_lock(ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->threaded)) {
        opal_mutex_lock(&window->lock);
    }
}

static inline void ompi_osc_cached_window_unlock(ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->threaded)) {
        opal_mutex_unlock(&window->lock);
    }
}

/** OSC_CACHED_WAY_ bits of this moment. */
static inline uint32_t ompi_osc_cached_ways(const ompi_osc_cached_window_t *window)
{
    return OSC_CACHED_READ(window->ways);
}

/** An operation was handed to the inner component; caller holds the lock. */
static inline uint64_t ompi_osc_cached_issued(ompi_osc_cached_window_t *window,
                                              ompi_osc_cached_peer_t *peer)
{
    peer->issued = ++window->sequence;
    if (!peer->busy) {
        peer->busy = true;
        peer->prev_busy = NULL;
        peer->next_busy = window->busy;
        if (NULL != window->busy) {
            window->busy->prev_busy = peer;
        }
        OSC_CACHED_WRITE(window->busy, peer);
    }
    return peer->issued;
}

/** Own writes to the target may be on their way (rule A1). */
static inline bool ompi_osc_cached_is_dirty(const ompi_osc_cached_peer_t *peer)
{
    return peer->completed < peer->written || 0 < peer->writing;
}

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

/** Of a window that is not threaded. */
static inline void ompi_osc_cached_add_alone(ompi_osc_cached_window_t *window, int stat,
                                             unsigned long more)
{
    _Atomic unsigned long *counter = &window->stats[stat];

    /* a locked addition would cost more than all the rest */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static inline void ompi_osc_cached_add(ompi_osc_cached_window_t *window, int stat,
                                       unsigned long more)
{
    if (OPAL_UNLIKELY(window->threaded)) {
        atomic_fetch_add_explicit(&window->stats[stat], more, memory_order_relaxed);
    } else {
        ompi_osc_cached_add_alone(window, stat, more);
    }
}

static inline void ompi_osc_cached_count_alone(ompi_osc_cached_window_t *window, int stat)
{
    ompi_osc_cached_add_alone(window, stat, 1);
}

static inline void ompi_osc_cached_count(ompi_osc_cached_window_t *window, int stat)
{
    ompi_osc_cached_add(window, stat, 1);
}

END_C_DECLS

#endif /* OSC_CACHED_H */
