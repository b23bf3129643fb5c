/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The matching engine of one communicator: posted receives and unexpected messages.
 *
 *     peer     | posted | unexpected | ring links |    one per source that was used; the caller's
 *     wild     posted receives with MPI_ANY_SOURCE
 *     ring     peers that have unexpected messages (or had), in the order they are served
 *
 * Both queues are split by peer, because a message can only match receives for its own source or
 * for any source: with many peers a single queue would make each search pass everybody's entries.
 * The state of a peer is part of the caller's own state for it, so a peer that was never talked to
 * costs nothing here. A queue that is long and searched deeply gets a hash over its tags
 * (llamatch_index.h); a short one, or one that is matched at its front, never does. Up to 64
 * entries, and the first ones of longer queues, are kept in a form that costs no more than a list
 * of them (llamatch_lane.h).
 *
 * Who does what, by the form of the lanes that have entries. Functions whose names end in _slow do
 * an operation completely, the inline ones only what comes first here. An open lane that has no
 * match within reach becomes long before it is searched on:
 *
 *     lanes                    | a message searches receives      | a receive searches messages
 *     -------------------------+----------------------------------+-----------------------------
 *     one, short or open:      |                                  |
 *       its first entry        | llamatch_engine_match (inline)   | ..._receive (inline)
 *       another one            | take_behind                      | take_behind
 *     one, long                | first_posted: queue_find         | first_message: the same
 *     one, indexed             | first_posted: index_find, with   | first_message: index_find;
 *                              | the tag and with ANY_TAG         | for ANY_TAG queue_find
 *     two, short or open, the  | llamatch_engine_match (inline)   | there is one lane per peer;
 *       first or second of all |                                  | any source: search_ring
 *     two, short and short     | match_both                       |
 *     two, long and long       | first_merged                     |
 *     two, others              | first_of_both                    |
 *
 * Tags are no column: ANY_TAG on either side is part of the key (llamatch_key_t), but for an index.
 *
 * Order (rule M1), and why it holds
 * ---------------------------------
 * Receives. Each posted receive gets the next value of a 64-bit counter, so posting order is the
 * order of these numbers (2^64 receives do not happen). Each queue is append-only at its tail,
 * hence sorted by them (queue invariant I5). The receives that can match a message from source s
 * are exactly those in peer s's posted queue and in the wild queue. "First match of a sorted
 * queue" is the earliest match in that queue; the smaller number of the two first matches is
 * therefore the earliest posted of all matching receives. Short lanes are sorted as well (lane
 * invariant I2). Where a lane is searched after the other one, entries that are not older than the
 * match there need not be looked at. Of two queues without an index, first_merged finds it by
 * walking their nodes in the order of their first numbers. When a node yields a match with number
 * m, every entry that was posted before m and is not yet examined is in the other queue, in nodes
 * whose first number is smaller than m: only those are still searched, and the result is the
 * minimum. Nothing posted before the result is left unexamined. With an index, the first match of a
 * queue is the older one of its first entry with the message's tag and its first entry with ANY_TAG
 * (llamatch_index.h says why these are found), and no others match.
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
 * Thread safety: none. One caller at a time per engine; ob1's matching lock does that. Engines
 * share nothing but the pool, which is safe.
 *
 * Invariants (checked by the unit tests: llamatch_engine_verify in test/unit/llamatch_verify.h):
 *  I1 num_posted is the sum of the counts of all posted queues and the wild queue.
 *  I2 num_unexpected is the sum of the counts of all unexpected queues.
 *  I3 a peer that has unexpected messages is in the ring (one that has none any more leaves it when
 *     a search comes across it); the ring is a closed, doubly linked circle.
 *  I4 no length is greater than its high-water mark.
 *  I5 each number in a posted queue is smaller than next_post, each in an unexpected queue than
 *     next_arrival.
 *  I6 each lane and each index fulfils its own invariants.
 */
#ifndef LLAMATCH_ENGINE_H
#define LLAMATCH_ENGINE_H

#include "llamatch_index.h"
#include "llamatch_lane.h"

/** How queues are kept; all give the same matches. */
typedef enum {
    LLAMATCH_AUTO, /**< arrays, with a hash where it pays */
    LLAMATCH_LLA,  /**< arrays only: the paper's structure */
    LLAMATCH_HASH, /**< a hash for every queue, from its first entry on */
    LLAMATCH_LIST  /**< arrays of one entry: a linked list */
} llamatch_kind_t;

#define LLAMATCH_NUM_KINDS 4

/** Entries above which a queue of kind AUTO may get an index, unless a test wants another number.
 */
#define LLAMATCH_INDEX_ABOVE 96

/** Depths from 1, 2-3, 4-7, ... up to 2^15 and more. */
#define LLAMATCH_DEPTHS 16

