/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_index: hash, strides, fill level, full paths, resizing, sampling, failure of the
 * allocator, and a naive model.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES 4096
#define NONE OSC_CACHED_INDEX_NONE

/* The owner of the entries: their keys. Odd ones have huge numbers, so that no bit is lost. */
static osc_cached_key_t keys[MAX_ENTRIES];

static uint32_t number_of(uint32_t i)
{
    return (0 == i % 2) ? i : NONE - i;
}

static uint32_t slot_of(uint32_t entry)
{
    return (entry < MAX_ENTRIES) ? entry : NONE - entry;
}

static osc_cached_key_t key_of(void *context, uint32_t entry)
{
    (void) context;
    assert_true(slot_of(entry) < MAX_ENTRIES);
    return keys[slot_of(entry)];
}

static bool match(void *context, uint32_t entry, osc_cached_key_t key)
{
    return osc_cached_key_equal(key_of(context, entry), key);
}

static osc_cached_key_t make_key(int32_t target, uint64_t address)
{
    osc_cached_key_t key = {address, target, 0};

    return key;
}

/* Counts what is in use, checks that sizes come back, fails at the Nth request. */
typedef struct {
    size_t in_use;   /* blocks */
    size_t bytes;    /* in use */
    size_t requests; /* so far */
    size_t fail_at;  /* 0: never; else the request with this number (from 1) fails */
} count_t;

static void *count_alloc(void *context, size_t alignment, size_t bytes)
{
    count_t *count = context;
    void *memory;

    if (++count->requests == count->fail_at) {
        return NULL;
    }
    memory = osc_cached_alloc_default.alloc(NULL, alignment, bytes);
    assert_non_null(memory);
    memset(memory, 0x5a, bytes);
    ++count->in_use;
    count->bytes += bytes;
    return memory;
}

static void count_free(void *context, void *memory, size_t bytes)
{
    count_t *count = context;

    --count->in_use;
    count->bytes -= bytes;
    osc_cached_alloc_default.free(NULL, memory, bytes);
}

typedef struct {
    count_t count;
    osc_cached_index_t index;
} fixture_t;

static void begin(fixture_t *f, uint32_t num_slots, uint32_t path_max, uint64_t seed)
{
    count_t zero = {0, 0, 0, 0};
    osc_cached_alloc_t alloc = {count_alloc, count_free, &f->count};

    f->count = zero;
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_index_create(&f->index, num_slots, path_max, seed, &alloc));
}

static void verify(const fixture_t *f)
{
    assert_int_equal(0, osc_cached_index_verify(&f->index, key_of, NULL));
}

static void end(fixture_t *f)
{
    verify(f);
    osc_cached_index_destroy(&f->index);
    assert_int_equal(0, f->count.in_use);
    assert_int_equal(0, f->count.bytes);
}

static uint64_t hash_of(const fixture_t *f, uint32_t i)
{
    return osc_cached_index_hash(&f->index, keys[i]);
}

static int insert(fixture_t *f, uint32_t i)
{
    return osc_cached_index_insert(&f->index, hash_of(f, i), number_of(i));
}

static void remove_found(fixture_t *f, uint32_t entry)
{
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_index_remove(&f->index, hash_of(f, slot_of(entry)), entry));
}

static bool has(const fixture_t *f, uint32_t i)
{
    uint32_t entry = osc_cached_index_lookup(&f->index, hash_of(f, i), keys[i], match, NULL);

    assert_true(NONE == entry || number_of(i) == entry);
    return NONE != entry;
}

/* All of keys[0..count) but one, and nothing else. */
static void assert_all_but(const fixture_t *f, uint32_t count, uint32_t missing)
{
    for (uint32_t i = 0; i < count; ++i) {
        assert_int_equal(i != missing, has(f, i));
    }
}

/* Insert keys[0], keys[1], ... until one is refused. @return its number */
static uint32_t fill(fixture_t *f)
{
    uint32_t i = 0;

    while (i < MAX_ENTRIES && OSC_CACHED_OK == insert(f, i)) {
        ++i;
    }
    assert_true(i < MAX_ENTRIES);
    return i;
}

