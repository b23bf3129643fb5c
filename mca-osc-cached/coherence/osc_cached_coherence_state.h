/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files osc_cached_coherence_*.c share, and nobody else sees: the state of a coherent
 * window, and the functions that one of them has for the others.
 *
 *     vote    what a process wants, before a window is created; why it cannot have it
 *     window  creation and end; memory in two windows
 *     get     what is not in the cache, and pools of blocks
 *     write   puts, accumulates, atomics
 *     sync    fence, unlock, flush, ...
 *     own     holds of this process's own memory
 *     wait    waiting for others, who may be slow or dead
 *     notes   messages from helper to helper
 *
 * Lock.  Directory, copies and the rest of a window's coherence are the helper's server's, whose
 * lock is never held while anybody waits: the program takes it to ask and to write
 * (ompi_osc_cached_helper_enter, ompi_osc_cached_coherence_leave), the thread has it when notes
 * come.  Hits read generations without it.
 *
 * Protected pages.  The thread that answers others never stores to one: it would wait for itself.
 * Who has an operation executed by a helper has HELD first, for the blocks beside it, too, which
 * may lie in the same pages; and with HELD the owner has opened all pages of these blocks.
 */

#ifndef OSC_CACHED_COHERENCE_STATE_H
#define OSC_CACHED_COHERENCE_STATE_H

#include <stdatomic.h>

#include "osc_cached_changes.h"
#include "osc_cached_coherence.h"
#include "osc_cached_cooperate.h"
#include "osc_cached_detect.h"
#include "core/osc_cached_directory.h"
#include "helper/osc_cached_helper.h"

BEGIN_C_DECLS

enum { OSC_CACHED_NOBODY = -1 };

/* A hold of some blocks of our own memory. */
typedef struct own_hold {
    struct own_hold *next;
    uint32_t of;   /* number of the synchronisation */
    uint32_t name; /* 0: the directory has not told it yet */
    bool held;
} own_hold_t;

typedef struct ompi_osc_cached_coherence_t {
    osc_cached_copies_t copies;
    osc_cached_directory_t directory;
    osc_cached_post_t post;
    osc_cached_window_id_t id;
    uint64_t *names; /* of the processes, by rank */
    const char *base;
    size_t size;
    uint32_t rank;
    uint64_t answered; /* FILLs */
    bool protects;     /* some process protects pages */
    /* O2; NULL: stores are not waited for, or nothing is shared */
    ompi_osc_cached_detect_t *detect;
    uint64_t traps;                             /* until it was closed */
    ompi_osc_cached_cooperation_t *cooperation; /* NULL: DATA has no bytes */

    /* our own memory */
    uint32_t own_users;
    uint32_t own_name;
    bool own_held;         /* or there is none */
    own_hold_t *own_holds; /* of some blocks */
    uint32_t own_looks;    /* for them */
    opal_mutex_t looking; /* who looks for changes has entered holds for them before the next one */
    ompi_osc_cached_changes_t changes;
    uint32_t own_issuing; /* puts to ourselves that are being issued */
    uint64_t own_writes;  /* issued */
    bool own_dirty;       /* not all of them are complete: one user of the hold */
    bool own_gets;        /* gets into it that may not be complete */
    bool untold;          /* the last synchronisation has told nothing of stores */

    /* targets with writes on their way */
    uint32_t *dirty;
    bool *is_dirty;
    uint32_t num_dirty;

    /* failures */
    const ompi_win_t *win; /* its group */
    bool traced;           /* there is a trace, ... */
    int number;            /* ... which knows the window by this */
    bool *is_dead;
    uint32_t *listener; /* by rank: who hears of writes for its node; NULL: each for itself */
    int slow; /* whose ACK the owner waits for that was asked last; OSC_CACHED_NOBODY: no answer */

    /* targets that are written to without the lock; NULL: there are none */
    _Atomic bool *passes;  /* it may be; set and cleared under the lock */
    _Atomic bool *passing; /* such writes are not complete; the program's */
    uint32_t *passed;      /* targets that may be passing; the program's, as the next two */
    bool *is_passed;
    uint32_t num_passed;

    _Atomic unsigned long counts[OSC_CACHED_COHERENCE_COUNTS];
    uint64_t dropped; /* INVs that came */
    uint64_t syncs;   /* of ours that waited for copies to go */
    struct ompi_osc_cached_coherence_t *next;
} coherence_t;

