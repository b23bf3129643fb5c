/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* The invariants of queues, lanes, indexes and engines: see the headers of the core. */
#include "llamatch_verify.h"

/* Words of live bits that a node has, also when not all of its entries are used. */
static size_t words_of(const llamatch_shape_t *shape)
{
    return ((shape->slots_offset - shape->tags_offset) / sizeof(int32_t) + 63) / 64;
}

int llamatch_queue_verify(const llamatch_queue_t *queue, const llamatch_shape_t *shape)
{
    const llamatch_node_t *prev = NULL;
    uint64_t newest = 0;
    size_t count = 0, words = words_of(shape);

    if ((NULL == queue->head) != (NULL == queue->tail)) {
        return 2;
    }
    for (const llamatch_node_t *node = queue->head; NULL != node; node = node->next) {
        uint32_t live = 0;

        if (node->prev != prev) {
            return 2;
        }
        if (0 == node->live && (node != queue->tail || 0 != node->end)) {
            return 3;
        }
        for (size_t word = 0; word < words; ++word) {
            live += (uint32_t) __builtin_popcountll(node->bits[word]);
        }
        if (live != node->live || node->end > shape->entries
            || (0 < live && !llamatch_node_is_live(node, node->end - 1))) {
            return 4;
        }
        if (0 < live && 0 < count && node->first_seq <= newest) {
            return 6;
        }
        for (uint32_t i = llamatch_node_next(node, 0); i < node->end;
             i = llamatch_node_next(node, i + 1)) {
            const llamatch_slot_t *slot = &llamatch_node_slots(shape, node)[i];

            if (0 < count && slot->seq <= newest) {
                return 5;
            }
            if (slot->seq < node->first_seq) {
                return 6;
            }
            newest = slot->seq;
            --live;
            ++count;
        }
        if (0 != live) {
            return 4; /* a bit beyond the end */
        }
        prev = node;
    }
    if (queue->tail != prev) {
        return 2;
    }
    count -= (NULL == queue->index) ? 0 : queue->index->marked;
    return (count == queue->count) ? 0 : 1;
}

static bool is_own(const llamatch_lane_t *lane)
{
    return lane->tags == lane->own_tags;
}

/* I1 for lanes that are small or short, and I2 */
static int verify_short(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_node_t *node = is_own(lane) ? NULL : lane->queue.head;
    uint64_t newest = 0;

    if (lane->room > shape->short_entries || lane->end > lane->room
        || 0 != (lane->live & ~llamatch_low_bits(lane->end)) || (0 == lane->live && 0 != lane->end)
        || (NULL == node && LLAMATCH_SMALL_ENTRIES < lane->room)
        || (!is_own(lane)
            && (0 != lane->queue.count || NULL != lane->queue.index || node != lane->queue.tail))) {
        return 21;
    }
    if (NULL != node
        && (llamatch_node_tags(shape, node) != lane->tags
            || llamatch_node_slots(shape, node) != lane->slots)) {
        return 22;
    }
    if (is_own(lane) != (lane->slots == lane->own_slots)
        || (is_own(lane) && lane->room != shape->own_entries)) {
        return 22;
    }
    for (uint64_t live = lane->live; 0 != live; live &= live - 1) {
        uint64_t seq = lane->slots[__builtin_ctzll(live)].seq;

        if (newest > seq) {
            return 22;
        }
        newest = seq + 1;
    }
    return 0;
}

/* I1 to I3 of an open lane: those of the queue as if it were long. */
static int verify_open(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_node_t *node = lane->queue.head;
    llamatch_lane_t closed = *lane;
    uint32_t word, end;
    uint64_t bits;
    int broken;

    if (NULL == node || 0 == lane->live || NULL != lane->queue.index) {
        return 21;
    }
    word = (uint32_t) (lane->tags - llamatch_node_tags(shape, node)) / 64;
    if (word * 64 >= node->end || 0 != (node->bits[word] & lane->live)
        || lane->tags != llamatch_node_tags(shape, node) + 64 * word
        || lane->slots != llamatch_node_slots(shape, node) + 64 * word) {
        return 22;
    }
    bits = node->bits[word];
    end = node->end;
    llamatch_lane_close(&closed, shape);
    broken = llamatch_queue_verify(&closed.queue, shape);
    node->bits[word] = bits;
    node->end = end;
    node->live = (uint16_t) (node->live - llamatch_lane_bits(lane->live));
    return broken;
}

int llamatch_lane_verify(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    int broken;

    if (llamatch_lane_is_open(lane)) {
        return verify_open(lane, shape);
    }
    broken = is_own(lane) ? 0 : llamatch_queue_verify(&lane->queue, shape);
    if (0 != broken) {
        return broken;
    }
    if (llamatch_lane_is_short(lane)) {
        return verify_short(lane, shape);
    }
    return ((0 == lane->queue.count) ? 0 : UINT64_MAX) == lane->live ? 0 : 21;
}

