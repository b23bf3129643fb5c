/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Short, open and long lanes: see the header for structure and invariants.
 */
#include "llamatch_lane.h"

#include <string.h>

static bool is_own(const llamatch_lane_t *lane)
{
    return lane->tags == lane->own_tags;
}

static bool is_small(const llamatch_lane_t *lane)
{
    return llamatch_lane_is_short(lane) && !is_own(lane) && NULL == lane->queue.head;
}

/* Use a lane's own array in the place of the queue, which is empty, if it may have one; else it has
 * none. */
static void use_own(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    lane->passed = lane->queue.passed;
    lane->tags = (0 != shape->own_entries) ? lane->own_tags : NULL;
    lane->slots = lane->own_slots;
    lane->end = 0;
    lane->room = (uint16_t) shape->own_entries;
}

/* Move the entries of a short lane to the start of its array. */
static void pack(llamatch_lane_t *lane)
{
    uint32_t count = 0;

    for (uint64_t live = lane->live; 0 != live; live &= live - 1, ++count) {
        uint32_t index = (uint32_t) __builtin_ctzll(live);

        lane->tags[count] = lane->tags[index];
        lane->slots[count] = lane->slots[index];
    }
    lane->live = llamatch_low_bits(count);
    lane->end = (uint16_t) count;
}

/* Exchange what a lane has for a small array, or that of a queue. One of these that is at hand is
 * as good as a small one. Returns false when there is no memory. */
static bool enlarge(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    bool was_own = is_own(lane), was_small = is_small(lane);
    bool is_node = was_small || NULL == shape->small || lane->end >= shape->short_entries
                   || llamatch_pool_has_at_hand(shape->nodes);
    void *array = llamatch_pool_get(is_node ? shape->nodes : shape->small);
    llamatch_slot_t *slots;
    int32_t *tags;

    if (NULL == array) {
        return false;
    }
    tags = is_node ? llamatch_node_tags(shape, array) : array;
    slots = is_node ? llamatch_node_slots(shape, array) : ((llamatch_small_t *) array)->slots;
    for (uint32_t i = 0; i < lane->end; ++i) {
        tags[i] = lane->tags[i];
        slots[i] = lane->slots[i];
    }
    if (was_own) {
        llamatch_queue_init(&lane->queue);
        lane->queue.passed = lane->passed;
    } else if (was_small) {
        llamatch_pool_put(shape->small, lane->tags);
    }
    lane->tags = tags;
    lane->slots = slots;
    lane->room = (uint16_t) llamatch_smaller(LLAMATCH_SMALL_ENTRIES, shape->short_entries);
    if (is_node) {
        llamatch_queue_link(&lane->queue, shape, array);
        lane->room = (uint16_t) shape->short_entries;
    }
    return true;
}

/* New entries go to the queue from now on. */
static void open_short(llamatch_lane_t *lane)
{
    llamatch_node_t *node = lane->queue.head;

    node->end = lane->end;
    node->first_seq = llamatch_lane_first_seq(lane);
    lane->room = 0;
}

void llamatch_lane_open(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_node_t *node = lane->queue.head;
    uint32_t word = llamatch_node_first(node) / 64, entries;

    lane->live = node->bits[word];
    lane->tags = llamatch_node_tags(shape, node) + 64 * word;
    lane->slots = llamatch_node_slots(shape, node) + 64 * word;
    entries = llamatch_lane_bits(lane->live);
    node->bits[word] = 0;
    node->live = (uint16_t) (node->live - entries);
    lane->queue.count -= entries;
}

void llamatch_lane_close(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_node_t *node = lane->queue.head;
    uint32_t entries = llamatch_lane_bits(lane->live);

    node->bits[(lane->tags - llamatch_node_tags(shape, node)) / 64] |= lane->live;
    node->live = (uint16_t) (node->live + entries);
    lane->queue.count += entries;
    lane->live = UINT64_MAX;
    lane->tags = NULL;
    while (!llamatch_node_is_live(node, node->end - 1)) {
        --node->end;
    }
}

/* See that a lane which is not long has room, or make it open. Returns false when there is no
 * memory. */
static bool make_room(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    if (!llamatch_lane_is_short(lane)) {
        use_own(lane, shape);
    } else if (llamatch_lane_count(lane) <= lane->room / 2) {
        pack(lane);
    }
    if (lane->end >= lane->room && (is_own(lane) || NULL == lane->queue.head)
        && !enlarge(lane, shape)) {
        return false;
    }
    if (lane->end >= lane->room) {
        open_short(lane);
    }
    return true;
}

int llamatch_lane_append(llamatch_lane_t *lane, const llamatch_shape_t *shape, int32_t tag,
                         uint64_t seq, void *item, llamatch_pos_t *pos)
{
    bool is_long = 0 == shape->short_entries
                   || (!llamatch_lane_is_short(lane)
                       && (llamatch_lane_is_open(lane) || NULL != lane->queue.index
                           || 0 != lane->queue.count));

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
        lane->live = llamatch_lane_is_open(lane) ? lane->live : UINT64_MAX;
    }
    return LLAMATCH_OK;
}

void llamatch_lane_advance(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_queue_t *queue = &lane->queue;

    if (is_small(lane)) {
        llamatch_pool_put(shape->small, lane->tags);
    } else if (0 == queue->head->live) {
        llamatch_queue_node_empty(queue, shape, queue->head);
    }
    if (0 == queue->count) {
        use_own(lane, shape);
    } else if (queue->count <= shape->sparse && queue->head == queue->tail) {
        llamatch_lane_make_short(lane, shape);
    } else {
        llamatch_lane_open(lane, shape);
    }
}

void llamatch_lane_make_short(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_queue_t *queue = &lane->queue;

    lane->live = (0 == queue->count) ? 0 : UINT64_MAX;
    lane->tags = NULL;
    if (0 != shape->short_entries && queue->count <= shape->short_entries && NULL == queue->index
        && NULL != queue->head && queue->head == queue->tail) {
        lane->end = (uint16_t) llamatch_queue_pack(queue, shape);
        lane->live = llamatch_low_bits(lane->end);
        lane->tags = llamatch_node_tags(shape, queue->head);
        lane->slots = llamatch_node_slots(shape, queue->head);
        lane->room = (uint16_t) shape->short_entries;
    }
}

llamatch_pos_t llamatch_lane_find_item(const llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                       uint64_t place, const void *item)
{
    llamatch_node_t *node =
        llamatch_place_has_lane(place) ? lane->queue.head : (llamatch_node_t *) (uintptr_t) place;
    llamatch_pos_t pos = {node, 0};

    if (NULL == node) { /* there is nothing any more */
        return pos;
    }
    pos.index = llamatch_node_next(node, 0);
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

    if (llamatch_lane_is_open(lane)) {
        llamatch_lane_close(lane, shape);
    }
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
    if (!is_own(lane)) {
        llamatch_queue_clear(&lane->queue, shape);
    }
    memset(lane, 0, sizeof(*lane));
}