static void number_keys(void)
{
    for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
        keys[i] = make_key((int32_t) (i % 5), (uint64_t) i * 4096);
    }
}

/* xorshift64*: small, and the same everywhere. */
static uint32_t below(uint64_t *state, uint32_t limit)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t) (((*state * UINT64_C(2685821657736338717)) >> 33) % limit);
}

static void test_arguments(void **state)
{
    static const uint32_t sizes[][2] = {{0, 16}, {1, 16}, {16, 16}, {17, 32}, {1000, 1008}};
    osc_cached_index_t index;

    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        assert_int_equal(OSC_CACHED_OK, osc_cached_index_create(&index, sizes[i][0], 0, 1, NULL));
        assert_int_equal(sizes[i][1], osc_cached_index_num_slots(&index));
        assert_int_equal(OSC_CACHED_INDEX_PATH_DEFAULT, index.path_max);
        assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_index_insert(&index, 1, NONE));
        assert_int_equal(OSC_CACHED_NOT_FOUND, osc_cached_index_remove(&index, 1, NONE));
        assert_int_equal(OSC_CACHED_NOT_FOUND, osc_cached_index_remove(&index, 1, 0));
        assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_index_replace(&index, 0, 1, 0));
        assert_int_equal(
            OSC_CACHED_BAD_ARGUMENT,
            osc_cached_index_resize(&index, OSC_CACHED_INDEX_SLOTS_MAX + 1, key_of, NULL));
        assert_int_equal(0, osc_cached_index_verify(&index, NULL, NULL));
        osc_cached_index_destroy(&index);
    }
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_index_create(&index, UINT32_MAX, 0, 1, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_index_create(&index, 16, OSC_CACHED_INDEX_PATH_MAX + 1, 1, NULL));
}

/* Each of a key's 96 bits changes each bit of the hash half of the time. */
static void test_avalanche(void **state)
{
    enum { ROUNDS = 4096 };
    osc_cached_key_seed_t seed = osc_cached_key_seed(7);

    (void) state;
    for (int in = 0; in < 96; ++in) {
        int changed[64] = {0};

        for (int i = 0; i < ROUNDS; ++i) {
            /* Neighbouring addresses of a few targets, the worst a program offers. */
            osc_cached_key_t a = make_key(i % 4, (uint64_t) i * 8), b = a;
            uint64_t difference;

            if (in < 64) {
                b.address ^= UINT64_C(1) << in;
            } else {
                b.target = (int32_t) ((uint32_t) b.target ^ (UINT32_C(1) << (in - 64)));
            }
            difference = osc_cached_key_hash(&seed, a) ^ osc_cached_key_hash(&seed, b);
            for (int out = 0; out < 64; ++out) {
                changed[out] += (int) ((difference >> out) & 1);
            }
        }
        for (int out = 0; out < 64; ++out) {
            assert_in_range(changed[out], ROUNDS * 45 / 100, ROUNDS * 55 / 100);
        }
    }
}

/* 256 keys at any power-of-two stride, in tables of power-of-two sizes: all found again. */
static void test_power_of_two_strides(void **state)
{
    static const uint32_t sizes[] = {272, 512, 1024, 2000, 4096};

    (void) state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        for (int shift = 0; shift <= 56; ++shift) {
            fixture_t f;
            uint32_t found = 0;

            begin(&f, sizes[s], 0, (uint64_t) shift);
            for (uint32_t i = 0; i < 256; ++i) {
                keys[i] = make_key(1, (uint64_t) i << shift);
                assert_int_equal(OSC_CACHED_OK, insert(&f, i));
            }
            for (uint32_t i = 0; i < 256; ++i) {
                found += has(&f, i);
            }
            assert_int_equal(256, found);
            assert_int_equal(256, f.index.count);
            end(&f);
        }
    }
}

