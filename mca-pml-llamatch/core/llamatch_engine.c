/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Posted and unexpected queues of one communicator: see the header for structure, the proof of
 * the order and the invariants.
 */
#include "llamatch_engine.h"
#include "llamatch_simd.h"

#include <string.h>

/* Keeps what is rarely needed out of the functions on the way of many messages, which then need not
 * save the registers it would use. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif

const char *const llamatch_kind_names[LLAMATCH_NUM_KINDS] = {"auto", "lla", "hash", "list"};

/* A queue gets an index when it is longer than index_above and when the searches that
 * went deep have looked at this many times as many entries as it has. Making an index costs about
 * as much as that: 20 to 40 ns per entry, and passing an entry about half a nanosecond. */
#define EFFORT_PER_ENTRY 32

/* An index goes when the queue is shorter than index_above divided by this. */
#define INDEX_HYSTERESIS 4

/* Entries at the front of a long queue that are compared one by one. */
#define SHALLOW 6

const llamatch_config_t llamatch_config_default = {
    NULL, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, NULL, NULL, LLAMATCH_DENSE_MAX, NULL,
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return (a < b) ? a : b;
}

int llamatch_engine_init(llamatch_engine_t *engine, const llamatch_config_t *config)
{
    const llamatch_simd_path_t *paths;
    llamatch_find_fn_t find = config->find;
    int status;

    if (NULL == find) {
        (void) llamatch_simd_paths(&paths);
        find = paths[0].find;
    }
    memset(engine, 0, sizeof(*engine));
    status = llamatch_shape_init(&engine->posted_shape, config->pool, config->entries, find,
                                 config->moved);
    if (LLAMATCH_OK != status) {
        return status;
    }
    engine->posted_shape.spare = &engine->spare;
    engine->unexpected_shape = engine->posted_shape;
    engine->unexpected_shape.moved = NULL;
    engine->indexing.pool = config->pool;
    status = llamatch_shape_init(&engine->indexing.bucket, config->pool, LLAMATCH_BUCKET_ENTRIES,
                                 find, NULL);
    if (LLAMATCH_OK != status) {
        return status;
    }
    engine->index_above = config->index_above;
    engine->entries = config->entries;
    engine->hot = config->hot;
    llamatch_lane_init(&engine->wild);
    llamatch_engine_set_kind(engine, config->kind);
    return LLAMATCH_OK;
}

static void clear_lane(llamatch_engine_t *engine, llamatch_lane_t *lane,
                       const llamatch_shape_t *shape)
{
    if (NULL != lane->queue.index) {
        /* all entries go; none is moved before, as its item may be gone */
        lane->queue.index->marked = 0;
        llamatch_index_drop(&engine->indexing, &lane->queue, shape);
    }
    llamatch_queue_clear(&lane->queue, shape);
    llamatch_lane_init(lane);
}

void llamatch_engine_fini(llamatch_engine_t *engine)
{
    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        clear_lane(engine, &peer->posted, &engine->posted_shape);
        clear_lane(engine, &peer->unexpected, &engine->unexpected_shape);
    }
    clear_lane(engine, &engine->wild, &engine->posted_shape);
    llamatch_pool_put(engine->posted_shape.nodes, engine->spare);
}

void llamatch_peer_init(llamatch_peer_t *peer)
{
    memset(peer, 0, sizeof(*peer));
    llamatch_lane_init(&peer->posted);
    llamatch_lane_init(&peer->unexpected);
}

/* The effort of a queue that has made none yet. */
static uint32_t no_effort(const llamatch_engine_t *engine)
{
    return (LLAMATCH_HASH == engine->kind) ? UINT32_MAX : 0;
}

/* A peer has its first entry. */
static void know_peer(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (!peer->known) {
        peer->known = true;
        peer->next = engine->peers;
        engine->peers = peer;
        peer->posted.queue.effort = no_effort(engine);
        peer->unexpected.queue.effort = no_effort(engine);
    }
}

/* Does the kind allow an index, and must it stay? */
static inline bool may_index(const llamatch_engine_t *engine)
{
    return LLAMATCH_AUTO == engine->kind || LLAMATCH_HASH == engine->kind;
}

static inline bool keeps_index(const llamatch_engine_t *engine)
{
    return LLAMATCH_HASH == engine->kind;
}

