/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_cache: every way a get can be served, records that wait, types, and the invariants.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_block.h"
#include "osc_cached_test_cache.h"

static void test_arguments(void **state)
{
    fixture_t f;
    osc_cached_config_t good;

    (void) state;
    prepare(&f, 64, 4096);
    good = f.config;
#define REFUSED(field, value)                                                 \
    do {                                                                      \
        f.config = good;                                                      \
        f.config.field = (value);                                             \
        assert_int_equal(OSC_CACHED_BAD_ARGUMENT,                             \
                         osc_cached_cache_create(&f.c, &f.config, &f.alloc)); \
    } while (0)
    REFUSED(entries, 0);
    REFUSED(entries, OSC_CACHED_INDEX_SLOTS_MAX + 1);
    REFUSED(memory, OSC_CACHED_STORAGE_UNIT - 1);
    REFUSED(memory, OSC_CACHED_STORAGE_MAX_CAPACITY + 1);
    REFUSED(sample, 0);
    REFUSED(adapt.interval, 0);
    REFUSED(adapt.memory_decrease, 1.5);
#undef REFUSED
    f.config = good;
    open_cache(&f);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&f.c)); /* again: nothing happens */
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_cache_resize_index(&f.c, 0));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_cache_resize_index(&f.c, OSC_CACHED_INDEX_SLOTS_MAX + 1));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_cache_resize_storage(&f.c, 15));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_cache_resize_storage(&f.c, OSC_CACHED_STORAGE_MAX_CAPACITY + 64));
    assert_int_equal(0, f.c.resizes);
    end(&f);
    /* the default allocator, no budget, and sizes that change before there is anything */
    memset(&good.budget, 0, sizeof(good.budget));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&f.c, &good, NULL));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 100));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, 10000));
    assert_int_equal(0, osc_cached_cache_footprint(&f.c));
    osc_cached_cache_look(&f.c);
    assert_int_equal(0, osc_cached_cache_verify(&f.c, f.targets, TARGETS));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&f.c));
    assert_int_equal(112, osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(10000, osc_cached_storage_capacity(&f.c.storage));
    osc_cached_cache_destroy(&f.c);
    /* never opened */
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&f.c, &good, NULL));
    osc_cached_cache_destroy(&f.c);
}

static void test_direct_and_hit(void **state)
{
    fixture_t f;
    osc_cached_key_t key = key_at(1, 100), other;
    unsigned char space[300];
    size_t have = 77;
    uint32_t record = 77;

    (void) state;
    begin(&f, 64, 64 * 1024);
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key, space, 200, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, space, 200, &record));
    assert_int_equal(0, record);
    verify(&f);
    fetch(key, 5, 0, space, 200); /* the bytes come after the insertion */
    osc_cached_cache_complete(&f.c, &f.targets[1], f.sequence - 1);
    assert_int_equal(OSC_CACHED_ENTRY_PENDING, find(&f, key)->state); /* not this one yet */
    osc_cached_cache_complete(&f.c, &f.targets[0], f.sequence);
    assert_int_equal(OSC_CACHED_ENTRY_PENDING, find(&f, key)->state); /* nor of this target */
    complete(&f, 1);
    assert_int_equal(OSC_CACHED_ENTRY_CACHED, find(&f, key)->state);
    memset(space, 0, sizeof(space)); /* the user's buffer is his again */
    verify(&f);
    expect_hit(&f, key, 5, 200);
    expect_hit(&f, key, 5, 1);
    expect_hit(&f, key, 5, 199);
    assert_int_equal(77, have);
    /* another target, address or layout is another key */
    expect_missing(&f, key_at(0, 100), 1);
    expect_missing(&f, key_at(1, 101), 1);
    other = key;
    other.layout = 1;
    expect_missing(&f, other, 1);
    assert_true(osc_cached_cache_match(f.c.storage.entries, 1, key));
    assert_false(osc_cached_cache_match(f.c.storage.entries, 1, key_at(0, 100)));
    assert_false(osc_cached_cache_match(f.c.storage.entries, 1, key_at(1, 101)));
    assert_false(
        osc_cached_cache_match(f.c.storage.entries, 1, other)); /* of the same hash, that is */
    /* completed before: nothing happens */
    osc_cached_cache_complete_one(&f.c, &f.targets[1], record, 2);
    osc_cached_cache_complete_one(&f.c, &f.targets[1], 1000000, 2);
    complete(&f, 1);
    assert_int_equal(0, f.c.num_records);
    assert_int_equal(4, f.c.interval.misses); /* of 7 */
    assert_int_equal(1, f.c.interval.access[OSC_CACHED_DIRECT]);
    assert_int_equal(7, f.c.gets);
    end(&f);
}

