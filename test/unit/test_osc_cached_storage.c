/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_storage: both ways to find holes, d_c, extension, replacement, grow and shrink, other
 * numbers, failure of the allocator, redzones, and data that must stay under random operations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_storage.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#if defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>
#endif

#define UNIT OSC_CACHED_STORAGE_UNIT
#define NONE OSC_CACHED_STORAGE_NONE

/* An allocator that counts, checks sizes and fails at the Nth request. */
typedef struct {
    size_t in_use;   /* blocks */
    size_t requests; /* so far */
    size_t fail_at;  /* 0: never; else the request with this number (from 1) fails */
    struct {
        void *memory;
        size_t bytes;
    } blocks[8];
} test_alloc_t;

static void *test_alloc_get(void *context, size_t alignment, size_t bytes)
{
    test_alloc_t *alloc = context;
    void *memory = NULL;
    size_t i = 0;

    if (++alloc->requests == alloc->fail_at) {
        return NULL;
    }
    assert_int_equal(0, posix_memalign(&memory, alignment, bytes));
    while (NULL != alloc->blocks[i].memory) {
        ++i;
        assert_true(i < 8);
    }
    alloc->blocks[i].memory = memory;
    alloc->blocks[i].bytes = bytes;
    ++alloc->in_use;
    memset(memory, 0xa5, bytes);
    return memory;
}

static void test_alloc_put(void *context, void *memory, size_t bytes)
{
    test_alloc_t *alloc = context;
    size_t i = 0;

    while (alloc->blocks[i].memory != memory) {
        ++i;
        assert_true(i < 8);
    }
    assert_int_equal(alloc->blocks[i].bytes, bytes);
    memset(memory, 0x5a, bytes); /* all of it must be accessible again */
    alloc->blocks[i].memory = NULL;
    --alloc->in_use;
    free(memory);
}

typedef struct {
    test_alloc_t counts;
    osc_cached_alloc_t alloc;
    osc_cached_storage_t s;
} fixture_t;

static void verify(const fixture_t *f)
{
    assert_int_equal(0, osc_cached_storage_verify(&f->s));
}

static void begin_with(fixture_t *f, uint64_t units, uint32_t max_entries,
                       osc_cached_holes_kind_t kind)
{
    osc_cached_alloc_t alloc = {test_alloc_get, test_alloc_put, &f->counts};

    memset(f, 0, sizeof(*f));
    f->alloc = alloc;
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_storage_create(&f->s, units * UNIT, max_entries, kind, &f->alloc));
    verify(f);
}

static void begin(fixture_t *f, uint64_t units, uint32_t max_entries)
{
    begin_with(f, units, max_entries, OSC_CACHED_HOLES_BEST_FIT);
}

static void end(fixture_t *f)
{
    verify(f);
    osc_cached_storage_destroy(&f->s);
    osc_cached_storage_destroy(&f->s);
    assert_int_equal(0, f->counts.in_use);
}

/* Bytes of data of a region of so many units, at least 2: builds with redzones use one of them. */
static size_t data_of(const fixture_t *f, uint32_t units)
{
    return (size_t) (units - f->s.redzone) * UNIT;
}

static uint32_t try_take(fixture_t *f, uint32_t units)
{
    uint32_t number = osc_cached_storage_alloc(&f->s, data_of(f, units));

    verify(f);
    return number;
}

static uint32_t take(fixture_t *f, uint32_t units)
{
    uint32_t number = try_take(f, units);

    assert_int_not_equal(NONE, number);
    assert_int_equal(OSC_CACHED_ENTRY_PENDING, f->s.entries[number].state);
    assert_int_equal(0, f->s.entries[number].pins);
    assert_int_equal(NONE, f->s.entries[number].fill);
    return number;
}

static void give(fixture_t *f, uint32_t number)
{
    osc_cached_storage_release(&f->s, number);
    verify(f);
}

static uint32_t place(const fixture_t *f, uint32_t number)
{
    return f->s.entries[number].offset;
}