/* vote */

/** What a process wants; bad values of keys count for nothing, and are told of by
 * osc_cached_info.c. */
typedef struct {
    int mode;
    int stores;
    int cooperate;
    uint32_t block; /**< bytes */
} ompi_osc_cached_wish_t;

ompi_osc_cached_wish_t ompi_osc_cached_coherence_wish(opal_info_t *info, bool on_file);
/** Whether a process cannot do without coherence, and so without a helper. */
bool ompi_osc_cached_coherence_insists(const ompi_osc_cached_wish_t *wish);
/** Say once why a window is not coherent although somebody insists on it. */
void ompi_osc_cached_coherence_explain(const ompi_osc_cached_window_t *window, opal_info_t *info,
                                       const ompi_osc_cached_wish_t *wish,
                                       ompi_osc_cached_stores_reason_t reason,
                                       const int64_t votes[OSC_CACHED_VOTES]);

/* get */

/** The cache's more(): the third term of a stamp. */
uint64_t ompi_osc_cached_coherence_term(const void *context, int32_t target, uint64_t address,
                                        size_t bytes);

/* write; the lock is held */

/** A target wants its blocks back. */
void ompi_osc_cached_coherence_end_pass(coherence_t *c, uint32_t target);

/* own; the lock is held */

/** Hold our own memory, all of it. */
void ompi_osc_cached_coherence_take_own(coherence_t *c);
void ompi_osc_cached_coherence_drop_own(coherence_t *c);
/** A hold of ours is there, perhaps before its name is known; name 0: all are. */
void ompi_osc_cached_coherence_own_is_held(coherence_t *c, uint32_t name);
/** Whether all are: for ompi_osc_cached_coherence_await. */
bool ompi_osc_cached_coherence_is_own_held(coherence_t *c, int target);
/** What a synchronisation has held. */
void ompi_osc_cached_coherence_drop_changes(coherence_t *c, uint32_t of);
/** Hold what this process has stored to, as far as that is known; the lock is not held. */
void ompi_osc_cached_coherence_hold_changes(coherence_t *c, ompi_osc_cached_mark_t *mark);

/* wait; the lock is not held */

typedef bool (*ompi_osc_cached_coherence_condition_t)(coherence_t *c, int target);

/** Wait for something that notes bring about; what they depend on may be our own progress. */
void ompi_osc_cached_coherence_await(coherence_t *c, ompi_osc_cached_coherence_condition_t is_true,
                                     int target);
/** R6: until nobody has copies of what was written to a target, or to OSC_CACHED_EVERYBODY. */
void ompi_osc_cached_coherence_await_held(coherence_t *c, int target);
/** The same for one target that may be this process itself. */
void ompi_osc_cached_coherence_await_write(coherence_t *c, int target);
/** O2: a store to some of these bytes of our own memory waits for long (osc_cached_detect.h). */
void ompi_osc_cached_coherence_tell_slow_store(void *context, uint64_t from, uint64_t to);

/* notes; the lock is held */

/** post->send: to another process.  Ours only hears that its own hold is there. */
void ompi_osc_cached_coherence_send(void *context, const osc_cached_message_t *message);
/** To another process, with the bytes of a block. */
void ompi_osc_cached_coherence_send_bytes(void *context, const osc_cached_message_t *message,
                                          void *data, uint32_t bytes);
/** A note has come. */
void ompi_osc_cached_coherence_hear(void *context, const osc_cached_request_t *note,
                                    const void *data);
/** O4: one of a window that is not here any more. */
void ompi_osc_cached_coherence_hear_stray(void *context, const osc_cached_request_t *note,
                                          const void *data);
/** O2: a store to some of these bytes of our own memory has met copies; for the trace. */
void ompi_osc_cached_coherence_trace_trap(void *context, uint64_t from, uint64_t to);
/** A process has died: nobody waits for it, and nothing of it is kept. */
void ompi_osc_cached_coherence_bury(coherence_t *c, uint32_t rank);
/** Give the lock back, and let everybody see the counters. */
void ompi_osc_cached_coherence_leave(coherence_t *c);

END_C_DECLS

#endif /* OSC_CACHED_COHERENCE_STATE_H */
