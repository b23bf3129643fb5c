/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_evict: scores, which positions a sample sees, limits of scans, paths, and the paper's
 * formula in long double over all positions seen.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_evict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES 4096
#define NONE OSC_CACHED_INDEX_NONE

/* The owner of the entries. Entry i has key i, and view i. */
typedef struct {
    osc_cached_index_t index;
    osc_cached_evict_query_t query;
    osc_cached_evict_view_t views[MAX_ENTRIES];
    bool in[MAX_ENTRIES];
    uint32_t viewed[MAX_ENTRIES]; /* entries that view was called for, in order */
    uint32_t num_viewed;
    uint64_t random;
} owner_t;

static owner_t owner;

static osc_cached_key_t key_of(void *context, uint32_t entry)
{
    osc_cached_key_t key;

    (void) context;
    memset(&key, 0, sizeof(key));
    key.address = (uint64_t) entry * 4096;
    key.target = 3;
    return key;
}

static void view_of(void *context, uint32_t entry, osc_cached_evict_view_t *view)
{
    owner_t *o = context;

    assert_true(entry < MAX_ENTRIES && o->in[entry]);
    o->viewed[o->num_viewed++ % MAX_ENTRIES] = entry;
    *view = o->views[entry];
}

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

static uint64_t hash_of(uint32_t entry)
{
    return osc_cached_index_hash(&owner.index, key_of(NULL, entry));
}

static int insert(uint32_t entry)
{
    int status = osc_cached_index_insert(&owner.index, hash_of(entry), entry);

    owner.in[entry] = owner.in[entry] || OSC_CACHED_OK == status;
    return status;
}

static void begin(uint32_t num_slots, uint64_t seed)
{
    memset(&owner, 0, sizeof(owner));
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_index_create(&owner.index, num_slots, 0, seed, NULL));
    owner.random = seed | 1;
    owner.query.scheme = OSC_CACHED_SCHEME_FULL;
    owner.query.sample = 16;
    owner.query.now = 1000;
    owner.query.average = 1000;
    owner.query.context = &owner;
    for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
        owner.views[i].victim = OSC_CACHED_VICTIM_BY_SCORE;
    }
}

static void end(void)
{
    assert_int_equal(0, osc_cached_index_verify(&owner.index, key_of, NULL));
    osc_cached_index_destroy(&owner.index);
}

static uint64_t seed_of_test(void)
{
    const char *text = getenv("OSC_CACHED_SEED");
    uint64_t seed = (NULL != text) ? strtoull(text, NULL, 0) : 20170529;

    print_message("OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    return seed;
}

/* The paper's formula, as it is written there. */
static long double naive_score(const osc_cached_evict_query_t *query,
                               const osc_cached_evict_view_t *view)
{
    long double average = query->average, now = query->now, last = view->last;
    long double positional =
        (0 == average) ? 1 : fminl(fabsl(average - (long double) view->adjacent) / average, 1);
    long double temporal = (0 == now) ? 1 : last / now;

    if (OSC_CACHED_VICTIM_FIRST == view->victim) {
        return -1;
    }
    if (OSC_CACHED_SCHEME_FULL == query->scheme) {
        return positional * temporal;
    }
    return (OSC_CACHED_SCHEME_TEMPORAL == query->scheme) ? temporal : positional;
}

/* R of an entry that may leave, in 0..1, of what is compared; -1 for a victim FIRST. */
static double score_of(const osc_cached_evict_query_t *query, const osc_cached_evict_view_t *view)
{
    double score = osc_cached_evict_rank(query, view);

    if (OSC_CACHED_VICTIM_FIRST == view->victim) {
        return -1;
    }
    if (0 != query->average && OSC_CACHED_SCHEME_TEMPORAL != query->scheme) {
        score /= (double) query->average;
    }
    if (0 != query->now && OSC_CACHED_SCHEME_POSITIONAL != query->scheme) {
        score /= (double) query->now;
    }
    return score;
}

/* Those of the owner's query. */
static uint32_t sample(uint32_t *visited, uint32_t *occupied)
{
    return osc_cached_evict_sample(&owner.index, &owner.query, view_of, visited, occupied);
}

static uint32_t path_victim(void)
{
    return osc_cached_evict_path(&owner.index, &owner.query, view_of);
}

static void test_score(void **state)
{
    /* scheme, victim, now, average, last, adjacent, score */
    static const struct {
        osc_cached_scheme_t scheme;
        osc_cached_victim_t victim;
        uint64_t now, average, last, adjacent;
        double score;
    } cases[] = {
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 50, 0, 0.5},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 50, 500, 0.25},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 50, 1500, 0.25},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 50, 1000, 0},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 100, 2000, 1},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 100, 999999, 1},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 0, 0, 0},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_FIRST, 100, 1000, 50, 500, -1},
        {OSC_CACHED_SCHEME_TEMPORAL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 50, 1000, 0.5},
        {OSC_CACHED_SCHEME_TEMPORAL, OSC_CACHED_VICTIM_FIRST, 100, 1000, 50, 1000, -1},
        {OSC_CACHED_SCHEME_POSITIONAL, OSC_CACHED_VICTIM_BY_SCORE, 100, 1000, 1, 250, 0.75},
        {OSC_CACHED_SCHEME_POSITIONAL, OSC_CACHED_VICTIM_FIRST, 100, 1000, 1, 250, -1},
        /* 0 / 0 */
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 0, 1000, 0, 500, 0.5},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 100, 0, 50, 0, 0.5},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, 0, 0, 0, 0, 1},
        /* all bits */
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0,
         1},
        {OSC_CACHED_SCHEME_FULL, OSC_CACHED_VICTIM_BY_SCORE, UINT64_MAX, 1, UINT64_MAX, UINT64_MAX,
         1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        osc_cached_evict_query_t query = {cases[i].scheme, 16, cases[i].now, cases[i].average,
                                          NULL};
        osc_cached_evict_view_t view = {cases[i].victim, cases[i].last, cases[i].adjacent};

        assert_true(cases[i].score == score_of(&query, &view));
    }
}