/* Gets of the same address from several targets do not forget each other's entries. */
static void test_memo(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 64, 4096);
    for (int32_t t = 0; t < TARGETS; ++t) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(t, 4096), 1, 64));
        assert_ptr_equal(find(&f, key_at(t, 4096)),
                         osc_cached_cache_find_again(&f.c, &f.targets[t], key_at(t, 4096), 64));
        assert_null(osc_cached_cache_find_again(&f.c, &f.targets[t], key_at(t, 4096), 65));
    }
    for (int32_t t = 0; t < TARGETS; ++t) {
        assert_ptr_equal(find(&f, key_at(t, 4096)), *osc_cached_cache_memo(&f.c, key_at(t, 4096)));
    }
    end(&f);
}

/* A gradual cache begins with little and grows up to its sizes before anything leaves. */
/* What a look-up knows to be absent, an insertion does not look for; after one it is looked for. */
static void test_absent(void **state)
{
    fixture_t f;
    osc_cached_key_t key = key_at(0, 8), other = key_at(1, 8);
    unsigned char space[4][64];
    size_t have;

    (void) state;
    begin(&f, 64, 4096);
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key, space[0], 64, &have));
    assert_true(osc_cached_cache_is_absent(&f.c, key));
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key, space[1], 64, &have)); /* another thread */
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, space[0], 64, NULL));
    assert_false(osc_cached_cache_is_absent(&f.c, key));
    verify(&f);
    assert_int_equal(OSC_CACHED_FAILING, insert(&f, key, space[1], 64, NULL));
    verify(&f);
    /* of two that are missing one is known to be */
    assert_int_equal(OSC_CACHED_MISSING, get(&f, other, space[2], 64, &have));
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key_at(0, 9), space[3], 64, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, other, space[2], 64, NULL));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(0, 9), space[3], 64, NULL));
    verify(&f);
    assert_int_equal(3, f.c.index.count);
    /* the same bytes again, as long as nothing came in between */
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key_at(0, 10), space[0], 64, &have));
    assert_null(osc_cached_cache_find_again(&f.c, &f.targets[0], key_at(0, 11), 64));
    assert_true(osc_cached_cache_is_absent(&f.c, key_at(0, 11)));
    f.c.absent.target = -1;
    complete(&f, 0);
    complete(&f, 1);
    end(&f);
}

/* Which block a get lies in. */
static void test_block_of(void **state)
{
    static const struct {
        uint32_t size;
        uint64_t reach, address;
        size_t bytes;
        uint32_t is, skip;
    } cases[] = {
        {256, 1000, 0, 1, 256, 0},
        {256, 1000, 255, 1, 256, 255},
        {256, 1000, 256, 255, 256, 0},
        {256, 1000, 256, 256, 0, 0}, /* not smaller */
        {256, 1000, 250, 6, 256, 250},
        {256, 1000, 250, 7, 0, 250}, /* in two */
        {256, 1000, 992, 8, 232, 224},
        {256, 1000, 993, 8, 0, 225}, /* beyond the end */
        {1024, 1000, 8, 8, 1000, 8},
        {256, 1000, 1024, 8, 0, 0},
        {256, 0, 0, 8, 0, 0},
        {256, UINT64_MAX, UINT64_MAX - 8, 8, 255, 247},
        {512, 1 << 20, 1300, 8, 512, 276},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        osc_cached_block_t block =
            osc_cached_block_of(cases[i].size, cases[i].reach, cases[i].address, cases[i].bytes);

        assert_int_equal(cases[i].is, block.bytes);
        assert_int_equal(cases[i].skip, block.skip);
        assert_int_equal(cases[i].address - cases[i].skip, block.begin);
    }
    for (uint64_t bytes = 0; bytes < 4096; ++bytes) {
        assert_int_equal(
            0 == bytes || 256 == bytes || 512 == bytes || 1024 == bytes,
            osc_cached_block_allowed(bytes, OSC_CACHED_BLOCK_MIN, OSC_CACHED_BLOCK_MAX));
    }
}

static bool insert_block(fixture_t *f, osc_cached_key_t key, void *address, size_t bytes,
                         uint32_t skip, osc_cached_buffer_t *to, size_t wanted, uint32_t *record)
{
    osc_cached_target_t *target = &f->targets[key.target];
    osc_cached_buffer_t buffer = buffer_at(address);

    if (!osc_cached_cache_insert_block(&f->c, key, osc_cached_index_hash(&f->c.index, key), &buffer,
                                       bytes, skip, to, wanted, record)) {
        return false;
    }
    f->sequence += 2;
    (void) osc_cached_cache_block_issued(&f->c, target, *record,
                                         osc_cached_cache_stamp(&f->c, target), f->sequence - 1);
    return true;
}