static void make_index(llamatch_engine_t *engine, llamatch_queue_t *queue,
                       const llamatch_shape_t *shape, llamatch_counts_t *counts)
{
    if (LLAMATCH_OK == llamatch_index_build(&engine->indexing, queue, shape)) {
        ++counts->indexed;
        queue->effort = UINT32_MAX;
    } else {
        queue->effort = no_effort(engine); /* AUTO: not again at once */
    }
}

static void fit_lane(llamatch_engine_t *engine, llamatch_lane_t *lane,
                     const llamatch_shape_t *shape, llamatch_counts_t *counts)
{
    llamatch_queue_t *queue = &lane->queue;

    llamatch_lane_settle(lane, shape);
    if (!may_index(engine) && NULL != queue->index) {
        llamatch_index_drop(&engine->indexing, queue, shape);
        ++counts->dropped;
    }
    if (NULL == queue->index) {
        if (LLAMATCH_LIST != engine->kind) {
            llamatch_queue_compact(queue, shape); /* it may have been a list */
        }
        queue->effort = no_effort(engine);
        if (LLAMATCH_HASH == engine->kind && 0 < queue->count) {
            make_index(engine, queue, shape, counts);
        }
    }
}

/* Entries up to which lanes are dense. What may have an index is a queue, and so are the structures
 * that the other kinds are there to study. */
static uint32_t dense_entries(const llamatch_engine_t *engine)
{
    if (LLAMATCH_AUTO != engine->kind || LLAMATCH_LINE != engine->posted_shape.tags_offset) {
        return 0;
    }
    return smaller(LLAMATCH_DENSE_MAX, smaller(engine->entries, engine->index_above));
}

void llamatch_engine_set_kind(llamatch_engine_t *engine, llamatch_kind_t kind)
{
    /* A list is made of arrays of which only one entry is used. */
    uint32_t entries = (LLAMATCH_LIST == kind) ? 1 : engine->entries;
    llamatch_shape_t *const shapes[2] = {&engine->posted_shape, &engine->unexpected_shape};

    engine->kind = kind;
    for (int i = 0; i < 2; ++i) {
        shapes[i]->entries = entries;
        shapes[i]->sparse = (LLAMATCH_LIST == kind) ? 0 : entries / 4;
        shapes[i]->dense = dense_entries(engine);
    }
    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        fit_lane(engine, &peer->posted, &engine->posted_shape, &engine->posted);
        fit_lane(engine, &peer->unexpected, &engine->unexpected_shape, &engine->unexpected);
    }
    fit_lane(engine, &engine->wild, &engine->posted_shape, &engine->posted);
}

static void ring_insert(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (NULL == engine->ring) {
        peer->ring_next = peer;
        peer->ring_prev = peer;
        engine->ring = peer;
    } else {
        /* Before the one that is served next is behind all others. */
        peer->ring_next = engine->ring;
        peer->ring_prev = engine->ring->ring_prev;
        peer->ring_prev->ring_next = peer;
        peer->ring_next->ring_prev = peer;
    }
}

static void ring_remove(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (peer->ring_next == peer) {
        engine->ring = NULL;
    } else {
        peer->ring_prev->ring_next = peer->ring_next;
        peer->ring_next->ring_prev = peer->ring_prev;
        if (engine->ring == peer) {
            engine->ring = peer->ring_next;
        }
    }
    peer->ring_next = NULL;
    peer->ring_prev = NULL;
}

void llamatch_engine_enter_ring(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (NULL != peer->ring_next) {
        ring_remove(engine, peer);
    }
    ring_insert(engine, peer);
}

/* A lane may have got an array: with a heater, it keeps none when it is emptied. */
static inline void heed(llamatch_engine_t *engine, const llamatch_peer_t *peer)
{
    if (NULL != engine->hot) {
        llamatch_hot_add(engine->hot, engine);
        if (NULL != peer) {
            llamatch_hot_add(engine->hot, peer);
        }
    }
}

/* An entry was appended: does the queue have an index, or want one? */
static void appended(llamatch_engine_t *engine, llamatch_queue_t *queue,
                     const llamatch_shape_t *shape, llamatch_counts_t *counts, int32_t tag,
                     llamatch_pos_t pos)
{
    if (NULL != queue->index) {
        llamatch_index_add(&engine->indexing, queue, shape, tag, pos);
        counts->dropped += (NULL == queue->index);
    } else if (UINT32_MAX == queue->effort && may_index(engine)
               && (LLAMATCH_HASH == engine->kind || queue->count > engine->index_above)) {
        make_index(engine, queue, shape, counts);
    }
}

