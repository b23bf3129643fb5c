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
 * This header: the state of a window and of its targets, what changes it, and nothing of those who
 * use it (test/lint/lint-floors has the order of the files).
 *
 * Sequence numbers.  A window counts the operations that it hands to the inner component, each
 * after the inner function has returned.  A synchronisation reads the count before it calls the
 * inner one; when that returns, the operations up to that count are complete, whatever other
 * threads have issued meanwhile.  A target with operations beyond that is busy.
 *
 * Own writes (rule A1).  A write makes everything fetched from its target invalid, before it is
 * issued; from then until it is complete at the target, gets from there go past the cache, because
 * the write may take effect before or after them.
 *
 * Targets.  A target has a peer from its first operation or lock on.  Without memory for that it
 * has none: its operations go to the inner component and are not counted, nothing of it is kept,
 * and flushes that concern it go to the inner component, too.  Should there be memory later, it
 * begins as if an own write were on its way.
 *
 * Threads.  What is read without a window's lock is written under it, and both are atomic: a
 * window's ways and busy, a peer's untimed and batch_timed.  They decide only which way a call
 * goes.  A thread's own calls are what it sees in any case; of another thread's, any moment will
 * do.  Everything else is read and written under the lock, or by windows that are not threaded.
 * Hits, and flushes with nothing to wait for, go through a gate that is closed while somebody holds
 * the lock, and do not disturb each other (core/osc_cached_gate.h).
 */

#ifndef OSC_CACHED_WINDOW_H
#define OSC_CACHED_WINDOW_H

#include "ompi_config.h"

#include <stdatomic.h>
#include <time.h>

#include "mpi.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"

#include "core/osc_cached_cache.h"
#include "core/osc_cached_epoch.h"
#include "core/osc_cached_gate.h"
#include "core/osc_cached_peers.h"
#include "core/osc_cached_profit.h"
#include "core/osc_cached_table.h"
#include "osc_cached_compat.h"
#include "osc_cached_params.h"

BEGIN_C_DECLS

#define OSC_CACHED_READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define OSC_CACHED_WRITE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* clang-format off */
/**
 * Which way calls go: bits that follow from the epoch, the mode and the window, see
 * ompi_osc_cached_window_update().  These combinations exist:
 *
 *     DIRECT              nothing is cached: mode off, no epoch, passive epochs of transparent
 *                         unless the window is coherent there
 *     DIRECT COHERENT     the same in a window whose other processes may cache
 *     none                the same, with a trace
 *     DIRECT WRITES       nothing is cached in this epoch, but what earlier ones cached lives on;
 *                         in coherent windows with COHERENT, with a trace without DIRECT
 *     LOOKUP              the cache is asked: several threads, or a trace
 *     LOOKUP SHARED       the same with several threads, an open cache and nothing of the sort
 *     LOOKUP QUICK        the same with one thread and without a trace
 *     LOOKUP QUICK PLAIN  the same with an open cache, no devices and no verification
 *
 * and LOOKUP ... COHERENT in coherent windows, with COHERENT_PLAIN in the place of PLAIN, LATER in
 * that of EVERYONE after MPI_Win_lock_all, and without SHARED and PLAIN_FENCE; in windows that
 * share the cache of their node, NODE in the place of PLAIN, and SHARED in coherent ones, too, both
 * also before the window's own cache is open, and while all operations are counted;
 *
 * with LOOKUP also WRITES, and EVERYONE and PASSIVE, as the epoch says; and while all operations
 * are counted, with QUICK in a fence epoch PLAIN_FENCE, and in a passive epoch that is not of mode
 * transparent, or is coherent, with QUICK and no devices and no verification PLAIN_FLUSH, with
 * SHARED SHARED_FLUSH.
 */
