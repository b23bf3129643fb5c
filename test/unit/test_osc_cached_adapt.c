/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_adapt: each rule, the contract on random windows, and a toy cache in a loop with it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_adapt.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MiB (UINT64_C(1) << 20)

/* xorshift64*: small, and the same everywhere. */
static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t) ((random_bits(state) >> 33) % limit);
}

static double uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double) (random_bits(state) >> 11) / 9007199254740992.;
}

static uint64_t seed_of_test(void)
{
    const char *text = getenv("OSC_CACHED_SEED");
    uint64_t seed = (NULL != text) ? strtoull(text, NULL, 0) : 20170529;

    print_message("OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    return (0 != seed) ? seed : 1; /* 0 is xorshift's fixed point */
}

/* Parameters that tests can rely on, whatever the defaults are. */
static const osc_cached_adapt_params_t plain = {
    .interval = 100,
    .conflict_threshold = 0.1,
    .index_increase = 2,
    .index_decrease = 0.5,
    .sparsity = 0.25,
    .capacity_threshold = 0.1,
    .memory_increase = 2,
    .memory_decrease = 0.5,
    .stable_threshold = 0.8,
    .free_threshold = 0.7,
};

/* All is well: half full, all hits. */
static osc_cached_adapt_window_t calm(void)
{
    osc_cached_adapt_window_t window = {
        .gets = 1000,
        .hits = 1000,
        .index_slots = 1024,
        .index_entries = 512,
        .storage_bytes = 4 * MiB,
        .storage_used = 2 * MiB,
        .slots_min = 16,
        .slots_max = 1 << 20,
        .storage_min = 4096,
        .storage_max = 256 * MiB,
    };

    return window;
}

static void assert_sizes(const osc_cached_adapt_params_t *params,
                         const osc_cached_adapt_window_t *window, uint32_t slots, uint64_t bytes)
{
    osc_cached_adapt_sizes_t sizes = osc_cached_adapt_decide(params, window);

    assert_int_equal(slots, sizes.index_slots);
    assert_int_equal(bytes, sizes.storage_bytes);
}

/* All parameters but the interval, their limits, and what is beyond. */
#define FIELD(name, least, most, small, large)                                      \
    {                                                                               \
        offsetof(osc_cached_adapt_params_t, name), #name, least, most, small, large \
    }
static const struct {
    size_t offset;
    const char *name;
    double least, most, too_small, too_large;
} fields[] = {
    FIELD(conflict_threshold, 0, 1, -0.001, 1.001),
    FIELD(index_increase, 1.01, 16, 1, 17),
    FIELD(index_decrease, 0.01, 0.99, 0, 1),
    FIELD(sparsity, 0, 1, -1, 1.5),
    FIELD(capacity_threshold, 0, 1, -1, 2),
    FIELD(memory_increase, 1.01, 16, 0.5, 1e9),
    FIELD(memory_decrease, 0.01, 0.99, -1, 1),
    FIELD(stable_threshold, 0, 1, -1, 2),
    FIELD(free_threshold, 0, 1, -1, 2),
};
#define NUM_FIELDS (sizeof(fields) / sizeof(fields[0]))

static double *field_of(osc_cached_adapt_params_t *params, size_t i)
{
    return (double *) (void *) ((char *) params + fields[i].offset);
}

static void test_check(void **state)
{
    osc_cached_adapt_params_t params = osc_cached_adapt_defaults;

    (void) state;
    assert_null(osc_cached_adapt_params_check(&plain));
    assert_null(osc_cached_adapt_params_check(&params));
    params.interval = 0;
    assert_string_equal("interval", osc_cached_adapt_params_check(&params));
    params.interval = UINT32_MAX;
    assert_null(osc_cached_adapt_params_check(&params));
    for (size_t i = 0; i < NUM_FIELDS; ++i) {
        const double bad[] = {fields[i].too_small, fields[i].too_large, NAN, INFINITY, -INFINITY};
        double *field;

        params = osc_cached_adapt_defaults;
        field = field_of(&params, i);
        for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); ++k) {
            *field = bad[k];
            assert_string_equal(fields[i].name, osc_cached_adapt_params_check(&params));
        }
        *field = fields[i].least;
        assert_null(osc_cached_adapt_params_check(&params));
        *field = fields[i].most;
        assert_null(osc_cached_adapt_params_check(&params));
    }
}