static void *data_at(const fixture_t *f, uint32_t number)
{
    return osc_cached_storage_at(&f->s, place(f, number));
}

static uint64_t dc(const fixture_t *f, uint32_t number)
{
    return osc_cached_storage_adjacent(&f->s, number) / UNIT;
}

static void test_arguments(void **state)
{
    osc_cached_storage_t s;
    fixture_t f;
    osc_cached_holes_kind_t kind = OSC_CACHED_HOLES_IN_BINS;

    (void) state;
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_create(&s, 0, 2, kind, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_storage_create(&s, UNIT - 1, 2, kind, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_storage_create(&s, UINT64_MAX, 2, kind, NULL));
    assert_int_equal(
        OSC_CACHED_BAD_ARGUMENT,
        osc_cached_storage_create(&s, OSC_CACHED_STORAGE_MAX_CAPACITY + 1, 2, kind, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_create(&s, 4096, 1, kind, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_storage_create(&s, 4096, UINT32_MAX, kind, NULL));
    /* The default allocator; the capacity is rounded down. */
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_create(&s, 4 * UNIT + 15, 100, kind, NULL));
    assert_int_equal(4 * UNIT, osc_cached_storage_capacity(&s));
    assert_int_equal(0, (uintptr_t) s.arena % 64);
    osc_cached_storage_destroy(&s);

    begin(&f, 64, 8);
    assert_int_equal(NONE, osc_cached_storage_alloc(&f.s, 0));
    assert_int_equal(NONE, osc_cached_storage_alloc(&f.s, SIZE_MAX));
    assert_int_equal(NONE, osc_cached_storage_alloc(&f.s, 64 * UNIT + 1));
    assert_int_equal(0, osc_cached_storage_units_for(&f.s, 0));
    assert_int_equal(0, osc_cached_storage_units_for(&f.s, SIZE_MAX));
    assert_int_equal(1 + f.s.redzone, osc_cached_storage_units_for(&f.s, 1));
    assert_int_equal(1 + f.s.redzone, osc_cached_storage_units_for(&f.s, 16));
    assert_int_equal(2 + f.s.redzone, osc_cached_storage_units_for(&f.s, 17));
    assert_int_equal(1, osc_cached_storage_alloc(&f.s, 100)); /* 0 is the hole */
    assert_int_equal(100, f.s.entries[1].bytes);
    assert_int_equal(112, osc_cached_storage_room(&f.s, 1));
    assert_false(osc_cached_storage_extend(&f.s, 1, SIZE_MAX));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_resize(&f.s, 15));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_resize(&f.s, UINT64_MAX));
    end(&f);
}

static void test_best_fit_and_ties(void **state)
{
    fixture_t f;
    uint32_t r[8];

    (void) state;
    begin(&f, 64, 64);
    /* Holes of 10, 4, 4 and 6 units, and 32 at the end, with regions of 2 units between. */
    r[0] = take(&f, 10);
    r[1] = take(&f, 2);
    r[2] = take(&f, 4);
    r[3] = take(&f, 2);
    r[4] = take(&f, 4);
    r[5] = take(&f, 2);
    r[6] = take(&f, 6);
    r[7] = take(&f, 2);
    give(&f, r[6]);
    give(&f, r[4]);
    give(&f, r[2]);
    give(&f, r[0]);
    assert_int_equal(4 * 2, osc_cached_storage_used_bytes(&f.s) / UNIT);
    assert_int_equal(4, f.s.num_used);
    assert_int_equal(12, place(&f, take(&f, 3))); /* of the two holes of 4, the first */
    assert_int_equal(18, place(&f, take(&f, 4)));
    assert_int_equal(24, place(&f, take(&f, 4))); /* 6 fits better than 10 */
    assert_int_equal(0, place(&f, take(&f, 5)));
    assert_int_equal(28, place(&f, take(&f, 2))); /* the rest of 6 is an exact fit */
    assert_int_equal(5, place(&f, take(&f, 5)));  /* the rest of 10 is one */
    assert_int_equal(32, place(&f, take(&f, 5)));
    /* in the other way, and back */
    osc_cached_storage_set_holes(&f.s, OSC_CACHED_HOLES_IN_BINS);
    verify(&f);
    assert_int_equal(37, place(&f, take(&f, 5)));
    osc_cached_storage_set_holes(&f.s, OSC_CACHED_HOLES_IN_BINS);
    osc_cached_storage_set_holes(&f.s, OSC_CACHED_HOLES_BEST_FIT);
    verify(&f);
    end(&f);
}

