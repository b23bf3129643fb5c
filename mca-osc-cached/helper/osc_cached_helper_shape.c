/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes are kept: a program has few, and builds the same ones again and again.  Two datatypes have
 * the same shape when their descriptions are equal, byte by byte (see ../osc_cached_type.c).
 */

#include "ompi_config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"
#include "opal/datatype/opal_convertor.h"
#include "ompi/constants.h"

#include "osc_cached_helper_shape.h"

enum {
    SHAPES = 64,       /* kept */
    PIECE_BLOCKS = 64, /* of a layout: its description fits into the smallest buffer granted */
    ELEMENT_RUNS = 4,  /* an element has at most two parts; with room for the next one */
    DESCRIPTION_MAX = 65536, /* bytes; longer ones are built anew */
};

static ompi_osc_cached_shape_t *kept[SHAPES];
static unsigned next_kept;
static uint64_t last_key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of these */

/* --- Predefined datatypes */

/* How a family of datatypes of different sizes is treated. */
typedef enum { SIGNED, UNSIGNED, REAL, COMPLEX, TRUTH, PAIR, BYTES } family_t;

static const struct {
    const void *type; /* the handle */
    family_t family;
    osc_cached_element_t pair; /* of PAIR */
} predefined[] = {
    {MPI_INT, SIGNED, 0},
    {MPI_LONG, SIGNED, 0},
    {MPI_LONG_LONG_INT, SIGNED, 0},
    {MPI_INT8_T, SIGNED, 0},
    {MPI_INT16_T, SIGNED, 0},
    {MPI_INT32_T, SIGNED, 0},
    {MPI_INT64_T, SIGNED, 0},
    {MPI_SHORT, SIGNED, 0},
    {MPI_SIGNED_CHAR, SIGNED, 0},
    {MPI_AINT, SIGNED, 0},
    {MPI_OFFSET, SIGNED, 0},
    {MPI_COUNT, SIGNED, 0},
    {MPI_INTEGER, SIGNED, 0},
    {MPI_LOGICAL, SIGNED, 0},
    {MPI_UNSIGNED, UNSIGNED, 0},
    {MPI_UNSIGNED_LONG, UNSIGNED, 0},
    {MPI_UNSIGNED_SHORT, UNSIGNED, 0},
    {MPI_UNSIGNED_CHAR, UNSIGNED, 0},
    {MPI_UNSIGNED_LONG_LONG, UNSIGNED, 0},
    {MPI_UINT8_T, UNSIGNED, 0},
    {MPI_UINT16_T, UNSIGNED, 0},
    {MPI_UINT32_T, UNSIGNED, 0},
    {MPI_UINT64_T, UNSIGNED, 0},
    {MPI_DOUBLE, REAL, 0},
    {MPI_FLOAT, REAL, 0},
    {MPI_LONG_DOUBLE, REAL, 0},
    {MPI_REAL, REAL, 0},
    {MPI_DOUBLE_PRECISION, REAL, 0},
    {MPI_C_FLOAT_COMPLEX, COMPLEX, 0},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX, 0},
    {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, 0},
    {MPI_COMPLEX, COMPLEX, 0},
    {MPI_DOUBLE_COMPLEX, COMPLEX, 0},
    {MPI_CXX_FLOAT_COMPLEX, COMPLEX, 0},
    {MPI_CXX_DOUBLE_COMPLEX, COMPLEX, 0},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, 0},
    {MPI_C_BOOL, TRUTH, 0},
    {MPI_CXX_BOOL, TRUTH, 0},
    {MPI_BYTE, UNSIGNED, 0}, /* as in MPI_Reduce of Open MPI, which counts with them */
    {MPI_CHAR, SIGNED, 0},   /* the same, whatever a char is */
    {MPI_WCHAR, BYTES, 0},
    {MPI_PACKED, BYTES, 0},
    {MPI_CHARACTER, UNSIGNED, 0},
/* what the Fortran compiler of Open MPI has */
#ifdef MPI_INTEGER1
    {MPI_INTEGER1, SIGNED, 0},
#endif
#ifdef MPI_INTEGER2
    {MPI_INTEGER2, SIGNED, 0},
