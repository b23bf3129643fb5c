/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The arena: line-aligned nodes of a few sizes, for all queues of the process.
 *
 * Queues of all communicators take their nodes from here, so that the keys that matching reads lie
 * together in a few big blocks, that the memory of one communicator serves the next one, and that
 * a heater knows what to heat. Nodes of one size are a class. Memory comes in blocks of 64 KiB,
 * aligned to their size, so that a node's block is found by masking its address:
 *
 *     0    | class, list links, counts | in_use: one bit per node |    header, 256 bytes
 *     256  | node 0 | node 1 | ... | node capacity-1 |
 *
 * A node that leaves no room for a second one has a block of its own, as long as it needs to be
 * (a hash table may have some MiB); it begins at 256 like the others, so masking works for it too.
 * Blocks are mapped side by side where possible: the system sees one mapping.
 *
 * A node is taken from one of the fullest blocks of its class that have room, the lowest one first,
 * so that a draining arena empties whole blocks. An empty block serves any class of its size.
 *
 * Some nodes that are given back to the block from which the last one was taken stay at hand:
 * queues that gain and lose their arrays with each burst need not search. They are put away before
 * anybody could see a difference: when an empty block is wanted, a round ends, or a heater is
 * there.
 *
 * How much stays mapped. Mapping a block costs some 8 us, a get and a put 10 ns, so what a program
 * needs again and again must stay, and what it needed once must go. A round ends when the arena is
 * drained to one block, or when LLAMATCH_POOL_CHURN times as many bytes have come back as were in
 * use at its peak, but not before LLAMATCH_POOL_ROUND bytes have come back. The arena keeps the
 * second highest peak of the last LLAMATCH_POOL_ROUNDS rounds, the present one included, and at
 * least LLAMATCH_POOL_FLOOR; of what is mapped beyond that, each put gives back one empty block.
 * So a burst that does not come again leaves nothing, one that comes in every round is mapped twice
 * and then stays, and goes some rounds after it was last seen.
 *
 * Threads: everything may be called from any thread; one mutex, which matching takes only when a
 * queue gains or loses a node. Destroying is for the last user.
 *
 * Heating: llamatch_pool_heat takes no lock. It follows the list of blocks, which only grows at its
 * end while the arena is pinned, and reads which nodes are in use. A node may be given back and
 * taken again meanwhile, and a block may change its class: then a line too many or too few is read,
 * never one that is not mapped.
 *
 * Invariants (llamatch_pool_verify returns the number of the first broken one):
 *  I1 each block is aligned; next and prev of the list of all blocks mirror each other.
 *  I2 block->used is the number of bits in in_use; no bit at or beyond capacity is set.
 *  I3 a block is in the list that its use says: of the empty ones, in a bin of its class, or, if it
 *     is full, in none; next and prev of these lists mirror each other.
 *  I4 the counts of the pool are the sums over all blocks; used_bytes without the nodes at hand.
 *  I5 keep is what the peaks say.
 *  I6 a node at hand is in use to its block, which is the last one.
 */
#ifndef LLAMATCH_POOL_H
#define LLAMATCH_POOL_H

#include "llamatch_memory.h"
#include "llamatch_touch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes and alignment of a block. */
#define LLAMATCH_POOL_BLOCK ((size_t) 64 * 1024)

/** Different sizes of nodes that one arena can have: node sizes and powers of two for tables. */
#define LLAMATCH_POOL_CLASSES 64

/** Rounds whose peaks are remembered; what must come back in one: bytes, and a multiple of its
 * peak.
 */
#define LLAMATCH_POOL_ROUNDS 8
#define LLAMATCH_POOL_ROUND ((size_t) 1024 * 1024)
#define LLAMATCH_POOL_CHURN 4

/** Bytes that stay mapped in any case: a block for each size that a process commonly uses. */
#define LLAMATCH_POOL_FLOOR (4 * LLAMATCH_POOL_BLOCK)

/** Nodes of a class that stay at hand. */
#define LLAMATCH_POOL_AT_HAND 4

