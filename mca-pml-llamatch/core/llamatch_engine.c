/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Posted and unexpected queues of one communicator: see the header for structure, the proof of
 * the order and the invariants.
 */
#include "llamatch_engine.h"

#include <string.h>

struct llamatch_peer {
    llamatch_queue_t posted;
    llamatch_queue_t unexpected;
    llamatch_peer_t *ring_next; /**< NULL: not in the ring */
    llamatch_peer_t *ring_prev;
    int32_t source;
};

/* 8 spare nodes of 384 bytes: enough that bursts of a few peers never reach the allocator. 256
 * idle ones: 96 KiB of a communicator at most, and its first 256 short queues cost least. */
const llamatch_config_t llamatch_config_default = {NULL, LLAMATCH_ENTRIES_DEFAULT, 8, 256, 0};

/* Keeps rare work out of the functions on the path of every message, which then need not save the
 * registers it would use. */
#if defined(__GNUC__)
#define RARE __attribute__((noinline, cold))
#else
#define RARE
#endif

static void *engine_alloc(llamatch_engine_t *engine, size_t bytes)
{
    return engine->nodes.allocator.alloc(engine->nodes.allocator.context, LLAMATCH_LINE, bytes);
}

static void engine_free(llamatch_engine_t *engine, void *memory, size_t bytes)
{
    if (NULL != memory) {
        engine->nodes.allocator.free(engine->nodes.allocator.context, memory, bytes);
    }
}

static int peers_grow(llamatch_engine_t *engine, uint32_t size)
{
    llamatch_peer_t **peers = engine_alloc(engine, size * sizeof(*peers));

    if (NULL == peers) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    memset(peers, 0, size * sizeof(*peers));
    if (NULL != engine->peers) {
        memcpy(peers, engine->peers, engine->peers_size * sizeof(*peers));
        engine_free(engine, engine->peers, engine->peers_size * sizeof(*peers));
    }
    engine->peers = peers;
    engine->peers_size = size;
    return LLAMATCH_OK;
}

int llamatch_engine_create(const llamatch_config_t *config, llamatch_engine_t **engine_out)
{
    llamatch_nodes_t nodes;
    llamatch_engine_t *engine;
    int status;

    status = llamatch_nodes_init(&nodes, config->entries, config->max_spare, config->max_idle,
                                 config->allocator);
    if (LLAMATCH_OK != status) {
        return status;
    }
    engine = nodes.allocator.alloc(nodes.allocator.context, LLAMATCH_LINE, sizeof(*engine));
    if (NULL == engine) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    memset(engine, 0, sizeof(*engine));
    engine->nodes = nodes;
    llamatch_queue_init(&engine->wild);
    if (0 < config->peers && LLAMATCH_OK != (status = peers_grow(engine, config->peers))) {
        engine_free(engine, engine, sizeof(*engine));
        return status;
    }
    *engine_out = engine;
    return LLAMATCH_OK;
}

void llamatch_engine_destroy(llamatch_engine_t *engine)
{
    if (NULL == engine) {
        return;
    }
    for (uint32_t i = 0; i < engine->peers_size; ++i) {
        llamatch_peer_t *peer = engine->peers[i];

        if (NULL != peer) {
            llamatch_queue_clear(&peer->posted, &engine->nodes);
            llamatch_queue_clear(&peer->unexpected, &engine->nodes);
            engine_free(engine, peer, sizeof(*peer));
        }
    }
    engine_free(engine, engine->peers, engine->peers_size * sizeof(*engine->peers));
    llamatch_queue_clear(&engine->wild, &engine->nodes);
    llamatch_nodes_fini(&engine->nodes);
    engine_free(engine, engine, sizeof(*engine));
}

/* A peer's state, or NULL when nothing was ever queued for it. */
static inline llamatch_peer_t *peer_lookup(const llamatch_engine_t *engine, int32_t source)
{
    return ((uint32_t) source < engine->peers_size) ? engine->peers[source] : NULL;
}

