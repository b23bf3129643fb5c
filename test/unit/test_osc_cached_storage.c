/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_storage: best fit, holes, d_c, extend and trim, grow and shrink, failure of the
 * allocator, redzones, occupancy under churn, and a sorted list of intervals as the model.
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

#define LINE OSC_CACHED_STORAGE_LINE
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

static void begin(fixture_t *f, uint64_t lines, uint32_t max_regions)
{
    osc_cached_alloc_t alloc = {test_alloc_get, test_alloc_put, &f->counts};

    memset(f, 0, sizeof(*f));
    f->alloc = alloc;
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_storage_create(&f->s, lines * LINE, max_regions, &f->alloc));
    assert_int_equal(0, osc_cached_storage_verify(&f->s));
}

static void end(fixture_t *f)
{
    assert_int_equal(0, osc_cached_storage_verify(&f->s));
    osc_cached_storage_destroy(&f->s);
    osc_cached_storage_destroy(&f->s);
    assert_int_equal(0, f->counts.in_use);
}

/* Bytes of data of a region of so many lines, at least 2: builds with redzones use one of them. */
static size_t data_of(const fixture_t *f, uint32_t lines)
{
    return (size_t) (lines - f->s.redzone) * LINE;
}

static int try_take(fixture_t *f, uint32_t lines, uint32_t *region)
{
    int status = osc_cached_storage_alloc(&f->s, data_of(f, lines), lines, region);

    assert_int_equal(0, osc_cached_storage_verify(&f->s));
    return status;
}

static uint32_t take(fixture_t *f, uint32_t lines)
{
    uint32_t region = NONE;

    assert_int_equal(OSC_CACHED_OK, try_take(f, lines, &region));
    return region;
}

static void give(fixture_t *f, uint32_t region)
{
    osc_cached_storage_release(&f->s, region);
    assert_int_equal(0, osc_cached_storage_verify(&f->s));
}

/* In lines. */
static uint64_t place(const fixture_t *f, uint32_t region)
{
    return osc_cached_storage_offset(&f->s, region) / LINE;
}

static uint64_t dc(const fixture_t *f, uint32_t region)
{
    return osc_cached_storage_adjacent(&f->s, region) / LINE;
}

static void test_arguments(void **state)
{
    osc_cached_storage_t s;
    fixture_t f;
    uint32_t region = 77;

    (void) state;
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_create(&s, 0, 1, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_create(&s, LINE - 1, 1, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_create(&s, UINT64_MAX, 1, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_storage_create(&s, OSC_CACHED_STORAGE_MAX_CAPACITY + 1, 1, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_create(&s, 4096, 0, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_storage_create(&s, 4096, UINT32_MAX, NULL));
    /* The default allocator; the capacity is rounded down; more descriptors than lines are not
     * made. */
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_create(&s, 4 * LINE + 63, 100000, NULL));
    assert_int_equal(4 * LINE, osc_cached_storage_capacity(&s));
    assert_int_equal(4, s.num_descriptors);
    assert_int_equal(0, (uintptr_t) s.arena % LINE);
    osc_cached_storage_destroy(&s);

    begin(&f, 64, 8);
    assert_int_equal(17, f.s.num_descriptors);
    assert_int_equal(64 * LINE + 17 * 32, osc_cached_storage_footprint(&f.s));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_alloc(&f.s, 0, 1, &region));
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_alloc(&f.s, SIZE_MAX, 1, &region));
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_alloc(&f.s, 64 * LINE + 1, 1, &region));
    assert_int_equal(77, region); /* set on success only */
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_alloc(&f.s, 100, 5, &region));
    assert_int_equal(100, osc_cached_storage_bytes(&f.s, region));
    assert_int_equal(5, osc_cached_storage_owner(&f.s, region));
    osc_cached_storage_set_owner(&f.s, region, 6);
    assert_int_equal(6, osc_cached_storage_owner(&f.s, region));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_extend(&f.s, region, 99));
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_extend(&f.s, region, SIZE_MAX));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_trim(&f.s, region, 0));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_trim(&f.s, region, 101));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_resize(&f.s, 63, NULL, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_storage_resize(&f.s, UINT64_MAX, NULL, NULL));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_reserve(&f.s, 0));
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, osc_cached_storage_reserve(&f.s, UINT32_MAX));
    end(&f);
}

