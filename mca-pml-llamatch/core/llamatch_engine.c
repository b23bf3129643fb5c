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

#include <stdlib.h>
#include <string.h>

/* Keeps what is rarely needed out of the functions on the way of many messages, which then need not
 * save the registers it would use. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define IN_PLACE __attribute__((always_inline)) static inline
#else
#define APART
#define IN_PLACE static inline
#endif

/* A queue gets an index when it is longer than index_above and when the searches that
 * went deep have looked at this many times as many entries as it has. Making an index costs about
 * as much as that: 20 to 40 ns per entry, and passing an entry about half a nanosecond. */
#define PASSED_PER_ENTRY 32

/* A search that does not go deep takes as many entries off: with an index it costs so much more. */
#define PASSED_PER_SHALLOW 128

/* An index goes when the queue is shorter than index_above divided by this. */
#define INDEX_HYSTERESIS 4

const llamatch_config_t llamatch_config_default = {
    NULL, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, NULL, NULL, LLAMATCH_INDEX_ABOVE, NULL,
};

/* What a queue that was not searched yet has passed: kind HASH wants an index at once. */
static uint32_t none_passed(const llamatch_engine_t *engine)
{
    return (LLAMATCH_HASH == engine->setup->kind) ? UINT32_MAX : 0;
}

int llamatch_setup_init(llamatch_setup_t *setup, const llamatch_config_t *config)
{
    /* A list is made of arrays of one entry. */
    uint32_t entries = (LLAMATCH_LIST == config->kind) ? 1 : config->entries;
    llamatch_shape_t *posted = &setup->posted_shape;
    const llamatch_simd_path_t *paths;
    llamatch_find_fn_t find = config->find;
    int status;

    if (config->entries < LLAMATCH_ENTRIES_MIN) {
        return LLAMATCH_ERR_ARGUMENT;
    }
    if (NULL == find) {
        (void) llamatch_simd_paths(&paths);
        find = paths[0].find;
    }
    memset(setup, 0, sizeof(*setup));
    status = llamatch_shape_init(posted, config->pool, entries, find, config->moved);
    if (LLAMATCH_OK != status) {
        return status;
    }
    if (LLAMATCH_AUTO == config->kind) {
        posted->short_entries =
            llamatch_smaller(LLAMATCH_SHORT_MAX, llamatch_smaller(entries, config->index_above));
        posted->own_entries = (NULL != config->hot)
                                  ? 0
                                  : llamatch_smaller(LLAMATCH_OWN_ENTRIES, posted->short_entries);
    }
    setup->unexpected_shape = *posted;
    setup->unexpected_shape.moved = NULL;
    setup->indexing.pool = config->pool;
    setup->indexing.drop_below = config->index_above / INDEX_HYSTERESIS;
    setup->indexing.keep = LLAMATCH_HASH == config->kind;
    setup->kind = config->kind;
    setup->index_above = config->index_above;
    setup->hot = config->hot;
    return llamatch_shape_init(&setup->indexing.bucket, config->pool, LLAMATCH_BUCKET_ENTRIES, find,
                               NULL);
}

void llamatch_engine_init(llamatch_engine_t *engine, const llamatch_setup_t *setup)
{
    memset(engine, 0, sizeof(*engine));
    engine->setup = setup;
    engine->wild.queue.passed = none_passed(engine);
}

static void clear_lane(llamatch_engine_t *engine, llamatch_lane_t *lane,
                       const llamatch_shape_t *shape)
{
    if (llamatch_lane_has_index(lane)) {
        /* all entries go; none is moved before, as its item may be gone */
        lane->queue.index->marked = 0;
        llamatch_index_drop(&engine->setup->indexing, &lane->queue, shape);
    }
    llamatch_lane_clear(lane, shape);
}