/* clang-format on */
enum {
    OSC_CACHED_WAY_DIRECT = 1,    /**< gets go straight to the inner component */
    OSC_CACHED_WAY_LOOKUP = 2,    /**< gets go to the cache: the mode and the epoch allow it */
    OSC_CACHED_WAY_COHERENT = 4,  /**< writes and synchronisations go to coherence/ */
    OSC_CACHED_WAY_PASSIVE = 8,   /**< ... in a passive epoch */
    OSC_CACHED_WAY_EVERYONE = 16, /**< ... that gives access to every target */
    OSC_CACHED_WAY_LATER = 32,    /**< ... when it is first used, in coherent windows */
    OSC_CACHED_WAY_ALL = OSC_CACHED_WAY_EVERYONE | OSC_CACHED_WAY_LATER,
    OSC_CACHED_WAY_QUICK = 64,  /**< a get that is passed through needs no lock and no trace */
    OSC_CACHED_WAY_PLAIN = 128, /**< a hit needs nothing but a copy */
    OSC_CACHED_WAY_PLAIN_FENCE = 256, /**< the same for a fence between two fence epochs */
    OSC_CACHED_WAY_PLAIN_FLUSH = 512, /**< the same for a flush that stays local */
    OSC_CACHED_WAY_SHARED = 1024, /**< a hit needs nothing but a copy, and goes through the gate */
    OSC_CACHED_WAY_SHARED_FLUSH = 2048,   /**< the same for a flush that stays local */
    OSC_CACHED_WAY_COHERENT_PLAIN = 4096, /**< as PLAIN, with a look at generations of blocks */
    OSC_CACHED_WAY_NODE = 8192,           /**< as PLAIN, of the cache of the node */
    OSC_CACHED_WAY_WRITES = 16384,        /**< own writes end what is kept (rule A1) */
};

/** Counters of coherence, which are side by side. */
enum {
    OSC_CACHED_COHERENCE_COUNTS =
        OSC_CACHED_STAT_cooperate_lasts - OSC_CACHED_STAT_coherence_fills + 1
};

/** What we know of one target of a window. */
typedef osc_cached_peer_t ompi_osc_cached_peer_t;

/** Memory of ours that MPI_Win_allocate returns. */
typedef struct {
    void *base;
    size_t bytes; /**< 0: there is none */
    bool ours;    /**< the window's memory is not the inner component's */
} ompi_osc_cached_own_memory_t;

