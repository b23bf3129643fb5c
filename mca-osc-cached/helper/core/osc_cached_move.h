/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * When a helper that has no core of its own goes to the next one, so that no process of the node
 * bears all of its work (the paper's section on core affinity):
 *
 *     n * (8 * compute_bytes + communication_bytes) > threshold
 *
 * n requests were served since it moved; one of them combines compute_bytes with the window and
 * brings or takes communication_bytes, on average. So the left side is 8 times all bytes combined
 * since then, and all bytes moved, those combined among them.
 */
#ifndef OSC_CACHED_MOVE_H
#define OSC_CACHED_MOVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_cached_move {
    uint64_t threshold; /**< 0: it never moves */
    uint64_t combined;  /**< bytes combined until it moved last */
    uint64_t moved;     /**< bytes moved until then */
    uint64_t moves;     /**< how often it moved */
} osc_cached_move_t;

/**
 * Is it time?  Then it is counted as done.
 *
 * @param combined  bytes combined so far, since the helper started
 * @param moved     bytes moved so far
 */
static inline bool osc_cached_move_is_due(osc_cached_move_t *move, uint64_t combined,
                                          uint64_t moved)
{
    if (0 == move->threshold
        || 8 * (combined - move->combined) + (moved - move->moved) <= move->threshold) {
        return false;
    }
    move->combined = combined;
    move->moved = moved;
    ++move->moves;
    return true;
}

#endif /* OSC_CACHED_MOVE_H */
