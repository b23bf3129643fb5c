/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The core's directory and copies, with the helper's notes as their network.
 *
 * Lock.  Directory, copies and the rest of a window's coherence are the helper's server's, whose
 * lock is never held while anybody waits: the program takes it to ask and to write, the thread has
 * it when notes come.  Hits read generations without it.
 *
 * Protected pages.  The thread that answers others never stores to one: it would wait for itself.
 * Who has an operation executed by a helper has HELD first, for the blocks beside it, too, which
 * may lie in the same pages; and with HELD the owner has opened all pages of these blocks.
 *
 * Passes.  Who holds all blocks of a target, and keeps that hold, writes there without the lock: it
 * only says that it is writing.  When the owner wants its blocks back, the thread takes the pass
 * away, and then looks whether somebody is writing; who writes says so, and then looks whether
 * there is a pass: one of them sees the other.  There is nothing that could be cached meanwhile:
 * whoever asks for a copy is refused, this process too.  Not with several threads, whose flushes do
 * not know which writes they complete.
 *
 * Own memory.  What this process does to its own memory, by puts to itself or by stores that a
 * synchronisation tells of, is one hold of all blocks, with as many users as there are
 * synchronisations and puts on their way.  Where it is known which blocks it has stored to
 * (osc_cached_changes), a synchronisation holds these alone; a second one that finds nothing waits
 * for the first one, which may have found what it was to find.
 */

#include "ompi_config.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/runtime/opal_progress.h"
#include "opal/util/info.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/proc/proc.h"

#include "osc_cached_changes.h"
#include "osc_cached_coherence.h"
#include "osc_cached_cooperate.h"
#include "osc_cached_detect.h"
#include "osc_cached_mapping.h"
#include "osc_cached_memory.h"
#include "core/osc_cached_directory.h"
#include "helper/osc_cached_helper.h"

enum {
    MAX_LINES = 1 << 18,   /* blocks in a directory: 16 MiB */
    MAX_BLOCKS = 1 << 14,  /* blocks that a process remembers to have asked for: 640 KiB */
    POOL_BLOCKS = 1 << 16, /* the same with a pool of blocks: 2.5 MiB */
    MAX_GETS = 64,         /* gets that wait for blocks */
    DIRECTS_TO_RECALL = 4, /* reads that a kept hold may turn away */
    SPINS = 32,            /* looks before the processor is offered to others */
    NOBODY = -1,
    FILE_BLOCK = 64 * 1024, /* bytes */
    MEMORY_BLOCK = 4096,
};

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
    ompi_osc_cached_detect_t
        *detect;    /* O2; NULL: stores are not waited for, or nothing is shared */
    uint64_t traps; /* until it was closed */
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

    /* targets with writes on their way */
    uint32_t *dirty;
    bool *is_dirty;
    uint32_t num_dirty;

    /* failures */
    const ompi_win_t *win; /* its group */
    bool *is_dead;
    int slow; /* whose ACK the owner waits for that was asked last, or NOBODY: no answer */

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

/* All of this process, and their lock. */
static coherence_t *all = NULL;
static opal_mutex_t listing = OPAL_MUTEX_STATIC_INIT;

/* Counters that anybody may read. */
static void publish_counts(coherence_t *c)
{
    const unsigned long values[OSC_CACHED_COHERENCE_COUNTS] = {
        (unsigned long) c->copies.counts.fills,
        (unsigned long) c->copies.counts.directs,
        (unsigned long) c->copies.counts.holds,
        (unsigned long) c->copies.counts.recalls,
        (unsigned long) c->dropped,
        (unsigned long) c->directory.counts.invalidations,
        (unsigned long) c->syncs,
        (unsigned long) (c->traps
                         + ((NULL == c->detect) ? 0 : ompi_osc_cached_detect_traps(c->detect))),
        (unsigned long) c->copies.counts.kept,
        (unsigned long) c->copies.counts.forwards,
        (unsigned long) c->copies.counts.backs,
        (unsigned long) c->copies.counts.evictions,
        (unsigned long) ((NULL == c->cooperation)
                             ? 0
                             : ompi_osc_cached_cooperate_lasts(c->cooperation)),
    };

    for (int i = 0; i < OSC_CACHED_COHERENCE_COUNTS; ++i) {
        atomic_store_explicit(&c->counts[i], values[i], memory_order_relaxed);
    }
}

static void enter(void)
{
    ompi_osc_cached_helper_enter();
}

static void leave(coherence_t *c)
{
    publish_counts(c);
    ompi_osc_cached_helper_leave();
}

/* --- Messages */

static osc_cached_request_t note_of(const osc_cached_message_t *message, osc_cached_window_id_t id,
                                    uint32_t sender)
{
    return (osc_cached_request_t){
        .operation = message->kind,
        .window = id,
        .at = message->first,
        .count = message->count,
        .token = message->name,
        .layout = sender,
        .session = message->owner,
        .announce = message->reader,
        .element = message->whole,
        .last = message->alone,
    };
}

static osc_cached_message_t message_of(const osc_cached_request_t *note)
{
    return (osc_cached_message_t){
        .kind = note->operation,
        .first = note->at,
        .count = note->count,
        .name = (uint32_t) note->token,
        .peer = note->layout,
        .owner = note->session,
        .reader = note->announce,
        .whole = 0 != note->element,
        .alone = note->last,
    };
}

/* To another process. */
static void send_bytes(void *context, const osc_cached_message_t *message, void *data,
                       uint32_t bytes)
{
    coherence_t *c = context;
    osc_cached_request_t note = note_of(message, c->id, c->rank);

    note.length = bytes;
    ompi_osc_cached_helper_note(c->names[message->peer], note, data);
}

/* A hold of ours is there, perhaps before its name is known; name 0: all are. */
static void own_is_held(coherence_t *c, uint32_t name)
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