static void test_best_fit_and_ties(void **state)
{
    fixture_t f;
    uint32_t r[8];

    (void) state;
    begin(&f, 64, 64);
    /* Holes of 10, 4, 4 and 6 lines, and 36 - 8 at the end, with regions of 2 lines between. */
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
    assert_int_equal(4 * 2, osc_cached_storage_used_bytes(&f.s) / LINE);
    assert_int_equal(64 - 8, osc_cached_storage_free_bytes(&f.s) / LINE);
    assert_int_equal(4, osc_cached_storage_num_regions(&f.s));
    assert_int_equal(data_of(&f, 32), osc_cached_storage_largest_free(&f.s));
    assert_int_equal(12, place(&f, take(&f, 3))); /* of the two holes of 4, the first */
    assert_int_equal(18, place(&f, take(&f, 4)));
    assert_int_equal(24, place(&f, take(&f, 4))); /* 6 fits better than 10 */
    assert_int_equal(0, place(&f, take(&f, 5)));
    assert_int_equal(28, place(&f, take(&f, 2))); /* the rest of 6 is an exact fit */
    assert_int_equal(5, place(&f, take(&f, 5)));  /* the rest of 10 is one */
    assert_int_equal(32, place(&f, take(&f, 5)));
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

            begin(&f, framed ? 15 : 9, 5);
            if (framed) {
                left = take(&f, 3);
            }
            for (int i = 0; i < 3; ++i) {
                r[i] = take(&f, 3);
            }
            if (framed) {
                right = take(&f, 3);
            }
            assert_int_equal(0, osc_cached_storage_largest_free(&f.s));
            assert_int_equal(0, osc_cached_storage_num_holes(&f.s));
            for (int i = 0; i < 3; ++i) {
                give(&f, r[orders[order][i]]);
            }
            assert_int_equal(1, osc_cached_storage_num_holes(&f.s));
            assert_int_equal(data_of(&f, 9), osc_cached_storage_largest_free(&f.s));
            if (framed) {
                assert_int_equal(9, dc(&f, left));
                assert_int_equal(9, dc(&f, right));
            }
            assert_int_equal(framed ? 3 : 0, place(&f, take(&f, 9)));
            end(&f);
        }
    }
}

static void test_adjacent(void **state)
{
    fixture_t f;
    uint32_t a, b, c, d;

    (void) state;
    begin(&f, 100, 10);
    a = take(&f, 10);
    assert_int_equal(90, dc(&f, a));
    b = take(&f, 20);
    assert_int_equal(0, dc(&f, a));
    assert_int_equal(70, dc(&f, b));
    c = take(&f, 30);
    assert_int_equal(0, dc(&f, b));
    assert_int_equal(40, dc(&f, c));
    d = take(&f, 40);
    assert_int_equal(0, dc(&f, c));
    assert_int_equal(0, dc(&f, d));
    give(&f, b);
    assert_int_equal(20, dc(&f, a));
    assert_int_equal(20, dc(&f, c));
    assert_int_equal(0, dc(&f, d));
    give(&f, d);
    assert_int_equal(60, dc(&f, c)); /* both sides */
    b = take(&f, 5);                 /* the start of the hole between a and c */
    assert_int_equal(10, place(&f, b));
    assert_int_equal(0, dc(&f, a));
    assert_int_equal(15, dc(&f, b));
    assert_int_equal(55, dc(&f, c));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_extend(&f.s, b, data_of(&f, 12)));
    assert_int_equal(8, dc(&f, b));
    assert_int_equal(48, dc(&f, c));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_trim(&f.s, a, data_of(&f, 4)));
    assert_int_equal(6, dc(&f, a));
    assert_int_equal(14, dc(&f, b));
    assert_int_equal(48, dc(&f, c));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    give(&f, b);
    assert_int_equal(26, dc(&f, a));
    assert_int_equal(66, dc(&f, c));
    give(&f, c);
    assert_int_equal(96, dc(&f, a));
    give(&f, a);
    assert_int_equal(data_of(&f, 100), osc_cached_storage_largest_free(&f.s));
    end(&f);
}

static void test_extend_and_trim(void **state)
{
    fixture_t f;
    uint32_t a, b;
    unsigned char *data;

    (void) state;
    begin(&f, 40, 4);
    a = take(&f, 10);
    b = take(&f, 10);
    data = osc_cached_storage_pointer(&f.s, b);
    memset(data, 7, data_of(&f, 10));
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_extend(&f.s, a, data_of(&f, 11)));
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_extend(&f.s, b, data_of(&f, 31)));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_extend(&f.s, b, data_of(&f, 10)));
    assert_int_equal(data_of(&f, 10), osc_cached_storage_bytes(&f.s, b));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    /* One byte more takes a line; more bytes in that line take nothing. */
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_extend(&f.s, b, data_of(&f, 10) + 1));
    assert_int_equal(21, osc_cached_storage_used_bytes(&f.s) / LINE);
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_extend(&f.s, b, data_of(&f, 11)));
    assert_int_equal(21, osc_cached_storage_used_bytes(&f.s) / LINE);
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    /* The whole hole: its descriptor goes. */
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_extend(&f.s, b, data_of(&f, 30)));
    assert_int_equal(0, osc_cached_storage_num_holes(&f.s));
    assert_int_equal(0, dc(&f, b));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    memset(data + data_of(&f, 10), 8, data_of(&f, 30) - data_of(&f, 10));
    /* Trimming within the last line frees nothing; then a new hole; then the same hole grows. */
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_trim(&f.s, b, data_of(&f, 30) - 63));
    assert_int_equal(0, osc_cached_storage_num_holes(&f.s));
    assert_int_equal(data_of(&f, 30) - 63, osc_cached_storage_bytes(&f.s, b));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_trim(&f.s, b, data_of(&f, 29)));
    assert_int_equal(1, dc(&f, b));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_trim(&f.s, b, data_of(&f, 12)));
    assert_int_equal(18, dc(&f, b));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    /* Between two used regions. */
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_trim(&f.s, a, 1));
    assert_int_equal(9 - f.s.redzone, dc(&f, a));
    assert_int_equal(27 - f.s.redzone, dc(&f, b));
    assert_ptr_equal(data, osc_cached_storage_pointer(&f.s, b));
    for (size_t i = 0; i < data_of(&f, 12); ++i) {
        assert_int_equal(i < data_of(&f, 10) ? 7 : 8, data[i]);
    }
    end(&f);
}

