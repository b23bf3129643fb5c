/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_layout: runs that share a block, descriptions of any bytes, cursors against an oracle.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_layout.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOC &osc_cached_alloc_default
#define MEMORY 65536

static int failures; /* allocations that fail from now on */

static void *failing_alloc(void *context, size_t alignment, size_t bytes)
{
    (void) context;
    return 0 < failures-- ? NULL : osc_cached_alloc_default.alloc(NULL, alignment, bytes);
}

static void plain_free(void *context, void *memory, size_t bytes)
{
    osc_cached_alloc_default.free(context, memory, bytes);
}

static osc_cached_layout_t *new_layout(uint32_t room, int64_t extent)
{
    osc_cached_layout_t *layout = osc_cached_layout_new(ALLOC, room, extent);

    assert_non_null(layout);
    return layout;
}

static void test_sharing(void **state)
{
    osc_cached_layout_t *layout = new_layout(3, 1024);
    (void) state;

    for (int i = 0; i < 10; i++) { /* a vector is one block */
        assert_int_equal(osc_cached_layout_add(layout, i * 64, 16), OSC_CACHED_OK);
    }
    assert_int_equal(layout->blocks, 1);
    assert_int_equal(layout->block[0].runs, 10);
    assert_int_equal(osc_cached_layout_add(layout, 1000, 4), OSC_CACHED_OK);
    assert_int_equal(osc_cached_layout_add(layout, 1004, 4), OSC_CACHED_OK); /* goes on */
    assert_int_equal(layout->blocks, 2);
    assert_int_equal(layout->block[1].run, 8);
    assert_int_equal(osc_cached_layout_add(layout, -32, 24), OSC_CACHED_OK);
    assert_int_equal(osc_cached_layout_add(layout, 5000, 0), OSC_CACHED_OK); /* nothing */
    assert_int_equal(osc_cached_layout_add(layout, 5000, 1), OSC_CACHED_FULL);
    assert_int_equal(layout->packed, 160 + 8 + 24);
    assert_int_equal(layout->low, -32);
    assert_int_equal(layout->high, 1008);
    assert_int_equal(osc_cached_layout_verify(layout), 0);
    osc_cached_layout_free(ALLOC, layout);
}

static void test_large_numbers(void **state)
{
    osc_cached_layout_t *layout = new_layout(4, 8);
    (void) state;

    assert_int_equal(osc_cached_layout_add(layout, INT64_MAX, 8), OSC_CACHED_BAD_ARGUMENT);
    assert_int_equal(osc_cached_layout_add(layout, 0, UINT64_MAX), OSC_CACHED_BAD_ARGUMENT);
    assert_int_equal(osc_cached_layout_add(layout, OSC_CACHED_LAYOUT_BYTES, 1),
                     OSC_CACHED_BAD_ARGUMENT);
    assert_int_equal(layout->blocks, 0);
    assert_int_equal(osc_cached_layout_add(layout, 0, 8), OSC_CACHED_OK);
    /* the same run would go on, and be too long: nothing changes */
    assert_int_equal(osc_cached_layout_add(layout, 8, UINT64_MAX - 4), OSC_CACHED_BAD_ARGUMENT);
    assert_int_equal(layout->packed, 8);
    assert_int_equal(osc_cached_layout_verify(layout), 0);
    assert_false(osc_cached_layout_fits(layout, UINT64_MAX, 1, UINT64_MAX));
    assert_false(osc_cached_layout_fits(layout, 0, UINT64_MAX, UINT64_MAX));
    assert_true(osc_cached_layout_fits(layout, 0, 2, 16));
    assert_false(osc_cached_layout_fits(layout, 1, 2, 16));
    assert_false(osc_cached_layout_fits(layout, 0, 2, 15));
    assert_true(osc_cached_layout_fits(layout, 1000, 0, 15));
    assert_int_equal(osc_cached_layout_add(layout, 100, 8), OSC_CACHED_OK);
    assert_false(osc_cached_layout_fits(layout, (uint64_t) -1, 1, 1000));
    osc_cached_layout_free(ALLOC, layout);

    /* an element before the start of the memory, whose bytes are behind it */
    layout = new_layout(4, -64);
    assert_int_equal(osc_cached_layout_add(layout, 100, 8), OSC_CACHED_OK);
    assert_true(osc_cached_layout_fits(layout, (uint64_t) -100, 1, 8));
    assert_false(osc_cached_layout_fits(layout, (uint64_t) -101, 1, 8));
    assert_false(osc_cached_layout_fits(layout, (uint64_t) -100, 2, 8));
    osc_cached_layout_free(ALLOC, layout);
}

