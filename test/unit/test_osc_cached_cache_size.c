/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_cache: sizes that change: in steps, by the owner, by the load; records and their
 * bound.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_test_cache.h"

static void test_gradual(void **state)
{
    const uint32_t slots = 4096, number = slots - slots / 8;
    fixture_t f;

    (void) state;
    prepare(&f, slots, 4 << 20);
    f.config.gradual = true;
    f.config.max_entry = 0;
    f.config.scheme = OSC_CACHED_SCHEME_DUEL;
    open_cache(&f);
    assert_true(f.counts.bytes <= 24 << 10);
    assert_int_equal(1 << 20, f.c.max_bytes);
    for (uint32_t i = 0; i < number; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), i, 1000));
        assert_int_equal(slots, osc_cached_cache_slots(&f.c));
        assert_int_equal(4 << 20, osc_cached_cache_memory(&f.c));
        if (0 == i % 500) {
            verify(&f);
        }
    }
    for (uint32_t i = 0; i < number; ++i) {
        assert_non_null(find(&f, key_at(0, i)));
    }
    assert_int_equal(0, f.c.evictions);
    assert_int_equal(0, f.c.resizes);
    assert_int_equal(slots, osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(4 << 20, osc_cached_storage_capacity(&f.c.storage));
    end(&f);
}

/* ... or as far as the budget allows: then these are its sizes. */
static void test_gradual_without_budget(void **state)
{
    fixture_t f;

    (void) state;
    prepare(&f, 4096, 4 << 20);
    f.config.gradual = true;
    f.config.max_entry = 0;
    f.budget.limit = 300 << 10;
    open_cache(&f);
    for (uint32_t i = 0; i < 2000; ++i) {
        (void) keep(&f, key_at(0, i), i, 1000);
    }
    assert_true(0 < f.c.evictions && 0 < f.c.resizes);
    assert_int_equal(osc_cached_index_num_slots(&f.c.index), osc_cached_cache_slots(&f.c));
    assert_in_range(osc_cached_cache_slots(&f.c), 64, 2048);
    for (uint32_t i = 0; i < 64; ++i) { /* there is no room for these */
        (void) keep(&f, key_at(1, i), 1, BYTES_MAX);
    }
    assert_int_equal(osc_cached_storage_capacity(&f.c.storage), osc_cached_cache_memory(&f.c));
    assert_in_range(osc_cached_cache_memory(&f.c), 64 << 10, 300 << 10);
    assert_true(f.c.max_bytes <= osc_cached_cache_memory(&f.c) / 4);
    end(&f);
}

/* One that is growing is told to have what it has: what lies behind a hole stays as it is. */
static void test_present_size(void **state)
{
    unsigned char rest[1000];
    fixture_t f;

    (void) state;
    prepare(&f, 4096, 4 << 20);
    f.config.gradual = true;
    f.config.max_entry = 0;
    f.config.scheme = OSC_CACHED_SCHEME_DUEL;
    open_cache(&f);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 1), 1, 1000));
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 20000), 1, 4000));
    fetch(key_at(0, 1), 1, 1000, rest, 1000);
    assert_true(extend(&f, key_at(0, 1), 1000, 2000, rest)); /* it moves to the end */
    complete(&f, 0);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(
                                        &f.c, osc_cached_storage_capacity(&f.c.storage)));
    verify(&f);
    expect_hit(&f, key_at(0, 20000), 1, 4000);
    expect_hit(&f, key_at(0, 1), 1, 2000);
    end(&f);
}