static void test_full(void **state)
{
    fixture_t f;
    uint32_t r[32], region = NONE;

    (void) state;
    begin(&f, 64, 32);
    for (int i = 0; i < 32; ++i) {
        r[i] = take(&f, 2);
        assert_int_equal(2 * i, place(&f, r[i]));
        assert_int_equal(0, (uintptr_t) osc_cached_storage_pointer(&f.s, r[i]) % LINE);
    }
    assert_int_equal(OSC_CACHED_FULL, try_take(&f, 2, &region));
    assert_int_equal(64 * LINE, osc_cached_storage_used_bytes(&f.s));
    /* Half of it is free, but in pieces of two lines: external fragmentation. */
    for (int i = 0; i < 32; i += 2) {
        give(&f, r[i]);
    }
    assert_int_equal(32, osc_cached_storage_free_bytes(&f.s) / LINE);
    assert_int_equal(OSC_CACHED_FULL, try_take(&f, 3, &region));
    assert_int_equal(4, dc(&f, r[1]));
    assert_int_equal(2, dc(&f, r[31]));
    assert_int_equal(0, place(&f, take(&f, 2)));
    end(&f);
}

static void test_descriptors_run_out(void **state)
{
    fixture_t f;
    uint32_t r[4], region = NONE;

    (void) state;
    begin(&f, 1000, 4);
    for (int i = 0; i < 4; ++i) {
        r[i] = take(&f, 10);
    }
    assert_int_equal(OSC_CACHED_NO_MEMORY, try_take(&f, 2, &region));
    assert_int_equal(NONE, region);
    /* The pool has room for a hole behind each. */
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(OSC_CACHED_OK, osc_cached_storage_trim(&f.s, r[i], data_of(&f, 5)));
        assert_int_equal(0, osc_cached_storage_verify(&f.s));
    }
    assert_int_equal(8, f.s.num_used + osc_cached_storage_num_holes(&f.s));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_reserve(&f.s, 3)); /* never less */
    assert_int_equal(4, f.s.max_regions);
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_reserve(&f.s, 100));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(10 * i, place(&f, r[i])); /* region numbers stay */
    }
    for (int i = 4; i < 100; ++i) {
        (void) take(&f, 5);
    }
    assert_int_equal(OSC_CACHED_NO_MEMORY, try_take(&f, 2, &region));
    give(&f, r[0]);
    (void) take(&f, 2);
    end(&f);
}

static void test_clear(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 100, 20);
    for (int round = 0; round < 3; ++round) {
        for (uint32_t i = 0; i < 10; ++i) {
            memset(osc_cached_storage_pointer(&f.s, take(&f, 2 + i)), 1, data_of(&f, 2 + i));
        }
        osc_cached_storage_clear(&f.s);
        assert_int_equal(0, osc_cached_storage_verify(&f.s));
        assert_int_equal(0, osc_cached_storage_used_bytes(&f.s));
        assert_int_equal(NONE, osc_cached_storage_first(&f.s));
        assert_int_equal(data_of(&f, 100), osc_cached_storage_largest_free(&f.s));
    }
    end(&f);
}

static void test_walk(void **state)
{
    fixture_t f;
    uint32_t r[10], at;

    (void) state;
    begin(&f, 100, 20);
    for (uint32_t i = 0; i < 10; ++i) {
        r[i] = take(&f, 3);
    }
    give(&f, r[0]);
    give(&f, r[4]);
    give(&f, r[5]);
    at = osc_cached_storage_first(&f.s);
    for (uint32_t i = 1; i < 10; i += (3 == i) ? 3 : 1) {
        assert_int_equal(r[i], at);
        at = osc_cached_storage_next(&f.s, at);
    }
    assert_int_equal(NONE, at);
    end(&f);
}