/* As llamatch_index.c computes it. */
static uint32_t bucket_number(const llamatch_index_t *index, int32_t tag)
{
    return (uint32_t) tag * UINT32_C(2654435769) >> index->shift;
}

/* Does a reference lead to a live entry with this tag? It may be wrong. */
static bool leads_to_entry(const llamatch_shape_t *shape, const llamatch_slot_t *reference,
                           int32_t tag)
{
    uintptr_t word = (uintptr_t) reference->item;
    const llamatch_node_t *node = (const llamatch_node_t *) (word - word % 64);
    uint32_t i = (uint32_t) (word % 64);

    while (i < node->end
           && (llamatch_node_slots(shape, node)[i].seq != reference->seq
               || !llamatch_node_is_live(node, i))) {
        i += 64;
    }
    return i < node->end && llamatch_node_tags(shape, node)[i] == tag;
}

int llamatch_index_verify(const llamatch_indexing_t *indexing, const llamatch_queue_t *queue,
                          const llamatch_shape_t *shape)
{
    const llamatch_index_t *index = queue->index;
    size_t references = 0, any_tags = 0, marked = 0, nodes = 0;

    for (const llamatch_node_t *node = queue->head; NULL != node; node = node->next) {
        ++nodes;
        for (uint32_t i = llamatch_node_next(node, 0); i < node->end;
             i = llamatch_node_next(node, i + 1)) {
            marked += (NULL == llamatch_node_slots(shape, node)[i].item);
        }
    }
    for (uint32_t i = 0; i < index->num_buckets; ++i) {
        const llamatch_queue_t *bucket = &index->buckets[i];

        if (0 != llamatch_queue_verify(bucket, &indexing->bucket)) {
            return 206;
        }
        for (const llamatch_node_t *node = bucket->head; NULL != node; node = node->next) {
            for (uint32_t j = llamatch_node_next(node, 0); j < node->end;
                 j = llamatch_node_next(node, j + 1)) {
                int32_t tag = llamatch_node_tags(&indexing->bucket, node)[j];
                const llamatch_slot_t *reference = &llamatch_node_slots(&indexing->bucket, node)[j];

                if (bucket_number(index, tag) != i || !leads_to_entry(shape, reference, tag)) {
                    return 202;
                }
                any_tags += (LLAMATCH_ANY_TAG == tag);
                ++references;
            }
        }
    }
    if (references != queue->count + index->marked) {
        return 201;
    }
    if (any_tags != index->any_tags) {
        return 203;
    }
    if (marked != index->marked) {
        return 204;
    }
    return (nodes == index->queue_nodes) ? 0 : 205;
}

static int verify_lane(const llamatch_engine_t *engine, const llamatch_lane_t *lane,
                       const llamatch_shape_t *shape, uint64_t limit)
{
    const llamatch_slot_t *slots = lane->slots;
    uint32_t end = lane->end;
    int broken = llamatch_lane_verify(lane, shape);

    if (0 == broken && llamatch_lane_has_index(lane)) {
        broken = llamatch_index_verify(&engine->setup->indexing, &lane->queue, shape);
    }
    if (!llamatch_lane_is_short(lane)) {
        const llamatch_node_t *node = lane->queue.tail;

        slots = (NULL != node) ? llamatch_node_slots(shape, node) : NULL;
        end = (NULL != node) ? node->end : 0;
    }
    /* Sorted: only the last number has to be compared with the counter. */
    if (0 == broken && 0 < end && slots[end - 1].seq >= limit) {
        broken = 105;
    }
    return broken;
}

int llamatch_engine_verify(const llamatch_engine_t *engine)
{
    size_t posted = llamatch_lane_count(&engine->wild), unexpected = 0, in_ring = 0,
           expected_in_ring = 0;
    int broken =
        verify_lane(engine, &engine->wild, &engine->setup->posted_shape, engine->next_post);

    for (const llamatch_peer_t *peer = engine->peers; 0 == broken && NULL != peer;
         peer = peer->next) {
        broken =
            verify_lane(engine, &peer->posted, &engine->setup->posted_shape, engine->next_post);
        if (0 == broken) {
            broken = verify_lane(engine, &peer->unexpected, &engine->setup->unexpected_shape,
                                 engine->next_arrival);
        }
        if (0 == broken && 0 != peer->unexpected.live && NULL == peer->ring_next) {
            return 103;
        }
        expected_in_ring += (NULL != peer->ring_next);
        posted += llamatch_lane_count(&peer->posted);
        unexpected += llamatch_lane_count(&peer->unexpected);
    }
    if (0 != broken) {
        return broken;
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
    if (engine->num_posted > engine->most_posted
        || engine->num_unexpected > engine->most_unexpected) {
        return 104;
    }
    if (posted != engine->num_posted) {
        return 101;
    }
    return (unexpected == engine->num_unexpected) ? 0 : 102;
}
