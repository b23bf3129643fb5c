/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Short and long lanes: see the header for structure and invariants.
 */
#include "llamatch_lane.h"

#include <string.h>

/* The lowest bits set, as many as told. */
static uint64_t low_bits(uint32_t bits)
{
    return (64 <= bits) ? UINT64_MAX : ((uint64_t) 1 << bits) - 1;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return (a < b) ? a : b;
}

static bool is_small(const llamatch_lane_t *lane)
{
    return llamatch_lane_is_short(lane) && NULL == lane->queue.head && lane->tags != lane->own_tags;
}

/* Use the queue's only node, which is empty, as the array of a short lane. */
static void use_node(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    lane->tags = llamatch_node_tags(shape, lane->queue.head);
    lane->slots = llamatch_node_slots(shape, lane->queue.head);
    lane->room = shape->short_entries;
}

/* Use a lane's own array, if it may have one. */
static void use_own(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    lane->tags = lane->own_tags;
    lane->slots = lane->own_slots;
    lane->room = shape->own_entries;
}

/* Copy entries, of which live says where they are, to the start of the lane's array. */
static void pack(llamatch_lane_t *lane, const int32_t *tags, const llamatch_slot_t *slots)
{
    uint32_t count = 0;

    for (uint64_t live = lane->live; 0 != live; live &= live - 1, ++count) {
        uint32_t index = (uint32_t) __builtin_ctzll(live);

        lane->tags[count] = tags[index];
        lane->slots[count] = slots[index];
    }
    lane->live = low_bits(count);
}

/* Exchange what a lane has for a small array, or that of a queue. Returns false when there is no
 * memory. */
static bool enlarge(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_slot_t *slots = lane->slots;
    int32_t *tags = lane->tags;
    bool was_small = is_small(lane);

    if (!was_small && NULL != shape->small && llamatch_lane_count(lane) < shape->short_entries) {
        llamatch_small_t *array = llamatch_pool_get(shape->small);

        if (NULL == array) {
            return false;
        }
        memset(array->tags, 0, sizeof(array->tags)); /* four are compared together */
        lane->tags = array->tags;
        lane->slots = array->slots;
        lane->room = smaller(LLAMATCH_SMALL_ENTRIES, shape->short_entries);
    } else {
        if (NULL == llamatch_queue_grow(&lane->queue, shape)) {
            return false;
        }
        use_node(lane, shape);
    }
    pack(lane, tags, slots);
    /* Only in the arrays of a queue is anything found by its place. */
    for (uint32_t i = 0;
         NULL != lane->queue.head && NULL != shape->moved && i < llamatch_lane_end(lane); ++i) {
        shape->moved(lane->slots[i].item, (uintptr_t) lane->tags);
    }
    if (was_small) {
        llamatch_pool_put(shape->small, tags);
    }
    return true;
}

/* The queue gets the entries, where they are: no memory is needed, so this cannot fail. */
static void make_long(llamatch_lane_t *lane)
{
    llamatch_node_t *node = lane->queue.head;

    node->bits[0] = lane->live;
    node->live = (uint16_t) __builtin_popcountll(lane->live);
    node->end = llamatch_lane_end(lane);
    node->first_seq = lane->slots[llamatch_lane_first(lane)].seq;
    lane->queue.count = node->live;
    lane->live = UINT64_MAX;
    lane->room = 0;
}

/* See that a lane which is not long has room, or make it long. Returns false when there is no
 * memory. */
static bool make_room(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    if (!llamatch_lane_is_short(lane)) {
        use_own(lane, shape);
    } else if (llamatch_lane_count(lane) <= lane->room / 2) {
        pack(lane, lane->tags, lane->slots);
    }
    if (llamatch_lane_end(lane) >= lane->room && NULL == lane->queue.head
        && !enlarge(lane, shape)) {
        return false;
    }
    if (llamatch_lane_end(lane) >= lane->room) {
        make_long(lane);
    }
    return true;
}

