/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* What the tests of the engine and of its short queues share: items, an engine with its peers, and
 * what is done with them. */
#ifndef LLAMATCH_TEST_ENGINE_H
#define LLAMATCH_TEST_ENGINE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_engine.h"
#include "llamatch_simd.h"
#include "llamatch_test_alloc.h"
#include "llamatch_verify.h"

#include <stdio.h>
#include <string.h>

/* Source of a receive for any. */
#define ANY (-1)

/* Receives and messages. The engine tells where each receive is. */
typedef struct {
    uint64_t place;
} thing_t;

static thing_t things[1 << 20];
static size_t num_moved; /* entries that went to another array */

#define ITEM(i) ((void *) &things[i])

static inline void thing_moved(void *item, uint64_t place)
{
    ((thing_t *) item)->place = place;
    ++num_moved;
}

static inline int item_of(const void *thing)
{
    return (int) ((const thing_t *) thing - things);
}

#define NUM_PEERS 64

typedef struct {
    test_alloc_t alloc;
    llamatch_allocator_t allocator;
    llamatch_pool_t *pool;
    llamatch_setup_t setup;
    llamatch_engine_t engine;
    llamatch_peer_t peers[NUM_PEERS];
} fixture_t;

static inline void begin(fixture_t *f, uint32_t entries, llamatch_kind_t kind, uint32_t index_above)
{
    llamatch_config_t config = llamatch_config_default;

    f->allocator = test_alloc_make(&f->alloc);
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(&f->allocator, &f->pool));
    config.pool = f->pool;
    config.entries = entries;
    config.kind = kind;
    config.moved = thing_moved;
    config.index_above = index_above;
    assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&f->setup, &config));
    llamatch_engine_init(&f->engine, &f->setup);
    for (int s = 0; s < NUM_PEERS; ++s) {
        llamatch_peer_init(&f->peers[s]);
    }
}

static inline void end(fixture_t *f)
{
    size_t moved;

    assert_int_equal(0, llamatch_engine_verify(&f->engine));
    moved = num_moved;
    llamatch_engine_fini(&f->engine);
    assert_int_equal(moved, num_moved); /* the items may be gone before the engine */
    assert_int_equal(0, llamatch_pool_used_bytes(f->pool));
    assert_int_equal(0, llamatch_pool_verify(f->pool));
    llamatch_pool_destroy(f->pool);
    assert_int_equal(0, f->alloc.in_use);
    assert_false(f->alloc.wrong_sizes);
}

static inline llamatch_peer_t *peer_of(fixture_t *f, int32_t source)
{
    return (ANY == source) ? NULL : &f->peers[source];
}

static inline void post(fixture_t *f, int32_t source, int32_t tag, int item)
{
    assert_int_equal(LLAMATCH_OK, llamatch_engine_post(&f->engine, peer_of(f, source), tag,
                                                       ITEM(item), &things[item].place));
}

static inline void *match(fixture_t *f, int32_t source, int32_t tag)
{
    return llamatch_engine_match(&f->engine, peer_of(f, source), tag);
}

static inline int cancel(fixture_t *f, int32_t source, int item)
{
    return llamatch_engine_cancel(&f->engine, peer_of(f, source), ITEM(item), things[item].place);
}

static inline void arrive(fixture_t *f, int32_t source, int32_t tag, int item)
{
    assert_int_equal(LLAMATCH_OK,
                     llamatch_engine_arrive(&f->engine, peer_of(f, source), tag, ITEM(item)));
}

static inline void *probe(fixture_t *f, int32_t source, int32_t tag)
{
    return llamatch_engine_probe(&f->engine, peer_of(f, source), tag).item;
}

static inline void *receive(fixture_t *f, int32_t source, int32_t tag)
{
    llamatch_message_t message = llamatch_engine_receive(&f->engine, peer_of(f, source), tag);

    assert_true(NULL == message.item || ANY == source || peer_of(f, source) == message.peer);
    return message.item;
}

static inline bool user_tags(void *context, int32_t tag, void *item)
{
    (void) item;
    ++*(int *) context;
    return 0 <= tag;
}

/* One receive for any source and one for source 2; those numbered wild_at and specific_at are for
 * tag 1, all others for tags of their own. */
static inline void post_both(fixture_t *f, int i, int wild_at, int specific_at)
{
    post(f, ANY, i == wild_at ? 1 : 1000 + i, 100 + i);
    post(f, 2, i == specific_at ? 1 : 2000 + i, 200 + i);
}

/* The two for tag 1 are matched in the order in which they were posted, and no other is. */
static inline void match_both(fixture_t *f, int wild_at, int specific_at)
{
    void *wild = ITEM(100 + wild_at), *specific = ITEM(200 + specific_at);
    bool wild_first = wild_at <= specific_at;

    assert_ptr_equal(wild_first ? wild : specific, match(f, 2, 1));
    assert_ptr_equal(wild_first ? specific : wild, match(f, 2, 1));
    assert_null(match(f, 2, 1));
}

/* What holds for each kind. */
#define EACH_KIND(kind) \
    for (llamatch_kind_t kind = LLAMATCH_AUTO; kind < LLAMATCH_NUM_KINDS; ++kind)

#endif /* LLAMATCH_TEST_ENGINE_H */