int llamatch_engine_post_rest(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                              void *item, uint64_t *place)
{
    const llamatch_shape_t *shape = &engine->posted_shape;
    llamatch_lane_t *lane = (NULL != peer) ? &peer->posted : &engine->wild;
    llamatch_pos_t pos = llamatch_lane_append(lane, shape, tag, engine->next_post, item);

    if (NULL == pos.node) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    *place = (uintptr_t) pos.node;
    ++engine->next_post;
    llamatch_lengthen(&engine->num_posted, &engine->most_posted);
    if (NULL != peer) {
        know_peer(engine, peer);
    }
    heed(engine, peer);
    appended(engine, &lane->queue, shape, &engine->posted, tag, pos);
    return LLAMATCH_OK;
}

/* A search has looked at this many entries: count it, and see whether the queue should be indexed.
 */
static inline void count_depth(llamatch_counts_t *counts, uint64_t depth)
{
    if (1 < depth) {
        uint32_t class = 63 - (uint32_t) __builtin_clzll(depth);

        ++counts->depths[(class < LLAMATCH_DEPTHS) ? class : LLAMATCH_DEPTHS - 1];
        counts->depth_sum += depth;
        if (depth > counts->depth_max) {
            counts->depth_max = depth;
        }
    }
}

APART static void add_effort(llamatch_engine_t *engine, llamatch_queue_t *queue,
                             const llamatch_shape_t *shape, llamatch_counts_t *counts,
                             uint64_t depth)
{
    if (NULL != queue->index || LLAMATCH_AUTO != engine->kind) {
        return;
    }
    queue->effort =
        (depth < UINT32_MAX - queue->effort) ? queue->effort + (uint32_t) depth : UINT32_MAX;
    if (queue->count > engine->index_above && queue->effort / EFFORT_PER_ENTRY >= queue->count) {
        make_index(engine, queue, shape, counts);
    }
}

static inline void count_effort(llamatch_engine_t *engine, llamatch_queue_t *queue,
                                const llamatch_shape_t *shape, llamatch_counts_t *counts,
                                uint64_t depth)
{
    if (LLAMATCH_UNLIKELY(depth > engine->index_above)) {
        add_effort(engine, queue, shape, counts, depth);
    }
}

/* Take the first match of a search out of a lane, dense or not, indexed or not. */
static inline void take_out(llamatch_engine_t *engine, llamatch_lane_t *lane,
                            const llamatch_shape_t *shape, llamatch_counts_t *counts,
                            llamatch_pos_t pos)
{
    if (llamatch_lane_is_dense(lane)) {
        llamatch_lane_pull_rear(lane, shape); /* where the search has left it */
        return;
    }
    if (NULL != lane->cursor) { /* of messages, and there is no index */
        llamatch_lane_remove(lane, shape, pos);
        return;
    }
    if (NULL == lane->queue.index) {
        (void) llamatch_queue_remove(&lane->queue, shape, pos);
    } else {
        llamatch_index_remove(&engine->indexing, &lane->queue, shape, pos,
                              engine->index_above / INDEX_HYSTERESIS, keeps_index(engine));
        counts->dropped += (NULL == lane->queue.index);
    }
    llamatch_lane_changed(lane, shape);
}

static inline uint64_t seq_at(const llamatch_shape_t *shape, llamatch_pos_t pos)
{
    return (NULL != pos.node) ? llamatch_node_slots(shape, pos.node)[pos.index].seq : UINT64_MAX;
}

/* The first receive of one queue that matches a message. */
static llamatch_pos_t first_posted(llamatch_engine_t *engine, llamatch_queue_t *queue, int32_t tag,
                                   uint64_t *examined)
{
    const llamatch_shape_t *shape = &engine->posted_shape;
    llamatch_pos_t pos, any_tag = {NULL, 0};

    if (NULL == queue->index) {
        return llamatch_queue_find(queue, shape, llamatch_key_of_message(tag), examined);
    }
    if (0 != queue->index->any_tags && 0 <= tag) {
        any_tag = llamatch_index_find(&engine->indexing, queue, shape, LLAMATCH_ANY_TAG, examined);
    }
    pos = llamatch_index_find(&engine->indexing, queue, shape, tag, examined);
    return (seq_at(shape, any_tag) < seq_at(shape, pos)) ? any_tag : pos;
}

/*
 * The earliest match of two queues without index: their nodes are walked in the order of their
 * first numbers, so no more is examined than the entries posted before the result, plus the rest
 * of one node. Returns 0 or 1 for the queue in which it is.
 */
