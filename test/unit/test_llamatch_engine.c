/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_engine: MPI's matching order (M1), ANY_TAG (M2), probes, cancel, revoke's walk,
 * fairness, memory, failure of the allocator, and 10^6 random operations against a naive model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_engine.h"
#include "llamatch_test_alloc.h"

#include <stdio.h>
#include <string.h>

static int things[1 << 16]; /* items are addresses in here */

#define ITEM(i) ((void *) &things[i])
#define ANY LLAMATCH_ANY_SOURCE

typedef struct {
    test_alloc_t alloc;
    llamatch_allocator_t allocator;
    llamatch_engine_t *engine;
} fixture_t;

static void begin(fixture_t *f, uint32_t entries)
{
    llamatch_config_t config = llamatch_config_default;

    f->allocator = test_alloc_make(&f->alloc);
    config.allocator = &f->allocator;
    config.entries = entries;
    assert_int_equal(LLAMATCH_OK, llamatch_engine_create(&config, &f->engine));
}

static void end(fixture_t *f)
{
    assert_int_equal(0, llamatch_engine_verify(f->engine));
    assert_int_equal(f->alloc.bytes, llamatch_engine_bytes(f->engine));
    llamatch_engine_destroy(f->engine);
    assert_int_equal(0, f->alloc.in_use);
    assert_false(f->alloc.wrong_sizes);
}

static uint64_t post(fixture_t *f, int32_t source, int32_t tag, int item)
{
    uint64_t seq = UINT64_MAX;

    assert_int_equal(LLAMATCH_OK, llamatch_engine_post(f->engine, source, tag, ITEM(item), &seq));
    return seq;
}

static void arrive(fixture_t *f, int32_t source, int32_t tag, int item)
{
    assert_int_equal(LLAMATCH_OK, llamatch_engine_arrive(f->engine, source, tag, ITEM(item)));
}

static void *receive(fixture_t *f, int32_t source, int32_t tag)
{
    llamatch_hold_t hold;
    void *item = llamatch_engine_search(f->engine, source, tag, &hold);

    if (NULL != item) {
        llamatch_engine_take(f->engine, &hold);
    }
    return item;
}

static void test_create(void **state)
{
    llamatch_config_t config = llamatch_config_default;
    llamatch_engine_t *engine = NULL;

    (void) state;
    config.entries = 3;
    assert_int_equal(LLAMATCH_ERR_ARGUMENT, llamatch_engine_create(&config, &engine));
    assert_null(engine);
    config.entries = 4;
    config.peers = 100;
    assert_int_equal(LLAMATCH_OK, llamatch_engine_create(&config, &engine));
    assert_int_equal(0, llamatch_engine_total_posted(engine));
    assert_int_equal(0, llamatch_engine_total_unexpected(engine));
    llamatch_engine_destroy(engine);
    llamatch_engine_destroy(NULL);
}

/* M1: the first posted of all matching receives, wild and specific mixed. */
static void test_post_order(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 2);
    post(&f, 3, 7, 0);
    post(&f, ANY, 7, 1);
    post(&f, 3, LLAMATCH_ANY_TAG, 2);
    post(&f, ANY, LLAMATCH_ANY_TAG, 3);
    post(&f, 4, 7, 4);
    assert_ptr_equal(ITEM(1), llamatch_engine_match(f.engine, 4, 7));
    assert_ptr_equal(ITEM(0), llamatch_engine_match(f.engine, 3, 7));
    assert_ptr_equal(ITEM(3), llamatch_engine_match(f.engine, 4, 7));
    assert_ptr_equal(ITEM(2), llamatch_engine_match(f.engine, 3, 9));
    assert_null(llamatch_engine_match(f.engine, 3, 7));
    assert_null(llamatch_engine_match(f.engine, 9, 7));
    assert_ptr_equal(ITEM(4), llamatch_engine_match(f.engine, 4, 7));
    assert_null(llamatch_engine_match(f.engine, 4, 7));
    assert_int_equal(0, llamatch_engine_total_posted(f.engine));
    end(&f);
}

