/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_operation: which exist, and what they compute; osc_cached_execute on layouts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_execute.h"
#include "osc_cached_operation.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether an operation is for a type, by rows of the standard's table. */
static bool expected(unsigned operation, unsigned element)
{
    bool integer = element <= OSC_CACHED_UINT64;
    bool floating = OSC_CACHED_FLOAT <= element && element <= OSC_CACHED_LONG_DOUBLE;
    bool complex_number =
        OSC_CACHED_COMPLEX_FLOAT <= element && element <= OSC_CACHED_COMPLEX_LONG_DOUBLE;

    switch (operation) {
    case OSC_CACHED_MAX:
    case OSC_CACHED_MIN:
        return integer || floating;
    case OSC_CACHED_SUM:
    case OSC_CACHED_PROD:
        return integer || floating || complex_number;
    case OSC_CACHED_LAND:
    case OSC_CACHED_LOR:
    case OSC_CACHED_LXOR:
        return integer || OSC_CACHED_BOOL == element;
    case OSC_CACHED_BAND:
    case OSC_CACHED_BOR:
    case OSC_CACHED_BXOR:
        return integer || OSC_CACHED_BYTES == element;
    case OSC_CACHED_MINLOC:
    case OSC_CACHED_MAXLOC:
        return osc_cached_element_is_pair(element);
    default:
        return true;
    }
}

static void test_defined(void **state)
{
    (void) state;
    for (unsigned element = 0; element < OSC_CACHED_ELEMENTS; element++) {
        assert_true(0 < osc_cached_element_bytes(element));
        for (unsigned operation = 0; operation < OSC_CACHED_OPERATIONS; operation++) {
            assert_int_equal(osc_cached_operation_is_defined(operation, element),
                             expected(operation, element));
        }
    }
    assert_false(osc_cached_operation_is_defined(OSC_CACHED_OPERATIONS, OSC_CACHED_INT32));
    assert_false(osc_cached_operation_is_defined(OSC_CACHED_REPLACE, OSC_CACHED_ELEMENTS));
    assert_int_equal(osc_cached_element_bytes(OSC_CACHED_ELEMENTS), 0);
    assert_int_equal(osc_cached_element_bytes(OSC_CACHED_DOUBLE_INT), 12);
    assert_int_equal(osc_cached_element_bytes(OSC_CACHED_SHORT_INT), 6);
}

/* Apply to one value of a type, unaligned, and compare. */
#define CHECK(element, type, operation, a, b, result)                              \
    do {                                                                           \
        char target[1 + 2 * sizeof(type)], source[3 + 2 * sizeof(type)];           \
        type x = (a), y = (b), z = (type) (result), found;                         \
        for (int i = 0; i < 2; i++) {                                              \
            memcpy(target + 1 + i * sizeof(type), &x, sizeof(type));               \
            memcpy(source + 3 + i * sizeof(type), &y, sizeof(type));               \
        }                                                                          \
        osc_cached_operation_apply(operation, element, target + 1, source + 3, 2); \
        for (int i = 0; i < 2; i++) {                                              \
            memcpy(&found, target + 1 + i * sizeof(type), sizeof(type));           \
            assert_true(z == found);                                               \
        }                                                                          \
    } while (0)

#define CHECK_INTEGER(element, type)                                    \
    do {                                                                \
        CHECK(element, type, OSC_CACHED_MAX, 3, 5, 5);                  \
        CHECK(element, type, OSC_CACHED_MAX, 7, 5, 7);                  \
        CHECK(element, type, OSC_CACHED_MIN, 3, 5, 3);                  \
        CHECK(element, type, OSC_CACHED_SUM, 40, 5, 45);                \
        CHECK(element, type, OSC_CACHED_SUM, (type) -1, 5, 4);          \
        CHECK(element, type, OSC_CACHED_PROD, 7, 5, 35);                \
        CHECK(element, type, OSC_CACHED_PROD, (type) -1, (type) -1, 1); \
        CHECK(element, type, OSC_CACHED_LAND, 2, 0, 0);                 \
        CHECK(element, type, OSC_CACHED_LAND, 2, 4, 1);                 \
        CHECK(element, type, OSC_CACHED_LOR, 0, 4, 1);                  \
        CHECK(element, type, OSC_CACHED_LXOR, 2, 4, 0);                 \
        CHECK(element, type, OSC_CACHED_LXOR, 0, 4, 1);                 \
        CHECK(element, type, OSC_CACHED_BAND, 6, 3, 2);                 \
        CHECK(element, type, OSC_CACHED_BOR, 6, 3, 7);                  \
        CHECK(element, type, OSC_CACHED_BXOR, 6, 3, 5);                 \
        CHECK(element, type, OSC_CACHED_REPLACE, 6, 3, 3);              \
        CHECK(element, type, OSC_CACHED_NO_OP, 6, 3, 6);                \
    } while (0)