/* post->send: to another process.  Ours only hears that its own hold is there. */
static void send_message(void *context, const osc_cached_message_t *message)
{
    coherence_t *c = context;

    if (OSC_CACHED_MESSAGE_HELD == message->kind && NULL != c->detect) {
        ompi_osc_cached_detect_open_pages(c->detect, message->first, message->count);
    }
    if (c->rank == message->peer) {
        if (OSC_CACHED_MESSAGE_HELD == message->kind
            && (NULL == c->detect || !ompi_osc_cached_detect_held(c->detect, message->name))) {
            own_is_held(c, message->name);
        }
    } else if (NULL != c->cooperation && OSC_CACHED_MESSAGE_DATA == message->kind) {
        ompi_osc_cached_cooperate_send(c->cooperation, message);
    } else {
        send_bytes(c, message, NULL, 0);
    }
}

/* Who waits for us wants to know for whom we wait, or we have asked that. */
static void hear_of_slow(coherence_t *c, const osc_cached_message_t *message)
{
    osc_cached_message_t answer = *message;

    if (message->owner != c->rank) {
        c->slow = (int) message->reader;
    } else if (osc_cached_directory_slow(&c->directory, &answer.reader)) {
        send_message(c, &answer);
    }
}

/* A process has died: nobody waits for it, and nothing of it is kept; the lock is held. */
static void bury(coherence_t *c, uint32_t rank)
{
    if (c->rank != rank && !c->is_dead[rank]) {
        c->is_dead[rank] = true;
        if (NULL
            != c->detect) { /* what it has sent may be executed when it holds nothing any more */
            osc_cached_directory_close(&c->directory, &c->post);
        }
        osc_cached_directory_dead(&c->directory, rank, &c->post);
        osc_cached_copies_dead(&c->copies, rank);
        if (NULL != c->detect) {
            ompi_osc_cached_detect_settle(c->detect);
        }
    }
}

/* There are writes to a target that are not complete; the lock is held. */
static void set_dirty(coherence_t *c, uint32_t target)
{
    if (!c->is_dirty[target]) {
        c->is_dirty[target] = true;
        c->dirty[c->num_dirty] = target;
        OSC_CACHED_WRITE(c->num_dirty, c->num_dirty + 1);
    }
}

/* A target wants its blocks back; the lock is held. */
static void end_pass(coherence_t *c, uint32_t target)
{
    uint32_t name;

    if (NULL == c->passes) {
        return;
    }
    atomic_store(&c->passes[target], false);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&c->passing[target])) { /* from now on they are known */
        name = osc_cached_copies_write(&c->copies, target, 0, OSC_CACHED_ALL_BLOCKS, &c->post);
        osc_cached_copies_written(&c->copies, target, name);
        set_dirty(c, target);
    }
}

/* A note has come; the lock is held. */
static void hear(void *context, const osc_cached_request_t *note, const void *data)
{
    osc_cached_message_t message = message_of(note);
    coherence_t *c = context;
    unsigned flags = 0;

    if (message.peer >= c->copies.config.ranks || message.owner >= c->copies.config.ranks
        || message.reader >= c->copies.config.ranks || message.peer == c->rank) {
        return; /* damaged */
    }
    if (OSC_CACHED_MESSAGE_SLOW == message.kind) {
        hear_of_slow(c, &message);
    } else if (OSC_CACHED_MESSAGE_DEAD == message.kind) {
        bury(c, message.reader);
    } else if (OSC_CACHED_MESSAGE_IS_FOR_OWNER(message.kind)) {
        if (message.owner == c->rank) {
            if (NULL != c->detect && OSC_CACHED_MESSAGE_FILL == message.kind) {
                flags = ompi_osc_cached_detect_fill(c->detect, message.first);
            }
            if (NULL != c->cooperation && OSC_CACHED_MESSAGE_FILL == message.kind) {
                flags |= ompi_osc_cached_cooperate_fill(c->cooperation, message.first);
            }
            osc_cached_directory_receive(&c->directory, &message, flags, &c->post);
            if (NULL != c->detect) {
                ompi_osc_cached_detect_settle(c->detect);
            }
        }
    } else if (message.owner != c->rank) {
        c->answered +=
            OSC_CACHED_MESSAGE_DATA == message.kind || OSC_CACHED_MESSAGE_DIRECT == message.kind;
        c->dropped += OSC_CACHED_MESSAGE_INV == message.kind;
        if (OSC_CACHED_MESSAGE_RECALL == message.kind) {
            end_pass(c, message.owner);
        }
        if (NULL != c->cooperation) {
            ompi_osc_cached_cooperate_hear(c->cooperation, &message, data, note->length);
        } else {
            (void) osc_cached_copies_receive(&c->copies, &message, NULL, &c->post);
        }
    }
    publish_counts(c);
}

/* O4: of a window that is not here any more; answers go back to who has sent it. */
static void send_back(void *context, const osc_cached_message_t *message)
{
    const osc_cached_request_t *note = context;

    ompi_osc_cached_helper_note(note->origin, note_of(message, note->window, note->layout), NULL);
}

static void hear_stray(void *context, const osc_cached_request_t *note, const void *data)
{
    osc_cached_message_t message = message_of(note);
    osc_cached_post_t post = {.send = send_back, .context = (void *) note};

    osc_cached_message_unknown(&message, &post);
}

/* --- Waiting */

typedef bool (*condition_t)(coherence_t *c, int target);

static bool is_target_held(coherence_t *c, int target)
{
    return osc_cached_copies_is_held(&c->copies, (uint32_t) target);
}

/* One wait, of some time. */
typedef struct {
    uint64_t since, looked, asked; /* ns; 0: not yet */
    int owner;                     /* who was asked whom it waits for */
    bool told;
} patience_t;

/* Those of which Open MPI knows that they have died are told to those whose answers we wait for;
 * the lock is held. */
static void look_for_dead(coherence_t *c)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    for (uint32_t i = 0; i < c->copies.config.ranks; ++i) {
        ompi_proc_t *proc = ompi_group_get_proc_ptr(c->win->w_group, (int) i, false);

        if (NULL == proc || c->is_dead[i] || ompi_proc_is_active(proc)) {
            continue;
        }
        bury(c, i);
        for (uint32_t k = 0; k < c->num_dirty; ++k) {
            if (!c->is_dead[c->dirty[k]]) {
                send_message(c, &(osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_DEAD,
                                                        .peer = c->dirty[k],
                                                        .owner = c->dirty[k],
                                                        .reader = i,
                                                        .count = 1});
            }
        }
    }