static void test_resizes_keep_entries(void **state)
{
    static const struct {
        uint32_t slots;
        uint64_t memory;
    } sizes[] = {{1024, 256 * 1024}, {320, 80 * 1024},     {8192, 1024 * 1024}, {336, 64 * 1024},
                 {4096, 64 * 1024},  {320, 1024 * 1024},   {1000, 65000},       {5000, 70000},
                 {320, 64 * 1024},   {20000, 2048 * 1024}, {320, 60 * 1024}};
    fixture_t f;

    (void) state;
    begin(&f, 1024, 256 * 1024);
    for (uint64_t i = 0; i < 600; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 1 + i % 100));
    }
    /* those with low numbers leave: holes, in the array and in the storage */
    for (uint64_t i = 0; i < 600; ++i) {
        if (i < 300 || 0 == i % 3) {
            osc_cached_entry_t *entry;

            /* as an old one of the whole cache, so that the hand takes it */
            entry = find(&f, key_at(0, i));
            assert_non_null(entry);
            entry->generation = (uint32_t) f.c.generation - 1;
        }
    }
    f.c.sweep_left = f.c.storage.num_fresh;
    while (0 < f.c.sweep_left) {
        assert_int_equal(OSC_CACHED_FAILING, insert(&f, key_at(1, 0), NULL, 0, NULL));
    }
    assert_int_equal(200, f.c.index.count);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
        uint64_t resizes = f.c.resizes;
        bool other = sizes[k].slots != osc_cached_index_num_slots(&f.c.index);

        assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, sizes[k].slots));
        verify(&f);
        assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, sizes[k].memory));
        verify(&f);
        assert_int_equal((sizes[k].slots + 15) / 16 * 16, osc_cached_index_num_slots(&f.c.index));
        assert_int_equal(sizes[k].memory / 16 * 16, osc_cached_storage_capacity(&f.c.storage));
        assert_true(resizes + other <= f.c.resizes);
        assert_int_equal(200, f.c.index.count);
        assert_int_equal(0, f.c.evictions);
        for (uint64_t i = 300; i < 600; ++i) {
            if (0 != i % 3) {
                assert_int_equal(1 + i % 100, find(&f, key_at(0, i))->bytes);
                expect_hit(&f, key_at(0, i), 1, 1 + i % 100);
            }
        }
    }
    /* entries that do not fit leave, and no more than that */
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 112));
    assert_true(100 <= f.c.index.count && f.c.index.count <= 112);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, 4096));
    assert_true(3000 < osc_cached_storage_used_bytes(&f.c.storage));
    assert_int_equal(200 - f.c.index.count, f.c.evictions);
    end(&f);
}

static void test_growing_a_full_index(void **state)
{
    fixture_t f;
    uint32_t count;

    (void) state;
    begin(&f, 1600, 1024 * 1024);
    for (uint64_t i = 0; i < 1600; ++i) {
        (void) keep(&f, key_at(0, i), 1, 64);
    }
    count = f.c.index.count;
    assert_true(1560 < count);
    f.c.evictions = 0;
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 1648));
    assert_int_equal(count, f.c.index.count);
    assert_int_equal(0, f.c.evictions);
    /* and back, to the last place but a few */
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 3200));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 1648));
    assert_int_equal(count, f.c.index.count);
    assert_int_equal(0, f.c.evictions);
    end(&f);
}

