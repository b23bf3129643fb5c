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

/* The lowest bits set, as many as told. */
static uint64_t low_bits(uint32_t bits)
{
    return (64 <= bits) ? UINT64_MAX : ((uint64_t) 1 << bits) - 1;
}

/* Set the live bits of a node from one index up to another. */
static void set_live(llamatch_node_t *node, uint32_t from, uint32_t to)
{
    for (uint32_t word = from / 64; word * 64 < to; ++word) {
        uint32_t first = (from > word * 64) ? from - word * 64 : 0;

        node->bits[word] |= low_bits(to - word * 64) & ~low_bits(first);
    }
}

void llamatch_lane_settle(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_node_t *node = lane->queue.head;

    lane->cursor = NULL;
    if (!llamatch_lane_is_dense(lane)) {
        return;
    }
    if (0 < lane->count) {
        set_live(node, lane->gap - lane->front, lane->gap);
        set_live(node, lane->rear, lane->end);
        node->first_seq = llamatch_node_slots(shape, node)[llamatch_lane_begin(lane)].seq;
        node->live = (uint16_t) lane->count;
        node->end = lane->end;
    }
    lane->queue.count = lane->count;
    llamatch_lane_reset(lane);
    lane->rear = LLAMATCH_NOT_DENSE;
    lane->end = LLAMATCH_NOT_DENSE;
}

/* An array is, or may be, used as a dense lane's: how much of it? */
static void set_room(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                     const llamatch_node_t *node)
{
    lane->room = (node->places < shape->dense) ? node->places : shape->dense;
}

/* Move entries of a dense lane to another place in its array. */
static void move(const llamatch_lane_t *lane, const llamatch_shape_t *shape, uint32_t from,
                 uint32_t to, uint32_t count)
{
    int32_t *tags = llamatch_lane_tags(lane);
    llamatch_slot_t *slots = llamatch_node_slots(shape, lane->queue.head);

    if (0 < count) {
        memmove(tags + to, tags + from, count * sizeof(*tags));
        memmove(slots + to, slots + from, count * sizeof(*slots));
    }
}

static void close_gap(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    uint32_t behind = lane->end - lane->rear;

    if (lane->front <= behind) {
        move(lane, shape, lane->gap - lane->front, lane->rear - lane->front, lane->front);
        lane->rear -= lane->front;
    } else {
        move(lane, shape, lane->rear, lane->gap, behind);
        lane->rear = lane->gap - lane->front;
        lane->end = lane->gap + behind;
    }
    lane->gap = 0;
    lane->front = 0;
}

/* Is there one of two tags among the first eight? They are compared together. */
static inline bool in_eight(const int32_t *tags, int32_t tag, int32_t other)
{
#if defined(__GNUC__)
    typedef int32_t four_t __attribute__((vector_size(16)));
    typedef uint64_t two_t __attribute__((vector_size(16)));
    const four_t all_tag = {tag, tag, tag, tag}, all_other = {other, other, other, other};
    four_t half[2];
    two_t equal;

    memcpy(half, tags, sizeof(half));
    equal = (two_t) ((half[0] == all_tag) | (half[0] == all_other) | (half[1] == all_tag)
                     | (half[1] == all_other));
    return 0 != (equal[0] | equal[1]);
#else
    bool found = false;

    for (int i = 0; i < 8; ++i) {
        found |= (tags[i] == tag) | (tags[i] == other);
    }
    return found;
#endif
}

uint32_t llamatch_lane_find(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                            llamatch_key_t key, uint64_t *examined)
{
    const int32_t *tags = llamatch_lane_tags(lane);
    uint32_t index, passed;

    if (0 < lane->front && key.tag != lane->passed_tag) {
        close_gap(lane, shape);
    }
    index = lane->rear;
    if (INT32_MAX == key.floor) {
        while (index + 8 <= lane->end && !in_eight(tags + index, key.tag, key.other)) {
            index += 8;
        }
    }
    while (index < lane->end && !llamatch_key_accepts(key, tags[index])) {
        ++index;
    }
    *examined += index - lane->rear + (index < lane->end);
    if (index == lane->rear && index < lane->end) {
        return index;
    }
    /* All before the index has been passed, and becomes the front; the index goes with what moves.
     */
    passed = lane->front + index - lane->rear;
    if (0 < lane->front) {
        close_gap(lane, shape);
    }
    lane->front = passed;
    lane->rear += passed;
    lane->gap = lane->rear;
    lane->passed_tag = key.tag;
    return lane->rear;
}