/* Pages are counted by the system; here: contents stay, and the count of bytes is right. */
static void test_prefault(void **state)
{
    fixture_t f;
    uint32_t region;

    (void) state;
    begin(&f, 1000, 20);
    /* 41 descriptors first, then whole pages of the arena */
    assert_int_equal(64000 - 8192, osc_cached_storage_prefault(&f.s, 41 * 32 + 8000));
    region = take(&f, 900);
    memset(osc_cached_storage_pointer(&f.s, region), 9, data_of(&f, 900));
    assert_int_equal(0, osc_cached_storage_prefault(&f.s, SIZE_MAX));
    assert_int_equal(0, osc_cached_storage_prefault(&f.s, SIZE_MAX));
    for (size_t i = 0; i < data_of(&f, 900); ++i) {
        assert_int_equal(9, ((char *) osc_cached_storage_pointer(&f.s, region))[i]);
    }
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 128000, NULL, NULL));
    assert_int_equal(128000, osc_cached_storage_prefault(&f.s, 1));
    assert_int_equal(128000 - 4096, osc_cached_storage_prefault(&f.s, 1));
    assert_int_equal(0, osc_cached_storage_prefault(&f.s, SIZE_MAX));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_reserve(&f.s, 30)); /* a new pool */
    assert_int_equal(128000, osc_cached_storage_prefault(&f.s, 1));
    assert_int_equal(9, *(char *) osc_cached_storage_pointer(&f.s, region));
    end(&f);
}

/* Each region's bytes tell whose they are and where in it. */
static unsigned char pattern(uint32_t owner, size_t i)
{
    return (unsigned char) (owner * 131 + i * 7 + (i >> 8));
}

static void fill(fixture_t *f, uint32_t region, size_t from)
{
    unsigned char *data = osc_cached_storage_pointer(&f->s, region);
    uint32_t owner = osc_cached_storage_owner(&f->s, region);
    size_t bytes = osc_cached_storage_bytes(&f->s, region);

    for (size_t i = from; i < bytes; ++i) {
        data[i] = pattern(owner, i);
    }
}

static void check(const fixture_t *f, uint32_t region, uint32_t owner)
{
    const unsigned char *data = osc_cached_storage_pointer(&f->s, region);
    size_t bytes = osc_cached_storage_bytes(&f->s, region), wrong = 0;

    for (size_t i = 0; i < bytes; ++i) {
        wrong += data[i] != pattern(owner, i);
    }
    assert_int_equal(0, wrong);
    assert_int_equal(owner, osc_cached_storage_owner(&f->s, region));
}

typedef struct {
    uint32_t count;
    uint64_t offset[4096]; /* by owner; 0: not told */
    bool told[4096];
} moves_t;

static moves_t moves;

static void on_moved(void *context, uint32_t owner, uint64_t new_offset)
{
    moves_t *m = context;

    assert_true(owner < 4096);
    assert_false(m->told[owner]);
    m->told[owner] = true;
    m->offset[owner] = new_offset;
    ++m->count;
}

static void test_resize(void **state)
{
    fixture_t f;
    uint32_t r[8];

    (void) state;
    begin(&f, 80, 8);
    for (uint32_t i = 0; i < 8; ++i) {
        assert_int_equal(OSC_CACHED_OK,
                         osc_cached_storage_alloc(&f.s, data_of(&f, 10) - i, i, &r[i]));
        fill(&f, r[i], 0);
    }
    /* Full to the last line; growing adds a hole. Offsets stay, and nobody is told of moves. */
    memset(&moves, 0, sizeof(moves));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 100 * LINE, on_moved, &moves));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    assert_int_equal(20, dc(&f, r[7]));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 200 * LINE, on_moved, &moves));
    assert_int_equal(120, dc(&f, r[7])); /* the hole at the end grows */
    assert_int_equal(1, osc_cached_storage_num_holes(&f.s));
    assert_int_equal(0, moves.count);
    for (uint32_t i = 0; i < 8; ++i) {
        assert_int_equal(10 * i, place(&f, r[i]));
        check(&f, r[i], i);
    }
    /* Shrinking: what is used must fit; here exactly, without moving. */
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_resize(&f.s, 79 * LINE, on_moved, &moves));
    assert_int_equal(200 * LINE, osc_cached_storage_capacity(&f.s));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 90 * LINE, NULL, NULL));
    assert_int_equal(10, dc(&f, r[7]));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 80 * LINE, NULL, NULL));
    assert_int_equal(0, osc_cached_storage_num_holes(&f.s));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    /* Holes before the last: without a callback nothing may move, with one all fit. */
    give(&f, r[1]);
    give(&f, r[4]);
    give(&f, r[5]);
    assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_resize(&f.s, 60 * LINE, NULL, NULL));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 60 * LINE, on_moved, &moves));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    assert_int_equal(4, moves.count); /* 2, 3, 6, 7; region 0 stayed */
    assert_false(moves.told[0]);
    for (uint32_t i = 0, next = 0; i < 8; ++i) {
        if (1 != i && 4 != i && 5 != i) {
            assert_int_equal(next, place(&f, r[i]));
            assert_true(0 == i || next * LINE == moves.offset[i]);
            check(&f, r[i], i);
            next += 10;
        }
    }
    assert_int_equal(10, dc(&f, r[7]));
    /* Exactly what is used: no hole is left. */
    give(&f, r[0]);
    memset(&moves, 0, sizeof(moves));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 40 * LINE, on_moved, &moves));
    assert_int_equal(4, moves.count);
    assert_int_equal(0, osc_cached_storage_num_holes(&f.s));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    check(&f, r[7], 7);
    end(&f);
}