static bool park_block(fixture_t *f, osc_cached_key_t key, void *address, size_t bytes,
                       osc_cached_buffer_t *to, uint32_t *record)
{
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_insert_block(&f->c, key, osc_cached_index_hash(&f->c.index, key),
                                         &buffer, bytes, 16, to, 8, record);
}

static osc_cached_access_t get_inside(fixture_t *f, osc_cached_key_t key, uint32_t skip,
                                      void *address, size_t bytes)
{
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_get_inside(&f->c, &f->targets[key.target], find(f, key), skip, &buffer,
                                       bytes, true, ++f->sequence);
}

/* A get fetches a block; others inside wait for it, and are hits later. */
static void test_block(void **state)
{
    unsigned char block[256], first[8], second[32], third[256];
    osc_cached_buffer_t to = buffer_at(first);
    osc_cached_key_t key = key_at(0, 512);
    uint32_t record;
    fixture_t f;

    (void) state;
    for (int scheme = 0; scheme < 4; ++scheme) {
        prepare(&f, 64, 4096);
        f.config.scheme = (osc_cached_scheme_t) scheme;
        open_cache(&f);
        assert_true(insert_block(&f, key, block, 256, 16, &to, 8, &record));
        verify(&f);
        assert_int_equal(OSC_CACHED_JOIN, get_inside(&f, key, 224, second, 32));
        assert_int_equal(OSC_CACHED_MISSING, get_inside(&f, key, 225, second, 32));
        verify(&f);
        fetch(key, 1, 0, block, 256);
        complete(&f, 0);
        verify(&f);
        assert_memory_equal(block + 16, first, 8);
        assert_memory_equal(block + 224, second, 32);
        memset(block, 0, sizeof(block));
        assert_int_equal(OSC_CACHED_HIT, get_inside(&f, key, 100, second, 32));
        assert_memory_equal(memory_of(key, 1) + 100, second, 32);
        assert_int_equal(OSC_CACHED_MISSING, get_inside(&f, key, 225, second, 32));
        expect_hit(&f, key, 1, 256);
        /* again after an invalidation */
        osc_cached_cache_invalidate_target(&f.targets[0]);
        assert_null(find(&f, key));
        assert_true(insert_block(&f, key, third, 256, 0, &to, 8, &record));
        fetch(key, 2, 0, third, 256);
        complete(&f, 0);
        expect_hit(&f, key, 2, 256);
        end(&f);
    }
}

/* A block takes no place that another entry has, and nothing is left of one that is not fetched. */
static void test_block_without_room(void **state)
{
    unsigned char block[1024], first[8];
    osc_cached_buffer_t to = buffer_at(first);
    uint64_t used;
    uint32_t record;
    fixture_t f;

    (void) state;
    begin(&f, 64, 4096);
    assert_true(park_block(&f, key_at(1, 0), block, 256, &to, &record));
    osc_cached_cache_abandon(&f.c, record);
    verify(&f);
    assert_null(find(&f, key_at(1, 0)));
    assert_int_equal(0, f.c.num_records);
    f.counts.fail_from = f.counts.requests + 1;
    while (insert_block(&f, key_at(2, f.sequence), block, 16, 0, &to, 8, &record)) { /* records */
        verify(&f);
    }
    verify(&f);
    f.counts.fail_from = 0;
    complete(&f, 2);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, 0), 1, 16));
    while (OSC_CACHED_DIRECT == keep(&f, key_at(0, 10 * f.sequence), 1, 200)) {
    }
    used = osc_cached_storage_used_bytes(&f.c.storage);
    assert_non_null(find(&f, key_at(1, 0)));
    assert_false(insert_block(&f, key_at(1, 0), block, 1024, 16, &to, 8, &record));
    assert_int_equal(used, osc_cached_storage_used_bytes(&f.c.storage));
    assert_non_null(find(&f, key_at(1, 0))); /* what begins there, and is shorter, stays */
    end(&f);
    /* no place in the index */
    begin(&f, 16, 4096);
    for (uint32_t i = 0; i < 14; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 16));
    }
    assert_false(insert_block(&f, key_at(1, 0), block, 256, 16, &to, 8, &record));
    end(&f);
}