static void test_resizes_with_records(void **state)
{
    fixture_t f;
    static unsigned char space[400][2][100];
    size_t have;

    (void) state;
    begin(&f, 512, 128 * 1024);
    for (uint64_t i = 0; i < 400; ++i) {
        osc_cached_key_t key = key_at((int32_t) i % TARGETS, i);

        assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, space[i][0], 100, NULL));
        if (0 == i % 2) {
            assert_int_equal(OSC_CACHED_JOIN, get(&f, key, space[i][1], 100, &have));
        }
    }
    /* pinned entries do not leave, nor change their numbers */
    assert_int_equal(OSC_CACHED_FULL, osc_cached_cache_resize_index(&f.c, 128));
    verify(&f);
    assert_int_equal(OSC_CACHED_FULL, osc_cached_cache_resize_storage(&f.c, 16 * 1024));
    verify(&f);
    assert_int_equal(512, osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(128 * 1024, osc_cached_storage_capacity(&f.c.storage));
    assert_int_equal(400, f.c.index.count);
    /* what can be done is done */
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 4096));
    verify(&f);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, 1024 * 1024));
    verify(&f);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 464));
    verify(&f);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, 100 * 1024));
    verify(&f);
    for (uint64_t i = 0; i < 400; ++i) {
        fetch(key_at((int32_t) i % TARGETS, i), i, 0, space[i][0], 100);
    }
    for (int32_t target = 0; target < TARGETS; ++target) {
        complete(&f, target);
    }
    for (uint64_t i = 0; i < 400; ++i) {
        osc_cached_key_t key = key_at((int32_t) i % TARGETS, i);

        if (0 == i % 2) {
            check(key, i, space[i][1], 100);
        }
        expect_hit(&f, key, i, 100);
    }
    end(&f);

    /* a pinned entry with a high number keeps the index from shrinking, at no loss */
    begin(&f, 256, 128 * 1024);
    for (uint64_t i = 0; i < 200; ++i) {
        (void) insert(&f, key_at(0, i), space[i][0], 100, NULL);
    }
    fetch(key_at(0, 0), 1, 0, space[0][0], 100);
    osc_cached_cache_complete(&f.c, &f.targets[0], 100);
    assert_int_equal(OSC_CACHED_FULL, osc_cached_cache_resize_index(&f.c, 160));
    assert_int_equal(256, osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(200, f.c.index.count);
    verify(&f);
    complete(&f, 0);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 160));
    assert_int_equal(160, osc_cached_index_num_slots(&f.c.index));
    end(&f);
}

static void test_many_records(void **state)
{
    enum { ENTRIES = 1000, WAITING = 99000 };
    fixture_t f;
    unsigned char(*fills)[64] = malloc(ENTRIES * sizeof(*fills)), *waits = calloc(WAITING, 8);
    size_t have;

    (void) state;
    assert_true(NULL != fills && NULL != waits);
    prepare(&f, 4096, 1024 * 1024);
    f.budget.limit = 64 << 20;
    open_cache(&f);
    for (uint64_t i = 0; i < ENTRIES; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT,
                         insert(&f, key_at((int32_t) i % 2, i), fills[i], 64, NULL));
    }
    for (uint64_t i = 0; i < WAITING; ++i) {
        uint64_t k = i * 7 % ENTRIES;

        assert_int_equal(OSC_CACHED_JOIN,
                         get(&f, key_at((int32_t) k % 2, k), waits + 8 * i, 8, &have));
    }
    assert_int_equal(100000, f.c.num_records);
    verify(&f);
    for (uint64_t i = 0; i < ENTRIES; ++i) {
        fetch(key_at((int32_t) i % 2, i), 3, 0, fills[i], 64);
    }
    osc_cached_cache_complete(&f.c, &f.targets[0], ENTRIES + WAITING / 2);
    verify(&f);
    for (uint64_t i = 0; i < WAITING; ++i) {
        uint64_t k = i * 7 % ENTRIES;

        if (0 == k % 2 && i < WAITING / 2) {
            check(key_at(0, k), 3, waits + 8 * i, 8);
        } else {
            assert_int_equal(0, memcmp(waits + 8 * i, "\0\0\0\0\0\0\0", 8));
        }
    }
    complete(&f, 0);
    complete(&f, 1);
    assert_int_equal(0, f.c.num_records);
    for (uint64_t i = 0; i < WAITING; ++i) {
        uint64_t k = i * 7 % ENTRIES;

        check(key_at((int32_t) k % 2, k), 3, waits + 8 * i, 8);
    }
    end(&f);
    free(fills);
    free(waits);
}

