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
 * Memory of one node, for N entries (a llamatch_shape_t says where the parts are):
 *
 *     0   | next | prev | first_seq | end | live | live bits (N, at least 64) |
 *     64  | tag[0] ... tag[N-1] |              4N bytes; for N <= 4 still in the first line, for
 *                                              N = 512 (more bits) from 128 on
 *         | seq,item [0] ... seq,item [N-1] |  16N bytes, touched at the hit only
 *
 * A search reads the first part and the tags: 4 bytes per entry and one line per node.
 *
 * Nodes come from a pool that all queues of the process share (llamatch_pool.h). Removing an entry
 * clears its bit; what is behind the last live entry is used again. A node without live entries
 * goes back to the pool, but for the last one: it stays as long as the queue is not empty, so that
 * a queue around a boundary does not fetch and return a node each time. Two neighbours that are at
 * most half full together become one; entries move only then, and the owner of the items is told
 * (llamatch_shape_t::moved).
 *
 * A queue that is long and often searched deeply can have an index (llamatch_index.h). The queue
 * itself keeps all entries in order then, too; nodes are not merged one by one, because the index
 * points to them.
 *
 * Invariants (checked by the unit tests: llamatch_queue_verify in test/unit/llamatch_verify.h):
 *  I1 count is the number of live entries of all nodes, without those that the index has marked
 *     as removed.
 *  I2 next and prev mirror each other; head has no prev, tail has no next; both or none are NULL.
 *  I3 every node but the tail has live entries. In a node without, end is 0.
 *  I4 node->live is the number of bits that are set; no bit from end on is set; the entry before
 *     end is live; end is at most shape->entries.
 *  I5 sequence numbers of live entries grow strictly from head to tail.
 *  I6 node->first_seq is not greater than any number in the node, and greater than every number in
 *     the nodes before.
 */
#ifndef LLAMATCH_QUEUE_H
#define LLAMATCH_QUEUE_H

#include "llamatch_memory.h"
#include "llamatch_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The wildcard. The glue asserts that MPI's own value is the same. */
#define LLAMATCH_ANY_TAG (-1)

/** Entries per node: limits of what an engine accepts, and the usual choice. */
#define LLAMATCH_ENTRIES_MIN 2
#define LLAMATCH_ENTRIES_MAX 512
#define LLAMATCH_ENTRIES_DEFAULT 128 /* a burst of 64 messages fits: llamatch_lane.h */

/** Entries of a small array (llamatch_lane.h). */
#define LLAMATCH_SMALL_ENTRIES 8

/** Tags that a search looks at together. The array of tags may be read up to such a multiple. */
#define LLAMATCH_BLOCK 16

typedef struct llamatch_slot {
    uint64_t seq; /**< position in the order of all entries of the owner */
    void *item;
} llamatch_slot_t;

/** A small array: its first two entries are in one line. */
typedef struct llamatch_small {
    int32_t tags[LLAMATCH_SMALL_ENTRIES];
    llamatch_slot_t slots[LLAMATCH_SMALL_ENTRIES];
} llamatch_small_t;

typedef struct llamatch_node {
    struct llamatch_node *next;
    struct llamatch_node *prev;
    uint64_t first_seq; /**< no entry here is older, every entry of the nodes before is */
    uint32_t end;       /**< one past the index of the last live entry */
    uint16_t live;      /**< number of live entries */
    uint64_t bits[];    /**< one per entry: is it live? */
} llamatch_node_t;

struct llamatch_index;

typedef struct llamatch_queue {
    llamatch_node_t *head;
    llamatch_node_t *tail;
    struct llamatch_index *index; /**< NULL: none; see llamatch_index.h */
    uint32_t count;               /**< live entries */
    uint32_t passed; /**< entries that deep searches have passed; decides about an index */
} llamatch_queue_t;

/** Names one entry. Valid until the queue is changed. */
typedef struct llamatch_pos {
    llamatch_node_t *node; /**< NULL: no entry */
    uint32_t index;
} llamatch_pos_t;

/**
 * What a search accepts: the tags tag and other, and those greater than floor. Three comparisons
 * cover all cases of MPI's rule without a branch.
 */
typedef struct llamatch_key {
    int32_t tag;
    int32_t other;
    int32_t floor;
} llamatch_key_t;