#else
    (void) c; /* the job ends */
#endif
}

/* Whom do we wait for?  Ourselves, as an owner: that is known; the lock is held. */
static void ask_for_slow(coherence_t *c, patience_t *patience)
{
    uint32_t rank;

    c->slow = NOBODY;
    patience->owner = (int) c->rank;
    if (osc_cached_directory_slow(&c->directory, &rank)) {
        c->slow = (int) rank;
        return;
    }
    for (uint32_t i = 0; i < c->num_dirty; ++i) {
        if (!is_target_held(c, (int) c->dirty[i])) {
            patience->owner = (int) c->dirty[i];
            send_message(c, &(osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_SLOW,
                                                    .peer = c->dirty[i],
                                                    .owner = c->dirty[i],
                                                    .count = 1});
            return;
        }
    }
}

/* Somebody lets us wait: it may be dead, and after some seconds the user hears of it once. */
static void lose_patience(coherence_t *c, patience_t *patience)
{
    static const uint64_t second = 1000000000;
    uint64_t now = ompi_osc_cached_now();

    if (0 == patience->since) {
        patience->since = patience->looked = now;
    }
    if (now - patience->looked < second / 10) {
        return;
    }
    patience->looked = now;
    enter();
    look_for_dead(c);
    if (0 == patience->asked && 0 < ompi_osc_cached_numbers.slow_seconds
        && ompi_osc_cached_numbers.slow_seconds < (double) (now - patience->since) / 1e9) {
        patience->asked = now;
        ask_for_slow(c, patience);
    }
    leave(c);
    if (0 < patience->asked && !patience->told
        && (NOBODY != c->slow || second < now - patience->asked)) {
        patience->told = true;
        opal_show_help("help-mpi-osc-cached.txt", "slow-process", true,
                       (int) ompi_osc_cached_numbers.slow_seconds,
                       (NOBODY != c->slow) ? c->slow : patience->owner, (int) c->rank,
                       opal_process_info.nodename);
    }
}

/* Wait for something that notes bring about; what they depend on may be our own progress. */
static void await(coherence_t *c, condition_t is_true, int target)
{
    patience_t patience = {.since = 0};
    unsigned spins = 0;
    bool done;

    do {
        enter();
        done = is_true(c, target);
        leave(c);
        if (!done) {
            opal_progress();
            if (SPINS < ++spins) {
                (void) sched_yield();
                lose_patience(c, &patience);
            }
        }
    } while (!done);
}

static bool are_all_held(coherence_t *c, int target)
{
    bool held = true;

    for (uint32_t i = 0; i < c->num_dirty && held; ++i) {
        held = is_target_held(c, (int) c->dirty[i]);
    }
    return held;
}

static bool is_own_held(coherence_t *c, int target)
{
    bool held = c->own_held;

    for (own_hold_t *hold = c->own_holds; NULL != hold && held; hold = hold->next) {
        held = hold->held;
    }
    return held;
}

static bool is_answered(coherence_t *c, int target)
{
    bool answered = c->answered >= c->copies.counts.fills;

    for (uint32_t i = 0; i < c->copies.config.ranks && !answered; ++i) {
        answered = c->is_dead[i]; /* who may have been asked */
    }
    return answered;
}

static bool has_no_copies(coherence_t *c, int target)
{
    return !osc_cached_directory_is_shared(&c->directory);
}

/* R6 */
static void await_held(coherence_t *c, int target)
{
    if ((uint32_t) target != c->rank) {
        await(c, OSC_CACHED_EVERYBODY == target ? are_all_held : is_target_held, target);
    }
}

/* The same for one target that may be this process itself. */
static void await_write(coherence_t *c, int target)
{
    await(c, (uint32_t) target == c->rank ? is_own_held : is_target_held, target);
}

/* --- Gets */

static uint64_t term_of(const void *context, int32_t target, uint64_t address, size_t bytes)
{
    const osc_cached_copies_t *copies = context;
    uint64_t first, count;

    osc_cached_copies_blocks(copies, address, bytes, &first, &count);
    return osc_cached_copies_stamp(copies, (uint32_t) target, first, count);
}

bool ompi_osc_cached_coherence_keeps(ompi_osc_cached_window_t *window, int target, uint64_t address,
                                     size_t bytes, uint64_t *more)
{
    coherence_t *c = window->coherence;
    osc_cached_copy_t copy;
    uint64_t first, count;
    uint32_t name;

    osc_cached_copies_blocks(&c->copies, address, bytes, &first, &count);
    enter();
    copy =
        osc_cached_copies_miss(&c->copies, (uint32_t) target, first, count, more, &name, &c->post);
    leave(c);
    return OSC_CACHED_COPY_KEEP == copy;
}

static bool is_settled(coherence_t *c, int target)
{
    for (uint32_t i = 0; i < c->copies.config.ranks; ++i) {
        if (c->is_dead[i]) { /* who may have been asked to forward */
            ompi_osc_cached_cooperate_give_up(c->cooperation);
        }
    }
    return !ompi_osc_cached_cooperate_waits(c->cooperation, target);
}

static bool has_few_gets(coherence_t *c, int target)
{
    return MAX_GETS >= ompi_osc_cached_cooperate_gets(c->cooperation)
           || is_settled(c, OSC_CACHED_EVERYBODY);
}

ompi_osc_cached_pool_t ompi_osc_cached_coherence_get(ompi_osc_cached_window_t *window, int target,
                                                     uint64_t address, void *buffer, size_t bytes,
                                                     bool waits)
{
    coherence_t *c = window->coherence;
    ompi_osc_cached_fetch_t get = {
        .buffer = buffer, .address = address, .bytes = bytes, .target = target};
    ompi_osc_cached_pool_t pool;

    enter();
    pool = ompi_osc_cached_cooperate_get(
        c->cooperation, &get, waits,
        window->cache.config.adaptive ? 0 : window->cache.config.memory);
    leave(c);
    return pool;
}