void llamatch_engine_fini(llamatch_engine_t *engine)
{
    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        clear_lane(engine, &peer->posted, &engine->setup->posted_shape);
        clear_lane(engine, &peer->unexpected, &engine->setup->unexpected_shape);
    }
    clear_lane(engine, &engine->wild, &engine->setup->posted_shape);
    free(engine->posted.depths);
    free(engine->unexpected.depths);
}

void llamatch_peer_init(llamatch_peer_t *peer)
{
    memset(peer, 0, sizeof(*peer));
}

/* A peer gets its first entry. */
static void know_peer(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (!peer->known) {
        peer->known = true;
        peer->next = engine->peers;
        engine->peers = peer;
        peer->posted.queue.passed = none_passed(engine);
        peer->unexpected.queue.passed = none_passed(engine);
    }
}

static void make_index(llamatch_engine_t *engine, llamatch_queue_t *queue,
                       const llamatch_shape_t *shape, llamatch_counts_t *counts)
{
    if (LLAMATCH_OK == llamatch_index_build(&engine->setup->indexing, queue, shape)) {
        ++counts->indexed;
        queue->passed = UINT32_MAX;
    } else {
        queue->passed = none_passed(engine); /* AUTO: not again at once */
    }
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
    if (NULL != engine->setup->hot) {
        llamatch_hot_add(engine->setup->hot, engine);
        if (NULL != peer) {
            llamatch_hot_add(engine->setup->hot, peer);
        }
    }
}

/* Before anything but the entries within reach is looked at. */
static inline void close_lane(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    if (llamatch_lane_is_open(lane)) {
        llamatch_lane_close(lane, shape);
    }
}

/* Is a lane open or long, without an index or a reason to get one, and with room in its last array?
 */
static inline bool has_room(const llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    const llamatch_node_t *tail = lane->queue.tail;

    return 0 == lane->room && NULL != tail && tail->end < shape->entries
           && (llamatch_lane_has_front(lane)
               || (NULL == lane->queue.index && UINT32_MAX != lane->queue.passed));
}

/* Append a receive, or, without a place, a message, to a lane of any form. */
APART static int append_any(llamatch_engine_t *engine, llamatch_peer_t *peer, llamatch_lane_t *lane,
                            int32_t tag, void *item, uint64_t *place)
{
    bool is_post = NULL != place, is_first = 0 == lane->live;
    const llamatch_shape_t *shape =
        is_post ? &engine->setup->posted_shape : &engine->setup->unexpected_shape;
    llamatch_counts_t *counts = is_post ? &engine->posted : &engine->unexpected;
    uint64_t *next = is_post ? &engine->next_post : &engine->next_arrival;
    llamatch_queue_t *queue = &lane->queue;
    llamatch_pos_t pos;

    if (NULL != peer) {
        know_peer(engine, peer);
    }
    if (LLAMATCH_OK != llamatch_lane_append(lane, shape, tag, *next, item, &pos)) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    ++*next;
    heed(engine, peer);
    if (is_post) {
        llamatch_lengthen(&engine->num_posted, &engine->most_posted);
        *place = llamatch_lane_place(lane); /* may change below */
    } else {
        llamatch_lengthen(&engine->num_unexpected, &engine->most_unexpected);
        if (is_first && peer != peer->ring_next) {
            llamatch_engine_enter_ring(engine, peer);
        }
    }
    if (llamatch_lane_is_short(lane)) {
        return LLAMATCH_OK;
    }
    /* Does the queue have an index, or want one? */
    if (UINT32_MAX == queue->passed) {
        close_lane(lane, shape);
    }
    if (NULL != queue->index) {
        llamatch_index_add(&engine->setup->indexing, queue, shape, tag, pos);
        counts->dropped += (NULL == queue->index);
    } else if (UINT32_MAX == queue->passed
               && (LLAMATCH_HASH == engine->setup->kind
                   || queue->count > engine->setup->index_above)) {
        make_index(engine, queue, shape, counts);
    }
    return LLAMATCH_OK;
}

