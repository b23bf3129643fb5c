/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_cache: every way a get can be served, validity, sizes that change, records, duels,
 * failure of the allocator and of the budget, and a model that knows which version of the targets'
 * memory each get must see.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_block.h"
#include "osc_cached_cache.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGETS = 3, BYTES_MAX = 8192, KEYS_MAX = 4096, OPS_MAX = 300, SEGMENTS_MAX = 8 };

/* An allocator that counts, checks sizes, and fails at the Nth request or from it on. */
typedef struct {
    size_t in_use;    /* blocks */
    size_t bytes;     /* of these */
    size_t most;      /* bytes, so far */
    size_t requests;  /* so far */
    size_t fail_at;   /* 0: never; else the request with this number (from 1) fails */
    size_t fail_from; /* 0: never; else this one and all after it */
    struct {
        void *memory;
        size_t bytes;
    } blocks[16];
} test_alloc_t;

static void *test_alloc_get(void *context, size_t alignment, size_t bytes)
{
    test_alloc_t *alloc = context;
    void *memory = NULL;
    size_t i = 0;

    ++alloc->requests;
    if (alloc->requests == alloc->fail_at
        || (0 != alloc->fail_from && alloc->fail_from <= alloc->requests)) {
        return NULL;
    }
    assert_int_equal(0, posix_memalign(&memory, alignment, bytes));
    while (NULL != alloc->blocks[i].memory) {
        ++i;
        assert_true(i < 16);
    }
    alloc->blocks[i].memory = memory;
    alloc->blocks[i].bytes = bytes;
    ++alloc->in_use;
    alloc->bytes += bytes;
    alloc->most = (alloc->most < alloc->bytes) ? alloc->bytes : alloc->most;
    memset(memory, 0xa5, bytes);
    return memory;
}

static void test_alloc_put(void *context, void *memory, size_t bytes)
{
    test_alloc_t *alloc = context;
    size_t i = 0;

    if (NULL == memory) {
        return;
    }
    while (alloc->blocks[i].memory != memory) {
        ++i;
        assert_true(i < 16);
    }
    assert_int_equal(alloc->blocks[i].bytes, bytes);
    memset(memory, 0x5a, bytes);
    alloc->blocks[i].memory = NULL;
    --alloc->in_use;
    alloc->bytes -= bytes;
    free(memory);
}

/* A budget that counts, and refuses what is too much or the Nth request. */
typedef struct {
    uint64_t limit, taken;
    size_t requests, refuse_at;
} test_budget_t;

static uint64_t budget_available(void *context)
{
    const test_budget_t *budget = context;

    return budget->limit - budget->taken;
}

static bool budget_reserve(void *context, uint64_t bytes)
{
    test_budget_t *budget = context;

    if (++budget->requests == budget->refuse_at || budget->limit - budget->taken < bytes) {
        return false;
    }
    budget->taken += bytes;
    return true;
}

static void budget_give_back(void *context, uint64_t bytes)
{
    test_budget_t *budget = context;

    assert_true(bytes <= budget->taken);
    budget->taken -= bytes;
}

/* Memory of targets: each (target, layout, version) is another slice of random bytes, so that a
 * new version costs nothing and any version can be compared with. */
enum { SLICES = 1 << 18, ADDRESSES = 1 << 16 };

static unsigned char noise[SLICES + ADDRESSES + BYTES_MAX];

static int make_noise(void **state)
{
    uint64_t seed = 4711;

    (void) state;
    for (size_t i = 0; i < sizeof(noise); ++i) {
        noise[i] = (unsigned char) random_below(&seed, 256);
    }
    return 0;
}

static const unsigned char *memory_of(osc_cached_key_t key, uint64_t version)
{
    uint64_t slice = (version * TARGETS + (uint64_t) key.target) * 7 + key.layout;

    return &noise[osc_cached_key_mix(slice + 1) % SLICES + key.address % ADDRESSES];
}

/* Types: where the bytes of a get are in its buffer. */
typedef struct {
    enum { IN_A_RUN, REVERSED, STRIDED } order;
    size_t bytes; /* of the whole buffer */
    int done;     /* calls */
} test_type_t;

static size_t place(const test_type_t *type, size_t i)
{
    switch (type->order) {
    case REVERSED:
        return type->bytes - 1 - i;
    case STRIDED:
        return 2 * i;
    default:
        return i;
    }
}

static size_t span(const test_type_t *type)
{
    return (STRIDED == type->order) ? 2 * type->bytes : type->bytes;
}

static size_t copies;

static void test_copy(const osc_cached_buffer_t *buffer, void *bytes, size_t size, bool to_buffer)
{
    const test_type_t *type = buffer->type;
    unsigned char *user = buffer->address, *packed = bytes;

    ++copies;
    assert_int_equal(7, buffer->count);
    assert_true(size <= type->bytes);
    for (size_t i = 0; i < size; ++i) {
        if (to_buffer) {
            user[place(type, i)] = packed[i];
        } else {
            packed[i] = user[place(type, i)];
        }
    }
}

static void test_done(const osc_cached_buffer_t *buffer)
{
    if (NULL != buffer->type) {
        ++((test_type_t *) buffer->type)->done;
    }
    if (NULL != buffer->from) {
        ++((test_type_t *) buffer->from)->done;
    }
}

typedef struct {
    test_alloc_t counts;
    test_budget_t budget;
    osc_cached_alloc_t alloc;
    osc_cached_config_t config;
    osc_cached_cache_t c;
    osc_cached_target_t targets[TARGETS];
    uint64_t sequence;
} fixture_t;

static void verify(fixture_t *f)
{
    test_alloc_t before = f->counts;

    f->counts.fail_at = f->counts.fail_from = 0; /* it needs memory itself */
    assert_int_equal(0, osc_cached_cache_verify(&f->c, f->targets, TARGETS));
    f->counts.fail_at = before.fail_at;
    f->counts.fail_from = before.fail_from;
    f->counts.requests = before.requests;
    assert_int_equal(f->budget.taken, osc_cached_cache_footprint(&f->c));
    if (f->c.open) {
        /* a slot has its share of the table, 9/8 entries and a ghost; there are always 16 records;
         * the size asked for at the start may have a fraction of a unit more */
        uint64_t slot = 8 + 9 * sizeof(osc_cached_entry_t) / 8 + 8;
        uint64_t records = (f->c.max_records < 16) ? 16 : f->c.max_records;
        uint64_t sizes = osc_cached_index_num_slots(&f->c.index) * slot
                         + records * sizeof(osc_cached_record_t)
                         + osc_cached_storage_capacity(&f->c.storage);

        assert_in_range(f->budget.taken, sizes, sizes + OSC_CACHED_STORAGE_UNIT - 1);
        assert_int_equal(osc_cached_index_num_slots(&f->c.index) * 9 / 8 + 2,
                         f->c.storage.max_entries);
    } else {
        assert_int_equal(0, f->budget.taken);
    }
}

static void prepare(fixture_t *f, uint32_t entries, uint64_t memory)
{
    osc_cached_alloc_t alloc = {test_alloc_get, test_alloc_put, &f->counts};
    osc_cached_budget_t budget = {budget_available, budget_reserve, budget_give_back, &f->budget};

    memset(f, 0, sizeof(*f));
    f->alloc = alloc;
    f->budget.limit = 32 << 20;
    f->config.entries = entries;
    f->config.memory = memory;
    f->config.max_entry = memory;
    f->config.evictions = 8;
    f->config.sample = 16;
    f->config.seed = 1;
    f->config.adapt = osc_cached_adapt_defaults;
    f->config.copy = test_copy;
    f->config.done = test_done;
    f->config.budget = budget;
}