/* What the component offers is what was measured, and its limits are within ours. */
static void test_defaults(void **state)
{
#define OSC_CACHED_PARAM(name, kind, value, level, scope, help)
#define OSC_CACHED_NUMBER(name, unit, value, least, most, level, scope, help) \
    {#name, value, least, most},
    static const struct {
        const char *name, *value;
        double least, most;
    } numbers[] = {
#include "../osc_cached_params.def"
    };
    osc_cached_adapt_params_t params = osc_cached_adapt_defaults, least = params, most = params;
    uint32_t found = 0;

    (void) state;
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); ++k) {
        double value = strtod(numbers[k].value, NULL);

        if (0 == strcmp("interval", numbers[k].name)) {
            assert_true(params.interval == value);
            ++found;
        }
        for (size_t i = 0; i < NUM_FIELDS; ++i) {
            if (0 == strcmp(fields[i].name, numbers[k].name)) {
                assert_true(*field_of(&params, i) == value);
                *field_of(&least, i) = numbers[k].least;
                *field_of(&most, i) = numbers[k].most;
                ++found;
            }
        }
    }
    assert_int_equal(NUM_FIELDS + 1, found);
    assert_null(osc_cached_adapt_params_check(&least));
    assert_null(osc_cached_adapt_params_check(&most));
}

static void test_calm(void **state)
{
    osc_cached_adapt_window_t window = calm();

    (void) state;
    assert_sizes(&plain, &window, 1024, 4 * MiB);
    assert_sizes(&osc_cached_adapt_defaults, &window, 1024, 4 * MiB);
    memset(&window, 0, sizeof(window));
    assert_sizes(&plain, &window, 0, 0);
}

static void test_index_grows(void **state)
{
    osc_cached_adapt_window_t window = calm();
    osc_cached_adapt_params_t params = plain;

    (void) state;
    window.conflicting = 100; /* the threshold */
    assert_sizes(&plain, &window, 1024, 4 * MiB);
    window.conflicting = 101;
    assert_sizes(&plain, &window, 2048, 4 * MiB);
    params.index_increase = 1.5;
    assert_sizes(&params, &window, 1536, 4 * MiB);
    params.index_increase = 1.01; /* 1034.2, in pairs of lines */
    assert_sizes(&params, &window, 1040, 4 * MiB);
    window.slots_max = 1036;
    assert_sizes(&params, &window, 1036, 4 * MiB);
    window.slots_max = 1034; /* less than the factor asks for */
    assert_sizes(&params, &window, 1024, 4 * MiB);
    params.index_increase = 2;
    window.slots_max = 1024 + 128; /* an eighth */
    assert_sizes(&params, &window, 1024 + 128, 4 * MiB);
    window.slots_max = 1024 + 127;
    assert_sizes(&params, &window, 1024, 4 * MiB);
    window.slots_max = 1024;
    assert_sizes(&params, &window, 1024, 4 * MiB);
    window.slots_max = 1000; /* the bound moved */
    assert_sizes(&params, &window, 1000, 4 * MiB);
    window.slots_max = 1 << 20;
    params.index_increase = 1.01;
    window.index_slots = 16; /* tiny */
    window.index_entries = 16;
    assert_sizes(&params, &window, 32, 4 * MiB);
    window.gets = 99; /* too early */
    window.conflicting = 99;
    assert_sizes(&params, &window, 16, 4 * MiB);
}

static void test_index_shrinks(void **state)
{
    osc_cached_adapt_window_t window = calm();

    (void) state;
    window.index_entries = 100;
    assert_sizes(&plain, &window, 1024, 4 * MiB); /* nobody looked for victims */
    window.visited = 1000;
    window.occupied = 250;
    assert_sizes(&plain, &window, 1024, 4 * MiB);
    window.occupied = 249;
    assert_sizes(&plain, &window, 512, 4 * MiB);
    window.index_slots = 400; /* 100 entries need 134 slots, 144 in pairs of lines: 288 with C6 */
    window.occupied = 200;
    assert_sizes(&plain, &window, 400, 4 * MiB);
    window.occupied = 100;
    assert_sizes(&plain, &window, 400, 4 * MiB);
    window.index_entries = 99;
    assert_sizes(&plain, &window, 208, 4 * MiB);
    window.conflicting = 25;
    assert_sizes(&plain, &window, 208, 4 * MiB);
    window.conflicting = 26; /* too many to shrink, too few to grow */
    assert_sizes(&plain, &window, 400, 4 * MiB);
    window.conflicting = 0;
    window.slots_min = 300;
    assert_sizes(&plain, &window, 300, 4 * MiB);
    window.slots_min = 16;
    window.capacity = 101; /* something grows */
    assert_sizes(&plain, &window, 400, 8 * MiB);
}

