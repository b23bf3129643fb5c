/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * A queue and its short form: see the header for structure and invariants.
 */
#include "llamatch_lane.h"

#include <string.h>

_Static_assert(LLAMATCH_DENSE_MAX < 64, "settling writes one word of bits");

void llamatch_lane_settle(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_node_t *node = lane->queue.head;
    uint32_t begin = llamatch_lane_begin(lane);

    lane->cursor = NULL;
    if (!llamatch_lane_is_dense(lane)) {
        return;
    }
    if (0 < lane->count) {
        node->bits[0] = (((uint64_t) 1 << lane->count) - 1) << begin;
        node->first_seq = llamatch_node_slots(shape, node)[begin].seq;
        node->live = lane->count;
        node->end = lane->end;
    }
    lane->queue.count = lane->count;
    lane->end = LLAMATCH_NOT_DENSE;
}

void llamatch_lane_pack(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    lane->cursor = NULL;
    lane->end = (uint16_t) llamatch_queue_pack(&lane->queue, shape);
    lane->queue.count = 0;
}

void llamatch_lane_remove_rest(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                               llamatch_pos_t pos)
{
    if (pos.node == lane->cursor && pos.index + 1 == pos.node->end) {
        /* Places of the node that were passed may be used again. */
        lane->fresh = UINT64_MAX;
        if (1 == pos.node->live) {
            lane->cursor = pos.node->next;
        }
    }
    if (llamatch_queue_remove(&lane->queue, shape, pos) || 0 == lane->queue.count) {
        lane->cursor = NULL;
    }
    llamatch_lane_changed(lane, shape);
}

llamatch_pos_t llamatch_lane_append_few(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                        int32_t tag, uint64_t seq, void *item)
{
    llamatch_queue_t *queue = &lane->queue;
    llamatch_pos_t pos = {queue->head, lane->end};

    if (!llamatch_lane_is_dense(lane) && NULL == queue->index && 0 < shape->dense) {
        if (NULL == pos.node && NULL == (pos.node = llamatch_queue_grow(queue, shape))) {
            return pos;
        }
        lane->end = 0;
        pos.index = 0;
    }
    if (llamatch_lane_has_room(lane, shape)) {
        (void) llamatch_lane_push(lane, shape, tag, seq, item);
        return pos;
    }
    llamatch_lane_settle(lane, shape);
    pos = llamatch_queue_append(queue, shape, tag, seq, item);
    lane->count = queue->count;
    return pos;
}

void llamatch_lane_close(llamatch_lane_t *lane, const llamatch_shape_t *shape, uint32_t index)
{
    int32_t *tags = llamatch_lane_tags(lane);
    llamatch_slot_t *slots = llamatch_node_slots(shape, lane->queue.head);
    uint32_t begin = llamatch_lane_begin(lane), before = index - begin;
    uint32_t behind = lane->end - index - 1;

    if (before < behind) {
        memmove(tags + begin + 1, tags + begin, before * sizeof(*tags));
        memmove(slots + begin + 1, slots + begin, before * sizeof(*slots));
    } else {
        memmove(tags + index, tags + index + 1, behind * sizeof(*tags));
        memmove(slots + index, slots + index + 1, behind * sizeof(*slots));
        --lane->end;
    }
    --lane->count;
}

void llamatch_lane_release(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    lane->end = LLAMATCH_NOT_DENSE;
    llamatch_queue_node_empty(&lane->queue, shape, lane->queue.head);
}

llamatch_pos_t llamatch_lane_find_item(const llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                       llamatch_node_t *node, const void *item)
{
    bool dense = llamatch_lane_is_dense(lane);
    uint32_t end = dense ? lane->end : node->end;
    llamatch_pos_t pos = {node, dense ? llamatch_lane_begin(lane) : llamatch_node_next(node, 0)};

    while (pos.index < end && item != llamatch_node_slots(shape, node)[pos.index].item) {
        pos.index = dense ? pos.index + 1 : llamatch_node_next(node, pos.index + 1);
    }
    if (pos.index >= end) {
        pos.node = NULL;
    }
    return pos;
}

/* Is a live entry with a tag in a node, but not among those of its first 64 that are left out? */
static bool has_tag(const llamatch_shape_t *shape, const llamatch_node_t *node, int32_t tag,
                    uint64_t left_out, uint32_t end)
{
    for (uint32_t i = llamatch_node_next(node, 0); i < end; i = llamatch_node_next(node, i + 1)) {
        if (tag == llamatch_node_tags(shape, node)[i] && (64 <= i || 0 == (left_out >> i & 1))) {
            return true;
        }
    }
    return false;
}

static bool cursor_is_right(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_node_t *node = lane->queue.head;

    while (NULL != node && lane->cursor != node) {
        if (has_tag(shape, node, lane->cursor_tag, 0, node->end)) {
            return false;
        }
        node = node->next;
    }
    return NULL != node && !llamatch_lane_is_dense(lane) && NULL == lane->queue.index
           && !has_tag(shape, node, lane->cursor_tag, lane->fresh,
                       (node->end < 64) ? node->end : 64);
}

int llamatch_lane_verify(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_queue_t *queue = &lane->queue;
    const llamatch_slot_t *slots;
    int broken = llamatch_queue_verify(queue, shape);

    if (0 != broken) {
        return broken;
    }
    if (NULL != lane->cursor && !cursor_is_right(lane, shape)) {
        return 26;
    }
    if (!llamatch_lane_is_dense(lane)) {
        return (lane->count == queue->count) ? 0 : 21;
    }
    if (NULL == queue->head || queue->head != queue->tail || 0 != queue->head->live
        || 0 != queue->count || NULL != queue->index) {
        return 22;
    }
    if (lane->count > lane->end || lane->end > shape->dense
        || (0 == lane->count && 0 != lane->end)) {
        return 23;
    }
    slots = llamatch_node_slots(shape, queue->head);
    for (uint32_t i = llamatch_lane_begin(lane); i + 1 < lane->end; ++i) {
        if (slots[i].seq >= slots[i + 1].seq) {
            return 24;
        }
    }
    return 0;
}