static void open_cache(fixture_t *f)
{
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&f->c, &f->config, &f->alloc));
    assert_int_equal(0, f->counts.in_use);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&f->c));
    verify(f);
}

static void begin(fixture_t *f, uint32_t entries, uint64_t memory)
{
    prepare(f, entries, memory);
    open_cache(f);
}

static void end(fixture_t *f)
{
    verify(f);
    osc_cached_cache_destroy(&f->c);
    assert_int_equal(0, f->counts.in_use);
    assert_int_equal(0, f->budget.taken);
}

static osc_cached_key_t key_at(int32_t target, uint64_t address)
{
    osc_cached_key_t key = {address, target, 0};

    return key;
}

static osc_cached_buffer_t buffer_at(void *address)
{
    osc_cached_buffer_t buffer = {.address = address};

    return buffer;
}

static osc_cached_access_t get(fixture_t *f, osc_cached_key_t key, void *address, size_t bytes,
                               size_t *have)
{
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_get(&f->c, &f->targets[key.target], key,
                                osc_cached_index_hash(&f->c.index, key), &buffer, bytes,
                                ++f->sequence, have);
}

static osc_cached_access_t insert(fixture_t *f, osc_cached_key_t key, void *address, size_t bytes,
                                  uint32_t *record)
{
    osc_cached_target_t *target = &f->targets[key.target];
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_insert(&f->c, target, key, osc_cached_index_hash(&f->c.index, key),
                                   &buffer, bytes, osc_cached_cache_stamp(&f->c, target),
                                   ++f->sequence, record);
}

static bool extend(fixture_t *f, osc_cached_key_t key, size_t from, size_t bytes, void *address)
{
    osc_cached_target_t *target = &f->targets[key.target];
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_extend(&f->c, target, key, osc_cached_index_hash(&f->c.index, key),
                                   from, bytes, &buffer, osc_cached_cache_stamp(&f->c, target),
                                   ++f->sequence);
}

static osc_cached_entry_t *find(fixture_t *f, osc_cached_key_t key)
{
    return osc_cached_cache_find(&f->c, &f->targets[key.target], key,
                                 osc_cached_index_hash(&f->c.index, key));
}

static void complete(fixture_t *f, int32_t target)
{
    osc_cached_cache_complete(&f->c, &f->targets[target], f->sequence);
}

static void fetch(osc_cached_key_t key, uint64_t version, size_t from, void *address, size_t bytes)
{
    memcpy(address, memory_of(key, version) + from, bytes);
}

static void check(osc_cached_key_t key, uint64_t version, const void *address, size_t bytes)
{
    assert_memory_equal(memory_of(key, version), address, bytes);
}

/* A get that is missing, fetched at once and completed. */
static osc_cached_access_t keep(fixture_t *f, osc_cached_key_t key, uint64_t version, size_t bytes)
{
    static unsigned char space[BYTES_MAX];
    osc_cached_access_t access;
    size_t have;

    assert_int_equal(OSC_CACHED_MISSING, get(f, key, space, bytes, &have));
    fetch(key, version, 0, space, bytes);
    access = insert(f, key, space, bytes, NULL);
    complete(f, key.target);
    return access;
}

static void expect_hit(fixture_t *f, osc_cached_key_t key, uint64_t version, size_t bytes)
{
    static unsigned char space[BYTES_MAX];
    size_t have;

    memset(space, 0, bytes);
    assert_int_equal(OSC_CACHED_HIT, get(f, key, space, bytes, &have));
    check(key, version, space, bytes);
}

static void expect_missing(fixture_t *f, osc_cached_key_t key, size_t bytes)
{
    unsigned char space[BYTES_MAX];
    size_t have;

    assert_int_equal(OSC_CACHED_MISSING, get(f, key, space, bytes, &have));
}

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
        assert_int_equal(0 == bytes || 256 == bytes || 512 == bytes || 1024 == bytes,
                         osc_cached_block_allowed(bytes));
    }
}

static bool insert_block(fixture_t *f, osc_cached_key_t key, void *address, size_t bytes,
                         uint32_t skip, osc_cached_buffer_t *to, size_t wanted, uint32_t *record)
{
    osc_cached_target_t *target = &f->targets[key.target];
    osc_cached_buffer_t buffer = buffer_at(address);

    f->sequence += 2;
    return osc_cached_cache_insert_block(
        &f->c, target, key, osc_cached_index_hash(&f->c.index, key), &buffer, bytes, skip, to,
        wanted, osc_cached_cache_stamp(&f->c, target), f->sequence - 1, record);
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
    assert_true(insert_block(&f, key_at(1, 0), block, 256, 16, &to, 8, &record));
    osc_cached_cache_abandon(&f.c, &f.targets[1], record);
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
    while (OSC_CACHED_DIRECT == keep(&f, key_at(0, 10 * f.sequence), 1, 200)) {
    }
    used = osc_cached_storage_used_bytes(&f.c.storage);
    assert_false(insert_block(&f, key_at(1, 0), block, 1024, 16, &to, 8, &record));
    assert_int_equal(used, osc_cached_storage_used_bytes(&f.c.storage));
    end(&f);
    /* no place in the index */
    begin(&f, 16, 4096);
    for (uint32_t i = 0; i < 14; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 16));
    }
    assert_false(insert_block(&f, key_at(1, 0), block, 256, 16, &to, 8, &record));
    end(&f);
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
    enum { BIG = 3 * BYTES_MAX, GETS = 100 };
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

static void test_conflicting(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 16, 64 * 1024);
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i * 64), 1, 64));
    }
    for (uint64_t i = 16; i < 48; ++i) {
        assert_int_equal(OSC_CACHED_CONFLICTING, keep(&f, key_at(0, i * 64), 1, 64));
        assert_int_equal(16, f.c.index.count);
        expect_hit(&f, key_at(0, i * 64), 1, 64);
        verify(&f);
    }
    assert_int_equal(32, f.c.evictions);
    end(&f);
}

static void test_capacity(void **state)
{
    fixture_t f;
    uint64_t evictions;
    uint32_t evicting = 0;

    (void) state;
    begin(&f, 256, 16 * 1024);
    for (uint64_t i = 0; i < 12; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i * 64), 1, 1024));
    }
    for (uint64_t i = 12; i < 100; ++i) {
        osc_cached_access_t access;

        evictions = f.c.evictions;
        access = keep(&f, key_at(0, i * 64), 1, 1024);
        if (f.c.evictions > evictions) {
            assert_int_equal(OSC_CACHED_CAPACITY, access);
            ++evicting;
        } else {
            assert_int_equal(OSC_CACHED_DIRECT, access);
        }
        expect_hit(&f, key_at(0, i * 64), 1, 1024);
        verify(&f);
    }
    assert_true(80 < evicting);
    end(&f);

    /* at most so many leave */
    prepare(&f, 256, 8 * 1024);
    f.config.evictions = 3;
    open_cache(&f);
    for (uint64_t i = 0; i < 60; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i * 64), 1, 64));
    }
    assert_int_equal(OSC_CACHED_FAILING, keep(&f, key_at(1, 0), 1, 8000));
    assert_int_equal(3, f.c.evictions);
    assert_int_equal(57, f.c.index.count);
    assert_null(find(&f, key_at(1, 0)));
    end(&f);

    /* none */
    prepare(&f, 256, 4096);
    f.config.evictions = 0;
    open_cache(&f);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 1, 3000));
    assert_int_equal(OSC_CACHED_FAILING, keep(&f, key_at(0, 1), 1, 3000));
    expect_hit(&f, key_at(0, 0), 1, 3000);
    end(&f);
}

