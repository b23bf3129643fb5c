/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_cache: which entries leave, which are dead, and what is not kept.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_test_cache.h"

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

/* Without room the dead leave first, and the living stay.
 * @param generation  of the target of the dead */
static void expect_dead_first(uint64_t generation)
{
    fixture_t f;

    prepare(&f, 16, 64 * 1024);
    f.config.sample = 1000;
    f.config.scheme = OSC_CACHED_SCHEME_POSITIONAL; /* which does not see who is older */
    open_cache(&f);
    f.targets[0].generation = generation;
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
    }
    osc_cached_cache_invalidate(&f.c);
    f.c.sweep_left = 0;
    f.c.all_dead = false;
    for (uint64_t i = 0; i < 16; ++i) {
        assert_int_equal(OSC_CACHED_CONFLICTING, keep(&f, key_at(1, i), 1, 100));
    }
    for (uint64_t i = 0; i < 16; ++i) {
        expect_hit(&f, key_at(1, i), 1, 100);
    }
    end(&f);
}

/* While a get is on its way the hand collects them. */
static void test_dead_entries_leave(void **state)
{
    unsigned char space[100];
    fixture_t f;

    (void) state;
    begin(&f, 256, 256 * 1024);
    osc_cached_cache_invalidate_target(&f.targets[0]);
    for (uint64_t i = 0; i < 200; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
    }
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(2, 0), space, 100, NULL));
    osc_cached_cache_invalidate(&f.c);
    /* 4 with each insertion */
    for (uint64_t i = 0; i < 50; ++i) {
        assert_int_equal(201 - 3 * i + (0 < i), f.c.index.count); /* the first is a hole */
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, i), 1, 100));
        verify(&f);
    }
    assert_int_equal(52, f.c.index.count);
    assert_int_equal(2, f.c.sweep_left);
    complete(&f, 2);
    assert_int_equal(51, f.c.index.count);
    for (uint64_t i = 0; i < 50; ++i) {
        expect_hit(&f, key_at(1, i), 1, 100);
    }
    assert_int_equal(0, f.c.evictions);
    end(&f);

    expect_dead_first(0);
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
    f.c.all_dead = false; /* as if one were made already: the hand collects them */
    for (uint64_t i = 0; i < 50; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, i), 1, 100));
        verify(&f);
    }
    assert_int_equal(51, f.c.index.count);
    end(&f);

    expect_dead_first(UINT64_C(1) << 40);
}

/* What an empty cache has, with one entry of so many bytes. */
static void expect_nothing_but(fixture_t *f, size_t bytes)
{
    const osc_cached_storage_t *storage = &f->c.storage;

    verify(f);
    assert_int_equal(1, f->c.index.count);
    assert_int_equal(1, storage->num_used);
    assert_int_equal(1, storage->holes.count);
    assert_int_equal(2, storage->num_fresh);
    assert_int_equal(osc_cached_storage_units_for(storage, bytes), storage->used_units);
    assert_int_equal(0, f->c.sweep_left);
}

/* After an invalidation of all the first insertion leaves nothing of what was there, and takes no
 * memory; it takes all that there is, if it wants to. */
static void test_all_dead_leave_at_once(void **state)
{
    fixture_t f;
    uint64_t taken;
    size_t requests;

    (void) state;
    begin(&f, 256, 64 * 1024);
    taken = f.budget.taken;
    requests = f.counts.requests;
    for (uint64_t version = 1; version < 5; ++version) {
        for (uint64_t i = 0; i < 200; ++i) {
            assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), version, 1 + i));
            expect_hit(&f, key_at(0, i), version, 1 + i);
            /* so that the memo has it, too */
            assert_non_null(osc_cached_cache_find_again(&f.c, &f.targets[0], key_at(0, i), 1 + i));
        }
        osc_cached_cache_invalidate(&f.c);
        if (2 == version) {
            osc_cached_cache_invalidate(&f.c);
        }
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, 7), version, 300));
        expect_nothing_but(&f, 300);
        for (uint64_t i = 0; i < 200; ++i) {
            assert_null(osc_cached_cache_find_again(&f.c, &f.targets[0], key_at(0, i), 1));
            expect_missing(&f, key_at(0, i), 1);
        }
        expect_hit(&f, key_at(1, 7), version, 300);
        /* once */
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, 8), version, 300));
        assert_int_equal(2, f.c.index.count);
        osc_cached_cache_invalidate(&f.c);
    }
    assert_int_equal(0, f.c.evictions);
    assert_true(taken == f.budget.taken - (f.c.max_records - 16) * sizeof(*f.c.records));
    assert_int_equal(requests + 1, f.counts.requests); /* records */
    end(&f);

    begin(&f, 64, BYTES_MAX);
    for (uint64_t i = 0; i < 20; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 200));
    }
    osc_cached_cache_invalidate(&f.c);
    taken = BYTES_MAX - f.c.storage.redzone * OSC_CACHED_STORAGE_UNIT;
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 1), 2, taken));
    expect_hit(&f, key_at(0, 1), 2, taken);
    assert_int_equal(0, f.c.storage.holes.count);
    assert_int_equal(1, f.c.index.count);
    end(&f);
}