/* A block that is not issued yet: other threads do not find it, and what they complete is not its
 * get, although that may have been recorded before theirs. */
static void test_block_parked(void **state)
{
    unsigned char block[256], other[256], first[8];
    osc_cached_buffer_t to = buffer_at(first);
    osc_cached_key_t key = key_at(0, 512);
    uint64_t stamp;
    uint32_t record, another;
    fixture_t f;

    (void) state;
    for (int invalidated = 0; invalidated < 2; ++invalidated) {
        begin(&f, 64, 4096);
        memset(first, 0, sizeof(first));
        memset(block, 0xee, sizeof(block));
        stamp = osc_cached_cache_stamp(&f.c, &f.targets[0]);
        assert_true(park_block(&f, key, block, 256, &to, &record));
        verify(&f);
        assert_null(find(&f, key));
        assert_false(park_block(&f, key, other, 256, &to, &another)); /* the same one */
        assert_true(park_block(&f, key_at(0, 1024), other, 256, &to, &another));
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 3072), 1, 32)); /* and completed */
        verify(&f);
        expect_hit(&f, key_at(0, 3072), 1, 32);
        assert_int_equal(4, f.c.num_records);
        assert_int_equal(0, first[0]);
        if (invalidated) {
            osc_cached_cache_invalidate_target(&f.targets[0]);
        }
        f.sequence += 2;
        (void) osc_cached_cache_block_issued(&f.c, &f.targets[0], record, stamp, f.sequence - 1);
        verify(&f);
        assert_int_equal(!invalidated, NULL != find(&f, key));
        osc_cached_cache_abandon(&f.c, another);
        verify(&f);
        fetch(key, 1, 0, block, 256);
        complete(&f, 0);
        verify(&f);
        assert_memory_equal(block + 16, first, 8);
        assert_int_equal(!invalidated, NULL != find(&f, key));
        assert_int_equal(0, f.c.num_records);
        end(&f);
    }
}

static void test_partial_and_extend(void **state)
{
    fixture_t f;
    osc_cached_key_t key = key_at(0, 64), next = key_at(0, 8000), third = key_at(0, 9000);
    unsigned char space[4096], rest[4096];
    uint64_t offset;
    size_t have = 0;

    (void) state;
    begin(&f, 64, 16 * 1024);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 1, 100));
    /* in place: a hole follows */
    assert_int_equal(OSC_CACHED_PARTIAL, get(&f, key, space, 300, &have));
    assert_int_equal(100, have);
    memset(space, 0, sizeof(space));
    {
        osc_cached_buffer_t buffer = buffer_at(space);
        uint64_t hash = osc_cached_index_hash(&f.c.index, key);

        assert_true(osc_cached_cache_copy_first(&f.c, &f.targets[0], key, hash, &buffer, have));
        assert_false(
            osc_cached_cache_copy_first(&f.c, &f.targets[0], key, hash, &buffer, have + 1));
        assert_false(osc_cached_cache_copy_first(
            &f.c, &f.targets[0], next, osc_cached_index_hash(&f.c.index, next), &buffer, have));
    }
    check(key, 1, space, 100);
    offset = find(&f, key)->offset;
    assert_true(extend(&f, key, 100, 300, rest));
    verify(&f);
    assert_int_equal(offset, find(&f, key)->offset);
    /* meanwhile: what is here is a hit, what is not is partial, and not extended twice */
    expect_hit(&f, key, 1, 100);
    assert_int_equal(OSC_CACHED_PARTIAL, get(&f, key, space, 200, &have));
    assert_int_equal(100, have);
    assert_false(extend(&f, key, 100, 200, space));
    fetch(key, 2, 100, rest, 200); /* another version: nobody has invalidated it */
    complete(&f, 0);
    assert_int_equal(OSC_CACHED_HIT, get(&f, key, space, 300, &have));
    check(key, 1, space, 100);
    assert_memory_equal(memory_of(key, 2) + 100, space + 100, 200);
    /* to another place: a neighbour is in the way */
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, next, 1, 100));
    assert_int_equal(offset, find(&f, key)->offset);
    assert_int_equal(OSC_CACHED_PARTIAL, get(&f, key, space, 1000, &have));
    assert_true(extend(&f, key, 300, 1000, rest));
    assert_true(offset != find(&f, key)->offset);
    verify(&f);
    assert_int_equal(OSC_CACHED_HIT, get(&f, key, space, 300, &have));
    check(key, 1, space, 100);
    fetch(key, 2, 300, rest, 700);
    complete(&f, 0);
    assert_int_equal(OSC_CACHED_HIT, get(&f, key, space, 1000, &have));
    check(key, 1, space, 100);
    assert_memory_equal(memory_of(key, 2) + 100, space + 100, 900);
    /* fetched from an earlier byte on */
    assert_int_equal(OSC_CACHED_PARTIAL, get(&f, next, space, 120, &have));
    assert_false(extend(&f, next, 101, 120, rest)); /* there would be a gap */
    assert_false(extend(&f, next, 100, 100, rest)); /* nothing new */
    assert_true(extend(&f, next, 50, 120, rest));
    fetch(next, 3, 50, rest, 70);
    complete(&f, 0);
    assert_int_equal(OSC_CACHED_HIT, get(&f, next, space, 120, &have));
    check(next, 1, space, 50);
    assert_memory_equal(memory_of(next, 3) + 50, space + 50, 70);
    /* refused: no room without an eviction, too large, unknown, of an older stamp */
    assert_int_equal(OSC_CACHED_PARTIAL, get(&f, next, space, 16 * 1024 - 200, &have));
    assert_false(extend(&f, next, 120, 16 * 1024 - 200, rest));
    assert_false(extend(&f, next, 120, 16 * 1024 + 1, rest));
    assert_false(extend(&f, third, 0, 10, rest));
    verify(&f);
    osc_cached_cache_invalidate_target(&f.targets[0]);
    assert_false(extend(&f, next, 120, 130, rest));
    expect_missing(&f, next, 10);
    assert_int_equal(0, f.c.num_records);
    assert_int_equal(0, f.c.evictions);
    end(&f);
}