int llamatch_engine_post_slow(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                              void *item, uint64_t *place)
{
    const llamatch_shape_t *shape = &engine->setup->posted_shape;
    llamatch_lane_t *lane = (NULL != peer) ? &peer->posted : &engine->wild;
    uint64_t seq = engine->next_post;

    if (!has_room(lane, shape)) {
        return append_any(engine, peer, lane, tag, item, place);
    }
    *place = (uintptr_t) llamatch_queue_push(&lane->queue, shape, tag, seq, item).node;
    engine->next_post = seq + 1;
    llamatch_lengthen(&engine->num_posted, &engine->most_posted);
    return LLAMATCH_OK;
}

/* See that depths can be counted. @return whether they could not before */
APART static bool begin_depths(llamatch_counts_t *counts)
{
    if (NULL != counts->depths) {
        return false;
    }
    counts->depths = calloc(1, sizeof(*counts->depths));
    return NULL != counts->depths;
}

/* A search has looked at this many entries. */
static inline void count_depth(llamatch_counts_t *counts, uint64_t depth)
{
    llamatch_depths_t *depths = counts->depths;

    if (NULL == depths) {
        if (2 > depth || !begin_depths(counts)) {
            return;
        }
        depths = counts->depths;
    }
    if (LLAMATCH_LIKELY(depth <= LLAMATCH_SHALLOW)) {
        ++depths->shallow[depth];
    } else {
        uint32_t class = 63 - (uint32_t) __builtin_clzll(depth);

        ++depths->deep[(class < LLAMATCH_DEPTHS) ? class : LLAMATCH_DEPTHS - 1];
        depths->deep_sum += depth;
        if (depth > depths->deep_max) {
            depths->deep_max = depth;
        }
    }
}

APART static void add_passed(llamatch_engine_t *engine, llamatch_lane_t *lane,
                             const llamatch_shape_t *shape, llamatch_counts_t *counts,
                             uint64_t depth)
{
    llamatch_queue_t *queue = &lane->queue;

    close_lane(lane, shape);
    if (llamatch_lane_is_short(lane)) {
        return;
    }
    if (NULL != queue->index || LLAMATCH_AUTO != engine->setup->kind) {
        return;
    }
    queue->passed =
        (depth < UINT32_MAX - queue->passed) ? queue->passed + (uint32_t) depth : UINT32_MAX;
    if (queue->count > engine->setup->index_above
        && queue->passed / PASSED_PER_ENTRY >= queue->count) {
        make_index(engine, queue, shape, counts);
    }
}

static inline void count_passed(llamatch_engine_t *engine, llamatch_lane_t *lane,
                                const llamatch_shape_t *shape, llamatch_counts_t *counts,
                                uint64_t depth)
{
    if (depth > engine->setup->index_above) { /* never of a short lane */
        add_passed(engine, lane, shape, counts, depth);
    } else if (0 != depth && !llamatch_lane_is_short(lane) && UINT32_MAX != lane->queue.passed) {
        lane->queue.passed -= llamatch_smaller(lane->queue.passed, PASSED_PER_SHALLOW);
    }
}

/* Take what a search has found out of a long lane. */
static inline void take_long(llamatch_engine_t *engine, llamatch_lane_t *lane,
                             const llamatch_shape_t *shape, llamatch_counts_t *counts,
                             llamatch_pos_t pos)
{
    const llamatch_node_t *head = lane->queue.head;

    if (LLAMATCH_LIKELY(NULL == lane->queue.index)) {
        llamatch_queue_remove(&lane->queue, shape, pos);
        llamatch_lane_changed(lane, shape);
        /* A whole array was matched at the front. */
        if (LLAMATCH_UNLIKELY(head != lane->queue.head && head == pos.node && 0 != lane->live
                              && !llamatch_lane_is_short(lane) && 0 != shape->short_entries
                              && UINT32_MAX != lane->queue.passed)) {
            llamatch_lane_open(lane, shape);
        }
    } else {
        llamatch_index_remove(&engine->setup->indexing, &lane->queue, shape, pos);
        counts->dropped += (NULL == lane->queue.index);
        llamatch_lane_changed(lane, shape);
    }
}

