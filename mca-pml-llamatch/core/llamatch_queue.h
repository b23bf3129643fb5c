/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * An ordered queue of matching entries, kept as a linked list of arrays.
 *
 * A matching search walks entries that do not match until it meets one that does. In a list of
 * requests each passed entry costs two cache lines and a dependent load; here it costs four bytes
 * of an array that the hardware prefetches. An entry is (tag, sequence number, item): the tag is
 * what the search compares, the sequence number orders entries of several queues, the item is the
 * owner's request or message and is never looked into.
 *
 * Memory of one node, for N entries (N = llamatch_nodes_t::entries, a power of two):
 *
 *     0   | next | prev | first_seq | first | end | live |   one cache line
 *     64  | tag[0] ... tag[N-1] |                            4N bytes: one line for N = 16
 *         | seq,item [0] ... seq,item [N-1] |                16N bytes, touched at the hit only
 *
 * Nodes come from a small stock that all queues of an engine share. A queue that becomes empty
 * keeps one node as long as no more than max_idle nodes are in use, so that the common queue of
 * one entry does not fetch and return a node each time; beyond that it gives the node back, so
 * that many idle peers cost only their queue heads. The stock is the place where a shared arena
 * can be put later.
 *
 * Removing from the middle leaves a hole: a slot whose item is NULL. Holes at both ends of a
 * node are trimmed at once, a node without live entries is unlinked, and entries never move, so
 * a position stays valid until the entry it names is removed.
 *
 * Invariants (llamatch_queue_verify returns the number of the first broken one):
 *  I1 count is the number of live entries of all nodes. When it is 0, head and tail are NULL or
 *     are one and the same node, with first = end = live = 0.
 *  I2 next and prev mirror each other; head has no prev, tail has no next.
 *  I3 in each node of a queue that is not empty 0 <= first < end <= N, and the slots first and
 *     end-1 are live.
 *  I4 node->live is the number of non-NULL items in [first, end), and no slot outside of that
 *     range is looked at.
 *  I5 sequence numbers of live entries grow strictly from head to tail.
 *  I6 node->first_seq is the sequence number of slot first.
 */
#ifndef LLAMATCH_QUEUE_H
#define LLAMATCH_QUEUE_H

#include "llamatch_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Wildcards. The glue asserts that MPI's own values are the same. */
#define LLAMATCH_ANY_TAG (-1)
#define LLAMATCH_ANY_SOURCE (-1)

/** Entries per node: limits of what llamatch_nodes_init accepts, and the usual choice. */
#define LLAMATCH_ENTRIES_MIN 2
#define LLAMATCH_ENTRIES_MAX 512
#define LLAMATCH_ENTRIES_DEFAULT 16 /* 16 tags of 4 bytes: one cache line per array */

typedef struct llamatch_slot {
    uint64_t seq; /**< position in the order of all entries of the owner */
    void *item;   /**< NULL: a hole */
} llamatch_slot_t;

typedef struct llamatch_node {
    struct llamatch_node *next;
    struct llamatch_node *prev;
    uint64_t first_seq; /**< sequence number of slot first, so that a merge need not touch slots */
    uint32_t first;     /**< index of the first live slot */
    uint32_t end;       /**< one past the index of the last live slot */
    uint32_t live;      /**< number of live slots */
} llamatch_node_t;

/** The stock of nodes that the queues of one engine share. */
typedef struct llamatch_nodes {
    llamatch_allocator_t allocator;
    llamatch_node_t *spare; /**< unused nodes, most recently used first */
    uint32_t entries;       /**< entries per node, a power of two */
    uint32_t num_spare;     /**< nodes */
    uint32_t max_spare;     /**< nodes; more than this many unused ones are given back */
    size_t max_idle;        /**< nodes in use up to which an emptied queue keeps its last one */
    size_t slots_offset;    /**< bytes from the start of a node to its slots */
    size_t node_bytes;      /**< bytes of one node */
    size_t num_used;        /**< nodes that queues hold */
} llamatch_nodes_t;

