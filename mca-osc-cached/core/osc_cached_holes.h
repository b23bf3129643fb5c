/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Which hole of the storage a new entry takes: two ways to find one, behind one interface.
 *
 *     bins      64 lists by size, 4 per power of two, and one word that tells which are not empty;
 *               a hole is found and changed in O(1)
 *     best fit  the AVL tree by (size, address) of the CLaMPI paper, III-C2
 *
 *     size  1 2 3 4 5 6 7 8-9 10-11 12-13 14-15 16-19 ... 114688 and more
 *     bin   1 2 3 4 5 6 7  8    9    10    11    12   ...  63
 *
 * Like the tree, bins keep their links in the owner's array: a node is in the tree, or in a list
 * (child[0] is the node before it and child[1] the one behind it).
 *
 * Contract of osc_cached_holes_find:
 *  C1 what it returns is at least as large as asked for.
 *  C2 best fit: the smallest such hole, of equal ones that with the lowest address; NONE if there
 *     is none.
 *  C3 bins: the hole that came last into the first bin whose holes are all large enough; if all of
 *     these are empty, the first large enough of those that came last, at most 8, into the bin of
 *     this size; else NONE.
 *
 * Invariants (osc_cached_holes_verify returns the number of the first broken one):
 *  I1 best fit: the tree obeys its own, and has count nodes.
 *  I2 bins: the lists are linked in both directions and have count nodes in all.
 *  I3 bins: each node is in the bin of its size.
 *  I4 bins: a bit of the map is set when its bin is not empty.
 */
#ifndef OSC_CACHED_HOLES_H
#define OSC_CACHED_HOLES_H

#include "osc_cached_avl.h"

#include <stddef.h>
#include <stdint.h>

#define OSC_CACHED_HOLES_NONE OSC_CACHED_AVL_NONE
#define OSC_CACHED_HOLES_BINS 64u

/** Holes of a bin that are compared with the size. */
#define OSC_CACHED_HOLES_SCAN 8

typedef enum { OSC_CACHED_HOLES_IN_BINS, OSC_CACHED_HOLES_BEST_FIT } osc_cached_holes_kind_t;

typedef struct {
    osc_cached_avl_t tree; /**< best fit; bins: only where the nodes are */
    osc_cached_holes_kind_t kind;
    uint32_t count;
    uint64_t map;
    uint32_t first[OSC_CACHED_HOLES_BINS]; /**< of each bin, or NONE */
} osc_cached_holes_t;

/** Forget all holes; others will be found in this way. */
void osc_cached_holes_clear(osc_cached_holes_t *holes, osc_cached_holes_kind_t kind);

/** Tell where the nodes are, at creation or after the array was moved. */
static inline void osc_cached_holes_rebase(osc_cached_holes_t *holes, void *first_node,
                                           size_t stride, uint32_t capacity)
{
    osc_cached_avl_rebase(&holes->tree, first_node, stride, capacity);
}

/** A node, whose size and address are set, is a hole. */
void osc_cached_holes_add(osc_cached_holes_t *holes, uint32_t index);

/** A node is not a hole any more; its size and address are still what they were. */
void osc_cached_holes_remove(osc_cached_holes_t *holes, uint32_t index);

/** The first units of a hole, fewer than it has, are not free any more. A hole whose bin stays the
 * same keeps its place in it. */
void osc_cached_holes_cut(osc_cached_holes_t *holes, uint32_t index, uint32_t units);

/** A hole of at least this size, or NONE. It stays one. */
uint32_t osc_cached_holes_find(const osc_cached_holes_t *holes, uint32_t size);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_holes_verify(const osc_cached_holes_t *holes);

#endif /* OSC_CACHED_HOLES_H */