/* Fewer than one of 32 slots are taken, or the table is large: the hand collects them. */
static void test_all_dead_leave_later(void **state)
{
    static const uint32_t slots[] = {256, 65536 + 16}, entries[] = {7, 3000};
    fixture_t f;

    (void) state;
    for (int i = 0; i < 2; ++i) {
        begin(&f, slots[i], 1024 * 1024);
        for (uint64_t k = 0; k < entries[i]; ++k) {
            assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, k), 1, 100));
        }
        osc_cached_cache_invalidate(&f.c);
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(1, 0), 1, 100));
        assert_int_equal(entries[i] - 3 + 1, f.c.index.count); /* the first is a hole */
        end(&f);
    }
}

/* Ages are in P: it stays until the next adaptation, by when the entries may have come back. */
static void test_all_dead_leave_the_period(void **state)
{
    fixture_t f;
    uint32_t shift;

    (void) state;
    begin(&f, 1024, 256 * 1024);
    for (uint64_t i = 0; i < 800; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
    }
    shift = f.c.duel.shift;
    assert_true(OSC_CACHED_DUEL_SHIFT_MIN + 3 < shift);
    osc_cached_cache_invalidate(&f.c);
    for (uint64_t i = 0; i < 10; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, i), 1, 100));
        assert_int_equal(shift, f.c.duel.shift);
    }
    for (uint64_t i = 0; i < f.config.adapt.interval; ++i) {
        expect_hit(&f, key_at(0, i % 10), 1, 100);
    }
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 10), 1, 100));
    assert_int_equal(OSC_CACHED_DUEL_SHIFT_MIN, f.c.duel.shift);
    end(&f);
}

/* Without entries there is nothing for the hand, and before there is a cache nothing is dead. */
static void test_none_dead(void **state)
{
    unsigned char space[100];
    fixture_t f;

    (void) state;
    prepare(&f, 64, 16 * 1024);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&f.c, &f.config, &f.alloc));
    osc_cached_cache_invalidate(&f.c);
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&f.c));
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 1, 100));
    verify(&f);
    expect_hit(&f, key_at(0, 0), 1, 100);
    for (uint64_t i = 1; i < 50; ++i) {
        assert_int_equal(OSC_CACHED_DIRECT, insert(&f, key_at(1, i), space, 100, NULL));
    }
    osc_cached_cache_invalidate(&f.c); /* before they are completed: they leave by then */
    complete(&f, 1);
    assert_int_equal(1, f.c.index.count);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, key_at(0, 0), 2, 100));
    osc_cached_cache_invalidate_target(&f.targets[0]);
    expect_missing(&f, key_at(0, 0), 1);
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

/* Generations of blocks of 128 bytes, whatever the target. */
static uint64_t blocks_of(const void *context, int32_t target, uint64_t address, size_t bytes)
{
    const uint64_t *generation = context;
    uint64_t sum = 0;

    (void) target;
    for (uint64_t i = address / 128; i <= (address + bytes - 1) / 128; ++i) {
        sum += generation[i];
    }
    return sum;
}

/* The owner's term: an entry is valid while no block that it has a byte of has changed; a get joins
 * no other that was issued before that, and what it brings is not kept. */