/** What we know of one window; lives from osc_select to osc_free. */
typedef struct ompi_osc_cached_window_t {
    /** OSC_CACHED_WAY_ bits; the first field: an atomic read takes no more instructions there */
    uint32_t ways;
    /** the window, and the proof that a slot of the window table is not stale */
    ompi_win_t *win;

    /* since its creation */
    bool threaded;  /**< several threads may call at the same time */
    bool traced;    /**< there is a trace */
    bool inspected; /**< hits are verified, or may be in memory of a device */
    bool is_late;   /**< the inner component's fault: gets from processes of the node may come after
                         the end of an active epoch, a flush of all, and the request of theirs */
    bool all_are_late; /**< and all processes are of the node */
    bool starts_early; /**< the inner component's MPI_Win_start does not wait for MPI_Win_post */
    bool cacheable;    /**< a window that can be cached: it has peers and a cache */

    /* now */
    bool uncounted;   /**< operations were issued in this epoch that we did not count */
    bool all_checked; /**< see forget_locks() */
    bool counted;     /**< somebody looks at the counters: every call is counted */
    bool installed;   /**< our functions for operations and flushes are in the module's table */
    bool loose; /**< a peer is LOOSE since the last synchronisation of all, or one is lacking */
    bool timed; /**< gets on their way were measured: so is what completes them */
    bool subscribed;           /**< to the info keys */
    bool has_common_callbacks; /**< its callbacks are those of all windows */
    bool given;                /**< the program said something by them when it created the window */
    ompi_osc_cached_mode_t mode;
    osc_cached_epoch_t epoch; /**< where it does not give access to all, peer->accessible tells */

    int rank;                                /**< ours */
    ompi_osc_cached_disp_unit_t disp_unit;   /**< bytes, of all targets, or 0: see disp_units */
    ompi_osc_cached_disp_unit_t *disp_units; /**< bytes, by target */
    osc_cached_peers_t peers;
    uint64_t sequence;
    osc_cached_cache_t cache;
    opal_mutex_t lock;       /**< of all that follows the inner calls, when threaded */
    osc_cached_gate_t *gate; /**< closed while the lock is held; NULL: not threaded, or no memory */
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
    uint64_t
        debt_ns; /**< that the cache has cost more than it saved, before ns_saved grows again */
    const char *mode_key;     /**< the string under which the mode came last: see is_overruled() */
    const char *unless_given; /**< while subscribing to a key: what it says when it is not given */
    uint64_t told_resizes;    /**< resizes that the window's info knows of */
    struct ompi_osc_cached_layouts_t *layouts; /**< see osc_cached_type.c */
    struct ompi_osc_cached_shadow_t *shadows;  /**< see osc_cached_verify.c */
    struct ompi_osc_cached_bounce_t *bounces;  /**< of gets that have failed */
    struct ompi_osc_cached_rget_t *rgets;      /**< MPI_Rget on their way that fill entries */
    struct ompi_osc_cached_helper_t *helper;   /**< see helper/; NULL: it has none */
    struct ompi_osc_cached_node_t *memory; /**< see helper/; NULL: it is the inner component's */
    struct ompi_osc_cached_near_t *near;   /**< see storage/; NULL: no other process's is mapped */
    ompi_osc_cached_own_memory_t own;      /**< the same, see coherence/ */
    bool in_sysv;                          /**< it would be coherent in memory of another kind */
    struct ompi_osc_cached_coherence_t *coherence; /**< see coherence/; NULL: it is not coherent */
    struct ompi_osc_cached_sharing_t *sharing;     /**< see node/; NULL: the cache is private */
    uint32_t shared_modes; /**< bit 1 << mode: with it, in this mode the cache is shared */
    /** with it: what was fetched is forgotten by all processes of the node */
    void (*forgets)(struct ompi_osc_cached_window_t *window);
    unsigned long (*node_count)(const struct ompi_osc_cached_window_t *window, int stat);
    /** the same: a number for a layout that all processes of the node have; 0: none */
    uint32_t (*node_layout)(struct ompi_osc_cached_window_t *window, uint64_t count,
                            const void *description, size_t bytes);
    ompi_osc_cached_stores_t stores;           /**< of this process, in a coherent window */
    ompi_osc_cached_cooperate_t cooperate;     /**< the same, of all processes */
    uint32_t coherence_block;                  /**< bytes, or 0 */
    struct ompi_osc_cached_advised_t *advised; /**< see osc_cached_advise.c; NULL: not watched */
    uint32_t invalidated;                      /**< how often, by the program */
    /** OSC_CACHED_COHERENCE_COUNTS, in the order of osc_cached_stats.def; or NULL */
    const _Atomic unsigned long *coherence_counts;
    const _Atomic unsigned long *served; /**< operations that our helper did for others */
    const _Atomic unsigned long *file_reads, *file_bytes_read, *file_read_waits; /**< for these */
    int number;                /**< of the window in the trace */
    uint64_t largest;          /**< bytes of its largest part */
    ompi_communicator_t *comm; /**< to add up what its processes counted; NULL: they do not */
    /** at its first call, when it may have a name; NULL: there is nothing to do */
    void (*entered)(struct ompi_osc_cached_window_t *window);
    int inner_flavor; /**< what the inner component was asked for */
    /** the inner module's functions as the inner component left them */
    ompi_osc_base_module_t inner;
    /** name of the inner component, for the summary */
    const char *inner_name;
    char name[OSC_CACHED_TABLE_NAME]; /**< of the window, at its first call */
    /** ways or counted have changed: put the right functions into the module's table */
    void (*changed)(struct ompi_osc_cached_window_t *window);
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

/** hidden: each call finds it without a detour */
extern __opal_attribute_visibility__("hidden")
    ompi_osc_cached_table_t *_Atomic ompi_osc_cached_table;

/* Life */

/**
 * Make the state of a window; NULL when there is no memory for it.
 *
 * @param traced     there is a trace
 * @param inspected  hits need a look at their buffer or at the target's memory
 */
ompi_osc_cached_window_t *ompi_osc_cached_window_create(ompi_win_t *win, const char *inner_name,
                                                        bool traced, bool inspected);
/** Numbers of a process on which the helper and the coherence of a new window depend: those of
 * helper/, and then these. */
enum {
    OSC_CACHED_VOTE_COHERENT = 6,   /**< wants it */
    OSC_CACHED_VOTE_BLOCK = 7,      /**< bytes */
    OSC_CACHED_VOTE_OPEN = 8,       /**< its memory will not be protected */
    OSC_CACHED_VOTE_SHARE = 9,      /**< declares that a cache per node is right in any mode */
    OSC_CACHED_VOTE_COOPERATE = 10, /**< ompi_osc_cached_cooperate_t */
    OSC_CACHED_VOTE_APART = 11,     /**< nobody else of the window is on its node */
    OSC_CACHED_VOTE_TOGETHER = 12,  /**< wants one cache per node where it is coherent */
};
enum { OSC_CACHED_VOTES = 13 };

/** The processes of a node, where they are one sharer of what is cached. */
typedef struct {
    uint32_t
        *first;     /**< by rank: the first one of its node; NULL: each process is one for itself */
    uint32_t place; /**< which of its node this process is, */
    uint32_t places; /**< and of how many */
    void *memory;    /**< that all of them have; NULL: this process is alone on its node */
} ompi_osc_cached_together_t;

/**
 * What the processes of a window agree on when it is made: its displacement units, how many bytes
 * all of them have, and what they think of a helper. Collective.
 *
 * @param size        bytes of our own part of the window
 * @param[out] unit   of all targets, or 0
 * @param[out] units  by target when they differ, else NULL; when both are not given, some process
 *                    has no memory for them, and nobody caches
 * @param[out] reach  bytes that the window has at each target that has any
 * @param[out] largest  bytes of its largest part
 * @param[in,out] together  add up what was counted at the end: wished, and then agreed
 * @param[in,out] votes  of this process, and then the least of all
 */
int ompi_osc_cached_window_units(ompi_communicator_t *comm, ompi_osc_cached_disp_unit_t disp_unit,
                                 size_t size, ompi_osc_cached_disp_unit_t *unit,
                                 ompi_osc_cached_disp_unit_t **units, uint64_t *reach,
                                 uint64_t *largest, bool *together,
                                 int64_t votes[OSC_CACHED_VOTES]);
/**
 * Prepare the window for caching; without memory for that it stays uncached.
 *
 * @param units  belongs to the window from now on
 */
void ompi_osc_cached_window_prepare(ompi_osc_cached_window_t *window,
                                    const osc_cached_config_t *config,
                                    const osc_cached_alloc_t *alloc,
                                    ompi_osc_cached_disp_unit_t unit,
                                    ompi_osc_cached_disp_unit_t *units);
/** From now on nobody finds the window. */
void ompi_osc_cached_window_unlink(ompi_osc_cached_window_t *window);
/** Free the state of a window that was unlinked. */
void ompi_osc_cached_window_destroy(ompi_osc_cached_window_t *window);
void ompi_osc_cached_window_finalize(void);

/* Finding them */

/** State of a window by search; NULL for a window that is not ours.  Never reads *win. */
ompi_osc_cached_window_t *ompi_osc_cached_window_search(const ompi_win_t *win);
/** Search, and remember the result in the table for ompi_osc_cached_window_of(). */
ompi_osc_cached_window_t *ompi_osc_cached_window_enter(ompi_win_t *win);
/** Do something with each window, until it fails. */
int ompi_osc_cached_window_each(int (*visit)(ompi_osc_cached_window_t *window));

/* What happens to them */

/** Mode, epoch, uncounted or the cache have changed; caller holds the window's lock. */
void ompi_osc_cached_window_update(ompi_osc_cached_window_t *window);
/** Forget everything that was fetched; caller holds the window's lock. */
static inline void ompi_osc_cached_window_forget(ompi_osc_cached_window_t *window)
{
    osc_cached_cache_invalidate(&window->cache);
    if (OPAL_UNLIKELY(NULL != window->sharing)) {
        window->forgets(window);
    }
}
/** The same, for the program, of a window that need not be cached; takes the lock. */
void ompi_osc_cached_window_invalidate(ompi_osc_cached_window_t *window);
/**
 * opal_progress, of a process that does not wait.  Where processes share a processor, it gives it
 * away when nothing happened: right for one that waits, but this one has its data (Barnes-Hut with
 * 99.7 % hits, 2 processes on 2 busy processors: a fifth of the force phase).  The switch belongs
 * to the process, so not with threads.
 */
void ompi_osc_cached_progress_only(const ompi_osc_cached_window_t *window);

/* Counters */

/** Read a counter of a window; false for a window that is not ours.  Never reads *win. */
bool ompi_osc_cached_window_read(const ompi_win_t *win, int stat, unsigned long *value);
/** Count every call from now on; nothing for a window that is not ours.  Never reads *win. */
void ompi_osc_cached_window_count_all(const ompi_win_t *win);
/** Count what the present round of a target has saved, before it ends; caller holds the lock. */
void ompi_osc_cached_window_settle(ompi_osc_cached_window_t *window,
                                   const ompi_osc_cached_peer_t *peer);
/** What a window has counted, and its targets. */
void ompi_osc_cached_window_sums(ompi_osc_cached_window_t *window, uint64_t sums[OSC_CACHED_SUMS]);
/** Print all counters of a window that are not 0. */
void ompi_osc_cached_window_print(ompi_osc_cached_window_t *window);

/* time and locks */

static inline uint64_t ompi_osc_cached_now(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/** ns that a reading of the clock takes. */
extern __opal_attribute_visibility__("hidden") uint32_t ompi_osc_cached_clock_ns;
void ompi_osc_cached_clock_init(void);

/** ns since then, beside so many readings of the clock, this one included. */
static inline uint64_t ompi_osc_cached_since(uint64_t begin, uint32_t readings)
{
    return osc_cached_profit_elapsed(begin, ompi_osc_cached_now(), readings,
                                     ompi_osc_cached_clock_ns);
}

/** osc_cached_bypass_below, which is meant of a get and its flush with a reading of the clock each:
 * what such a get takes less. 0: nothing is cheap. */
static inline uint32_t ompi_osc_cached_cheap_below(void)
{
    uint32_t below = (uint32_t) ompi_osc_cached_numbers.bypass_below;
    uint32_t readings = 2 * ompi_osc_cached_clock_ns;

    return (readings < below) ? below - readings : (0 < below);
}

void ompi_osc_cached_window_lock_threaded(ompi_osc_cached_window_t *window);

static inline void ompi_osc_cached_window_lock(ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->threaded)) {
        ompi_osc_cached_window_lock_threaded(window);
    }
}