#endif
#ifdef MPI_INTEGER4
    {MPI_INTEGER4, SIGNED, 0},
#endif
#ifdef MPI_INTEGER8
    {MPI_INTEGER8, SIGNED, 0},
#endif
#ifdef MPI_REAL4
    {MPI_REAL4, REAL, 0},
#endif
#ifdef MPI_REAL8
    {MPI_REAL8, REAL, 0},
#endif
#ifdef MPI_COMPLEX8
    {MPI_COMPLEX8, COMPLEX, 0},
#endif
#ifdef MPI_REAL16
    {MPI_REAL16, REAL, 0}, /* Open MPI takes it for a long double */
#endif
#ifdef MPI_COMPLEX16
    {MPI_COMPLEX16, COMPLEX, 0},
#endif
#ifdef MPI_COMPLEX32
    {MPI_COMPLEX32, COMPLEX, 0},
#endif
#ifdef MPI_LOGICAL1
    {MPI_LOGICAL1, SIGNED, 0},
#endif
#ifdef MPI_LOGICAL2
    {MPI_LOGICAL2, SIGNED, 0},
#endif
#ifdef MPI_LOGICAL4
    {MPI_LOGICAL4, SIGNED, 0},
#endif
#ifdef MPI_LOGICAL8
    {MPI_LOGICAL8, SIGNED, 0},
#endif
    {MPI_SHORT_INT, PAIR, OSC_CACHED_SHORT_INT},
    {MPI_2INT, PAIR, OSC_CACHED_INT_INT},
    {MPI_LONG_INT, PAIR, OSC_CACHED_LONG_INT},
    {MPI_FLOAT_INT, PAIR, OSC_CACHED_FLOAT_INT},
    {MPI_DOUBLE_INT, PAIR, OSC_CACHED_DOUBLE_INT},
    {MPI_LONG_DOUBLE_INT, PAIR, OSC_CACHED_LONG_DOUBLE_INT},
    {MPI_2INTEGER, PAIR, OSC_CACHED_INT_INT},
    {MPI_2REAL, PAIR, OSC_CACHED_FLOAT_FLOAT},
    {MPI_2DOUBLE_PRECISION, PAIR, OSC_CACHED_DOUBLE_DOUBLE},
};

/* The member of a family that has this size, from the smallest on; -1: none. */
static int of_size(const osc_cached_element_t *elements, int count, size_t bytes)
{
    for (int i = 0; i < count; ++i) {
        if (bytes == osc_cached_element_bytes(elements[i])) {
            return (int) elements[i];
        }
    }
    return -1;
}

int ompi_osc_cached_shape_element(const ompi_datatype_t *type)
{
    static const osc_cached_element_t ints[] = {OSC_CACHED_INT8, OSC_CACHED_INT16, OSC_CACHED_INT32,
                                                OSC_CACHED_INT64};
    static const osc_cached_element_t uints[] = {OSC_CACHED_UINT8, OSC_CACHED_UINT16,
                                                 OSC_CACHED_UINT32, OSC_CACHED_UINT64};
    static const osc_cached_element_t reals[] = {OSC_CACHED_FLOAT, OSC_CACHED_DOUBLE,
                                                 OSC_CACHED_LONG_DOUBLE};
    static const osc_cached_element_t complexes[] = {
        OSC_CACHED_COMPLEX_FLOAT, OSC_CACHED_COMPLEX_DOUBLE, OSC_CACHED_COMPLEX_LONG_DOUBLE};
    static const osc_cached_element_t truths[] = {OSC_CACHED_BOOL};
    size_t bytes = type->super.size;

    for (size_t i = 0; i < sizeof(predefined) / sizeof(predefined[0]); ++i) {
        /* by their numbers: those of MPI_Type_create_f90_real and the like are copies */
        if (type->id != ((const ompi_datatype_t *) predefined[i].type)->id) {
            continue;
        }
        switch (predefined[i].family) {
        case SIGNED:
            return of_size(ints, 4, bytes);
        case UNSIGNED:
            return of_size(uints, 4, bytes);
        case REAL:
            return of_size(reals, 3, bytes);
        case COMPLEX:
            return of_size(complexes, 3, bytes);
        case TRUTH:
            return of_size(truths, 1, bytes);
        case PAIR:
            return of_size(&predefined[i].pair, 1, bytes);
        default:
            return OSC_CACHED_BYTES;
        }
    }
    return -1;
}