void llamatch_lane_cancel(llamatch_lane_t *lane, const llamatch_shape_t *shape, uint32_t index)
{
    if (index < lane->gap) {
        uint32_t begin = lane->gap - lane->front;

        move(lane, shape, begin, begin + 1, index - begin);
        --lane->count;
        if (0 == --lane->front) {
            lane->gap = 0;
            if (0 == lane->count) {
                llamatch_lane_emptied(lane, shape);
            }
        }
    } else if (index - lane->rear < lane->end - index) {
        move(lane, shape, lane->rear, lane->rear + 1, index - lane->rear);
        llamatch_lane_pull_rear(lane, shape);
    } else {
        move(lane, shape, index + 1, index, lane->end - index - 1);
        --lane->count;
        --lane->end;
    }
}

void llamatch_lane_pack(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    lane->cursor = NULL;
    llamatch_lane_reset(lane);
    set_room(lane, shape, lane->queue.head);
    lane->end = llamatch_queue_pack(&lane->queue, shape);
    lane->queue.count = 0;
}

void llamatch_lane_remove_rest(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                               llamatch_pos_t pos)
{
    if (pos.node == lane->cursor && pos.index + 1 == pos.node->end) {
        /* Places of the node that were passed may be used again. */
        lane->cursor_word = 0;
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

/* Exchange the small array of a dense lane for a large one. Returns false when there is no memory.
 */
static bool enlarge(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_queue_t *queue = &lane->queue;
    llamatch_node_t *small = queue->head, *large;
    const llamatch_slot_t *from = llamatch_node_slots(shape, small) + lane->rear;

    queue->head = NULL;
    queue->tail = NULL;
    large = llamatch_queue_grow(queue, shape, false);
    if (NULL == large) {
        queue->head = small;
        queue->tail = small;
        return false;
    }
    memcpy(llamatch_node_tags(shape, large), llamatch_node_tags(shape, small) + lane->rear,
           lane->count * sizeof(int32_t));
    memcpy(llamatch_node_slots(shape, large), from, lane->count * sizeof(*from));
    for (uint32_t i = 0; NULL != shape->moved && i < lane->count; ++i) {
        shape->moved(from[i].item, (uintptr_t) large);
    }
    llamatch_pool_put(shape->small, small);
    lane->rear = 0;
    lane->end = lane->count;
    set_room(lane, shape, large);
    return true;
}

/* Make room at the end of a dense lane, if that is worth it: move its entries to the array's start
 * when half of it is free then, or to a larger one. Returns false when there is no memory. */
static bool make_room(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    bool few = lane->count <= lane->room / 2, is_small = lane->room < shape->dense;

    if ((few || is_small) && 0 < lane->front) {
        close_gap(lane, shape);
    }
    if (few) {
        move(lane, shape, lane->rear, 0, lane->count);
        lane->rear = 0;
        lane->end = lane->count;
    } else if (is_small) {
        return enlarge(lane, shape);
    }
    return true;
}

llamatch_pos_t llamatch_lane_append_few(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                        int32_t tag, uint64_t seq, void *item)
{
    llamatch_queue_t *queue = &lane->queue;
    llamatch_pos_t pos = {NULL, 0};

    if (llamatch_lane_is_dense(lane)) {
        if (!llamatch_lane_has_room(lane) && !make_room(lane, shape)) {
            return pos;
        }
    } else if (NULL == queue->index && 0 < shape->dense) {
        if (NULL == queue->head && NULL == llamatch_queue_grow(queue, shape, true)) {
            return pos;
        }
        llamatch_lane_reset(lane);
        set_room(lane, shape, queue->head);
    }
    if (llamatch_lane_has_room(lane)) {
        pos.index = lane->end;
        pos.node = llamatch_lane_push(lane, shape, tag, seq, item);
        return pos;
    }
    llamatch_lane_settle(lane, shape);
    pos = llamatch_queue_append(queue, shape, tag, seq, item);
    lane->count = queue->count;
    return pos;
}

void llamatch_lane_release(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    lane->rear = LLAMATCH_NOT_DENSE;
    lane->end = LLAMATCH_NOT_DENSE;
    llamatch_queue_node_empty(&lane->queue, shape, lane->queue.head);
}

/* The first entry of a dense lane from an index on, or lane->end. */
static uint32_t next_dense(const llamatch_lane_t *lane, uint32_t index)
{
    if (index < llamatch_lane_begin(lane)) {
        return llamatch_lane_begin(lane);
    }
    return (lane->gap <= index && index < lane->rear) ? lane->rear : index;
}

llamatch_pos_t llamatch_lane_find_item(const llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                       llamatch_node_t *node, const void *item)
{
    bool dense = llamatch_lane_is_dense(lane);
    uint32_t end = dense ? lane->end : node->end;
    llamatch_pos_t pos = {node, dense ? next_dense(lane, 0) : llamatch_node_next(node, 0)};

    while (pos.index < end && item != llamatch_node_slots(shape, node)[pos.index].item) {
        ++pos.index;
        pos.index = dense ? next_dense(lane, pos.index) : llamatch_node_next(node, pos.index);
    }
    if (pos.index >= end) {
        pos.node = NULL;
    }
    return pos;
}

/* Is a live entry with a tag in a node before an index, but not in a word's bits left out? */
static bool has_tag(const llamatch_shape_t *shape, const llamatch_node_t *node, int32_t tag,
                    uint32_t word, uint64_t left_out, uint32_t end)
{
    for (uint32_t i = llamatch_node_next(node, 0); i < end && i < node->end;
         i = llamatch_node_next(node, i + 1)) {
        if (tag == llamatch_node_tags(shape, node)[i]
            && (word != i / 64 || 0 == (left_out >> i % 64 & 1))) {
            return true;
        }
    }
    return false;
}

static bool cursor_is_right(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_node_t *node = lane->queue.head;

    while (NULL != node && lane->cursor != node) {
        if (has_tag(shape, node, lane->passed_tag, 0, 0, node->end)) {
            return false;
        }
        node = node->next;
    }
    return NULL != node && !llamatch_lane_is_dense(lane) && NULL == lane->queue.index
           && !has_tag(shape, node, lane->passed_tag, lane->cursor_word, lane->fresh,
                       (lane->cursor_word + 1) * 64);
}

/* I3, I4 and I7 */
static int verify_dense(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_slot_t *slots = llamatch_node_slots(shape, lane->queue.head);
    uint64_t newest = 0;

    if (lane->front > lane->gap || lane->gap > lane->rear || lane->rear > lane->end
        || lane->end > lane->room
        || (lane->room != shape->dense
            && (lane->room > shape->dense || lane->room != lane->queue.head->places))
        || lane->count != lane->front + lane->end - lane->rear
        || (lane->rear == lane->end && lane->gap != lane->end)
        || (0 == lane->front && 0 != lane->gap)) {
        return 23;
    }
    for (uint32_t i = next_dense(lane, 0); i < lane->end; i = next_dense(lane, i + 1)) {
        int32_t tag = llamatch_lane_tags(lane)[i];

        if (newest > slots[i].seq) {
            return 24;
        }
        newest = slots[i].seq + 1;
        if (i < lane->gap
            && (tag == lane->passed_tag || (LLAMATCH_ANY_TAG == tag && 0 <= lane->passed_tag)
                || (LLAMATCH_ANY_TAG == lane->passed_tag && 0 <= tag))) {
            return 27;
        }
    }
    return 0;
}

int llamatch_lane_verify(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_queue_t *queue = &lane->queue;
    int broken = llamatch_queue_verify(queue, shape);

    if (0 != broken) {
        return broken;
    }
    if (NULL != lane->cursor && !cursor_is_right(lane, shape)) {
        return 26;
    }
    if (!llamatch_lane_is_dense(lane)) {
        return (lane->count == queue->count && lane->rear == lane->end) ? 0 : 21;
    }
    if (NULL == queue->head || queue->head != queue->tail || 0 != queue->head->live
        || 0 != queue->count || NULL != queue->index) {
        return 22;
    }
    return verify_dense(lane, shape);
}