/* What osc_cached_evict_sample should see and return, from the start that it will have. */
typedef struct {
    uint32_t position, visited, occupied;
    uint32_t viewed[MAX_ENTRIES];
    uint64_t product;  /* of the victim: exact if numbers are small */
    long double score; /* the lowest */
} expected_t;

static void naive_sample(expected_t *expected)
{
    osc_cached_index_t twin = owner.index;
    uint32_t start = osc_cached_index_random_position(&twin);
    uint32_t slots = osc_cached_index_num_slots(&twin);

    expected->position = NONE;
    expected->visited = expected->occupied = 0;
    expected->score = INFINITY;
    for (uint32_t i = 0; i < slots && i < 64 * owner.query.sample; ++i) {
        uint32_t position = (start + i) % slots, entry = osc_cached_index_at(&twin, position);
        const osc_cached_evict_view_t *view;
        uint64_t off, product;
        long double score;

        if (i >= owner.query.sample && NONE != expected->position) {
            break;
        }
        ++expected->visited;
        if (NONE == entry) {
            continue;
        }
        expected->viewed[expected->occupied++] = entry;
        view = &owner.views[entry];
        if (OSC_CACHED_VICTIM_NEVER == view->victim) {
            continue;
        }
        score = naive_score(&owner.query, view);
        off = (uint64_t) llabs((long long) (owner.query.average - view->adjacent));
        product = (off < owner.query.average) ? off : owner.query.average;
        if (OSC_CACHED_SCHEME_FULL == owner.query.scheme) {
            product *= view->last;
        } else if (OSC_CACHED_SCHEME_TEMPORAL == owner.query.scheme) {
            product = view->last;
        }
        if (NONE == expected->position || OSC_CACHED_VICTIM_FIRST == view->victim
            || product < expected->product) {
            expected->position = position;
            expected->product = product;
        }
        expected->score =
            (1 == expected->occupied || score < expected->score) ? score : expected->score;
        if (OSC_CACHED_VICTIM_FIRST == view->victim) {
            break;
        }
    }
}

/* @param exact  whether products of the numbers fit in a double */
static uint32_t check_sample(bool exact)
{
    static expected_t expected;
    uint32_t visited = 7, occupied = 5, position;

    naive_sample(&expected);
    owner.num_viewed = 0;
    position = sample(&visited, &occupied);
    assert_int_equal(7 + expected.visited, visited);
    assert_int_equal(5 + expected.occupied, occupied);
    assert_int_equal(expected.occupied, owner.num_viewed);
    assert_memory_equal(expected.viewed, owner.viewed, expected.occupied * sizeof(uint32_t));
    if (exact || NONE == expected.position) {
        assert_int_equal(expected.position, position);
    } else {
        uint32_t entry = osc_cached_index_at(&owner.index, position);
        long double score = naive_score(&owner.query, &owner.views[entry]);

        assert_true(OSC_CACHED_VICTIM_NEVER != owner.views[entry].victim);
        assert_true(fabsl(score - expected.score) <= 1e-15L * fabsl(expected.score));
    }
    return position;
}