static void test_partial_of_a_layout(void **state)
{
    fixture_t f;
    osc_cached_key_t key = {64, 0, 3};

    (void) state;
    begin(&f, 64, 16 * 1024);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 1, 100));
    expect_hit(&f, key, 1, 100);
    /* the first bytes of another count of a layout are not known to be these: fetched again */
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 2, 300));
    expect_hit(&f, key, 2, 300);
    assert_int_equal(1, f.c.index.count);
    end(&f);
}

static void test_join(void **state)
{
    fixture_t f;
    osc_cached_key_t key = key_at(2, 0);
    unsigned char a[100], b[100], c[100], d[200];
    size_t have;
    uint32_t record;

    (void) state;
    begin(&f, 64, 4096);
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key, a, 100, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, a, 100, &record)); /* sequence 2 */
    assert_int_equal(OSC_CACHED_JOIN, get(&f, key, b, 100, &have));        /* 3 */
    assert_int_equal(OSC_CACHED_FAILING, get(&f, key, d, 101, &have));     /* 4: too long */
    assert_int_equal(OSC_CACHED_JOIN, get(&f, key, c, 1, &have));          /* 5 */
    assert_int_equal(3, f.c.num_records);
    assert_int_equal(2, f.c.interval.access[OSC_CACHED_JOIN]);
    verify(&f);
    assert_int_equal(OSC_CACHED_FAILING, insert(&f, key, d, 101, NULL)); /* nor by force: 6 */
    memset(b, 0, sizeof(b));
    memset(c, 0, sizeof(c));
    fetch(key, 4, 0, a, 100);
    osc_cached_cache_complete_one(&f.c, &f.targets[2], record, 2);
    assert_int_equal(2, f.c.num_records); /* those that join wait for their own completion */
    assert_int_equal(OSC_CACHED_ENTRY_CACHED, find(&f, key)->state);
    verify(&f);
    memset(a, 0, sizeof(a));
    expect_hit(&f, key, 4, 100); /* 7 */
    assert_int_equal(OSC_CACHED_PARTIAL, get(&f, key, d, 200, &have));
    assert_false(extend(&f, key, 100, 200, d));                          /* pinned */
    assert_int_equal(OSC_CACHED_FAILING, insert(&f, key, d, 200, NULL)); /* the same */
    osc_cached_cache_complete(&f.c, &f.targets[2], 4);
    check(key, 4, b, 100);
    assert_int_equal(0, c[0]);
    complete(&f, 2);
    check(key, 4, c, 1);
    assert_int_equal(0, c[1]);
    /* invalid while on the way: served to those that joined before, and to nobody after */
    osc_cached_cache_invalidate(&f.c);
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key, a, 100, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, a, 100, &record));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, key, b, 50, &have));
    osc_cached_cache_invalidate_target(&f.targets[2]);
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key, c, 50, &have));
    assert_int_equal(OSC_CACHED_FAILING, insert(&f, key, c, 50, NULL)); /* in use */
    verify(&f);
    fetch(key, 6, 0, a, 100);
    complete(&f, 2);
    check(key, 6, b, 50);
    expect_missing(&f, key, 1);
    assert_int_equal(0, f.c.index.count); /* nobody needs it any more */
    end(&f);
}