/* A random layout, and where each byte of its elements is. */
static osc_cached_layout_t *any_layout(uint64_t *random, int64_t *where, size_t *packed)
{
    int64_t offset = (int64_t) random_below(random, 512) - 256;
    osc_cached_layout_t *layout = new_layout(64, (int64_t) random_below(random, 4096) - 2048);

    *packed = 0;
    for (uint32_t pieces = 1 + random_below(random, 6); pieces > 0; pieces--) {
        uint32_t runs = 1 + random_below(random, 5), bytes = 1 + random_below(random, 24);
        int64_t stride = (int64_t) random_below(random, 200) - 100;

        for (uint32_t run = 0; run < runs; run++, offset += stride) {
            assert_int_equal(osc_cached_layout_add(layout, offset, bytes), OSC_CACHED_OK);
            for (uint32_t i = 0; i < bytes; i++) {
                where[(*packed)++] = offset + i;
            }
        }
        offset += random_below(random, 300);
    }
    assert_int_equal(layout->packed, *packed);
    assert_int_equal(osc_cached_layout_verify(layout), 0);
    return layout;
}

static void test_against_oracle(void **state)
{
    static int64_t where[6 * 5 * 24];
    static char memory[MEMORY], copy[MEMORY];
    uint64_t random = seed_get(11);
    size_t packed;
    (void) state;

    for (int round = 0; round < 3000; round++) {
        osc_cached_layout_t *layout = any_layout(&random, where, &packed), *read;
        uint64_t count = 1 + random_below(&random, 4), total = packed * count;
        uint64_t offset = random_below(&random, (uint32_t) total);
        uint64_t bytes = random_below(&random, (uint32_t) (total - offset) + 1);
        int64_t low = INT64_MAX, high = INT64_MIN;
        uint64_t at;
        unsigned char description[2048];
        char data[6 * 5 * 24 * 4];
        osc_cached_cursor_t cursor;
        size_t length;

        for (uint64_t i = 0; i < total; i++) {
            int64_t place = where[i % packed] + (int64_t) (i / packed) * layout->extent;

            low = place < low ? place : low;
            high = place + 1 > high ? place + 1 : high;
        }
        at = (uint64_t) (low < 0 ? -low : 0) + random_below(&random, 8);
        assert_int_equal(
            osc_cached_layout_fits(layout, at, count, (uint64_t) ((int64_t) at + high)), true);
        assert_int_equal(
            osc_cached_layout_fits(layout, at, count, (uint64_t) ((int64_t) at + high - 1)), false);
        if (low < 0) {
            assert_false(osc_cached_layout_fits(layout, (uint64_t) (-low - 1), count, MEMORY));
        }
        /* the same through a description */
        length = osc_cached_layout_write(layout, description, sizeof(description));
        assert_true(0 < length);
        assert_int_equal(osc_cached_layout_write(layout, description, length), length);
        assert_int_equal(osc_cached_layout_write(layout, copy, length - 1), 0);
        assert_int_equal(osc_cached_layout_count(description, length), layout->blocks);
        assert_int_equal(osc_cached_layout_read(ALLOC, description, length, layout->blocks, &read),
                         OSC_CACHED_OK);
        assert_int_equal(osc_cached_layout_verify(read), 0);
        assert_int_equal(read->packed, layout->packed);
        assert_memory_equal(read->block, layout->block, layout->blocks * sizeof(layout->block[0]));
        /* one block less than it has, and one byte less or more */
        osc_cached_layout_free(ALLOC, layout);
        assert_int_equal(
            osc_cached_layout_read(ALLOC, description, length, read->blocks - 1, &layout),
            OSC_CACHED_BAD_ARGUMENT);
        assert_int_equal(
            osc_cached_layout_read(ALLOC, description, length - 1, read->blocks, &layout),
            OSC_CACHED_BAD_ARGUMENT);
        description[length] = 0;
        assert_int_equal(
            osc_cached_layout_read(ALLOC, description, length + 1, read->blocks, &layout),
            OSC_CACHED_BAD_ARGUMENT);
        for (size_t i = 0; i < MEMORY; i++) {
            memory[i] = (char) i;
        }
        osc_cached_cursor_seek(&cursor, read, offset);
        osc_cached_cursor_pack(&cursor, memory + at, data, bytes);
        for (uint64_t i = 0; i < bytes; i++) {
            uint64_t byte = offset + i;
            int64_t place = where[byte % packed] + (int64_t) (byte / packed) * read->extent;

            assert_int_equal(data[i], memory[(int64_t) at + place]);
            data[i] = (char) (100 + i);
        }
        memcpy(copy, memory, sizeof(memory));
        for (uint64_t i = 0; i < bytes; i++) {
            uint64_t byte = offset + i;

            copy[(int64_t) at + where[byte % packed] + (int64_t) (byte / packed) * read->extent] =
                data[i];
        }
        osc_cached_cursor_seek(&cursor, read, offset);
        osc_cached_cursor_unpack(&cursor, memory + at, data, bytes);
        assert_memory_equal(copy, memory, sizeof(memory));
        osc_cached_layout_free(ALLOC, read);
    }
}