static void test_resize_empty(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, 1, 1000);
    assert_int_equal(1, f.s.num_descriptors);
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 5000 * LINE, NULL, NULL));
    assert_int_equal(2001, f.s.num_descriptors); /* the pool follows, up to what may be used */
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, LINE, NULL, NULL));
    assert_int_equal(0, osc_cached_storage_verify(&f.s));
    assert_int_equal(OSC_CACHED_OK, osc_cached_storage_resize(&f.s, 4 << 20, NULL, NULL));
    assert_int_equal(0, (uintptr_t) f.s.arena % (2 << 20)); /* fit for huge pages */
    end(&f);
}

static void test_no_memory(void **state)
{
    test_alloc_t counts;
    osc_cached_alloc_t alloc = {test_alloc_get, test_alloc_put, &counts};
    osc_cached_storage_t s;
    fixture_t f;
    uint32_t r[10];

    (void) state;
    for (size_t n = 1; n <= 2; ++n) {
        memset(&counts, 0, sizeof(counts));
        counts.fail_at = n;
        assert_int_equal(OSC_CACHED_NO_MEMORY, osc_cached_storage_create(&s, 4096, 9, &alloc));
        assert_int_equal(n, counts.requests);
        assert_int_equal(0, counts.in_use);
    }
    begin(&f, 100, 1000);
    assert_int_equal(2, f.counts.requests); /* none of them is missing above */
    for (uint32_t i = 0; i < 10; ++i) {
        r[i] = take(&f, 10);
        osc_cached_storage_set_owner(&f.s, r[i], i);
        fill(&f, r[i], 0);
    }
    give(&f, r[3]);
    for (size_t n = 1; n <= 4; ++n) {
        int status;

        memset(&moves, 0, sizeof(moves));
        f.counts.requests = 0;
        /* grow, grow, shrink, reserve: two, two, one and one request */
        f.counts.fail_at = (2 == n) ? 2 : 1;
        if (n <= 2) {
            status = osc_cached_storage_resize(&f.s, 200 * LINE, on_moved, &moves);
        } else if (3 == n) {
            status = osc_cached_storage_resize(&f.s, 90 * LINE, on_moved, &moves);
        } else {
            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_storage_reserve(&f.s, 2000)); /* one per line: enough */
            assert_int_equal(0, f.counts.requests);
            f.counts.fail_at = 0;
            assert_int_equal(OSC_CACHED_OK,
                             osc_cached_storage_resize(&f.s, 10000 * LINE, NULL, NULL));
            assert_int_equal(2, f.counts.requests);
            f.counts.fail_at = 3;
            status = osc_cached_storage_reserve(&f.s, 4000);
            assert_int_equal(2000, f.s.max_regions);
        }
        assert_int_equal(OSC_CACHED_NO_MEMORY, status);
        assert_int_equal(0, moves.count);
        assert_int_equal(2, f.counts.in_use);
        assert_int_equal(n < 4 ? 100 * LINE : 10000 * LINE, osc_cached_storage_capacity(&f.s));
        assert_int_equal(0, osc_cached_storage_verify(&f.s));
        for (uint32_t i = 0; i < 10; ++i) {
            if (3 != i) {
                assert_int_equal(10 * i, place(&f, r[i]));
                check(&f, r[i], i);
            }
        }
    }
    end(&f);
}