/* The merge must look at the other queue exactly as far as the candidate. */
static void test_merge_depths(void **state)
{
    (void) state;
    for (int wild_at = 0; wild_at <= 40; wild_at += 5) {
        for (int specific_at = 0; specific_at <= 40; specific_at += 4) {
            fixture_t f;

            begin(&f, 4);
            for (int i = 0; i <= 40; ++i) {
                post(&f, ANY, i == wild_at ? 1 : 1000 + i, 100 + i);
                post(&f, 2, i == specific_at ? 1 : 2000 + i, 200 + i);
            }
            assert_ptr_equal(wild_at <= specific_at ? ITEM(100 + wild_at) : ITEM(200 + specific_at),
                             llamatch_engine_match(f.engine, 2, 1));
            assert_ptr_equal(wild_at <= specific_at ? ITEM(200 + specific_at) : ITEM(100 + wild_at),
                             llamatch_engine_match(f.engine, 2, 1));
            assert_null(llamatch_engine_match(f.engine, 2, 1));
            end(&f);
        }
    }
}

/* M2: ANY_TAG never takes the library's own tags, in both directions. */
static void test_any_tag(void **state)
{
    fixture_t f;
    llamatch_hold_t hold;

    (void) state;
    begin(&f, 4);
    post(&f, 0, LLAMATCH_ANY_TAG, 0);
    post(&f, ANY, LLAMATCH_ANY_TAG, 1);
    assert_null(llamatch_engine_match(f.engine, 0, -16));
    assert_null(llamatch_engine_match(f.engine, 0, INT32_MIN));
    assert_null(llamatch_engine_match(f.engine, 0, LLAMATCH_ANY_TAG));
    post(&f, 0, -16, 2);
    assert_ptr_equal(ITEM(2), llamatch_engine_match(f.engine, 0, -16));
    assert_ptr_equal(ITEM(0), llamatch_engine_match(f.engine, 0, 0));
    assert_ptr_equal(ITEM(1), llamatch_engine_match(f.engine, 0, INT32_MAX));

    arrive(&f, 0, -16, 3);
    assert_int_equal(LLAMATCH_ERR_ARGUMENT,
                     llamatch_engine_arrive(f.engine, 0, LLAMATCH_ANY_TAG, ITEM(9)));
    assert_null(llamatch_engine_search(f.engine, 0, LLAMATCH_ANY_TAG, &hold));
    assert_null(llamatch_engine_search(f.engine, ANY, LLAMATCH_ANY_TAG, &hold));
    arrive(&f, 0, 5, 4);
    assert_ptr_equal(ITEM(4), receive(&f, ANY, LLAMATCH_ANY_TAG));
    assert_ptr_equal(ITEM(3), receive(&f, ANY, -16));
    end(&f);
}

/* M1 for messages; a probe finds again what it found. */
static void test_message_order(void **state)
{
    fixture_t f;
    llamatch_hold_t hold;

    (void) state;
    begin(&f, 2);
    for (int i = 0; i < 12; ++i) {
        arrive(&f, i % 2, i / 4, i);
    }
    for (int again = 0; again < 3; ++again) {
        assert_ptr_equal(ITEM(5), llamatch_engine_search(f.engine, 1, 1, &hold));
        assert_int_equal(1, hold.source);
        assert_int_equal(1, hold.tag);
    }
    llamatch_engine_take(f.engine, &hold);
    assert_ptr_equal(ITEM(7), receive(&f, 1, 1));
    assert_null(receive(&f, 1, 1));
    assert_ptr_equal(ITEM(1), receive(&f, 1, LLAMATCH_ANY_TAG));
    assert_ptr_equal(ITEM(3), receive(&f, 1, LLAMATCH_ANY_TAG));
    assert_ptr_equal(ITEM(9), receive(&f, 1, LLAMATCH_ANY_TAG));
    assert_null(receive(&f, 7, LLAMATCH_ANY_TAG));
    assert_int_equal(6, llamatch_engine_num_unexpected(f.engine, 0));
    assert_int_equal(1, llamatch_engine_num_unexpected(f.engine, 1));
    assert_int_equal(0, llamatch_engine_num_unexpected(f.engine, 1000));
    assert_int_equal(7, llamatch_engine_total_unexpected(f.engine));
    end(&f);
}

