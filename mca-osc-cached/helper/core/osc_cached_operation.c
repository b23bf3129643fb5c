/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * One loop per operation and type, written by macros; a table finds it.
 *
 * Values are copied in and out by memcpy, which compilers make plain loads and stores: packed data
 * has no alignment.
 */
#include "osc_cached_operation.h"

#include <complex.h>
#include <string.h>

typedef float _Complex complex_float_t;
typedef double _Complex complex_double_t;
typedef long double _Complex complex_long_double_t;

typedef void (*loop_fn_t)(char *target, const char *source, size_t count);

/* For each pair of values a (target) and b (source), the target becomes RESULT. */
#define LOOP(name, type, result)                                     \
    static void name(char *target, const char *source, size_t count) \
    {                                                                \
        for (size_t i = 0; i < count; i++) {                         \
            type a, b, c;                                            \
            memcpy(&a, target + i * sizeof(type), sizeof(type));     \
            memcpy(&b, source + i * sizeof(type), sizeof(type));     \
            c = (type) (result);                                     \
            memcpy(target + i * sizeof(type), &c, sizeof(type));     \
        }                                                            \
    }

#define ORDER(name, type)                 \
    LOOP(max_##name, type, b > a ? b : a) \
    LOOP(min_##name, type, b < a ? b : a)
#define ARITHMETIC(name, type)    \
    LOOP(sum_##name, type, a + b) \
    LOOP(prod_##name, type, a *b)
#define LOGIC(name, type)          \
    LOOP(land_##name, type, a &&b) \
    LOOP(lor_##name, type, a || b) \
    LOOP(lxor_##name, type, !a != !b)
#define BITS(name, type)          \
    LOOP(band_##name, type, a &b) \
    LOOP(bor_##name, type, a | b) \
    LOOP(bxor_##name, type, a ^ b)

/* Signed sums are made without a sign, so that they wrap around; the products of 16-bit numbers are
 * ints, which 65535 * 65535 is too large for. */
#define INTEGER(name, type, wide)               \
    ORDER(name, type)                           \
    LOOP(sum_##name, type, (wide) a + (wide) b) \
    LOOP(prod_##name, type, (wide) a *(wide) b) \
    LOGIC(name, type)                           \
    BITS(name, type)
#define FLOATING(name, type) \
    ORDER(name, type)        \
    ARITHMETIC(name, type)

/* A pair is a value and an index behind it, without a gap. */
#define PAIR(name, value_t, index_t)                                                  \
    static void loc_##name(char *target, const char *source, size_t count, bool less) \
    {                                                                                 \
        const size_t bytes = sizeof(value_t) + sizeof(index_t);                       \
        for (size_t i = 0; i < count; i++, target += bytes, source += bytes) {        \
            value_t a, b;                                                             \
            index_t a_index, b_index;                                                 \
            memcpy(&a, target, sizeof(a));                                            \
            memcpy(&b, source, sizeof(b));                                            \
            memcpy(&a_index, target + sizeof(a), sizeof(a_index));                    \
            memcpy(&b_index, source + sizeof(b), sizeof(b_index));                    \
            if ((less ? b < a : b > a) || (b == a && b_index < a_index)) {            \
                memcpy(target, source, bytes);                                        \
            }                                                                         \
        }                                                                             \
    }                                                                                 \
    static void minloc_##name(char *target, const char *source, size_t count)         \
    {                                                                                 \
        loc_##name(target, source, count, true);                                      \
    }                                                                                 \
    static void maxloc_##name(char *target, const char *source, size_t count)         \
    {                                                                                 \
        loc_##name(target, source, count, false);                                     \
    }

INTEGER(int8, int8_t, uint32_t)
INTEGER(int16, int16_t, uint32_t)
INTEGER(int32, int32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint8, uint8_t, uint32_t)
INTEGER(uint16, uint16_t, uint32_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(uint64, uint64_t, uint64_t)
FLOATING(float, float)
FLOATING(double, double)
FLOATING(long_double, long double)
ARITHMETIC(complex_float, complex_float_t)
ARITHMETIC(complex_double, complex_double_t)
ARITHMETIC(complex_long_double, complex_long_double_t)
LOGIC(bool, uint8_t)
PAIR(short_int, short, int)
PAIR(int_int, int, int)
PAIR(long_int, long, int)
PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_double_int, long double, int)
PAIR(float_float, float, float)
PAIR(double_double, double, double)

#define ORDER_ROW(name) [OSC_CACHED_MAX] = max_##name, [OSC_CACHED_MIN] = min_##name
#define ARITHMETIC_ROW(name) [OSC_CACHED_SUM] = sum_##name, [OSC_CACHED_PROD] = prod_##name
#define LOGIC_ROW(name) \
    [OSC_CACHED_LAND] = land_##name, [OSC_CACHED_LOR] = lor_##name, [OSC_CACHED_LXOR] = lxor_##name
#define BITS_ROW(name) \
    [OSC_CACHED_BAND] = band_##name, [OSC_CACHED_BOR] = bor_##name, [OSC_CACHED_BXOR] = bxor_##name
#define INTEGER_ROW(name)                                                      \
    {                                                                          \
        ORDER_ROW(name), ARITHMETIC_ROW(name), LOGIC_ROW(name), BITS_ROW(name) \
    }
#define FLOATING_ROW(name)                    \
    {                                         \
        ORDER_ROW(name), ARITHMETIC_ROW(name) \
    }
#define PAIR_ROW(name)                                                           \
    {                                                                            \
        [OSC_CACHED_MINLOC] = minloc_##name, [OSC_CACHED_MAXLOC] = maxloc_##name \
    }

/* REPLACE and NO_OP need none. */
static const loop_fn_t loops[OSC_CACHED_ELEMENTS][OSC_CACHED_OPERATIONS] = {
    [OSC_CACHED_INT8] = INTEGER_ROW(int8),
    [OSC_CACHED_INT16] = INTEGER_ROW(int16),
    [OSC_CACHED_INT32] = INTEGER_ROW(int32),
    [OSC_CACHED_INT64] = INTEGER_ROW(int64),
    [OSC_CACHED_UINT8] = INTEGER_ROW(uint8),
    [OSC_CACHED_UINT16] = INTEGER_ROW(uint16),
    [OSC_CACHED_UINT32] = INTEGER_ROW(uint32),
    [OSC_CACHED_UINT64] = INTEGER_ROW(uint64),
    [OSC_CACHED_FLOAT] = FLOATING_ROW(float),
    [OSC_CACHED_DOUBLE] = FLOATING_ROW(double),
    [OSC_CACHED_LONG_DOUBLE] = FLOATING_ROW(long_double),
    [OSC_CACHED_COMPLEX_FLOAT] = {ARITHMETIC_ROW(complex_float)},
    [OSC_CACHED_COMPLEX_DOUBLE] = {ARITHMETIC_ROW(complex_double)},
    [OSC_CACHED_COMPLEX_LONG_DOUBLE] = {ARITHMETIC_ROW(complex_long_double)},
    [OSC_CACHED_BOOL] = {LOGIC_ROW(bool)},
    [OSC_CACHED_SHORT_INT] = PAIR_ROW(short_int),
    [OSC_CACHED_INT_INT] = PAIR_ROW(int_int),
    [OSC_CACHED_LONG_INT] = PAIR_ROW(long_int),
    [OSC_CACHED_FLOAT_INT] = PAIR_ROW(float_int),
    [OSC_CACHED_DOUBLE_INT] = PAIR_ROW(double_int),
    [OSC_CACHED_LONG_DOUBLE_INT] = PAIR_ROW(long_double_int),
    [OSC_CACHED_FLOAT_FLOAT] = PAIR_ROW(float_float),
    [OSC_CACHED_DOUBLE_DOUBLE] = PAIR_ROW(double_double),
    [OSC_CACHED_BYTES] = {BITS_ROW(uint8)},
};

static const size_t sizes[OSC_CACHED_ELEMENTS] = {
    [OSC_CACHED_INT8] = 1,
    [OSC_CACHED_INT16] = 2,
    [OSC_CACHED_INT32] = 4,
    [OSC_CACHED_INT64] = 8,
    [OSC_CACHED_UINT8] = 1,
    [OSC_CACHED_UINT16] = 2,
    [OSC_CACHED_UINT32] = 4,
    [OSC_CACHED_UINT64] = 8,
    [OSC_CACHED_FLOAT] = sizeof(float),
    [OSC_CACHED_DOUBLE] = sizeof(double),
    [OSC_CACHED_LONG_DOUBLE] = sizeof(long double),
    [OSC_CACHED_COMPLEX_FLOAT] = sizeof(complex_float_t),
    [OSC_CACHED_COMPLEX_DOUBLE] = sizeof(complex_double_t),
    [OSC_CACHED_COMPLEX_LONG_DOUBLE] = sizeof(complex_long_double_t),
    [OSC_CACHED_BOOL] = 1,
    [OSC_CACHED_SHORT_INT] = sizeof(short) + sizeof(int),
    [OSC_CACHED_INT_INT] = sizeof(int) + sizeof(int),
    [OSC_CACHED_LONG_INT] = sizeof(long) + sizeof(int),
    [OSC_CACHED_FLOAT_INT] = sizeof(float) + sizeof(int),
    [OSC_CACHED_DOUBLE_INT] = sizeof(double) + sizeof(int),
    [OSC_CACHED_LONG_DOUBLE_INT] = sizeof(long double) + sizeof(int),
    [OSC_CACHED_FLOAT_FLOAT] = sizeof(float) + sizeof(float),
    [OSC_CACHED_DOUBLE_DOUBLE] = sizeof(double) + sizeof(double),
    [OSC_CACHED_BYTES] = 1,
};

size_t osc_cached_element_bytes(unsigned element)
{
    return element < OSC_CACHED_ELEMENTS ? sizes[element] : 0;
}

bool osc_cached_operation_is_defined(unsigned operation, unsigned element)
{
    return element < OSC_CACHED_ELEMENTS && operation < OSC_CACHED_OPERATIONS
           && (OSC_CACHED_REPLACE == operation || OSC_CACHED_NO_OP == operation
               || NULL != loops[element][operation]);
}

void osc_cached_operation_apply(osc_cached_operation_t operation, osc_cached_element_t element,
                                void *target, const void *source, size_t count)
{
    if (OSC_CACHED_REPLACE == operation) {
        memcpy(target, source, count * sizes[element]);
    } else if (OSC_CACHED_NO_OP != operation) {
        loops[element][operation](target, source, count);
    }
}