typedef struct llamatch_queue {
    llamatch_node_t *head;
    llamatch_node_t *tail;
    size_t count; /**< live entries */
} llamatch_queue_t;

/** Names one entry. Valid until that entry is removed. */
typedef struct llamatch_pos {
    llamatch_node_t *node; /**< NULL: no entry */
    uint32_t index;
} llamatch_pos_t;

/**
 * What a search accepts: tags in [low, low + span] (modulo 2^32), or the tag other. One
 * subtraction and two comparisons cover all four cases of MPI's rule without a branch.
 */
typedef struct llamatch_key {
    uint32_t low;
    uint32_t span;
    uint32_t other;
} llamatch_key_t;

/** The posted receives that an arriving message matches: its tag, or ANY_TAG when tag >= 0. */
static inline llamatch_key_t llamatch_key_of_message(int32_t tag)
{
    llamatch_key_t key = {(uint32_t) tag, 0,
                          (uint32_t) ((0 <= tag) ? (int32_t) LLAMATCH_ANY_TAG : tag)};
    return key;
}

/** The messages that a receive matches: its tag, or for ANY_TAG every tag >= 0. */
static inline llamatch_key_t llamatch_key_of_receive(int32_t tag)
{
    llamatch_key_t key = {(uint32_t) tag, 0, (uint32_t) tag};
    if (LLAMATCH_ANY_TAG == tag) {
        key.low = 0;
        key.span = INT32_MAX;
        key.other = 0;
    }
    return key;
}

static inline bool llamatch_key_accepts(llamatch_key_t key, int32_t tag)
{
    return ((uint32_t) tag - key.low <= key.span) | ((uint32_t) tag == key.other);
}

static inline int32_t *llamatch_node_tags(const llamatch_node_t *node)
{
    return (int32_t *) ((char *) node + LLAMATCH_LINE);
}

static inline llamatch_slot_t *llamatch_node_slots(const llamatch_nodes_t *nodes,
                                                   const llamatch_node_t *node)
{
    return (llamatch_slot_t *) ((char *) node + nodes->slots_offset);
}

/**
 * Prepare a stock of nodes.
 *
 * @param entries    entries per node: a power of two in ENTRIES_MIN..ENTRIES_MAX
 * @param max_spare  unused nodes to keep in the stock
 * @param max_idle   nodes in use up to which an emptied queue keeps one
 * @param allocator  NULL for libc's
 * @return LLAMATCH_OK or LLAMATCH_ERR_ARGUMENT
 */
int llamatch_nodes_init(llamatch_nodes_t *nodes, uint32_t entries, uint32_t max_spare,
                        size_t max_idle, const llamatch_allocator_t *allocator);

/** Give all unused nodes back. Every queue of this stock must have been cleared. */
void llamatch_nodes_fini(llamatch_nodes_t *nodes);

static inline void llamatch_queue_init(llamatch_queue_t *queue)
{
    queue->head = NULL;
    queue->tail = NULL;
    queue->count = 0;
}

/** Empty the queue without looking at its items. */
void llamatch_queue_clear(llamatch_queue_t *queue, llamatch_nodes_t *nodes);

/** Append an empty node to the queue. @return the node, or NULL when there is no memory */
llamatch_node_t *llamatch_queue_grow(llamatch_queue_t *queue, llamatch_nodes_t *nodes);

/** Take a node without live entries out of the queue. */
void llamatch_queue_shrink(llamatch_queue_t *queue, llamatch_nodes_t *nodes, llamatch_node_t *node);

/**
 * Append an entry. @p seq must be greater than that of every entry in the queue, @p item must
 * not be NULL. Inline, as removal is: a queue of one entry should cost no more than a list of one.
 *
 * @return LLAMATCH_OK, or LLAMATCH_ERR_NO_MEMORY with the queue unchanged
 */
