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

_Static_assert(sizeof(llamatch_node_t) <= LLAMATCH_LINE, "the node header must fit in one line");

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

int llamatch_nodes_init(llamatch_nodes_t *nodes, uint32_t entries, uint32_t max_spare,
                        size_t max_idle, const llamatch_allocator_t *allocator)
{
    if (entries < LLAMATCH_ENTRIES_MIN || entries > LLAMATCH_ENTRIES_MAX
        || 0 != (entries & (entries - 1))) {
        return LLAMATCH_ERR_ARGUMENT;
    }
    nodes->allocator = (NULL != allocator) ? *allocator : llamatch_allocator_libc;
    nodes->spare = NULL;
    nodes->entries = entries;
    nodes->num_spare = 0;
    nodes->max_spare = max_spare;
    nodes->max_idle = max_idle;
    nodes->slots_offset =
        round_up(LLAMATCH_LINE + entries * sizeof(int32_t), sizeof(llamatch_slot_t));
    nodes->node_bytes =
        round_up(nodes->slots_offset + entries * sizeof(llamatch_slot_t), LLAMATCH_LINE);
    nodes->num_used = 0;
    return LLAMATCH_OK;
}

void llamatch_nodes_fini(llamatch_nodes_t *nodes)
{
    while (NULL != nodes->spare) {
        llamatch_node_t *node = nodes->spare;

        nodes->spare = node->next;
        nodes->allocator.free(nodes->allocator.context, node, nodes->node_bytes);
    }
    nodes->num_spare = 0;
}

static llamatch_node_t *node_get(llamatch_nodes_t *nodes)
{
    llamatch_node_t *node = nodes->spare;

    if (NULL != node) {
        nodes->spare = node->next;
        --nodes->num_spare;
    } else {
        node = nodes->allocator.alloc(nodes->allocator.context, LLAMATCH_LINE, nodes->node_bytes);
        if (NULL == node) {
            return NULL;
        }
    }
    ++nodes->num_used;
    return node;
}

static void node_put(llamatch_nodes_t *nodes, llamatch_node_t *node)
{
    --nodes->num_used;
    if (nodes->num_spare < nodes->max_spare) {
        node->next = nodes->spare;
        nodes->spare = node;
        ++nodes->num_spare;
    } else {
        nodes->allocator.free(nodes->allocator.context, node, nodes->node_bytes);
    }
}

void llamatch_queue_clear(llamatch_queue_t *queue, llamatch_nodes_t *nodes)
{
    while (NULL != queue->head) {
        llamatch_node_t *node = queue->head;

        queue->head = node->next;
        node_put(nodes, node);
    }
    llamatch_queue_init(queue);
}

llamatch_node_t *llamatch_queue_grow(llamatch_queue_t *queue, llamatch_nodes_t *nodes)
{
    llamatch_node_t *node = node_get(nodes);

    if (NULL == node) {
        return NULL;
    }
    node->next = NULL;
    node->prev = queue->tail;
    node->first = 0;
    node->end = 0;
    node->live = 0;
    if (NULL == queue->tail) {
        queue->head = node;
    } else {
        queue->tail->next = node;
    }
    queue->tail = node;
    return node;
}

llamatch_pos_t llamatch_queue_find_seq(const llamatch_queue_t *queue, const llamatch_nodes_t *nodes,
                                       uint64_t seq)
{
    llamatch_pos_t pos = {NULL, 0};
    llamatch_node_t *node = queue->head;

    while (NULL != node && NULL != node->next && node->next->first_seq <= seq) {
        node = node->next;
    }
    if (NULL != node) {
        /* Holes keep their sequence number, so the slots of [first, end) are sorted as they are. */
        const llamatch_slot_t *slots = llamatch_node_slots(nodes, node);
        uint32_t low = node->first, high = node->end;

        while (low < high) {
            uint32_t middle = low + (high - low) / 2;

            if (slots[middle].seq < seq) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < node->end && slots[low].seq == seq && NULL != slots[low].item) {
            pos.node = node;
            pos.index = low;
        }
    }
    return pos;
}

void llamatch_queue_shrink(llamatch_queue_t *queue, llamatch_nodes_t *nodes, llamatch_node_t *node)
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
    node_put(nodes, node);
}

size_t llamatch_queue_walk(llamatch_queue_t *queue, llamatch_nodes_t *nodes,
                           llamatch_visit_fn_t visit, void *context)
{
    size_t removed = 0;
    llamatch_node_t *node = queue->head;

    while (NULL != node) {
        /* Removing may trim or unlink this node: keep what the loop needs from before. */
        llamatch_node_t *next = node->next;
        llamatch_slot_t *slots = llamatch_node_slots(nodes, node);
        uint32_t left = node->live;

        for (uint32_t i = node->first; 0 < left; ++i) {
            if (NULL == slots[i].item) {
                continue;
            }
            --left;
            if (visit(context, llamatch_node_tags(node)[i], slots[i].item)) {
                llamatch_pos_t pos = {node, i};

                (void) llamatch_queue_remove(queue, nodes, pos);
                ++removed;
            }
        }
        node = next;
    }
    return removed;
}

int llamatch_queue_verify(const llamatch_queue_t *queue, const llamatch_nodes_t *nodes)
{
    const llamatch_node_t *prev = NULL;
    uint64_t last_seq = 0;
    size_t count = 0;

    if ((NULL == queue->head) != (NULL == queue->tail)
        || (NULL == queue->head && 0 != queue->count)) {
        return 1;
    }
    if (0 == queue->count) {
        const llamatch_node_t *only = queue->head;

        return (NULL == only
                || (only == queue->tail && NULL == only->next && NULL == only->prev
                    && 0 == only->first && 0 == only->end && 0 == only->live))
                   ? 0
                   : 1;
    }
    for (const llamatch_node_t *node = queue->head; NULL != node; node = node->next) {
        const llamatch_slot_t *slots = llamatch_node_slots(nodes, node);
        uint32_t live = 0;

        if (node->prev != prev) {
            return 2;
        }
        if (node->first >= node->end || node->end > nodes->entries
            || NULL == slots[node->first].item || NULL == slots[node->end - 1].item) {
            return 3;
        }
        for (uint32_t i = node->first; i < node->end; ++i) {
            if (NULL == slots[i].item) {
                continue;
            }
            if (0 < count + live && slots[i].seq <= last_seq) {
                return 5;
            }
            last_seq = slots[i].seq;
            ++live;
        }
        if (live != node->live) {
            return 4;
        }
        if (node->first_seq != slots[node->first].seq) {
            return 6;
        }
        count += live;
        prev = node;
    }
    if (queue->tail != prev) {
        return 2;
    }
    return (count == queue->count) ? 0 : 1;
}
