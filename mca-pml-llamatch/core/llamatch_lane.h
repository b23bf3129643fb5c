/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * A queue, and its short form: what most programs have most of the time is a queue of no, one or a
 * few entries, and that must cost no more than a list.
 *
 * A lane is dense while it has few entries: they lie side by side in one array, in order and
 * without holes, and all that is to know about them is in the lane itself.
 *
 *     lane     count 3, end 5
 *     array    |  .  |  .  | a | b | c |  .  | ...       entries end - count ... end - 1
 *
 * Appending, taking the first and taking the last one change count and end and nothing else. What
 * is taken from the middle closes the gap. The array is the only node of the lane's queue, and to
 * the queue an empty one (its end, live entries and bits are 0). When the lane gets longer than
 * llamatch_shape_t::dense, or somebody wants the queue itself (an index, a walk, a merge with
 * another queue), its node is told what is in it: no entry moves, no memory is needed, so this
 * cannot fail. From then on the lane is its queue, until that is empty or down to one array with
 * few entries.
 *
 * A place (llamatch_engine_post) is a node in both forms.
 *
 * A lane that is not dense remembers where the last search of messages that had to pass others has
 * ended. Messages of a burst have the same tag, and the next search for it passes them no more.
 *
 * Invariants (llamatch_lane_verify returns 20 + the number of the first broken one, or the number
 * of the queue):
 *  I1 not dense: count is the queue's count.
 *  I2 dense: the queue has exactly one node, which is empty, and no index.
 *  I3 dense: count <= end <= shape->dense, and end is 0 when count is.
 *  I4 dense: sequence numbers grow strictly.
 *  I5 the queue fulfils its own invariants.
 *  I6 if there is a cursor: it is a node of the queue, which has no index, the lane is not dense,
 *     and no entry with cursor_tag is before that node, or in its first 64 and not in fresh.
 */
#ifndef LLAMATCH_LANE_H
#define LLAMATCH_LANE_H

#include "llamatch_queue.h"

/** Entries of a dense lane at most: as many are compared one by one. */
#define LLAMATCH_DENSE_MAX 32

/** llamatch_lane_t::end of a lane that is not dense. */
#define LLAMATCH_NOT_DENSE UINT16_MAX

/* The usual case is to be a straight line: on the way of a message it is taken branches that cost.
 */
#if defined(__GNUC__)
#define LLAMATCH_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define LLAMATCH_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define LLAMATCH_LIKELY(condition) (condition)
#define LLAMATCH_UNLIKELY(condition) (condition)
#endif

typedef struct llamatch_lane {
    llamatch_queue_t queue; /**< for lanes that are not dense; else only its node is used */
    uint32_t count;         /**< entries */
    uint16_t end;           /**< dense: one past the last entry; else NOT_DENSE */
    int32_t cursor_tag;
    llamatch_node_t *cursor; /**< where a search for cursor_tag can begin; NULL: not known */
    uint64_t fresh;          /**< which of the cursor's first 64 entries it has to look at */
} llamatch_lane_t;

static inline void llamatch_lane_init(llamatch_lane_t *lane)
{
    llamatch_queue_init(&lane->queue);
    lane->count = 0;
    lane->end = LLAMATCH_NOT_DENSE;
    lane->cursor = NULL;
}

static inline bool llamatch_lane_is_dense(const llamatch_lane_t *lane)
{
    return LLAMATCH_NOT_DENSE != lane->end;
}

/** Dense lanes: may llamatch_lane_push be called? Also false for those that are not dense. */
static inline bool llamatch_lane_has_room(const llamatch_lane_t *lane,
                                          const llamatch_shape_t *shape)
{
    return lane->end < shape->dense;
}

/** The tags of a dense lane. Where they are is the same for all sizes of arrays that it can have.
 */
static inline int32_t *llamatch_lane_tags(const llamatch_lane_t *lane)
{
    return (int32_t *) ((char *) lane->queue.head + LLAMATCH_LINE);
}

/** The first entry of a dense lane. */
static inline uint32_t llamatch_lane_begin(const llamatch_lane_t *lane)
{
    return lane->end - lane->count;
}

/** Append to a dense lane that has room. @return the place */
static inline llamatch_node_t *llamatch_lane_push(llamatch_lane_t *lane,
                                                  const llamatch_shape_t *shape, int32_t tag,
                                                  uint64_t seq, void *item)
{
    llamatch_node_t *node = lane->queue.head;
    llamatch_slot_t *slot = &llamatch_node_slots(shape, node)[lane->end];

    llamatch_lane_tags(lane)[lane->end] = tag;
    slot->seq = seq;
    slot->item = item;
    ++lane->end;
    ++lane->count;
    return node;
}