static void test_coalescing(void **state)
{
    /* All orders of releasing three neighbours, with and without used regions around. */
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    fixture_t f;

    (void) state;
    for (int framed = 0; framed < 2; ++framed) {
        for (int order = 0; order < 6; ++order) {
            uint32_t left = NONE, right = NONE, r[3];

            begin_with(&f, framed ? 15 : 9, 6,
                       (order < 3) ? OSC_CACHED_HOLES_BEST_FIT : OSC_CACHED_HOLES_IN_BINS);
            if (framed) {
                left = take(&f, 3);
            }
            for (int i = 0; i < 3; ++i) {
                r[i] = take(&f, 3);
            }
            if (framed) {
                right = take(&f, 3);
            }
            assert_int_equal(0, f.s.holes.count);
            assert_int_equal(NONE, try_take(&f, 2));
            for (int i = 0; i < 3; ++i) {
                give(&f, r[orders[order][i]]);
            }
            assert_int_equal(1, f.s.holes.count);
            if (framed) {
                assert_int_equal(9, dc(&f, left));
                assert_int_equal(9, dc(&f, right));
            }
            assert_int_equal(framed ? 3 : 0, place(&f, take(&f, 9)));
            end(&f);
        }
    }
}

static void test_adjacent_and_extend(void **state)
{
    fixture_t f;
    uint32_t a, b, c, d;
    unsigned char *data;

    (void) state;
    begin(&f, 100, 10);
    a = take(&f, 10);
    assert_int_equal(90, dc(&f, a));
    b = take(&f, 20);
    assert_int_equal(0, dc(&f, a));
    assert_int_equal(70, dc(&f, b));
    c = take(&f, 30);
    assert_int_equal(0, dc(&f, b));
    d = take(&f, 40);
    assert_int_equal(0, dc(&f, c));
    assert_int_equal(0, dc(&f, d));
    give(&f, b);
    assert_int_equal(20, dc(&f, a));
    assert_int_equal(20, dc(&f, c));
    give(&f, d);
    assert_int_equal(60, dc(&f, c)); /* both sides */
    b = take(&f, 5);                 /* the start of the hole between a and c */
    assert_int_equal(10, place(&f, b));
    assert_int_equal(0, dc(&f, a));
    assert_int_equal(15, dc(&f, b));
    data = data_at(&f, b);
    memset(data, 7, data_of(&f, 5));
    /* what its units have room for anyway; then some of the hole; then all of it; then no more */
    assert_true(osc_cached_storage_extend(&f.s, b, data_of(&f, 5) - 3));
    assert_int_equal(15, dc(&f, b));
    assert_true(osc_cached_storage_extend(&f.s, b, data_of(&f, 12)));
    assert_int_equal(8, dc(&f, b));
    verify(&f);
    assert_true(osc_cached_storage_extend(&f.s, b, data_of(&f, 20)));
    assert_int_equal(0, dc(&f, b));
    verify(&f);
    assert_false(osc_cached_storage_extend(&f.s, b, data_of(&f, 20) + 1));
    assert_false(osc_cached_storage_extend(&f.s, c, data_of(&f, 71)));
    memset(data + data_of(&f, 5), 8, data_of(&f, 20) - data_of(&f, 5));
    for (size_t i = 0; i < data_of(&f, 20); ++i) {
        assert_int_equal(i < data_of(&f, 5) ? 7 : 8, data[i]);
    }
    end(&f);
}