static int first_merged(const llamatch_shape_t *shape, llamatch_queue_t *const queues[2],
                        llamatch_key_t key, llamatch_pos_t *found, uint64_t examined[2])
{
    llamatch_pos_t at[2] = {{queues[0]->head, 0}, {queues[1]->head, 0}};
    int here = (at[0].node->first_seq < at[1].node->first_seq) ? 0 : 1;
    uint64_t limit;

    for (;; here = !here) {
        limit = (NULL != at[!here].node) ? at[!here].node->first_seq : UINT64_MAX;
        if (shape->find(&at[here], limit, shape->tags_offset, key, &examined[here])) {
            break;
        }
        if (UINT64_MAX == limit) {
            found->node = NULL;
            return here;
        }
    }
    /* What was posted before this match and not examined is in nodes that begin before it. */
    limit = seq_at(shape, at[here]);
    if (shape->find(&at[!here], limit, shape->tags_offset, key, &examined[!here])
        && seq_at(shape, at[!here]) < limit) {
        here = !here;
    }
    *found = at[here];
    return here;
}

/* The end of a search for a receive, which has found one or not. */
static inline void *take_posted(llamatch_engine_t *engine, llamatch_lane_t *lane,
                                llamatch_pos_t pos)
{
    void *item = NULL;

    if (NULL == pos.node) {
        ++engine->posted.searches;
    } else {
        item = llamatch_node_slots(&engine->posted_shape, pos.node)[pos.index].item;
        --engine->num_posted;
        take_out(engine, lane, &engine->posted_shape, &engine->posted, pos);
    }
    return item;
}

/* Two queues that both have entries, or one with an index. */
APART static void *match_long(llamatch_engine_t *engine, llamatch_lane_t *const lanes[2],
                              int32_t tag)
{
    const llamatch_shape_t *shape = &engine->posted_shape;
    llamatch_queue_t *const queues[2] = {&lanes[0]->queue, &lanes[1]->queue};
    uint64_t examined[2] = {0, 0};
    llamatch_pos_t pos = {NULL, 0};
    void *item;
    int from = 0;

    if (0 == queues[1]->count) {
        pos = first_posted(engine, queues[0], tag, &examined[0]);
    } else if (0 == queues[0]->count) {
        from = 1;
        pos = first_posted(engine, queues[1], tag, &examined[1]);
    } else if (NULL == queues[0]->index && NULL == queues[1]->index) {
        from = first_merged(shape, queues, llamatch_key_of_message(tag), &pos, examined);
    } else {
        llamatch_pos_t specific = first_posted(engine, queues[0], tag, &examined[0]);
        llamatch_pos_t wild = first_posted(engine, queues[1], tag, &examined[1]);

        from = (seq_at(shape, wild) < seq_at(shape, specific)) ? 1 : 0;
        pos = (1 == from) ? wild : specific;
    }
    count_depth(&engine->posted, examined[0] + examined[1]);
    item = take_posted(engine, lanes[from], pos);
    count_effort(engine, queues[0], shape, &engine->posted, examined[0]);
    count_effort(engine, queues[1], shape, &engine->posted, examined[1]);
    return item;
}

/*
 * Compare the first few entries from pos on, of which those of the same word are in live, one by
 * one: messages that wait in the order in which they are received are found at the front, and for
 * that few the vectors are slow. Returns the depth of the match, then *pos is it; or 0.
 */
static inline uint32_t find_shallow(const llamatch_shape_t *shape, uint64_t live,
                                    llamatch_key_t key, llamatch_pos_t *pos)
{
    llamatch_node_t *node = pos->node;
    uint32_t word = pos->index / 64;

    for (uint32_t depth = 1; depth <= SHALLOW; ++depth, live &= live - 1) {
        while (0 == live) {
            if ((word + 1) * 64 < node->end) {
                ++word;
            } else if (NULL != node->next) {
                node = node->next;
                word = 0;
            } else {
                return 0;
            }
            live = node->bits[word];
        }
        pos->index = word * 64 + (uint32_t) __builtin_ctzll(live);
        if (LLAMATCH_LIKELY(
                llamatch_key_accepts(key, llamatch_node_tags(shape, node)[pos->index]))) {
            pos->node = node;
            return depth;
        }
    }
    return 0;
}

/* The first match in a queue without index. */
static inline llamatch_pos_t first_match(const llamatch_queue_t *queue,
                                         const llamatch_shape_t *shape, llamatch_key_t key,
                                         uint64_t *examined)
{
    llamatch_pos_t pos = {queue->head, 0};
    uint32_t depth = find_shallow(shape, queue->head->bits[0], key, &pos);

    if (0 == depth) {
        return llamatch_queue_find(queue, shape, key, examined);
    }
    *examined += depth;
    return pos;
}

