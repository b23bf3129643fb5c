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
 *
 * A node is taken from the fullest block of its class that has room, the lowest one first, so
 * that a draining arena empties whole blocks. Empty blocks are given back when more is mapped than
 * twice what is in use plus one block, but not for the next LLAMATCH_POOL_PATIENCE nodes that come
 * back after a block was mapped: so a table that comes and goes with each burst pays for mapping
 * (8 us measured, against 25 ns for a put and a get) once in a while only, and a drained arena
 * keeps one block. Only bits and counts are written at get and put; the nodes themselves are not
 * touched.
 *
 * Threads: everything may be called from any thread; one mutex, which matching takes only when a
 * queue gains or loses a node. Destroying is for the last user.
 *
 * Heating: llamatch_pool_heat takes no lock. It follows the list of blocks, which only grows at its
 * end while the arena is pinned, and reads which nodes are in use. A node may be given back and
 * taken again meanwhile: then a line too many or too few is read, never one that is not mapped.
 *
 * Invariants (llamatch_pool_verify returns the number of the first broken one):
 *  I1 each block is aligned; next and prev of the list of all blocks mirror each other.
 *  I2 block->used is the number of bits in in_use; no bit at or beyond capacity is set, and all
 *     words of in_use before block->hint are full.
 *  I3 a block with room is in the bin of its class that its use says, a full block in none; the
 *     class's mask tells the bins that are not empty; next and prev of a bin mirror each other.
 *  I4 the counts of each class are the sums over its blocks, those of the pool over all blocks.
 *  I5 bytes <= 2 * used_bytes + one block, or no block is empty, or the arena is pinned or still
 *     patient.
 *  I6 class->roomy says what llamatch_pool_roomy promises.
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

/** Nodes that come back after a block was mapped until one is given back. */
#define LLAMATCH_POOL_PATIENCE 64

/** Blocks of a class up to which an emptied queue may keep its node. */
#define LLAMATCH_POOL_ROOMY_BLOCKS 4

/** Bins of blocks with room, by how full they are; 0: empty. */
#define LLAMATCH_POOL_BINS 8

typedef struct llamatch_pool llamatch_pool_t;

/** Nodes of one size. The fields are llamatch_pool.c's. */
typedef struct llamatch_pool_class {
    atomic_bool roomy; /**< for llamatch_pool_roomy, which takes no lock */
    llamatch_pool_t *pool;
    size_t node_bytes;  /**< a multiple of the line */
    size_t key_bytes;   /**< of each node: what the heater touches */
    size_t block_bytes; /**< of each block */
    uint32_t capacity;  /**< nodes of a block */
    uint32_t mask;      /**< bit b: bins[b] is not empty */
    size_t num_blocks;
    size_t num_used; /**< nodes */
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

/** Give a node of this class back. NULL is no error. */
void llamatch_pool_put(llamatch_pool_class_t *c, void *node);

/**
 * May an emptied queue keep a node for its next entry? Yes while the class has one block, or up to
 * LLAMATCH_POOL_ROOMY_BLOCKS that are at least half in use. Kept nodes count as in use, so however
 * many queues there are, what they keep stays below that many blocks. Not while the arena is
 * pinned: then nodes in use are the nodes of queues with entries, which is what the heater asks
 * for.
 */
static inline bool llamatch_pool_roomy(const llamatch_pool_class_t *c)
{
    return atomic_load_explicit(&c->roomy, memory_order_relaxed);
}

/** Bytes of all blocks. */
size_t llamatch_pool_bytes(const llamatch_pool_t *pool);

/** Bytes of all nodes in use. */
size_t llamatch_pool_used_bytes(const llamatch_pool_t *pool);

/** From now on no block is given back, and emptied queues keep nothing. Counted. */
void llamatch_pool_pin(llamatch_pool_t *pool);

/** The last one gives back what is empty. */
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
