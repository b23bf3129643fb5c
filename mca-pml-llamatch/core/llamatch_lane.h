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
 * A lane is dense while it has few entries: they lie side by side in one array, in order, and all
 * that is to know about them is in the lane itself. Only where the last search has taken an entry
 * from the middle is there a gap:
 *
 *     lane     front 2, gap 3, rear 6, end 8, passed_tag 7
 *     array    |  .  | a | b |  .  |  .  |  .  | c | d |  .  | ...
 *                    front ^gap                rear      ^end
 *
 * That search was for tag 7, which no entry of the front has. The next search for tag 7 begins with
 * the rear: messages of a burst have the same tag, and pass those that wait before them once.
 * Appending and taking the first of the rear move end and rear and nothing else. After a search
 * that has found nothing all entries are the front. When something else is wanted, the gap is
 * closed first. A lane of which nothing is known is all rear: front is 0.
 *
 * The array is a small one at first: a process may have many peers, and few entries for each.
 *
 * The array is the only node of the lane's queue, and to the queue an empty one (its end, live
 * entries and bits are 0). When there is no room behind its last entry, and the array is more than
 * half full so that moving them all to its start is not worth it, or somebody wants the queue
 * itself (an index, a walk, a merge with another queue), its node is told what is in it: no entry
 * moves, no memory is needed, so this cannot fail. From then on the lane is its queue, until that
 * is empty or down to one array with few entries.
 *
 * What is moved within the array leaves its old copies there: only the lane, or the node's live
 * bits, say which places have entries. A place (llamatch_engine_post) is a node in both forms.
 *
 * A lane that is not dense remembers where the last search of messages that had to pass others has
 * ended, for the same purpose (cursor).
 *
 * Invariants (llamatch_lane_verify returns 20 + the number of the first broken one, or the number
 * of the queue):
 *  I1 not dense: count is the queue's count, rear is end.
 *  I2 dense: the queue has exactly one node, which is empty, and no index.
 *  I3 dense: front <= gap <= rear <= end <= room, which is shape->dense or what a small array has;
 *     count is front + end - rear; the rear is not empty, or gap is end; without entries all are 0.
 *  I4 dense: sequence numbers grow strictly.
 *  I5 the queue fulfils its own invariants.
 *  I6 if there is a cursor: it is a node of the queue, which has no index, the lane is not dense,
 *     and no entry with passed_tag is before that node, before word cursor_word of its bits, or in
 *     that word and not in fresh.
 *  I7 dense: no entry of the front is one that the last search could have taken: its tag is neither
 *     passed_tag nor one that ANY_TAG on either side makes a match.
 */
#ifndef LLAMATCH_LANE_H
#define LLAMATCH_LANE_H

#include "llamatch_queue.h"

/** Entries of a dense lane at most: a burst of 64 and some more. */
#define LLAMATCH_DENSE_MAX 96

/** llamatch_lane_t::end of a lane that is not dense. */
#define LLAMATCH_NOT_DENSE UINT32_MAX

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
    llamatch_queue_t queue;  /**< for lanes that are not dense; else only its node is used */
    uint32_t count;          /**< entries */
    uint32_t rear;           /**< dense: first entry of the rear; else NOT_DENSE */
    uint32_t end;            /**< dense: one past the last entry; else NOT_DENSE */
    uint32_t gap;            /**< one past the last entry of the front */
    uint32_t front;          /**< entries of the front */
    uint32_t room;           /**< dense: most that end can be */
    int32_t passed_tag;      /**< what is not in the front, or before the cursor */
    uint32_t cursor_word;    /**< with cursor: word of its live bits */
    llamatch_node_t *cursor; /**< where a search for passed_tag can begin; NULL: not known */
    uint64_t fresh;          /**< which of the 64 entries of cursor_word it has to look at */
} llamatch_lane_t;

