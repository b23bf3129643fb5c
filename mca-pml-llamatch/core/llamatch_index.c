/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Hash over the tags of a queue: see the header.
 */
#include "llamatch_index.h"

#define MIN_BUCKETS 16
#define MAX_BUCKETS (1u << 24)

/* References per bucket: as many when the index is made, and when it is made anew. */
#define FILL_NEW 2
#define FILL_MOST 4

/* An index that has this many buckets per entry is made anew, smaller. */
#define BUCKETS_MOST 16

/* The index is looked at again after this many entries were found with it, plus as many as there
 * are: making it costs by the entry. */
#define REVIEW 256

/* An index whose queue has less than one live entry in this many is built anew. */
#define SPARSE_MOST 4

/* Node and index of an entry in one word: nodes are aligned to a line, so 6 bits are free. Nodes of
 * more than 64 entries have several entries with these bits; the sequence number decides, and the
 * live bit: a short lane leaves copies of entries that it moved on (llamatch_lane.h). */
_Static_assert(LLAMATCH_LINE == 64, "the lower 6 bits of a node's address are used");

static void *reference_to(llamatch_pos_t pos)
{
    return (char *) pos.node + pos.index % 64;
}

static llamatch_pos_t entry_of(const llamatch_shape_t *shape, const llamatch_slot_t *reference)
{
    uintptr_t word = (uintptr_t) reference->item;
    llamatch_pos_t pos = {(llamatch_node_t *) (word - word % 64), (uint32_t) (word % 64)};

    while (llamatch_node_slots(shape, pos.node)[pos.index].seq != reference->seq
           || !llamatch_node_is_live(pos.node, pos.index)) {
        pos.index += 64;
    }
    return pos;
}

/* Fibonacci hashing: consecutive tags, and tags with equal low or high bits, spread evenly. */
static inline llamatch_queue_t *bucket_of(llamatch_index_t *index, int32_t tag)
{
    return &index->buckets[(uint32_t) tag * UINT32_C(2654435769) >> index->shift];
}

/* The first reference with a tag. There are few in a bucket, so they are compared one by one. */
static inline llamatch_pos_t find_reference(const llamatch_shape_t *shape,
                                            const llamatch_queue_t *bucket, int32_t tag,
                                            uint64_t *examined)
{
    llamatch_pos_t pos = {bucket->head, 0};

    for (; NULL != pos.node; pos.node = pos.node->next) {
        for (uint64_t live = pos.node->bits[0]; 0 != live; live &= live - 1) {
            pos.index = (uint32_t) __builtin_ctzll(live);
            ++*examined;
            if (tag == llamatch_node_tags(shape, pos.node)[pos.index]) {
                return pos;
            }
        }
    }
    return pos;
}

static size_t bytes_of(uint32_t num_buckets)
{
    return llamatch_round_up(sizeof(llamatch_index_t) + num_buckets * sizeof(llamatch_queue_t),
                             LLAMATCH_LINE);
}

static int add_reference(const llamatch_indexing_t *indexing, llamatch_index_t *index,
                         const llamatch_shape_t *shape, int32_t tag, llamatch_pos_t pos)
{
    uint64_t seq = llamatch_node_slots(shape, pos.node)[pos.index].seq;

    if (NULL
        == llamatch_queue_append(bucket_of(index, tag), &indexing->bucket, tag, seq,
                                 reference_to(pos))
               .node) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    index->any_tags += (LLAMATCH_ANY_TAG == tag);
    return LLAMATCH_OK;
}

static void give_back(const llamatch_indexing_t *indexing, llamatch_queue_t *queue)
{
    llamatch_index_t *index = queue->index;

    for (uint32_t i = 0; i < index->num_buckets; ++i) {
        llamatch_queue_clear(&index->buckets[i], &indexing->bucket);
    }
    queue->index = NULL;
    llamatch_pool_put(index->memory, index);
}

int llamatch_index_build(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                         const llamatch_shape_t *shape)
{
    llamatch_pool_class_t *memory;
    llamatch_index_t *index;
    uint32_t num_buckets = MIN_BUCKETS, shift = 28;

    while (num_buckets < MAX_BUCKETS && num_buckets * FILL_NEW < queue->count) {
        num_buckets *= 2;
        --shift;
    }
    memory = llamatch_pool_class(indexing->pool, bytes_of(num_buckets), bytes_of(num_buckets));
    index = (NULL != memory) ? llamatch_pool_get(memory) : NULL;
    if (NULL == index) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    index->memory = memory;
    index->shift = shift;
    index->num_buckets = num_buckets;
    index->queue_nodes = 0;
    index->marked = 0;
    index->any_tags = 0;
    index->found = 0;
    index->found_in_front = 0;
    for (uint32_t i = 0; i < num_buckets; ++i) {
        llamatch_queue_init(&index->buckets[i]);
    }
    queue->index = index;
    for (llamatch_node_t *node = queue->head; NULL != node; node = node->next) {
        ++index->queue_nodes;
        for (uint32_t i = llamatch_node_next(node, 0); i < node->end;
             i = llamatch_node_next(node, i + 1)) {
            llamatch_pos_t pos = {node, i};

            if (LLAMATCH_OK
                != add_reference(indexing, index, shape, llamatch_node_tags(shape, node)[i], pos)) {
                give_back(indexing, queue);
                return LLAMATCH_ERR_NO_MEMORY;
            }
        }
    }
    return LLAMATCH_OK;
}