/* Between two messages of one peer, an any-source receiver serves every other peer. */
static void test_any_source_is_fair(void **state)
{
    fixture_t f;
    int last[5] = {-1, -1, -1, -1, -1};

    (void) state;
    begin(&f, 4);
    for (int i = 0; i < 50; ++i) {
        arrive(&f, i / 10, 1, i);
    }
    for (int n = 0; n < 50; ++n) {
        int item = (int) ((int *) receive(&f, ANY, 1) - things);
        int source = item / 10;

        assert_true(item % 10 == n / 5); /* each peer's own order */
        assert_true(-1 == last[source] || n - last[source] == 5);
        last[source] = n;
    }
    assert_null(receive(&f, ANY, 1));
    end(&f);
}

static void test_cancel(void **state)
{
    fixture_t f;
    uint64_t seq[30];

    (void) state;
    begin(&f, 4);
    for (int i = 0; i < 30; ++i) {
        seq[i] = post(&f, (i % 3 == 0) ? ANY : i % 3, 1, i);
    }
    assert_int_equal(LLAMATCH_OK, llamatch_engine_cancel(f.engine, 1, seq[4]));
    assert_int_equal(LLAMATCH_NOT_FOUND, llamatch_engine_cancel(f.engine, 1, seq[4]));
    assert_int_equal(LLAMATCH_NOT_FOUND, llamatch_engine_cancel(f.engine, 2, seq[7]));
    assert_int_equal(LLAMATCH_NOT_FOUND, llamatch_engine_cancel(f.engine, 77, seq[7]));
    assert_int_equal(LLAMATCH_OK, llamatch_engine_cancel(f.engine, ANY, seq[0]));
    assert_int_equal(9, llamatch_engine_num_posted(f.engine, ANY));
    assert_int_equal(9, llamatch_engine_num_posted(f.engine, 1));
    assert_int_equal(10, llamatch_engine_num_posted(f.engine, 2));
    assert_int_equal(28, llamatch_engine_total_posted(f.engine));
    assert_ptr_equal(ITEM(1), llamatch_engine_match(f.engine, 1, 1));
    assert_ptr_equal(ITEM(3), llamatch_engine_match(f.engine, 1, 1));
    assert_ptr_equal(ITEM(6), llamatch_engine_match(f.engine, 1, 1));
    assert_ptr_equal(ITEM(7), llamatch_engine_match(f.engine, 1, 1));
    end(&f);
}

static bool user_tags(void *context, int32_t tag, void *item)
{
    (void) item;
    ++*(int *) context;
    return 0 <= tag;
}

/* What a revoke does: user messages go, the library's stay. */
static void test_walk(void **state)
{
    fixture_t f;
    int visited = 0;

    (void) state;
    begin(&f, 4);
    for (int i = 0; i < 40; ++i) {
        arrive(&f, i % 4, (i < 36 || i % 4) ? i : -i, i);
        post(&f, i % 5 - 1, i % 2 ? i : -i - 2, i);
    }
    assert_int_equal(39, llamatch_engine_walk_unexpected(f.engine, user_tags, &visited));
    assert_int_equal(40, visited);
    assert_int_equal(1, llamatch_engine_total_unexpected(f.engine));
    assert_int_equal(0, llamatch_engine_verify(f.engine));
    assert_ptr_equal(ITEM(36), receive(&f, ANY, -36));
    visited = 0;
    assert_int_equal(20, llamatch_engine_walk_posted(f.engine, user_tags, &visited));
    assert_int_equal(40, visited);
    assert_int_equal(20, llamatch_engine_total_posted(f.engine));
    end(&f);
}