/* The same address at many targets, addresses 2^32 apart, the ends of both ranges. */
static void test_all_of_the_key_counts(void **state)
{
    fixture_t f;
    uint32_t n = 0;

    (void) state;
    begin(&f, 2048, 0, 3);
    for (int32_t target = 0; target < 1024; ++target) {
        keys[n++] = make_key(target, 4096);
    }
    for (uint32_t i = 0; i < 256; ++i) {
        keys[n++] = make_key(0, (uint64_t) i << 32);
    }
    keys[n++] = make_key(INT32_MAX, UINT64_MAX);
    keys[n++] = make_key(INT32_MIN, UINT64_MAX);
    keys[n++] = make_key(-1, 0);
    for (uint32_t i = 0; i < n; ++i) {
        assert_false(has(&f, i));
        assert_int_equal(OSC_CACHED_OK, insert(&f, i));
    }
    assert_all_but(&f, n, NONE);
    end(&f);
}

static void test_fill_level(void **state)
{
    /* slots, seeds */
    static const uint32_t cases[][2] = {{16, 50},   {100, 50},  {1000, 40},  {1024, 40},
                                        {3000, 20}, {4080, 20}, {100000, 3}, {131072, 3}};

    (void) state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        double sum = 0, least = 1, most = 0;

        for (uint32_t seed = 1; seed <= cases[c][1]; ++seed) {
            osc_cached_index_t index;
            double level;

            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_index_create(&index, cases[c][0], 0, seed, NULL));
            for (uint32_t i = 0;; ++i) {
                uint64_t hash = osc_cached_index_hash(&index, make_key(0, (uint64_t) i * 64));

                if (OSC_CACHED_OK != osc_cached_index_insert(&index, hash, i)) {
                    assert_int_equal(i, index.count);
                    break;
                }
            }
            level = (double) index.count / osc_cached_index_num_slots(&index);
            sum += level;
            least = (level < least) ? level : least;
            most = (level > most) ? level : most;
            assert_int_equal(0, osc_cached_index_verify(&index, NULL, NULL));
            osc_cached_index_destroy(&index);
        }
        print_message("%6u slots, %2u seeds: full at %.2f %% on average (%.2f .. %.2f)\n",
                      cases[c][0], cases[c][1], 100 * sum / cases[c][1], 100 * least, 100 * most);
        assert_true(0.97 <= sum / cases[c][1]);
    }
}

/* Under churn at 90 % hardly an insertion is refused. */
static void test_conflicts_at_90_percent(void **state)
{
    uint64_t random = 11;
    uint32_t refused = 0;
    fixture_t f;

    (void) state;
    begin(&f, 4096, 0, 5);
    for (uint32_t i = 0; i < 3686; ++i) {
        keys[i] = make_key(0, (uint64_t) i * 64);
        assert_int_equal(OSC_CACHED_OK, insert(&f, i));
    }
    for (uint64_t address = 4096; address < 4096 + 100000; ++address) {
        uint32_t i = below(&random, 3686);

        /* Not there, if it had to leave before. */
        (void) osc_cached_index_remove(&f.index, hash_of(&f, i), number_of(i));
        keys[i].address = address * 64;
        if (OSC_CACHED_OK != insert(&f, i)) {
            ++refused;
            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_index_replace(&f.index, hash_of(&f, i), number_of(i), 0));
        }
    }
    assert_true(refused < 1000);
    end(&f);
}

/* Whichever entry of the path leaves, all others stay and the new one is in. */
static void test_full_path(void **state)
{
    static osc_cached_index_line_t lines[256 / OSC_CACHED_INDEX_LINE_SLOTS];

    (void) state;
    number_keys();
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const osc_cached_index_step_t *path;
        osc_cached_index_t before;
        uint32_t count, length;
        fixture_t f;

        begin(&f, 256, 40, seed);
        count = fill(&f);
        path = osc_cached_index_path(&f.index, &length);
        assert_in_range(length, 1, 40);
        verify(&f);
        assert_all_but(&f, count, NONE);
        assert_false(has(&f, count));
        for (uint32_t i = 0; i < length; ++i) {
            assert_int_equal(path[i].entry, osc_cached_index_at(&f.index, path[i].position));
        }
        memcpy(lines, f.index.lines, sizeof(lines));
        before = f.index;
        for (uint32_t victim = 0; victim < length; ++victim) {
            memcpy(f.index.lines, lines, sizeof(lines));
            f.index = before;
            assert_int_equal(OSC_CACHED_OK, osc_cached_index_replace(&f.index, hash_of(&f, count),
                                                                     number_of(count), victim));
            assert_int_equal(count, f.index.count);
            verify(&f);
            assert_all_but(&f, count + 1, slot_of(path[victim].entry));
        }
        end(&f);
    }
}

