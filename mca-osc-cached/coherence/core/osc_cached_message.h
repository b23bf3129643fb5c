/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The messages of the coherence protocol.
 *
 *     reader                    owner (directory)                writer
 *       |-- FILL(b, name) -------->|                                |
 *       |<------- DATA(b, name) ---|   registered before it is read |
 *       |                          |<----------- HOLD(b.., name) ---|  the put goes out beside it
 *       |<------------- INV(b..) --|                                |
 *       |-- ACK(b..) ------------->|                                |
 *       |                          |--- HELD(b.., name) ----------->|  now the put may complete
 *       |-- FILL(b, name') ------->|                                |
 *       |<---- DIRECT(b, name') ---|   while somebody holds it      |
 *       |                          |--- RECALL(b.., name) --------->|  a hint
 *       |                          |<----------- FREE(b.., name) ---|
 *
 *     reader A -- FILL --> owner -- FWD --> reader B -- DATA --> reader A, or B -- BACK --> owner
 * -- DATA --> A sharer -- EVICT --> owner -- LAST --> the only sharer that is left
 *
 * No order among messages is assumed, but each arrives once. They are handed to
 * osc_cached_directory_receive (FILL, BACK, ACK, HOLD, FREE, EVICT) and osc_cached_copies_receive
 * (the others); OSC_CACHED_MESSAGE_IS_FOR_OWNER tells which.
 */
#ifndef OSC_CACHED_MESSAGE_H
#define OSC_CACHED_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/** As a count of blocks, with 0 as the first one: all of the window. */
#define OSC_CACHED_ALL_BLOCKS UINT64_MAX

enum {
    OSC_CACHED_HOLD_BLOCKS = 64 /**< more of them in one hold: all of the window */
};

typedef enum {
    OSC_CACHED_MESSAGE_FILL = 1, /**< make me a sharer, and send the block or confirm */
    OSC_CACHED_MESSAGE_DATA,   /**< you are a sharer; with the block's bytes in windows on files */
    OSC_CACHED_MESSAGE_DIRECT, /**< you are none: fetch past the cache, keep nothing */
    OSC_CACHED_MESSAGE_FWD,    /**< send your copy to the reader */
    OSC_CACHED_MESSAGE_BACK,   /**< I have none: answer the reader yourself */
    OSC_CACHED_MESSAGE_INV,    /**< drop your copies */
    OSC_CACHED_MESSAGE_ACK,    /**< dropped */
    OSC_CACHED_MESSAGE_HOLD,   /**< I write these blocks */
    OSC_CACHED_MESSAGE_HELD,   /**< nobody has a copy of these blocks now */
    OSC_CACHED_MESSAGE_FREE,   /**< my writes to these are complete */
    OSC_CACHED_MESSAGE_RECALL, /**< FREE these when you can */
    OSC_CACHED_MESSAGE_EVICT,  /**< I have dropped my copy */
    OSC_CACHED_MESSAGE_LAST,   /**< yours is the only copy now */
    /* not of the protocol, and not for osc_cached_*_receive */
    OSC_CACHED_MESSAGE_SLOW, /**< to an owner: whose ACK do you wait for? From it: the reader's */
    OSC_CACHED_MESSAGE_DEAD  /**< the reader has died */
} osc_cached_message_kind_t;

/** Is it handled by the directory, at the owner of the memory? Else by the copies of a process. */
#define OSC_CACHED_MESSAGE_IS_FOR_OWNER(kind)                                 \
    (OSC_CACHED_MESSAGE_FILL == (kind) || OSC_CACHED_MESSAGE_BACK == (kind)   \
     || OSC_CACHED_MESSAGE_ACK == (kind) || OSC_CACHED_MESSAGE_HOLD == (kind) \
     || OSC_CACHED_MESSAGE_FREE == (kind) || OSC_CACHED_MESSAGE_EVICT == (kind))

/** A message; what a kind does not use is 0. */
typedef struct osc_cached_message {
    uint64_t first;  /**< block */
    uint64_t count;  /**< blocks: 1, or more of HOLD, HELD, FREE, RECALL, INV, ACK */
    uint32_t peer;   /**< rank in the window: whom it came from, or whom it goes to */
    uint32_t owner;  /**< rank of the owner of the blocks */
    uint32_t reader; /**< FWD, BACK: who asked; SLOW, DEAD: who is it */
    uint32_t name; /**< of the request (FILL, DATA, DIRECT, FWD, BACK, EVICT) or of the hold; never
                      0, but in a HELD for all holds there will ever be */
    uint8_t kind;  /**< osc_cached_message_kind_t */
    bool alone;    /**< DATA, LAST: nobody else has a copy */
    bool whole;    /**< HOLD: all blocks of the window may be held instead, if nobody has a copy */
} osc_cached_message_t;

/** Where messages go: sent at once, or collected under the caller's lock and sent after it. */
typedef struct osc_cached_post {
    void (*send)(void *context, const osc_cached_message_t *message);
    void *context;
} osc_cached_post_t;

/**
 * O4: a message for a window that is not known here, because it was freed, or is not created yet:
 * nobody waits for ever, and nothing is kept.
 */
static inline void osc_cached_message_unknown(const osc_cached_message_t *message,
                                              const osc_cached_post_t *post)
{
    osc_cached_message_t reply = *message;

    switch (message->kind) {
    case OSC_CACHED_MESSAGE_FILL:
    case OSC_CACHED_MESSAGE_BACK: /* its owner, when it comes back, is gone */
        reply.kind = OSC_CACHED_MESSAGE_DIRECT;
        if (OSC_CACHED_MESSAGE_BACK == message->kind) {
            reply.peer = message->reader;
            reply.reader = 0;
        }
        break;
    case OSC_CACHED_MESSAGE_FWD:
        reply.kind = OSC_CACHED_MESSAGE_BACK;
        break;
    case OSC_CACHED_MESSAGE_INV:
        reply.kind = OSC_CACHED_MESSAGE_ACK;
        break;
    case OSC_CACHED_MESSAGE_HOLD:
        reply.kind = OSC_CACHED_MESSAGE_HELD;
        reply.whole = false;
        break;
    default:
        return;
    }
    post->send(post->context, &reply);
}

#endif /* OSC_CACHED_MESSAGE_H */
