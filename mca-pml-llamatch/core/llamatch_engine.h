/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The matching engine of one communicator: posted receives and unexpected messages.
 *
 *     peers[]  --> peer: | posted | unexpected | ring links |     one per source that was used
 *     wild     --> posted receives with MPI_ANY_SOURCE
 *     ring     --> peers that have unexpected messages, in the order they are served
 *
 * Both queues are split by peer, because a message can only match receives for its own source or
 * for any source: with many peers a single queue would make each search pass everybody's entries.
 * Per-peer state is made at its first use, so a communicator costs one pointer per rank (up to
 * the highest rank used) plus its active peers.
 *
 * Order (rule M1), and why it holds
 * ---------------------------------
 * Receives. Each posted receive gets the next value of a 64-bit counter, so posting order is the
 * order of these numbers (2^64 receives do not happen). Each queue is append-only at its tail,
 * hence sorted by them (queue invariant I5). The receives that can match a message from source s
 * are exactly those in peer s's posted queue and in the wild queue. "First match of a sorted
 * queue" is the earliest match in that queue; the smaller number of the two first matches is
 * therefore the earliest posted of all matching receives. llamatch_engine_match finds it by
 * walking the nodes of the two queues in the order of their first numbers. When a node yields a
 * match with number m, every entry that was posted before m and is not yet examined is in the
 * other queue, in nodes whose first number is smaller than m: only those are still searched, and
 * the result is the minimum. Nothing posted before the result is left unexamined.
 *
 * Messages. The caller hands messages over in the order their source sent them (ob1 does, by its
 * own per-peer sequence numbers), and messages of one source are in one queue, in that order. The
 * first match in the queue of source s is therefore the first sent by s. A receive for any source
 * takes the first match of the first peer in the ring that has one. MPI sets no order between
 * sources; the ring gives fairness: a peer is put behind all others when an any-source receive
 * took its message, so between two messages of one peer every other peer with a match is served.
 *
 * ANY_TAG (rule M2): a key for ANY_TAG accepts tags >= 0 only, and a message with a negative tag
 * does not accept ANY_TAG receives (llamatch_key_of_message, llamatch_key_of_receive).
 *
 * Thread safety: none. One caller at a time per engine; ob1's matching lock does that.
 *
 * Invariants (llamatch_engine_verify returns 100 + the number of the first broken one, or the
 * queue's own number):
 *  I1 num_posted is the sum of the counts of all posted queues and the wild queue.
 *  I2 num_unexpected is the sum of the counts of all unexpected queues.
 *  I3 a peer is in the ring exactly when it has unexpected messages; the ring is a closed,
 *     doubly linked circle.
 *  I4 peers[i], if any, has source i.
 *  I5 each number in a posted queue is smaller than next_post, each in an unexpected queue than
 *     next_arrival.
 *  I6 each queue fulfils its own invariants.
 */
#ifndef LLAMATCH_ENGINE_H
#define LLAMATCH_ENGINE_H

#include "llamatch_queue.h"

typedef struct llamatch_peer llamatch_peer_t;

/** Private; here only so that the empty case of a search can be inline. */
typedef struct llamatch_engine {
    size_t num_unexpected;
    size_t num_posted;
    llamatch_peer_t **peers; /**< NULL where no state exists yet */
    uint32_t peers_size;     /**< pointers */
    llamatch_queue_t wild;   /**< receives for any source */
    llamatch_peer_t *ring;   /**< the peer to be served next */
    uint64_t next_post;
    uint64_t next_arrival;
    size_t num_peers;
    llamatch_nodes_t nodes;
} llamatch_engine_t;

/** How to make an engine. Zero is not a default: start from llamatch_config_default. */
typedef struct llamatch_config {
    const llamatch_allocator_t *allocator; /**< NULL for libc's */
    uint32_t entries;                      /**< entries per array, a power of two in 2..512 */
    uint32_t max_spare;                    /**< unused arrays to keep */
    uint32_t max_idle;                     /**< arrays up to which an emptied queue keeps one */
    uint32_t peers;                        /**< number of peers to make room for now; it grows */
} llamatch_config_t;

extern const llamatch_config_t llamatch_config_default;

/** An unexpected message that a search found. Valid until the engine is next changed. */
typedef struct llamatch_hold {
    void *item;            /**< NULL: nothing found */
    llamatch_peer_t *peer; /**< whose queue it is in */
    llamatch_pos_t pos;
    int32_t source; /**< as given to llamatch_engine_arrive */
    int32_t tag;    /**< as given to llamatch_engine_arrive */
    bool any;       /**< found by an any-source search */
} llamatch_hold_t;

/** @return LLAMATCH_OK, LLAMATCH_ERR_ARGUMENT or LLAMATCH_ERR_NO_MEMORY */
int llamatch_engine_create(const llamatch_config_t *config, llamatch_engine_t **engine_out);

/** Forget all entries and give all memory back. NULL is allowed. */
void llamatch_engine_destroy(llamatch_engine_t *engine);

/**
 * Append a posted receive.
 *
 * @param source   rank or LLAMATCH_ANY_SOURCE
 * @param tag      tag or LLAMATCH_ANY_TAG
 * @param seq_out  its number, for llamatch_engine_cancel; may be NULL
 * @return LLAMATCH_OK, or an error with the engine unchanged
 */
int llamatch_engine_post(llamatch_engine_t *engine, int32_t source, int32_t tag, void *item,
                         uint64_t *seq_out);

/**
 * Find and remove the first posted receive that matches an incoming message. To be called again
 * for the same message when the receive turns out to be a probe.
 *
 * @return the receive, or NULL
 */
void *llamatch_engine_match(llamatch_engine_t *engine, int32_t source, int32_t tag);

/**
 * Remove a posted receive.
 *
 * @param source  as given to llamatch_engine_post
 * @param seq     as got from llamatch_engine_post
 * @return LLAMATCH_OK, or LLAMATCH_NOT_FOUND when it is not there (any more)
 */
int llamatch_engine_cancel(llamatch_engine_t *engine, int32_t source, uint64_t seq);

/**
 * Append an unexpected message.
 *
 * @param source  rank
 * @param tag     tag; LLAMATCH_ANY_TAG is no message's tag and is refused
 * @return LLAMATCH_OK, or an error with the engine unchanged
 */
int llamatch_engine_arrive(llamatch_engine_t *engine, int32_t source, int32_t tag, void *item);

/**
 * Find the first unexpected message that a receive or probe matches, and leave it there: a second
 * search with the same arguments finds the same message.
 *
 * @param source  rank or LLAMATCH_ANY_SOURCE
 * @param tag     tag or LLAMATCH_ANY_TAG
 * @return the message (also hold->item), or NULL
 */
static inline void *llamatch_engine_search(llamatch_engine_t *engine, int32_t source, int32_t tag,
                                           llamatch_hold_t *hold);

/** Remove the message that the search found. */
void llamatch_engine_take(llamatch_engine_t *engine, const llamatch_hold_t *hold);

/**
 * Visit all unexpected messages, or all posted receives, peer by peer and in order within each
 * (wild receives last), and remove those for which @p visit returns true. @p visit must not call
 * the engine.
 *
 * @return number of entries removed
 */
size_t llamatch_engine_walk_unexpected(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                       void *context);
size_t llamatch_engine_walk_posted(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                   void *context);

/** Entries of one source; for posted receives LLAMATCH_ANY_SOURCE means the wild queue. */
size_t llamatch_engine_num_posted(const llamatch_engine_t *engine, int32_t source);
size_t llamatch_engine_num_unexpected(const llamatch_engine_t *engine, int32_t source);

/** All entries. 0 means empty; nothing is searched. */
size_t llamatch_engine_total_posted(const llamatch_engine_t *engine);
size_t llamatch_engine_total_unexpected(const llamatch_engine_t *engine);

/** Bytes that the engine holds at present. */
size_t llamatch_engine_bytes(const llamatch_engine_t *engine);

/** @return 0, or which invariant is broken (see above) */
int llamatch_engine_verify(const llamatch_engine_t *engine);

/** The rest of llamatch_engine_search. */
void *llamatch_engine_search_queues(llamatch_engine_t *engine, int32_t source, int32_t tag,
                                    llamatch_hold_t *hold);

static inline void *llamatch_engine_search(llamatch_engine_t *engine, int32_t source, int32_t tag,
                                           llamatch_hold_t *hold)
{
    if (0 == engine->num_unexpected) {
        hold->item = NULL;
        return NULL;
    }
    return llamatch_engine_search_queues(engine, source, tag, hold);
}

#endif /* LLAMATCH_ENGINE_H */