static inline void ompi_osc_cached_window_unlock(ompi_osc_cached_window_t *window)
{
    if (OPAL_UNLIKELY(window->threaded)) {
        if (NULL != window->gate) {
            osc_cached_gate_open(window->gate);
        }
        opal_mutex_unlock(&window->lock);
    }
}

/* targets */

/** The peer of a target, or nobody: the target was not used, or there was no memory for it. Caller
 * holds the lock. */
static inline ompi_osc_cached_peer_t *ompi_osc_cached_peer(const ompi_osc_cached_window_t *window,
                                                           int target)
{
    return osc_cached_peers_find(&window->peers, target);
}

/** The first operation or lock of a target; caller holds the lock. */
ompi_osc_cached_peer_t *ompi_osc_cached_peer_add(ompi_osc_cached_window_t *window, int target);

/** The peer of a target that is used from now on. Nobody: there is no memory for it, and its
 * operations cannot be counted. Caller holds the lock. */
static inline ompi_osc_cached_peer_t *ompi_osc_cached_peer_used(ompi_osc_cached_window_t *window,
                                                                int target)
{
    ompi_osc_cached_peer_t *peer = ompi_osc_cached_peer(window, target);

    return OPAL_LIKELY(!osc_cached_is_nobody(peer)) ? peer
                                                    : ompi_osc_cached_peer_add(window, target);
}