static void test_failing(void **state)
{
    fixture_t f;
    unsigned char space[BYTES_MAX];
    osc_cached_target_t *target = &f.targets[0];
    osc_cached_key_t key = key_at(0, 0);
    osc_cached_buffer_t buffer = buffer_at(space);
    uint64_t stamp, hash;
    uint32_t failing;

    (void) state;
    /* larger than allowed: by default a quarter of the storage */
    prepare(&f, 16, 16 * 1024);
    f.config.max_entry = 0;
    open_cache(&f);
    assert_int_equal(OSC_CACHED_FAILING, keep(&f, key, 1, 4097));
    assert_int_equal(OSC_CACHED_FAILING, insert(&f, key, space, 0, NULL));
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 1, 4096));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, 32 * 1024));
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 1), 1, 4097));
    /* invalid since the get was issued */
    key = key_at(0, 2);
    hash = osc_cached_index_hash(&f.c.index, key);
    stamp = osc_cached_cache_stamp(&f.c, target);
    osc_cached_cache_invalidate_target(target);
    assert_int_equal(OSC_CACHED_FAILING, osc_cached_cache_insert(&f.c, target, key, hash, &buffer,
                                                                 64, stamp, ++f.sequence, NULL));
    stamp = osc_cached_cache_stamp(&f.c, target);
    osc_cached_cache_invalidate(&f.c);
    assert_int_equal(OSC_CACHED_FAILING, osc_cached_cache_insert(&f.c, target, key, hash, &buffer,
                                                                 64, stamp, ++f.sequence, NULL));
    assert_null(find(&f, key));
    end(&f);

    /* an index full of pending entries, with as many failures as it takes to use up entries */
    begin(&f, 16, 64 * 1024);
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(1, i), space, 64, NULL));
    }
    failing = 0;
    for (uint64_t i = 16; i < 64; ++i) {
        failing += OSC_CACHED_FAILING == insert(&f, key_at(1, i), space, 64, NULL);
        verify(&f);
    }
    assert_int_equal(48, failing);
    assert_int_equal(0, f.c.evictions);
    complete(&f, 1);
    assert_int_equal(OSC_CACHED_CONFLICTING, insert(&f, key_at(1, 64), space, 64, NULL));
    end(&f);

    /* a storage full of pending entries */
    begin(&f, 64, 4096);
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(1, 0), space, 2500, NULL));
    assert_int_equal(OSC_CACHED_FAILING, insert(&f, key_at(1, 1), space, 2500, NULL));
    verify(&f);
    complete(&f, 1);
    assert_int_equal(OSC_CACHED_CAPACITY, insert(&f, key_at(1, 1), space, 2500, NULL));
    end(&f);
}

/* What a failed insertion leaves behind must not look pinned. */
static void test_shrink_after_failures(void **state)
{
    fixture_t f;
    unsigned char space[64];

    (void) state;
    begin(&f, 64, 64 * 128);
    for (uint64_t i = 0; i < 64; ++i) {
        (void) insert(&f, key_at(0, i), space, 64, NULL);
    }
    for (uint64_t i = 64; i < 80; ++i) {
        assert_int_equal(OSC_CACHED_FAILING, insert(&f, key_at(0, i), space, 64, NULL));
    }
    complete(&f, 0);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 16));
    assert_true(15 <= f.c.index.count);
    end(&f);
}

static void test_dead_entry_is_reused(void **state)
{
    fixture_t f;
    osc_cached_key_t key = key_at(0, 640);
    uint64_t offset;

    (void) state;
    begin(&f, 64, 16 * 1024);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 1, 1000));
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, 0), 1, 1000));
    offset = find(&f, key)->offset;
    osc_cached_cache_invalidate_target(&f.targets[0]);
    expect_hit(&f, key_at(1, 0), 1, 1000); /* another target */
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 2, 1000));
    assert_int_equal(offset, find(&f, key)->offset);
    assert_int_equal(offset, find(&f, key)->offset);
    expect_hit(&f, key, 2, 1000);
    /* shorter, down to one half: the same region; and the entry is not longer than the get was */
    osc_cached_cache_invalidate_target(&f.targets[0]);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 3, 500));
    assert_int_equal(offset, find(&f, key)->offset);
    assert_int_equal(500, find(&f, key)->bytes);
    {
        unsigned char space[1000];
        size_t have;

        assert_int_equal(OSC_CACHED_PARTIAL, get(&f, key, space, 501, &have));
        assert_int_equal(500, have);
        assert_true(extend(&f, key, 500, 1000, space)); /* the region is large enough */
        assert_int_equal(offset, find(&f, key)->offset);
        fetch(key, 3, 500, space, 500);
        complete(&f, 0);
        expect_hit(&f, key, 3, 1000);
    }
    /* much shorter: another one, and the rest is free; longer: another one */
    osc_cached_cache_invalidate_target(&f.targets[0]);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 4, 100));
    assert_true(osc_cached_storage_used_bytes(&f.c.storage) < 2 * 1000);
    osc_cached_cache_invalidate(&f.c);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key, 5, 3000));
    expect_hit(&f, key, 5, 3000);
    expect_missing(&f, key_at(1, 0), 1);
    assert_int_equal(0, f.c.evictions);
    end(&f);
}

static void test_dead_entries_leave(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 256, 256 * 1024);
    osc_cached_cache_invalidate_target(&f.targets[0]);
    for (uint64_t i = 0; i < 200; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
    }
    osc_cached_cache_invalidate(&f.c);
    /* 4 with each insertion */
    for (uint64_t i = 0; i < 50; ++i) {
        assert_int_equal(200 - 3 * i + (0 < i), f.c.index.count); /* the first is a hole */
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, i), 1, 100));
        verify(&f);
    }
    assert_int_equal(51, f.c.index.count);
    assert_int_equal(1, f.c.sweep_left);
    for (uint64_t i = 0; i < 50; ++i) {
        expect_hit(&f, key_at(1, i), 1, 100);
    }
    assert_int_equal(0, f.c.evictions);
    end(&f);

    /* and first, when there is no room: the living stay */
    prepare(&f, 16, 64 * 1024);
    f.config.sample = 1000;
    f.config.scheme = OSC_CACHED_SCHEME_POSITIONAL; /* which does not see who is older */
    open_cache(&f);
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
    }
    osc_cached_cache_invalidate(&f.c);
    f.c.sweep_left = 0;
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_CONFLICTING, keep(&f, key_at(1, i), 1, 100));
    }
    for (uint64_t i = 0; i < 16; ++i) {
        expect_hit(&f, key_at(1, i), 1, 100);
    }
    end(&f);
}

