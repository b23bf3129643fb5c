/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What an engine tells of itself: its counters, and whether its invariants hold.
 */
#include "llamatch_engine.h"

#include <string.h>

static void tell_depths(const llamatch_depths_t *depths, llamatch_stats_t *stats)
{
    memcpy(stats->depths, depths->deep, sizeof(stats->depths));
    stats->depth_sum = depths->deep_sum;
    stats->depth_max = depths->deep_max;
    for (uint32_t depth = LLAMATCH_SHALLOW; 1 < depth; --depth) {
        stats->depths[31 - __builtin_clz(depth)] += depths->shallow[depth];
        stats->depth_sum += depth * depths->shallow[depth];
        if (0 == stats->depth_max && 0 < depths->shallow[depth]) {
            stats->depth_max = depth;
        }
    }
}

static void tell_stats(const llamatch_counts_t *counts, uint64_t second, uint64_t appended,
                       uint32_t length, uint32_t length_max, llamatch_stats_t *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->length = length;
    stats->length_max = length_max;
    stats->matches = appended - length - counts->removed;
    stats->searches = stats->matches + counts->searches;
    stats->indexed = counts->indexed;
    stats->dropped = counts->dropped;
    if (NULL != counts->depths) {
        tell_depths(counts->depths, stats);
    }
    stats->depths[1] += second;
    stats->depth_sum += 2 * second;
    if (2 > stats->depth_max && 0 < second) {
        stats->depth_max = 2;
    }
    /* All other searches had depth 1. */
    stats->depths[0] = stats->searches;
    for (int i = 1; i < LLAMATCH_DEPTHS; ++i) {
        stats->depths[0] -= stats->depths[i];
    }
    stats->depth_sum += stats->depths[0];
    if (0 == stats->depth_max && 0 < stats->searches) {
        stats->depth_max = 1;
    }
}

void llamatch_engine_stats(const llamatch_engine_t *engine, llamatch_stats_t *posted,
                           llamatch_stats_t *unexpected)
{
    tell_stats(&engine->posted, engine->second, engine->next_post, engine->num_posted,
               engine->most_posted, posted);
    tell_stats(&engine->unexpected, 0, engine->next_arrival, engine->num_unexpected,
               engine->most_unexpected, unexpected);
}

size_t llamatch_engine_num_indexed(const llamatch_engine_t *engine)
{
    size_t indexed = llamatch_lane_has_index(&engine->wild);

    for (const llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        indexed += llamatch_lane_has_index(&peer->posted);
        indexed += llamatch_lane_has_index(&peer->unexpected);
    }
    return indexed;
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