/* The first match in a dense lane. */
static inline llamatch_pos_t first_dense(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                         llamatch_key_t key, uint64_t *examined)
{
    llamatch_pos_t pos = {lane->queue.head, lane->rear};

    if (llamatch_lane_matches_rear(lane, key.tag)) {
        ++*examined;
        return pos;
    }
    if (!llamatch_lane_has_none(lane, key.tag)) {
        pos.index = llamatch_lane_find(lane, shape, key, examined);
    }
    if (lane->end == pos.index) {
        pos.node = NULL;
    }
    return pos;
}

static inline uint64_t first_seq(const llamatch_shape_t *shape, const llamatch_lane_t *lane)
{
    return llamatch_node_slots(shape, lane->queue.head)[llamatch_lane_begin(lane)].seq;
}

/* As first_merged, for two dense lanes: a receive for any source that waits for rare messages is
 * the usual case. */
static inline int first_merged_dense(const llamatch_shape_t *shape, llamatch_lane_t *const lanes[2],
                                     llamatch_key_t key, llamatch_pos_t *found, uint64_t *examined)
{
    int here = (first_seq(shape, lanes[0]) < first_seq(shape, lanes[1])) ? 0 : 1;
    uint64_t seq;

    *found = first_dense(lanes[here], shape, key, examined);
    seq = seq_at(shape, *found);
    if (first_seq(shape, lanes[!here]) < seq) {
        llamatch_pos_t other = first_dense(lanes[!here], shape, key, examined);

        if (seq_at(shape, other) < seq) {
            *found = other;
            here = !here;
        }
    }
    return here;
}

void *llamatch_engine_match_rest(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag)
{
    const llamatch_shape_t *shape = &engine->posted_shape;
    llamatch_lane_t *const lanes[2] = {&peer->posted, &engine->wild};
    llamatch_key_t key = llamatch_key_of_message(tag);
    bool both = (0 != lanes[0]->count && 0 != lanes[1]->count);
    uint64_t examined = 0;
    int from = (0 == lanes[1]->count) ? 0 : 1;
    llamatch_pos_t pos;
    void *item;

    if (both && llamatch_lane_is_dense(lanes[0]) && llamatch_lane_is_dense(lanes[1])) {
        from = first_merged_dense(shape, lanes, key, &pos, &examined);
        count_depth(&engine->posted, examined);
        return take_posted(engine, lanes[from], pos);
    }
    if (both) {
        llamatch_lane_settle(lanes[0], shape);
        llamatch_lane_settle(lanes[1], shape);
        return match_long(engine, lanes, tag);
    }
    if (llamatch_lane_is_dense(lanes[from])) {
        pos = first_dense(lanes[from], shape, key, &examined);
        count_depth(&engine->posted, examined);
        return take_posted(engine, lanes[from], pos);
    }
    if (NULL != lanes[from]->queue.index) {
        return match_long(engine, lanes, tag);
    }
    pos = first_match(&lanes[from]->queue, shape, key, &examined);
    count_depth(&engine->posted, examined);
    item = take_posted(engine, lanes[from], pos);
    count_effort(engine, &lanes[from]->queue, shape, &engine->posted, examined);
    return item;
}

int llamatch_engine_cancel(llamatch_engine_t *engine, llamatch_peer_t *peer, void *item,
                           uint64_t place)
{
    llamatch_node_t *node = (llamatch_node_t *) (uintptr_t) place;
    llamatch_lane_t *lane = (NULL != peer) ? &peer->posted : &engine->wild;
    const llamatch_shape_t *shape = &engine->posted_shape;
    llamatch_pos_t pos = {NULL, 0};

    if (NULL != node) {
        pos = llamatch_lane_find_item(lane, shape, node, item);
    }
    if (NULL == pos.node) {
        return LLAMATCH_NOT_FOUND;
    }
    if (llamatch_lane_is_dense(lane)) {
        llamatch_lane_cancel(lane, shape, pos.index);
    } else if (NULL == lane->queue.index) {
        llamatch_lane_remove(lane, shape, pos);
    } else {
        llamatch_index_cancel(&engine->indexing, &lane->queue, shape, pos,
                              engine->index_above / INDEX_HYSTERESIS, keeps_index(engine));
        engine->posted.dropped += (NULL == lane->queue.index);
        llamatch_lane_changed(lane, shape);
    }
    --engine->num_posted;
    ++engine->posted.removed;
    return LLAMATCH_OK;
}

