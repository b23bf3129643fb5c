/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * An intrusive AVL tree of free regions, ordered by (size, address).
 *
 * The owner keeps an array of structures, each with one osc_cached_avl_node_t in it, and names
 * them by their place in the array. Links are these 32-bit numbers, not pointers: a node takes 20
 * bytes, and the array may be moved (osc_cached_avl_rebase) without touching a link. The tree
 * allocates nothing and never fails for lack of memory.
 *
 * Best fit is lower_bound(size, 0): the smallest region of at least that size, and among equal
 * ones that with the lowest address. No two regions have the same address, so the order is total
 * and what a search returns depends only on what is in the tree, not on its history.
 *
 * There is no parent link: insert and remove walk down from the root by key and remember the path
 * in an array on the stack. An AVL tree of n nodes is less than 1.4405 log2(n + 2) high (Knuth,
 * TAOCP 3, 6.2.3, theorem A), that is 47 levels for the 2^32 nodes that can be named.
 *
 * Invariants (osc_cached_avl_verify returns the number of the first broken one):
 *  I1 every link is NONE or the number of a node of the array, and count is the number of nodes
 *     that are reached from the root.
 *  I2 walking the tree from left to right, (size, address) grows strictly.
 *  I3 the balance of a node is the height of its larger child minus that of its smaller one, where
 *     no child is height 0.
 *  I4 the balance of a node is -1, 0 or 1.
 */
#ifndef OSC_CACHED_AVL_H
#define OSC_CACHED_AVL_H

#include <stddef.h>
#include <stdint.h>

/** No node. */
#define OSC_CACHED_AVL_NONE UINT32_MAX

/** Levels of the highest possible tree, and one for the link of the root. */
#define OSC_CACHED_AVL_MAX_PATH 48

typedef struct osc_cached_avl_node {
    uint32_t address;  /**< second part of the key; set by the owner before insert */
    uint32_t size;     /**< first part of the key; with address, one 64-bit load */
    uint32_t child[2]; /**< smaller, larger */
    int32_t balance;   /**< levels of the larger side minus levels of the smaller side */
} osc_cached_avl_node_t;

typedef struct osc_cached_avl {
    char *nodes;       /**< node 0 */
    size_t stride;     /**< bytes from a node to the next one of the array */
    uint32_t capacity; /**< nodes in the array */
    uint32_t root;     /**< NONE: the tree is empty */
    uint32_t count;    /**< nodes in the tree */
} osc_cached_avl_t;

static inline osc_cached_avl_node_t *osc_cached_avl_node(const osc_cached_avl_t *tree,
                                                         uint32_t index)
{
    return (osc_cached_avl_node_t *) (void *) (tree->nodes + index * tree->stride);
}

/** Tell the tree where its nodes are, at creation or after the array was moved or enlarged. */
static inline void osc_cached_avl_rebase(osc_cached_avl_t *tree, void *first_node, size_t stride,
                                         uint32_t capacity)
{
    tree->nodes = first_node;
    tree->stride = stride;
    tree->capacity = capacity;
}

/** Make the tree empty, without looking at its nodes. */
static inline void osc_cached_avl_clear(osc_cached_avl_t *tree)
{
    tree->root = OSC_CACHED_AVL_NONE;
    tree->count = 0;
}

/**
 * Put a node, whose size and address are set, into the tree. O(log count).
 *
 * @return OSC_CACHED_OK, or OSC_CACHED_BAD_ARGUMENT when a node with this key is in the tree
 */
int osc_cached_avl_insert(osc_cached_avl_t *tree, uint32_t index);

/**
 * Take a node out of the tree; its size and address must be what they were at insert. O(log count).
 *
 * @return OSC_CACHED_OK, or OSC_CACHED_NOT_FOUND when the node is not in the tree
 */
int osc_cached_avl_remove(osc_cached_avl_t *tree, uint32_t index);

/** The smallest node that is not smaller than (size, address), or NONE. O(log count). */
uint32_t osc_cached_avl_lower_bound(const osc_cached_avl_t *tree, uint32_t size, uint32_t address);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_avl_verify(const osc_cached_avl_t *tree);

#endif /* OSC_CACHED_AVL_H */
