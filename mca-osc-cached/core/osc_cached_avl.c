/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * AVL tree (Adelson-Velsky and Landis, 1962): see the header for what it holds and its invariants.
 */
#include "osc_cached_avl.h"
#include "osc_cached_alloc.h"

#include <stdbool.h>

#define NONE OSC_CACHED_AVL_NONE

typedef osc_cached_avl_node_t node_t;

static inline node_t *at(const osc_cached_avl_t *tree, uint32_t index)
{
    return osc_cached_avl_node(tree, index);
}

static inline uint64_t key_make(uint32_t size, uint32_t address)
{
    return (uint64_t) size << 32 | address;
}

static inline uint64_t key_of(const node_t *node)
{
    return key_make(node->size, node->address);
}

/* The way from the root to a node: the link to each node on it, and the side taken there. */
typedef struct {
    uint32_t *link[OSC_CACHED_AVL_MAX_PATH];
    uint8_t side[OSC_CACHED_AVL_MAX_PATH];
    int length; /* *link[length] is what was looked for, or NONE */
} path_t;

/* Step from the node at the end of the path to one of its children. */
static inline void path_down(const osc_cached_avl_t *tree, path_t *path, int side)
{
    path->side[path->length] = (uint8_t) side;
    path->link[path->length + 1] = &at(tree, *path->link[path->length])->child[side];
    ++path->length;
}

/* To the node with this key, or to the place where it would be. */
static void path_find(osc_cached_avl_t *tree, path_t *path, uint64_t key)
{
    uint32_t *link = &tree->root;
    int length = 0;

    /* Which side is taken cannot be predicted, so it is computed and not branched on. */
    while (NONE != *link) {
        node_t *node = at(tree, *link);
        uint64_t other = key_of(node);
        int side = key > other;

        path->link[length] = link;
        if (key == other) {
            break;
        }
        path->side[length++] = (uint8_t) side;
        link = &node->child[side];
    }
    path->link[length] = link;
    path->length = length;
}

/*
 * The subtree at *link is two levels higher on the side `high` than on the other one: rotate.
 * Returns whether it is now one level lower than it was; after an insertion it always is.
 */
static bool rotate(const osc_cached_avl_t *tree, uint32_t *link, int high)
{
    int32_t tilt = high ? 1 : -1;
    uint32_t top_index = *link;
    node_t *top = at(tree, top_index);
    uint32_t child_index = top->child[high];
    node_t *child = at(tree, child_index);
    uint32_t inner_index = child->child[!high];
    node_t *inner;

    if (child->balance != -tilt) {
        /* child rises above top */
        bool lower = 0 != child->balance;

        top->child[high] = inner_index;
        child->child[!high] = top_index;
        *link = child_index;
        top->balance = lower ? 0 : tilt;
        child->balance = lower ? 0 : -tilt;
        return lower;
    }
    /* child's inner child rises above both */
    inner = at(tree, inner_index);
    child->child[!high] = inner->child[high];
    inner->child[high] = child_index;
    top->child[high] = inner->child[!high];
    inner->child[!high] = top_index;
    *link = inner_index;
    top->balance = (inner->balance == tilt) ? -tilt : 0;
    child->balance = (inner->balance == -tilt) ? tilt : 0;
    inner->balance = 0;
    return true;
}

static void insert_at(osc_cached_avl_t *tree, path_t *path, uint32_t index)
{
    node_t *node = at(tree, index);

    node->child[0] = NONE;
    node->child[1] = NONE;
    node->balance = 0;
    *path->link[path->length] = index;
    ++tree->count;
    /* Upwards, as long as the subtree below has become higher. */
    for (int i = path->length - 1; 0 <= i; --i) {
        int side = path->side[i];

        node = at(tree, *path->link[i]);
        node->balance += 2 * side - 1;
        if (0 == node->balance) {
            break;
        }
        if (2 == node->balance || -2 == node->balance) {
            (void) rotate(tree, path->link[i], side);
            break;
        }
    }
}