/* The same after any number of own writes to their target. */
static void test_dead_entries_leave_after_own_writes(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 256, 256 * 1024);
    for (int i = 0; i < 100000; ++i) {
        osc_cached_cache_invalidate_target(&f.targets[0]);
    }
    for (uint64_t i = 0; i < 200; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
    }
    osc_cached_cache_invalidate(&f.c);
    for (uint64_t i = 0; i < 50; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, i), 1, 100));
        verify(&f);
    }
    assert_int_equal(51, f.c.index.count);
    end(&f);

    prepare(&f, 16, 64 * 1024);
    f.config.sample = 1000;
    f.config.scheme = OSC_CACHED_SCHEME_POSITIONAL;
    open_cache(&f);
    f.targets[0].generation = UINT64_C(1) << 40;
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
    }
    osc_cached_cache_invalidate(&f.c);
    f.c.sweep_left = 0;
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_CONFLICTING, keep(&f, key_at(1, i), 1, 100));
    }
    for (uint64_t i = 0; i < 16; ++i) {
        expect_hit(&f, key_at(1, i), 1, 100);
    }
    end(&f);
}

static void test_invalidation_is_a_number(void **state)
{
    fixture_t f;
    osc_cached_entry_t *before;
    size_t bytes;

    (void) state;
    begin(&f, 4096, 1024 * 1024);
    for (uint64_t i = 0; i < 3000; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at((int32_t) i % 2, i), 1, 64));
    }
    bytes = f.c.storage.num_fresh * sizeof(*before);
    before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, f.c.storage.entries, bytes);
    osc_cached_cache_invalidate_target(&f.targets[0]);
    assert_memory_equal(before, f.c.storage.entries, bytes);
    assert_int_equal(3000, f.c.index.count);
    for (uint64_t i = 0; i < 3000; ++i) {
        assert_int_equal(0 == i % 2, NULL == find(&f, key_at((int32_t) i % 2, i)));
    }
    osc_cached_cache_invalidate(&f.c);
    assert_memory_equal(before, f.c.storage.entries, bytes);
    assert_int_equal(3000, f.c.index.count);
    for (uint64_t i = 0; i < 3000; ++i) {
        assert_null(find(&f, key_at((int32_t) i % 2, i)));
    }
    free(before);
    end(&f);
}

static void test_generations(void **state)
{
    fixture_t f;
    osc_cached_key_t a = key_at(0, 0), b = key_at(1, 0);

    (void) state;
    begin(&f, 64, 16 * 1024);
    for (uint64_t version = 0; version < 3000; ++version) {
        bool all = 0 == version % 7;

        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, a, version, 64));
        expect_hit(&f, a, version, 64);
        if (1 == version || 1 == version % 7) {
            assert_int_equal(OSC_CACHED_DIRECT, keep(&f, b, version, 64));
        }
        if (all) {
            osc_cached_cache_invalidate(&f.c);
            expect_missing(&f, b, 64);
        } else {
            osc_cached_cache_invalidate_target(&f.targets[0]);
            if (1 < version) {
                expect_hit(&f, b, version - version % 7 + 1, 64);
            }
        }
        expect_missing(&f, a, 64);
    }
    /* far more own writes than invalidations of all: still nothing comes back to life */
    for (int i = 0; i < 8; ++i) {
        f.targets[0].generation += 65533;
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, a, 1, 64));
        expect_hit(&f, a, 1, 64);
        osc_cached_cache_invalidate(&f.c);
        expect_missing(&f, a, 64);
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, a, 2, 64));
        osc_cached_cache_invalidate_target(&f.targets[0]);
        expect_missing(&f, a, 64);
        osc_cached_cache_invalidate(&f.c);
        expect_missing(&f, a, 64);
    }
    /* a living entry never looks dead: the hand passes and leaves it */
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, a, 9, 64));
    osc_cached_cache_invalidate_target(&f.targets[1]);
    f.c.sweep_left = 100;
    for (uint64_t i = 0; i < 30; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(2, i), 1, 64));
    }
    expect_hit(&f, a, 9, 64);
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

/*
 * The model. It knows for each key what the cache may have: which bytes of which versions, fetched
 * since the last invalidation of the target. The cache may have less, when it had to evict; never
 * more, and never anything else.
 */
typedef struct {
    enum { ABSENT, PENDING, PRESENT } what;
    uint64_t epoch; /* of its target when the get was issued */
    size_t bytes;   /* that are there, or on the way */
    uint32_t pins;  /* operations on the way that need it */
    bool extending;
    bool lent; /* the get that is on the way has its bytes, and nothing is left of them */
    uint32_t num_segments;
    struct {
        size_t end;
        uint64_t version;
    } segments[SEGMENTS_MAX];
} model_key_t;

/* A get on the way, or one at work. */
typedef struct {
    uint32_t key;
    bool fills, filled;
    uint64_t sequence;
    size_t from, bytes;
    uint64_t version; /* filled: that was read */
    uint32_t record;  /* or NONE */
    osc_cached_buffer_t buffer;
    test_type_t type;
    unsigned char space[2 * BYTES_MAX + 1];
} operation_t;

typedef struct {
    uint32_t keys, layouts, max_bytes;
    bool roomy;  /* nothing ever has to leave */
    bool checks; /* verify after each step */
    uint32_t steps;
    bool joins_only;
} plan_t;

typedef struct {
    fixture_t f;
    plan_t plan;
    uint64_t seed;
    uint64_t epochs;                           /* given out so far */
    uint64_t epoch[TARGETS];                   /* changes with each invalidation */
    uint64_t version[TARGETS], floor[TARGETS]; /* now, and at the last invalidation */
    model_key_t keys[KEYS_MAX];
    operation_t *ops;
    operation_t *free_ops[OPS_MAX];
    uint32_t num_free;
    operation_t *way[TARGETS][OPS_MAX]; /* in the order of sequence numbers */
    uint32_t num_way[TARGETS];
    uint64_t counts[OSC_CACHED_ACCESSES];
    uint64_t extended, refused;
} model_t;

static model_t model;

static bool no_failures(const model_t *m)
{
    return 0 == m->f.counts.fail_at && 0 == m->f.counts.fail_from && 0 == m->f.budget.refuse_at;
}

static osc_cached_key_t model_key(const model_t *m, uint32_t number)
{
    osc_cached_key_t key;

    key.target = (int32_t) (number % TARGETS);
    key.layout = (number / TARGETS % 8 < m->plan.layouts) ? number / TARGETS % 8 : 0;
    key.address = (uint64_t) number / TARGETS / 2 * 24;
    if (0 != key.layout) {
        key.address -= key.address % 96;
    }
    key.address += (uint64_t) number << 20; /* no two the same; memory_of does not see it */
    return key;
}

static operation_t *take_op(model_t *m, uint32_t key, size_t from, size_t bytes)
{
    operation_t *op;

    assert_true(0 < m->num_free);
    op = m->free_ops[--m->num_free];
    op->key = key;
    op->fills = op->filled = false;
    op->from = from;
    op->bytes = bytes;
    op->record = OSC_CACHED_CACHE_NONE;
    op->type.bytes = bytes;
    op->type.done = 0;
    op->type.order = random_below(&m->seed, 12) % 4 % 3;
    if (8 < random_below(&m->seed, 12)) {
        op->buffer.type = &op->type;
        op->buffer.count = 7;
    } else {
        op->type.order = IN_A_RUN;
        op->buffer.type = NULL;
        op->buffer.count = 0;
    }
    op->buffer.address = op->space;
    memset(op->space, 0xee, span(&op->type) + 1);
    return op;
}

static void free_op(model_t *m, operation_t *op)
{
    assert_int_equal(0xee, op->space[span(&op->type)]); /* nothing wrote beyond the end */
    m->free_ops[m->num_free++] = op;
}