/* Neighbours end, and one takes their place. */
static void test_replace(void **state)
{
    fixture_t f;
    uint32_t r[5], made;

    (void) state;
    begin_with(&f, 50, 20, OSC_CACHED_HOLES_IN_BINS);
    for (int i = 0; i < 5; ++i) {
        r[i] = take(&f, 10);
    }
    f.s.hand = r[2];
    /* less than they have: a hole */
    made = osc_cached_storage_replace(&f.s, r[1], 2, data_of(&f, 15));
    verify(&f);
    assert_int_equal(r[1], made);
    assert_int_equal(10, place(&f, made));
    assert_int_equal(1, f.s.holes.count);
    assert_int_equal(5, dc(&f, r[3]));
    assert_true(osc_cached_storage_is_hole(&f.s, f.s.hand)); /* on what follows */
    /* holes among them, and one behind that becomes larger */
    give(&f, r[4]);
    made = osc_cached_storage_replace(&f.s, f.s.entries[made].after, 2, data_of(&f, 12));
    verify(&f);
    assert_int_equal(25, place(&f, made));
    assert_int_equal(1, f.s.holes.count);
    assert_int_equal(13, dc(&f, made));
    /* to the very end of the arena: the hand begins again */
    made = osc_cached_storage_replace(&f.s, made, 2, data_of(&f, 25));
    verify(&f);
    assert_int_equal(0, f.s.holes.count);
    assert_int_equal(f.s.head, f.s.hand);
    end(&f);
}

/* Without an entry for the rest of a hole, a region is larger than it need be. */
static void test_entries_run_out(void **state)
{
    fixture_t f;
    uint32_t r[4];

    (void) state;
    begin(&f, 100, 4);
    for (int i = 0; i < 4; ++i) {
        r[i] = take(&f, 10);
    }
    assert_int_equal(70, osc_cached_storage_units(&f.s, r[3]));
    assert_int_equal(100, f.s.used_units);
    assert_int_equal(NONE, try_take(&f, 2));
    give(&f, r[0]); /* 10: its own entry becomes the hole's */
    r[0] = take(&f, 8);
    assert_int_equal(10, osc_cached_storage_units(&f.s, r[0]));
    assert_true(osc_cached_storage_extend(&f.s, r[0], data_of(&f, 10)));
    /* growing would need an entry for the hole */
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_resize(&f.s, 200 * UNIT));
    give(&f, r[3]);
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 200 * UNIT));
    assert_int_equal(170, dc(&f, r[2]));
    end(&f);
}

/* Each region's bytes tell whose they are and where in it. */
static unsigned char pattern(uint32_t owner, size_t i)
{
    return (unsigned char) (owner * 131 + i * 7 + (i >> 8));
}

static void fill(fixture_t *f, uint32_t number, uint32_t owner)
{
    unsigned char *data = data_at(f, number);

    for (size_t i = 0; i < f->s.entries[number].bytes; ++i) {
        data[i] = pattern(owner, i);
    }
}

static void check(const fixture_t *f, uint32_t number, uint32_t owner)
{
    const unsigned char *data = data_at(f, number);
    size_t wrong = 0;

    for (size_t i = 0; i < f->s.entries[number].bytes; ++i) {
        wrong += data[i] != pattern(owner, i);
    }
    assert_int_equal(0, wrong);
}

