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

const llamatch_config_t llamatch_config_default = {
    NULL, LLAMATCH_ENTRIES_DEFAULT, LLAMATCH_AUTO, NULL, NULL, 64,
};

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
    llamatch_queue_init(&engine->wild);
    llamatch_engine_set_kind(engine, config->kind);
    return LLAMATCH_OK;
}

static void clear_queue(llamatch_engine_t *engine, llamatch_queue_t *queue,
                        const llamatch_shape_t *shape)
{
    if (NULL != queue->index) {
        queue->index->marked =
            0; /* all entries go; none is moved before, as its item may be gone */
        llamatch_index_drop(&engine->indexing, queue, shape);
    }
    llamatch_queue_clear(queue, shape);
}

void llamatch_engine_fini(llamatch_engine_t *engine)
{
    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        clear_queue(engine, &peer->posted, &engine->posted_shape);
        clear_queue(engine, &peer->unexpected, &engine->unexpected_shape);
    }
    clear_queue(engine, &engine->wild, &engine->posted_shape);
    llamatch_pool_put(engine->posted_shape.nodes, engine->spare);
}

void llamatch_peer_init(llamatch_peer_t *peer)
{
    memset(peer, 0, sizeof(*peer));
    llamatch_queue_init(&peer->posted);
    llamatch_queue_init(&peer->unexpected);
    /* So that the first entry comes to know_peer. */
    peer->posted.effort = UINT32_MAX;
    peer->unexpected.effort = UINT32_MAX;
}

/* The effort of a queue that has made none yet. */
static uint32_t no_effort(const llamatch_engine_t *engine)
{
    return (LLAMATCH_HASH == engine->kind) ? UINT32_MAX : 0;
}