/* Where nothing is served after it was completed, those that wait are copied from the buffer of the
 * get that is on its way, which takes a unit of the storage whatever its size. */
static void test_joins_only(void **state)
{
    enum { BIG = 3 * BYTES_MAX, GETS = 80 };
    static unsigned char lender[BIG], whole[BIG], part[BIG], strided[2 * BYTES_MAX];
    static unsigned char many[GETS][512], again[GETS][512];
    osc_cached_key_t key = key_at(1, 64), other = key_at(1, 4096);
    test_type_t type = {.order = STRIDED, .bytes = BYTES_MAX};
    osc_cached_buffer_t typed = {.address = strided, .type = &type, .count = 7};
    fixture_t f;
    size_t have;

    (void) state;
    begin(&f, 256, 4096);
    f.c.joins_only = true;
    assert_true(osc_cached_cache_takes(&f.c, BIG));
    assert_int_equal(OSC_CACHED_MISSING, get(&f, key, lender, BIG, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, lender, BIG, NULL));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, key, whole, BIG, &have));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, key, part, 100, &have));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, key, lender, BIG, &have)); /* the same buffer */
    assert_int_equal(OSC_CACHED_FAILING, get(&f, key, part, BIG + 1, &have));
    assert_int_equal(OSC_CACHED_JOIN, osc_cached_cache_get(&f.c, &f.targets[1], key,
                                                           osc_cached_index_hash(&f.c.index, key),
                                                           &typed, BYTES_MAX, ++f.sequence, &have));
    verify(&f);
    assert_in_range(osc_cached_storage_used_bytes(&f.c.storage), 16, 32);
    for (size_t i = 0; i < BIG; ++i) {
        lender[i] = (unsigned char) (i * 7 + i / 256);
    }
    f.c.joins_only = false; /* of what is on its way that stays true */
    osc_cached_cache_invalidate(&f.c);
    complete(&f, 1);
    verify(&f);
    assert_memory_equal(lender, whole, BIG);
    assert_memory_equal(lender, part, 100);
    assert_int_equal(0, part[100]);
    for (size_t i = 0; i < BYTES_MAX; ++i) {
        assert_int_equal(lender[i], strided[2 * i]);
    }
    assert_int_equal(1, type.done);
    assert_int_equal(0, f.c.num_records);
    assert_int_equal(0, f.c.index.count);

    /* a buffer with a type is not lent: it is kept, if it is not too large */
    f.c.joins_only = true;
    type.bytes = 1000;
    typed.from = NULL;
    assert_int_equal(OSC_CACHED_DIRECT,
                     osc_cached_cache_insert(&f.c, &f.targets[1], other,
                                             osc_cached_index_hash(&f.c.index, other), &typed, 1000,
                                             osc_cached_cache_stamp(&f.c, &f.targets[1]),
                                             ++f.sequence, NULL));
    complete(&f, 1);
    assert_int_equal(OSC_CACHED_HIT, get(&f, other, part, 1000, &have));

    /* more bytes on their way than there is storage */
    for (int i = 0; i < GETS; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT,
                         insert(&f, key_at(2, (uint64_t) i * 512), many[i], 512, NULL));
        memset(many[i], i + 1, 512);
    }
    for (int i = 0; i < GETS; ++i) {
        assert_int_equal(OSC_CACHED_JOIN,
                         get(&f, key_at(2, (uint64_t) i * 512), again[i], 512, &have));
    }
    verify(&f);
    complete(&f, 2);
    assert_memory_equal(many, again, sizeof(many));
    end(&f);
}