static void test_resize(void **state)
{
    fixture_t f;
    uint32_t r[10];

    (void) state;
    begin(&f, 100, 20);
    for (uint32_t i = 0; i < 10; ++i) {
        r[i] = take(&f, 10);
        fill(&f, r[i], i);
    }
    for (uint32_t i = 0; i < 10; i += 2) {
        give(&f, r[i]);
    }
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 100 * UNIT)); /* nothing */
    assert_int_equal(5, f.s.holes.count);
    for (uint32_t units = 1000; 50 <= units; units = units / 2 + 25) {
        f.s.hand = r[5];
        assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, units * UNIT));
        verify(&f);
        assert_int_equal(r[5], f.s.hand);
        assert_int_equal(units * UNIT, osc_cached_storage_capacity(&f.s));
        assert_int_equal(units > 50, f.s.holes.count); /* all together */
        osc_cached_storage_prefault(&f.s);
        for (uint32_t i = 1; i < 10; i += 2) {
            check(&f, r[i], i);
            assert_int_equal(10 * (i / 2), place(&f, r[i]));
        }
        if (50 == units) {
            break;
        }
    }
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_resize(&f.s, 49 * UNIT));
    /* a hand on a hole begins again */
    give(&f, r[3]);
    f.s.hand = f.s.entries[r[1]].after;
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 60 * UNIT));
    assert_int_equal(f.s.head, f.s.hand);
    end(&f);
}

static uint32_t moved_from[64], moved_to[64], num_moved;

static void on_moved(void *context, uint32_t from, uint32_t to)
{
    fixture_t *f = context;

    assert_memory_equal(&f->s.entries[from].offset, &f->s.entries[to].offset, 8);
    moved_from[num_moved] = from;
    moved_to[num_moved++] = to;
}

static void test_renumber(void **state)
{
    fixture_t f;
    osc_cached_entry_t *entries;
    uint32_t r[20];

    (void) state;
    begin_with(&f, 200, 40, OSC_CACHED_HOLES_IN_BINS);
    for (uint32_t i = 0; i < 20; ++i) {
        r[i] = take(&f, 10);
        fill(&f, r[i], i);
    }
    for (uint32_t i = 0; i < 14; ++i) {
        if (i < 10 || 12 == i) {
            give(&f, r[i]);
        }
    }
    /* 9 used, and 2 holes; the last ones have high numbers */
    f.s.hand = r[19];
    num_moved = 0;
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_renumber(&f.s, 9, on_moved, &f));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_renumber(&f.s, 11, on_moved, &f));
    verify(&f);
    assert_true(0 < num_moved);
    assert_int_equal(2, f.s.holes.count);
    for (uint32_t i = 10; i < 20; ++i) {
        for (uint32_t k = 0; k < num_moved; ++k) {
            if (moved_from[k] == r[i]) {
                r[i] = moved_to[k];
                break;
            }
        }
        if (12 != i) {
            assert_true(r[i] < 11);
            check(&f, r[i], i);
        }
    }
    assert_int_equal(r[19], f.s.hand);
    entries = f.alloc.alloc(f.alloc.context, 64, 11 * sizeof(*entries));
    osc_cached_storage_set_entries(&f.s, entries, 11);
    verify(&f);
    /* too many holes: moved together first, if there is memory for that */
    f.counts.fail_at = f.counts.requests + 1;
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_storage_renumber(&f.s, 10, on_moved, &f));
    verify(&f);
    num_moved = 0;
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_renumber(&f.s, 10, on_moved, &f));
    verify(&f);
    assert_int_equal(1, f.s.holes.count);
    end(&f);
}

static void test_no_memory(void **state)
{
    osc_cached_storage_t s;
    fixture_t f;
    uint32_t a;

    (void) state;
    for (size_t n = 1; n <= 2; ++n) {
        osc_cached_alloc_t alloc = {test_alloc_get, test_alloc_put, &f.counts};

        memset(&f, 0, sizeof(f));
        memset(&s, 0x77, sizeof(s));
        f.counts.fail_at = n;
        assert_int_equal(OSC_CACHED_NO_MEMORY,
                         osc_cached_storage_create(&s, 4096, 10, OSC_CACHED_HOLES_IN_BINS, &alloc));
        assert_int_equal(0, f.counts.in_use);
    }
    begin(&f, 100, 10);
    a = take(&f, 10);
    fill(&f, a, 1);
    f.counts.fail_at = f.counts.requests + 1;
    assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_storage_resize(&f.s, 200 * UNIT));
    verify(&f);
    check(&f, a, 1);
    end(&f);
}