/* The network brings the bytes. */
static void fill(model_t *m, operation_t *op)
{
    osc_cached_key_t key = model_key(m, op->key);

    if (!op->fills || op->filled) {
        return;
    }
    op->filled = true;
    op->version = m->version[key.target];
    for (size_t i = 0; i < op->bytes && IN_A_RUN != op->type.order; ++i) {
        op->space[place(&op->type, i)] = memory_of(key, op->version)[op->from + i];
    }
    if (IN_A_RUN == op->type.order) {
        memcpy(op->space, memory_of(key, op->version) + op->from, op->bytes);
    }
}

/* Bytes of a buffer as they came from the target. */
static const unsigned char *unpacked(const operation_t *op, size_t bytes)
{
    static unsigned char packed[BYTES_MAX];

    if (IN_A_RUN == op->type.order) {
        return op->space;
    }
    for (size_t i = 0; i < bytes; ++i) {
        packed[i] = op->space[place(&op->type, i)];
    }
    return packed;
}

/* The buffer has the first bytes of what the key has. */
static void check_first(const model_t *m, const operation_t *op, size_t bytes)
{
    const model_key_t *k = &m->keys[op->key];
    osc_cached_key_t key = model_key(m, op->key);
    const unsigned char *got = unpacked(op, bytes);
    size_t at = 0;

    assert_true(bytes <= k->bytes);
    for (uint32_t i = 0; i < k->num_segments && at < bytes; ++i) {
        size_t stop = (k->segments[i].end < bytes) ? k->segments[i].end : bytes;

        assert_memory_equal(memory_of(key, k->segments[i].version) + at, got + at, stop - at);
        if (k->epoch == m->epoch[key.target]) {
            assert_true(m->floor[key.target] <= k->segments[i].version);
        }
        at = stop;
    }
    assert_int_equal(bytes, at);
}

static bool is_valid(const model_t *m, uint32_t number)
{
    const model_key_t *k = &m->keys[number];

    return ABSENT != k->what && k->epoch == m->epoch[number % TARGETS];
}

/* A fill has arrived at the key. */
static void arrive(model_t *m, const operation_t *op)
{
    model_key_t *k = &m->keys[op->key];
    uint32_t n = 0;

    while (n < k->num_segments && k->segments[n].end < op->from) {
        ++n;
    }
    if (0 < op->from) {
        k->segments[n].end = op->from;
        ++n;
    }
    k->segments[n].end = op->from + op->bytes;
    k->segments[n].version = op->version;
    k->num_segments = n + 1;
    k->bytes = op->from + op->bytes;
    k->what = PRESENT;
    k->extending = false;
}

static void on_the_way(model_t *m, operation_t *op, bool fills)
{
    uint32_t target = op->key % TARGETS;

    op->fills = fills;
    ++m->keys[op->key].pins;
    m->way[target][m->num_way[target]++] = op;
    if (0 == random_below(&m->seed, 3)) {
        fill(m, op);
    }
}

static void finished(model_t *m, operation_t *op)
{
    model_key_t *k = &m->keys[op->key];

    if (NULL != op->buffer.type) {
        assert_int_equal(1, op->type.done);
    }
    if (op->fills) {
        /* the cache only reads it */
        assert_memory_equal(memory_of(model_key(m, op->key), op->version) + op->from,
                            unpacked(op, op->bytes), op->bytes);
        arrive(m, op);
    } else {
        assert_int_equal(PRESENT, k->what);
        check_first(m, op, op->bytes);
    }
    if (0 == --k->pins && (k->lent || k->epoch != m->epoch[op->key % TARGETS])) {
        k->what = ABSENT;
    }
    free_op(m, op);
}

static void model_complete(model_t *m, uint32_t target, uint64_t sequence)
{
    uint32_t n = 0;

    while (n < m->num_way[target] && m->way[target][n]->sequence <= sequence) {
        fill(m, m->way[target][n]);
        ++n;
    }
    osc_cached_cache_complete(&m->f.c, &m->f.targets[target], sequence);
    for (uint32_t i = 0; i < n; ++i) {
        finished(m, m->way[target][i]);
    }
    m->num_way[target] -= n;
    memmove(m->way[target], m->way[target] + n, m->num_way[target] * sizeof(m->way[0][0]));
    for (uint32_t i = 0; i < m->num_way[target]; ++i) {
        assert_int_equal(0, m->way[target][i]->type.done);
    }
}

static void model_complete_one(model_t *m, uint32_t target, uint32_t i)
{
    operation_t *op = m->way[target][i];
    uint64_t sequence = op->sequence;
    uint32_t record = op->record, records;

    if (OSC_CACHED_CACHE_NONE == record) {
        return;
    }
    fill(m, op);
    osc_cached_cache_complete_one(&m->f.c, &m->f.targets[target], record, sequence);
    finished(m, op);
    --m->num_way[target];
    memmove(m->way[target] + i, m->way[target] + i + 1,
            (m->num_way[target] - i) * sizeof(m->way[0][0]));
    /* again, and one that does not exist */
    records = m->f.c.num_records;
    osc_cached_cache_complete_one(&m->f.c, &m->f.targets[target], record, sequence);
    osc_cached_cache_complete_one(&m->f.c, &m->f.targets[target], record + 1, sequence);
    osc_cached_cache_complete_one(&m->f.c, &m->f.targets[target], UINT32_MAX, sequence);
    assert_int_equal(records, m->f.c.num_records);
}

static void model_invalidate(model_t *m, uint32_t target)
{
    m->epoch[target] = ++m->epochs;
    m->version[target] += random_below(&m->seed, 4);
    m->floor[target] = m->version[target];
}

static void model_invalidate_one(model_t *m, uint32_t target)
{
    osc_cached_cache_invalidate_target(&m->f.targets[target]);
    model_invalidate(m, target);
}

static void model_invalidate_all(model_t *m)
{
    osc_cached_cache_invalidate(&m->f.c);
    for (uint32_t target = 0; target < TARGETS; ++target) {
        model_invalidate(m, target);
    }
}

/* Something may happen between the issue of a get and the insertion. */
static void meanwhile(model_t *m, uint32_t target)
{
    uint32_t what = random_below(&m->seed, 2000);

    if (0 == what) {
        model_invalidate_one(m, target);
    } else if (1 == what) {
        model_invalidate_one(m, (target + 1) % TARGETS);
    } else if (2 == what) {
        model_invalidate_all(m);
    } else if (what < 20) {
        model_complete(m, target, m->f.sequence);
    }
}

