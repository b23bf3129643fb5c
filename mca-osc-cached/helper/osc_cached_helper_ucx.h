/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The helper's network: UCX, with a context and two workers of its own.
 *
 *     origin                          target
 *     worker of the origin's side     worker of the thread
 *     osc_cached_ucx_send     ----->  request       (the thread; the server's lock is held)
 *     reply                   <-----  osc_cached_ucx_reply
 *                                     osc_cached_ucx_note  <-->  the thread of another process
 *
 * The thread sleeps in poll(2) on the event descriptor of its worker and on a pipe.  Only addresses
 * of that worker are exchanged; replies go back on the endpoint that a request came on.
 *
 * UCX is loaded when the first helper starts: a process without one does not even map it, and the
 * component can be loaded where there is no UCX.
 *
 * Knows nothing of MPI.
 */

#ifndef OSC_CACHED_HELPER_UCX_H
#define OSC_CACHED_HELPER_UCX_H

#include <pthread.h>

#include "core/osc_cached_client.h"
#include "core/osc_cached_server.h"

typedef struct osc_cached_ucx osc_cached_ucx_t;

/** What it calls.  Neither function may call osc_cached_ucx_progress. */
typedef struct {
    void *context;
    /** A request has arrived; the server's lock is held. */
    void (*request)(void *context, const void *header, size_t header_bytes, const void *data,
                    size_t data_bytes);
    /** A reply that was SENDING is gone; the server's lock is held. */
    void (*sent)(void *context, void *cookie);
    /** Nothing more has arrived, and the thread is about to sleep; the server's lock is held.
     * @return ms that it may sleep; negative: any time */
    int (*idle)(void *context);
    /** A reply has arrived, in osc_cached_ucx_progress. */
    void (*reply)(void *context, const void *header, size_t header_bytes, const void *data,
                  size_t data_bytes);
    /** A request did not go, in osc_cached_ucx_progress. */
    void (*lost)(void *context, void *cookie);
    /** A request that was SENDING is gone, in osc_cached_ucx_progress. */
    void (*gone)(void *context, void *cookie);
} osc_cached_ucx_handlers_t;

/**
 * Load UCX, make context and the worker of the origin's side.
 *
 * @param[out] why  what failed, in words
 * @return NULL: it could not be started
 */
osc_cached_ucx_t *osc_cached_ucx_start(const osc_cached_ucx_handlers_t *handlers, const char **why);

/** Make the thread's worker and start the thread, if it does not run yet. */
bool osc_cached_ucx_serve(osc_cached_ucx_t *ucx, const char **why);

/** Stop the thread and give everything back.  Nobody sends to us any more. */
void osc_cached_ucx_stop(osc_cached_ucx_t *ucx);

/** Address of the thread's worker; without one, no bytes. */
const void *osc_cached_ucx_address(const osc_cached_ucx_t *ucx, size_t *bytes);

pthread_t osc_cached_ucx_thread(const osc_cached_ucx_t *ucx);

/** What the thread has done so far. */
typedef struct {
    uint64_t wakeups;   /**< how often it slept */
    uint64_t overslept; /**< of these, nothing woke it although there was a message */
    uint64_t awake;     /**< how often it found more while it spun */
    uint64_t cpu_ns;    /**< processor time */
} osc_cached_ucx_counts_t;

/** The lock is held. */
osc_cached_ucx_counts_t osc_cached_ucx_counts(const osc_cached_ucx_t *ucx);

/** How long the thread looks for more before it sleeps; 0: it sleeps at once.  The lock is held. */
void osc_cached_ucx_spin(osc_cached_ucx_t *ucx, uint64_t ns);

/** The lock of the thread's worker, and of the server behind it. */
void osc_cached_ucx_lock(osc_cached_ucx_t *ucx);
/** The thread will not sleep before it has looked once more. */
void osc_cached_ucx_wake(osc_cached_ucx_t *ucx);
/** @param sent  replies were sent under it: the thread has to look after them */
void osc_cached_ucx_unlock(osc_cached_ucx_t *ucx, bool sent);

/* The origin's side; the caller's lock */

/** An endpoint to the process with this address.  @return NULL: not reachable */
void *osc_cached_ucx_connect(osc_cached_ucx_t *ucx, const void *address);
void *osc_cached_ucx_reserve(osc_cached_ucx_t *ucx, size_t data_bytes);
/** Send a message from osc_cached_ucx_reserve.
 * @return whether it goes, now (SENT) or later (SENDING): then the handler gone is called with the
 *         cookie, and before it the handler lost if it does not go */
osc_cached_sending_t osc_cached_ucx_send(osc_cached_ucx_t *ucx, void *endpoint, void *message,
                                         size_t data_bytes, void *cookie);
/** @return whether anything happened */
bool osc_cached_ucx_progress(osc_cached_ucx_t *ucx);

/* The target's side; the server's lock */

/**
 * Send a note to the thread of the process with this name and address.
 *
 * @param data  note->length bytes of malloc(), which are freed when they are sent; or NULL
 * @return SENDING: the thread has to look after it; LOST: the process cannot be reached, or there
 *         is no memory: the data is still the caller's
 */
osc_cached_sending_t osc_cached_ucx_note(osc_cached_ucx_t *ucx, uint64_t name, const void *address,
                                         const osc_cached_request_t *note, void *data);

/** Notes with data that are not gone. */
uint32_t osc_cached_ucx_queued(const osc_cached_ucx_t *ucx);

/** Have we sent notes to this process? */
bool osc_cached_ucx_is_noted(const osc_cached_ucx_t *ucx, uint64_t name);

/** Has this process sent requests? */
bool osc_cached_ucx_is_asked_by(const osc_cached_ucx_t *ucx, uint64_t origin);

osc_cached_sending_t osc_cached_ucx_reply(osc_cached_ucx_t *ucx, uint64_t origin,
                                          const osc_cached_reply_t *reply, const void *data,
                                          void *cookie);

#endif /* OSC_CACHED_HELPER_UCX_H */