static void test_verify_sees_damage(void **state)
{
    fixture_t f;
    uint32_t a, b, c, hole;

    (void) state;
    begin(&f, 100, 10);
    a = take(&f, 10);
    b = take(&f, 10);
    c = take(&f, 10);
    give(&f, b);
    hole = f.s.entries[a].after;
#define BROKEN(number, damage, repair)                             \
    do {                                                           \
        damage;                                                    \
        assert_int_equal(number, osc_cached_storage_verify(&f.s)); \
        repair;                                                    \
        verify(&f);                                                \
    } while (0)
    BROKEN(1, f.s.entries[c].before = a, f.s.entries[c].before = hole);
    BROKEN(1, f.s.entries[f.s.head].offset = 1, f.s.entries[f.s.head].offset = 0);
    BROKEN(1, f.s.tail = a, f.s.tail = f.s.entries[c].after);
    BROKEN(1, f.s.head = c, f.s.head = a);
    BROKEN(2, ++f.s.entries[hole].hole.size, --f.s.entries[hole].hole.size);
    BROKEN(2, ++f.s.entries[hole].hole.address, --f.s.entries[hole].hole.address);
    BROKEN(2, f.s.entries[c].offset = 10, f.s.entries[c].offset = 20);
    BROKEN(3, ++f.s.num_used, --f.s.num_used);
    BROKEN(3, ++f.s.used_units, --f.s.used_units);
    BROKEN(3, ++f.s.num_fresh, --f.s.num_fresh);
    BROKEN(3, f.s.max_entries = 1, f.s.max_entries = 10);
    BROKEN(4, ++f.s.holes.count, --f.s.holes.count);
    BROKEN(5, f.s.entries[a].bytes = 161, f.s.entries[a].bytes = 1);
    BROKEN(5, f.s.entries[hole].bytes = 1, f.s.entries[hole].bytes = 0);
    BROKEN(6, f.s.hand = 9, f.s.hand = a);
#if defined(WITH_ASAN)
    BROKEN(7, ASAN_POISON_MEMORY_REGION(data_at(&f, a), 16),
           ASAN_UNPOISON_MEMORY_REGION(data_at(&f, a), 16));
#endif
#undef BROKEN
    end(&f);
}

/* What a program that writes one byte too many gets, in a child, from AddressSanitizer. */
static void test_redzone(void **state)
{
    (void) state;
#if defined(WITH_ASAN)
    /* where, relative to the first region: redzone, hole, released region */
    static const size_t offsets[] = {112, 127, 128, 4000, 8000};

    for (size_t i = 0; i <= sizeof(offsets) / sizeof(offsets[0]); ++i) {
        int status = 0;
        pid_t child = fork();

        assert_true(0 <= child);
        if (0 == child) {
            fixture_t f;
            uint32_t a, b;
            volatile char *data;

            begin(&f, 2000, 10);
            a = osc_cached_storage_alloc(&f.s, 100);
            b = osc_cached_storage_alloc(&f.s, 10000);
            if (NONE == a || NONE == b) {
                _exit(3);
            }
            osc_cached_storage_release(&f.s, b);
            data = data_at(&f, a);
            for (int n = 0; n < 100; ++n) {
                data[n] = 1;
            }
            /* the report is expected: not for the eyes of who reads the test's output */
            if (NULL == freopen("/dev/null", "w", stderr)) {
                _exit(3);
            }
            if (i < sizeof(offsets) / sizeof(offsets[0])) {
                data[offsets[i]] = 1;
            }
            _exit(42);
        }
        assert_int_equal(child, waitpid(child, &status, 0));
        if (i < sizeof(offsets) / sizeof(offsets[0])) {
            assert_false(WIFEXITED(status)
                         && (42 == WEXITSTATUS(status) || 3 == WEXITSTATUS(status)));
        } else {
            assert_true(WIFEXITED(status) && 42 == WEXITSTATUS(status)); /* all in bounds */
        }
    }
#else
    skip();
#endif
}