/** Depths up to this have a count of their own: all of what a lane has within reach. */
#define LLAMATCH_SHALLOW LLAMATCH_SHORT_MAX

/**
 * How deep the searches of one kind of queue went. The depth of a search is the number of entries
 * that it looked at, the match included. Only depths from 2 on are counted: the usual search finds
 * the first entry and must cost as little as possible.
 */
typedef struct llamatch_depths {
    uint64_t shallow[LLAMATCH_SHALLOW + 1]; /**< searches by depth */
    uint64_t deep[LLAMATCH_DEPTHS];         /**< the others, by depth as above */
    uint64_t deep_sum;                      /**< of the depths of the same */
    uint64_t deep_max;
} llamatch_depths_t;

/** Counts of one kind of queue. Searches are those of queues that were not empty; what can be
 * computed from the rest is not counted here, but by llamatch_engine_stats. */
typedef struct llamatch_counts {
    uint64_t searches;         /**< those that took nothing */
    uint64_t removed;          /**< entries, by a cancel or a walk */
    uint32_t indexed;          /**< times that a queue got an index */
    uint32_t dropped;          /**< times that an index was given up */
    llamatch_depths_t *depths; /**< NULL: no search went beyond the first entry, or no memory */
} llamatch_counts_t;

/** What llamatch_engine_stats tells of one kind of queue. */
typedef struct llamatch_stats {
    uint64_t length;     /**< entries at present */
    uint64_t length_max; /**< and at most */
    uint64_t matches;
    uint64_t searches;
    uint64_t depth_sum; /**< over all searches */
    uint64_t depth_max;
    uint64_t depths[LLAMATCH_DEPTHS];
    uint64_t indexed;
    uint64_t dropped;
} llamatch_stats_t;

/** One source. Part of the caller's state of it; initialised by llamatch_peer_init. */
typedef struct llamatch_peer {
    llamatch_lane_t posted;
    struct llamatch_peer *ring_prev;
    struct llamatch_peer *ring_next; /**< NULL: not in the ring; beside what else a message needs */
    llamatch_lane_t unexpected;
    struct llamatch_peer *next; /**< of all peers that ever had an entry */
    bool known;                 /**< is in that list */
} llamatch_peer_t;

/**
 * What all engines of one kind share, so that an engine, of which each communicator has one, is
 * small: with many communicators it is pages that a message costs. Private.
 */
typedef struct llamatch_setup {
    llamatch_shape_t posted_shape;
    llamatch_shape_t unexpected_shape;
    llamatch_indexing_t indexing;
    llamatch_kind_t kind;
    uint32_t index_above; /**< entries from which on a queue may have an index */
    llamatch_hot_t *hot;
} llamatch_setup_t;

/** Private; here only so that short queues can be matched inline. */
typedef struct llamatch_engine {
    uint32_t num_unexpected;
    uint32_t most_unexpected; /**< so far */
    uint32_t num_posted;
    uint32_t most_posted;
    uint64_t next_post;
    uint64_t next_arrival;
    struct llamatch_watch *watch; /**< the caller's: NULL, or advice is asked for */
    llamatch_lane_t wild;         /**< receives for any source */
    llamatch_peer_t *ring;        /**< the peer to be served next */
    llamatch_peer_t *peers;       /**< all that ever had an entry */
    const llamatch_setup_t *setup;
    llamatch_counts_t posted;
    llamatch_counts_t unexpected;
    uint64_t second; /**< searches of receives that took the second entry, inline */
} llamatch_engine_t;

/** How to make engines. Zero is not a default: start from llamatch_config_default. */
typedef struct llamatch_config {
    llamatch_pool_t *pool; /**< where arrays come from; must be set */
    uint32_t entries;      /**< entries per array, a power of two in 2..512 */
    llamatch_kind_t kind;
    llamatch_find_fn_t find;   /**< NULL: the best one of this CPU */
    llamatch_moved_fn_t moved; /**< told when a posted receive has another array; may be NULL */
    uint32_t index_above;      /**< AUTO: entries above which a queue may get an index */
    llamatch_hot_t *hot;       /**< told what a search touches first; NULL: there is no heater */
} llamatch_config_t;

extern const llamatch_config_t llamatch_config_default;

/** An unexpected message. */
typedef struct llamatch_message {
    void *item;            /**< NULL: none */
    llamatch_peer_t *peer; /**< whose it is, if there is one */
} llamatch_message_t;

/** @return LLAMATCH_OK, LLAMATCH_ERR_ARGUMENT or LLAMATCH_ERR_NO_MEMORY */
int llamatch_setup_init(llamatch_setup_t *setup, const llamatch_config_t *config);

/** @param setup  must stay as long as the engine */
void llamatch_engine_init(llamatch_engine_t *engine, const llamatch_setup_t *setup);

