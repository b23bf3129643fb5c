/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The messages between an origin and the helper at a target: what they contain, and their bytes.
 *
 * A message is a header of a fixed size and data. Requests go from origins to the helper, replies
 * back. Numbers are little endian, whatever the machine is. A decoder accepts exactly what an
 * encoder writes and refuses everything else: what it returns as accepted has a known kind, a known
 * operation and element where the kind has them, and as much data as its length says. It cannot
 * know whether a displacement lies in a window: the server checks that.
 *
 *     request    data                    asks
 *     ASK        -                       for a session: buffers of this origin at the target
 *     RELEASE    -                       to end the session; all of it is acknowledged
 *     TYPE       layout                  to remember a layout of the target's side as number layout
 *     GET        -                       for length bytes from offset on of count x layout
 *     PUT        packed bytes            to write them there
 *     ACC        packed bytes            to combine them with what is there
 *     FETCH      packed bytes, or none   the same, and for what was there before (NO_OP: none)
 *     CAS        new, compare            to store new if compare is there, and for what was there
 *     LOCK       -                       for a lock of the window (count 1: exclusive, 0: shared)
 *     UNLOCK     -                       to give it back
 *     NOTE       a block, or none        nothing: it tells operation of count blocks from block at
 *                                        on, for the coherence of the window (../../coherence)
 *
 *     reply      data                    says
 *     GRANT      -                       the session may have buffers requests on the way, of chunk
 *                                        bytes of data, and layouts of room blocks in all
 *     REVOKE     -                       end the session as soon as you can: others wait
 *     LATER      -                       no memory to remember this request: ask again
 *     ACK        -                       all before done are done; with chunks: as many of the
 *                                        series token may come at once, of chunk bytes
 *     DATA       packed bytes            of GET, FETCH or CAS token, from offset on
 *     LOCKED     -                       lock token is yours
 *     FAILED     -                       request token, of this window, was refused (status), and
 * has done nothing
 *
 * Requests other than ASK and NOTE are numbered from 0 in each session, and done in that order. A
 * NOTE belongs to no session: it goes from helper to helper, has no buffer, and needs no reply.
 */
#ifndef OSC_CACHED_WIRE_H
#define OSC_CACHED_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    OSC_CACHED_WIRE_ASK = 1,
    OSC_CACHED_WIRE_RELEASE,
    OSC_CACHED_WIRE_TYPE,
    OSC_CACHED_WIRE_GET,
    OSC_CACHED_WIRE_PUT,
    OSC_CACHED_WIRE_ACC,
    OSC_CACHED_WIRE_FETCH,
    OSC_CACHED_WIRE_CAS,
    OSC_CACHED_WIRE_LOCK,
    OSC_CACHED_WIRE_UNLOCK,
    OSC_CACHED_WIRE_NOTE,
    OSC_CACHED_WIRE_REQUESTS, /**< one past the last of them */
    OSC_CACHED_WIRE_GRANT = 65,
    OSC_CACHED_WIRE_REVOKE,
    OSC_CACHED_WIRE_LATER,
    OSC_CACHED_WIRE_ACK,
    OSC_CACHED_WIRE_DATA,
    OSC_CACHED_WIRE_LOCKED,
    OSC_CACHED_WIRE_FAILED,
    OSC_CACHED_WIRE_REPLIES /**< one past the last of them */
} osc_cached_wire_kind_t;

/** Why a request was refused. */
typedef enum {
    OSC_CACHED_REFUSED_NOT = 0,
    OSC_CACHED_REFUSED_WINDOW, /**< no such window */
    OSC_CACHED_REFUSED_RANGE,  /**< outside of the window's memory */
    OSC_CACHED_REFUSED_LAYOUT, /**< no such layout, or a damaged one */
    OSC_CACHED_REFUSED_LENGTH, /**< more data than the layout, or a part of an element */
    OSC_CACHED_REFUSED_LOCK,   /**< a lock is given back that nobody has */
    OSC_CACHED_REFUSED_OTHER,  /**< malformed */
    OSC_CACHED_REFUSED_IO,     /**< the storage of the window cannot be read */
    OSC_CACHED_REFUSED_LOST,   /**< who had the lock has died; or, in no message: the target has */
    OSC_CACHED_REFUSED_END
} osc_cached_refused_t;

/** A window, known by the same name to all its processes: one of them, and a number of its own. */
typedef struct osc_cached_window_id {
    uint64_t creator; /**< process name of the first rank */
    uint32_t number;  /**< never used again by that process */
    uint32_t part;    /**< 0: the memory of the helper's process; else that of rank part - 1 */
} osc_cached_window_id_t;

typedef struct osc_cached_request {
    uint64_t origin; /**< process name: all jobs have different ones */
    osc_cached_window_id_t window;
    uint32_t session;  /**< as granted; with ASK: any */
    uint64_t number;   /**< of this request in the session */
    uint64_t token;    /**< the origin's own name of the operation; comes back in replies */
    uint64_t at;       /**< bytes from the window's start to the layout's origin, modulo 2^64 */
    uint64_t count;    /**< layouts; LOCK: 1 exclusive, 0 shared */
    uint64_t offset;   /**< bytes of the packed stream before this part */
    uint32_t length;   /**< bytes of this part */
    uint32_t layout;   /**< 0: contiguous bytes, count is their number; else as told by TYPE */
    uint32_t announce; /**< parts of the same operation that follow at once; 0: none */
    uint8_t kind;
    uint8_t operation; /**< osc_cached_operation_t, of ACC and FETCH; NOTE: 1 to
                          OSC_CACHED_WIRE_NOTES */
    uint8_t element;   /**< osc_cached_element_t, of ACC, FETCH and CAS */
    bool last;         /**< the last part of the operation */
} osc_cached_request_t;

typedef struct osc_cached_reply {
    uint64_t target;  /**< process name of the helper's process */
    uint64_t done;    /**< all requests of the session with smaller numbers are done */
    uint64_t token;   /**< of the request; 0 where it says nothing of one */
    uint64_t offset;  /**< DATA: bytes of the packed stream before these */
    uint32_t session; /**< 0: none */
    uint32_t length;  /**< DATA: bytes */
    uint32_t buffers; /**< GRANT: requests on the way; ACK: parts of a series that may come */
    uint32_t chunk;   /**< bytes of data in each of them */
    uint32_t room;    /**< GRANT: blocks of all layouts together */
    osc_cached_window_id_t window; /**< FAILED: that of the request */
    uint8_t kind;
    uint8_t status; /**< FAILED: osc_cached_refused_t */
} osc_cached_reply_t;

/** Most kinds of notes. */
#define OSC_CACHED_WIRE_NOTES 15

#define OSC_CACHED_REQUEST_BYTES 88
#define OSC_CACHED_REPLY_BYTES 56

/** Write the header to as many bytes as the two constants say. */
void osc_cached_request_encode(const osc_cached_request_t *request, void *header);
void osc_cached_reply_encode(const osc_cached_reply_t *reply, void *header);

/**
 * Read a header. @p data_bytes is how much data came with it.
 *
 * @return whether this is a message; otherwise the result is not set
 */
bool osc_cached_request_decode(const void *header, size_t header_bytes, size_t data_bytes,
                               osc_cached_request_t *request);
bool osc_cached_reply_decode(const void *header, size_t header_bytes, size_t data_bytes,
                             osc_cached_reply_t *reply);

#endif /* OSC_CACHED_WIRE_H */