static void random_view(uint32_t entry, bool exact)
{
    uint32_t what = below(&owner.random, 100);
    osc_cached_evict_view_t *view = &owner.views[entry];

    view->victim = (what < 20)   ? OSC_CACHED_VICTIM_NEVER
                   : (what < 22) ? OSC_CACHED_VICTIM_FIRST
                                 : OSC_CACHED_VICTIM_BY_SCORE;
    view->last = random_bits(&owner.random) >> (exact ? 38 : 4);
    view->adjacent = random_bits(&owner.random) >> (exact ? 47 : 24);
    if (0 == below(&owner.random, 3)) { /* ties */
        view->last >>= exact ? 23 : 57;
        view->adjacent = 0;
    }
}

static void random_query(bool exact)
{
    static const uint32_t samples[] = {1, 2, 4, 8, 16, 16, 32, 64, 100};

    owner.query.scheme = (osc_cached_scheme_t) below(&owner.random, 3);
    owner.query.sample = samples[below(&owner.random, sizeof(samples) / sizeof(samples[0]))];
    owner.query.now = (UINT64_C(1) << (exact ? 26 : 60)) + below(&owner.random, 1000);
    owner.query.average = 1 + (random_bits(&owner.random) >> (exact ? 48 : 25));
}

/* No other of the first 4 x M steps has a lower score. */
static void check_path(uint32_t victim)
{
    uint32_t length;
    const osc_cached_index_step_t *path = osc_cached_index_path(&owner.index, &length);
    long double lowest = INFINITY;

    for (uint32_t i = 0; i < length && i < 4 * owner.query.sample; ++i) {
        const osc_cached_evict_view_t *view = &owner.views[path[i].entry];

        if (OSC_CACHED_VICTIM_NEVER != view->victim) {
            lowest = fminl(lowest, naive_score(&owner.query, view));
        }
    }
    if (NONE == victim) {
        assert_true(INFINITY == lowest);
    } else {
        long double score = naive_score(&owner.query, &owner.views[path[victim].entry]);

        assert_true(victim < length && victim < 4 * owner.query.sample);
        assert_true(OSC_CACHED_VICTIM_NEVER != owner.views[path[victim].entry].victim);
        assert_true(fabsl(score - lowest) <= 1e-15L * fabsl(lowest));
    }
}

static void random_operations(bool exact, uint64_t seed, uint32_t operations)
{
    uint32_t found = 0, paths = 0;
    uint32_t slots = 0;

    begin(1000, seed);
    for (uint32_t operation = 0; operation < operations; ++operation) {
        uint32_t entry = below(&owner.random, MAX_ENTRIES);

        if (0 == operation % 20000) { /* dense, sparse, tiny */
            slots = 16 + below(&owner.random, (0 == below(&owner.random, 2)) ? 100 : 3000);
            osc_cached_index_clear(&owner.index);
            memset(owner.in, 0, sizeof(owner.in));
            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_index_resize(&owner.index, slots, key_of, NULL));
        }
        random_query(exact);
        if (owner.in[entry]) {
            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_index_remove(&owner.index, hash_of(entry), entry));
            owner.in[entry] = false;
        } else if (0 == operation / 20000 % 2 || owner.index.count < slots / 20) {
            random_view(entry, exact);
            if (OSC_CACHED_FULL == insert(entry)) {
                uint32_t victim = path_victim();

                check_path(victim);
                if (NONE != victim) {
                    uint32_t leaves = owner.index.path[victim].entry;

                    assert_int_equal(
                        OSC_CACHED_OK,
                        osc_cached_index_replace(&owner.index, hash_of(entry), entry, victim));
                    owner.in[leaves] = false;
                    owner.in[entry] = true;
                    ++paths;
                }
            }
        }
        found += NONE != check_sample(exact);
    }
    print_message("%u victims sampled, %u found on paths\n", found, paths);
    assert_true(found > operations / 2 && paths > operations / 1000);
    end();
}

static void test_random_operations(void **state)
{
    uint64_t seed = seed_of_test();

    (void) state;
    random_operations(true, seed, 800000);
    random_operations(false, seed + 1, 200000);
}