/* A big communicator costs a pointer per rank; idle peers cost no arrays. */
static void test_memory(void **state)
{
    fixture_t f;
    size_t before;

    (void) state;
    begin(&f, 16);
    post(&f, 99999, 1, 0);
    assert_true(llamatch_engine_bytes(f.engine) < 131072 * sizeof(void *) + 2048);
    assert_ptr_equal(ITEM(0), llamatch_engine_match(f.engine, 99999, 1));
    before = llamatch_engine_bytes(f.engine);
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 1000; ++i) {
            arrive(&f, i % 3, i, i);
        }
        for (int i = 999; i >= 0; --i) {
            assert_ptr_equal(ITEM(i), receive(&f, i % 3, i));
        }
    }
    assert_true(llamatch_engine_bytes(f.engine) <= before + 8 * 384 + 3 * (128 + 384));
    /* 2000 idle peers do not keep 2000 arrays. */
    before = llamatch_engine_bytes(f.engine);
    for (int i = 0; i < 2000; ++i) {
        arrive(&f, i, 1, i);
    }
    for (int i = 0; i < 2000; ++i) {
        assert_ptr_equal(ITEM(i), receive(&f, i, 1));
    }
    assert_true(llamatch_engine_bytes(f.engine) <= before + 2000 * 128 + 257 * 384 + 8 * 384);
    assert_null(receive(&f, INT32_MAX, 1)); /* searching makes no state */
    assert_null(llamatch_engine_match(f.engine, INT32_MAX, 1));
    assert_int_equal(LLAMATCH_ERR_ARGUMENT, llamatch_engine_post(f.engine, -2, 1, ITEM(1), NULL));
    assert_int_equal(LLAMATCH_ERR_ARGUMENT, llamatch_engine_arrive(f.engine, ANY, 1, ITEM(1)));
    end(&f);
}

/* The Nth allocation fails, for every N: an error is returned, nothing is lost or leaked. */
static void test_no_memory(void **state)
{
    bool failed = true;

    (void) state;
    for (size_t n = 1; failed; ++n) {
        fixture_t f;
        llamatch_config_t config = llamatch_config_default;
        size_t posted = 0, arrived = 0;

        failed = false;
        f.allocator = test_alloc_make(&f.alloc);
        f.alloc.fail_at = n;
        config.allocator = &f.allocator;
        config.entries = 2;
        config.max_spare = 1;
        config.peers = 4;
        if (LLAMATCH_OK != llamatch_engine_create(&config, &f.engine)) {
            failed = true;
            assert_int_equal(0, f.alloc.in_use);
            continue;
        }
        for (int i = 0; i < 30; ++i) {
            int status = llamatch_engine_post(f.engine, i * 7 % 40 - 1, i, ITEM(i), NULL);

            if (LLAMATCH_OK != status) {
                assert_int_equal(LLAMATCH_ERR_NO_MEMORY, status);
                failed = true;
            }
            posted += (LLAMATCH_OK == status);
            status = llamatch_engine_arrive(f.engine, i * 5 % 40, i, ITEM(i));
            if (LLAMATCH_OK != status) {
                assert_int_equal(LLAMATCH_ERR_NO_MEMORY, status);
                failed = true;
            }
            arrived += (LLAMATCH_OK == status);
            assert_int_equal(posted, llamatch_engine_total_posted(f.engine));
            assert_int_equal(arrived, llamatch_engine_total_unexpected(f.engine));
            assert_int_equal(0, llamatch_engine_verify(f.engine));
        }
        end(&f);
    }
}

/* ---- the naive model: two flat lists in order ---- */

#define MODEL_MAX 4000