int llamatch_engine_arrive_rest(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                                void *item)
{
    const llamatch_shape_t *shape = &engine->unexpected_shape;
    llamatch_lane_t *lane = &peer->unexpected;
    llamatch_pos_t pos;

    if (LLAMATCH_ANY_TAG == tag) {
        return LLAMATCH_ERR_ARGUMENT;
    }
    pos = llamatch_lane_append(lane, shape, tag, engine->next_arrival, item);
    if (NULL == pos.node) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    ++engine->next_arrival;
    llamatch_lengthen(&engine->num_unexpected, &engine->most_unexpected);
    know_peer(engine, peer);
    heed(engine, peer);
    if (1 == lane->count && peer != peer->ring_next) {
        llamatch_engine_enter_ring(engine, peer);
    }
    appended(engine, &lane->queue, shape, &engine->unexpected, tag, pos);
    if (NULL != lane->queue.index) {
        lane->cursor = NULL; /* with an index, nobody cares for it */
    }
    return LLAMATCH_OK;
}

/* The first message of a lane without index that a receive matches. */
static inline llamatch_pos_t first_message(llamatch_engine_t *engine, llamatch_lane_t *lane,
                                           int32_t tag, uint64_t *examined)
{
    const llamatch_shape_t *shape = &engine->unexpected_shape;
    llamatch_key_t key = llamatch_key_of_receive(tag);
    llamatch_pos_t pos = {lane->queue.head, 0};
    uint64_t live = pos.node->bits[0];
    uint32_t depth;

    if (NULL != lane->cursor && tag == lane->passed_tag) {
        pos.node = lane->cursor;
        pos.index = lane->cursor_word * 64;
        live = pos.node->bits[lane->cursor_word] & lane->fresh;
    }
    depth = find_shallow(shape, live, key, &pos);
    if (0 < depth) {
        *examined += depth;
        if (1 < depth) {
            llamatch_lane_remember(lane, shape, tag, pos);
        }
        return pos;
    }
    pos = llamatch_queue_find(&lane->queue, shape, key, examined);
    if (NULL != pos.node) {
        llamatch_lane_remember(lane, shape, tag, pos);
    }
    return pos;
}

static inline void count_effort_of_messages(llamatch_engine_t *engine, llamatch_lane_t *lane,
                                            int32_t tag, uint64_t depth)
{
    if (LLAMATCH_ANY_TAG != tag) { /* which an index does not help */
        count_effort(engine, &lane->queue, &engine->unexpected_shape, &engine->unexpected, depth);
        if (NULL != lane->queue.index) {
            lane->cursor = NULL; /* with an index, nobody cares for it */
        }
    }
}

/* Search the messages of one peer. */
static inline bool search_peer(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                               llamatch_hold_t *hold, uint64_t *examined)
{
    llamatch_lane_t *lane = &peer->unexpected;
    const llamatch_shape_t *shape = &engine->unexpected_shape;
    uint64_t here = 0;

    if (llamatch_lane_is_dense(lane)) {
        hold->pos = first_dense(lane, shape, llamatch_key_of_receive(tag), &here);
    } else if (NULL == lane->queue.index) {
        hold->pos = first_message(engine, lane, tag, &here);
        count_effort_of_messages(engine, lane, tag, here);
    } else if (LLAMATCH_ANY_TAG != tag) {
        hold->pos = llamatch_index_find(&engine->indexing, &lane->queue, shape, tag, &here);
    } else {
        hold->pos = llamatch_queue_find(&lane->queue, shape, llamatch_key_of_receive(tag), &here);
    }
    *examined += here;
    if (NULL == hold->pos.node) {
        return false;
    }
    hold->peer = peer;
    hold->item = llamatch_node_slots(shape, hold->pos.node)[hold->pos.index].item;
    return true;
}

/* Search all peers in the order of the ring. Those without messages leave it. */
APART static uint64_t search_ring(llamatch_engine_t *engine, int32_t tag, llamatch_hold_t *hold)
{
    llamatch_peer_t *peer = engine->ring, *last = peer->ring_prev, *next;
    uint64_t examined = 0;

    for (bool is_last = false; !is_last; peer = next) {
        is_last = (peer == last);
        next = peer->ring_next;
        if (0 == peer->unexpected.count) {
            ring_remove(engine, peer);
        } else if (search_peer(engine, peer, tag, hold, &examined)) {
            break;
        }
    }
    return examined;
}

