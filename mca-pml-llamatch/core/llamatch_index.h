/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * A hash over the tags of one queue, for queues that are long and searched deeply.
 *
 * A queue holds the entries of one source, so tag and queue together are (source, tag). The queue
 * stays as it is, with all entries in order; the index adds, per hash value, an array list of
 * references to them, in the same order. A search for a tag then looks at a few references instead
 * of at all entries. Buckets are llamatch queues themselves, with nodes of two lines: the first has
 * the header and four tags, the second the references.
 *
 *     buckets[hash(tag)] --> | tag tag tag tag | ref ref ref ref | --> ...
 *                                                 ref: sequence number, node of the queue + index
 *
 * Order: entries come into queue and bucket in the same order, so the first reference with a tag is
 * the first entry with that tag in the queue. What is taken out of a queue is always the first
 * entry with its tag (a message takes the first receive with its tag or the first with ANY_TAG; a
 * receive takes the first message with its tag, and the first message of all tags is the first of
 * its own). Only a cancelled receive can be another one: then it is marked by taking away its
 * item, stays in queue and bucket, and is removed when a search comes across it.
 *
 * The index is an accelerator only: running out of memory means no index, never an error.
 *
 * Invariants (checked by the unit tests: llamatch_index_verify in test/unit/llamatch_verify.h):
 *  I1 there is one reference per live entry of the queue, marked ones included.
 *  I2 each reference is in the bucket of its tag, has the entry's tag and sequence number, and
 *     leads to it.
 *  I3 any_tags is the number of entries with the tag ANY_TAG, marked ones included.
 *  I4 marked is the number of live entries without an item.
 *  I5 queue_nodes is the number of the queue's nodes.
 *  I6 each bucket fulfils the invariants of a queue.
 */
#ifndef LLAMATCH_INDEX_H
#define LLAMATCH_INDEX_H

#include "llamatch_queue.h"

/** Entries per node of a bucket: header and tags are one line, the references another. */
#define LLAMATCH_BUCKET_ENTRIES 4

typedef struct llamatch_index {
    llamatch_pool_class_t *memory; /**< where the index itself comes from */
    uint32_t shift;                /**< hash values are the upper 32 - shift bits */
    uint32_t num_buckets;          /**< a power of two */
    uint32_t queue_nodes;          /**< nodes of the queue */
    uint32_t marked;               /**< cancelled entries that are still there */
    uint32_t any_tags;             /**< entries with the tag ANY_TAG */
    uint32_t found;                /**< entries found since the last decision to keep the index */
    uint32_t found_in_front;       /**< those that a search of the queue had found as well */
    llamatch_queue_t buckets[];
} llamatch_index_t;

/** What an index needs to know of its surroundings. */
typedef struct llamatch_indexing {
    llamatch_pool_t *pool;
    llamatch_shape_t bucket; /**< of the buckets' nodes */
    uint32_t drop_below;     /**< entries of a queue that has no index any more */
    bool keep;               /**< but every queue keeps its index: kind HASH */
} llamatch_indexing_t;

/** Make an index for all entries of a queue that has none. @return OK or ERR_NO_MEMORY */
int llamatch_index_build(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                         const llamatch_shape_t *shape);

/** Take the index away, and with it the marked entries. */
void llamatch_index_drop(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                         const llamatch_shape_t *shape);

/**
 * Add the entry that was just appended to the queue. When there is no memory, or the buckets
 * are too few, the index is dropped or built anew.
 */
void llamatch_index_add(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                        const llamatch_shape_t *shape, int32_t tag, llamatch_pos_t pos);

/**
 * The first entry of the queue with this tag; pos.node is NULL if there is none. Marked ones on the
 * way are removed.
 */
llamatch_pos_t llamatch_index_find(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                                   const llamatch_shape_t *shape, int32_t tag, uint64_t *examined);

/**
 * Take an entry out of the queue and its index. It must be the first with its tag. Builds the index
 * anew when the queue has become sparse; drops it, unless it is to be kept, when the queue has
 * become short or when most entries are found in front anyway.
 */
void llamatch_index_remove(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                           const llamatch_shape_t *shape, llamatch_pos_t pos);

/** Remove a cancelled entry, or mark it if it is not the first with its tag; the index may be
 * dropped or built anew, as above. */
void llamatch_index_cancel(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                           const llamatch_shape_t *shape, llamatch_pos_t pos);

#endif /* LLAMATCH_INDEX_H */