static void test_verify_sees_damage(void **state)
{
    fixture_t f;
    uint32_t a, b, c, hole;
    osc_cached_region_t *regions, saved;

    (void) state;
    begin(&f, 100, 10);
    a = take(&f, 10);
    b = take(&f, 10);
    c = take(&f, 10);
    (void) take(&f, 10);
    give(&f, b);
    regions = f.s.regions;
    hole = regions[a].next;

#define DAMAGE(invariant, field, value)                               \
    do {                                                              \
        osc_cached_storage_t whole = f.s;                             \
        saved = regions[c];                                           \
        field = (value);                                              \
        assert_int_equal(invariant, osc_cached_storage_verify(&f.s)); \
        regions[c] = saved;                                           \
        f.s = whole;                                                  \
    } while (0)

    DAMAGE(1, f.s.head, hole);
    DAMAGE(1, f.s.tail, a);
    DAMAGE(1, regions[c].begin, 21);
    DAMAGE(1, regions[c].prev, a);
    DAMAGE(1, regions[c].next, 12345);
    DAMAGE(1, regions[c].lines, 11); /* seen at its successor */
    DAMAGE(2, regions[c].used, 0);
    DAMAGE(2, regions[c].lines, 0);
    DAMAGE(3, f.s.num_used, 2);
    DAMAGE(4, f.s.holes.count, 3);
    DAMAGE(3, f.s.used_lines, 29);
    DAMAGE(3, f.s.max_regions, 2);
    DAMAGE(3, f.s.unused, c);
    DAMAGE(3, f.s.num_fresh, f.s.num_fresh + 1);
    DAMAGE(4, f.s.holes.root, NONE);
    DAMAGE(4, f.s.holes.capacity, 1);
    DAMAGE(5, regions[c].adjacent, 9);
    DAMAGE(6, regions[c].slack, 64);
    regions[hole].lines = 9;
    assert_int_not_equal(0, osc_cached_storage_verify(&f.s));
    regions[hole].lines = 10;
#if defined(WITH_ASAN)
    DAMAGE(7, regions[c].slack, 5);
#endif
    end(&f);
}

