/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * MPI's predefined operations on its predefined types, as plain loops.
 *
 * The helper combines data beside the program's own thread. Open MPI's own functions for it retain
 * and release the objects of operation and type, without atomics below MPI_THREAD_MULTIPLE, and end
 * the process for some pair types: so these loops know nothing of them.
 *
 * Which operations a type has (MPI 4.0, 6.9.2, and 12.3.4 for REPLACE and NO_OP):
 *
 *                      MAX MIN   SUM PROD   LAND LOR LXOR   BAND BOR BXOR   MINLOC MAXLOC   REPLACE
 * NO_OP integers          yes        yes          yes              yes             - yes floating
 * point    yes        yes           -                -              -               yes complex -
 * yes           -                -              -               yes BOOL               -          -
 * yes               -              -               yes pairs              -          -            -
 * -             yes              yes BYTES               -          -            -              yes
 * -               yes
 *
 * Integer sums and products wrap around, as the machine's do. Where two values of MINLOC or MAXLOC
 * are equal the smaller index counts. MAX and MIN keep the target's value when either is not a
 * number.
 */
#ifndef OSC_CACHED_OPERATION_H
#define OSC_CACHED_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    OSC_CACHED_MAX,
    OSC_CACHED_MIN,
    OSC_CACHED_SUM,
    OSC_CACHED_PROD,
    OSC_CACHED_LAND,
    OSC_CACHED_LOR,
    OSC_CACHED_LXOR,
    OSC_CACHED_BAND,
    OSC_CACHED_BOR,
    OSC_CACHED_BXOR,
    OSC_CACHED_MINLOC,
    OSC_CACHED_MAXLOC,
    OSC_CACHED_REPLACE,
    OSC_CACHED_NO_OP,
    OSC_CACHED_OPERATIONS
} osc_cached_operation_t;

typedef enum {
    OSC_CACHED_INT8,
    OSC_CACHED_INT16,
    OSC_CACHED_INT32,
    OSC_CACHED_INT64,
    OSC_CACHED_UINT8,
    OSC_CACHED_UINT16,
    OSC_CACHED_UINT32,
    OSC_CACHED_UINT64,
    OSC_CACHED_FLOAT,
    OSC_CACHED_DOUBLE,
    OSC_CACHED_LONG_DOUBLE,
    OSC_CACHED_COMPLEX_FLOAT,
    OSC_CACHED_COMPLEX_DOUBLE,
    OSC_CACHED_COMPLEX_LONG_DOUBLE,
    OSC_CACHED_BOOL,      /**< of one byte */
    OSC_CACHED_SHORT_INT, /**< pairs of a value and an index */
    OSC_CACHED_INT_INT,   /**< also MPI_2INTEGER */
    OSC_CACHED_LONG_INT,
    OSC_CACHED_FLOAT_INT,
    OSC_CACHED_DOUBLE_INT,
    OSC_CACHED_LONG_DOUBLE_INT,
    OSC_CACHED_FLOAT_FLOAT,   /**< MPI_2REAL */
    OSC_CACHED_DOUBLE_DOUBLE, /**< MPI_2DOUBLE_PRECISION */
    OSC_CACHED_BYTES,         /**< MPI_BYTE, and any type whose elements are only replaced */
    OSC_CACHED_ELEMENTS
} osc_cached_element_t;

/** Bytes of a packed element: MPI's size, without the gap that a pair may have in memory. 0: there
 * is no such element. */
size_t osc_cached_element_bytes(unsigned element);

/** Can the operation be applied to such elements? Also for numbers that are none of the above. */
bool osc_cached_operation_is_defined(unsigned operation, unsigned element);

/** Is an element of several parts that may lie apart in memory? */
static inline bool osc_cached_element_is_pair(unsigned element)
{
    return OSC_CACHED_SHORT_INT <= element && element <= OSC_CACHED_DOUBLE_DOUBLE;
}

/**
 * target[i] = target[i] operation source[i] for @p count packed elements. The operation must be
 * defined for them. Neither needs to be aligned; they do not overlap.
 */
void osc_cached_operation_apply(osc_cached_operation_t operation, osc_cached_element_t element,
                                void *target, const void *source, size_t count);

#endif /* OSC_CACHED_OPERATION_H */