/** Lists of blocks with room of a class, by how full they are. */
#define LLAMATCH_POOL_BINS 4

typedef struct llamatch_pool llamatch_pool_t;

/** Nodes of one size. The fields are llamatch_pool.c's. */
typedef struct llamatch_pool_class {
    llamatch_pool_t *pool;
    size_t node_bytes;                    /**< a multiple of the line */
    size_t key_bytes;                     /**< of each node: what the heater touches */
    size_t block_bytes;                   /**< of each block */
    uint32_t capacity;                    /**< nodes of a block */
    uint32_t reciprocal;                  /**< of the lines of a node, times 2^16 */
    uint32_t per_bin;                     /**< bins per node in use, times 2^20 */
    _Atomic uint32_t num_at_hand;         /**< written under the mutex */
    struct llamatch_pool_block *last;     /**< from which a node was taken last */
    void *at_hand[LLAMATCH_POOL_AT_HAND]; /**< of that block, which knows them as in use */
    struct llamatch_pool_block *bins[LLAMATCH_POOL_BINS];
} llamatch_pool_class_t;

/**
 * Make an arena.
 *
 * @param allocator  where blocks come from, called under the arena's mutex; NULL: pages of the
 *                   system, which it gets back
 * @return LLAMATCH_OK or LLAMATCH_ERR_NO_MEMORY
 */
int llamatch_pool_create(const llamatch_allocator_t *allocator, llamatch_pool_t **pool_out);

llamatch_allocator_t llamatch_pool_allocator(const llamatch_pool_t *pool);

/** Take the mutex only while @p threads is true. NULL, the default: always. */
void llamatch_pool_set_threads(llamatch_pool_t *pool, const bool *threads);

/** Give everything back, nodes in use as well. No heater may run. NULL is no error. */
void llamatch_pool_destroy(llamatch_pool_t *pool);

/**
 * The class of nodes of this size, made when it is asked for the first time. It lives as long as
 * the arena.
 *
 * @param node_bytes  rounded up to whole lines
 * @param key_bytes   bytes at the start of each node in use that a heater touches; may be 0
 * @return NULL when all LLAMATCH_POOL_CLASSES are taken, or for a size of 0 or beyond SIZE_MAX / 2
 *         and for a key that is larger than the node
 */
llamatch_pool_class_t *llamatch_pool_class(llamatch_pool_t *pool, size_t node_bytes,
                                           size_t key_bytes);

/** Take a node: line-aligned, contents undefined. @return NULL when there is no memory */
void *llamatch_pool_get(llamatch_pool_class_t *c);

/** Would llamatch_pool_get find a node at hand? Another thread may take it. */
static inline bool llamatch_pool_has_at_hand(const llamatch_pool_class_t *c)
{
    return 0 < atomic_load_explicit(&c->num_at_hand, memory_order_relaxed);
}

/** Give a node of this class back. */
void llamatch_pool_put(llamatch_pool_class_t *c, void *node);

/** Bytes of all blocks. */
size_t llamatch_pool_bytes(const llamatch_pool_t *pool);

/** Bytes of all nodes in use. */
size_t llamatch_pool_used_bytes(const llamatch_pool_t *pool);

/** From now on no block is given back. Counted. */
void llamatch_pool_pin(llamatch_pool_t *pool);

/** The last one gives back what is empty and not kept. */
void llamatch_pool_unpin(llamatch_pool_t *pool);

/**
 * Touch the key lines of the nodes in use, oldest blocks first, at most @p max_bytes. The arena
 * must be pinned. Takes no lock.
 *
 * @param stop  ends the walk when it becomes true; NULL: never
 * @return bytes touched
 */
size_t llamatch_pool_heat(const llamatch_pool_t *pool, size_t max_bytes, llamatch_heat_t how,
                          const atomic_bool *stop);

/** @return 0, or the number of the first broken invariant of this file */
int llamatch_pool_verify(const llamatch_pool_t *pool);

#endif /* LLAMATCH_POOL_H */