static void know_peer(llamatch_engine_t *engine, llamatch_peer_t *peer)
{
    if (!peer->known) {
        peer->known = true;
        peer->next = engine->peers;
        engine->peers = peer;
        peer->posted.effort = no_effort(engine);
        peer->unexpected.effort = no_effort(engine);
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

static void fit_queue(llamatch_engine_t *engine, llamatch_queue_t *queue,
                      const llamatch_shape_t *shape, llamatch_counts_t *counts)
{
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

void llamatch_engine_set_kind(llamatch_engine_t *engine, llamatch_kind_t kind)
{
    /* A list is made of arrays of which only one entry is used. */
    uint32_t entries = (LLAMATCH_LIST == kind) ? 1 : engine->entries;
    uint32_t sparse = (LLAMATCH_LIST == kind) ? 0 : engine->entries / 4;

    engine->kind = kind;
    engine->posted_shape.entries = entries;
    engine->posted_shape.sparse = sparse;
    engine->unexpected_shape.entries = entries;
    engine->unexpected_shape.sparse = sparse;
    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        fit_queue(engine, &peer->posted, &engine->posted_shape, &engine->posted);
        fit_queue(engine, &peer->unexpected, &engine->unexpected_shape, &engine->unexpected);
    }
    fit_queue(engine, &engine->wild, &engine->posted_shape, &engine->posted);
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

/* An entry was appended to a queue that has an index or wants one. */
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

void llamatch_engine_post_rest(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                               llamatch_pos_t pos)
{
    llamatch_queue_t *queue = &engine->wild;

    if (NULL != peer) {
        know_peer(engine, peer);
        queue = &peer->posted;
    }
    appended(engine, queue, &engine->posted_shape, &engine->posted, tag, pos);
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

/* Take an entry out of a queue, indexed or not. */
static void take_out(llamatch_engine_t *engine, llamatch_queue_t *queue,
                     const llamatch_shape_t *shape, llamatch_counts_t *counts, llamatch_pos_t pos)
{
    if (NULL == queue->index) {
        llamatch_queue_remove(queue, shape, pos);
    } else {
        llamatch_index_remove(&engine->indexing, queue, shape, pos,
                              engine->index_above / INDEX_HYSTERESIS, keeps_index(engine));
        counts->dropped += (NULL == queue->index);
    }
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

/* Two queues that both have entries, or one with an index. */
APART static void *match_long(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag)
{
    const llamatch_shape_t *shape = &engine->posted_shape;
    llamatch_queue_t *const queues[2] = {&peer->posted, &engine->wild};
    uint64_t examined[2] = {0, 0};
    llamatch_pos_t pos = {NULL, 0};
    void *item = NULL;
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
    if (NULL == pos.node) {
        ++engine->posted.other_searches;
    } else {
        item = llamatch_node_slots(shape, pos.node)[pos.index].item;
        --engine->num_posted;
        take_out(engine, queues[from], shape, &engine->posted, pos);
    }
    count_effort(engine, queues[0], shape, &engine->posted, examined[0]);
    count_effort(engine, queues[1], shape, &engine->posted, examined[1]);
    return item;
}

/* A queue of one array with a few entries, in its first 64 slots. */
static inline bool is_few(const llamatch_queue_t *queue)
{
    return queue->count <= LLAMATCH_SHALLOW && queue->head == queue->tail && queue->head->end <= 64;
}

/* The first match in such a queue, one entry after the other. */
static inline llamatch_pos_t first_of_few(const llamatch_shape_t *shape,
                                          const llamatch_queue_t *queue, llamatch_key_t key,
                                          uint64_t *examined)
{
    llamatch_pos_t pos = {queue->head, 0};
    const int32_t *tags = llamatch_node_tags(shape, pos.node);

    for (uint64_t live = pos.node->bits[0]; 0 != live; live &= live - 1) {
        pos.index = (uint32_t) __builtin_ctzll(live);
        ++*examined;
        if (llamatch_key_accepts(key, tags[pos.index])) {
            return pos;
        }
    }
    pos.node = NULL;
    return pos;
}

/* As first_merged, for two queues with few entries: a receive for any source that waits for rare
 * messages is the usual case. */
static inline int first_merged_few(const llamatch_shape_t *shape, llamatch_queue_t *const queues[2],
                                   llamatch_key_t key, llamatch_pos_t *found, uint64_t *examined)
{
    int here = (queues[0]->head->first_seq < queues[1]->head->first_seq) ? 0 : 1;
    uint64_t seq;

    *found = first_of_few(shape, queues[here], key, examined);
    seq = seq_at(shape, *found);
    if (queues[!here]->head->first_seq < seq) {
        llamatch_pos_t other = first_of_few(shape, queues[!here], key, examined);

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
    llamatch_queue_t *const queues[2] = {&peer->posted, &engine->wild};
    llamatch_key_t key = llamatch_key_of_message(tag);
    uint64_t examined = 0;
    int from = (0 == queues[1]->count) ? 0 : 1;
    llamatch_pos_t pos;
    void *item = NULL;

    if (NULL != queues[0]->index || NULL != queues[1]->index) {
        return match_long(engine, peer, tag);
    }
    if (0 != queues[0]->count && 0 != queues[1]->count) {
        if (!is_few(queues[0]) || !is_few(queues[1])) {
            return match_long(engine, peer, tag);
        }
        from = first_merged_few(shape, queues, key, &pos, &examined);
    } else {
        pos = llamatch_queue_find(queues[from], shape, key, &examined);
    }
    count_depth(&engine->posted, examined);
    if (NULL == pos.node) {
        ++engine->posted.other_searches;
    } else {
        item = llamatch_node_slots(shape, pos.node)[pos.index].item;
        --engine->num_posted;
        llamatch_queue_remove(queues[from], shape, pos);
    }
    count_effort(engine, queues[from], shape, &engine->posted, examined);
    return item;
}

int llamatch_engine_cancel(llamatch_engine_t *engine, llamatch_peer_t *peer, void *item,
                           uint64_t place)
{
    llamatch_node_t *node = (llamatch_node_t *) (uintptr_t) place;
    llamatch_queue_t *queue = (NULL != peer) ? &peer->posted : &engine->wild;
    const llamatch_shape_t *shape = &engine->posted_shape;

    if (NULL == node) {
        return LLAMATCH_NOT_FOUND;
    }
    for (uint32_t i = llamatch_node_next(node, 0); i < node->end;
         i = llamatch_node_next(node, i + 1)) {
        llamatch_pos_t pos = {node, i};

        if (item != llamatch_node_slots(shape, node)[i].item) {
            continue;
        }
        if (NULL == queue->index) {
            llamatch_queue_remove(queue, shape, pos);
        } else {
            llamatch_index_cancel(&engine->indexing, queue, shape, pos,
                                  engine->index_above / INDEX_HYSTERESIS, keeps_index(engine));
            engine->posted.dropped += (NULL == queue->index);
        }
        --engine->num_posted;
        ++engine->posted.removed;
        return LLAMATCH_OK;
    }
    return LLAMATCH_NOT_FOUND;
}

void llamatch_engine_arrive_rest(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                                 llamatch_pos_t pos)
{
    know_peer(engine, peer);
    if (1 == peer->unexpected.count) {
        if (NULL != peer->ring_next) {
            ring_remove(engine, peer);
        }
        ring_insert(engine, peer);
    }
    appended(engine, &peer->unexpected, &engine->unexpected_shape, &engine->unexpected, tag, pos);
}

/* Search the messages of one peer. */
static inline bool search_peer(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                               llamatch_hold_t *hold, uint64_t *examined)
{
    llamatch_queue_t *queue = &peer->unexpected;
    const llamatch_shape_t *shape = &engine->unexpected_shape;
    uint64_t here = 0;

    if (LLAMATCH_UNLIKELY(NULL != queue->index) && LLAMATCH_ANY_TAG != tag) {
        hold->pos = llamatch_index_find(&engine->indexing, queue, shape, tag, &here);
    } else {
        hold->pos = llamatch_queue_find(queue, shape, llamatch_key_of_receive(tag), &here);
        if (LLAMATCH_ANY_TAG != tag) { /* which an index does not help */
            count_effort(engine, queue, shape, &engine->unexpected, here);
        }
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

void *llamatch_engine_search_rest(llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                                  llamatch_hold_t *hold)
{
    uint64_t examined = 0;

    hold->item = NULL;
    if (NULL != peer) {
        (void) search_peer(engine, peer, tag, hold, &examined);
    } else {
        examined = search_ring(engine, tag, hold);
    }
    ++engine->unexpected.other_searches; /* until it is taken */
    count_depth(&engine->unexpected, examined);
    return hold->item;
}

void llamatch_engine_take_rest(llamatch_engine_t *engine, const llamatch_hold_t *hold)
{
    llamatch_peer_t *peer = hold->peer;

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

/* Visit one queue; its index, if any, is made anew. */
static size_t walk_queue(llamatch_engine_t *engine, llamatch_queue_t *queue,
                         const llamatch_shape_t *shape, llamatch_counts_t *counts,
                         llamatch_visit_fn_t visit, void *context)
{
    bool indexed = (NULL != queue->index);
    size_t removed;

    if (indexed) {
        llamatch_index_drop(&engine->indexing, queue, shape);
    }
    removed = llamatch_queue_walk(queue, shape, visit, context);
    counts->removed += removed;
    if (indexed && LLAMATCH_OK != llamatch_index_build(&engine->indexing, queue, shape)) {
        ++counts->dropped;
    }
    return removed;
}

size_t llamatch_engine_walk_unexpected(llamatch_engine_t *engine, llamatch_visit_fn_t visit,
                                       void *context)
{
    size_t removed = 0;

    for (llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        removed += walk_queue(engine, &peer->unexpected, &engine->unexpected_shape,
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
        removed += walk_queue(engine, &peer->posted, &engine->posted_shape, &engine->posted, visit,
                              context);
    }
    removed +=
        walk_queue(engine, &engine->wild, &engine->posted_shape, &engine->posted, visit, context);
    engine->num_posted -= (uint32_t) removed;
    return removed;
}

static void tell_stats(const llamatch_counts_t *counts, uint64_t entries, uint64_t length,
                       llamatch_stats_t *stats)
{
    stats->length = length;
    stats->length_max = counts->length_max;
    stats->matches = entries - length - counts->removed;
    stats->searches = stats->matches + counts->other_searches;
    stats->indexed = counts->indexed;
    stats->dropped = counts->dropped;
    stats->depth_sum = counts->depth_sum;
    stats->depth_max = counts->depth_max;
    memcpy(stats->depths, counts->depths, sizeof(stats->depths));
    for (uint32_t depth = 2; depth <= LLAMATCH_SHALLOW; ++depth) {
        stats->depths[31 - __builtin_clz(depth)] += counts->shallow[depth];
        stats->depth_sum += depth * counts->shallow[depth];
        if (0 < counts->shallow[depth] && depth > stats->depth_max) {
            stats->depth_max = depth;
        }
    }
    /* All other searches had depth 1. */
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
    tell_stats(&engine->posted, engine->next_post, engine->num_posted, posted);
    tell_stats(&engine->unexpected, engine->next_arrival, engine->num_unexpected, unexpected);
}

size_t llamatch_engine_num_indexed(const llamatch_engine_t *engine)
{
    size_t indexed = (NULL != engine->wild.index);

    for (const llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
        indexed += (NULL != peer->posted.index) + (NULL != peer->unexpected.index);
    }
    return indexed;
}

static int verify_queue(const llamatch_engine_t *engine, const llamatch_queue_t *queue,
                        const llamatch_shape_t *shape, uint64_t limit)
{
    int broken = llamatch_queue_verify(queue, shape);

    if (0 == broken && NULL != queue->index) {
        broken = llamatch_index_verify(&engine->indexing, queue, shape);
    }
    for (const llamatch_node_t *node = queue->tail; 0 == broken && NULL != node && 0 != node->end;
         node = NULL) {
        /* Sorted queues: only the last number has to be compared with the counter. */
        broken = (llamatch_node_slots(shape, node)[node->end - 1].seq < limit) ? 0 : 105;
    }
    return broken;
}

int llamatch_engine_verify(const llamatch_engine_t *engine)
{
    size_t posted = engine->wild.count, unexpected = 0, in_ring = 0, expected_in_ring = 0;
    int broken = verify_queue(engine, &engine->wild, &engine->posted_shape, engine->next_post);

    for (const llamatch_peer_t *peer = engine->peers; 0 == broken && NULL != peer;
         peer = peer->next) {
        broken = verify_queue(engine, &peer->posted, &engine->posted_shape, engine->next_post);
        if (0 == broken) {
            broken = verify_queue(engine, &peer->unexpected, &engine->unexpected_shape,
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
    if (engine->num_posted > engine->posted.length_max
        || engine->num_unexpected > engine->unexpected.length_max) {
        return 104;
    }
    if (posted != engine->num_posted) {
        return 101;
    }
    return (unexpected == engine->num_unexpected) ? 0 : 102;
}
