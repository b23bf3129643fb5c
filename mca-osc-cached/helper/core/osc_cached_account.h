/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What an origin owes and is owed at one target: its session there, requests on their way, spare
 * buffers granted to the operation that it sends at present, and the layouts that the target knows.
 *
 *     CLOSED --asked--> ASKING --GRANT--> OPEN --released--> CLOSED
 *                         |                 ^
 *                         +--LATER--> CLOSED (asks again)
 *
 * In OPEN a request may go while fewer than buffers are on their way, and with more than that while
 * it is a part of the series that has spares. After REVOKE no operation begins, but for the first
 * one of the session: otherwise origins could give sessions to each other for ever, and do nothing.
 * When all is acknowledged the session is released, and the next operation asks for a new one
 * behind those who waited.
 *
 * A target replies out of order and late: what belongs to an earlier session, or to a series that
 * has ended, changes nothing.
 *
 * Layouts. The target keeps as many blocks of layouts as it has granted, and the origin decides
 * which: the one used longest ago is overwritten or forgotten. It never refers to one that the
 * target does not have, so there is no reply for that.
 *
 * Invariants (osc_cached_account_verify returns the number of the first broken one):
 *  I1 acked <= sent; CLOSED and ASKING: both are 0, and no layout is known.
 *  I2 sent - acked <= buffers, plus the spares of the present series.
 *  I3 blocks is the sum of those of the layouts known, and at most room.
 */
#ifndef OSC_CACHED_ACCOUNT_H
#define OSC_CACHED_ACCOUNT_H

#include "osc_cached_server.h" /* OSC_CACHED_LAYOUTS */

typedef enum {
    OSC_CACHED_ACCOUNT_CLOSED,
    OSC_CACHED_ACCOUNT_ASKING,
    OSC_CACHED_ACCOUNT_OPEN
} osc_cached_account_state_t;

/** A layout that the target knows. */
typedef struct osc_cached_known {
    uint64_t key;    /**< the caller's name of it; 0: none */
    uint64_t used;   /**< when it was last asked for */
    uint32_t blocks; /**< of the layout */
} osc_cached_known_t;

typedef struct osc_cached_account {
    osc_cached_account_state_t state;
    bool revoked;       /**< the target wants the session back */
    uint32_t session;   /**< number, as granted */
    uint32_t overtaken; /**< ASKING: a session that was revoked before its grant came; 0: none */
    uint32_t buffers;   /**< requests that may be on their way */
    uint32_t chunk;     /**< bytes of data in each of them */
    uint32_t room;      /**< blocks of layouts that the target keeps */
    uint64_t sent;      /**< requests of the session; the number of the next one */
    uint64_t acked;     /**< all with smaller numbers are done */
    uint64_t before;    /**< requests of earlier sessions, which are done */
    uint64_t series;    /**< token of the operation that announced itself; 0: none */
    uint32_t spares;    /**< more requests that may be on their way, of the series only */
    uint32_t spare_bytes;
    uint32_t blocks; /**< of the layouts known */
    uint64_t clock;  /**< counts uses of layouts */
    osc_cached_known_t known[OSC_CACHED_LAYOUTS];
} osc_cached_account_t;

/** What the caller is to do before it can send a request. */
typedef enum {
    OSC_CACHED_ACCOUNT_SEND,    /**< send it, with at most *bytes bytes of data */
    OSC_CACHED_ACCOUNT_ASK,     /**< send ASK, call osc_cached_account_asked, wait */
    OSC_CACHED_ACCOUNT_RELEASE, /**< send RELEASE, call osc_cached_account_released, begin again */
    OSC_CACHED_ACCOUNT_WAIT     /**< progress, and ask again */
} osc_cached_account_step_t;

void osc_cached_account_init(osc_cached_account_t *account);

/**
 * May a request of operation @p token go now?
 *
 * @param begins  it is the first of the operation: that is when a revoked session ends
 * @param bytes   SEND: most bytes of data
 */
osc_cached_account_step_t osc_cached_account_step(const osc_cached_account_t *account,
                                                  uint64_t token, bool begins, uint32_t *bytes);

void osc_cached_account_asked(osc_cached_account_t *account);

/** Also when no operation wants to begin, and all requests are done. */
void osc_cached_account_released(osc_cached_account_t *account);

/** Are all requests done? */
static inline bool osc_cached_account_is_quiet(const osc_cached_account_t *account)
{
    return account->sent == account->acked;
}

/**
 * A request was sent.
 *
 * @param announce  parts that follow, as said in the request
 * @param last      it was the last of the operation
 * @return its number, which the request has to carry
 */
uint64_t osc_cached_account_sent(osc_cached_account_t *account, uint64_t token, uint32_t announce,
                                 bool last);

/** A reply has come from the target; of any kind. */
void osc_cached_account_reply(osc_cached_account_t *account, const osc_cached_reply_t *reply);

/** Requests that were ever sent, and how many of these, the first ones, are done. */
static inline uint64_t osc_cached_account_all_sent(const osc_cached_account_t *account)
{
    return account->before + account->sent;
}
static inline uint64_t osc_cached_account_all_done(const osc_cached_account_t *account)
{
    return account->before + account->acked;
}

/** Number of a layout that the target knows, or 0. */
uint32_t osc_cached_account_layout(osc_cached_account_t *account, uint64_t key);

/**
 * The target is to know a layout of this many blocks. To be called until it returns true, in an
 * OPEN session, for a layout of at most room blocks.
 *
 * @param number  the number that a TYPE request is to be sent for
 * @return true: with the layout; false: without data, so that the target forgets that number
 */
bool osc_cached_account_teach(osc_cached_account_t *account, uint64_t key, uint32_t blocks,
                              uint32_t *number);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_account_verify(const osc_cached_account_t *account);

#endif /* OSC_CACHED_ACCOUNT_H */
