/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Linked list of arrays: see the header for layout and invariants.
 */
#include "llamatch_queue.h"
#include "llamatch_index.h"

#include <string.h>

/* Words of live bits that a node has, also when not all of its entries are used. */
static uint32_t words_of(const llamatch_shape_t *shape)
{
    return ((shape->slots_offset - shape->tags_offset) / (uint32_t) sizeof(int32_t) + 63) / 64;
}

int llamatch_shape_init(llamatch_shape_t *shape, llamatch_pool_t *pool, uint32_t entries,
                        llamatch_find_fn_t find, llamatch_moved_fn_t moved)
{
    uint32_t tags_end, words = (entries + 63) / 64;

    if (0 == entries || entries > LLAMATCH_ENTRIES_MAX || 0 != (entries & (entries - 1))) {
        return LLAMATCH_ERR_ARGUMENT;
    }
    shape->tags_offset = (uint32_t) (sizeof(llamatch_node_t) + words * sizeof(uint64_t));
    if (LLAMATCH_LINE < shape->tags_offset + entries * sizeof(int32_t)) {
        shape->tags_offset = (uint32_t) llamatch_round_up(shape->tags_offset, LLAMATCH_LINE);
    }
    tags_end = shape->tags_offset + entries * (uint32_t) sizeof(int32_t);
    shape->slots_offset = (uint32_t) llamatch_round_up(tags_end, LLAMATCH_LINE);
    shape->entries = entries;
    shape->own_entries = 0;
    shape->short_entries = 0;
    shape->sparse = entries / 4;
    shape->find = find;
    shape->moved = moved;
    /* A search may read a block of tags beyond the last one; the slots are there. */
    shape->nodes = llamatch_pool_class(
        pool, shape->slots_offset + entries * sizeof(llamatch_slot_t), shape->slots_offset);
    shape->small = NULL;
    if (LLAMATCH_SMALL_ENTRIES < entries) {
        shape->small = llamatch_pool_class(pool, sizeof(llamatch_small_t), LLAMATCH_LINE);
    }
    return (NULL != shape->nodes && (NULL != shape->small || entries <= LLAMATCH_SMALL_ENTRIES))
               ? LLAMATCH_OK
               : LLAMATCH_ERR_NO_MEMORY;
}

uint32_t llamatch_node_next(const llamatch_node_t *node, uint32_t index)
{
    while (index < node->end) {
        uint64_t rest = node->bits[index / 64] >> index % 64;

        if (0 != rest) {
            return index + (uint32_t) __builtin_ctzll(rest);
        }
        index = (index / 64 + 1) * 64;
    }
    return node->end;
}

void llamatch_queue_clear(llamatch_queue_t *queue, const llamatch_shape_t *shape)
{
    while (NULL != queue->head) {
        llamatch_node_t *node = queue->head;

        queue->head = node->next;
        llamatch_pool_put(shape->nodes, node);
    }
    llamatch_queue_init(queue);
}

llamatch_node_t *llamatch_queue_grow(llamatch_queue_t *queue, const llamatch_shape_t *shape)
{
    llamatch_node_t *node = llamatch_pool_get(shape->nodes);

    if (NULL != node) {
        llamatch_queue_link(queue, shape, node);
    }
    return node;
}

void llamatch_queue_link(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                         llamatch_node_t *node)
{
    /* Not the tags: a search reads whole blocks of them, and leaves out by the bits. */
    memset(node, 0, shape->tags_offset);
    node->prev = queue->tail;
    if (NULL == queue->tail) {
        queue->head = node;
    } else {
        queue->tail->next = node;
    }
    queue->tail = node;
    if (NULL != queue->index) {
        ++queue->index->queue_nodes;
    }
}

static void unlink_node(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                        llamatch_node_t *node)
{
    if (NULL == node->prev) {
        queue->head = node->next;
    } else {
        node->prev->next = node->next;
    }
    if (NULL == node->next) {
        queue->tail = node->prev;
    } else {
        node->next->prev = node->prev;
    }
    llamatch_pool_put(shape->nodes, node);
    if (NULL != queue->index) {
        --queue->index->queue_nodes;
    }
}