int llamatch_lane_append(llamatch_lane_t *lane, const llamatch_shape_t *shape, int32_t tag,
                         uint64_t seq, void *item, llamatch_pos_t *pos)
{
    bool is_long = 0 == shape->short_entries || NULL != lane->queue.index || 0 != lane->queue.count;

    if (!is_long && !llamatch_lane_push(lane, tag, seq, item)) {
        if (!make_room(lane, shape)) {
            return LLAMATCH_ERR_NO_MEMORY;
        }
        is_long = !llamatch_lane_push(lane, tag, seq, item);
    }
    if (is_long) {
        *pos = llamatch_queue_append(&lane->queue, shape, tag, seq, item);
        if (NULL == pos->node) {
            return LLAMATCH_ERR_NO_MEMORY;
        }
        lane->live = UINT64_MAX;
    }
    return LLAMATCH_OK;
}

void llamatch_lane_release(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    if (is_small(lane)) {
        llamatch_pool_put(shape->small, lane->tags);
    } else {
        llamatch_queue_node_empty(&lane->queue, shape, lane->queue.head);
    }
    use_own(lane, shape);
}

void llamatch_lane_make_short(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_queue_t *queue = &lane->queue;

    lane->live = (0 == queue->count) ? 0 : UINT64_MAX;
    if (0 != shape->short_entries && queue->count <= shape->short_entries && NULL == queue->index
        && NULL != queue->head && queue->head == queue->tail) {
        lane->live = low_bits(llamatch_queue_pack(queue, shape));
        use_node(lane, shape);
    }
}

llamatch_pos_t llamatch_lane_find_item(const llamatch_shape_t *shape, uint64_t place,
                                       const void *item)
{
    llamatch_node_t *node = (llamatch_node_t *) (uintptr_t) (place - shape->tags_offset);
    llamatch_pos_t pos = {node, llamatch_node_next(node, 0)};

    while (pos.index < node->end && item != llamatch_node_slots(shape, node)[pos.index].item) {
        pos.index = llamatch_node_next(node, pos.index + 1);
    }
    if (pos.index >= node->end) {
        pos.node = NULL;
    }
    return pos;
}

size_t llamatch_lane_walk(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                          llamatch_visit_fn_t visit, void *context)
{
    size_t removed = 0;

    if (!llamatch_lane_is_short(lane)) {
        return llamatch_queue_walk(&lane->queue, shape, visit, context);
    }
    for (uint64_t live = lane->live; 0 != live; live &= live - 1) {
        uint32_t index = (uint32_t) __builtin_ctzll(live);

        if (visit(context, lane->tags[index], lane->slots[index].item)) {
            llamatch_lane_take(lane, shape, index);
            ++removed;
        }
    }
    return removed;
}

void llamatch_lane_clear(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    if (is_small(lane)) {
        llamatch_pool_put(shape->small, lane->tags);
    }
    llamatch_queue_clear(&lane->queue, shape);
    llamatch_lane_init(lane);
}

/* I1 for lanes that are small or short, and I2 */
static int verify_short(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_node_t *node = lane->queue.head;
    uint64_t newest = 0;

    if (lane->room > shape->short_entries || llamatch_lane_end(lane) > lane->room
        || 0 != lane->queue.count || NULL != lane->queue.index || node != lane->queue.tail
        || (NULL == node && LLAMATCH_SMALL_ENTRIES < lane->room)) {
        return 21;
    }
    if (NULL != node
        && (llamatch_node_tags(shape, node) != lane->tags
            || llamatch_node_slots(shape, node) != lane->slots)) {
        return 22;
    }
    if ((lane->tags == lane->own_tags) != (lane->slots == lane->own_slots)
        || (lane->tags == lane->own_tags && lane->room != shape->own_entries)) {
        return 22;
    }
    for (uint64_t live = lane->live; 0 != live; live &= live - 1) {
        uint64_t seq = lane->slots[__builtin_ctzll(live)].seq;

        if (newest > seq) {
            return 22;
        }
        newest = seq + 1;
    }
    return 0;
}

int llamatch_lane_verify(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    int broken = llamatch_queue_verify(&lane->queue, shape);

    if (0 != broken) {
        return broken;
    }
    if (llamatch_lane_is_short(lane)) {
        return verify_short(lane, shape);
    }
    return ((0 == lane->queue.count) ? 0 : UINT64_MAX) == lane->live ? 0 : 21;
}
