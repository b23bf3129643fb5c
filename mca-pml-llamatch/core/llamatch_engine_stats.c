/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What an engine tells of itself: its counters.
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