/* Take what a search has found out of its lane. */
static inline void *take_out(llamatch_engine_t *engine, llamatch_lane_t *lane,
                             const llamatch_shape_t *shape, llamatch_counts_t *counts,
                             const llamatch_found_t *found)
{
    void *item = found->slot->item;

    if (llamatch_lane_has_front(
            lane)) { /* what is not within reach is not found while it has one */
        llamatch_lane_take(lane, shape, found->pos.index);
    } else {
        take_long(engine, lane, shape, counts, found->pos);
    }
    return item;
}

/* llamatch_lane_find, and what it has found. */
static inline llamatch_found_t find_in_short(const llamatch_lane_t *lane, llamatch_key_t key,
                                             uint64_t *examined)
{
    llamatch_found_t found = {NULL, {NULL, llamatch_lane_find(lane, key)}};

    *examined += llamatch_lane_depth(lane, found.pos.index);
    if (LLAMATCH_SHORT_MAX != found.pos.index) {
        found.slot = &lane->slots[found.pos.index];
    }
    return found;
}

static inline uint64_t seq_of(const llamatch_found_t *found)
{
    return (NULL != found->slot) ? found->slot->seq : UINT64_MAX;
}

static inline llamatch_found_t found_at(const llamatch_shape_t *shape, llamatch_pos_t pos)
{
    llamatch_found_t found = {NULL, pos};

    if (NULL != pos.node) {
        found.slot = &llamatch_node_slots(shape, pos.node)[pos.index];
    }
    return found;
}

/* The first receive of a lane that matches a message; what is not older than the limit may be left
 * out. */
static inline llamatch_found_t first_posted(llamatch_engine_t *engine, llamatch_lane_t *lane,
                                            int32_t tag, uint64_t limit, uint64_t *examined)
{
    const llamatch_shape_t *shape = &engine->setup->posted_shape;
    llamatch_queue_t *queue = &lane->queue;
    llamatch_found_t found, any_tag = {NULL, {NULL, 0}};

    if (llamatch_lane_is_short(lane)) {
        return find_in_short(lane, llamatch_key_of_message(tag), examined);
    }
    if (NULL == queue->index) {
        return found_at(shape, llamatch_queue_find(queue, shape, llamatch_key_of_message(tag),
                                                   limit, examined));
    }
    if (0 != queue->index->any_tags && 0 <= tag) {
        any_tag = found_at(shape, llamatch_index_find(&engine->setup->indexing, queue, shape,
                                                      LLAMATCH_ANY_TAG, examined));
    }
    found =
        found_at(shape, llamatch_index_find(&engine->setup->indexing, queue, shape, tag, examined));
    return (seq_of(&any_tag) < seq_of(&found)) ? any_tag : found;
}

/*
 * The earliest match of two queues without index: their nodes are walked in the order of their
 * first numbers, so no more is examined than the entries posted before the result, plus the rest
 * of one node. Returns 0 or 1 for the queue in which it is.
 */
static int first_merged(const llamatch_shape_t *shape, llamatch_lane_t *const lanes[2],
                        llamatch_key_t key, llamatch_found_t *found, uint64_t examined[2])
{
    llamatch_pos_t at[2] = {{lanes[0]->queue.head, 0}, {lanes[1]->queue.head, 0}};
    int here = (at[0].node->first_seq < at[1].node->first_seq) ? 0 : 1;
    uint64_t limit;

    for (;; here = !here) {
        limit = (NULL != at[!here].node) ? at[!here].node->first_seq : UINT64_MAX;
        if (shape->find(&at[here], limit, shape->tags_offset, key, &examined[here])) {
            break;
        }
        if (UINT64_MAX == limit) {
            return here;
        }
    }
    *found = found_at(shape, at[here]);
    /* What was posted before this match and not examined is in nodes that begin before it. */
    if (shape->find(&at[!here], found->slot->seq, shape->tags_offset, key, &examined[!here])) {
        llamatch_found_t other = found_at(shape, at[!here]);

        if (other.slot->seq < found->slot->seq) {
            *found = other;
            here = !here;
        }
    }
    return here;
}