/** Whether the epoch gives access to a target; caller has the window's ways. */
static inline bool ompi_osc_cached_has_access(uint32_t ways, const ompi_osc_cached_peer_t *peer)
{
    return 0 != (ways & OSC_CACHED_WAY_EVERYONE) || peer->accessible;
}

/** An operation was issued to a target, which is locked from now on where that is of interest;
 * caller holds the lock. */
static inline void ompi_osc_cached_used(const ompi_osc_cached_window_t *window,
                                        ompi_osc_cached_peer_t *peer)
{
    if (OPAL_UNLIKELY(window->all_checked)) {
        peer->accessible = true;
    }
}

/** An operation was handed to the inner component; caller holds the lock. */
static inline uint64_t ompi_osc_cached_issued(ompi_osc_cached_window_t *window,
                                              ompi_osc_cached_peer_t *peer)
{
    peer->issued = ++window->sequence;
    if (!(peer->state & OSC_CACHED_PEER_BUSY)) {
        peer->state |= OSC_CACHED_PEER_BUSY;
        peer->prev_busy = NULL;
        peer->next_busy = window->busy;
        if (NULL != window->busy) {
            window->busy->prev_busy = peer;
        }
        OSC_CACHED_WRITE(window->busy, peer);
    }
    return peer->issued;
}