/* A path serves one replacement of the refused key, and only while nothing has changed. */
static void test_path_out_of_date(void **state)
{
    uint32_t count, length;
    fixture_t f;
    uint64_t hash;

    (void) state;
    number_keys();
    begin(&f, 64, 0, 2);
    count = fill(&f);
    hash = hash_of(&f, count);
    (void) osc_cached_index_path(&f.index, &length);
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_index_replace(&f.index, hash, number_of(count), length));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_index_replace(&f.index, hash + 1, number_of(count), 0));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_index_replace(&f.index, hash, NONE, 0));
    assert_all_but(&f, count, NONE);
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_index_replace(&f.index, hash, number_of(count), length - 1));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_index_replace(&f.index, hash, number_of(count), 0));
    assert_int_equal(OSC_CACHED_OK, osc_cached_index_remove(&f.index, hash, number_of(count)));
    assert_false(has(&f, count));

    end(&f);
    begin(&f, 64, 0, 2);
    count = fill(&f);
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_index_remove(&f.index, hash_of(&f, 0), number_of(0)));
    (void) osc_cached_index_path(&f.index, &length);
    assert_int_equal(0, length);
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_index_replace(&f.index, hash_of(&f, count), number_of(count), 0));
    end(&f);
}

/* A full table is searched less and less, one that has room again more and more. */
static void test_patience(void **state)
{
    uint32_t count, length;
    fixture_t f;

    (void) state;
    number_keys();
    begin(&f, 1024, 128, 9);
    count = fill(&f);
    for (uint32_t i = count; i < count + 100; ++i) {
        int status = insert(&f, i);

        if (OSC_CACHED_FULL == status) {
            (void) osc_cached_index_path(&f.index, &length);
            assert_int_equal(OSC_CACHED_OK, osc_cached_index_replace(&f.index, hash_of(&f, i),
                                                                     number_of(i), length / 2));
        }
    }
    assert_true(f.index.patience < 128);
    for (uint32_t i = 0; i < 100; ++i) {
        (void) osc_cached_index_remove(&f.index, hash_of(&f, i), number_of(i));
    }
    for (uint32_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(&f, 2000 + i));
    }
    assert_int_equal(128, f.index.patience);
    end(&f);
}

/* Keys that share the whole hash: told apart by the owner, 16 of them fit. */
static void test_equal_hashes(void **state)
{
    static const uint64_t hashes[] = {0, UINT32_MAX, UINT64_C(0x1234567800000000), UINT64_MAX,
                                      UINT64_C(0xfedcba9876543210)};

    (void) state;
    number_keys();
    for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); ++h) {
        uint32_t length;
        fixture_t f;

        begin(&f, 1000, 0, 1);
        for (uint32_t i = 0; i < 17; ++i) {
            assert_int_equal(NONE, osc_cached_index_lookup(&f.index, hashes[h], keys[i], match, 0));
            assert_int_equal((i < 16) ? OSC_CACHED_OK : OSC_CACHED_FULL,
                             osc_cached_index_insert(&f.index, hashes[h], number_of(i)));
        }
        (void) osc_cached_index_path(&f.index, &length);
        assert_in_range(length, 1, 16);
        assert_int_equal(OSC_CACHED_OK,
                         osc_cached_index_replace(&f.index, hashes[h], number_of(16), length - 1));
        assert_int_equal(0, osc_cached_index_verify(&f.index, NULL, NULL));
        assert_int_equal(16, f.index.count);
        length = 0;
        for (uint32_t i = 0; i < 17; ++i) {
            uint32_t entry = osc_cached_index_lookup(&f.index, hashes[h], keys[i], match, NULL);

            if (NONE != entry) {
                assert_int_equal(number_of(i), entry);
                assert_int_equal(OSC_CACHED_OK,
                                 osc_cached_index_remove(&f.index, hashes[h], entry));
                ++length;
            }
        }
        assert_int_equal(16, length);
        assert_int_equal(0, f.index.count);
        end(&f);
    }
}