/* Any bytes: refused, or a layout that fulfils its invariants. */
static void test_any_bytes(void **state)
{
    uint64_t random = seed_get(12), accepted = 0;
    uint32_t inputs = operations_of(1, 1);
    (void) state;

    for (uint32_t round = 0; round < inputs; round++) {
        unsigned char bytes[48];
        size_t length = 1 + random_below(&random, sizeof(bytes));
        osc_cached_layout_t *layout;

        for (size_t i = 0; i < length; i++) {
            bytes[i] = (unsigned char) random_below(&random, 0 == round % 2 ? 256 : 6);
        }
        if (OSC_CACHED_OK == osc_cached_layout_read(ALLOC, bytes, length, 8, &layout)) {
            assert_int_equal(osc_cached_layout_verify(layout), 0);
            (void) osc_cached_layout_fits(layout, random_below(&random, 100), bytes[0], 1000);
            osc_cached_layout_free(ALLOC, layout);
            ++accepted;
        }
    }
    assert_true(accepted > inputs / 1000);
}

static void test_no_memory(void **state)
{
    const osc_cached_alloc_t alloc = {failing_alloc, plain_free, NULL};
    osc_cached_layout_t *layout = new_layout(1, 8);
    unsigned char description[32];
    size_t length;
    (void) state;

    assert_int_equal(osc_cached_layout_add(layout, 0, 8), OSC_CACHED_OK);
    length = osc_cached_layout_write(layout, description, sizeof(description));
    osc_cached_layout_free(ALLOC, layout);
    failures = 1;
    assert_int_equal(osc_cached_layout_read(&alloc, description, length, 1, &layout),
                     OSC_CACHED_NO_MEMORY);
    assert_int_equal(osc_cached_layout_read(&alloc, description, length, 1, &layout),
                     OSC_CACHED_OK);
    osc_cached_layout_free(&alloc, layout);
    failures = 1;
    assert_null(osc_cached_layout_new(&alloc, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharing),        cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_against_oracle), cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("osc_cached_layout", tests, NULL, NULL);
}
