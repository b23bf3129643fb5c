/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The target's side of the helper: requests in, changes of window memory and replies out.
 *
 * The server knows neither network nor thread: its owner hands it what arrived and is called back
 * to send. It never waits.
 *
 * Sessions. Memory for requests on their way belongs to origins that are active. An origin asks for
 * a session and is granted a number of buffers of some bytes, and layouts of some blocks; the whole
 * of it is charged to the server's memory when the session begins and returned when it ends, so
 * that the bound holds for any number of origins. A new session gets at most a part of what is
 * free, or what each of the processes that may come could have: with many origins buffers become
 * fewer, then smaller. When not even the smallest grant is free, the origin waits in a queue, and
 * the session that was idle longest is told to end. An origin that cannot even be remembered is
 * told to ask again.
 *
 *     origin        target
 *     ASK      -->  ABSENT: WAITING, or OPEN if there is memory
 *              <--  GRANT: OPEN
 *     requests -->  OPEN: done in the order of their numbers
 *              <--  REVOKE: ENDING; requests are still done
 *     RELEASE  -->  OPEN, ENDING: ABSENT; the first of the queue is granted
 *
 * Order. A request is done when all with smaller numbers are. What comes too early is copied, at
 * most as many as there are buffers. A GET longer than a reply, or a request that needs a reply
 * while all reply buffers of its session are being sent, holds the following ones of the same
 * session up, and nobody else.
 *
 * Acknowledgements. Every reply carries the number of requests done. One of its own is sent when
 * half of the buffers have been done and not told (or each, with fewer than 4 buffers); the rest is
 * told before the helper sleeps (osc_cached_server_tell).
 *
 * Series. An operation of several parts announces them with its first one. As many spare buffers as
 * are free, at most one per part, are granted to it at once, and come back with its last part: few
 * buffers per origin, and large ones for whoever has much to send (the paper's flow intimation).
 *
 * Storage. What an operation touches may be on a device: the owner of such a window does it in the
 * place of the server, at once or later. Until then the request is held, and with it the following
 * ones of the same session, and nobody else.
 *
 * Locks: osc_cached_lock.h. Who cannot be remembered in a queue is told to ask again.
 *
 * Thread safety: none; the owner calls it under one lock.
 *
 * Invariants (osc_cached_server_verify returns the number of the first broken one):
 *  I1 used is the sum of what sessions, waiting locks and spares are charged, and at most the
 *     configured memory.
 *  I2 a WAITING session is in the queue, an OPEN or ENDING one in the list by use; all are in the
 *     table. A session that has gone while storage works for it is in a list of its own.
 *  I3 held requests have numbers from next on, growing, below next + 64.
 *  I4 each window's lock fulfils its own invariants (osc_cached_lock.h).
 *  I5 the spares taken by sessions and those free are all there are.
 */
#ifndef OSC_CACHED_SERVER_H
#define OSC_CACHED_SERVER_H

#include "osc_cached_layout.h"
#include "osc_cached_map.h"
#include "osc_cached_wire.h"

/** Layouts that a session may remember: numbers 1 to this. */
#define OSC_CACHED_LAYOUTS 64

/** What happened to a reply. */
typedef enum {
    OSC_CACHED_SENT,    /**< it is gone; its data may be overwritten */
    OSC_CACHED_SENDING, /**< data is in use until osc_cached_server_sent */
    OSC_CACHED_LOST     /**< the origin cannot be reached: as if it were sent */
} osc_cached_sending_t;

/** What became of an operation on a window on storage. */
typedef enum {
    OSC_CACHED_STORE_DONE,
    OSC_CACHED_STORE_LATER, /**< osc_cached_server_stored will tell; without a cookie: nothing was
                               done, and it is asked for again */
    OSC_CACHED_STORE_FAILED /**< the device has an error; nothing was changed */
} osc_cached_stored_t;

/**
 * Do an operation, which was checked, on a window on storage, without waiting for the device.
 * Layout, data and result stay where they are until it has ended.
 *
 * @param cookie  for osc_cached_server_stored; NULL: it must not be done later
 */
typedef osc_cached_stored_t (*osc_cached_store_t)(void *context,
                                                  const osc_cached_request_t *request,
                                                  const osc_cached_layout_t *layout,
                                                  const void *data, void *result, void *cookie);

typedef struct osc_cached_server_config {
    const osc_cached_alloc_t *alloc;
    uint64_t name;      /**< this process */
    uint64_t memory;    /**< most bytes for all that depends on origins */
    uint64_t origins;   /**< processes that may come; 0: not known */
    uint32_t buffers;   /**< requests of a session on their way; with spares at most 64 */
    uint32_t chunk;     /**< bytes of a buffer; a multiple of 16, so that parts end with elements */
    uint32_t min_chunk; /**< the smallest that is granted; a multiple of 16 */
    uint32_t replies;   /**< reply buffers of a session, of the same size */
    uint32_t room;      /**< blocks of layouts of a session */
    uint32_t spares;
    uint32_t spare_bytes; /**< a multiple of 16 */
    bool survives;        /**< origins may die: who has a shared lock is remembered */
    /** Send a reply, whose data is @p data. The cookie is for osc_cached_server_sent. It does not
     * call the server. */
    osc_cached_sending_t (*send)(void *context, uint64_t origin, const osc_cached_reply_t *reply,
                                 const void *data, void *cookie);
    /** A note of a window that nobody listens to. May be NULL. */
    void (*stray)(void *context, const osc_cached_request_t *note, const void *data);
    void *context;
} osc_cached_server_config_t;

/** What was done so far. */
typedef struct osc_cached_server_counts {
    uint64_t requests[OSC_CACHED_WIRE_REQUESTS]; /**< by kind */
    uint64_t bytes;                              /**< moved or combined */
    uint64_t combined;                           /**< bytes combined */
    uint64_t acks;                               /**< replies that say nothing else */
    uint64_t grants;                             /**< of spare buffers */
    uint64_t sessions;
    uint64_t revoked;
    uint64_t later;
    uint64_t early;     /**< requests that came before their turn */
    uint64_t refused;   /**< and answered so */
    uint64_t malformed; /**< messages that are none */
    uint64_t used_max;  /**< most memory used */
} osc_cached_server_counts_t;

typedef struct osc_cached_server osc_cached_server_t;

/** @return OSC_CACHED_OK, OSC_CACHED_BAD_ARGUMENT or OSC_CACHED_NO_MEMORY */
int osc_cached_server_create(const osc_cached_server_config_t *config,
                             osc_cached_server_t **server);

/** Forget everything. Nothing may be in state SENDING, or done later, any more. */
void osc_cached_server_destroy(osc_cached_server_t *server);

/**
 * Serve a window. @p base may be NULL when @p size is 0.
 *
 * @return OSC_CACHED_OK, OSC_CACHED_BAD_ARGUMENT when the name is taken, OSC_CACHED_NO_MEMORY
 */
int osc_cached_server_open(osc_cached_server_t *server, osc_cached_window_id_t id, void *base,
                           uint64_t size);

/** From now on *served counts the operations done on the memory of an open window. */
void osc_cached_server_count(osc_cached_server_t *server, osc_cached_window_id_t id,
                             _Atomic unsigned long *served);

/** Who hears the notes of a window. */
typedef void (*osc_cached_listen_fn_t)(void *context, const osc_cached_request_t *note,
                                       const void *data);

/** From now on notes of an open window are told to @p listen, until it is closed. */
void osc_cached_server_listen(osc_cached_server_t *server, osc_cached_window_id_t id,
                              osc_cached_listen_fn_t listen, void *context);

/** From now on operations on the memory of an open window are done by @p store. */
void osc_cached_server_use_store(osc_cached_server_t *server, osc_cached_window_id_t id,
                                 osc_cached_store_t store, void *context);

/** Stop serving it: later requests are refused. Those that wait for its lock are, too. */
void osc_cached_server_close(osc_cached_server_t *server, osc_cached_window_id_t id);

/** A message has arrived. Its bytes may be anything; they are not needed after the call. */
void osc_cached_server_receive(osc_cached_server_t *server, const void *header, size_t header_bytes,
                               const void *data, size_t data_bytes);

/** A reply that was SENDING is gone. */
void osc_cached_server_sent(osc_cached_server_t *server, void *cookie);

/** An operation that was to be done LATER has ended. @p good: without an error */
void osc_cached_server_stored(osc_cached_server_t *server, void *cookie, bool good);

/** How many wait for locks. While there are some, osc_cached_server_age is to be called every few
 * milliseconds. */
uint64_t osc_cached_server_waiters(const osc_cached_server_t *server);

/** Time has passed: who has waited for a shared lock since before the last call overtakes
 * (osc_cached_lock.h). */
void osc_cached_server_age(osc_cached_server_t *server);

/** Acknowledge what was done and not told, before sleeping. */
void osc_cached_server_tell(osc_cached_server_t *server);

/**
 * Origins may have died: their sessions, their places in queues and their shared locks are free.
 * What an exclusive lock protects may be half done: who waits for it, or asks for it later, is
 * refused. To be called again as long as there may be messages of them.
 */
void osc_cached_server_forget(osc_cached_server_t *server,
                              bool (*is_dead)(void *context, uint64_t origin), void *context);

/**
 * Do an operation of this process itself on its own window (kinds GET, PUT, ACC, FETCH, CAS), at
 * once. @p layout is NULL for contiguous bytes. @p result has room for request->length bytes where
 * the kind has a result.
 */
osc_cached_refused_t osc_cached_server_local(osc_cached_server_t *server,
                                             const osc_cached_request_t *request,
                                             const osc_cached_layout_t *layout, const void *data,
                                             void *result);

const osc_cached_server_counts_t *osc_cached_server_counts(const osc_cached_server_t *server);

/** Bytes charged at present. */
uint64_t osc_cached_server_used(const osc_cached_server_t *server);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_server_verify(const osc_cached_server_t *server);

#endif /* OSC_CACHED_SERVER_H */
