/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The origin's side of the helper: operations of this process at other processes.
 *
 * The client knows neither network nor thread: it is handed operations, which it cuts into
 * requests, and replies; it is called back to send. It never waits: an operation that may not go on
 * yet says so, and its owner lets the network progress and calls again. So requests are bounded by
 * what the target has granted, and nothing is queued here.
 *
 *     osc_cached_client_push       the operation
 *       WAIT  no session, or no credit: progress, push again
 *       SENT  all requests are on their way; the origin's data may be overwritten.
 *             PUT, ACC, UNLOCK: the structure of the call may go. The others: end is called when
 *             the answer is there, at once or later.
 *       NO_MEMORY, LOST (see below): the operation ends, and end is not called
 *     osc_cached_client_receive    a reply
 *     osc_cached_client_mark       a flush begins
 *     osc_cached_client_is_done    a target has done everything before the mark: the flush ends
 *
 * Order. Requests of one origin are done at the target in the order in which they were sent, so
 * operations are done in the order in which they were pushed to the end.
 *
 * Refusals. Most operations have gone when the target refuses them: the reason is kept for their
 * window until osc_cached_client_refused asks for it, at the next flush.
 *
 * Lost remotes. Where a request could not be sent, later ones would wait for it for ever, and a
 * process that has died does not answer: nothing more is sent to it. What waits for its answer ends
 * as refused (LOST), pushes return LOST, flushes end.
 *
 * Thread safety: none; the owner calls it under one lock. Several threads may be pushing: each has
 * a call of its own.
 *
 * Invariants (osc_cached_client_verify returns the number of the first broken one):
 *  I1 each remote's account fulfils its own invariants (osc_cached_account.h).
 *  I2 the answers that remotes wait for, in the order of their tokens, and the locks are the calls
 *     in the table.
 */
#ifndef OSC_CACHED_CLIENT_H
#define OSC_CACHED_CLIENT_H

#include "osc_cached_account.h"
#include "osc_cached_list.h"

/** A process that operations go to. */
typedef struct osc_cached_remote {
    osc_cached_link_t link;     /**< in the client's list of all */
    osc_cached_link_t refusals; /**< of the windows that have operations there */
    uint64_t name;
    osc_cached_account_t account;
    osc_cached_link_t answers; /**< calls that wait for theirs, but for locks, the oldest first */
    uint32_t pushing;          /**< calls that are not sent to the end */
    bool lost;                 /**< a request could not be sent, or it has died */
    void *context;             /**< the owner's, */
    uint64_t kept, gone;       /**< requests that the network could not take at once, and those of
                                  them that it has taken since */
} osc_cached_remote_t;

/** What was refused of the operations on a window at one process. */
typedef struct osc_cached_refusals {
    osc_cached_link_t link; /**< in the remote's list */
    osc_cached_window_id_t window;
    osc_cached_refused_t why; /**< the last one that was not asked for */
} osc_cached_refusals_t;

/**
 * An operation. The caller sets the first part. Of request: kind, window, at, count, operation,
 * element; count is the number of bytes without a layout; CAS has at and element only, LOCK and
 * UNLOCK only count.
 */
typedef struct osc_cached_call {
    osc_cached_request_t request;
    const osc_cached_layout_t *layout; /**< of the target's side; NULL: contiguous */
    uint64_t key;                      /**< of the layout: no other one has it, ever; not 0 */
    uint64_t total; /**< bytes of the packed stream; 0 only for LOCK and UNLOCK */
    /** Write the bytes from @p offset on of what goes to the target (CAS: new value, compared one).
     * Called in the order of offsets. Not needed for GET, LOCK, UNLOCK, and FETCH with NO_OP. */
    void (*pack)(struct osc_cached_call *call, uint64_t offset, void *to, size_t bytes);
    /** Take the bytes from @p offset on of the answer. In any order. */
    void (*unpack)(struct osc_cached_call *call, uint64_t offset, const void *from, size_t bytes);
    /** GET, FETCH, CAS, LOCK: all is there, or was refused. The structure may go. */
    void (*end)(struct osc_cached_call *call, osc_cached_refused_t why);
    void *context; /**< the caller's */

    /* the client's own; 0 at the start, but for a FETCH with NO_OP whose first bytes another call
     * has: then that many were sent, and answered */
    osc_cached_link_t link; /**< in the remote's answers */
    osc_cached_remote_t *remote;
    uint64_t sent;     /**< bytes of the stream that were sent or asked for */
    uint64_t answered; /**< bytes of the answer that have come */
    bool begun;        /**< something was sent */
    bool complete;     /**< all was sent */
    bool pushing;      /**< counted in the remote's pushing */
    bool waited;       /**< counted in the client's waits */
    osc_cached_refused_t refused;
} osc_cached_call_t;

