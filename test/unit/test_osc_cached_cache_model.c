/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_cache: a model that knows which version of the targets' memory each get must see, also
 * with failures of the allocator and of the budget.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_test_cache.h"

enum { KEYS_MAX = 4096, OPS_MAX = 300, SEGMENTS_MAX = 8 };

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
        /* also what it has at the moment, which a gradual one will not have for long */
        wanted = (0 == random_below(&m->seed, 4)) ? memory : f->config.memory * factor / 8 + 64;
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
        {{60, 1, 4096, true, false, 120000, false}, 4096, 4 << 20, 0, false, 0},
        {{300, 3, 1024, true, false, 80000, false}, 4096, 8 << 20, 3, false, 0},
        /* a small storage, a small index, both */
        {{100, 1, 4096, false, false, 120000, false}, 1024, 40000, 0, false, 20000},
        {{100, 1, 4096, false, false, 120000, false}, 1024, 40000, 3, false, 20000},
        {{300, 2, 512, false, false, 120000, false}, 32, 400000, 1, false, 0},
        {{300, 2, 512, false, false, 120000, false}, 32, 400000, 3, false, 0},
        {{1000, 3, 2048, false, false, 120000, false}, 100, 50000, 2, false, 0},
        {{1000, 3, 2048, false, false, 120000, false}, 100, 50000, 3, false, 0},
        {{60, 1, 300, false, true, 20000, false}, 16, 2000, 0, false, 2000},
        {{60, 1, 300, false, true, 20000, false}, 16, 2000, 3, false, 2000},
        /* sizes that follow the load */
        {{200, 2, 4096, false, false, 120000, false}, 16, 4096, 0, true, 0},
        {{200, 2, 4096, false, false, 120000, false}, 16, 4096, 3, true, 0},
        {{4000, 1, 256, false, false, 150000, false}, 64, 8192, 0, true, 0},
        {{4000, 1, 256, false, false, 150000, false}, 64, 8192, 3, true, 0},
        {{2000, 2, 1024, false, false, 150000, false}, 64, 65536, 1, false, 0},
        {{4000, 2, 1024, false, false, 150000, false}, 64, 65536, 3, false, 0},
        {{40, 2, 8000, false, true, 20000, false}, 16, 10000, 2, true, 8000},
        {{40, 2, 8000, false, true, 20000, false}, 16, 10000, 3, true, 8000},
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
        for (int k = 0; k < OSC_CACHED_UNSHARED; ++k) {
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
    for (int k = 0; k < OSC_CACHED_UNSHARED; ++k) {
        assert_true(0 < counts[k]); /* every way to be served that the cache itself chooses */
    }
}

/* A short run of the model, in which the sizes change often. */
static void prepare_short(model_t *m, uint64_t seed)
{
    static const plan_t plan = {200, 2, 1000, false, true, 100, false};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_no_memory_once),
        cmocka_unit_test(test_no_memory_any_more),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("osc_cached_cache_model", tests, make_noise, NULL);
}