/** llamatch_lane_append for a lane that is dense or empty. */
llamatch_pos_t llamatch_lane_append_few(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                        int32_t tag, uint64_t seq, void *item);

/**
 * Append to any lane. @p seq must be greater than that of every entry.
 *
 * @return where it is; node is NULL when there is no memory, and the lane unchanged
 */
static inline llamatch_pos_t llamatch_lane_append(llamatch_lane_t *lane,
                                                  const llamatch_shape_t *shape, int32_t tag,
                                                  uint64_t seq, void *item)
{
    llamatch_pos_t pos;

    if (llamatch_lane_is_dense(lane) || 0 == lane->count) {
        return llamatch_lane_append_few(lane, shape, tag, seq, item);
    }
    pos = llamatch_queue_append(&lane->queue, shape, tag, seq, item);
    lane->count = lane->queue.count;
    return pos;
}

/** First entry of a dense lane, from one on, that the key accepts; lane->end: there is none. */
static inline uint32_t llamatch_lane_find_from(const llamatch_lane_t *lane, uint32_t index,
                                               llamatch_key_t key)
{
    const int32_t *tags = llamatch_lane_tags(lane);
    uint32_t end = lane->end;

    if (INT32_MAX == key.floor) {
        while (index < end && tags[index] != key.tag && tags[index] != key.other) {
            ++index;
        }
    } else {
        while (index < end && !llamatch_key_accepts(key, tags[index])) {
            ++index;
        }
    }
    return index;
}

/** The same from the first entry on, which there must be. */
static inline uint32_t llamatch_lane_find(const llamatch_lane_t *lane, llamatch_key_t key)
{
    uint32_t begin = llamatch_lane_begin(lane);

    if (LLAMATCH_LIKELY(llamatch_key_accepts(key, llamatch_lane_tags(lane)[begin]))) {
        return begin;
    }
    return llamatch_lane_find_from(lane, begin + 1, key);
}

/** Close the gap that an entry of the middle leaves; give the array of an emptied lane back. */
void llamatch_lane_close(llamatch_lane_t *lane, const llamatch_shape_t *shape, uint32_t index);
void llamatch_lane_release(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** Take an entry out of a dense lane. */
static inline void llamatch_lane_pull(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                      uint32_t index)
{
    if (LLAMATCH_LIKELY(1 == lane->count)) {
        lane->count = 0;
        lane->end = 0;
        if (LLAMATCH_UNLIKELY(!llamatch_pool_roomy(shape->nodes))) {
            llamatch_lane_release(lane, shape);
        }
    } else if (index + 1 == lane->end) {
        --lane->end;
        --lane->count;
    } else if (index == llamatch_lane_begin(lane)) {
        --lane->count;
    } else {
        llamatch_lane_close(lane, shape, index);
    }
}

/** Make the queue complete; from then on the lane is not dense. */
void llamatch_lane_settle(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** Make a lane dense that has one array with few entries, and no index. */
void llamatch_lane_pack(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** To be called after something was taken from the queue of a lane that is not dense. */
static inline void llamatch_lane_changed(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_queue_t *queue = &lane->queue;

    lane->count = queue->count;
    if (queue->count <= shape->sparse && queue->count <= shape->dense && NULL == queue->index
        && NULL != queue->head && queue->head == queue->tail) {
        llamatch_lane_pack(lane, shape);
    }
}

/** A search for a tag has found its first match in a lane that is not dense and has no index. */
static inline void llamatch_lane_remember(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                          int32_t tag, llamatch_pos_t pos)
{
    if (LLAMATCH_ANY_TAG != tag && 0 < shape->dense) { /* the other kinds search as they are */
        lane->cursor = pos.node;
        lane->cursor_tag = tag;
        lane->fresh = UINT64_MAX << ((pos.index < 64) ? pos.index : 0);
    }
}

/** llamatch_lane_remove for an entry after which there is something to mend. */
void llamatch_lane_remove_rest(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                               llamatch_pos_t pos);

/** Take an entry out of a lane that is not dense and has no index. */
static inline void llamatch_lane_remove(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                        llamatch_pos_t pos)
{
    llamatch_node_t *node = pos.node;

    if (node->live <= shape->sparse + 1 || pos.index + 1 == node->end) {
        llamatch_lane_remove_rest(lane, shape, pos);
        return;
    }
    node->bits[pos.index / 64] &= ~((uint64_t) 1 << pos.index % 64);
    --node->live;
    lane->count = --lane->queue.count;
}

/** Where an item is in a node of the lane; node is NULL when it is not there. */
llamatch_pos_t llamatch_lane_find_item(const llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                       llamatch_node_t *node, const void *item);

/** @return 0, or the number of the first broken invariant (see above) */
int llamatch_lane_verify(const llamatch_lane_t *lane, const llamatch_shape_t *shape);

#endif /* LLAMATCH_LANE_H */