/** What a flush waits for. */
typedef struct osc_cached_mark {
    uint64_t sent;  /**< requests to the remote */
    uint64_t token; /**< of the last call */
} osc_cached_mark_t;

typedef enum {
    OSC_CACHED_PUSH_SENT,
    OSC_CACHED_PUSH_WAIT,
    OSC_CACHED_PUSH_NO_MEMORY,
    OSC_CACHED_PUSH_LOST
} osc_cached_push_t;

typedef struct osc_cached_client_config {
    const osc_cached_alloc_t *alloc;
    uint64_t name; /**< this process */
    /** Memory for a message: OSC_CACHED_REQUEST_BYTES of header, and then so many of data.
     * @return NULL: no memory */
    void *(*reserve)(void *context, size_t data_bytes);
    /** Send it; the memory is the transport's again. It does not call the client.
     * @return whether it goes; if that is known later: osc_cached_client_lost */
    bool (*send)(void *context, osc_cached_remote_t *remote, void *message, size_t data_bytes);
    void *context;
} osc_cached_client_config_t;

typedef struct osc_cached_client_counts {
    uint64_t requests;  /**< sent */
    uint64_t waits;     /**< calls that waited for a session or for credit */
    uint64_t malformed; /**< replies that are none, or of nobody */
} osc_cached_client_counts_t;

typedef struct osc_cached_client {
    osc_cached_client_config_t config;
    osc_cached_map_t remotes; /**< by name */
    osc_cached_map_t calls;   /**< that wait for an answer, by token */
    uint32_t locks;           /**< of these calls, those that wait for a lock */
    osc_cached_link_t all;
    uint64_t token; /**< last one given */
    osc_cached_client_counts_t counts;
} osc_cached_client_t;

void osc_cached_client_init(osc_cached_client_t *client, const osc_cached_client_config_t *config);

/** Forget everything; calls that wait for an answer are not ended. */
void osc_cached_client_fini(osc_cached_client_t *client);

/** The process with this name, new or known. @return NULL: no memory */
osc_cached_remote_t *osc_cached_client_remote(osc_cached_client_t *client, uint64_t name);

/** See above. To be called until it does not return WAIT. A LOCK: until it has ended, because the
 * target may want to be asked again. */
osc_cached_push_t osc_cached_client_push(osc_cached_client_t *client, osc_cached_remote_t *remote,
                                         osc_cached_call_t *call);

/** A message has arrived. Its bytes may be anything; they are not needed after the call. */
void osc_cached_client_receive(osc_cached_client_t *client, const void *header, size_t header_bytes,
                               const void *data, size_t data_bytes);

/** Give its memory for us back, if nothing is on its way to it. */
void osc_cached_client_leave(osc_cached_client_t *client, osc_cached_remote_t *remote);

/** A message to it could not be sent, or it has died. */
void osc_cached_client_lost(osc_cached_client_t *client, osc_cached_remote_t *remote);

/** What is sent to a process up to now. */
static inline osc_cached_mark_t osc_cached_client_mark(const osc_cached_client_t *client,
                                                       const osc_cached_remote_t *remote)
{
    return (osc_cached_mark_t){.sent = osc_cached_account_all_sent(&remote->account),
                               .token = client->token};
}

/** Are the answers of calls before the mark there? Locks may still be waited for. */
static inline bool osc_cached_client_is_answered(const osc_cached_remote_t *remote,
                                                 osc_cached_mark_t mark)
{
    return osc_cached_list_is_empty(&remote->answers)
           || OSC_CACHED_LIST_OF(remote->answers.next, osc_cached_call_t, link)->request.token
                  > mark.token;
}

/** Has it done all that was sent before the mark, and answered, or is it lost? What other threads
 * send meanwhile is not waited for: it may have no end. */
static inline bool osc_cached_client_is_done(const osc_cached_remote_t *remote,
                                             osc_cached_mark_t mark)
{
    return (osc_cached_account_all_done(&remote->account) >= mark.sent || remote->lost)
           && osc_cached_client_is_answered(remote, mark);
}

/** Keep from now on what is refused of a window, and no more: of others nothing is kept. */
void osc_cached_client_watch(osc_cached_remote_t *remote, osc_cached_window_id_t window,
                             osc_cached_refusals_t *refusals);
void osc_cached_client_unwatch(osc_cached_refusals_t *refusals);

/** Why an operation was refused since the last time this was asked. */
osc_cached_refused_t osc_cached_client_refused(osc_cached_refusals_t *refusals);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_client_verify(const osc_cached_client_t *client);

#endif /* OSC_CACHED_CLIENT_H */