void *llamatch_engine_search(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                             llamatch_hold_t *hold)
{
    uint64_t examined = 0;

    hold->item = NULL;
    hold->any = (NULL == peer);
    if (!llamatch_engine_has_messages(engine, peer)) {
        return NULL;
    }
    if (hold->any) {
        examined = search_ring(engine, tag, hold);
    } else {
        (void) search_peer(engine, peer, tag, hold, &examined);
    }
    ++engine->unexpected.searches;
    count_depth(&engine->unexpected, examined);
    return hold->item;
}

llamatch_message_t llamatch_engine_probe(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                         int32_t tag)
{
    llamatch_hold_t hold = {.peer = peer};
    llamatch_message_t message;

    message.item = llamatch_engine_search(engine, peer, tag, &hold);
    message.peer = hold.peer;
    return message;
}

void llamatch_engine_take(llamatch_engine_t *engine, const llamatch_hold_t *hold)
{
    llamatch_peer_t *peer = hold->peer;

    --engine->unexpected.searches; /* it has taken something */
    --engine->num_unexpected;
    take_out(engine, &peer->unexpected, &engine->unexpected_shape, &engine->unexpected, hold->pos);
    if (!hold->any) {
        return;
    }
    if (engine->ring == peer) {
        engine->ring = peer->ring_next;
    } else {
        /* Those before it had no match, and keep their places. */
        ring_remove(engine, peer);
        ring_insert(engine, peer);
    }
}

/* Receive from a peer whose messages have no index. */
static llamatch_message_t receive_from(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                       int32_t tag)
{
    const llamatch_shape_t *shape = &engine->unexpected_shape;
    llamatch_lane_t *lane = &peer->unexpected;
    bool dense = llamatch_lane_is_dense(lane);
    llamatch_message_t message = {NULL, peer};
    uint64_t examined = 0;
    llamatch_pos_t pos = dense ? first_dense(lane, shape, llamatch_key_of_receive(tag), &examined)
                               : first_message(engine, lane, tag, &examined);

    count_depth(&engine->unexpected, examined);
    if (NULL == pos.node) {
        ++engine->unexpected.searches;
    } else {
        message.item = llamatch_node_slots(shape, pos.node)[pos.index].item;
        --engine->num_unexpected;
        if (dense) {
            llamatch_lane_pull_rear(lane, shape);
        } else {
            llamatch_lane_remove(lane, shape, pos);
        }
    }
    if (!dense) {
        count_effort_of_messages(engine, lane, tag, examined);
    }
    return message;
}

llamatch_message_t llamatch_engine_receive_rest(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                                int32_t tag)
{
    llamatch_message_t message = {NULL, peer};
    llamatch_hold_t hold;

    if (NULL != peer && NULL == peer->unexpected.queue.index) {
        return receive_from(engine, peer, tag);
    }
    message.item = llamatch_engine_search(engine, peer, tag, &hold);
    if (NULL != message.item) {
        message.peer = hold.peer;
        llamatch_engine_take(engine, &hold);
    }
    return message;
}

/* Visit one lane; its index, if any, is made anew. */
static size_t walk_lane(llamatch_engine_t *engine, llamatch_lane_t *lane,
                        const llamatch_shape_t *shape, llamatch_counts_t *counts,
                        llamatch_visit_fn_t visit, void *context)
{
    llamatch_queue_t *queue = &lane->queue;
    bool indexed = (NULL != queue->index);
    size_t removed;

    llamatch_lane_settle(lane, shape);
    if (indexed) {
        llamatch_index_drop(&engine->indexing, queue, shape);
    }
    removed = llamatch_queue_walk(queue, shape, visit, context);
    counts->removed += removed;
    if (indexed && LLAMATCH_OK != llamatch_index_build(&engine->indexing, queue, shape)) {
        ++counts->dropped;
    }
    llamatch_lane_changed(lane, shape);
    return removed;
}

size_t llamatch_engine_walk_unexpected(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                       void *context)
{
    size_t removed = 0;

    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        removed += walk_lane(engine, &peer->unexpected, &engine->unexpected_shape,
                             &engine->unexpected, visit, context);
        if (0 == peer->unexpected.count && NULL != peer->ring_next) {
            ring_remove(engine, peer);
        }
    }
    engine->num_unexpected -= (uint32_t) removed;
    return removed;
}