/* Gets on their way take memory from the budget, not more than a part of it, and give it back. */
static void test_records_are_bounded(void **state)
{
    enum { LIMIT = 1 << 20, GETS = 200000 };
    static unsigned char fill[64], waits[GETS];
    osc_cached_key_t key = key_at(0, 0);
    size_t before, first = 0, requests = 0, have;
    uint64_t taken;
    fixture_t f;

    (void) state;
    prepare(&f, 256, 64 * 1024);
    f.budget.limit = LIMIT;
    open_cache(&f);
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, fill, 64, NULL));
    before = f.counts.bytes;
    taken = f.budget.taken;
    complete(&f, 0);
    for (int epoch = 0; epoch < 4; ++epoch) {
        size_t joins = 0;

        osc_cached_cache_invalidate(&f.c);
        memset(waits, 0, sizeof(waits));
        fetch(key, (uint64_t) epoch, 0, fill, 64);
        f.counts.most = 0;
        requests = f.counts.requests;
        assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, fill, 64, NULL));
        for (int i = 0; i < GETS; ++i) {
            osc_cached_access_t access = get(&f, key, waits + i, 1, &have);

            if (OSC_CACHED_JOIN == access) {
                assert_int_equal(i, joins); /* the first ones, then none */
                ++joins;
            } else {
                assert_int_equal(OSC_CACHED_FAILING, access);
            }
        }
        requests = f.counts.requests - requests;
        assert_in_range(joins, 1000, LIMIT / sizeof(osc_cached_record_t) / 4);
        assert_true(f.budget.taken <= LIMIT);
        assert_true(f.counts.most <= LIMIT); /* also while the array grew */
        assert_int_equal(OSC_CACHED_FAILING, insert(&f, key_at(0, 64), fill, 64, NULL));
        verify(&f);
        complete(&f, 0);
        for (size_t i = 0; i < GETS; ++i) {
            assert_int_equal((i < joins) ? *memory_of(key, (uint64_t) epoch) : 0, waits[i]);
        }
        assert_true(f.counts.bytes <= before);
        assert_int_equal(taken, f.budget.taken);
        verify(&f);
        first = (0 == epoch) ? joins : first;
        assert_true(first / 2 < joins);
    }
    /* no growing, from the second time on, until there are more than the last time */
    assert_true(requests < 4);
    /* when others have taken all that is left of the budget: as many as were paid for at first */
    f.c.config.adaptive = false;
    f.budget.taken = LIMIT;
    f.c.reserved += LIMIT - taken;
    osc_cached_cache_invalidate(&f.c);
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, fill, 64, NULL));
    for (int i = 1; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_JOIN, get(&f, key, waits, 1, &have));
    }
    assert_int_equal(OSC_CACHED_FAILING, get(&f, key, waits, 1, &have));
    complete(&f, 0);
    f.budget.taken = taken;
    f.c.reserved -= LIMIT - taken;
    end(&f);
}

/* How many different gets have room, now or later; and how far apart two gets of the same were. */
static void test_has_room(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 1024, 1024 * 128);
    for (uint64_t i = 0; i < 100; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT,
                         keep(&f, key_at(0, i), 1, 100)); /* 128 in the storage */
    }
    expect_hit(&f, key_at(0, 89), 1, 100);
    assert_int_equal(11, f.c.distance);
    expect_hit(&f, key_at(0, 89), 1, 100);
    assert_int_equal(1, f.c.distance);
    assert_true(osc_cached_cache_has_room(&f.c, 1000));
    assert_false(osc_cached_cache_has_room(&f.c, 1100));
    end(&f);
    prepare(&f, 1024, 1024 * 128);
    f.config.adaptive = true;
    open_cache(&f);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 1, 100));
    assert_true(osc_cached_cache_has_room(&f.c, 100000)); /* of 32 MiB */
    assert_false(osc_cached_cache_has_room(&f.c, 250000));
    end(&f);
}