static void test_resize_keeps_all(void **state)
{
    static const uint32_t sizes[] = {2000, 1100, 1040, 4096, 65536, 1500, 1024, 3000};
    uint32_t refused = 0;
    fixture_t f;

    (void) state;
    number_keys();
    begin(&f, 1040, 0, 4);
    for (uint32_t i = 0; i < 1000; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(&f, i));
    }
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        uint32_t before = osc_cached_index_num_slots(&f.index);
        int status = osc_cached_index_resize(&f.index, sizes[s], key_of, NULL);

        if (1000 < sizes[s] * 0.965) {
            assert_int_equal(OSC_CACHED_OK, status);
        }
        if (OSC_CACHED_OK == status) {
            assert_int_equal((sizes[s] + 15) / 16 * 16, osc_cached_index_num_slots(&f.index));
        } else {
            assert_int_equal(OSC_CACHED_FULL, status);
            assert_int_equal(before, osc_cached_index_num_slots(&f.index));
        }
        assert_int_equal(1000, f.index.count);
        assert_int_equal(2, f.count.in_use);
        verify(&f);
        assert_all_but(&f, 1001, 1000);
    }
    /* Too small, by number and by luck: refused, and everything is still there. */
    for (uint32_t slots = 0; slots <= 1008; slots += 16) {
        int status = osc_cached_index_resize(&f.index, slots, key_of, NULL);

        refused += OSC_CACHED_FULL == status;
        assert_true(OSC_CACHED_FULL == status || (OSC_CACHED_OK == status && 1000 < slots));
        verify(&f);
        assert_all_but(&f, 1001, 1000);
    }
    assert_true(63 <= refused);
    end(&f);
}

static void test_sampling(void **state)
{
    static uint8_t seen[MAX_ENTRIES];
    uint32_t count = 0, slots;
    fixture_t f;

    (void) state;
    number_keys();
    memset(seen, 0, sizeof(seen));
    begin(&f, 600, 0, 8);
    slots = osc_cached_index_num_slots(&f.index);
    for (uint32_t i = 0; i < 300; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(&f, i));
    }
    for (uint32_t position = 0; position < slots; ++position) {
        uint32_t entry = osc_cached_index_at(&f.index, position);

        if (NONE != entry) {
            assert_int_equal(0, seen[slot_of(entry)]++);
            ++count;
        }
    }
    assert_int_equal(300, count);
    /* Random positions reach all entries. */
    memset(seen, 0, sizeof(seen));
    count = 0;
    for (uint32_t i = 0; i < slots * 30; ++i) {
        uint32_t position = osc_cached_index_random_position(&f.index);
        uint32_t entry;

        assert_true(position < slots);
        entry = osc_cached_index_at(&f.index, position);
        if (NONE != entry && 0 == seen[slot_of(entry)]++) {
            ++count;
        }
    }
    assert_int_equal(300, count);
    /* What a scan finds can be removed, in whichever line it is. */
    for (uint32_t position = 0; position < slots; ++position) {
        uint32_t entry = osc_cached_index_at(&f.index, position);

        if (NONE != entry) {
            remove_found(&f, entry);
            assert_true(!has(&f, slot_of(entry)));
            assert_int_equal(NONE, osc_cached_index_at(&f.index, position));
        }
    }
    assert_int_equal(0, f.index.count);
    end(&f);
}