RARE static int peer_create(llamatch_engine_t *engine, int32_t source, llamatch_peer_t **peer_out)
{
    llamatch_peer_t *peer;

    if (0 > source) {
        return LLAMATCH_ERR_ARGUMENT;
    }
    if ((uint32_t) source >= engine->peers_size) {
        /* Doubling, from one line of pointers on, keeps the copying linear in the end. */
        uint32_t size = (0 == engine->peers_size) ? 8 : engine->peers_size;

        while (size <= (uint32_t) source) {
            size *= 2;
        }
        if (LLAMATCH_OK != peers_grow(engine, size)) {
            return LLAMATCH_ERR_NO_MEMORY;
        }
    }
    peer = engine_alloc(engine, sizeof(*peer));
    if (NULL == peer) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    llamatch_queue_init(&peer->posted);
    llamatch_queue_init(&peer->unexpected);
    peer->ring_next = NULL;
    peer->ring_prev = NULL;
    peer->source = source;
    engine->peers[source] = peer;
    ++engine->num_peers;
    *peer_out = peer;
    return LLAMATCH_OK;
}

/* A peer's state, made now if need be. */
static inline int peer_get(llamatch_engine_t *engine, int32_t source, llamatch_peer_t **peer_out)
{
    *peer_out = peer_lookup(engine, source);
    return (NULL != *peer_out) ? LLAMATCH_OK : peer_create(engine, source, peer_out);
}

static void ring_insert(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (NULL == engine->ring) {
        peer->ring_next = peer;
        peer->ring_prev = peer;
        engine->ring = peer;
    } else {
        /* Before the one that is served next is behind all others. */
        peer->ring_next = engine->ring;
        peer->ring_prev = engine->ring->ring_prev;
        peer->ring_prev->ring_next = peer;
        peer->ring_next->ring_prev = peer;
    }
}

static void ring_remove(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (peer->ring_next == peer) {
        engine->ring = NULL;
    } else {
        peer->ring_prev->ring_next = peer->ring_next;
        peer->ring_next->ring_prev = peer->ring_prev;
        if (engine->ring == peer) {
            engine->ring = peer->ring_next;
        }
    }
    peer->ring_next = NULL;
    peer->ring_prev = NULL;
}

int llamatch_engine_post(llamatch_engine_t *engine, int32_t source, int32_t tag, void *item,
                         uint64_t *seq_out)
{
    llamatch_queue_t *queue = &engine->wild;
    uint64_t seq = engine->next_post;
    int status;

    if (LLAMATCH_ANY_SOURCE != source) {
        llamatch_peer_t *peer;

        status = peer_get(engine, source, &peer);
        if (LLAMATCH_OK != status) {
            return status;
        }
        queue = &peer->posted;
    }
    status = llamatch_queue_append(queue, &engine->nodes, tag, seq, item);
    if (LLAMATCH_OK != status) {
        return status;
    }
    ++engine->next_post;
    ++engine->num_posted;
    if (NULL != seq_out) {
        *seq_out = seq;
    }
    return LLAMATCH_OK;
}

static inline void *take_posted(llamatch_engine_t *engine, llamatch_queue_t *queue,
                                llamatch_pos_t pos)
{
    if (NULL == pos.node) {
        return NULL;
    }
    --engine->num_posted;
    return llamatch_queue_remove(queue, &engine->nodes, pos);
}

/*
 * The earliest match of two queues that are not empty: their nodes are walked in the order of
 * their first numbers, so no more is examined than the entries posted before the result, plus
 * the rest of one node.
 */
static void *match_merged(llamatch_engine_t *engine, llamatch_queue_t *specific, llamatch_key_t key)
{
    llamatch_queue_t *queue = specific, *other_queue = &engine->wild;
    llamatch_node_t *other = other_queue->head;
    llamatch_pos_t pos = {queue->head, 0};
    uint64_t seq;

    for (;;) {
        if (other->first_seq < pos.node->first_seq) {
            llamatch_queue_t *swap_queue = queue;
            llamatch_node_t *swap = pos.node;

            queue = other_queue;
            other_queue = swap_queue;
            pos.node = other;
            other = swap;
        }
        pos.index = llamatch_node_find(&engine->nodes, pos.node, key);
        if (pos.index < pos.node->end) {
            break;
        }
        pos.node = pos.node->next;
        if (NULL == pos.node) {
            /* Only the other queue is left. */
            return take_posted(engine, other_queue,
                               llamatch_queue_find_from(other, &engine->nodes, key));
        }
    }
    /* What was posted before this match and not examined is in nodes that begin before it. */
    seq = llamatch_node_slots(&engine->nodes, pos.node)[pos.index].seq;
    for (; NULL != other && other->first_seq < seq; other = other->next) {
        uint32_t index = llamatch_node_find(&engine->nodes, other, key);

        if (index < other->end) {
            if (llamatch_node_slots(&engine->nodes, other)[index].seq < seq) {
                pos.node = other;
                pos.index = index;
                queue = other_queue;
            }
            break;
        }
    }
    return take_posted(engine, queue, pos);
}