#define CHECK_FLOATING(element, type)                                    \
    do {                                                                 \
        CHECK(element, type, OSC_CACHED_MAX, -3, -5, -3);                \
        CHECK(element, type, OSC_CACHED_MIN, -3, -5, -5);                \
        CHECK(element, type, OSC_CACHED_MIN, -3, (type) NAN, -3);        \
        CHECK(element, type, OSC_CACHED_SUM, (type) .5, 5, (type) 5.5);  \
        CHECK(element, type, OSC_CACHED_PROD, (type) .5, 5, (type) 2.5); \
        CHECK(element, type, OSC_CACHED_REPLACE, (type) .5, 5, 5);       \
    } while (0)

static void test_numbers(void **state)
{
    (void) state;
    CHECK_INTEGER(OSC_CACHED_INT8, int8_t);
    CHECK_INTEGER(OSC_CACHED_INT16, int16_t);
    CHECK_INTEGER(OSC_CACHED_INT32, int32_t);
    CHECK_INTEGER(OSC_CACHED_INT64, int64_t);
    CHECK_INTEGER(OSC_CACHED_UINT8, uint8_t);
    CHECK_INTEGER(OSC_CACHED_UINT16, uint16_t);
    CHECK_INTEGER(OSC_CACHED_UINT32, uint32_t);
    CHECK_INTEGER(OSC_CACHED_UINT64, uint64_t);
    CHECK(OSC_CACHED_INT32, int32_t, OSC_CACHED_MIN, -3, 5, -3); /* signed ones are */
    CHECK(OSC_CACHED_UINT32, uint32_t, OSC_CACHED_MIN, UINT32_MAX, 5, 5);
    CHECK(OSC_CACHED_INT64, int64_t, OSC_CACHED_SUM, INT64_MAX, 1, INT64_MIN); /* wraps */
    CHECK_FLOATING(OSC_CACHED_FLOAT, float);
    CHECK_FLOATING(OSC_CACHED_DOUBLE, double);
    CHECK_FLOATING(OSC_CACHED_LONG_DOUBLE, long double);
    CHECK(OSC_CACHED_COMPLEX_FLOAT, float _Complex, OSC_CACHED_SUM, 1 + 2 * I, 3, 4 + 2 * I);
    CHECK(OSC_CACHED_COMPLEX_DOUBLE, double _Complex, OSC_CACHED_PROD, 1 + 2 * I, 3 * I,
          -6 + 3 * I);
    CHECK(OSC_CACHED_COMPLEX_LONG_DOUBLE, long double _Complex, OSC_CACHED_SUM, 1, 3 * I,
          1 + 3 * I);
    CHECK(OSC_CACHED_BOOL, bool, OSC_CACHED_LXOR, true, true, false);
    CHECK(OSC_CACHED_BYTES, uint8_t, OSC_CACHED_BXOR, 0xf0, 0xff, 0x0f);
}

/* A packed pair: the value, and the index right behind it. */
#define CHECK_PAIR(element, value_t, index_t)                                                \
    do {                                                                                     \
        static const struct {                                                                \
            int a, a_index, b, b_index, min, max; /* 0: a stays, 1: b replaces it */         \
        } cases[] = {                                                                        \
            {3, 7, 5, 1, 0, 1}, {5, 7, 3, 1, 1, 0}, {5, 7, 5, 1, 1, 1}, {5, 1, 5, 7, 0, 0}}; \
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {                      \
            char a[sizeof(value_t) + sizeof(index_t)], b[sizeof(a)], c[sizeof(a)];           \
            value_t value = (value_t) cases[i].a;                                            \
            index_t index = (index_t) cases[i].a_index;                                      \
            memset(a, 0, sizeof(a));                                                         \
            memset(b, 0, sizeof(b));                                                         \
            memcpy(a, &value, sizeof(value));                                                \
            memcpy(a + sizeof(value), &index, sizeof(index));                                \
            value = (value_t) cases[i].b;                                                    \
            index = (index_t) cases[i].b_index;                                              \
            memcpy(b, &value, sizeof(value));                                                \
            memcpy(b + sizeof(value), &index, sizeof(index));                                \
            memcpy(c, a, sizeof(a));                                                         \
            osc_cached_operation_apply(OSC_CACHED_MINLOC, element, c, b, 1);                 \
            assert_memory_equal(c, cases[i].min ? b : a, sizeof(a));                         \
            memcpy(c, a, sizeof(a));                                                         \
            osc_cached_operation_apply(OSC_CACHED_MAXLOC, element, c, b, 1);                 \
            assert_memory_equal(c, cases[i].max ? b : a, sizeof(a));                         \
        }                                                                                    \
    } while (0)