static void model_insert(model_t *m, uint32_t number, size_t bytes)
{
    fixture_t *f = &m->f;
    osc_cached_key_t key = model_key(m, number);
    osc_cached_target_t *target = &f->targets[key.target];
    uint64_t stamp = osc_cached_cache_stamp(&f->c, target), epoch = m->epoch[key.target];
    operation_t *op = take_op(m, number, 0, bytes);
    model_key_t *k = &m->keys[number];
    uint64_t evictions, resizes = f->c.resizes, hash = osc_cached_index_hash(&f->c.index, key);
    bool duel = OSC_CACHED_SCHEME_DUEL == f->c.config.scheme;
    bool lends = f->c.joins_only && NULL == op->buffer.type;
    osc_cached_access_t access;

    meanwhile(m, number % TARGETS);
    evictions = f->c.evictions;
    op->sequence = ++f->sequence;
    access = osc_cached_cache_insert(&f->c, target, key, hash, &op->buffer, bytes, stamp,
                                     op->sequence, &op->record);
    ++m->counts[access];
    evictions = f->c.evictions - evictions;
    if (0 < k->pins || epoch != m->epoch[key.target] || (!lends && f->c.max_bytes < bytes)) {
        assert_int_equal(OSC_CACHED_FAILING, access);
    } else if (m->plan.roomy && no_failures(m)) {
        assert_int_equal(OSC_CACHED_DIRECT, access);
    }
    switch (access) {
    case OSC_CACHED_DIRECT:
        assert_true(0 == evictions || resizes != f->c.resizes);
        break;
    case OSC_CACHED_CONFLICTING:
        assert_true(1 <= evictions);
        assert_true(evictions <= (duel ? OSC_CACHED_DUEL_REGIONS : 1) || resizes != f->c.resizes);
        break;
    case OSC_CACHED_CAPACITY:
        /* a duel may have filled holes on both sides of one */
        assert_true(1 <= evictions || duel);
        assert_true(evictions <= (duel ? OSC_CACHED_DUEL_REGIONS : f->config.evictions) + 1
                    || resizes != f->c.resizes);
        break;
    case OSC_CACHED_FAILING:
        free_op(m, op);
        return;
    default:
        assert_int_equal(OSC_CACHED_DECLINED, access);
        assert_int_equal(OSC_CACHED_SCHEME_DUEL, f->c.config.scheme);
        assert_true(0 == evictions || resizes != f->c.resizes);
        free_op(m, op);
        return;
    }
    k->what = PENDING;
    k->epoch = epoch;
    k->bytes = bytes;
    k->lent = lends;
    k->num_segments = 0;
    on_the_way(m, op, true);
}

static void model_partial(model_t *m, operation_t *op, size_t have)
{
    fixture_t *f = &m->f;
    model_key_t *k = &m->keys[op->key];
    osc_cached_key_t key = model_key(m, op->key);
    osc_cached_target_t *target = &f->targets[key.target];
    uint64_t stamp = osc_cached_cache_stamp(&f->c, target), epoch = m->epoch[key.target];
    uint64_t hash = osc_cached_index_hash(&f->c.index, key);
    size_t from = (0 == random_below(&m->seed, 8)) ? random_below(&m->seed, (uint32_t) have) : have;
    operation_t *rest = take_op(m, op->key, from, op->bytes - from);
    bool extended;

    assert_true(is_valid(m, op->key) && PRESENT == k->what && 0 == key.layout);
    assert_int_equal(k->bytes, have);
    assert_true(have < op->bytes);
    assert_true(osc_cached_cache_copy_first(&f->c, target, key, hash, &op->buffer, have));
    check_first(m, op, have);
    meanwhile(m, op->key % TARGETS);
    rest->sequence = ++f->sequence;
    extended = osc_cached_cache_extend(&f->c, target, key, hash, from, op->bytes, &rest->buffer,
                                       stamp, rest->sequence);
    if (extended) {
        ++m->extended;
        assert_true(0 == k->pins && epoch == m->epoch[key.target]);
        assert_true(PRESENT == k->what && have <= k->bytes && k->bytes < op->bytes);
        /* more pieces than the model can tell apart: forget it */
        if (SEGMENTS_MAX < k->num_segments + 2) {
            model_invalidate_one(m, op->key % TARGETS);
            k->num_segments = 1;
            k->segments[0].end = k->bytes;
        }
        k->extending = true;
        on_the_way(m, rest, true);
    } else {
        ++m->refused;
        assert_false(m->plan.roomy && no_failures(m) && 0 == k->pins
                     && epoch == m->epoch[key.target] && k->bytes < op->bytes
                     && op->bytes <= f->c.max_bytes);
        assert_int_equal(0, rest->type.done);
        free_op(m, rest);
    }
}

static void model_get(model_t *m, uint32_t number, size_t bytes)
{
    fixture_t *f = &m->f;
    osc_cached_key_t key = model_key(m, number);
    model_key_t *k = &m->keys[number];
    operation_t *op = take_op(m, number, 0, bytes);
    bool pending = is_valid(m, number) && PENDING == k->what;
    bool present = is_valid(m, number) && PRESENT == k->what;
    size_t have = 0;
    osc_cached_access_t access;

    op->sequence = ++f->sequence;
    if (f->c.open) {
        /* the memo never finds what the index does not */
        osc_cached_entry_t *entry = osc_cached_cache_find(&f->c, &f->targets[key.target], key,
                                                          osc_cached_index_hash(&f->c.index, key));

        assert_ptr_equal((NULL == entry || entry->bytes < bytes) ? NULL : entry,
                         osc_cached_cache_find_again(&f->c, &f->targets[key.target], key, bytes));
    }
    access = osc_cached_cache_get(&f->c, &f->targets[key.target], key,
                                  osc_cached_index_hash(&f->c.index, key), &op->buffer, bytes,
                                  op->sequence, &have);
    if (OSC_CACHED_MISSING != access) {
        ++m->counts[access];
    }
    switch (access) {
    case OSC_CACHED_HIT:
        assert_true(present);
        check_first(m, op, bytes);
        break;
    case OSC_CACHED_PARTIAL:
        model_partial(m, op, have);
        break;
    case OSC_CACHED_JOIN:
        assert_true(pending && bytes <= k->bytes);
        on_the_way(m, op, false);
        return;
    case OSC_CACHED_FAILING:
        assert_true(pending && (k->bytes < bytes || !no_failures(m)));
        break;
    default:
        assert_int_equal(OSC_CACHED_MISSING, access);
        assert_false(pending);
        if (present && (bytes <= k->bytes || 0 == key.layout)) {
            assert_int_equal(0, k->pins); /* it was evicted */
            assert_false(m->plan.roomy);
            k->what = ABSENT;
        }
        free_op(m, op);
        model_insert(m, number, bytes);
        return;
    }
    assert_int_equal(0, op->type.done);
    free_op(m, op);
}

static void model_resize(model_t *m)
{
    fixture_t *f = &m->f;
    uint32_t factor = 2 + random_below(&m->seed, 15), count = f->c.index.count;
    uint32_t slots = osc_cached_index_num_slots(&f->c.index);
    uint64_t memory = osc_cached_storage_capacity(&f->c.storage);
    uint64_t wanted;
    int status;
    bool grows;

    if (0 == random_below(&m->seed, 2)) {
        wanted = (uint64_t) f->config.entries * factor / 8 + 1;
        grows = slots <= wanted;
        status = osc_cached_cache_resize_index(&f->c, (uint32_t) wanted);
        assert_int_equal((OSC_CACHED_OK == status) ? (wanted + 15) / 16 * 16 : slots,
                         osc_cached_index_num_slots(&f->c.index));
    } else {
        wanted = f->config.memory * factor / 8 + 64;
        grows = memory <= wanted;
        status = osc_cached_cache_resize_storage(&f->c, wanted);
        assert_int_equal((OSC_CACHED_OK == status) ? wanted / 16 * 16 : memory,
                         osc_cached_storage_capacity(&f->c.storage));
    }
    verify(f);
    assert_int_not_equal(OSC_CACHED_BAD_ARGUMENT, status);
    if (grows) {
        assert_int_equal(count, f->c.index.count);
        assert_true(OSC_CACHED_OK == status || !no_failures(m));
    }
}