/* Memory that gets on their way wanted to use becomes another's. */
static void test_disown_and_withdraw(void **state)
{
    unsigned char fill[2][64], wait[3][64];
    test_type_t type = {IN_A_RUN, 64, 0}, from = {IN_A_RUN, 64, 0};
    osc_cached_key_t a = key_at(0, 0), b = key_at(0, 64);
    osc_cached_buffer_t buffer = {wait[2], &type, 7, &from, 3}, back;
    uint32_t record, joined;
    fixture_t f;
    size_t have;

    (void) state;
    begin(&f, 64, 16 * 1024);
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, a, fill[0], 64, &record));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, b, fill[1], 64, NULL));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, a, wait[0], 64, &have));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, b, wait[1], 64, &have));
    joined = f.targets[0].tail - 1;
    assert_int_equal(OSC_CACHED_JOIN, osc_cached_cache_get(&f.c, &f.targets[0], a,
                                                           osc_cached_index_hash(&f.c.index, a),
                                                           &buffer, 64, ++f.sequence, &have));
    /* nobody finds it any more, and it is not made anew while it is on its way */
    osc_cached_cache_disown(&f.c, record);
    expect_missing(&f, a, 64);
    assert_int_equal(OSC_CACHED_FAILING, insert(&f, a, wait[0], 64, NULL));
    verify(&f);
    /* one that waits for another */
    back = osc_cached_cache_withdraw(&f.c, &f.targets[0], joined);
    assert_ptr_equal(wait[1], back.address);
    verify(&f);
    /* those that wait for what was disowned, the last one with types */
    joined = f.targets[0].tail - 1;
    back = osc_cached_cache_withdraw(&f.c, &f.targets[0], joined);
    assert_ptr_equal(wait[2], back.address);
    assert_ptr_equal(&type, back.type);
    assert_ptr_equal(&from, back.from);
    assert_int_equal(3, back.from_count);
    assert_int_equal(0, type.done);
    joined = f.targets[0].tail - 1;
    back = osc_cached_cache_withdraw(&f.c, &f.targets[0], joined);
    assert_ptr_equal(wait[0], back.address);
    verify(&f);
    assert_int_equal(2, f.c.num_records);
    memset(wait, 0x77, sizeof(wait));
    memset(fill[0], 0xaa, 64); /* somebody else's */
    fetch(b, 1, 0, fill[1], 64);
    complete(&f, 0);
    verify(&f);
    assert_int_equal(1, f.c.index.count);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(0x77, wait[i][0]);
    }
    expect_missing(&f, a, 64);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, a, 2, 64));
    expect_hit(&f, a, 2, 64);
    expect_hit(&f, b, 1, 64);
    /* a buffer that only tells how the bytes lie at the target: done, too */
    osc_cached_cache_invalidate(&f.c);
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, a, fill[0], 64, NULL));
    buffer.type = NULL;
    buffer.from = &type;
    assert_int_equal(OSC_CACHED_JOIN, osc_cached_cache_get(&f.c, &f.targets[0], a,
                                                           osc_cached_index_hash(&f.c.index, a),
                                                           &buffer, 64, ++f.sequence, &have));
    complete(&f, 0);
    assert_int_equal(1, type.done);
    end(&f);
}

static void test_types(void **state)
{
    fixture_t f;
    osc_cached_key_t key = key_at(0, 0);
    test_type_t types[6];
    unsigned char space[6][400];
    osc_cached_buffer_t buffers[6];
    uint64_t hash, stamp;
    size_t have;

    (void) state;
    begin(&f, 64, 16 * 1024);
    for (int i = 0; i < 6; ++i) {
        types[i].order = (0 == i % 2) ? REVERSED : STRIDED;
        types[i].bytes = 200;
        types[i].done = 0;
        buffers[i] = buffer_at(space[i]);
        buffers[i].type = &types[i];
        buffers[i].count = 7;
    }
    hash = osc_cached_index_hash(&f.c.index, key);
    stamp = osc_cached_cache_stamp(&f.c, &f.targets[0]);
    /* filled from a reversed buffer; a strided one joins */
    assert_int_equal(OSC_CACHED_DIRECT,
                     osc_cached_cache_insert(&f.c, &f.targets[0], key, hash, &buffers[0], 200,
                                             stamp, ++f.sequence, NULL));
    assert_int_equal(OSC_CACHED_JOIN, osc_cached_cache_get(&f.c, &f.targets[0], key, hash,
                                                           &buffers[1], 200, ++f.sequence, &have));
    /* these have no record, so nobody is done with them */
    assert_int_equal(OSC_CACHED_FAILING,
                     osc_cached_cache_get(&f.c, &f.targets[0], key, hash, &buffers[2], 201,
                                          ++f.sequence, &have));
    assert_int_equal(OSC_CACHED_FAILING,
                     osc_cached_cache_insert(&f.c, &f.targets[0], key, hash, &buffers[2], 200,
                                             stamp, ++f.sequence, NULL));
    for (size_t i = 0; i < 200; ++i) {
        space[0][199 - i] = memory_of(key, 1)[i];
    }
    assert_int_equal(0, types[0].done);
    complete(&f, 0);
    assert_int_equal(1, types[0].done);
    assert_int_equal(1, types[1].done);
    expect_hit(&f, key, 1, 200);
    for (size_t i = 0; i < 200; ++i) {
        assert_int_equal(memory_of(key, 1)[i], space[1][2 * i]);
    }
    /* a hit: no record */
    assert_int_equal(OSC_CACHED_HIT, osc_cached_cache_get(&f.c, &f.targets[0], key, hash,
                                                          &buffers[2], 200, ++f.sequence, &have));
    assert_int_equal(memory_of(key, 1)[0], space[2][199]);
    /* an extension that is refused, and one that is not */
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, 0), 1, 8000));
    assert_false(osc_cached_cache_extend(&f.c, &f.targets[0], key, hash, 200, 9000, &buffers[3],
                                         stamp, ++f.sequence));
    assert_int_equal(0, f.c.num_records);
    types[3].bytes = 100;
    assert_true(osc_cached_cache_extend(&f.c, &f.targets[0], key, hash, 200, 300, &buffers[3],
                                        stamp, ++f.sequence));
    assert_int_equal(0, types[3].done);
    complete(&f, 0);
    assert_int_equal(1, types[3].done);
    /* those on the way at the end */
    key = key_at(0, 640);
    hash = osc_cached_index_hash(&f.c.index, key);
    assert_int_equal(OSC_CACHED_DIRECT,
                     osc_cached_cache_insert(&f.c, &f.targets[0], key, hash, &buffers[4], 200,
                                             stamp, ++f.sequence, NULL));
    assert_int_equal(OSC_CACHED_JOIN, osc_cached_cache_get(&f.c, &f.targets[0], key, hash,
                                                           &buffers[5], 200, ++f.sequence, &have));
    copies = 0;
    end(&f);
    assert_int_equal(0, copies);
    assert_int_equal(0, types[2].done);
    assert_int_equal(1, types[4].done);
    assert_int_equal(1, types[5].done);
    assert_int_equal(1, types[0].done);
}