static void test_failing_allocations(void **state)
{
    fixture_t f;
    osc_cached_alloc_t alloc = {count_alloc, count_free, &f.count};
    uint32_t slots;

    (void) state;
    number_keys();
    for (size_t fail_at = 1; fail_at <= 3; ++fail_at) {
        count_t fresh = {0, 0, 0, 0};
        int status;

        fresh.fail_at = fail_at;
        f.count = fresh;
        status = osc_cached_index_create(&f.index, 100, 0, 1, &alloc);
        assert_int_equal((fail_at <= 2) ? OSC_CACHED_NO_MEMORY : OSC_CACHED_OK, status);
        if (OSC_CACHED_OK != status) {
            assert_int_equal(0, f.count.in_use);
            assert_int_equal(fail_at, f.count.requests);
        }
    }
    for (uint32_t i = 0; i < 90; ++i) {
        assert_int_equal(OSC_CACHED_OK, insert(&f, i));
    }
    assert_int_equal(2, f.count.requests); /* an insertion asks for none */
    slots = osc_cached_index_num_slots(&f.index);
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_index_resize(&f.index, 1000, key_of, NULL));
    assert_int_equal(slots, osc_cached_index_num_slots(&f.index));
    verify(&f);
    assert_all_but(&f, 91, 90);
    assert_int_equal(OSC_CACHED_OK, osc_cached_index_resize(&f.index, 1000, key_of, NULL));
    assert_all_but(&f, 91, 90);
    end(&f);
}

/* Break each invariant once. */
static void test_verify_sees(void **state)
{
    osc_cached_index_t good;
    osc_cached_index_line_t line;
    osc_cached_index_step_t step;
    uint32_t count;
    fixture_t f;

    (void) state;
    number_keys();
    begin(&f, 64, 0, 6);
    count = fill(&f);
    assert_true(0 < count);
    good = f.index;
    f.index.num_pairs = 0;
    assert_int_equal(1, osc_cached_index_verify(&f.index, key_of, NULL));
    f.index = good;
    ++f.index.count;
    assert_int_equal(2, osc_cached_index_verify(&f.index, key_of, NULL));
    f.index = good;
    f.index.patience = f.index.path_max + 1;
    assert_int_equal(7, osc_cached_index_verify(&f.index, key_of, NULL));
    f.index = good;
    step = f.index.path[0];
    ++f.index.path[0].entry;
    assert_int_equal(6, osc_cached_index_verify(&f.index, key_of, NULL));
    f.index.path[0] = step;
    line = f.index.lines[0];
    f.index.lines[0].fingerprint[0] ^= 1;
    assert_int_equal(4, osc_cached_index_verify(&f.index, key_of, NULL));
    f.index.lines[0] = line;
    f.index.lines[0].entry[0] = 0;
    assert_int_equal(3, osc_cached_index_verify(&f.index, key_of, NULL));
    f.index.lines[0].entry[0] = line.entry[1];
    f.index.lines[0].fingerprint[0] = line.fingerprint[1];
    assert_int_equal(5, osc_cached_index_verify(&f.index, key_of, NULL));
    f.index.lines[0] = line;
    osc_cached_index_clear(&f.index);
    assert_int_equal(0, f.index.count);
    assert_int_equal(NONE, osc_cached_index_at(&f.index, 0));
    end(&f);
}

/* The naive model: for each of MAX_ENTRIES keys, whether it is in. Entry i has key i. */
typedef struct {
    fixture_t f;
    uint64_t random;
    uint32_t count;
    uint32_t refusals, replacements, resizes, resizes_refused;
    bool in[MAX_ENTRIES];
} model_t;

static void model_insert(model_t *m, uint32_t i)
{
    const osc_cached_index_step_t *path;
    uint32_t length, victim;

    if (OSC_CACHED_OK == insert(&m->f, i)) {
        m->in[i] = true;
        ++m->count;
        return;
    }
    ++m->refusals;
    path = osc_cached_index_path(&m->f.index, &length);
    assert_in_range(length, 1, m->f.index.path_max);
    victim = below(&m->random, length + 1); /* one in length + 1 gives up */
    if (victim < length) {
        uint32_t leaves = slot_of(path[victim].entry);

        assert_true(m->in[leaves]);
        assert_int_equal(OSC_CACHED_OK, osc_cached_index_replace(&m->f.index, hash_of(&m->f, i),
                                                                 number_of(i), victim));
        m->in[leaves] = false;
        m->in[i] = true;
        ++m->replacements;
    }
}