static void model_step(model_t *m)
{
    uint32_t what = random_below(&m->seed, 2000);
    uint32_t number = random_below(&m->seed, m->plan.keys), target = number % TARGETS;
    size_t bytes = 1 + random_below(&m->seed, m->plan.max_bytes >> random_below(&m->seed, 8));

    if (0 == random_below(&m->seed, 2)) {
        number %= (m->plan.keys + 7) / 8; /* some are asked for more often */
        target = number % TARGETS;
    }
    if (m->num_free < 4) {
        model_complete(m, target, UINT64_MAX);
        model_complete(m, (target + 1) % TARGETS, UINT64_MAX);
        model_complete(m, (target + 2) % TARGETS, UINT64_MAX);
    }
    if (what < 1700) {
        model_get(m, number, bytes);
    } else if (what < 1705) {
        /* another thread was faster, or slower */
        model_insert(m, number, bytes);
    } else if (what < 1790) {
        uint32_t n = m->num_way[target];

        /* up to one of those on the way, or all */
        model_complete(m, target,
                       (0 == n || 0 == what % 3 || m->plan.joins_only)
                           ? m->f.sequence
                           : m->way[target][random_below(&m->seed, n)]->sequence);
    } else if (what < 1850 && 0 < m->num_way[target] && !m->plan.joins_only) {
        model_complete_one(m, target, random_below(&m->seed, m->num_way[target]));
    } else if (what < 1950 && 0 < m->num_way[target]) {
        fill(m, m->way[target][random_below(&m->seed, m->num_way[target])]);
    } else if (what < 1970) {
        ++m->version[target]; /* somebody writes; who reads without synchronisation sees either */
    } else if (what < 1974) {
        model_invalidate_one(m, target);
    } else if (what < 1975) {
        model_invalidate_all(m);
    } else if (what < 1977 && !m->plan.roomy) {
        model_resize(m);
    } else if (what < 1982) {
        osc_cached_cache_look(&m->f.c);
    }
}

static void model_prepare(model_t *m, uint64_t seed, const plan_t *plan, uint32_t entries,
                          uint64_t memory)
{
    operation_t *ops = m->ops;

    if (NULL == ops) {
        ops = calloc(OPS_MAX, sizeof(*ops));
        assert_non_null(ops);
    }
    memset(m, 0, sizeof(*m));
    m->ops = ops;
    for (uint32_t i = 0; i < OPS_MAX; ++i) {
        m->free_ops[i] = &ops[i];
    }
    m->num_free = OPS_MAX;
    m->plan = *plan;
    m->seed = seed;
    prepare(&m->f, entries, memory);
    m->f.config.seed = seed;
}

static void model_run(model_t *m)
{
    for (uint32_t step = 0; step < m->plan.steps; ++step) {
        model_step(m);
        if (m->plan.checks || 0 == step % 997) {
            verify(&m->f);
        }
    }
    for (uint32_t target = 0; target < TARGETS; ++target) {
        if (0 != m->seed % 2) {
            model_complete(m, target, UINT64_MAX);
        }
    }
    end(&m->f);
    for (uint32_t target = 0; target < TARGETS; ++target) {
        for (uint32_t i = 0; i < m->num_way[target]; ++i) {
            const operation_t *op = m->way[target][i];

            assert_int_equal(NULL != op->buffer.type, op->type.done);
        }
    }
}

static void test_model(void **state)
{
    static const struct {
        plan_t plan;
        uint32_t entries;
        uint64_t memory;
        osc_cached_scheme_t scheme;
        bool adaptive;
        uint64_t max_entry;
    } plans[] = {
        /* everything stays */
        {{60, 1, 4096, true, false, 120000}, 4096, 4 << 20, 0, false, 0},
        {{300, 3, 1024, true, false, 80000}, 4096, 8 << 20, 3, false, 0},
        /* a small storage, a small index, both */
        {{100, 1, 4096, false, false, 120000}, 1024, 40000, 0, false, 20000},
        {{100, 1, 4096, false, false, 120000}, 1024, 40000, 3, false, 20000},
        {{300, 2, 512, false, false, 120000}, 32, 400000, 1, false, 0},
        {{300, 2, 512, false, false, 120000}, 32, 400000, 3, false, 0},
        {{1000, 3, 2048, false, false, 120000}, 100, 50000, 2, false, 0},
        {{1000, 3, 2048, false, false, 120000}, 100, 50000, 3, false, 0},
        {{60, 1, 300, false, true, 20000}, 16, 2000, 0, false, 2000},
        {{60, 1, 300, false, true, 20000}, 16, 2000, 3, false, 2000},
        /* sizes that follow the load */
        {{200, 2, 4096, false, false, 120000}, 16, 4096, 0, true, 0},
        {{200, 2, 4096, false, false, 120000}, 16, 4096, 3, true, 0},
        {{4000, 1, 256, false, false, 150000}, 64, 8192, 0, true, 0},
        {{4000, 1, 256, false, false, 150000}, 64, 8192, 3, true, 0},
        {{2000, 2, 1024, false, false, 150000}, 64, 65536, 1, false, 0},
        {{4000, 2, 1024, false, false, 150000}, 64, 65536, 3, false, 0},
        {{40, 2, 8000, false, true, 20000}, 16, 10000, 2, true, 8000},
        {{40, 2, 8000, false, true, 20000}, 16, 10000, 3, true, 8000},
        /* buffers are lent; what has a type is kept */
        {{100, 2, 4096, false, false, 120000, true}, 1024, 40000, 0, false, 2000},
        {{100, 2, 4096, false, false, 120000, true}, 1024, 40000, 3, false, 2000},
        {{40, 2, 300, false, true, 20000, true}, 16, 2000, 3, true, 2000},
    };
    uint64_t seed = seed_get(20260301), counts[OSC_CACHED_ACCESSES] = {0}, shares = 0, steps = 0;

    (void) state;
    printf("seed: OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); ++i) {
        shares += plans[i].plan.steps;
    }
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); ++i) {
        plan_t plan = plans[i].plan;

        plan.steps = operations_of(plan.steps, shares);
        model_prepare(&model, seed + i, &plan, plans[i].entries, plans[i].memory);
        model.f.config.scheme = plans[i].scheme;
        model.f.config.adaptive = plans[i].adaptive;
        model.f.config.gradual = 0 == i % 2;
        model.f.config.max_entry = plans[i].max_entry;
        model.f.config.adapt.interval = 64;
        model.f.budget.limit = 16 << 20;
        open_cache(&model.f);
        model.f.c.joins_only = plan.joins_only;
        model_run(&model);
        steps += plan.steps;
        printf("  plan %zu:", i);
        for (int k = 0; k < OSC_CACHED_MISSING; ++k) {
            counts[k] += model.counts[k];
            printf(" %llu", (unsigned long long) model.counts[k]);
        }
        printf(", extended %llu not %llu\n", (unsigned long long) model.extended,
               (unsigned long long) model.refused);
        assert_true(plan.steps / 100 < model.counts[OSC_CACHED_HIT]);
        assert_true(0 < model.counts[OSC_CACHED_JOIN]);
        assert_true(0 < model.extended);
    }
    printf("  %llu operations\n", (unsigned long long) steps);
    for (int k = 0; k < OSC_CACHED_MISSING; ++k) {
        assert_true(0 < counts[k]); /* every way to be served */
    }
}

/* A short run of the model, in which the sizes change often. */
static void prepare_short(model_t *m, uint64_t seed)
{
    static const plan_t plan = {200, 2, 1000, false, true, 100};

    model_prepare(m, seed, &plan, 64, 16384);
    m->f.config.adaptive = true;
    m->f.config.adapt.interval = 16;
}

static void run_short(model_t *m)
{
    for (uint32_t i = 0; i < 30; ++i) {
        for (uint32_t step = 0; step < 20; ++step) {
            model_step(m);
            verify(&m->f);
        }
        model_resize(m);
    }
    model_run(m);
}