/* The earliest match of two lanes that have entries and are not both short. Returns 0 or 1 for the
 * one in which it is. */
static int first_of_both(llamatch_engine_t *engine, llamatch_lane_t *const lanes[2], int32_t tag,
                         llamatch_found_t *found, uint64_t examined[2])
{
    bool quick[2] = {llamatch_lane_is_short(lanes[0]) || llamatch_lane_has_index(lanes[0]),
                     llamatch_lane_is_short(lanes[1]) || llamatch_lane_has_index(lanes[1])};
    int here = quick[0] ? 0 : 1;
    llamatch_found_t other;

    if (!quick[0] && !quick[1]) {
        return first_merged(&engine->setup->posted_shape, lanes, llamatch_key_of_message(tag),
                            found, examined);
    }
    *found = first_posted(engine, lanes[here], tag, UINT64_MAX, &examined[here]);
    other = first_posted(engine, lanes[!here], tag, seq_of(found), &examined[!here]);
    if (seq_of(&other) < seq_of(found)) {
        *found = other;
        here = !here;
    }
    return here;
}

/* Match with one lane of any form, or two of which one is long. */
APART static void *match_any(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag)
{
    const llamatch_shape_t *shape = &engine->setup->posted_shape;
    llamatch_lane_t *const lanes[2] = {&peer->posted, &engine->wild};
    llamatch_found_t found = {NULL, {NULL, 0}};
    uint64_t examined[2] = {0, 0};
    int from = (0 == lanes[1]->live) ? 0 : 1;
    void *item = NULL;

    close_lane(lanes[0], shape);
    close_lane(lanes[1], shape);
    if (0 != lanes[!from]->live) {
        from = first_of_both(engine, lanes, tag, &found, examined);
    } else {
        found = first_posted(engine, lanes[from], tag, UINT64_MAX, &examined[from]);
    }
    count_depth(&engine->posted, examined[0] + examined[1]);
    if (NULL == found.slot) {
        ++engine->posted.searches;
    } else {
        --engine->num_posted;
        item = take_out(engine, lanes[from], shape, &engine->posted, &found);
    }
    count_passed(engine, lanes[0], shape, &engine->posted, examined[0]);
    count_passed(engine, lanes[1], shape, &engine->posted, examined[1]);
    return item;
}

/* Entries behind the first one that are looked at one by one. To find one among four together takes
 * fewer instructions, but longer: the processor cannot guess which one it will be, and waits to read
 * what it is for. */
enum { FEW = 16 };

/* Search what a lane has within reach but its first entry, which does not match. @return whether
 * there can be nothing else; then *item is what was taken, or NULL */
IN_PLACE bool take_behind(llamatch_lane_t *lane, llamatch_counts_t *counts, uint32_t *length,
                          llamatch_key_t key, void **item)
{
    uint64_t live = lane->live & (lane->live - 1);
    uint32_t index = LLAMATCH_SHORT_MAX, depth = 1;

    if (LLAMATCH_UNLIKELY(!llamatch_lane_has_front(lane) || NULL == counts->depths)) {
        return false;
    }
    for (; 0 != live && depth <= FEW; live &= live - 1) {
        ++depth;
        if (llamatch_key_accepts(key, lane->tags[__builtin_ctzll(live)])) {
            index = (uint32_t) __builtin_ctzll(live);
            break;
        }
    }
    if (LLAMATCH_SHORT_MAX == index && 0 != live) {
        index = llamatch_lane_find_among(lane, key, live);
        depth = llamatch_lane_depth(lane, index);
    }
    if (LLAMATCH_SHORT_MAX == index && !llamatch_lane_is_short(lane)) {
        return false;
    }
    ++counts->depths->shallow[depth];
    if (LLAMATCH_SHORT_MAX == index) {
        ++counts->searches;
        *item = NULL;
        return true;
    }
    *item = lane->slots[index].item;
    lane->live &= ~((uint64_t) 1 << index); /* the first one is still there */
    llamatch_lane_trim(lane, index);
    --*length;
    return true;
}