static void test_pairs(void **state)
{
    (void) state;
    CHECK_PAIR(OSC_CACHED_SHORT_INT, short, int);
    CHECK_PAIR(OSC_CACHED_INT_INT, int, int);
    CHECK_PAIR(OSC_CACHED_LONG_INT, long, int);
    CHECK_PAIR(OSC_CACHED_FLOAT_INT, float, int);
    CHECK_PAIR(OSC_CACHED_DOUBLE_INT, double, int);
    CHECK_PAIR(OSC_CACHED_LONG_DOUBLE_INT, long double, int);
    CHECK_PAIR(OSC_CACHED_FLOAT_FLOAT, float, float);
    CHECK_PAIR(OSC_CACHED_DOUBLE_DOUBLE, double, double);
}

typedef struct {
    short value;
    int index;
} short_int_t;

/* A pair with a gap: the gap of the target, which may be somebody else's, stays as it is. */
static void test_gap(void **state)
{
    osc_cached_layout_t *layout =
        osc_cached_layout_new(&osc_cached_alloc_default, 2, sizeof(short_int_t));
    short_int_t window[300], source = {.value = -1, .index = 4};
    char data[300 * 6], result[300 * 6];
    osc_cached_request_t request = {.kind = OSC_CACHED_WIRE_FETCH,
                                    .operation = OSC_CACHED_MINLOC,
                                    .element = OSC_CACHED_SHORT_INT,
                                    .count = 300,
                                    .length = sizeof(data),
                                    .layout = 1};
    (void) state;

    assert_non_null(layout);
    assert_int_equal(osc_cached_layout_add(layout, 0, 2), OSC_CACHED_OK);
    assert_int_equal(osc_cached_layout_add(layout, offsetof(short_int_t, index), 4), OSC_CACHED_OK);
    memset(window, 0x55, sizeof(window));
    for (int i = 0; i < 300; i++) {
        window[i].value = (short) (i % 3 - 1);
        window[i].index = 9;
        memcpy(data + 6 * i, &source.value, 2);
        memcpy(data + 6 * i + 2, &source.index, 4);
    }
    assert_int_equal(osc_cached_execute_check(&request, layout, sizeof(window)),
                     OSC_CACHED_REFUSED_NOT);
    assert_int_equal(osc_cached_execute_check(&request, layout, sizeof(window) - 1),
                     OSC_CACHED_REFUSED_RANGE);
    osc_cached_execute(&request, layout, (char *) window, data, result);
    for (int i = 0; i < 300; i++) {
        short before;

        memcpy(&before, result + 6 * i, 2);
        assert_int_equal(before, i % 3 - 1);
        assert_int_equal(window[i].value, -1);
        assert_int_equal(window[i].index, 4);
        assert_int_equal(((unsigned char *) &window[i])[2], 0x55);
    }
    osc_cached_layout_free(&osc_cached_alloc_default, layout);
}

static void test_compare_and_swap(void **state)
{
    int32_t window[2] = {5, 6}, data[2] = {9, 6}, result = 0;
    osc_cached_request_t request = {
        .kind = OSC_CACHED_WIRE_CAS, .element = OSC_CACHED_INT32, .count = 4, .length = 4, .at = 4};
    (void) state;

    osc_cached_execute(&request, NULL, (char *) window, data, &result);
    assert_int_equal(result, 6);
    assert_int_equal(window[1], 9);
    osc_cached_execute(&request, NULL, (char *) window, data, &result);
    assert_int_equal(result, 9);
    assert_int_equal(window[1], 9);
    assert_int_equal(window[0], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defined),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_compare_and_swap),
    };

    return cmocka_run_group_tests_name("osc_cached_operation", tests, NULL, NULL);
}