static void test_adaptation(void **state)
{
    fixture_t f;
    uint64_t hits = 0;
    static unsigned char space[256];
    size_t have;

    (void) state;
    prepare(&f, 16, 4096);
    f.config.adaptive = true;
    f.config.max_entry = 0;
    open_cache(&f);
    /* 1000 entries of 200 bytes, again and again: both grow until all are hits */
    for (int round = 0; round < 20; ++round) {
        hits = 0;
        for (uint64_t i = 0; i < 1000; ++i) {
            osc_cached_key_t key = key_at(0, i);

            if (OSC_CACHED_HIT == get(&f, key, space, 200, &have)) {
                check(key, 1, space, 200);
                ++hits;
                continue;
            }
            fetch(key, 1, 0, space, 200);
            (void) insert(&f, key, space, 200, NULL);
            complete(&f, 0);
        }
        verify(&f);
    }
    assert_int_equal(1000, hits);
    assert_true(1000 < osc_cached_index_num_slots(&f.c.index));
    assert_true(200000 < osc_cached_storage_capacity(&f.c.storage));
    assert_true(5 < f.c.resizes);
    /* one of them, for long: the storage shrinks, and loses nothing that it has */
    osc_cached_cache_invalidate(&f.c);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, 0), 1, 200));
    while (0 < f.c.sweep_left) {
        assert_int_equal(OSC_CACHED_FAILING, insert(&f, key_at(1, 1), space, 0, NULL));
    }
    for (int i = 0; i < 3000; ++i) {
        expect_hit(&f, key_at(1, 0), 1, 200);
        osc_cached_cache_look(&f.c);
    }
    assert_true(osc_cached_storage_capacity(&f.c.storage) < 100000);
    end(&f);

    /* within the budget */
    prepare(&f, 16, 4096);
    f.config.adaptive = true;
    f.config.max_entry = 0;
    f.budget.limit = 50000;
    open_cache(&f);
    for (uint64_t i = 0; i < 20000; ++i) {
        osc_cached_key_t key = key_at(0, i % 1000);

        if (OSC_CACHED_MISSING == get(&f, key, space, 200, &have)) {
            (void) insert(&f, key, space, 200, NULL);
            complete(&f, 0);
        }
    }
    assert_true(30000 < f.budget.taken && f.budget.taken <= 50000);
    end(&f);
}

/* An index that is much too small does not wait for the end of the interval. */
static void test_adaptation_begins_early(void **state)
{
    fixture_t f;

    (void) state;
    prepare(&f, 16, 1 << 20);
    f.config.adaptive = true;
    open_cache(&f);
    for (uint64_t i = 0; i < f.config.adapt.interval / 2; ++i) {
        (void) keep(&f, key_at(0, i), 1, 64);
    }
    assert_true(16 < osc_cached_index_num_slots(&f.c.index));
    end(&f);
}

/* Failures that more room would not have prevented. */
static void test_adaptation_is_not_misled(void **state)
{
    fixture_t f;
    static unsigned char space[2000];
    osc_cached_key_t key = key_at(0, 1000000);
    osc_cached_buffer_t buffer = buffer_at(space);
    uint64_t hash;

    (void) state;
    prepare(&f, 16, 8192);
    f.config.adaptive = true;
    f.config.max_entry = 1000;
    open_cache(&f);
    hash = osc_cached_index_hash(&f.c.index, key);
    /* larger than allowed */
    for (uint64_t i = 0; i < 2000; ++i) {
        assert_int_equal(OSC_CACHED_FAILING, keep(&f, key_at(0, i), 1, 1001));
    }
    /* the entry is in use */
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, space, 100, NULL));
    for (uint64_t i = 0; i < 2000; ++i) {
        ++f.c.gets;
        assert_int_equal(OSC_CACHED_FAILING, insert(&f, key, space, 200, NULL));
    }
    /* invalid since it was issued */
    for (uint64_t i = 0; i < 2000; ++i) {
        uint64_t stamp = osc_cached_cache_stamp(&f.c, &f.targets[0]);

        ++f.c.gets;
        osc_cached_cache_invalidate(&f.c);
        assert_int_equal(OSC_CACHED_FAILING,
                         osc_cached_cache_insert(&f.c, &f.targets[0], key, hash, &buffer, 100,
                                                 stamp, ++f.sequence, NULL));
    }
    assert_int_equal(0, f.c.resizes);
    assert_int_equal(16, osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(8192, osc_cached_storage_capacity(&f.c.storage));
    end(&f);
}