/* Match with two short lanes. */
APART static void *match_both(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag)
{
    /* The one with the oldest entry first: what is newer than the match there need not be looked
     * for in the other. */
    bool wild_first =
        llamatch_lane_first_seq(&engine->wild) < llamatch_lane_first_seq(&peer->posted);
    llamatch_lane_t *lane = wild_first ? &engine->wild : &peer->posted;
    llamatch_lane_t *other = wild_first ? &peer->posted : &engine->wild;
    llamatch_key_t key = llamatch_key_of_message(tag);
    uint32_t index = llamatch_lane_find(lane, key), depth = llamatch_lane_depth(lane, index);
    void *item;

    if (LLAMATCH_SHORT_MAX == index || llamatch_lane_first_seq(other) < lane->slots[index].seq) {
        uint32_t in_other = llamatch_lane_find(other, key);

        depth += llamatch_lane_depth(other, in_other);
        if (LLAMATCH_SHORT_MAX == index
            || (LLAMATCH_SHORT_MAX != in_other
                && other->slots[in_other].seq < lane->slots[index].seq)) {
            lane = other;
            index = in_other;
        }
    }
    count_depth(&engine->posted, depth);
    if (LLAMATCH_SHORT_MAX == index) {
        ++engine->posted.searches;
        return NULL;
    }
    item = lane->slots[index].item;
    --engine->num_posted;
    llamatch_lane_take(lane, &engine->setup->posted_shape, index);
    llamatch_lane_trim(lane, index);
    return item;
}

void *llamatch_engine_match_slow(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag)
{
    llamatch_lane_t *lane = (0 != peer->posted.live) ? &peer->posted : &engine->wild;
    void *item;

    if (0 == peer->posted.live || 0 == engine->wild.live) {
        if (take_behind(lane, &engine->posted, &engine->num_posted, llamatch_key_of_message(tag),
                        &item)) {
            return item;
        }
    } else if (llamatch_lane_is_short(lane) && llamatch_lane_is_short(&engine->wild)) {
        return match_both(engine, peer, tag);
    }
    return match_any(engine, peer, tag);
}

/* @return false when it is not there */
APART static bool cancel_long(llamatch_engine_t *engine, llamatch_lane_t *lane, uint64_t place,
                              const void *item)
{
    const llamatch_shape_t *shape = &engine->setup->posted_shape;
    llamatch_pos_t pos;

    close_lane(lane, shape);
    pos = llamatch_lane_find_item(lane, shape, place, item);
    if (NULL == pos.node) {
        return false;
    }
    if (NULL == lane->queue.index) {
        take_long(engine, lane, shape, &engine->posted, pos);
    } else {
        llamatch_index_cancel(&engine->setup->indexing, &lane->queue, shape, pos);
        engine->posted.dropped += (NULL == lane->queue.index);
        llamatch_lane_changed(lane, shape);
    }
    return true;
}

int llamatch_engine_cancel_slow(llamatch_engine_t *engine, llamatch_lane_t *lane, void *item,
                                uint64_t place)
{
    uint32_t index = LLAMATCH_SHORT_MAX;

    if (0 == place) {
        return LLAMATCH_NOT_FOUND;
    }
    if (llamatch_lane_has_front(lane)) {
        index = llamatch_lane_index_of(lane, item);
    }
    if (LLAMATCH_SHORT_MAX != index) {
        llamatch_lane_take(lane, &engine->setup->posted_shape, index);
        llamatch_lane_trim(lane, index);
    } else if (llamatch_lane_is_short(lane) || !cancel_long(engine, lane, place, item)) {
        return LLAMATCH_NOT_FOUND;
    }
    --engine->num_posted;
    ++engine->posted.removed;
    return LLAMATCH_OK;
}