/** Forget all entries of all peers and give all memory back. */
void llamatch_engine_fini(llamatch_engine_t *engine);

/** Prepare a peer. From its first entry on it must stay where it is until the engine is finished.
 */
void llamatch_peer_init(llamatch_peer_t *peer);

/**
 * Append a posted receive.
 *
 * @param peer   NULL for a receive for any source
 * @param tag    tag or LLAMATCH_ANY_TAG
 * @param place  where the item is, for llamatch_engine_cancel. Written here; later, and possibly
 *               before this returns, config.moved tells of another one
 * @return LLAMATCH_OK, or LLAMATCH_ERR_NO_MEMORY with the engine unchanged
 */
static inline int llamatch_engine_post(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                       int32_t tag, void *item, uint64_t *place);

/**
 * Find and remove the first posted receive that matches an incoming message. To be called again
 * for the same message when the receive turns out to be a probe.
 *
 * @param tag  the message's, which is never LLAMATCH_ANY_TAG
 * @return the receive, or NULL
 */
static inline void *llamatch_engine_match(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                          int32_t tag);

/**
 * Remove a posted receive.
 *
 * @param peer   as given to llamatch_engine_post, unless llamatch_place_has_lane
 * @param place  as got from llamatch_engine_post or last told; 0: none
 * @return LLAMATCH_OK, or LLAMATCH_NOT_FOUND when it is not there
 */
static inline int llamatch_engine_cancel(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                         void *item, uint64_t place);

/**
 * Append an unexpected message.
 *
 * @param tag  LLAMATCH_ANY_TAG, of an erroneous program, becomes one that nobody receives
 * @return LLAMATCH_OK, or LLAMATCH_ERR_NO_MEMORY with the engine unchanged
 */
static inline int llamatch_engine_arrive(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                         int32_t tag, void *item);

/** Are there unexpected messages of a peer, or of any when it is NULL? */
static inline bool llamatch_engine_has_messages(const llamatch_engine_t *engine,
                                                const llamatch_peer_t *peer)
{
    return (NULL != peer) ? 0 != peer->unexpected.live : 0 != engine->num_unexpected;
}

/**
 * Find and remove the first unexpected message that a receive matches.
 *
 * @param peer  NULL for any source
 * @param tag   tag or LLAMATCH_ANY_TAG
 */
static inline llamatch_message_t llamatch_engine_receive(llamatch_engine_t *engine,
                                                         llamatch_peer_t *peer, int32_t tag);

/** Find the same message and leave it there: a second probe, or a receive, finds it again. */
static inline llamatch_message_t llamatch_engine_probe(llamatch_engine_t *engine,
                                                       llamatch_peer_t *peer, int32_t tag);

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

/** What happened so far. */
void llamatch_engine_stats(const llamatch_engine_t *engine, llamatch_stats_t *posted,
                           llamatch_stats_t *unexpected);

/** Queues that have an index at present. */
size_t llamatch_engine_num_indexed(const llamatch_engine_t *engine);

/** The inline functions below for all cases, each of which they do completely. */
int llamatch_engine_post_slow(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                              void *item, uint64_t *place);
void *llamatch_engine_match_slow(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag);
int llamatch_engine_cancel_slow(llamatch_engine_t *engine, llamatch_lane_t *lane, void *item,
                                uint64_t place);
int llamatch_engine_arrive_slow(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                                void *item);
llamatch_message_t llamatch_engine_receive_slow(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                                int32_t tag);
llamatch_message_t llamatch_engine_probe_slow(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                              int32_t tag);

/** A peer without messages gets its first one, and goes to the ring's end. */
void llamatch_engine_enter_ring(llamatch_engine_t *engine, llamatch_peer_t *peer);

/* All below is for what lanes have within reach (llamatch_lane.h). That of a peer that is not known
 * yet has nothing. */

static inline void llamatch_lengthen(uint32_t *length, uint32_t *most)
{
    uint32_t value = *length + 1;

    *length = value;
    if (LLAMATCH_UNLIKELY(value > *most)) {
        *most = value;
    }
}

static inline int llamatch_engine_post(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                       int32_t tag, void *item, uint64_t *place)
{
    llamatch_lane_t *lane = (NULL != peer) ? &peer->posted : &engine->wild;
    uint64_t seq = engine->next_post;

    if (LLAMATCH_UNLIKELY(!llamatch_lane_push(lane, tag, seq, item))) {
        return llamatch_engine_post_slow(engine, peer, tag, item, place);
    }
    *place = (uintptr_t) lane + 1;
    engine->next_post = seq + 1;
    llamatch_lengthen(&engine->num_posted, &engine->most_posted);
    return LLAMATCH_OK;
}