void *llamatch_engine_match(llamatch_engine_t *engine, int32_t source, int32_t tag)
{
    llamatch_peer_t *peer = peer_lookup(engine, source);
    llamatch_key_t key = llamatch_key_of_message(tag);
    llamatch_queue_t *queue = &engine->wild;

    if (0 == engine->num_posted || LLAMATCH_ANY_TAG == tag) {
        return NULL;
    }
    if (NULL != peer && 0 != peer->posted.count) {
        if (0 != engine->wild.count) {
            return match_merged(engine, &peer->posted, key);
        }
        queue = &peer->posted;
    }
    return take_posted(engine, queue, llamatch_queue_find(queue, &engine->nodes, key));
}

int llamatch_engine_cancel(llamatch_engine_t *engine, int32_t source, uint64_t seq)
{
    llamatch_queue_t *queue = &engine->wild;
    llamatch_pos_t pos;

    if (LLAMATCH_ANY_SOURCE != source) {
        llamatch_peer_t *peer = peer_lookup(engine, source);

        if (NULL == peer) {
            return LLAMATCH_NOT_FOUND;
        }
        queue = &peer->posted;
    }
    pos = llamatch_queue_find_seq(queue, &engine->nodes, seq);
    if (NULL == pos.node) {
        return LLAMATCH_NOT_FOUND;
    }
    (void) llamatch_queue_remove(queue, &engine->nodes, pos);
    --engine->num_posted;
    return LLAMATCH_OK;
}

int llamatch_engine_arrive(llamatch_engine_t *engine, int32_t source, int32_t tag, void *item)
{
    llamatch_peer_t *peer;
    int status;

    if (LLAMATCH_ANY_TAG == tag) {
        return LLAMATCH_ERR_ARGUMENT;
    }
    status = peer_get(engine, source, &peer);
    if (LLAMATCH_OK != status) {
        return status;
    }
    status =
        llamatch_queue_append(&peer->unexpected, &engine->nodes, tag, engine->next_arrival, item);
    if (LLAMATCH_OK != status) {
        return status;
    }
    ++engine->next_arrival;
    ++engine->num_unexpected;
    if (NULL == peer->ring_next) {
        ring_insert(engine, peer);
    }
    return LLAMATCH_OK;
}

static bool search_peer(const llamatch_engine_t *engine, llamatch_peer_t *peer, llamatch_key_t key,
                        llamatch_hold_t *hold)
{
    llamatch_pos_t pos = llamatch_queue_find(&peer->unexpected, &engine->nodes, key);

    if (NULL == pos.node) {
        return false;
    }
    hold->item = llamatch_node_slots(&engine->nodes, pos.node)[pos.index].item;
    hold->peer = peer;
    hold->pos = pos;
    hold->source = peer->source;
    hold->tag = llamatch_node_tags(pos.node)[pos.index];
    return true;
}

void *llamatch_engine_search_queues(llamatch_engine_t *engine, int32_t source, int32_t tag,
                                    llamatch_hold_t *hold)
{
    llamatch_key_t key = llamatch_key_of_receive(tag);

    hold->item = NULL;
    hold->any = (LLAMATCH_ANY_SOURCE == source);
    if (hold->any) {
        llamatch_peer_t *peer = engine->ring;

        do {
            if (search_peer(engine, peer, key, hold)) {
                break;
            }
            peer = peer->ring_next;
        } while (peer != engine->ring);
    } else {
        llamatch_peer_t *peer = peer_lookup(engine, source);

        if (NULL != peer) {
            (void) search_peer(engine, peer, key, hold);
        }
    }
    return hold->item;
}

void llamatch_engine_take(llamatch_engine_t *engine, const llamatch_hold_t *hold)
{
    llamatch_peer_t *peer = hold->peer;

    (void) llamatch_queue_remove(&peer->unexpected, &engine->nodes, hold->pos);
    --engine->num_unexpected;
    if (hold->any) {
        engine->ring = peer->ring_next;
    }
    if (0 == peer->unexpected.count) {
        ring_remove(engine, peer);
    }
}