static void remove_at(osc_cached_avl_t *tree, path_t *path)
{
    int place = path->length;
    uint32_t *link = path->link[place];
    node_t *node = at(tree, *link);

    if (NONE != node->child[0] && NONE != node->child[1]) {
        /* The next larger node, which has no smaller child, takes the place of this one. */
        uint32_t heir_index;
        node_t *heir;

        path_down(tree, path, 1);
        while (NONE != at(tree, *path->link[path->length])->child[0]) {
            path_down(tree, path, 0);
        }
        heir_index = *path->link[path->length];
        heir = at(tree, heir_index);
        *path->link[path->length] = heir->child[1];
        heir->child[0] = node->child[0];
        heir->child[1] = node->child[1];
        heir->balance = node->balance;
        *link = heir_index;
        path->link[place + 1] = &heir->child[1];
    } else {
        *link = node->child[NONE == node->child[0]];
    }
    --tree->count;
    /* Upwards, as long as the subtree below has become lower. */
    for (int i = path->length - 1; 0 <= i; --i) {
        int side = path->side[i];

        node = at(tree, *path->link[i]);
        node->balance -= 2 * side - 1;
        if (1 == node->balance || -1 == node->balance) {
            break;
        }
        if (0 != node->balance && !rotate(tree, path->link[i], !side)) {
            break;
        }
    }
}

int osc_cached_avl_insert(osc_cached_avl_t *tree, uint32_t index)
{
    path_t path;

    path_find(tree, &path, key_of(at(tree, index)));
    if (NONE != *path.link[path.length]) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    insert_at(tree, &path, index);
    return OSC_CACHED_OK;
}

int osc_cached_avl_remove(osc_cached_avl_t *tree, uint32_t index)
{
    path_t path;

    path_find(tree, &path, key_of(at(tree, index)));
    if (*path.link[path.length] != index) {
        return OSC_CACHED_NOT_FOUND;
    }
    remove_at(tree, &path);
    return OSC_CACHED_OK;
}

uint32_t osc_cached_avl_lower_bound(const osc_cached_avl_t *tree, uint32_t size, uint32_t address)
{
    uint64_t key = key_make(size, address);
    uint32_t index = tree->root;
    uint32_t best = NONE;

    while (NONE != index) {
        const node_t *node = at(tree, index);
        uint64_t other = key_of(node);

        int less = other < key;

        best = less ? best : index;
        index = node->child[less];
    }
    return best;
}

typedef struct {
    const osc_cached_avl_t *tree;
    const node_t *last; /* visited so far, NULL at the start */
    uint32_t visited;   /* nodes; more than count: a link leads back, or count is wrong */
} verify_t;

/*
 * Sets the height of the subtree. Bounded by count in the number of steps and by MAX_PATH in depth,
 * whatever the links are.
 */
static int verify_subtree(verify_t *state, uint32_t index, int depth, int32_t *height)
{
    const osc_cached_avl_t *tree = state->tree;
    const node_t *node;
    int32_t left, right;
    int broken;

    *height = 0;
    if (NONE == index) {
        return 0;
    }
    if (index >= tree->capacity || OSC_CACHED_AVL_MAX_PATH <= depth
        || ++state->visited > tree->count) {
        return 1;
    }
    node = at(tree, index);
    broken = verify_subtree(state, node->child[0], depth + 1, &left);
    if (0 != broken) {
        return broken;
    }
    if (NULL != state->last && key_of(state->last) >= key_of(node)) {
        return 2;
    }
    state->last = node;
    broken = verify_subtree(state, node->child[1], depth + 1, &right);
    if (0 != broken) {
        return broken;
    }
    *height = 1 + (left > right ? left : right);
    if (right - left != node->balance) {
        return 3;
    }
    return (-1 > node->balance || 1 < node->balance) ? 4 : 0;
}

int osc_cached_avl_verify(const osc_cached_avl_t *tree)
{
    verify_t state = {tree, NULL, 0};
    int32_t height;
    int broken = verify_subtree(&state, tree->root, 0, &height);

    if (0 == broken && state.visited != tree->count) {
        broken = 1;
    }
    return broken;
}