size_t llamatch_engine_walk_posted(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                   void *context)
{
    size_t removed = 0;

    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        removed += walk_lane(engine, &peer->posted, &engine->posted_shape, &engine->posted, visit,
                             context);
    }
    removed +=
        walk_lane(engine, &engine->wild, &engine->posted_shape, &engine->posted, visit, context);
    engine->num_posted -= (uint32_t) removed;
    return removed;
}

static void tell_stats(const llamatch_counts_t *counts, llamatch_stats_t *stats)
{
    stats->indexed = counts->indexed;
    stats->dropped = counts->dropped;
    stats->depth_sum = counts->depth_sum;
    stats->depth_max = counts->depth_max;
    memcpy(stats->depths, counts->depths, sizeof(stats->depths));
    /* All other searches had depth 1, or found without looking that there is none. */
    stats->depths[0] = stats->searches;
    for (int i = 1; i < LLAMATCH_DEPTHS; ++i) {
        stats->depths[0] -= stats->depths[i];
    }
    stats->depth_sum += stats->depths[0];
    if (0 == stats->depth_max && 0 < stats->searches) {
        stats->depth_max = 1;
    }
}

void llamatch_engine_stats(const llamatch_engine_t *engine, llamatch_stats_t *posted,
                           llamatch_stats_t *unexpected)
{
    posted->length = engine->num_posted;
    posted->length_max = engine->most_posted;
    posted->matches = engine->next_post - posted->length - engine->posted.removed;
    posted->searches = posted->matches + engine->posted.searches;
    tell_stats(&engine->posted, posted);
    unexpected->length = engine->num_unexpected;
    unexpected->length_max = engine->most_unexpected;
    unexpected->matches = engine->next_arrival - unexpected->length - engine->unexpected.removed;
    unexpected->searches = unexpected->matches + engine->unexpected.searches;
    tell_stats(&engine->unexpected, unexpected);
}

size_t llamatch_engine_num_indexed(const llamatch_engine_t *engine)
{
    size_t indexed = (NULL != engine->wild.queue.index);

    for (const llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        indexed += (NULL != peer->posted.queue.index) + (NULL != peer->unexpected.queue.index);
    }
    return indexed;
}

static int verify_lane(const llamatch_engine_t *engine, const llamatch_lane_t *lane,
                       const llamatch_shape_t *shape, uint64_t limit)
{
    const llamatch_node_t *node = lane->queue.tail;
    int broken = llamatch_lane_verify(lane, shape);
    uint32_t end;

    if (0 == broken && NULL != lane->queue.index) {
        broken = llamatch_index_verify(&engine->indexing, &lane->queue, shape);
    }
    if (0 == broken && NULL != node) {
        /* Sorted: only the last number has to be compared with the counter. */
        end = llamatch_lane_is_dense(lane) ? lane->end : node->end;
        if (0 < end && llamatch_node_slots(shape, node)[end - 1].seq >= limit) {
            broken = 105;
        }
    }
    return broken;
}

int llamatch_engine_verify(const llamatch_engine_t *engine)
{
    size_t posted = engine->wild.count, unexpected = 0, in_ring = 0, expected_in_ring = 0;
    int broken = verify_lane(engine, &engine->wild, &engine->posted_shape, engine->next_post);

    for (const llamatch_peer_t *peer = engine->peers; 0 == broken && NULL != peer;
         peer = peer->next) {
        broken = verify_lane(engine, &peer->posted, &engine->posted_shape, engine->next_post);
        if (0 == broken) {
            broken = verify_lane(engine, &peer->unexpected, &engine->unexpected_shape,
                                 engine->next_arrival);
        }
        if (0 == broken && 0 != peer->unexpected.count && NULL == peer->ring_next) {
            return 103;
        }
        expected_in_ring += (NULL != peer->ring_next);
        posted += peer->posted.count;
        unexpected += peer->unexpected.count;
    }
    if (0 != broken) {
        return broken;
    }
    if (NULL != engine->ring) {
        const llamatch_peer_t *peer = engine->ring;

        do {
            if (NULL == peer->ring_next || peer->ring_next->ring_prev != peer
                || ++in_ring > expected_in_ring) {
                return 103;
            }
            peer = peer->ring_next;
        } while (peer != engine->ring);
    }
    if (in_ring != expected_in_ring) {
        return 103;
    }
    if (engine->num_posted > engine->most_posted
        || engine->num_unexpected > engine->most_unexpected) {
        return 104;
    }
    if (posted != engine->num_posted) {
        return 101;
    }
    return (unexpected == engine->num_unexpected) ? 0 : 102;
}