static inline void llamatch_lane_init(llamatch_lane_t *lane)
{
    llamatch_queue_init(&lane->queue);
    lane->count = 0;
    lane->rear = LLAMATCH_NOT_DENSE;
    lane->end = LLAMATCH_NOT_DENSE;
    lane->gap = 0;
    lane->front = 0;
    lane->room = 0;
    lane->passed_tag = 0;
    lane->cursor = NULL;
}

static inline bool llamatch_lane_is_dense(const llamatch_lane_t *lane)
{
    return LLAMATCH_NOT_DENSE != lane->end;
}

/** Dense lanes: may llamatch_lane_push be called? Also false for those that are not dense. */
static inline bool llamatch_lane_has_room(const llamatch_lane_t *lane)
{
    return lane->end < lane->room;
}

/** The tags of a dense lane. Where they are is the same for all sizes of arrays that it can have.
 */
static inline int32_t *llamatch_lane_tags(const llamatch_lane_t *lane)
{
    return (int32_t *) ((char *) lane->queue.head + LLAMATCH_LINE);
}

/** The first entry of a dense lane that has any. */
static inline uint32_t llamatch_lane_begin(const llamatch_lane_t *lane)
{
    return (0 == lane->front) ? lane->rear : lane->gap - lane->front;
}

/** A dense lane without entries, or any lane that becomes one. */
static inline void llamatch_lane_reset(llamatch_lane_t *lane)
{
    lane->rear = 0;
    lane->end = 0;
    lane->gap = 0;
    lane->front = 0;
}

/**
 * May the first entry of the rear be taken for this tag, without a search? If so, it is the first
 * match of the lane. Not for the tag ANY_TAG.
 */
static inline bool llamatch_lane_matches_rear(const llamatch_lane_t *lane, int32_t tag)
{
    return lane->rear < lane->end && tag == llamatch_lane_tags(lane)[lane->rear]
           && (0 == lane->front || tag == lane->passed_tag);
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

/** Is the lane dense, and is it known that no entry is for this tag? */
static inline bool llamatch_lane_has_none(const llamatch_lane_t *lane, int32_t tag)
{
    return 0 < lane->front && lane->rear == lane->end && tag == lane->passed_tag;
}

/**
 * Search a dense lane that has entries for the first one that the key accepts.
 *
 * @return its index, or lane->end when there is none. Adds the entries looked at to *examined
 */
uint32_t llamatch_lane_find(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                            llamatch_key_t key, uint64_t *examined);

/** Give the array of an emptied lane back. */
void llamatch_lane_release(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** The last entry of a dense lane has gone. */
static inline void llamatch_lane_emptied(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    llamatch_lane_reset(lane);
    if (LLAMATCH_UNLIKELY(
            !llamatch_pool_roomy((shape->dense == lane->room) ? shape->nodes : shape->small))) {
        llamatch_lane_release(lane, shape);
    }
}

/** Take the first entry of the rear. */
static inline void llamatch_lane_pull_rear(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    --lane->count;
    if (++lane->rear == lane->end) {
        lane->rear = lane->gap;
        lane->end = lane->gap;
        if (0 == lane->count) {
            llamatch_lane_emptied(lane, shape);
        }
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
    if (0 < shape->dense && queue->count <= shape->dense && queue->count <= shape->sparse
        && NULL == queue->index && NULL != queue->head && queue->head == queue->tail) {
        llamatch_lane_pack(lane, shape);
    }
}

/** A search for a tag has found its first match in a lane that is not dense and has no index. */
static inline void llamatch_lane_remember(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                          int32_t tag, llamatch_pos_t pos)
{
    if (LLAMATCH_ANY_TAG != tag && 0 < shape->dense) { /* the other kinds search as they are */
        lane->cursor = pos.node;
        lane->passed_tag = tag;
        lane->cursor_word = pos.index / 64;
        lane->fresh = UINT64_MAX << pos.index % 64;
    }
}

/** llamatch_lane_remove for an entry after which there is something to mend. */
void llamatch_lane_remove_rest(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                               llamatch_pos_t pos);

/** Take any entry out of a dense lane. */
void llamatch_lane_cancel(llamatch_lane_t *lane, const llamatch_shape_t *shape, uint32_t index);

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