int llamatch_engine_arrive_slow(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                                void *item)
{
    llamatch_lane_t *lane = &peer->unexpected;

    if (LLAMATCH_ANY_TAG == tag) {
        tag = INT32_MIN;
    }
    if (!has_room(lane, &engine->setup->unexpected_shape)) {
        return append_any(engine, peer, lane, tag, item, NULL);
    }
    (void) llamatch_queue_push(&lane->queue, &engine->setup->unexpected_shape, tag,
                               engine->next_arrival, item);
    ++engine->next_arrival;
    llamatch_lengthen(&engine->num_unexpected, &engine->most_unexpected);
    return LLAMATCH_OK;
}

/* The first message of a peer, which has some, that a receive matches. */
static inline llamatch_found_t first_message(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                             int32_t tag, uint64_t *examined)
{
    llamatch_lane_t *lane = &peer->unexpected;
    const llamatch_shape_t *shape = &engine->setup->unexpected_shape;
    llamatch_found_t found;
    uint64_t here = 0;

    if (llamatch_lane_has_front(lane)) {
        found = find_in_short(lane, llamatch_key_of_receive(tag), &here);
        if (NULL != found.slot || llamatch_lane_is_short(lane)) {
            *examined += here;
            return found;
        }
        llamatch_lane_close(lane, shape);
        here = 0;
    }
    if (NULL != lane->queue.index && LLAMATCH_ANY_TAG != tag) {
        return found_at(shape, llamatch_index_find(&engine->setup->indexing, &lane->queue, shape,
                                                   tag, examined));
    }
    found = found_at(shape, llamatch_queue_find(&lane->queue, shape, llamatch_key_of_receive(tag),
                                                UINT64_MAX, &here));
    *examined += here;
    if (LLAMATCH_ANY_TAG != tag) { /* which an index does not help */
        count_passed(engine, lane, shape, &engine->unexpected, here);
    }
    return found;
}

/* The same of all peers in the order of the ring. Those without messages leave it. */
APART static llamatch_found_t search_ring(llamatch_engine_t *engine, int32_t tag,
                                          llamatch_peer_t **peer_out, uint64_t *examined)
{
    llamatch_peer_t *peer = engine->ring, *last = peer->ring_prev, *next;
    llamatch_found_t found = {NULL, {NULL, 0}};

    for (bool is_last = false; !is_last && NULL == found.slot; peer = next) {
        is_last = (peer == last);
        next = peer->ring_next;
        if (0 == peer->unexpected.live) {
            ring_remove(engine, peer);
        } else {
            found = first_message(engine, peer, tag, examined);
            if (NULL != found.slot) {
                *peer_out = peer;
            }
        }
    }
    return found;
}

/* The first message that a receive matches, and whose it is; *peer is NULL for any source. */
static inline llamatch_found_t search(llamatch_engine_t *engine, llamatch_peer_t **peer,
                                      int32_t tag)
{
    uint64_t examined = 0;
    llamatch_found_t found = (NULL != *peer) ? first_message(engine, *peer, tag, &examined)
                                             : search_ring(engine, tag, peer, &examined);

    count_depth(&engine->unexpected, examined);
    return found;
}

APART static llamatch_message_t probe_any(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                          int32_t tag)
{
    llamatch_message_t message = {NULL, peer};
    llamatch_found_t found = search(engine, &message.peer, tag);

    message.item = (NULL != found.slot) ? found.slot->item : NULL;
    return message;
}