static void model_remove_at(model_t *m, uint32_t position)
{
    uint32_t entry = osc_cached_index_at(&m->f.index, position);

    if (NONE != entry) {
        assert_true(m->in[slot_of(entry)]);
        remove_found(&m->f, entry);
        m->in[slot_of(entry)] = false;
        --m->count;
    }
}

static void model_step(model_t *m)
{
    uint32_t i = below(&m->random, MAX_ENTRIES), what = below(&m->random, 100000);

    if (what < 20) {
        uint32_t slots = below(&m->random, 5000);
        int status = osc_cached_index_resize(&m->f.index, slots, key_of, NULL);

        ++m->resizes;
        m->resizes_refused += OSC_CACHED_OK != status;
        assert_true(OSC_CACHED_OK == status || OSC_CACHED_FULL == status);
        assert_true(OSC_CACHED_OK == status || slots * 0.9 < m->count + 16);
    } else if (what < 21) {
        for (uint32_t k = 0; k < osc_cached_index_num_slots(&m->f.index); ++k) {
            model_remove_at(m, k);
        }
        assert_int_equal(0, m->count);
    } else if (what < 5000) {
        model_remove_at(m, osc_cached_index_random_position(&m->f.index));
    } else if (what < 20000) {
        assert_int_equal(m->in[i] ? OSC_CACHED_OK : OSC_CACHED_NOT_FOUND,
                         osc_cached_index_remove(&m->f.index, hash_of(&m->f, i), number_of(i)));
        m->count -= m->in[i];
        m->in[i] = false;
    } else {
        assert_int_equal(m->in[i], has(&m->f, i));
        if (!m->in[i] && what < 70000) {
            model_insert(m, i);
            assert_int_equal(m->in[i], has(&m->f, i));
        }
    }
    assert_int_equal(m->count, m->f.index.count);
}

static void test_random_operations(void **state)
{
    static model_t m;
    const char *text = getenv("OSC_CACHED_SEED");
    uint64_t seed = (NULL != text) ? strtoull(text, NULL, 0) : 20170529;

    (void) state;
    print_message("OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    memset(&m, 0, sizeof(m));
    m.random = (0 != seed) ? seed : 1; /* 0 is xorshift's fixed point */
    for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
        keys[i] = make_key((int32_t) (i % 8), (uint64_t) (i / 8) << (i % 3 * 20));
    }
    for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
        keys[i].address += UINT64_C(1) << 60; /* and so never 0 */
    }
    begin(&m.f, 1000, 32, seed);
    for (uint32_t operation = 0; operation < 1000000; ++operation) {
        model_step(&m);
        if (0 == operation % 1000) {
            verify(&m.f);
        }
        if (0 == operation % 10000) {
            for (uint32_t i = 0; i < MAX_ENTRIES; ++i) {
                assert_int_equal(m.in[i], has(&m.f, i));
            }
        }
    }
    print_message("%u refusals, %u replacements, %u resizes, %u of them refused\n", m.refusals,
                  m.replacements, m.resizes, m.resizes_refused);
    assert_true(0 < m.replacements && m.resizes_refused < m.resizes && 0 < m.resizes_refused);
    end(&m.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_avalanche),
        cmocka_unit_test(test_power_of_two_strides),
        cmocka_unit_test(test_all_of_the_key_counts),
        cmocka_unit_test(test_fill_level),
        cmocka_unit_test(test_conflicts_at_90_percent),
        cmocka_unit_test(test_full_path),
        cmocka_unit_test(test_path_out_of_date),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_equal_hashes),
        cmocka_unit_test(test_resize_keeps_all),
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_verify_sees),
        cmocka_unit_test(test_random_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