typedef struct {
    int32_t source, tag;
    uint64_t seq;
    int item;
} entry_t;

typedef struct {
    entry_t entries[MODEL_MAX];
    size_t count;
} list_t;

static bool matches(const entry_t *receive_entry, int32_t source, int32_t tag)
{
    return (ANY == receive_entry->source || source == receive_entry->source)
           && ((LLAMATCH_ANY_TAG == receive_entry->tag) ? 0 <= tag : tag == receive_entry->tag);
}

static void list_add(list_t *list, int32_t source, int32_t tag, uint64_t seq, int item)
{
    entry_t entry = {source, tag, seq, item};

    list->entries[list->count++] = entry;
}

static void list_remove(list_t *list, size_t i)
{
    memmove(&list->entries[i], &list->entries[i + 1], (--list->count - i) * sizeof(entry_t));
}

static int32_t random_tag(uint64_t *seed)
{
    int32_t tag = (int32_t) test_random(seed, 12) - 3;

    return (-1 == tag) ? 20 : tag; /* -3, -2: the library's */
}

typedef struct {
    fixture_t f;
    list_t posted, unexpected;
    uint64_t seed;
    uint32_t sources;
    int next_item;
} model_t;

static void step_message(model_t *m)
{
    int32_t source = (int32_t) test_random(&m->seed, m->sources), tag = random_tag(&m->seed);
    int item = m->next_item++ & 0xffff;
    void *got = llamatch_engine_match(m->f.engine, source, tag);
    size_t i = 0;

    while (i < m->posted.count && !matches(&m->posted.entries[i], source, tag)) {
        ++i;
    }
    if (i < m->posted.count) {
        assert_ptr_equal(ITEM(m->posted.entries[i].item), got);
        list_remove(&m->posted, i);
        return;
    }
    assert_null(got);
    if (m->unexpected.count < MODEL_MAX) {
        assert_int_equal(LLAMATCH_OK, llamatch_engine_arrive(m->f.engine, source, tag, ITEM(item)));
        list_add(&m->unexpected, source, tag, 0, item);
    }
}

/* Index in the model of what an engine's search found; checks that it is a legal choice. */
static size_t check_found(model_t *m, const entry_t *want, const llamatch_hold_t *hold)
{
    size_t first = 0, i;

    while (
        first < m->unexpected.count
        && !matches(want, m->unexpected.entries[first].source, m->unexpected.entries[first].tag)) {
        ++first;
    }
    if (first == m->unexpected.count) {
        assert_null(hold->item);
        return first;
    }
    assert_non_null(hold->item);
    for (i = first; m->unexpected.entries[i].source != hold->source
                    || !matches(want, hold->source, m->unexpected.entries[i].tag);
         ++i) {
        assert_true(i + 1 < m->unexpected.count);
    }
    /* i: the first that this source sent and that matches */
    assert_ptr_equal(ITEM(m->unexpected.entries[i].item), hold->item);
    assert_int_equal(m->unexpected.entries[i].tag, hold->tag);
    return i;
}

static void step_receive(model_t *m, bool probe_only)
{
    entry_t want = {0, 0, 0, m->next_item++ & 0xffff};
    llamatch_hold_t hold;
    size_t i;

    want.source = test_random(&m->seed, 4) ? (int32_t) test_random(&m->seed, m->sources) : ANY;
    want.tag = test_random(&m->seed, 5) ? random_tag(&m->seed) : LLAMATCH_ANY_TAG;
    assert_ptr_equal(llamatch_engine_search(m->f.engine, want.source, want.tag, &hold), hold.item);
    i = check_found(m, &want, &hold);
    if (i < m->unexpected.count) {
        if (!probe_only) {
            llamatch_engine_take(m->f.engine, &hold);
            list_remove(&m->unexpected, i);
        }
    } else if (!probe_only && m->posted.count < MODEL_MAX) {
        assert_int_equal(LLAMATCH_OK, llamatch_engine_post(m->f.engine, want.source, want.tag,
                                                           ITEM(want.item), &want.seq));
        list_add(&m->posted, want.source, want.tag, want.seq, want.item);
    }
}