llamatch_message_t llamatch_engine_probe_slow(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                              int32_t tag)
{
    llamatch_peer_t *only =
        (NULL == peer && engine->ring == engine->ring->ring_next) ? engine->ring : peer;
    llamatch_key_t key = llamatch_key_of_receive(tag);
    const llamatch_lane_t *lane;
    uint32_t index;

    ++engine->unexpected.searches;
    if (NULL == only || !llamatch_lane_has_front(&only->unexpected)) {
        return probe_any(engine, only, tag);
    }
    lane = &only->unexpected;
    index = llamatch_lane_first(lane);
    if (!llamatch_key_accepts(key, lane->tags[index])) {
        if (0 == (lane->live & (lane->live - 1)) && llamatch_lane_is_short(lane)) {
            return (llamatch_message_t){NULL, only};
        }
        index = llamatch_lane_find_behind(lane, key);
        if (NULL == engine->unexpected.depths
            || (LLAMATCH_SHORT_MAX == index && !llamatch_lane_is_short(lane))) {
            return probe_any(engine, only, tag);
        }
        ++engine->unexpected.depths->shallow[llamatch_lane_depth(lane, index)];
        if (LLAMATCH_SHORT_MAX == index) {
            return (llamatch_message_t){NULL, only};
        }
    }
    return (llamatch_message_t){lane->slots[index].item, only};
}

APART static llamatch_message_t receive_any(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                            int32_t tag)
{
    const llamatch_shape_t *shape = &engine->setup->unexpected_shape;
    llamatch_message_t message = {NULL, peer};
    llamatch_found_t found;

    found = search(engine, &message.peer, tag);
    if (NULL == found.slot) {
        ++engine->unexpected.searches;
        return message;
    }
    --engine->num_unexpected;
    message.item = take_out(engine, &message.peer->unexpected, shape, &engine->unexpected, &found);
    if (NULL != peer) {
        return message;
    }
    if (engine->ring == message.peer) {
        engine->ring = message.peer->ring_next;
    } else {
        /* Those before it had no match, and keep their places. */
        ring_remove(engine, message.peer);
        ring_insert(engine, message.peer);
    }
    return message;
}

llamatch_message_t llamatch_engine_receive_slow(llamatch_engine_t *engine, llamatch_peer_t *peer,
                                                int32_t tag)
{
    llamatch_message_t message = {NULL, peer};

    if (NULL != peer
        && take_behind(&peer->unexpected, &engine->unexpected, &engine->num_unexpected,
                       llamatch_key_of_receive(tag), &message.item)) {
        return message;
    }
    return receive_any(engine, peer, tag);
}

/* Visit one lane; its index, if any, is made anew. */
static size_t walk_lane(llamatch_engine_t *engine, llamatch_lane_t *lane,
                        const llamatch_shape_t *shape, llamatch_counts_t *counts,
                        llamatch_visit_fn_t visit, void *context)
{
    llamatch_queue_t *queue = &lane->queue;
    bool indexed = llamatch_lane_has_index(lane);
    size_t removed;

    if (indexed) {
        llamatch_index_drop(&engine->setup->indexing, queue, shape);
    }
    removed = llamatch_lane_walk(lane, shape, visit, context);
    counts->removed += removed;
    if (indexed && (0 != queue->count || engine->setup->indexing.keep)
        && LLAMATCH_OK != llamatch_index_build(&engine->setup->indexing, queue, shape)) {
        ++counts->dropped;
    }
    if (!llamatch_lane_is_short(lane)) {
        llamatch_lane_changed(lane, shape);
    }
    return removed;
}

size_t llamatch_engine_walk_unexpected(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                       void *context)
{
    size_t removed = 0;

    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        removed += walk_lane(engine, &peer->unexpected, &engine->setup->unexpected_shape,
                             &engine->unexpected, visit, context);
        if (0 == peer->unexpected.live && NULL != peer->ring_next) {
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
        removed += walk_lane(engine, &peer->posted, &engine->setup->posted_shape, &engine->posted,
                             visit, context);
    }
    removed += walk_lane(engine, &engine->wild, &engine->setup->posted_shape, &engine->posted,
                         visit, context);
    engine->num_posted -= (uint32_t) removed;
    return removed;
}