/* Counts of independent events, as likely as the weights: the sum of squares is as expected. */
static void assert_distributed(const uint32_t *counts, const uint32_t *weights, uint32_t number)
{
    double sum = 0, weight = 0, chi = 0;

    for (uint32_t i = 0; i < number; ++i) {
        sum += counts[i];
        weight += weights[i];
    }
    for (uint32_t i = 0; i < number; ++i) {
        double expected = sum * weights[i] / weight;

        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    print_message("chi square %.1f of %u\n", chi, number - 1);
    assert_true(fabs(chi - (number - 1)) < 6 * sqrt(2. * (number - 1)));
}

/* Samples of one: each entry leaves as often as the empty positions before it, plus one, tell. */
static void test_start_is_uniform(void **state)
{
    enum { SLOTS = 240, TIMES = 1000000 };
    static uint32_t counts[SLOTS], weights[SLOTS];
    uint32_t number = 0, weight = 0, visited = 0, occupied = 0, first = NONE;

    (void) state;
    begin(SLOTS, seed_of_test());
    for (uint32_t i = 0; i < SLOTS / 2; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(i));
    }
    memset(counts, 0, sizeof(counts));
    owner.query.sample = 1;
    for (uint32_t i = 0; i < TIMES; ++i) {
        ++counts[sample(&visited, &occupied)];
    }
    for (uint32_t i = 0; i < SLOTS; ++i) {
        ++weight;
        if (NONE == osc_cached_index_at(&owner.index, i)) {
            assert_int_equal(0, counts[i]);
        } else {
            first = (NONE == first) ? number : first;
            counts[number] = counts[i];
            weights[number++] = weight;
            weight = 0;
        }
    }
    weights[first] += weight;
    assert_int_equal(SLOTS / 2, number);
    assert_int_equal(TIMES, occupied);
    assert_distributed(counts, weights, number);
    end();
}

/* Samples of 16: each entry is seen equally often, so that with random scores each leaves equally
 * often. */
static void test_sample_is_fair(void **state)
{
    enum { SLOTS = 1024, ENTRIES = 900, TIMES = 200000 };
    static uint32_t seen[ENTRIES], left[ENTRIES];
    uint32_t visited = 0, occupied = 0;
    double deviation = sqrt(TIMES * 16. / SLOTS);
    double least = TIMES, most = 0;

    (void) state;
    begin(SLOTS, seed_of_test());
    memset(seen, 0, sizeof(seen));
    memset(left, 0, sizeof(left));
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(i));
    }
    owner.query.scheme = OSC_CACHED_SCHEME_TEMPORAL;
    for (uint32_t i = 0; i < TIMES; ++i) {
        uint32_t position;

        owner.num_viewed = 0;
        position = sample(&visited, &occupied);
        assert_true(NONE != position);
        ++left[osc_cached_index_at(&owner.index, position)];
        for (uint32_t k = 0; k < owner.num_viewed; ++k) {
            ++seen[owner.viewed[k]];
            owner.views[owner.viewed[k]].last = random_bits(&owner.random) >> 20;
        }
    }
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        least = fmin(least, seen[i]);
        most = fmax(most, seen[i]);
        assert_true(fabs(left[i] - (double) TIMES / ENTRIES) < 7 * sqrt((double) TIMES / ENTRIES));
    }
    print_message("seen %.0f..%.0f times, expected %.0f\n", least, most, TIMES * 16. / SLOTS);
    assert_true(least > TIMES * 16. / SLOTS - 6 * deviation);
    assert_true(most < TIMES * 16. / SLOTS + 6 * deviation);
    /* q is the load */
    assert_int_equal(16 * TIMES, visited);
    assert_true(fabs((double) occupied / visited - (double) ENTRIES / SLOTS) < 0.01);
    end();
}