void llamatch_queue_node_empty(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                               llamatch_node_t *node)
{
    llamatch_node_t *tail;

    unlink_node(queue, shape, node);
    tail = queue->tail;
    if (0 == queue->count && NULL != tail && 0 == tail->live) {
        unlink_node(queue, shape, tail);
    }
}

/* Move the live entries of one node to another, from an index on. The two may be the same node. */
static uint32_t move_entries(const llamatch_shape_t *shape, llamatch_node_t *from,
                             llamatch_node_t *to, uint32_t next)
{
    for (uint32_t word = 0; word * 64 < from->end; ++word) {
        for (uint64_t rest = from->bits[word]; 0 != rest; rest &= rest - 1, ++next) {
            uint32_t i = word * 64 + (uint32_t) __builtin_ctzll(rest);

            llamatch_node_tags(shape, to)[next] = llamatch_node_tags(shape, from)[i];
            llamatch_node_slots(shape, to)[next] = llamatch_node_slots(shape, from)[i];
            if (from != to && NULL != shape->moved) {
                shape->moved(llamatch_node_slots(shape, to)[next].item, (uintptr_t) to);
            }
        }
    }
    return next;
}

/* Are there two nodes, and few enough entries in them? */
static bool may_merge(const llamatch_node_t *node, const llamatch_node_t *next, uint32_t limit)
{
    return NULL != node && NULL != next && (uint32_t) node->live + next->live <= limit;
}

/* Put the entries of the next node behind those of this one, and let the next node go. */
static void merge_next(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                       llamatch_node_t *node)
{
    llamatch_node_t *next = node->next;
    uint32_t live = move_entries(shape, node, node, 0);

    live = move_entries(shape, next, node, live);
    node->live = (uint16_t) live;
    node->end = live;
    for (uint32_t word = 0; word < words_of(shape); ++word) {
        uint32_t here = (live <= word * 64) ? 0 : live - word * 64;

        node->bits[word] = llamatch_low_bits(here);
    }
    unlink_node(queue, shape, next);
}

void llamatch_queue_node_sparse(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                                llamatch_node_t *node)
{
    if (NULL != queue->index) {
        return;
    }
    if (may_merge(node, node->next, shape->entries / 2)) {
        merge_next(queue, shape, node);
    }
    if (may_merge(node->prev, node, shape->entries / 2)) {
        merge_next(queue, shape, node->prev);
    }
}

uint32_t llamatch_queue_pack(llamatch_queue_t *queue, const llamatch_shape_t *shape)
{
    llamatch_node_t *node = queue->head;
    uint32_t entries = move_entries(shape, node, node, 0);

    queue->count = 0;
    node->end = 0;
    node->live = 0;
    memset(node->bits, 0, words_of(shape) * sizeof(node->bits[0]));
    return entries;
}

void llamatch_queue_compact(llamatch_queue_t *queue, const llamatch_shape_t *shape)
{
    for (llamatch_node_t *node = queue->head; NULL != node; node = node->next) {
        while (may_merge(node, node->next, shape->entries)) {
            merge_next(queue, shape, node);
        }
    }
}

size_t llamatch_queue_walk(llamatch_queue_t *queue, const llamatch_shape_t *shape,
                           llamatch_visit_fn_t visit, void *context)
{
    size_t removed = 0;
    llamatch_node_t *node = queue->head;

    while (NULL != node) {
        llamatch_node_t *next = node->next;

        for (uint32_t i = llamatch_node_next(node, 0); i < node->end;
             i = llamatch_node_next(node, i + 1)) {
            if (visit(context, llamatch_node_tags(shape, node)[i],
                      llamatch_node_slots(shape, node)[i].item)) {
                node->bits[i / 64] &= ~((uint64_t) 1 << i % 64);
                --node->live;
                ++removed;
            }
        }
        if (0 == node->live) {
            unlink_node(queue, shape, node);
        } else {
            while (!llamatch_node_is_live(node, node->end - 1)) {
                --node->end;
            }
        }
        node = next;
    }
    queue->count -= (uint32_t) removed;
    if (0 < removed) {
        llamatch_queue_compact(queue, shape);
    }
    return removed;
}