size_t llamatch_engine_walk_unexpected(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                       void *context)
{
    size_t removed = 0;

    for (uint32_t i = 0; i < engine->peers_size && 0 != engine->num_unexpected; ++i) {
        llamatch_peer_t *peer = engine->peers[i];
        size_t here;

        if (NULL == peer || 0 == peer->unexpected.count) {
            continue;
        }
        here = llamatch_queue_walk(&peer->unexpected, &engine->nodes, visit, context);
        engine->num_unexpected -= here;
        removed += here;
        if (0 == peer->unexpected.count) {
            ring_remove(engine, peer);
        }
    }
    return removed;
}

size_t llamatch_engine_walk_posted(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                   void *context)
{
    size_t removed = 0;

    for (uint32_t i = 0; i < engine->peers_size; ++i) {
        if (NULL != engine->peers[i]) {
            removed +=
                llamatch_queue_walk(&engine->peers[i]->posted, &engine->nodes, visit, context);
        }
    }
    removed += llamatch_queue_walk(&engine->wild, &engine->nodes, visit, context);
    engine->num_posted -= removed;
    return removed;
}

size_t llamatch_engine_num_posted(const llamatch_engine_t *engine, int32_t source)
{
    const llamatch_peer_t *peer;

    if (LLAMATCH_ANY_SOURCE == source) {
        return engine->wild.count;
    }
    peer = peer_lookup(engine, source);
    return (NULL != peer) ? peer->posted.count : 0;
}

size_t llamatch_engine_num_unexpected(const llamatch_engine_t *engine, int32_t source)
{
    const llamatch_peer_t *peer = peer_lookup(engine, source);

    return (NULL != peer) ? peer->unexpected.count : 0;
}

size_t llamatch_engine_total_posted(const llamatch_engine_t *engine)
{
    return engine->num_posted;
}

size_t llamatch_engine_total_unexpected(const llamatch_engine_t *engine)
{
    return engine->num_unexpected;
}

size_t llamatch_engine_bytes(const llamatch_engine_t *engine)
{
    return sizeof(*engine) + engine->peers_size * sizeof(*engine->peers)
           + engine->num_peers * sizeof(**engine->peers)
           + (engine->nodes.num_used + engine->nodes.num_spare) * engine->nodes.node_bytes;
}

/* Sorted queues: only the last number has to be compared with the counter. */
static bool numbers_below(const llamatch_engine_t *engine, const llamatch_queue_t *queue,
                          uint64_t limit)
{
    return 0 == queue->count
           || llamatch_node_slots(&engine->nodes, queue->tail)[queue->tail->end - 1].seq < limit;
}

int llamatch_engine_verify(const llamatch_engine_t *engine)
{
    size_t posted = engine->wild.count, unexpected = 0, in_ring = 0, expected_in_ring = 0;
    int broken = llamatch_queue_verify(&engine->wild, &engine->nodes);

    if (0 != broken) {
        return broken;
    }
    if (!numbers_below(engine, &engine->wild, engine->next_post)) {
        return 105;
    }
    for (uint32_t i = 0; i < engine->peers_size; ++i) {
        const llamatch_peer_t *peer = engine->peers[i];

        if (NULL == peer) {
            continue;
        }
        if ((int32_t) i != peer->source) {
            return 104;
        }
        if (0 != (broken = llamatch_queue_verify(&peer->posted, &engine->nodes))
            || 0 != (broken = llamatch_queue_verify(&peer->unexpected, &engine->nodes))) {
            return broken;
        }
        if (!numbers_below(engine, &peer->posted, engine->next_post)
            || !numbers_below(engine, &peer->unexpected, engine->next_arrival)) {
            return 105;
        }
        if ((0 != peer->unexpected.count) != (NULL != peer->ring_next)) {
            return 103;
        }
        expected_in_ring += (0 != peer->unexpected.count);
        posted += peer->posted.count;
        unexpected += peer->unexpected.count;
    }
    if (NULL != engine->ring) {
        const llamatch_peer_t *peer = engine->ring;

        do {
            if (NULL == peer->ring_next || peer->ring_next->ring_prev != peer
                || ++in_ring > expected_in_ring) {
                return 103;
            }
            peer = peer->ring_next;
        } while (peer != engine->ring);
    }
    if (in_ring != expected_in_ring) {
        return 103;
    }
    if (posted != engine->num_posted) {
        return 101;
    }
    return (unexpected == engine->num_unexpected) ? 0 : 102;
}