/** Operations of this epoch may not be counted; caller holds the lock. */
static inline void ompi_osc_cached_lose_count(ompi_osc_cached_window_t *window)
{
    window->uncounted = true;
}

/** Own writes to the target may be on their way (rule A1). */
static inline bool ompi_osc_cached_is_dirty(const ompi_osc_cached_peer_t *peer)
{
    return peer->completed < peer->written || 0 < peer->writing;
}

/** Whether what is fetched in the present epoch lives until somebody writes it. */
static inline bool ompi_osc_cached_is_coherent(const ompi_osc_cached_window_t *window)
{
    return osc_cached_lives_until_write(window->mode, NULL != window->coherence,
                                        osc_cached_epoch_is_passive(window->epoch));
}

/** Whether it is kept for all processes of the node (node/). */
static inline bool ompi_osc_cached_shares(const ompi_osc_cached_window_t *window)
{
    return 0 != (window->shared_modes >> window->mode & 1);
}

/** Whether that are blocks, in a pool of this process (coherence/). */
static inline bool ompi_osc_cached_has_pool(const ompi_osc_cached_window_t *window)
{
    return OSC_CACHED_COOPERATE_OFF != window->cooperate;
}

/** Whether the inner component's flush of all targets may leave something undone, which its flush
 * of one never does.  UCX 1.13 returns too early when both sides of shared memory fetch from
 * windows made by MPI_Win_create (memory of our own is for processes that share none), UCX 1.18
 * from those of MPI_Win_allocate, too, and more often so beside a helper: gets that are not kept
 * come late, too.  osc/rdma forgets targets that were locked one by one.  Known since the window's
 * creation. */
static inline bool ompi_osc_cached_flush_is_partial(const ompi_osc_cached_window_t *window)
{
    return OSC_CACHED_FLUSH_LOCKED == window->flush_first
           || (OSC_CACHED_FLUSH_FETCHING == window->flush_first && !window->own.ours
               && (MPI_WIN_FLAVOR_CREATE == window->inner_flavor || window->is_late));
}

/** Whether what completes the operations of this epoch may be too early: see is_late. */
static inline bool ompi_osc_cached_comes_late(const ompi_osc_cached_window_t *window)
{
    return OPAL_UNLIKELY(window->is_late) && !osc_cached_epoch_is_passive(window->epoch);
}

/** The mode that a window has when it is asked for one. */
static inline ompi_osc_cached_mode_t
ompi_osc_cached_mode_in_force(const ompi_osc_cached_window_t *window, ompi_osc_cached_mode_t mode)
{
    return osc_cached_mode_in_force(mode, window->stores, NULL != window->coherence);
}

/* the window of a call */

/** OSC_CACHED_WAY_ bits of this moment. */
static inline uint32_t ompi_osc_cached_ways(const ompi_osc_cached_window_t *window)
{
    return OSC_CACHED_READ(window->ways);
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
        if (OPAL_LIKELY(win == window->win)) {
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
__opal_attribute_always_inline__ static inline void
ompi_osc_cached_add_alone(ompi_osc_cached_window_t *window, int stat, unsigned long more)
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

__opal_attribute_always_inline__ static inline void
ompi_osc_cached_count_alone(ompi_osc_cached_window_t *window, int stat)
{
    ompi_osc_cached_add_alone(window, stat, 1);
}

static inline void ompi_osc_cached_count(ompi_osc_cached_window_t *window, int stat)
{
    ompi_osc_cached_add(window, stat, 1);
}

END_C_DECLS

#endif /* OSC_CACHED_WINDOW_H */