int ompi_osc_cached_shape_operation(const struct ompi_op_t *op)
{
    static const struct {
        const void *op;
        osc_cached_operation_t operation;
    } operations[] = {
        {MPI_SUM, OSC_CACHED_SUM},       {MPI_REPLACE, OSC_CACHED_REPLACE},
        {MPI_NO_OP, OSC_CACHED_NO_OP},   {MPI_MAX, OSC_CACHED_MAX},
        {MPI_MIN, OSC_CACHED_MIN},       {MPI_PROD, OSC_CACHED_PROD},
        {MPI_LAND, OSC_CACHED_LAND},     {MPI_LOR, OSC_CACHED_LOR},
        {MPI_LXOR, OSC_CACHED_LXOR},     {MPI_BAND, OSC_CACHED_BAND},
        {MPI_BOR, OSC_CACHED_BOR},       {MPI_BXOR, OSC_CACHED_BXOR},
        {MPI_MINLOC, OSC_CACHED_MINLOC}, {MPI_MAXLOC, OSC_CACHED_MAXLOC},
    };

    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); ++i) {
        if ((const void *) op == operations[i].op) {
            return (int) operations[i].operation;
        }
    }
    return -1;
}

/* --- Derived ones */

/* What all elements of a datatype are; -1: they differ, or are none of ours.  A pair consists of
 * two of Open MPI's basic types, so that only the datatypes it was made of tell it from a
 * structure. */
static int find_element(MPI_Datatype type)
{
    int integers, addresses, types, combiner, element = -1;
    int *integer;
    MPI_Aint *address;
    MPI_Datatype *inside;

    if (ompi_datatype_is_predefined(type)) {
        return ompi_osc_cached_shape_element(type);
    }
    if (MPI_SUCCESS != PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner)
        || 0 == types) {
        return -1;
    }
    integer = malloc((size_t) (integers + 1) * sizeof(*integer));
    address = malloc((size_t) (addresses + 1) * sizeof(*address));
    inside = malloc((size_t) types * sizeof(*inside));
    if (NULL != integer && NULL != address && NULL != inside
        && MPI_SUCCESS
               == PMPI_Type_get_contents(type, integers, addresses, types, integer, address,
                                         inside)) {
        bool first = true;

        for (int i = 0; i < types; ++i) {
            if (0 < inside[i]->super.size) { /* 4.1 has marks without data */
                int found = find_element(inside[i]);

                element = (first || element == found) ? found : -1;
                first = false;
            }
            if (!ompi_datatype_is_predefined(inside[i])) {
                (void) PMPI_Type_free(&inside[i]);
            }
        }
    }
    free(integer);
    free(address);
    free(inside);
    return element;
}

/* Another piece for a shape.  @return NULL: no memory */
static osc_cached_layout_t *add_piece(ompi_osc_cached_shape_t *shape, uint64_t before)
{
    ompi_osc_cached_piece_t *larger =
        realloc(shape->piece, (shape->pieces + 1) * sizeof(*shape->piece));
    ompi_osc_cached_piece_t *piece;

    if (NULL == larger) {
        return NULL;
    }
    shape->piece = larger;
    piece = &shape->piece[shape->pieces];
    piece->layout = osc_cached_layout_new(&osc_cached_alloc_default, PIECE_BLOCKS + ELEMENT_RUNS,
                                          shape->extent);
    if (NULL == piece->layout) {
        return NULL;
    }
    piece->before = before;
    ++shape->pieces;
    return piece->layout;
}

/* The runs of the datatype, in the order in which they are packed, as pieces that end with
 * elements. */