void ompi_osc_cached_coherence_limit(ompi_osc_cached_window_t *window)
{
    coherence_t *c = window->coherence;

    if (MAX_GETS < ompi_osc_cached_cooperate_gets(c->cooperation)) {
        await(c, has_few_gets, 0);
    }
}

int ompi_osc_cached_coherence_settle(ompi_osc_cached_window_t *window, int target)
{
    coherence_t *c = window->coherence;
    ompi_osc_cached_fetch_t fetch;
    int ret = OMPI_SUCCESS;
    bool more = 0 < ompi_osc_cached_cooperate_gets(c->cooperation);

    if (more) {
        await(c, is_settled, target);
    }
    while (more) {
        enter();
        more = ompi_osc_cached_cooperate_take(c->cooperation, target, &fetch);
        leave(c);
        if (more) {
            size_t unit =
                (0 < window->disp_unit) ? window->disp_unit : window->disp_units[fetch.target];
            int one =
                window->inner.osc_get(fetch.buffer, (ompi_osc_cached_count_t) fetch.bytes, MPI_BYTE,
                                      fetch.target, (ptrdiff_t) (fetch.address / unit),
                                      (ompi_osc_cached_count_t) fetch.bytes, MPI_BYTE, window->win);

            ret = (OMPI_SUCCESS == ret) ? one : ret;
        }
    }
    return ret;
}

/* --- Writes */

/* Hold our own memory, all of it; the lock is held. */
static void take_own(coherence_t *c)
{
    if (0 == c->own_users++) {
        c->own_held = false;
        c->own_name = osc_cached_directory_hold(&c->directory, 0, OSC_CACHED_ALL_BLOCKS, &c->post);
    }
}

static void drop_own(coherence_t *c)
{
    if (0 == --c->own_users) {
        osc_cached_directory_free(&c->directory, c->own_name);
    }
}

/* The blocks that an operation touches; all of them if that is not easy to say.  Wide: and those
 * beside them. */
static void blocks_of(const ompi_osc_cached_window_t *window, int target, ptrdiff_t disp,
                      size_t count, const struct ompi_datatype_t *type, bool wide, uint64_t *first,
                      uint64_t *blocks)
{
    const opal_datatype_t *layout = &type->super;
    ptrdiff_t extent = layout->ub - layout->lb, span = layout->true_ub - layout->true_lb;
    size_t unit = (0 < window->disp_unit) ? window->disp_unit : window->disp_units[target];
    ptrdiff_t begin = disp * (ptrdiff_t) unit + layout->true_lb;

    if (0 > begin || 0 > extent || 0 > span
        || (0 < extent && (size_t) (PTRDIFF_MAX / extent) <= count)) {
        *first = 0;
        *blocks = OSC_CACHED_ALL_BLOCKS;
        return;
    }
    osc_cached_copies_blocks(&window->coherence->copies, (uint64_t) begin,
                             (uint64_t) span + (uint64_t) extent * (count - 1), first, blocks);
    if (wide) {
        *blocks += 1 + (0 < *first);
        *first -= 0 < *first;
    }
}

/* Whether a write needs nothing but this. */
static bool has_pass(coherence_t *c, int target)
{
    if (NULL == c->passes || !atomic_load_explicit(&c->passes[target], memory_order_relaxed)) {
        return false;
    }
    if (!atomic_load_explicit(&c->passing[target], memory_order_relaxed)) {
        atomic_store(&c->passing[target], true);
        atomic_thread_fence(memory_order_seq_cst);
        if (!atomic_load(&c->passes[target])) {
            atomic_store(&c->passing[target], false);
            return false;
        }
        if (!c->is_passed[target]) {
            c->is_passed[target] = true;
            c->passed[c->num_passed++] = (uint32_t) target;
        }
    }
    return true;
}

int64_t ompi_osc_cached_coherence_write(ompi_osc_cached_window_t *window, int target,
                                        ptrdiff_t disp, size_t count,
                                        const struct ompi_datatype_t *type, bool executed)
{
    coherence_t *c = window->coherence;
    bool waits = executed && c->protects;
    uint64_t first, blocks;
    uint32_t name = 0;

    if (has_pass(c, target)) {
        return OSC_CACHED_NOT_HELD;
    }
    if (0 == count || 0 == type->super.size) {
        count = 1; /* of nothing: never mind */
    }
    blocks_of(window, target, disp, count, type, waits, &first, &blocks);
    enter();
    if ((uint32_t) target == c->rank) {
        ++c->own_issuing;
        if (!c->own_dirty) {
            OSC_CACHED_WRITE(c->own_dirty, true);
            c->syncs += osc_cached_directory_is_shared(&c->directory);
            take_own(c);
        }
    } else {
        name = osc_cached_copies_write(&c->copies, (uint32_t) target, first, blocks, &c->post);
        set_dirty(c, (uint32_t) target);
    }
    leave(c);
    if (waits) {
        await_write(c, target);
    }
    return name;
}

void ompi_osc_cached_coherence_written(ompi_osc_cached_window_t *window, int target, int64_t name,
                                       bool forgotten)
{
    coherence_t *c = window->coherence;

    if (OSC_CACHED_NOT_HELD == name) {
        return;
    }
    enter();
    if ((uint32_t) target == c->rank) {
        --c->own_issuing;
        ++c->own_writes;
    } else {
        osc_cached_copies_written(&c->copies, (uint32_t) target, (uint32_t) name);
    }
    leave(c);
    if (forgotten) { /* its flush will not come here: its blocks are held for ever */
        await_write(c, target);
    }
}

/* --- Synchronisation */