static void test_storage_grows(void **state)
{
    osc_cached_adapt_window_t window = calm();

    (void) state;
    window.capacity = 60;
    window.failing = 40;
    assert_sizes(&plain, &window, 1024, 4 * MiB);
    window.failing = 41;
    assert_sizes(&plain, &window, 1024, 8 * MiB);
    window.conflicting = 101;
    assert_sizes(&plain, &window, 2048, 8 * MiB);
    window.storage_max = 5 * MiB;
    assert_sizes(&plain, &window, 2048, 5 * MiB);
    window.storage_bytes = 64;
    window.storage_used = 64;
    assert_sizes(&plain, &window, 2048, 4096); /* the minimum */
    window.storage_min = 0;
    assert_sizes(&plain, &window, 2048, 128);
    window.storage_bytes = 0;
    assert_sizes(&plain, &window, 2048, 64);
    window.gets = 99;
    assert_sizes(&plain, &window, 1024, 0);
}

static void test_storage_shrinks(void **state)
{
    osc_cached_adapt_window_t window = calm();

    (void) state;
    window.storage_used = MiB;
    assert_sizes(&plain, &window, 1024, 2 * MiB);
    window.hits = 800; /* the threshold */
    assert_sizes(&plain, &window, 1024, 4 * MiB);
    window.hits = 801;
    assert_sizes(&plain, &window, 1024, 2 * MiB);
    window.failing = 26;
    assert_sizes(&plain, &window, 1024, 4 * MiB);
    window.failing = 25;
    assert_sizes(&plain, &window, 1024, 2 * MiB);
    window.conflicting = 101;
    assert_sizes(&plain, &window, 2048, 4 * MiB);
    window.conflicting = 0;
    window.storage_min = 3 * MiB;
    assert_sizes(&plain, &window, 1024, 3 * MiB);
    window.storage_max = 2 * MiB; /* the bound moved: it wins over the minimum */
    assert_sizes(&plain, &window, 1024, 2 * MiB);
    window.storage_max = MiB; /* but not over what is there */
    assert_sizes(&plain, &window, 1024, (4 * MiB / 3 + 63) / 64 * 64);
    window.storage_used = 4 * MiB;
    assert_sizes(&plain, &window, 1024, 4 * MiB);
}

/* What is grown because of some data does not shrink because of the same: C6. */
static void test_growth_stays(void **state)
{
    osc_cached_adapt_params_t params = plain;
    osc_cached_adapt_window_t window = calm();
    static const double factors[] = {1.01, 1.25, 1.5, 2, 3, 4, 16};

    (void) state;
    params.sparsity = 1;
    params.free_threshold = 0;
    window.visited = 1000;
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); ++i) {
        params.index_increase = params.memory_increase = factors[i];
        /* three quarters full, then grown */
        window.index_entries = 768;
        window.index_slots = (uint32_t) (1024 * factors[i]);
        window.storage_used = 3 * MiB;
        window.storage_bytes = (uint64_t) ((double) (4 * MiB) * factors[i]);
        assert_sizes(&params, &window, window.index_slots, window.storage_bytes);
    }
}

static uint64_t any_size(uint64_t *random, unsigned bits)
{
    uint64_t value = random_bits(random);

    return value >> (64 - bits + below(random, bits));
}

static void any_params(osc_cached_adapt_params_t *params, uint64_t *random)
{
    params->interval = 1 + below(random, 1000);
    params->conflict_threshold = uniform(random, 0, 0.5);
    params->index_increase = uniform(random, 1.01, 4);
    params->index_decrease = uniform(random, 0.01, 0.99);
    params->sparsity = uniform(random, 0, 1);
    params->capacity_threshold = uniform(random, 0, 0.5);
    params->memory_increase = uniform(random, 1.01, 4);
    params->memory_decrease = uniform(random, 0.01, 0.99);
    params->stable_threshold = uniform(random, 0, 1);
    params->free_threshold = uniform(random, 0, 1);
    assert_null(osc_cached_adapt_params_check(params));
}