/* Random operations; each region keeps its data, whatever happens to others. */
static void test_model(void **state)
{
    enum { LIVE = 400 };
    static const struct {
        uint32_t units, max_entries, max_bytes;
        osc_cached_holes_kind_t kind;
    } plans[] = {
        {4000, 500, 300, OSC_CACHED_HOLES_IN_BINS},
        {4000, 500, 300, OSC_CACHED_HOLES_BEST_FIT},
        {2000, 40, 2000, OSC_CACHED_HOLES_IN_BINS},
        {2000, 40, 2000, OSC_CACHED_HOLES_BEST_FIT},
    };
    uint64_t seed = seed_get(20261115);

    (void) state;
    printf("seed: OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    for (size_t plan = 0; plan < sizeof(plans) / sizeof(plans[0]); ++plan) {
        struct {
            uint32_t number, owner;
        } live[LIVE];
        uint32_t num_live = 0, owner = 0;
        fixture_t f;

        begin_with(&f, plans[plan].units, plans[plan].max_entries, plans[plan].kind);
        for (int step = 0; step < 60000; ++step) {
            uint32_t what = random_below(&seed, 100);
            uint32_t i = random_below(&seed, (0 < num_live) ? num_live : 1);
            size_t bytes = 1 + random_below(&seed, plans[plan].max_bytes);
            uint32_t number = NONE;

            if (what < 45 && num_live < LIVE) {
                number = osc_cached_storage_alloc(&f.s, bytes);
            } else if (what < 60 && 0 < num_live) {
                /* from one on, as many as it takes, if the arena does not end before */
                uint32_t first = live[i].number, last = first, regions = 1;

                while (NONE != last
                       && f.s.entries[last].offset + osc_cached_storage_units(&f.s, last)
                                  - f.s.entries[first].offset
                              < osc_cached_storage_units_for(&f.s, bytes)) {
                    last = f.s.entries[last].after;
                    ++regions;
                }
                if (NONE != last) {
                    uint32_t at = first;

                    for (uint32_t n = 0; n < regions; ++n, at = f.s.entries[at].after) {
                        for (uint32_t k = 0; k < num_live; ++k) {
                            if (live[k].number == at) {
                                live[k] = live[--num_live];
                            }
                        }
                    }
                    number = osc_cached_storage_replace(&f.s, first, regions, bytes);
                    assert_int_equal(first, number);
                }
            } else if (what < 85 && 0 < num_live) {
                check(&f, live[i].number, live[i].owner);
                osc_cached_storage_release(&f.s, live[i].number);
                live[i] = live[--num_live];
            } else if (what < 98 && 0 < num_live) {
                if (f.s.entries[live[i].number].bytes < bytes
                    && osc_cached_storage_extend(&f.s, live[i].number, bytes)) {
                    check(&f, live[i].number, live[i].owner);
                    f.s.entries[live[i].number].bytes = (uint32_t) bytes;
                    fill(&f, live[i].number, live[i].owner);
                }
            } else if (98 == what) {
                (void) osc_cached_storage_resize(&f.s, plans[plan].units * 16 / 8
                                                           * (4 + random_below(&seed, 8)));
            }
            if (NONE != number) {
                live[num_live].number = number;
                live[num_live].owner = ++owner;
                fill(&f, number, owner);
                ++num_live;
            }
            if (0 == step % 16) {
                verify(&f);
                assert_int_equal(num_live, f.s.num_used);
                for (uint32_t k = 0; k < num_live; ++k) {
                    check(&f, live[k].number, live[k].owner);
                }
            }
        }
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),  cmocka_unit_test(test_best_fit_and_ties),
        cmocka_unit_test(test_coalescing), cmocka_unit_test(test_adjacent_and_extend),
        cmocka_unit_test(test_replace),    cmocka_unit_test(test_entries_run_out),
        cmocka_unit_test(test_resize),     cmocka_unit_test(test_renumber),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_redzone),    cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("osc_cached_storage", tests, NULL, NULL);
}