/* What a program that writes one byte too many gets, in a child, from AddressSanitizer. */
static void test_redzone(void **state)
{
    (void) state;
#if defined(WITH_ASAN)
    /* where, relative to the first region: slack, redzone, free region, released region */
    static const size_t offsets[] = {100, 127, 128, 4000, 64 * LINE + 3};

    for (size_t i = 0; i <= sizeof(offsets) / sizeof(offsets[0]); ++i) {
        int status = 0;
        pid_t child = fork();

        assert_true(0 <= child);
        if (0 == child) {
            fixture_t f;
            uint32_t a = NONE, b = NONE;
            volatile char *data;

            begin(&f, 200, 10);
            if (OSC_CACHED_OK != osc_cached_storage_alloc(&f.s, 100, 1, &a)
                || OSC_CACHED_OK != osc_cached_storage_alloc(&f.s, 10000, 2, &b)) {
                _exit(3);
            }
            osc_cached_storage_release(&f.s, b);
            data = osc_cached_storage_pointer(&f.s, a);
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

/*
 * Churn in the manner of the paper's section IV-A3: sizes 2^0..2^16, an arena of 4 MiB, 100,000
 * requests. For each that does not fit, regions picked at random are released until it does, where
 * the cache will choose by score and give up early; so this shows the storage's own share. The
 * result is printed, not asserted.
 */
static void test_churn(void **state)
{
    static uint32_t live[1 << 16];
    uint64_t seed = seed_get(4);
    uint32_t num_live = 0;
    double sum = 0, lowest = 1, wasted = 0;
    int samples = 0, evictions = 0;
    fixture_t f;

    (void) state;
    begin(&f, (4 << 20) / LINE, 1 << 16);
    for (int step = 0; step < 100000; ++step) {
        size_t bytes = (size_t) 1 << random_below(&seed, 17);
        uint32_t region = NONE;
        double occupied;

        while (OSC_CACHED_OK != osc_cached_storage_alloc(&f.s, bytes, (uint32_t) bytes, &region)) {
            uint32_t victim = random_below(&seed, num_live);

            osc_cached_storage_release(&f.s, live[victim]);
            live[victim] = live[--num_live];
            ++evictions;
        }
        live[num_live++] = region;
        if (step >= 10000) {
            occupied = (double) osc_cached_storage_used_bytes(&f.s)
                       / (double) osc_cached_storage_capacity(&f.s);
            sum += occupied;
            lowest = occupied < lowest ? occupied : lowest;
            ++samples;
        }
        if (0 == step % 1009) {
            assert_int_equal(0, osc_cached_storage_verify(&f.s));
        }
    }
    for (uint32_t i = 0; i < num_live; ++i) {
        wasted += (double) f.s.regions[live[i]].slack;
    }
    printf("churn: occupancy mean %.1f %%, lowest %.1f %%; %u regions, %u holes, %.2f evictions "
           "per request, %.2f %% lost to rounding\n",
           100 * sum / samples, 100 * lowest, f.s.num_used, osc_cached_storage_num_holes(&f.s),
           evictions / 100000.0, 100 * wasted / (double) osc_cached_storage_capacity(&f.s));
    end(&f);
}

/* The model: the used regions, sorted by address. */
typedef struct {
    uint32_t line;
    uint32_t lines;
    uint32_t region;
    uint32_t owner;
    size_t bytes;
} interval_t;

typedef struct {
    fixture_t f;
    interval_t list[4096];
    uint32_t count;
    uint32_t capacity;    /* lines */
    uint32_t max_regions; /* used */
    uint32_t used;        /* lines */
    uint64_t seed;
    uint32_t owners[4096]; /* owners[count..4096) are not used */
} model_t;

static uint32_t model_lines(const model_t *m, size_t bytes)
{
    return (uint32_t) ((bytes + LINE - 1) / LINE) + m->f.s.redzone;
}

static uint32_t hole_begin(const model_t *m, uint32_t i)
{
    return 0 == i ? 0 : m->list[i - 1].line + m->list[i - 1].lines;
}

/* Lines of the hole before interval i; i == count: before the end. */
static uint32_t hole_lines(const model_t *m, uint32_t i)
{
    return (i == m->count ? m->capacity : m->list[i].line) - hole_begin(m, i);
}

static void model_alloc(model_t *m, size_t bytes)
{
    uint32_t lines = model_lines(m, bytes), best = NONE, region = NONE;
    int status, wanted = OSC_CACHED_OK;

    for (uint32_t i = 0; i <= m->count; ++i) {
        if (hole_lines(m, i) >= lines && (NONE == best || hole_lines(m, i) < hole_lines(m, best))) {
            best = i;
        }
    }
    if (NONE == best || m->count == m->max_regions) {
        /* when both are true, which of the two is told depends on the free sum */
        wanted = (NONE != best || lines <= m->capacity - m->used) && m->count == m->max_regions
                     ? OSC_CACHED_NO_MEMORY
                     : OSC_CACHED_FULL;
    }
    status = osc_cached_storage_alloc(&m->f.s, bytes, m->owners[m->count], &region);
    assert_int_equal(wanted, status);
    if (OSC_CACHED_OK == wanted) {
        interval_t made = {hole_begin(m, best), lines, region, m->owners[m->count], bytes};

        memmove(&m->list[best + 1], &m->list[best], (m->count - best) * sizeof(made));
        m->list[best] = made;
        ++m->count;
        m->used += lines;
        assert_int_equal(made.line, place(&m->f, region));
        fill(&m->f, region, 0);
    }
}

static void model_release(model_t *m, uint32_t i)
{
    interval_t gone = m->list[i];

    check(&m->f, gone.region, gone.owner);
    osc_cached_storage_release(&m->f.s, gone.region);
    --m->count;
    memmove(&m->list[i], &m->list[i + 1], (m->count - i) * sizeof(gone));
    m->owners[m->count] = gone.owner;
    m->used -= gone.lines;
}

static void model_change(model_t *m, uint32_t i, size_t bytes)
{
    interval_t *it = &m->list[i];
    uint32_t lines = model_lines(m, bytes);

    if (bytes < it->bytes) {
        assert_int_equal(OSC_CACHED_OK, osc_cached_storage_trim(&m->f.s, it->region, bytes));
    } else if (lines - it->lines > hole_lines(m, i + 1)) {
        assert_int_equal(OSC_CACHED_FULL, osc_cached_storage_extend(&m->f.s, it->region, bytes));
        return;
    } else {
        assert_int_equal(OSC_CACHED_OK, osc_cached_storage_extend(&m->f.s, it->region, bytes));
        fill(&m->f, it->region, it->bytes);
    }
    m->used += lines - it->lines;
    it->lines = lines;
    it->bytes = bytes;
    check(&m->f, it->region, it->owner);
}

static void model_check(model_t *m, uint32_t i)
{
    const interval_t *it = &m->list[i];
    const osc_cached_storage_t *s = &m->f.s;

    assert_int_equal(it->line, place(&m->f, it->region));
    assert_int_equal(it->bytes, osc_cached_storage_bytes(s, it->region));
    assert_int_equal(it->owner, osc_cached_storage_owner(s, it->region));
    assert_int_equal(hole_lines(m, i) + hole_lines(m, i + 1), dc(&m->f, it->region));
}

static void model_check_all(model_t *m)
{
    const osc_cached_storage_t *s = &m->f.s;
    uint32_t largest = 0, at = osc_cached_storage_first(s);

    assert_int_equal(0, osc_cached_storage_verify(s));
    for (uint32_t i = 0; i < m->count; ++i) {
        assert_int_equal(m->list[i].region, at);
        at = osc_cached_storage_next(s, at);
        model_check(m, i);
        check(&m->f, m->list[i].region, m->list[i].owner);
    }
    assert_int_equal(NONE, at);
    for (uint32_t i = 0; i <= m->count; ++i) {
        largest = hole_lines(m, i) > largest ? hole_lines(m, i) : largest;
    }
    assert_int_equal(0 == largest ? 0 : (uint64_t) (largest - s->redzone) * LINE,
                     osc_cached_storage_largest_free(s));
}

static void model_resize(model_t *m, uint32_t capacity)
{
    bool fits = 0 == m->count || hole_begin(m, m->count) <= capacity;
    bool may_move = 0 != random_below(&m->seed, 4);
    int wanted = (m->used > capacity || (!fits && !may_move)) ? OSC_CACHED_FULL : OSC_CACHED_OK;
    int status;
    uint32_t line = 0, changed = 0;

    memset(&moves, 0, sizeof(moves));
    /* up to 63 bytes more make no difference */
    status = osc_cached_storage_resize(&m->f.s,
                                       (uint64_t) capacity * LINE + random_below(&m->seed, LINE),
                                       may_move ? on_moved : NULL, &moves);
    assert_int_equal(wanted, status);
    if (OSC_CACHED_OK == wanted) {
        m->capacity = capacity;
        for (uint32_t i = 0; i < m->count && !fits; ++i) {
            interval_t *it = &m->list[i];

            changed += it->line != line;
            assert_int_equal(it->line != line, moves.told[it->owner]);
            assert_true(it->line == line || moves.offset[it->owner] == (uint64_t) line * LINE);
            it->line = line;
            line += it->lines;
        }
    }
    assert_int_equal(changed, moves.count);
    model_check_all(m);
}

static void run_model(uint64_t seed, uint32_t capacity, uint32_t max_regions, uint32_t max_bytes,
                      int operations)
{
    static model_t m;

    begin(&m.f, capacity, max_regions);
    m.count = 0;
    m.capacity = capacity;
    m.max_regions = max_regions;
    m.used = 0;
    m.seed = seed;
    for (uint32_t i = 0; i < 4096; ++i) {
        m.owners[i] = i;
    }
    for (int step = 0; step < operations; ++step) {
        uint32_t what = random_below(&m.seed, 1000);
        /* Sizes over all magnitudes. Phases of filling and of emptying. */
        size_t bytes = 1 + random_below(&m.seed, 1 + (max_bytes >> random_below(&m.seed, 8)));
        uint32_t allocs = (0 == (step / 5000) % 2) ? 550 : 350;
        uint32_t i = 0 == m.count ? 0 : random_below(&m.seed, m.count);

        if (what < allocs) {
            model_alloc(&m, bytes);
        } else if (what < 800 && 0 < m.count) {
            model_release(&m, i);
        } else if (what < 997 && 0 < m.count) {
            /* half of the time something near the present size */
            if (0 == what % 2) {
                bytes = m.list[i].bytes + random_below(&m.seed, 300);
                bytes = bytes > 150 ? bytes - 150 : 1;
            }
            model_change(&m, i, bytes);
        } else if (0 == step % 4) {
            model_resize(&m, capacity / 2 + random_below(&m.seed, capacity));
        } else if (1 == step % 4 && m.max_regions < 3000) {
            m.max_regions += random_below(&m.seed, 5);
            assert_int_equal(OSC_CACHED_OK, osc_cached_storage_reserve(&m.f.s, m.max_regions));
        } else if (0 == step % 31) {
            while (0 < m.count) {
                --m.count;
                m.owners[m.count] = m.list[m.count].owner;
            }
            m.used = 0;
            osc_cached_storage_clear(&m.f.s);
        }
        assert_int_equal(m.count, osc_cached_storage_num_regions(&m.f.s));
        assert_int_equal((uint64_t) m.used * LINE, osc_cached_storage_used_bytes(&m.f.s));
        assert_int_equal((uint64_t) (m.capacity - m.used) * LINE,
                         osc_cached_storage_free_bytes(&m.f.s));
        if (0 < m.count) {
            /* the place of the last operation, and its neighbours */
            for (uint32_t k = (0 == i ? 0 : i - 1); k < m.count && k < i + 2; ++k) {
                model_check(&m, k);
            }
        }
        if (0 == step % 997) {
            model_check_all(&m);
        }
    }
    model_check_all(&m);
    end(&m.f);
}

static void test_model(void **state)
{
    uint64_t seed = seed_get(20260101);

    (void) state;
    printf("seed: OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    run_model(seed, 40, 30, 200, 300000);
    run_model(seed + 1, 1000, 50, 4000, 400000);
    run_model(seed + 2, 3000, 2000, 3000, 200000);
    run_model(seed + 3, 8000, 200, 1 << 16, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_best_fit_and_ties),
        cmocka_unit_test(test_coalescing),
        cmocka_unit_test(test_adjacent),
        cmocka_unit_test(test_extend_and_trim),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_descriptors_run_out),
        cmocka_unit_test(test_clear),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_prefault),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_resize_empty),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_verify_sees_damage),
        cmocka_unit_test(test_redzone),
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("osc_cached_storage", tests, NULL, NULL);
}