static void test_owner_term(void **state)
{
    uint64_t generation[8] = {5, 0, 7, 1};
    osc_cached_key_t a = key_at(0, 64), b = key_at(1, 200);
    char first[300], second[300], third[300];
    fixture_t f;
    size_t have;

    (void) state;
    begin(&f, 64, 16 * 1024);
    f.c.more = blocks_of;
    f.c.more_context = generation;
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, a, 1, 64));  /* block 0 to its last byte */
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, b, 1, 300)); /* blocks 1, 2, 3 */
    expect_hit(&f, a, 1, 64);
    expect_hit(&f, b, 1, 300);
    ++generation[1];
    expect_hit(&f, a, 1, 64);
    expect_missing(&f, b, 300);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, b, 2, 300));
    ++generation[4];
    expect_hit(&f, b, 2, 300);
    ++generation[3];
    expect_missing(&f, b, 300);
    ++generation[0];
    expect_missing(&f, a, 64);

    /* on its way: one that asks before the change waits for it, one that asks after it does not */
    assert_int_equal(OSC_CACHED_MISSING, get(&f, b, first, 300, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, b, first, 300, NULL));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, b, second, 300, &have));
    ++generation[2];
    assert_int_equal(OSC_CACHED_MISSING, get(&f, b, third, 300, &have));
    fetch(b, 3, 0, first, 300);
    complete(&f, 1);
    assert_memory_equal(first, second, 300);
    expect_missing(&f, b, 300);

    /* changed while it was asked for: the stamp of before is not that of now */
    {
        uint64_t stamp = osc_cached_cache_whole_stamp(&f.c, &f.targets[1], b.address, 1, 300);
        osc_cached_buffer_t buffer = buffer_at(first);

        ++generation[2];
        assert_int_equal(OSC_CACHED_FAILING,
                         osc_cached_cache_insert(&f.c, &f.targets[1], b,
                                                 osc_cached_index_hash(&f.c.index, b), &buffer, 300,
                                                 stamp, ++f.sequence, NULL));
    }
    end(&f);
}

/* What the owner was given, and whether it takes it. */
typedef struct {
    int calls;
    bool takes;
    uint64_t more;
    char bytes[64];
} taken_t;

static bool take(void *context, const osc_cached_entry_t *entry, uint64_t more, void *bytes)
{
    taken_t *taken = context;

    ++taken->calls;
    taken->more = more;
    memcpy(taken->bytes, bytes, entry->bytes);
    return taken->takes;
}

/* The owner is given what a get has brought, when nobody waits for it any more, with its term of
 * the stamp; what it takes leaves, and what is not valid it is not given. */
static void test_owner_takes(void **state)
{
    uint64_t generation[8] = {5};
    taken_t taken = {.takes = false};
    osc_cached_key_t a = key_at(0, 64);
    char first[64], second[64];
    fixture_t f;
    size_t have;

    (void) state;
    begin(&f, 64, 16 * 1024);
    f.c.more = blocks_of;
    f.c.more_context = generation;
    f.c.filled = take;
    f.c.filled_context = &taken;
    osc_cached_cache_invalidate(&f.c);
    osc_cached_cache_invalidate_target(&f.targets[0]);
    assert_int_equal(OSC_CACHED_DIRECT, keep(&f, a, 1, 64));
    assert_int_equal(1, taken.calls);
    assert_int_equal(5, taken.more);
    expect_hit(&f, a, 1, 64);

    taken.takes = true;
    ++generation[0];
    assert_int_equal(OSC_CACHED_MISSING, get(&f, a, first, 64, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, a, first, 64, NULL));
    assert_int_equal(OSC_CACHED_JOIN, get(&f, a, second, 64, &have));
    fetch(a, 2, 0, first, 64);
    complete(&f, 0);
    assert_int_equal(2, taken.calls);
    assert_int_equal(6, taken.more);
    assert_memory_equal(first, taken.bytes, 64);
    assert_memory_equal(first, second, 64);
    expect_missing(&f, a, 64);

    assert_int_equal(OSC_CACHED_MISSING, get(&f, a, first, 64, &have));
    assert_int_equal(OSC_CACHED_DIRECT, insert(&f, a, first, 64, NULL));
    ++generation[0];
    complete(&f, 0);
    assert_int_equal(2, taken.calls);
    expect_missing(&f, a, 64);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conflicting),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_shrink_after_failures),
        cmocka_unit_test(test_dead_entry_is_reused),
        cmocka_unit_test(test_dead_entries_leave),
        cmocka_unit_test(test_dead_entries_leave_after_own_writes),
        cmocka_unit_test(test_all_dead_leave_at_once),
        cmocka_unit_test(test_all_dead_leave_later),
        cmocka_unit_test(test_all_dead_leave_the_period),
        cmocka_unit_test(test_none_dead),
        cmocka_unit_test(test_invalidation_is_a_number),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_owner_term),
        cmocka_unit_test(test_owner_takes),
    };

    return cmocka_run_group_tests_name("osc_cached_cache_entries", tests, make_noise, NULL);
}