static void step_cancel(model_t *m)
{
    if (0 < m->posted.count) {
        size_t i = test_random(&m->seed, (uint32_t) m->posted.count);

        assert_int_equal(LLAMATCH_OK,
                         llamatch_engine_cancel(m->f.engine, m->posted.entries[i].source,
                                                m->posted.entries[i].seq));
        list_remove(&m->posted, i);
    }
}

static bool tag_is(void *context, int32_t tag, void *item)
{
    (void) item;
    return tag == *(int32_t *) context;
}

static void step_walk(model_t *m)
{
    int32_t tag = random_tag(&m->seed);
    bool posted = test_random(&m->seed, 2);
    list_t *list = posted ? &m->posted : &m->unexpected;
    size_t removed = posted ? llamatch_engine_walk_posted(m->f.engine, tag_is, &tag)
                            : llamatch_engine_walk_unexpected(m->f.engine, tag_is, &tag);
    size_t kept = 0, count = list->count;

    for (size_t i = 0; i < count; ++i) {
        if (tag != list->entries[i].tag) {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->count = kept;
    assert_int_equal(count - kept, removed);
}

static void check_counts(model_t *m)
{
    size_t posted[64] = {0}, unexpected[64] = {0};

    for (size_t i = 0; i < m->posted.count; ++i) {
        ++posted[m->posted.entries[i].source + 1];
    }
    for (size_t i = 0; i < m->unexpected.count; ++i) {
        ++unexpected[m->unexpected.entries[i].source + 1];
    }
    for (int32_t s = -1; s < (int32_t) m->sources; ++s) {
        assert_int_equal(posted[s + 1], llamatch_engine_num_posted(m->f.engine, s));
        assert_int_equal(unexpected[s + 1], llamatch_engine_num_unexpected(m->f.engine, s));
    }
    assert_int_equal(0, llamatch_engine_verify(m->f.engine));
}

static void run_model(uint64_t seed, uint32_t entries, uint32_t sources, int operations)
{
    static model_t m;

    memset(&m, 0, sizeof(m));
    m.seed = seed;
    m.sources = sources;
    begin(&m.f, entries);
    for (int step = 0; step < operations; ++step) {
        uint32_t what = test_random(&m.seed, 1000);
        /* Phases: messages lead, receives lead, balanced. */
        uint32_t messages = (uint32_t[]){650, 250, 450}[(step / 2000) % 3];

        if (what < messages) {
            step_message(&m);
        } else if (what < 900) {
            step_receive(&m, false);
        } else if (what < 960) {
            step_receive(&m, true);
        } else if (what < 998) {
            step_cancel(&m);
        } else {
            step_walk(&m);
        }
        assert_int_equal(m.posted.count, llamatch_engine_total_posted(m.f.engine));
        assert_int_equal(m.unexpected.count, llamatch_engine_total_unexpected(m.f.engine));
        if (0 == step % 997) {
            check_counts(&m);
        }
    }
    check_counts(&m);
    end(&m.f);
}

static void test_model(void **state)
{
    uint64_t seed = test_seed(20260202);

    (void) state;
    printf("seed: LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    run_model(seed, 2, 3, 250000);
    run_model(seed + 1, 4, 20, 250000);
    run_model(seed + 2, 16, 1, 250000);
    run_model(seed + 3, 512, 50, 250000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),        cmocka_unit_test(test_post_order),
        cmocka_unit_test(test_merge_depths),  cmocka_unit_test(test_any_tag),
        cmocka_unit_test(test_message_order), cmocka_unit_test(test_any_source_is_fair),
        cmocka_unit_test(test_cancel),        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("llamatch_engine", tests, NULL, NULL);
}