static void test_no_memory_once(void **state)
{
    uint64_t seed = seed_get(99);

    (void) state;
    for (size_t n = 1;; ++n) {
        prepare_short(&model, seed);
        model.f.counts.fail_at = n;
        open_cache(&model.f); /* with less, if need be */
        run_short(&model);
        if (model.f.counts.requests < n) {
            assert_true(30 < n);
            break;
        }
    }
}

static void test_no_memory_any_more(void **state)
{
    uint64_t seed = seed_get(98);
    size_t opened;
    fixture_t f;
    unsigned char space[64];

    (void) state;
    /* before it is open: nothing is left behind, and it may be tried again */
    for (opened = 1;; ++opened) {
        prepare(&f, 64, 16384);
        assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&f.c, &f.config, &f.alloc));
        f.counts.fail_from = opened;
        if (OSC_CACHED_OK == osc_cached_cache_open(&f.c)) {
            break;
        }
        assert_int_equal(0, f.counts.in_use);
        assert_int_equal(0, f.budget.taken);
        assert_false(f.c.open);
        if (0 == opened % 2) {
            f.counts.fail_from = 0;
            assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&f.c));
            assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 1, 64));
        }
        end(&f);
    }
    /* no memory for records, nor to grow: gets are not kept, and that is all */
    f.counts.fail_from = f.counts.requests + 1;
    for (uint64_t i = 0; i < 100; ++i) {
        assert_int_equal(OSC_CACHED_FAILING, insert(&f, key_at(0, i), space, 64, NULL));
        verify(&f);
    }
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_cache_resize_index(&f.c, 1000));
    verify(&f);
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_cache_resize_storage(&f.c, 100000));
    verify(&f);
    assert_int_equal(0, f.c.index.count);
    f.counts.fail_from = 0;
    /* no memory for more records: those that there are do their work */
    {
        osc_cached_key_t key = key_at(0, 0);
        size_t have;
        uint32_t joins = 0;

        assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key, space, 64, NULL));
        f.counts.fail_from = f.counts.requests + 1;
        while (OSC_CACHED_JOIN == get(&f, key, space, 1, &have)) {
            ++joins;
        }
        assert_int_equal(15, joins);
        assert_int_equal(OSC_CACHED_FAILING, insert(&f, key_at(0, 1), space, 64, NULL));
        verify(&f);
        complete(&f, 0);
        assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(0, 1), space, 64, NULL));
        assert_int_equal(OSC_CACHED_HIT, get(&f, key, space, 64, &have));
    }
    end(&f);
    for (size_t n = opened; n < 60; ++n) {
        prepare_short(&model, seed);
        open_cache(&model.f);
        model.f.counts.fail_from = n;
        run_short(&model);
    }
}

static void test_budget(void **state)
{
    uint64_t seed = seed_get(97), need;
    fixture_t f;

    (void) state;
    /* what is asked for, when there is so much */
    prepare(&f, 4096, 1 << 20);
    open_cache(&f);
    need = f.budget.taken;
    assert_true((1 << 20) + 4096 * 80 < need && need < (1 << 20) + 4096 * 100);
    end(&f);
    prepare(&f, 4096, 1 << 20);
    f.budget.limit = need;
    open_cache(&f);
    assert_int_equal(4096, osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_cache_resize_index(&f.c, 4112));
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_cache_resize_storage(&f.c, (1 << 20) + 64));
    verify(&f);
    /* what one gives the other may take */
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&f.c, 2048));
    assert_true(f.budget.taken < need);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&f.c, (1 << 20) + 2048 * 64));
    verify(&f);
    end(&f);
    /* less, when there is less */
    for (uint64_t limit = need - 1; 8000 < limit; limit = limit * 3 / 4) {
        prepare(&f, 4096, 1 << 20);
        f.budget.limit = limit;
        open_cache(&f);
        assert_true(osc_cached_index_num_slots(&f.c.index) < 4096);
        assert_true(osc_cached_storage_capacity(&f.c.storage) < 1 << 20);
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 1, 64));
        end(&f);
    }
    /* never more than was asked for */
    prepare(&f, 4096, 1024);
    f.budget.limit = 100000;
    open_cache(&f);
    assert_true(osc_cached_storage_capacity(&f.c.storage) <= 1024);
    end(&f);
    /* nothing */
    prepare(&f, 4096, 1 << 20);
    f.budget.limit = 1000;
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&f.c, &f.config, &f.alloc));
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_cache_open(&f.c));
    assert_int_equal(0, f.counts.in_use);
    f.budget.limit = 1 << 30;
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&f.c));
    end(&f);
    for (size_t n = 1;; ++n) {
        prepare_short(&model, seed);
        model.f.budget.refuse_at = n;
        open_cache(&model.f);
        run_short(&model);
        if (model.f.budget.requests < n) {
            assert_true(5 < n);
            break;
        }
    }
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

static void test_adaptation_to_gets_in_flight(void **state)
{
    fixture_t f;
    static unsigned char space[BYTES_MAX];

    (void) state;
    /* The index is full of entries that cannot leave: it grows; the storage has room for all. */
    prepare(&f, 16, 4 << 20);
    f.config.adaptive = true;
    open_cache(&f);
    for (uint64_t i = 0; i < 3000; ++i) {
        ++f.c.gets;
        (void) insert(&f, key_at(0, i), space, 64, NULL);
    }
    assert_true(2000 <= f.c.num_records);
    assert_true(2000 <= osc_cached_index_num_slots(&f.c.index));
    assert_int_equal(4 << 20, osc_cached_storage_capacity(&f.c.storage));
    end(&f);

    /* The storage is: it grows. */
    prepare(&f, 4096, 8192);
    f.config.adaptive = true;
    open_cache(&f);
    for (uint64_t i = 0; i < 3000; ++i) {
        ++f.c.gets;
        (void) insert(&f, key_at(0, i), space, 64, NULL);
    }
    assert_true(2000 <= f.c.num_records);
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
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_direct_and_hit),
        cmocka_unit_test(test_memo),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_block_of),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_block_without_room),
        cmocka_unit_test(test_gradual),
        cmocka_unit_test(test_gradual_without_budget),
        cmocka_unit_test(test_partial_and_extend),
        cmocka_unit_test(test_partial_of_a_layout),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_joins_only),
        cmocka_unit_test(test_conflicting),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_shrink_after_failures),
        cmocka_unit_test(test_dead_entry_is_reused),
        cmocka_unit_test(test_dead_entries_leave),
        cmocka_unit_test(test_dead_entries_leave_after_own_writes),
        cmocka_unit_test(test_invalidation_is_a_number),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_resizes_keep_entries),
        cmocka_unit_test(test_growing_a_full_index),
        cmocka_unit_test(test_resizes_with_records),
        cmocka_unit_test(test_many_records),
        cmocka_unit_test(test_records_are_bounded),
        cmocka_unit_test(test_disown_and_withdraw),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_adaptation),
        cmocka_unit_test(test_adaptation_begins_early),
        cmocka_unit_test(test_adaptation_is_not_misled),
        cmocka_unit_test(test_adaptation_to_gets_in_flight),
        cmocka_unit_test(test_adaptation_to_large_gets),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_has_room),
        cmocka_unit_test(test_no_memory_once),
        cmocka_unit_test(test_no_memory_any_more),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("osc_cached_cache", tests, make_noise, NULL);
}