static void any_window(osc_cached_adapt_window_t *window, uint64_t *random)
{
    unsigned large = (0 == below(random, 100)) ? 64 : 36;

    window->gets = any_size(random, (64 == large) ? 60 : 14);
    window->hits = window->gets / (1 + below(random, 4));
    window->conflicting = window->gets / (1 + below(random, 100));
    window->capacity = (0 == below(random, 2)) ? 0 : window->gets / (1 + below(random, 100));
    window->failing = (0 == below(random, 2)) ? 0 : window->gets / (1 + below(random, 100));
    if (0 == below(random, 3)) {
        window->conflicting = window->capacity = window->failing = 0;
    }
    window->visited = any_size(random, 20);
    window->occupied = (uint64_t) ((double) window->visited * uniform(random, 0, 1));
    window->index_slots = (uint32_t) any_size(random, (64 == large) ? 32 : 20);
    window->index_entries = (uint32_t) (window->index_slots * uniform(random, 0, 1));
    window->storage_bytes = any_size(random, large);
    window->storage_used = window->storage_bytes / (1 + below(random, 10));
    window->slots_min = (uint32_t) any_size(random, 20);
    window->slots_max = (uint32_t) any_size(random, (64 == large) ? 32 : 24);
    window->storage_min = any_size(random, large);
    window->storage_max = any_size(random, large);
}

/* The contract for one of the sizes. */
static void check_size(uint64_t size, uint64_t used, uint64_t min, uint64_t max, uint64_t unit,
                       double factor, uint64_t result)
{
    double floor = (double) used / 0.75;

    min = (min < max) ? min : max;
    if (size <= max) { /* C2 */
        assert_true(result >= min && result <= max);
    } else {
        assert_true(result <= size && result >= min);
        assert_true(result <= fmax((double) max, floor * 1.000001 + 1.01 * (double) unit));
    }
    if (result < size) { /* C3 */
        assert_true((double) result >= floor * 0.999999);
    }
    if (result > size && result != min && result != max) { /* C4 */
        assert_true(result - size >= unit && 0 == result % unit);
        assert_true((double) result <= (double) size * factor + 2 * (double) unit);
    }
    if (result < size && result != min && result != max) {
        assert_int_equal(0, result % unit);
        assert_true(size - result >= unit || (double) result < floor * 1.000001 + (double) unit);
    }
}

static void test_random_windows(void **state)
{
    uint64_t random = seed_of_test();
    uint32_t moves[2][3];

    (void) state;
    memset(moves, 0, sizeof(moves));
    for (uint32_t i = 0; i < 1000000; ++i) {
        osc_cached_adapt_params_t params;
        osc_cached_adapt_window_t w, unbound;
        osc_cached_adapt_sizes_t sizes;
        int index, storage;

        any_params(&params, &random);
        any_window(&w, &random);
        sizes = osc_cached_adapt_decide(&params, &w);
        check_size(w.index_slots, w.index_entries, w.slots_min, w.slots_max, 16,
                   params.index_increase, sizes.index_slots);
        check_size(w.storage_bytes, w.storage_used, w.storage_min, w.storage_max, 64,
                   params.memory_increase, sizes.storage_bytes);

        /* Why a size changes when bounds do not matter: C1, C5, C7. */
        unbound = w;
        unbound.slots_min = 0;
        unbound.slots_max = UINT32_MAX;
        unbound.storage_min = 0;
        unbound.storage_max = UINT64_MAX;
        sizes = osc_cached_adapt_decide(&params, &unbound);
        index = (sizes.index_slots > w.index_slots) - (sizes.index_slots < w.index_slots);
        storage = (sizes.storage_bytes > w.storage_bytes) - (sizes.storage_bytes < w.storage_bytes);
        ++moves[0][1 + index];
        ++moves[1][1 + storage];
        if (w.gets < params.interval) {
            assert_true(0 == index && 0 == storage);
            continue;
        }
        if (w.index_slots < UINT32_MAX / 9 * 8) { /* C8 */
            assert_int_equal((double) w.conflicting > params.conflict_threshold * (double) w.gets,
                             1 == index);
        }
        if (w.storage_bytes < UINT64_MAX / 9 * 8) {
            assert_int_equal((double) w.capacity + (double) w.failing
                                 > params.capacity_threshold * (double) w.gets,
                             1 == storage);
        }
        assert_true(-1 != index
                    || ((double) w.occupied < params.sparsity * (double) w.visited
                        && (double) w.index_entries < params.sparsity * w.index_slots
                        && (double) w.conflicting * 4 <= params.conflict_threshold * (double) w.gets
                        && 1 != storage));
        assert_true(
            -1 != storage
            || ((double) w.hits > params.stable_threshold * (double) w.gets
                && (double) w.storage_used < (1 - params.free_threshold) * (double) w.storage_bytes
                && ((double) w.capacity + (double) w.failing) * 4
                       <= params.capacity_threshold * (double) w.gets
                && 1 != index));
    }
    for (int i = 0; i < 2; ++i) {
        print_message("%s: shrinks %u, stays %u, grows %u\n", (0 == i) ? "index" : "storage",
                      moves[i][0], moves[i][1], moves[i][2]);
        assert_true(moves[i][0] > 1000 && moves[i][1] > 1000 && moves[i][2] > 1000);
    }
}