static void test_verify_sees_damage(void **state)
{
    fixture_t f;
    unsigned char space[3][64];
    osc_cached_entry_t *a;
    osc_cached_record_t *record;
    size_t have;

    (void) state;
    begin(&f, 64, 4096);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 1, 64));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(0, 1), space[0], 64, NULL));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, key_at(0, 1), space[1], 64, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(0, 2), space[2], 64, NULL));
    a = find(&f, key_at(0, 0));
#define BROKEN(number, damage, repair)                                               \
    do {                                                                             \
        damage;                                                                      \
        assert_int_equal(number, osc_cached_cache_verify(&f.c, f.targets, TARGETS)); \
        repair;                                                                      \
        verify(&f);                                                                  \
    } while (0)
    BROKEN(8, f.c.absent = key_at(0, 0), f.c.absent.target = -1);
    BROKEN(1, ++f.c.index.count, --f.c.index.count);
    BROKEN(1, ++f.c.storage.num_used, --f.c.storage.num_used);
    BROKEN(1, a->state = OSC_CACHED_ENTRY_MISSING, a->state = OSC_CACHED_ENTRY_CACHED);
    BROKEN(1, a->bytes += 17, a->bytes -= 17);
    BROKEN(1, a->offset += 4, a->offset -= 4);
    BROKEN(4, ++a->pins, --a->pins);
    BROKEN(4, a->bytes = 0, a->bytes = 64);
    BROKEN(4, find(&f, key_at(0, 1))->bytes = 64, find(&f, key_at(0, 1))->bytes = 0);
    BROKEN(4, ++f.c.num_records, --f.c.num_records);
    record = &f.c.records[f.targets[0].head - 1];
    BROKEN(5, record->sequence += 1000, record->sequence -= 1000);
    BROKEN(5, f.targets[0].tail = f.targets[0].head, f.targets[0].tail = 3);
    BROKEN(6, ++find(&f, key_at(0, 1))->fill, --find(&f, key_at(0, 1))->fill);
    BROKEN(6, record->fills = false, record->fills = true);
    BROKEN(7, f.c.config.scheme = OSC_CACHED_SCHEME_DUEL, f.c.config.scheme = 0);
#undef BROKEN
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_direct_and_hit),
        cmocka_unit_test(test_memo),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_block_of),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_block_without_room),
        cmocka_unit_test(test_block_parked),
        cmocka_unit_test(test_partial_and_extend),
        cmocka_unit_test(test_partial_of_a_layout),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_joins_only),
        cmocka_unit_test(test_disown_and_withdraw),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_verify_sees_damage),
    };

    return cmocka_run_group_tests_name("osc_cached_cache", tests, make_noise, NULL);
}