static inline int llamatch_queue_append(llamatch_queue_t *queue, llamatch_nodes_t *nodes,
                                        int32_t tag, uint64_t seq, void *item)
{
    llamatch_node_t *node = queue->tail;
    llamatch_slot_t *slot;
    uint32_t end;

    if (NULL == node || node->end == nodes->entries) {
        node = llamatch_queue_grow(queue, nodes);
        if (NULL == node) {
            return LLAMATCH_ERR_NO_MEMORY;
        }
    }
    if (0 == node->live) {
        node->first_seq = seq;
    }
    end = node->end;
    slot = &llamatch_node_slots(nodes, node)[end];
    slot->seq = seq;
    slot->item = item;
    llamatch_node_tags(node)[end] = tag;
    node->end = end + 1;
    ++node->live;
    ++queue->count;
    return LLAMATCH_OK;
}

/**
 * Index of the first live entry of one node that the key accepts, or node->end. Inline because
 * it is the loop all searches spend their time in.
 */
static inline uint32_t llamatch_node_find(const llamatch_nodes_t *nodes,
                                          const llamatch_node_t *node, llamatch_key_t key)
{
    const int32_t *tags = llamatch_node_tags(node);
    uint32_t end = node->end;

    for (uint32_t i = node->first; i < end; ++i) {
        /* A hole keeps its old tag, so that the loop reads tags only; it is told apart here. */
        if (llamatch_key_accepts(key, tags[i])
            && NULL != llamatch_node_slots(nodes, node)[i].item) {
            return i;
        }
    }
    return end;
}

/** First entry that the key accepts, from a node (or NULL) on; pos.node is NULL if there is none.
 */
static inline llamatch_pos_t
llamatch_queue_find_from(llamatch_node_t *node, const llamatch_nodes_t *nodes, llamatch_key_t key)
{
    llamatch_pos_t pos = {node, 0};

    while (NULL != pos.node) {
        pos.index = llamatch_node_find(nodes, pos.node, key);
        if (pos.index < pos.node->end) {
            break;
        }
        pos.node = pos.node->next;
    }
    return pos;
}

/** First entry that the key accepts; pos.node is NULL if there is none. */
static inline llamatch_pos_t llamatch_queue_find(const llamatch_queue_t *queue,
                                                 const llamatch_nodes_t *nodes, llamatch_key_t key)
{
    return llamatch_queue_find_from(queue->head, nodes, key);
}

/** The entry with this sequence number: skips whole nodes, then halves. */
llamatch_pos_t llamatch_queue_find_seq(const llamatch_queue_t *queue, const llamatch_nodes_t *nodes,
                                       uint64_t seq);

/** Remove the entry at @p pos and return its item. */
static inline void *llamatch_queue_remove(llamatch_queue_t *queue, llamatch_nodes_t *nodes,
                                          llamatch_pos_t pos)
{
    llamatch_node_t *node = pos.node;
    llamatch_slot_t *slots = llamatch_node_slots(nodes, node);
    void *item = slots[pos.index].item;

    slots[pos.index].item = NULL;
    --queue->count;
    if (0 == --node->live) {
        if (0 == queue->count && nodes->num_used <= nodes->max_idle) {
            node->first = 0;
            node->end = 0;
        } else {
            llamatch_queue_shrink(queue, nodes, node);
        }
    } else if (pos.index == node->first) {
        do {
            ++node->first;
        } while (NULL == slots[node->first].item);
        node->first_seq = slots[node->first].seq;
    } else if (pos.index + 1 == node->end) {
        do {
            --node->end;
        } while (NULL == slots[node->end - 1].item);
    }
    return item;
}

/** Called for each entry in order; returns true to have the entry removed. */
typedef bool (*llamatch_visit_fn_t)(void *context, int32_t tag, void *item);

/** Visit all entries in order. @return number of entries removed */
size_t llamatch_queue_walk(llamatch_queue_t *queue, llamatch_nodes_t *nodes,
                           llamatch_visit_fn_t visit, void *context);

/** @return 0, or the number of the first broken invariant of this file */
int llamatch_queue_verify(const llamatch_queue_t *queue, const llamatch_nodes_t *nodes);

#endif /* LLAMATCH_QUEUE_H */