static bool is_marked(void *context, int32_t tag, void *item)
{
    (void) context;
    (void) tag;
    return NULL == item;
}

void llamatch_index_drop(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                         const llamatch_shape_t *shape)
{
    uint32_t marked = queue->index->marked;

    give_back(indexing, queue);
    if (0 != marked) {
        queue->count += marked;
        (void) llamatch_queue_walk(queue, shape, is_marked, NULL);
    }
}

static void build_anew(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                       const llamatch_shape_t *shape)
{
    llamatch_index_drop(indexing, queue, shape);
    llamatch_queue_compact(queue, shape);
    (void) llamatch_index_build(indexing, queue, shape);
}

void llamatch_index_add(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                        const llamatch_shape_t *shape, int32_t tag, llamatch_pos_t pos)
{
    llamatch_index_t *index = queue->index;

    if (LLAMATCH_OK != add_reference(indexing, index, shape, tag, pos)) {
        llamatch_index_drop(indexing, queue, shape);
    } else if (queue->count > index->num_buckets * FILL_MOST && index->num_buckets < MAX_BUCKETS) {
        build_anew(indexing, queue, shape);
    }
}

/* Take an entry out of queue and bucket. */
static void take_out(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                     const llamatch_shape_t *shape, llamatch_queue_t *bucket,
                     llamatch_pos_t in_bucket, llamatch_pos_t pos)
{
    queue->index->any_tags -=
        (LLAMATCH_ANY_TAG
         == llamatch_node_tags(&indexing->bucket, in_bucket.node)[in_bucket.index]);
    llamatch_queue_remove(bucket, &indexing->bucket, in_bucket);
    llamatch_queue_remove(queue, shape, pos);
}

llamatch_pos_t llamatch_index_find(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                                   const llamatch_shape_t *shape, int32_t tag, uint64_t *examined)
{
    llamatch_queue_t *bucket = bucket_of(queue->index, tag);

    for (;;) {
        llamatch_pos_t pos, in_bucket = find_reference(&indexing->bucket, bucket, tag, examined);

        if (NULL == in_bucket.node) {
            return in_bucket;
        }
        pos = entry_of(shape,
                       &llamatch_node_slots(&indexing->bucket, in_bucket.node)[in_bucket.index]);
        if (NULL != llamatch_node_slots(shape, pos.node)[pos.index].item) {
            return pos;
        }
        --queue->index->marked;
        ++queue->count; /* it was not counted any more */
        take_out(indexing, queue, shape, bucket, in_bucket, pos);
    }
}

/* Is it still worth while, and in good shape? */
static void review(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                   const llamatch_shape_t *shape)
{
    llamatch_index_t *index = queue->index;
    bool useless = index->found_in_front > index->found / 8 * 7;
    bool due = REVIEW + queue->count <= index->found;

    if (!indexing->keep && (queue->count <= indexing->drop_below || (due && useless))) {
        llamatch_index_drop(indexing, queue, shape);
        /* As good as useless: it has to be earned again. Else it is made at the first occasion. */
        queue->passed = useless ? 0 : UINT32_MAX;
        return;
    }
    if (due) {
        index->found = 0;
        index->found_in_front = 0;
    }
    if (queue->count < index->num_buckets / BUCKETS_MOST && MIN_BUCKETS < index->num_buckets) {
        build_anew(indexing, queue, shape);
    } else if (index->queue_nodes > 4
               && (index->queue_nodes - 4) * (uint64_t) shape->entries
                      > (queue->count + index->marked) * (uint64_t) SPARSE_MOST) {
        build_anew(indexing, queue, shape);
    }
}

void llamatch_index_remove(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                           const llamatch_shape_t *shape, llamatch_pos_t pos)
{
    llamatch_index_t *index = queue->index;
    int32_t tag = llamatch_node_tags(shape, pos.node)[pos.index];
    llamatch_queue_t *bucket = bucket_of(index, tag);
    uint64_t examined = 0;
    llamatch_pos_t in_bucket = find_reference(&indexing->bucket, bucket, tag, &examined);

    ++index->found;
    index->found_in_front += (pos.node == queue->head);
    take_out(indexing, queue, shape, bucket, in_bucket, pos);
    review(indexing, queue, shape);
}

void llamatch_index_cancel(const llamatch_indexing_t *indexing, llamatch_queue_t *queue,
                           const llamatch_shape_t *shape, llamatch_pos_t pos)
{
    int32_t tag = llamatch_node_tags(shape, pos.node)[pos.index];
    uint64_t examined = 0;
    llamatch_pos_t first = llamatch_index_find(indexing, queue, shape, tag, &examined);

    if (first.node == pos.node && first.index == pos.index) {
        llamatch_index_remove(indexing, queue, shape, pos);
        return;
    }
    llamatch_node_slots(shape, pos.node)[pos.index].item = NULL;
    --queue->count;
    ++queue->index->marked;
    if (!indexing->keep && queue->count <= indexing->drop_below) {
        llamatch_index_drop(indexing, queue, shape);
    } else if (queue->index->marked > queue->count + REVIEW) {
        build_anew(indexing, queue, shape);
    }
}