/* Nothing that could leave: the scan ends, and in time. */
static void test_scan_ends(void **state)
{
    uint32_t visited = 0, occupied = 0;

    (void) state;
    begin(4096, 1);
    owner.query.sample = 4;
    assert_int_equal(NONE, sample(&visited, &occupied));
    assert_int_equal(256, visited);
    assert_int_equal(0, occupied);
    /* a round at the most */
    owner.query.sample = 1000;
    visited = 0;
    assert_int_equal(NONE, sample(&visited, &occupied));
    assert_int_equal(4096, visited);
    owner.query.sample = UINT32_MAX;
    visited = 0;
    assert_int_equal(NONE, sample(&visited, &occupied));
    assert_int_equal(4096, visited);
    owner.query.sample = 0;
    visited = 0;
    assert_int_equal(NONE, sample(&visited, &occupied));
    assert_int_equal(64, visited);

    /* all pending */
    owner.query.sample = 16;
    visited = 0;
    for (uint32_t i = 0; i < 3000; ++i) {
        owner.views[i].victim = OSC_CACHED_VICTIM_NEVER;
        assert_int_equal(OSC_CACHED_OK, insert(i));
    }
    assert_int_equal(NONE, sample(&visited, &occupied));
    assert_int_equal(1024, visited);
    assert_int_equal(occupied, owner.num_viewed);

    /* all but one: found from the positions before it, and only from there */
    owner.views[77].victim = OSC_CACHED_VICTIM_BY_SCORE;
    owner.views[77].last = 1000;
    for (uint32_t i = 0, found = 0; i < 1000; ++i) {
        uint32_t position = check_sample(true);

        found += NONE != position;
        assert_true(NONE == position || 77 == osc_cached_index_at(&owner.index, position));
        assert_true(i < 999 || (found > 180 && found < 320)); /* 1024 of 4096: 250 */
    }
    end();
}

static void test_first(void **state)
{
    uint32_t visited = 0, occupied = 0;

    (void) state;
    begin(64, 1);
    owner.query.sample = 64;
    for (uint32_t i = 0; i < 50; ++i) {
        owner.views[i].last = i; /* entry 0: score 0 */
        assert_int_equal(OSC_CACHED_OK, insert(i));
    }
    assert_int_equal(0, osc_cached_index_at(&owner.index, check_sample(true)));
    owner.views[30].victim = OSC_CACHED_VICTIM_FIRST;
    for (uint32_t i = 0; i < 100; ++i) {
        uint32_t position = sample(&visited, &occupied);

        assert_int_equal(30, osc_cached_index_at(&owner.index, position));
    }
    assert_true(visited < 100 * 64); /* the scan stops there */
    end();
}

/* Insert until refused. @return the one that was */
static uint32_t fill(void)
{
    for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
        if (OSC_CACHED_OK != insert(i)) {
            return i;
        }
    }
    fail();
    return NONE;
}

static void test_path(void **state)
{
    uint32_t length, last;
    const osc_cached_index_step_t *path;

    (void) state;
    begin(512, 3);
    assert_int_equal(NONE, path_victim());
    for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
        owner.views[i].last = 500;
    }
    last = fill();
    path = osc_cached_index_path(&owner.index, &length);
    assert_true(length > 40);

    /* the first of equal ones */
    assert_int_equal(0, path_victim());
    owner.views[path[0].entry].victim = OSC_CACHED_VICTIM_NEVER;
    assert_int_equal(1, path_victim());
    /* the lowest, but only of the first 4 x M */
    owner.query.sample = 5;
    owner.views[path[19].entry].last = 100;
    owner.views[path[20].entry].last = 1;
    assert_int_equal(19, path_victim());
    owner.query.sample = 6;
    assert_int_equal(20, path_victim());
    owner.query.sample = UINT32_MAX;
    assert_int_equal(20, path_victim());
    owner.query.sample = 0; /* counts as 1 */
    assert_int_equal(1, path_victim());
    owner.query.sample = 16;
    /* space next to it counts, too */
    owner.views[path[7].entry].adjacent = 1000;
    assert_int_equal(7, path_victim());
    owner.query.scheme = OSC_CACHED_SCHEME_TEMPORAL;
    assert_int_equal(20, path_victim());
    /* the dead first */
    owner.views[path[30].entry].victim = OSC_CACHED_VICTIM_FIRST;
    owner.views[path[33].entry].victim = OSC_CACHED_VICTIM_FIRST;
    owner.num_viewed = 0;
    assert_int_equal(30, path_victim());
    assert_int_equal(31, owner.num_viewed);
    /* nobody */
    for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
        owner.views[i].victim = OSC_CACHED_VICTIM_NEVER;
    }
    assert_int_equal(NONE, path_victim());
    /* it is what the index understands */
    owner.views[path[12].entry].victim = OSC_CACHED_VICTIM_BY_SCORE;
    assert_int_equal(12, path_victim());
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_index_replace(&owner.index, hash_of(last), last, 12));
    assert_int_equal(NONE, path_victim());
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_scan_ends),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_start_is_uniform),
        cmocka_unit_test(test_sample_is_fair),
        cmocka_unit_test(test_random_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