/** The posted receives that an arriving message matches: its tag, or ANY_TAG when tag >= 0. */
static inline llamatch_key_t llamatch_key_of_message(int32_t tag)
{
    llamatch_key_t key = {tag, (0 <= tag) ? LLAMATCH_ANY_TAG : tag, INT32_MAX};
    return key;
}

/** The messages that a receive matches: its tag, or for ANY_TAG every tag >= 0. */
static inline llamatch_key_t llamatch_key_of_receive(int32_t tag)
{
    llamatch_key_t key = {tag, tag, INT32_MAX};
    if (LLAMATCH_ANY_TAG == tag) {
        key.floor = -1; /* no message has the tag ANY_TAG itself */
    }
    return key;
}

static inline bool llamatch_key_accepts(llamatch_key_t key, int32_t tag)
{
    return (tag == key.tag) | (tag == key.other) | (tag > key.floor);
}

/**
 * Search from pos->node (or NULL) on, in the nodes whose first_seq is below limit. Found: pos is
 * the first match. Not found: pos->node is the first node that was not searched, or NULL. Adds the
 * live entries it looked at to *examined.
 */
typedef bool (*llamatch_find_fn_t)(llamatch_pos_t *pos, uint64_t limit, uint32_t tags_offset,
                                   llamatch_key_t key, uint64_t *examined);

/** Told when an entry was moved to another node, by its address. */
typedef void (*llamatch_moved_fn_t)(void *item, uint64_t node);

/** How the nodes of a queue look like, and how they are searched. */
typedef struct llamatch_shape {
    llamatch_pool_class_t *nodes;
    llamatch_pool_class_t *small; /**< small arrays; NULL where nodes are no larger */
    llamatch_find_fn_t find;
    llamatch_moved_fn_t moved; /**< NULL: nobody needs to know */
    uint32_t entries;          /**< entries per node */
    uint32_t own_entries;      /**< entries that a lane holds itself */
    uint32_t short_entries;    /**< entries of a short lane at most (llamatch_lane.h); 0: none is */
    uint32_t sparse;           /**< live entries from which on a node is merged with a neighbour */
    uint32_t tags_offset;      /**< bytes from the start of a node to its tags */
    uint32_t slots_offset;     /**< bytes from the start of a node to its slots */
} llamatch_shape_t;

static inline int32_t *llamatch_node_tags(const llamatch_shape_t *shape,
                                          const llamatch_node_t *node)
{
    return (int32_t *) ((char *) node + shape->tags_offset);
}

static inline llamatch_slot_t *llamatch_node_slots(const llamatch_shape_t *shape,
                                                   const llamatch_node_t *node)
{
    return (llamatch_slot_t *) ((char *) node + shape->slots_offset);
}

static inline bool llamatch_node_is_live(const llamatch_node_t *node, uint32_t index)
{
    return 0 != (node->bits[index / 64] >> (index % 64) & 1);
}

/** Index of the first live entry of a node that has some. */
static inline uint32_t llamatch_node_first(const llamatch_node_t *node)
{
    uint32_t word = 0;

    while (0 == node->bits[word]) {
        ++word;
    }
    return word * 64 + (uint32_t) __builtin_ctzll(node->bits[word]);
}

/** Index of the first live entry of a node from index on, or node->end. */
uint32_t llamatch_node_next(const llamatch_node_t *node, uint32_t index);

/**
 * Decide how nodes look like.
 *
 * @param pool     where nodes come from
 * @param entries  entries per node: a power of two up to ENTRIES_MAX
 * @param find     how to search: one of llamatch_simd_paths
 * @param moved    NULL when nobody remembers nodes
 * @return LLAMATCH_OK, LLAMATCH_ERR_ARGUMENT or LLAMATCH_ERR_NO_MEMORY
 */
int llamatch_shape_init(llamatch_shape_t *shape, llamatch_pool_t *pool, uint32_t entries,
                        llamatch_find_fn_t find, llamatch_moved_fn_t moved);

static inline void llamatch_queue_init(llamatch_queue_t *queue)
{
    queue->head = NULL;
    queue->tail = NULL;
    queue->index = NULL;
    queue->count = 0;
    queue->passed = 0;
}

/** Empty the queue without looking at its items. It must not have an index any more. */
void llamatch_queue_clear(llamatch_queue_t *queue, const llamatch_shape_t *shape);

