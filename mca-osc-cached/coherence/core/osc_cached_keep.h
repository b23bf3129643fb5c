/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Who keeps which block: a pool of frames of one block each, for copies of others' blocks and for
 * blocks of the own file, and when an owner forwards.
 *
 * OSC_CACHED_KEEP_LAST (rules P1 to P3), the default:
 *
 *     shared:  most recent <-> ... <-> least recent --> leaves first: there is another copy in
 * memory alone:   most recent <-> ... <-> least recent --> leaves when no other does, or when these
 * are more than 9/10 of the pool
 *
 * The frames of copies that are the last ones in anybody's memory stay longest, so that the memory
 * of all processes holds as many blocks as possible. Whether a copy is the last one must be known
 * exactly: DATA says it, LAST says it later, and EVICT tells the owner (osc_cached_directory.h,
 * config.cooperate).
 *
 * OSC_CACHED_KEEP_HALVES, the paper's (vGASNet), for comparison:
 *
 *     used:    most recent <-> ... <-> least recent --> leaves; if it is alone, goes to:
 *     passed:  last in     <-> ... <-> first in     --> leaves when these exceed half of the pool
 *
 * and what is used again goes back. There an owner forwards whenever it can.
 *
 * Invariants (osc_cached_keep_verify returns the number of the first broken one):
 *  I1 each frame is in one list; the lengths of the lists are right.
 *  I2 a frame with a block is found under its name, one without is not.
 *  I3 LAST: those of the list "alone" are alone, the others are not; HALVES: those of "passed" are.
 */
#ifndef OSC_CACHED_KEEP_H
#define OSC_CACHED_KEEP_H

#include "osc_cached_alloc.h"

#include <stdbool.h>
#include <stdint.h>

/** No frame. */
#define OSC_CACHED_NO_FRAME UINT32_MAX

typedef enum { OSC_CACHED_KEEP_LAST, OSC_CACHED_KEEP_HALVES } osc_cached_keep_policy_t;

/** The lists; the last one is that of frames without a block. */
enum {
    OSC_CACHED_KEEP_FIRST_LIST,  /**< LAST: shared; HALVES: used */
    OSC_CACHED_KEEP_SECOND_LIST, /**< LAST: alone; HALVES: passed */
    OSC_CACHED_KEEP_UNUSED,
    OSC_CACHED_KEEP_LISTS
};

/** A frame: numbers of others are of frames, and behind these of the heads of the lists. */
typedef struct osc_cached_frame {
    uint64_t block;
    uint32_t target; /**< whose block */
    uint32_t newer;
    uint32_t older;
    uint32_t chain; /**< the next one with the same hash */
    uint8_t list;
    bool alone; /**< nobody else has it in memory */
} osc_cached_frame_t;

typedef struct osc_cached_keep {
    osc_cached_keep_policy_t policy;
    const osc_cached_alloc_t *alloc;
    osc_cached_frame_t *frame; /**< and the heads */
    uint32_t *first;           /**< of the frames with a hash */
    uint32_t frames;
    uint32_t hashes; /**< a power of two */
    uint32_t length[OSC_CACHED_KEEP_LISTS];
} osc_cached_keep_t;

/** A block that has left. */
typedef struct osc_cached_left {
    uint64_t block;
    uint32_t target;
} osc_cached_left_t;

/** @return OSC_CACHED_OK, OSC_CACHED_NO_MEMORY or OSC_CACHED_BAD_ARGUMENT */
int osc_cached_keep_init(osc_cached_keep_t *keep, osc_cached_keep_policy_t policy, uint32_t frames,
                         const osc_cached_alloc_t *alloc);

void osc_cached_keep_fini(osc_cached_keep_t *keep);

/** The frame of a block, or OSC_CACHED_NO_FRAME. */
uint32_t osc_cached_keep_find(const osc_cached_keep_t *keep, uint32_t target, uint64_t block);

/** A block that has a frame is used. */
void osc_cached_keep_use(osc_cached_keep_t *keep, uint32_t frame);

/**
 * A frame for a block that has none.
 *
 * @param left  set when another one leaves for it: to be dropped, with EVICT
 * @param full  whether one does
 */
uint32_t osc_cached_keep_add(osc_cached_keep_t *keep, uint32_t target, uint64_t block, bool alone,
                             osc_cached_left_t *left, bool *full);

/** P3: the copy has become the last one, or is not any more. */
void osc_cached_keep_set_alone(osc_cached_keep_t *keep, uint32_t frame, bool alone);

/** A block was invalidated. */
void osc_cached_keep_remove(osc_cached_keep_t *keep, uint32_t frame);

/**
 * P2: is another sharer to answer a FILL? A hop more pays only if the owner would have to read the
 * block from its file, or its network is busy.
 *
 * @param in_memory  the owner has the block in memory
 * @param queued     blocks that it has to send before this one
 */
static inline bool osc_cached_keep_forwards(osc_cached_keep_policy_t policy, bool in_memory,
                                            uint32_t queued)
{
    return OSC_CACHED_KEEP_HALVES == policy || !in_memory || 2 < queued;
}

/**
 * P1: does an owner keep what it reads from its file? It does while the blocks that are asked of it
 * fit into its pool; else those who ask keep them. Looked at after every 8 requests per frame.
 */
typedef struct osc_cached_demand {
    const osc_cached_alloc_t *alloc;
    uint64_t *asked;   /**< a bit for each hash of a block, 16 per frame */
    uint32_t bits;     /**< a power of two */
    uint32_t frames;   /**< of the pool */
    uint32_t requests; /**< in this interval */
    uint32_t blocks;   /**< different ones in this interval, about */
    bool fits;         /**< they did in the last one */
} osc_cached_demand_t;

/** @return OSC_CACHED_OK, OSC_CACHED_NO_MEMORY or OSC_CACHED_BAD_ARGUMENT */
int osc_cached_demand_init(osc_cached_demand_t *demand, uint32_t frames,
                           const osc_cached_alloc_t *alloc);

void osc_cached_demand_fini(osc_cached_demand_t *demand);

/** A block is asked for. @return whether the owner keeps it */
bool osc_cached_demand_ask(osc_cached_demand_t *demand, uint64_t block);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_keep_verify(const osc_cached_keep_t *keep);

#endif /* OSC_CACHED_KEEP_H */