/* 3000 gets that nothing completes, of a cache that adapts to them. */
static void begin_in_flight(fixture_t *f, uint32_t entries, uint64_t memory)
{
    static unsigned char space[64];

    prepare(f, entries, memory);
    f->config.adaptive = true;
    open_cache(f);
    for (uint64_t i = 0; i < 3000; ++i) {
        ++f->c.gets;
        (void) insert(f, key_at(0, i), space, sizeof(space), NULL);
    }
    assert_true(2000 <= f->c.num_records);
}

static void test_adaptation_to_gets_in_flight(void **state)
{
    fixture_t f;

    (void) state;
    /* The index is full of entries that cannot leave: it grows; the storage has room for all. */
    begin_in_flight(&f, 16, 4 << 20);
    assert_true(2000 <= osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(4 << 20, osc_cached_storage_capacity(&f.c.storage));
    end(&f);

    /* The storage is: it grows. */
    begin_in_flight(&f, 4096, 8192);
    assert_true(2000 * 64 <= osc_cached_storage_capacity(&f.c.storage));
    assert_int_equal(4096, osc_cached_index_num_slots(&f.c.index));
    end(&f);
}

static void test_adaptation_to_large_gets(void **state)
{
    fixture_t f;
    uint64_t i;

    (void) state;
    /* Larger than a quarter of a storage that may grow: kept. Than all of it: when it has. */
    for (size_t bytes = 2000; bytes <= 8000; bytes += 6000) {
        prepare(&f, 64, 4096);
        f.config.adaptive = true;
        f.config.max_entry = 0;
        open_cache(&f);
        for (i = 0; i < 1000 && NULL == find(&f, key_at(0, 0)); ++i) {
            (void) keep(&f, key_at(0, 0), 1, bytes);
        }
        assert_int_equal(2000 == bytes, 1 == i);
        expect_hit(&f, key_at(0, 0), 1, bytes);
        verify(&f);
        end(&f);
    }
    /* Hits only, and room enough: smaller, but not than it was at first. */
    prepare(&f, 64, 65536);
    f.config.adaptive = true;
    open_cache(&f);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 1, 64));
    for (i = 0; i < 3000; ++i) {
        expect_hit(&f, key_at(0, 0), 1, 64);
        osc_cached_cache_look(&f.c);
    }
    assert_int_equal(65536, osc_cached_storage_capacity(&f.c.storage));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, 1 << 20));
    for (i = 0; i < 3000; ++i) {
        expect_hit(&f, key_at(0, 0), 1, 64);
        osc_cached_cache_look(&f.c);
    }
    assert_int_equal(65536, osc_cached_storage_capacity(&f.c.storage));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradual),
        cmocka_unit_test(test_gradual_without_budget),
        cmocka_unit_test(test_present_size),
        cmocka_unit_test(test_resizes_keep_entries),
        cmocka_unit_test(test_growing_a_full_index),
        cmocka_unit_test(test_resizes_with_records),
        cmocka_unit_test(test_many_records),
        cmocka_unit_test(test_records_are_bounded),
        cmocka_unit_test(test_adaptation),
        cmocka_unit_test(test_adaptation_begins_early),
        cmocka_unit_test(test_adaptation_is_not_misled),
        cmocka_unit_test(test_adaptation_to_gets_in_flight),
        cmocka_unit_test(test_adaptation_to_large_gets),
        cmocka_unit_test(test_has_room),
    };

    return cmocka_run_group_tests_name("osc_cached_cache_size", tests, make_noise, NULL);
}