/*
 * A toy cache: a set of numbered items of any size, random victims; a full index refuses at 97 %, a
 * full storage at 92 %.
 */
#define MAX_ITEMS 2000

typedef struct {
    uint64_t random;
    uint32_t num_items;
    uint32_t bytes[MAX_ITEMS];
    bool in[MAX_ITEMS];
    uint32_t list[MAX_ITEMS]; /* those that are in */
    uint32_t count;
    uint64_t used;
    osc_cached_adapt_window_t window;
} toy_t;

static void toy_evict(toy_t *toy)
{
    uint32_t victim = below(&toy->random, toy->count), item = toy->list[victim];

    toy->list[victim] = toy->list[--toy->count];
    toy->in[item] = false;
    toy->used -= toy->bytes[item];
}

static void toy_get(toy_t *toy, uint32_t item)
{
    osc_cached_adapt_window_t *w = &toy->window;
    bool evicted = false;

    ++w->gets;
    if (toy->in[item]) {
        ++w->hits;
        return;
    }
    for (int i = 0; i < 4 && 0 < toy->count
                    && (double) (toy->used + toy->bytes[item]) > 0.92 * (double) w->storage_bytes;
         ++i) {
        toy_evict(toy);
        evicted = true;
        for (int k = 0; k < 16; ++k) {
            ++w->visited;
            w->occupied += below(&toy->random, w->index_slots) < toy->count;
        }
    }
    if ((double) (toy->used + toy->bytes[item]) > 0.92 * (double) w->storage_bytes) {
        ++w->failing;
        return;
    }
    w->capacity += evicted;
    if (toy->count >= 0.97 * w->index_slots) {
        toy_evict(toy);
        w->conflicting += !evicted;
    }
    toy->list[toy->count++] = item;
    toy->in[item] = true;
    toy->used += toy->bytes[item];
    if (toy->count > w->index_entries) {
        w->index_entries = toy->count;
    }
    if (toy->used > w->storage_used) {
        w->storage_used = toy->used;
    }
}

static void toy_begin(toy_t *toy, uint64_t seed, uint32_t num_items, uint32_t max_bytes)
{
    memset(toy, 0, sizeof(*toy));
    toy->random = seed;
    toy->num_items = num_items;
    for (uint32_t i = 0; i < MAX_ITEMS; ++i) {
        toy->bytes[i] = (1 + below(&toy->random, max_bytes) + 63) / 64 * 64;
    }
    toy->window.slots_min = 16;
    toy->window.slots_max = 1 << 16;
    toy->window.storage_min = 4096;
    toy->window.storage_max = 64 * MiB;
}

/* An interval and the decision. @return whether something changed */
static bool toy_interval(toy_t *toy, const osc_cached_adapt_params_t *params)
{
    osc_cached_adapt_window_t *w = &toy->window;
    osc_cached_adapt_sizes_t sizes;
    bool changed;

    w->gets = w->hits = w->conflicting = w->capacity = w->failing = w->visited = w->occupied = 0;
    w->index_entries = toy->count;
    w->storage_used = toy->used;
    for (uint32_t i = 0; i < params->interval; ++i) {
        toy_get(toy, below(&toy->random, toy->num_items));
    }
    sizes = osc_cached_adapt_decide(params, w);
    changed = sizes.index_slots != w->index_slots || sizes.storage_bytes != w->storage_bytes;
    assert_true(toy->count <= sizes.index_slots && toy->used <= sizes.storage_bytes);
    w->index_slots = sizes.index_slots;
    w->storage_bytes = sizes.storage_bytes;
    return changed;
}

/* Turns of a size: from growing to shrinking or back. */
typedef struct {
    uint64_t size;
    int direction;
    uint32_t turns;
} turns_t;