static inline void *llamatch_engine_match(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                          int32_t tag)
{
    llamatch_lane_t *lane = &peer->posted, *other = &engine->wild;
    uint32_t first;
    void *item;

    if (LLAMATCH_LIKELY(0 == other->live)) {
        if (0 == lane->live) {
            return NULL;
        }
    } else if (0 == lane->live) {
        lane = other;
    } else if (!llamatch_lane_has_front(lane) || !llamatch_lane_has_front(other)) {
        return llamatch_engine_match_slow(engine, peer, tag);
    } else {
        if (llamatch_lane_first_seq(other) < llamatch_lane_first_seq(lane)) {
            lane = other;
            other = &peer->posted;
        }
        /* If one waits for something rare, the second of all is the first of the other lane. */
        first = llamatch_lane_first(lane);
        if (0 == (lane->live & (lane->live - 1)) && llamatch_lane_is_short(lane)
            && !llamatch_key_accepts(llamatch_key_of_message(tag), lane->tags[first])) {
            first = llamatch_lane_first(other);
            if (!llamatch_key_accepts(llamatch_key_of_message(tag), other->tags[first])) {
                return llamatch_engine_match_slow(engine, peer, tag);
            }
            lane = other;
            ++engine->second;
        }
    }
    first = llamatch_lane_first(lane);
    if (LLAMATCH_UNLIKELY(
            !llamatch_lane_has_front(lane)
            || !llamatch_key_accepts(llamatch_key_of_message(tag), lane->tags[first]))) {
        return llamatch_engine_match_slow(engine, peer, tag);
    }
    item = lane->slots[first].item;
    --engine->num_posted;
    llamatch_lane_take(lane, &engine->setup->posted_shape, first);
    return item;
}

static inline int llamatch_engine_cancel(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                         void *item, uint64_t place)
{
    llamatch_lane_t *lane = llamatch_place_has_lane(place) ? llamatch_place_lane(place)
                            : (NULL != peer)               ? &peer->posted
                                                           : &engine->wild;

    if (0 == lane->live || !llamatch_lane_has_front(lane)
        || item != lane->slots[llamatch_lane_first(lane)].item) {
        return llamatch_engine_cancel_slow(engine, lane, item, place);
    }
    --engine->num_posted;
    ++engine->posted.removed;
    llamatch_lane_take(lane, &engine->setup->posted_shape, llamatch_lane_first(lane));
    return LLAMATCH_OK;
}

static inline int llamatch_engine_arrive(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                         int32_t tag, void *item)
{
    llamatch_lane_t *lane = &peer->unexpected;
    bool is_first = 0 == lane->live;
    uint64_t seq = engine->next_arrival;

    if (LLAMATCH_UNLIKELY(LLAMATCH_ANY_TAG == tag || !llamatch_lane_push(lane, tag, seq, item))) {
        return llamatch_engine_arrive_slow(engine, peer, tag, item);
    }
    /* The first message of a peer goes to the ring's end, where it is if the ring is just this one.
     */
    if (LLAMATCH_UNLIKELY(is_first && peer != peer->ring_next)) {
        llamatch_engine_enter_ring(engine, peer);
    }
    engine->next_arrival = seq + 1;
    llamatch_lengthen(&engine->num_unexpected, &engine->most_unexpected);
    return LLAMATCH_OK;
}

static inline llamatch_message_t llamatch_engine_receive(llamatch_engine_t *engine,
                                                         llamatch_peer_t *peer, int32_t tag)
{
    llamatch_message_t message = {NULL, peer};
    llamatch_lane_t *lane;
    uint32_t first;

    if (!llamatch_engine_has_messages(engine, peer)) {
        return message;
    }
    if (NULL == peer) {
        message.peer = engine->ring;
        if (LLAMATCH_UNLIKELY(message.peer != message.peer->ring_next)) { /* they take turns */
            return llamatch_engine_receive_slow(engine, NULL, tag);
        }
    }
    lane = &message.peer->unexpected;
    first = llamatch_lane_first(lane);
    if (LLAMATCH_UNLIKELY(
            !llamatch_lane_has_front(lane)
            || !llamatch_key_accepts(llamatch_key_of_receive(tag), lane->tags[first]))) {
        return llamatch_engine_receive_slow(engine, message.peer, tag);
    }
    message.item = lane->slots[first].item;
    --engine->num_unexpected;
    llamatch_lane_take(lane, &engine->setup->unexpected_shape, first);
    return message;
}

static inline llamatch_message_t llamatch_engine_probe(llamatch_engine_t *engine,
                                                       llamatch_peer_t *peer, int32_t tag)
{
    if (!llamatch_engine_has_messages(engine, peer)) {
        return (llamatch_message_t){NULL, peer};
    }
    return llamatch_engine_probe_slow(engine, peer, tag);
}

#endif /* LLAMATCH_ENGINE_H */
