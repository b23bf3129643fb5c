/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * What the tests of osc_cached_cache share: an allocator and a budget that can fail, memory of
 * targets, types, and a cache with them. Include it after cmocka.h.
 */
#ifndef OSC_CACHED_TEST_CACHE_H
#define OSC_CACHED_TEST_CACHE_H

#include "osc_cached_cache.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGETS = 3, BYTES_MAX = 8192 };

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

static inline void *test_alloc_get(void *context, size_t alignment, size_t bytes)
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

static inline void test_alloc_put(void *context, void *memory, size_t bytes)
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

static inline uint64_t budget_available(void *context)
{
    const test_budget_t *budget = context;

    return budget->limit - budget->taken;
}

static inline bool budget_reserve(void *context, uint64_t bytes)
{
    test_budget_t *budget = context;

    if (++budget->requests == budget->refuse_at || budget->limit - budget->taken < bytes) {
        return false;
    }
    budget->taken += bytes;
    return true;
}

static inline void budget_give_back(void *context, uint64_t bytes)
{
    test_budget_t *budget = context;

    assert_true(bytes <= budget->taken);
    budget->taken -= bytes;
}

/* Memory of targets: each (target, layout, version) is another slice of random bytes, so that a
 * new version costs nothing and any version can be compared with. */
enum { SLICES = 1 << 18, ADDRESSES = 1 << 16 };

static unsigned char noise[SLICES + ADDRESSES + BYTES_MAX];

static inline int make_noise(void **state)
{
    uint64_t seed = 4711;

    (void) state;
    for (size_t i = 0; i < sizeof(noise); ++i) {
        noise[i] = (unsigned char) random_below(&seed, 256);
    }
    return 0;
}

static inline const unsigned char *memory_of(osc_cached_key_t key, uint64_t version)
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

static inline size_t place(const test_type_t *type, size_t i)
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

static inline size_t span(const test_type_t *type)
{
    return (STRIDED == type->order) ? 2 * type->bytes : type->bytes;
}

static size_t copies;

static inline void test_copy(const osc_cached_buffer_t *buffer, void *bytes, size_t size,
                             bool to_buffer)
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

static inline void test_done(const osc_cached_buffer_t *buffer)
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

static inline void verify(fixture_t *f)
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

static inline void prepare(fixture_t *f, uint32_t entries, uint64_t memory)
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

static inline void open_cache(fixture_t *f)
{
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&f->c, &f->config, &f->alloc));
    assert_int_equal(0, f->counts.in_use);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&f->c));
    verify(f);
}

static inline void begin(fixture_t *f, uint32_t entries, uint64_t memory)
{
    prepare(f, entries, memory);
    open_cache(f);
}

static inline void end(fixture_t *f)
{
    verify(f);
    osc_cached_cache_destroy(&f->c);
    assert_int_equal(0, f->counts.in_use);
    assert_int_equal(0, f->budget.taken);
}

static inline osc_cached_key_t key_at(int32_t target, uint64_t address)
{
    osc_cached_key_t key = {address, target, 0};

    return key;
}

static inline osc_cached_buffer_t buffer_at(void *address)
{
    osc_cached_buffer_t buffer = {.address = address};

    return buffer;
}

static inline osc_cached_access_t get(fixture_t *f, osc_cached_key_t key, void *address,
                                      size_t bytes, size_t *have)
{
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_get(&f->c, &f->targets[key.target], key,
                                osc_cached_index_hash(&f->c.index, key), &buffer, bytes,
                                ++f->sequence, have);
}

static inline osc_cached_access_t insert(fixture_t *f, osc_cached_key_t key, void *address,
                                         size_t bytes, uint32_t *record)
{
    osc_cached_target_t *target = &f->targets[key.target];
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_insert(
        &f->c, target, key, osc_cached_index_hash(&f->c.index, key), &buffer, bytes,
        osc_cached_cache_whole_stamp(&f->c, target, key.address, key.target, bytes), ++f->sequence,
        record);
}

static inline bool extend(fixture_t *f, osc_cached_key_t key, size_t from, size_t bytes,
                          void *address)
{
    osc_cached_target_t *target = &f->targets[key.target];
    osc_cached_buffer_t buffer = buffer_at(address);

    return osc_cached_cache_extend(&f->c, target, key, osc_cached_index_hash(&f->c.index, key),
                                   from, bytes, &buffer, osc_cached_cache_stamp(&f->c, target),
                                   ++f->sequence);
}

static inline osc_cached_entry_t *find(fixture_t *f, osc_cached_key_t key)
{
    return osc_cached_cache_find(&f->c, &f->targets[key.target], key,
                                 osc_cached_index_hash(&f->c.index, key));
}

static inline void complete(fixture_t *f, int32_t target)
{
    osc_cached_cache_complete(&f->c, &f->targets[target], f->sequence);
}

static inline void fetch(osc_cached_key_t key, uint64_t version, size_t from, void *address,
                         size_t bytes)
{
    memcpy(address, memory_of(key, version) + from, bytes);
}

static inline void check(osc_cached_key_t key, uint64_t version, const void *address, size_t bytes)
{
    assert_memory_equal(memory_of(key, version), address, bytes);
}

/* A get that is missing, fetched at once and completed. */
static inline osc_cached_access_t keep(fixture_t *f, osc_cached_key_t key, uint64_t version,
                                       size_t bytes)
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

static inline void expect_hit(fixture_t *f, osc_cached_key_t key, uint64_t version, size_t bytes)
{
    static unsigned char space[BYTES_MAX];
    size_t have;

    memset(space, 0, bytes);
    assert_int_equal(OSC_CACHED_HIT, get(f, key, space, bytes, &have));
    check(key, version, space, bytes);
}

static inline void expect_missing(fixture_t *f, osc_cached_key_t key, size_t bytes)
{
    unsigned char space[BYTES_MAX];
    size_t have;

    assert_int_equal(OSC_CACHED_MISSING, get(f, key, space, bytes, &have));
}

#endif /* OSC_CACHED_TEST_CACHE_H */