static void count_turns(turns_t *t, uint64_t size)
{
    int direction = (size > t->size) - (size < t->size);

    if (0 != direction) {
        t->turns += 0 != t->direction && direction != t->direction;
        t->direction = direction;
    }
    t->size = size;
}

/* A constant set of items, any start, any parameters: few turns, and then rest. */
static void test_no_oscillation(void **state)
{
    uint64_t random = seed_of_test();
    uint32_t most_turns = 0, turning = 0;
    static toy_t toy;

    (void) state;
    for (uint32_t run = 0; run < 300; ++run) {
        osc_cached_adapt_params_t params = osc_cached_adapt_defaults;
        turns_t index, storage;
        uint64_t seed;
        uint32_t late = 0, num_items;

        if (0 != run % 3) {
            any_params(&params, &random);
            params.interval = 50 + below(&random, 200);
            params.index_increase = uniform(&random, 1.25, 4);
            params.memory_increase = uniform(&random, 1.25, 4);
            params.index_decrease = uniform(&random, 0.2, 0.8);
            params.memory_decrease = uniform(&random, 0.2, 0.8);
        }
        seed = random_bits(&random) | 1;
        num_items = 1 + below(&random, MAX_ITEMS);
        toy_begin(&toy, seed, num_items, 64 << below(&random, 8));
        toy.window.index_slots = 16 << below(&random, 10);
        toy.window.storage_bytes = UINT64_C(4096) << below(&random, 14);
        memset(&index, 0, sizeof(index));
        memset(&storage, 0, sizeof(storage));
        index.size = toy.window.index_slots;
        storage.size = toy.window.storage_bytes;
        for (uint32_t i = 0; i < 400; ++i) {
            late += toy_interval(&toy, &params) && i >= 200;
            count_turns(&index, toy.window.index_slots);
            count_turns(&storage, toy.window.storage_bytes);
        }
        turning += 0 != index.turns + storage.turns;
        most_turns = (index.turns > most_turns) ? index.turns : most_turns;
        most_turns = (storage.turns > most_turns) ? storage.turns : most_turns;
        assert_true(index.turns <= 2 && storage.turns <= 2);
        assert_true(late <= 2);
    }
    print_message("%u of 300 runs turn, at most %u times\n", turning, most_turns);
}

/* With the defaults, from any start: nearly all gets hit in the end, and no memory is wasted. */
static void test_converges(void **state)
{
    static toy_t toy;
    static const uint32_t slots[] = {16, 208, 1008, 4096, 65536};
    static const uint64_t bytes[] = {4096, 256 * 1024, 4 * MiB, 64 * MiB};
    uint64_t random = seed_of_test();

    (void) state;
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); ++i) {
        for (size_t k = 0; k < sizeof(bytes) / sizeof(bytes[0]); ++k) {
            toy_begin(&toy, random_bits(&random) | 1, 1000, 16384); /* 8.2 MB */
            toy.window.index_slots = slots[i];
            toy.window.storage_bytes = bytes[k];
            for (uint32_t n = 0; n < 300; ++n) {
                (void) toy_interval(&toy, &osc_cached_adapt_defaults);
            }
            assert_true((double) toy.window.hits > 0.9 * (double) toy.window.gets);
            assert_true(toy.count > 900);
            assert_true(bytes[k] > 4 * MiB || toy.window.storage_bytes <= 32 * MiB);

            /* Another program phase: few small items, after an invalidation. */
            toy.num_items = 50;
            while (0 < toy.count) {
                toy_evict(&toy);
            }
            for (uint32_t n = 0; n < 100; ++n) {
                (void) toy_interval(&toy, &osc_cached_adapt_defaults);
            }
            assert_int_equal(toy.window.gets, toy.window.hits);
            assert_true((double) toy.window.storage_bytes < 5 * (double) toy.used);
            /* And back. */
            toy.num_items = 1000;
            for (uint32_t n = 0; n < 200; ++n) {
                (void) toy_interval(&toy, &osc_cached_adapt_defaults);
            }
            assert_true((double) toy.window.hits > 0.9 * (double) toy.window.gets);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_calm),
        cmocka_unit_test(test_index_grows),
        cmocka_unit_test(test_index_shrinks),
        cmocka_unit_test(test_storage_grows),
        cmocka_unit_test(test_storage_shrinks),
        cmocka_unit_test(test_growth_stays),
        cmocka_unit_test(test_random_windows),
        cmocka_unit_test(test_no_oscillation),
        cmocka_unit_test(test_converges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