/** Append an empty node to the queue. @return the node, or NULL when there is no memory */
llamatch_node_t *llamatch_queue_grow(llamatch_queue_t *queue, const llamatch_shape_t *shape);

/** The same with a node of the pool that one has already. */
void llamatch_queue_link(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                         llamatch_node_t *node);

/** Mend a queue after the last live entry of a node, or one of few, was removed. */
void llamatch_queue_node_empty(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                               llamatch_node_t *node);
void llamatch_queue_node_sparse(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                                llamatch_node_t *node);

/**
 * Put the entries of a queue of one node side by side at the node's start, and forget them: the
 * node is an empty one then. There must be no index. @return how many there are
 */
uint32_t llamatch_queue_pack(llamatch_queue_t *queue, const llamatch_shape_t *shape);

/** Merge neighbours as long as two fit in one. There must be no index. */
void llamatch_queue_compact(llamatch_queue_t *queue, const llamatch_shape_t *shape);

/** Append an entry to a queue whose last node has room; as below. */
static inline llamatch_pos_t llamatch_queue_push(llamatch_queue_t *queue,
                                                 const llamatch_shape_t *shape, int32_t tag,
                                                 uint64_t seq, void *item)
{
    llamatch_node_t *node = queue->tail;
    size_t index = node->end;

    if (0 == index) {
        node->first_seq = seq;
    }
    node->end = (uint32_t) index + 1;
    ++node->live;
    node->bits[index / 64] |= (uint64_t) 1 << index % 64;
    llamatch_node_tags(shape, node)[index] = tag;
    llamatch_node_slots(shape, node)[index] = (llamatch_slot_t){seq, item};
    ++queue->count;
    return (llamatch_pos_t){node, (uint32_t) index};
}

/**
 * Append an entry. @p seq must be greater than that of every entry in the queue, @p item must
 * not be NULL.
 *
 * @return where it is; node is NULL when there is no memory, and the queue unchanged
 */
static inline llamatch_pos_t llamatch_queue_append(llamatch_queue_t *queue,
                                                   const llamatch_shape_t *shape, int32_t tag,
                                                   uint64_t seq, void *item)
{
    llamatch_pos_t pos = {queue->tail, 0};

    if (NULL == pos.node || pos.node->end >= shape->entries) {
        pos.node = llamatch_queue_grow(queue, shape);
        if (NULL == pos.node) {
            return pos;
        }
    }
    return llamatch_queue_push(queue, shape, tag, seq, item);
}

/**
 * First entry that the key accepts, without those that are not older than the limit if that is less
 * work; pos.node is NULL if there is none. Adds the entries looked at to *examined.
 */
static inline llamatch_pos_t llamatch_queue_find(const llamatch_queue_t *queue,
                                                 const llamatch_shape_t *shape, llamatch_key_t key,
                                                 uint64_t limit, uint64_t *examined)
{
    llamatch_pos_t pos = {queue->head, 0};

    if (!shape->find(&pos, limit, shape->tags_offset, key, examined)) {
        pos.node = NULL;
    }
    return pos;
}

/** Take the entry at @p pos out of the queue, not out of its index. */
static inline void llamatch_queue_remove(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                                         llamatch_pos_t pos)
{
    llamatch_node_t *node = pos.node;

    node->bits[pos.index / 64] &= ~((uint64_t) 1 << pos.index % 64);
    --queue->count;
    if (0 == --node->live) {
        if (node == queue->tail && 0 != queue->count) {
            node->end = 0;
        } else {
            llamatch_queue_node_empty(queue, shape, node);
        }
        return;
    }
    if (pos.index + 1 == node->end) {
        uint32_t word = pos.index / 64;

        while (0 == node->bits[word]) {
            --word;
        }
        node->end = word * 64 + 64 - (uint32_t) __builtin_clzll(node->bits[word]);
    }
    if (node->live <= shape->sparse && node->prev != node->next /* not the only node */) {
        llamatch_queue_node_sparse(queue, shape, node);
    }
}

/** Called for each entry in order; returns true to have the entry removed. */
typedef bool (*llamatch_visit_fn_t)(void *context, int32_t tag, void *item);

/** Visit all entries in order. There must be no index. @return number of entries removed */
size_t llamatch_queue_walk(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                           llamatch_visit_fn_t visit, void *context);

#endif /* LLAMATCH_QUEUE_H */