ompi_osc_cached_mark_t ompi_osc_cached_coherence_mark(ompi_osc_cached_window_t *window)
{
    coherence_t *c = window->coherence;
    ompi_osc_cached_mark_t mark = {.holds = false};

    mark.writes = 0 < OSC_CACHED_READ(c->num_dirty) || OSC_CACHED_READ(c->own_dirty);
    if (mark.writes) {
        enter();
        mark.others = osc_cached_copies_mark(&c->copies);
        mark.own = c->own_writes;
        leave(c);
    }
    return mark;
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

/* Hold what this process has stored to, as far as that is known. */
static void hold_changes(coherence_t *c, ompi_osc_cached_mark_t *mark)
{
    ompi_osc_cached_change_t change[OSC_CACHED_CHANGES];
    int count;

    opal_mutex_lock(&c->looking);
    count = ompi_osc_cached_changes_read(&c->changes, change);
    enter();
    if (0 == ++c->own_looks) {
        c->own_looks = 1;
    }
    mark->changes = (0 < count) ? c->own_looks : 0;
    mark->holds = -1 == count;
    for (int i = 0; i < count; ++i) {
        mark->holds = !take_change(c, &change[i]) || mark->holds;
    }
    if (mark->holds) {
        take_own(c);
    }
    c->syncs += 0 != count;
    leave(c);
    opal_mutex_unlock(&c->looking);
}

/* The lock is held. */
static void drop_changes(coherence_t *c, uint32_t of)
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

ompi_osc_cached_mark_t ompi_osc_cached_coherence_before(ompi_osc_cached_window_t *window,
                                                        int target, bool stores)
{
    coherence_t *c = window->coherence;
    ompi_osc_cached_mark_t mark = ompi_osc_cached_coherence_mark(window);
    bool looks = false, puts = false;

    stores = stores && OSC_CACHED_STORES_SYNC == window->stores;
    if (stores || OSC_CACHED_READ(c->own_dirty)) {
        enter();
        /* who asks for a copy from now on gets what was stored before */
        looks = stores && osc_cached_directory_is_shared(&c->directory);
        puts = c->own_dirty;
        if (puts) {
            mark.holds = true;
            ++c->syncs;
            take_own(c);
        }
        leave(c);
        if (looks && !puts) {
            hold_changes(c, &mark);
        }
    }
    if (mark.writes) {
        await_held(c, target);
    }
    if (looks || puts) {
        await(c, is_own_held, target);
    }
    return mark;
}

/* The writes to a target up to a mark are complete; the lock is held. */
static void complete(coherence_t *c, uint32_t target, uint64_t mark)
{
    osc_cached_copies_complete(&c->copies, target, mark, &c->post);
    if (0 == c->copies.written[target].dirty) {
        c->is_dirty[target] = false;
        if (NULL != c->passes && osc_cached_copies_holds_all(&c->copies, target)) {
            atomic_store(&c->passes[target], true);
        }
    }
}

/* The same for all that a synchronisation completes. */
static void complete_writes(coherence_t *c, int target, const ompi_osc_cached_mark_t *mark)
{
    uint32_t left = 0;

    if ((OSC_CACHED_EVERYBODY == target || c->rank == (uint32_t) target) && c->own_dirty
        && 0 == c->own_issuing && c->own_writes <= mark->own) {
        OSC_CACHED_WRITE(c->own_dirty, false);
        drop_own(c);
    }
    for (uint32_t i = 0; i < c->num_dirty; ++i) {
        uint32_t rank = c->dirty[i];

        if (OSC_CACHED_EVERYBODY == target || (uint32_t) target == rank) {
            complete(c, rank, mark->others);
        }
        c->dirty[left] = rank;
        left += c->is_dirty[rank];
    }
    OSC_CACHED_WRITE(c->num_dirty, left);
}

/* Writes without the lock are complete.  @return whether the target has asked for its blocks */
static bool end_passing(coherence_t *c, uint32_t target)
{
    if (!atomic_load_explicit(&c->passing[target], memory_order_relaxed)) {
        return false;
    }
    atomic_store(&c->passing[target], false);
    atomic_thread_fence(memory_order_seq_cst);
    return !atomic_load(&c->passes[target]);
}

/* The same for all that a synchronisation completes. */
static bool end_all_passing(coherence_t *c, int target)
{
    bool asked = false;

    if (OSC_CACHED_EVERYBODY != target) {
        return NULL != c->passes && end_passing(c, (uint32_t) target);
    }
    for (; 0 < c->num_passed; --c->num_passed) {
        uint32_t one = c->passed[c->num_passed - 1];

        asked |= end_passing(c, one);
        c->is_passed[one] = false;
    }
    return asked;
}

void ompi_osc_cached_coherence_after(ompi_osc_cached_window_t *window, int target, bool completes,
                                     ompi_osc_cached_mark_t *mark)
{
    coherence_t *c = window->coherence;
    bool own = OSC_CACHED_EVERYBODY == target || c->rank == (uint32_t) target;

    if (completes && end_all_passing(c, target)) { /* one thread: it has completed all there are */
        ompi_osc_cached_mark_t now = ompi_osc_cached_coherence_mark(window);

        mark->others = now.others;
        mark->own = now.own;
        mark->writes = now.writes;
    }
    completes = completes && mark->writes;
    if (completes) { /* of a flush; else that was waited for before */
        await_held(c, target);
        if (own && OSC_CACHED_READ(c->own_dirty)) {
            await(c, is_own_held, target);
        }
    }
    if (!completes && !mark->holds && 0 == mark->changes) {
        return;
    }
    enter();
    if (mark->holds) {
        drop_own(c);
    }
    if (0 != mark->changes) {
        drop_changes(c, mark->changes);
    }
    if (completes) {
        complete_writes(c, target, mark);
    }
    leave(c);
}

/* --- Stores that are noticed (O2) */

static void enter_window(void *context)
{
    enter();
}

static void leave_window(void *context)
{
    leave(context);
}

/* Something writes to memory past the page tables: a network, or another process by these devices.
 */
static bool has_device(void)
{
    return ompi_osc_cached_helper_has_rdma() || 0 == access("/dev/xpmem", F_OK)
           || 0 == access("/dev/knem", F_OK);
}

/* Before others know of the window.  @return why it cannot be had */
static ompi_osc_cached_stores_reason_t begin_detection(coherence_t *c,
                                                       const ompi_osc_cached_window_t *window)
{
    ompi_osc_cached_detect_config_t config = {
        .base = (void *) c->base,
        .size = c->size,
        .inner = MPI_WIN_FLAVOR_ALLOCATE == window->inner_flavor,
        .device = has_device(),
        .block_shift = c->copies.config.block_shift,
        .directory = &c->directory,
        .post = &c->post,
        .enter = enter_window,
        .leave = leave_window,
        .context = c,
        .now = ompi_osc_cached_now,
    };
    ompi_osc_cached_stores_reason_t reason;

    if ((size_t) sysconf(_SC_PAGESIZE) >> config.block_shift > 1) {
        return OSC_CACHED_STORES_SMALL; /* here pages are larger than elsewhere */
    }
    if ((uintptr_t) c - (uintptr_t) c->base < c->size) {
        return OSC_CACHED_STORES_OURS;
    }
    c->detect = ompi_osc_cached_detect_open(&config, &reason);
    return reason;
}

/* The directory is closed, and nobody has copies. */
static void end_detection(coherence_t *c)
{
    ompi_osc_cached_detect_t *detect;

    enter();
    detect = c->detect;
    c->traps += (NULL == detect) ? 0 : ompi_osc_cached_detect_traps(detect);
    c->detect = NULL;
    leave(c);
    /* whose thread may want the lock once more */
    ompi_osc_cached_detect_close(detect);
}

/* --- Memory in two windows */

/* For good; the list is locked. */
static void stop_sharing(coherence_t *c)
{
    enter();
    osc_cached_directory_close(&c->directory, &c->post);
    leave(c);
    await(c, has_no_copies, 0);
    end_detection(c);
}

/* Who creates a window makes its memory known, and then looks for windows that have it; who makes a
 * window coherent enters it here, and then looks whether its memory is in another one.  So one of
 * two threads that do so at the same time finds the other one. */
static void enter_list(coherence_t *c)
{
    opal_mutex_lock(&listing);
    c->next = all;
    all = c;
    if (0 < c->size && ompi_osc_cached_is_exposed_twice(c->win, c->base, c->size)) {
        stop_sharing(c);
    }
    opal_mutex_unlock(&listing);
}

void ompi_osc_cached_coherence_exposed(const void *base, size_t size)
{
    uintptr_t begin = (uintptr_t) base, end = begin + size;

    opal_mutex_lock(&listing);
    for (coherence_t *c = all; NULL != c; c = c->next) {
        uintptr_t from = (uintptr_t) c->base, to = from + c->size;

        if (begin < to && from < end) {
            stop_sharing(c);
        }
    }
    opal_mutex_unlock(&listing);
}

/* --- Life */

/* One of the names that a key, or else a parameter, may have. */
static int read_key(opal_info_t *info, const char *key, char *value, size_t size)
{
    int flag = 0;

    if (NULL == info) {
        return 0;
    }
#if OMPI_MAJOR_VERSION >= 5
    opal_cstring_t *text = NULL;

    if (OPAL_SUCCESS == opal_info_get(info, key, &text, &flag) && flag) {
        strncpy(value, text->string, size - 1);
        OBJ_RELEASE(text);
    }
#else
    (void) opal_info_get(info, key, (int) size - 1, value, &flag);
#endif
    value[size - 1] = '\0';
    return flag;
}

static int read_name(opal_info_t *info, const char *key, const mca_base_var_enum_value_t *names,
                     int standard)
{
    char value[16] = "";

    if (read_key(info, key, value, sizeof(value))) {
        for (int i = 0; NULL != names[i].string; ++i) {
            if (0 == strcmp(value, names[i].string)) {
                return names[i].value;
            }
        }
    }
    return standard;
}

/* What a process wants; bad values of keys count for nothing, and are told of by osc_cached_info.c.
 */
typedef struct {
    int mode;
    int stores;
    int cooperate;
    uint32_t block; /* bytes */
} wish_t;

static wish_t wish_of(opal_info_t *info, bool on_file)
{
    wish_t wish = {.mode = read_name(info, "ompi_osc_cached_mode", ompi_osc_cached_modes,
                                     ompi_osc_cached_params.mode),
                   .stores = read_name(info, "ompi_osc_cached_stores", ompi_osc_cached_stores,
                                       ompi_osc_cached_params.stores),
                   .cooperate =
                       read_name(info, "ompi_osc_cached_cooperate", ompi_osc_cached_cooperations,
                                 ompi_osc_cached_params.cooperate)};
    char value[16] = "";
    double block;

    if (!read_key(info, "ompi_osc_cached_block", value, sizeof(value))
        || !ompi_osc_cached_read_number(value, OSC_CACHED_UNIT_BLOCK, OSC_CACHED_BLOCK_LEAST,
                                        OSC_CACHED_BLOCK_MOST, &block)) {
        block = ompi_osc_cached_numbers.block;
    }
    wish.block = (0 < block) ? (uint32_t) block : on_file ? FILE_BLOCK : MEMORY_BLOCK;
    if (OSC_CACHED_STORES_DETECT == wish.stores && wish.block < (size_t) sysconf(_SC_PAGESIZE)) {
        wish.block = (uint32_t) sysconf(_SC_PAGESIZE);
    }
    return wish;
}

/* No helper, by parameter or, for this window, by key; the parameter's off is for all. */
static bool is_helper_off(opal_info_t *info)
{
    char value[16] = "";

    return OSC_CACHED_HELPER_OFF == ompi_osc_cached_params.helper
           || (read_key(info, "ompi_osc_cached_helper", value, sizeof(value))
               && 0 == strcmp("off", value));
}

/* Whether a process cannot do without coherence, and so without a helper. */
static bool insists(const wish_t *wish)
{
    return OSC_CACHED_STORES_OFF != wish->stores
           && (OSC_CACHED_MODE_COHERENT == wish->mode
               || (OSC_CACHED_MODE_TRANSPARENT == wish->mode
                   && OSC_CACHED_STORES_DETECT != wish->stores));
}

/* Whether it takes coherence for passive epochs, where it is to be had. */
static bool accepts(const wish_t *wish, bool on_file)
{
    return OSC_CACHED_MODE_TRANSPARENT == wish->mode && OSC_CACHED_STORES_DETECT == wish->stores
           && OSC_CACHED_PASSIVE_NONE == ompi_osc_cached_params.passive_scope && !on_file
           && ompi_osc_cached_stores_can_be_noticed() && !has_device();
}

bool ompi_osc_cached_coherence_vote(opal_info_t *info, bool on_file,
                                    int64_t votes[OSC_CACHED_VOTES])
{
    wish_t wish = wish_of(info, on_file);

    bool needed = insists(&wish) && !is_helper_off(info);

    votes[OSC_CACHED_VOTE_COHERENT] = needed || accepts(&wish, on_file);
    votes[OSC_CACHED_VOTE_OPEN] = OSC_CACHED_STORES_DETECT != wish.stores;
    votes[OSC_CACHED_VOTE_BLOCK] = wish.block;
    /* pages of files cannot be protected, and who detects stores shares only what it protects */
    votes[OSC_CACHED_VOTE_COOPERATE] = (on_file && OSC_CACHED_STORES_DETECT != wish.stores)
                                           ? wish.cooperate
                                           : OSC_CACHED_COOPERATE_OFF;
    return needed;
}

static uint8_t log_of(uint64_t block)
{
    uint8_t shift = 0;

    while (UINT64_C(1) << shift < block) {
        ++shift;
    }
    return shift;
}

void ompi_osc_cached_coherence_destroy(struct ompi_osc_cached_coherence_t *c)
{
    if (NULL == c) {
        return;
    }
    opal_mutex_lock(&listing);
    for (coherence_t **link = &all; NULL != *link; link = &(*link)->next) {
        if (c == *link) {
            *link = c->next;
            break;
        }
    }
    opal_mutex_unlock(&listing);
    if (NULL != c->detect) {
        end_detection(c);
    }
    if (NULL != c->copies.config.alloc) {
        osc_cached_copies_fini(&c->copies);
    }
    if (NULL != c->directory.config.alloc) {
        osc_cached_directory_fini(&c->directory);
    }
    ompi_osc_cached_cooperate_destroy(c->cooperation);
    free(c->names);
    free(c->dirty);
    free(c->is_dirty);
    free(c->is_dead);
    ompi_osc_cached_changes_end(&c->changes);
    OBJ_DESTRUCT(&c->looking);
    free(c->passes);
    free(c->passing);
    free(c->passed);
    free(c->is_passed);
    free(c);
}

/* Before others know of the window. @return whether there is memory for it */
static bool begin_cooperation(coherence_t *c, const ompi_osc_cached_window_t *window,
                              ompi_osc_cached_cooperate_t policy)
{
    ompi_osc_cached_cooperate_config_t config = {
        .policy = policy,
        .helper = window->helper,
        .copies = &c->copies,
        .directory = &c->directory,
        .post = &c->post,
        .size = c->size,
        .send = send_bytes,
        .context = c,
        .enter = enter_window,
        .leave = leave_window,
    };

    c->cooperation = ompi_osc_cached_cooperate_create(&config);
    return NULL != c->cooperation;
}

static coherence_t *create(const ompi_osc_cached_window_t *window, const void *base, size_t size,
                           const int64_t votes[OSC_CACHED_VOTES], bool protects,
                           ompi_communicator_t *comm)
{
    uint32_t ranks = (uint32_t) ompi_comm_size(comm);
    ompi_osc_cached_cooperate_t policy =
        (ompi_osc_cached_cooperate_t) votes[OSC_CACHED_VOTE_COOPERATE];
    coherence_t *c = calloc(1, sizeof(*c));
    osc_cached_directory_config_t directory = {.ranks = ranks,
                                               .rank = (uint32_t) ompi_comm_rank(comm),
                                               .max_lines = MAX_LINES,
                                               .recall = DIRECTS_TO_RECALL,
                                               .protect = protects,
                                               .cooperate = OSC_CACHED_COOPERATE_PRIVATE < policy,
                                               .alloc = &osc_cached_alloc_default};
    osc_cached_copies_config_t copies = {
        .ranks = ranks,
        .rank = directory.rank,
        .max_blocks = OSC_CACHED_COOPERATE_OFF == policy ? MAX_BLOCKS : POOL_BLOCKS,
        .block_shift = log_of((uint64_t) votes[OSC_CACHED_VOTE_BLOCK]),
        .waits = OSC_CACHED_COOPERATE_OFF != policy,
        .alloc = &osc_cached_alloc_default};

    if (NULL == c) {
        return NULL;
    }
    OBJ_CONSTRUCT(&c->looking, opal_mutex_t);
    c->rank = directory.rank;
    c->base = base;
    c->size = size;
    c->protects = 0 == votes[OSC_CACHED_VOTE_OPEN];
    c->id = ompi_osc_cached_helper_names(window);
    c->win = window->win;
    c->slow = NOBODY;
    c->own_held = true;
    /* other processes may have memory that the program has mapped, and devices raise no faults */
    ompi_osc_cached_changes_init(
        &c->changes, base, size, copies.block_shift,
        !ompi_osc_cached_helper_has_rdma()
            && (MPI_WIN_FLAVOR_ALLOCATE == window->inner_flavor
                || OSC_CACHED_MAPPING_PRIVATE == ompi_osc_cached_mapping(base, size)));
    c->post = (osc_cached_post_t){.send = send_message, .context = c};
    c->names = malloc(ranks * sizeof(*c->names));
    c->dirty = malloc(ranks * sizeof(*c->dirty));
    c->is_dirty = calloc(ranks, sizeof(*c->is_dirty));
    c->is_dead = calloc(ranks, sizeof(*c->is_dead));
    if (!window->threaded) {
        c->passes = calloc(ranks, sizeof(*c->passes));
        c->passing = calloc(ranks, sizeof(*c->passing));
        c->passed = malloc(ranks * sizeof(*c->passed));
        c->is_passed = calloc(ranks, sizeof(*c->is_passed));
    }
    if (NULL == c->names || NULL == c->dirty || NULL == c->is_dirty || NULL == c->is_dead
        || (!window->threaded
            && (NULL == c->passes || NULL == c->passing || NULL == c->passed
                || NULL == c->is_passed))
        || OSC_CACHED_OK != osc_cached_directory_init(&c->directory, &directory)) {
        c->directory.config.alloc = NULL;
        ompi_osc_cached_coherence_destroy(c);
        return NULL;
    }
    if (OSC_CACHED_OK != osc_cached_copies_init(&c->copies, &copies)) {
        c->copies.config.alloc = NULL;
        ompi_osc_cached_coherence_destroy(c);
        return NULL;
    }
    for (uint32_t i = 0; i < ranks; ++i) {
        c->names[i] = ompi_osc_cached_helper_name(comm->c_local_group, (int) i);
    }
    if (OSC_CACHED_COOPERATE_OFF != policy && !begin_cooperation(c, window, policy)) {
        ompi_osc_cached_coherence_destroy(c);
        return NULL;
    }
    return c;
}

/* Say once why a window is not coherent although somebody insists on it. */
static void explain(const ompi_osc_cached_window_t *window, opal_info_t *info, const wish_t *wish,
                    ompi_osc_cached_stores_reason_t reason, const int64_t votes[OSC_CACHED_VOTES])
{
    const char *why = "Not all processes of the window can have it, or there is not enough memory.";
    char text[512];

    if (OSC_CACHED_STORES_NOTICED != reason) {
        snprintf(text, sizeof(text),
                 "Stores of a process to its own window cannot be detected here:\n"
                 "%s.\n"
                 "Where the program is correct in MPI's separate memory model, or nobody\n"
                 "stores, say so: osc_cached_stores sync, or none.",
                 ompi_osc_cached_stores_text(reason));
        why = text;
    } else if (OSC_CACHED_STORES_OFF == wish->stores) {
        why = "osc_cached_stores is off.";
    } else if (is_helper_off(info)) {
        why = "It needs the helper (osc_cached_helper), which is off.";
    } else if (!votes[OSC_CACHED_VOTE_COHERENT]) {
        why = "Not all processes of the window want it, or can have it.";
    } else if (!window->cacheable) {
        why = "Windows of this kind are not cached.";
    } else if (NULL == window->helper) {
        why = "It needs the helper (osc_cached_helper), which cannot run here.";
    }
    opal_show_help("help-mpi-osc-cached.txt", "no-coherence", true, why,
                   opal_process_info.nodename);
}

/* Whether all processes can have it, and one has something to share. */
static bool is_agreed(ompi_communicator_t *comm, bool can, bool shares)
{
    int values[2] = {can, -(int) shares};

    return OMPI_SUCCESS
               == comm->c_coll->coll_allreduce(MPI_IN_PLACE, values, 2, MPI_INT, MPI_MIN, comm,
                                               comm->c_coll->coll_allreduce_module)
           && 0 < values[0] && 0 > values[1];
}

void ompi_osc_cached_coherence_attach(ompi_osc_cached_window_t *window, opal_info_t *info,
                                      const void *base, size_t size, bool shared,
                                      ompi_communicator_t *comm,
                                      const int64_t votes[OSC_CACHED_VOTES])
{
    wish_t wish = wish_of(info, false);
    bool detects = OSC_CACHED_STORES_DETECT == wish.stores;
    ompi_osc_cached_stores_reason_t reason = OSC_CACHED_STORES_NOTICED;
    coherence_t *c = NULL;
    bool good = false;

    /* a helper, and of which kind, all processes have or none */
    if (votes[OSC_CACHED_VOTE_COHERENT] && NULL != window && NULL != window->helper
        && NULL == window->memory) {
        if (window->cacheable) {
            c = create(window, base, size, votes, detects, comm);
        }
        if (NULL != c && detects && !shared) {
            reason = begin_detection(c, window);
            if (OSC_CACHED_STORES_NOTICED != reason && OSC_CACHED_STORES_NO_PAGE != reason) {
                ompi_osc_cached_coherence_destroy(c);
                c = NULL;
            }
        }
        if (NULL != c) {
            ompi_osc_cached_helper_listen_to_strays(hear_stray);
            ompi_osc_cached_helper_listen(c->id, hear, c);
            if (shared) {
                enter();
                osc_cached_directory_close(&c->directory, &c->post);
                leave(c);
            }
        }
        /* and from here on others may send */
        good = is_agreed(comm, NULL != c,
                         insists(&wish) || (!shared && OSC_CACHED_STORES_NO_PAGE != reason));
        if (!good && NULL != c) {
            ompi_osc_cached_helper_listen(c->id, NULL, NULL);
            ompi_osc_cached_coherence_destroy(c);
        }
    }
    if (NULL == window) {
        return;
    }
    if (good) {
        window->coherence = c;
        window->coherence_counts = c->counts;
        window->coherence_block = (uint32_t) votes[OSC_CACHED_VOTE_BLOCK];
        window->stores = (ompi_osc_cached_stores_t) wish.stores;
        window->cooperate = (ompi_osc_cached_cooperate_t) votes[OSC_CACHED_VOTE_COOPERATE];
        window->cache.more = term_of;
        window->cache.more_context = &c->copies;
        enter_list(c);
    } else if (OSC_CACHED_STORES_OFF == wish.stores) {
        window->stores = OSC_CACHED_STORES_OFF; /* MPI_Win_get_info tells what is in force */
    }
    if (!good && OSC_CACHED_MODE_COHERENT == wish.mode) {
        explain(window, info, &wish, reason, votes);
    }
    window->mode = ompi_osc_cached_mode_in_force(
        window, (OSC_CACHED_MODE_COHERENT == wish.mode) ? OSC_CACHED_MODE_COHERENT : window->mode);
}

void ompi_osc_cached_coherence_drain(struct ompi_osc_cached_coherence_t *coherence)
{
    if (NULL == coherence) {
        return;
    }
    await(coherence, is_answered, 0);
    opal_mutex_lock(&listing);
    if (NULL != coherence->detect) { /* the memory goes: nobody's copies may depend on it */
        stop_sharing(coherence);
    }
    opal_mutex_unlock(&listing);
}