static bool find_pieces(ompi_osc_cached_shape_t *shape, ompi_datatype_t *type)
{
    /* any address: with a positive distance to the runs before it, too */
    char *base = (char *) ((uintptr_t) 1 << 46);
    size_t element = (0 > shape->element) ? 1 : osc_cached_element_bytes((unsigned) shape->element);
    osc_cached_layout_t *layout = NULL;
    opal_convertor_t convertor;
    struct iovec runs[32];
    bool done = false, good = true;
    uint64_t before = 0;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    (void) opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, 1, base,
                                                    0, &convertor);
    while (good && !done) {
        uint32_t count = sizeof(runs) / sizeof(runs[0]);
        size_t bytes = SIZE_MAX;

        done = 0 != opal_convertor_raw(&convertor, runs, &count, &bytes);
        for (uint32_t i = 0; i < count && good; ++i) {
            if (0 == runs[i].iov_len) {
                continue;
            }
            if (NULL == layout || (PIECE_BLOCKS <= layout->blocks && 0 == before % element)) {
                layout = add_piece(shape, before);
                good = NULL != layout;
            }
            good = good
                   && OSC_CACHED_OK
                          == osc_cached_layout_add(layout, (char *) runs[i].iov_base - base,
                                                   runs[i].iov_len);
            before += runs[i].iov_len;
            ++shape->runs;
        }
    }
    OBJ_DESTRUCT(&convertor);
    shape->packed = before;
    return good && before == type->super.size;
}

static void destroy(ompi_osc_cached_shape_t *shape)
{
    for (uint32_t i = 0; i < shape->pieces; ++i) {
        osc_cached_layout_free(&osc_cached_alloc_default, shape->piece[i].layout);
    }
    free(shape->piece);
    free(shape->description);
    free(shape);
}

static ompi_osc_cached_shape_t *build(ompi_datatype_t *type)
{
    ompi_osc_cached_shape_t *shape = calloc(1, sizeof(*shape));
    ptrdiff_t lb, extent;

    if (NULL == shape) {
        return NULL;
    }
    (void) ompi_datatype_get_extent(type, &lb, &extent);
    shape->extent = extent;
    shape->element = find_element(type);
    if (!find_pieces(shape, type)) {
        destroy(shape);
        return NULL;
    }
    return shape;
}

/* Keep it, in the place of another one; the lock is held. */
static void keep(ompi_osc_cached_shape_t *shape, const void *description, size_t bytes)
{
    unsigned place = next_kept++ % SHAPES;

    shape->description = malloc(bytes);
    if (NULL == shape->description) {
        return;
    }
    memcpy(shape->description, description, bytes);
    shape->description_bytes = bytes;
    if (NULL != kept[place] && 0 == --kept[place]->users) {
        destroy(kept[place]);
    }
    kept[place] = shape;
    ++shape->users;
}

ompi_osc_cached_shape_t *ompi_osc_cached_shape_get(ompi_datatype_t *type)
{
    size_t bytes = ompi_datatype_pack_description_length(type);
    const void *description = NULL;
    ompi_osc_cached_shape_t *shape = NULL;

    if (DESCRIPTION_MAX < bytes
        || OMPI_SUCCESS != ompi_datatype_get_pack_description(type, &description)
        || NULL == description) {
        bytes = 0;
    }
    (void) pthread_mutex_lock(&lock);
    for (int i = 0; i < SHAPES && 0 < bytes && NULL == shape; ++i) {
        if (NULL != kept[i] && bytes == kept[i]->description_bytes
            && 0 == memcmp(description, kept[i]->description, bytes)) {
            shape = kept[i];
        }
    }
    if (NULL == shape) {
        shape = build(type);
        if (NULL != shape) {
            for (uint32_t i = 0; i < shape->pieces; ++i) {
                shape->piece[i].key = ++last_key;
            }
            if (0 < bytes) {
                keep(shape, description, bytes);
            }
        }
    }
    if (NULL != shape) {
        ++shape->users;
    }
    (void) pthread_mutex_unlock(&lock);
    return shape;
}

void ompi_osc_cached_shape_put(ompi_osc_cached_shape_t *shape)
{
    (void) pthread_mutex_lock(&lock);
    if (0 == --shape->users) {
        destroy(shape);
    }
    (void) pthread_mutex_unlock(&lock);
}

void ompi_osc_cached_shape_finalize(void)
{
    for (int i = 0; i < SHAPES; ++i) {
        if (NULL != kept[i]) {
            ompi_osc_cached_shape_put(kept[i]);
            kept[i] = NULL;
        }
    }
}
