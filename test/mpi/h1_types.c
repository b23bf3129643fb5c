/* H8: the helper knows each operation on each predefined datatype that MPI_Reduce_local knows.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <complex.h>

enum { MOST = 64 }; /* bytes of an element */

static const struct {
    MPI_Datatype type;
    char kind; /* integer, real, complex, truth or pair */
} types[] = {
    {MPI_CHAR, 'i'},
    {MPI_SIGNED_CHAR, 'i'},
    {MPI_UNSIGNED_CHAR, 'i'},
    {MPI_BYTE, 'i'},
    {MPI_PACKED, 'i'},
    {MPI_WCHAR, 'i'},
    {MPI_SHORT, 'i'},
    {MPI_UNSIGNED_SHORT, 'i'},
    {MPI_INT, 'i'},
    {MPI_UNSIGNED, 'i'},
    {MPI_LONG, 'i'},
    {MPI_UNSIGNED_LONG, 'i'},
    {MPI_LONG_LONG, 'i'},
    {MPI_LONG_LONG_INT, 'i'},
    {MPI_UNSIGNED_LONG_LONG, 'i'},
    {MPI_INT8_T, 'i'},
    {MPI_UINT8_T, 'i'},
    {MPI_INT16_T, 'i'},
    {MPI_UINT16_T, 'i'},
    {MPI_INT32_T, 'i'},
    {MPI_UINT32_T, 'i'},
    {MPI_INT64_T, 'i'},
    {MPI_UINT64_T, 'i'},
    {MPI_AINT, 'i'},
    {MPI_OFFSET, 'i'},
    {MPI_COUNT, 'i'},
    {MPI_FLOAT, 'r'},
    {MPI_DOUBLE, 'r'},
    {MPI_LONG_DOUBLE, 'r'},
    {MPI_C_BOOL, 't'},
    {MPI_C_COMPLEX, 'c'},
    {MPI_C_FLOAT_COMPLEX, 'c'},
    {MPI_C_DOUBLE_COMPLEX, 'c'},
    {MPI_C_LONG_DOUBLE_COMPLEX, 'c'},
    {MPI_CXX_BOOL, 't'},
    {MPI_CXX_FLOAT_COMPLEX, 'c'},
    {MPI_CXX_DOUBLE_COMPLEX, 'c'},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, 'c'},
    {MPI_SHORT_INT, 'p'},
    {MPI_2INT, 'p'},
    {MPI_LONG_INT, 'p'},
    {MPI_FLOAT_INT, 'p'},
    {MPI_DOUBLE_INT, 'p'},
    {MPI_LONG_DOUBLE_INT, 'p'},
    /* Fortran's; those without a size are there in any case, but may be of no size */
    {MPI_CHARACTER, 'i'},
    {MPI_LOGICAL, 't'},
    {MPI_INTEGER, 'i'},
    {MPI_REAL, 'r'},
    {MPI_DOUBLE_PRECISION, 'r'},
    {MPI_COMPLEX, 'c'},
    {MPI_DOUBLE_COMPLEX, 'c'},
    {MPI_2REAL, 'p'},
    {MPI_2DOUBLE_PRECISION, 'p'},
    {MPI_2INTEGER, 'p'},
#ifdef MPI_LOGICAL1
    {MPI_LOGICAL1, 't'},
#endif
#ifdef MPI_LOGICAL2
    {MPI_LOGICAL2, 't'},
#endif
#ifdef MPI_LOGICAL4
    {MPI_LOGICAL4, 't'},
#endif
#ifdef MPI_LOGICAL8
    {MPI_LOGICAL8, 't'},
#endif
#ifdef MPI_INTEGER1
    {MPI_INTEGER1, 'i'},
#endif
#ifdef MPI_INTEGER2
    {MPI_INTEGER2, 'i'},
#endif
#ifdef MPI_INTEGER4
    {MPI_INTEGER4, 'i'},
#endif
#ifdef MPI_INTEGER8
    {MPI_INTEGER8, 'i'},
#endif
#ifdef MPI_INTEGER16
    {MPI_INTEGER16, 'i'},
#endif
#ifdef MPI_REAL4
    {MPI_REAL4, 'r'},
#endif
#ifdef MPI_REAL8
    {MPI_REAL8, 'r'},
#endif
#ifdef MPI_REAL16
    {MPI_REAL16, 'r'},
#endif
#ifdef MPI_COMPLEX8
    {MPI_COMPLEX8, 'c'},
#endif
#ifdef MPI_COMPLEX16
    {MPI_COMPLEX16, 'c'},
#endif
#ifdef MPI_COMPLEX32
    {MPI_COMPLEX32, 'c'},
#endif
};

/* A value of a type, as Open MPI has it in C: its REAL16 is a long double. Pairs are 0. */
static void set(char *to, char kind, size_t bytes, int value)
{
    memset(to, 0, MOST);
    if ('i' == kind) { /* positive, with one byte that is not 0 */
        to[0] = (char) value;
    } else if ('t' == kind) {
        to[0] = 4 < value;
    } else if ('r' == kind && sizeof(float) == bytes) {
        memcpy(to, &(float){(float) value}, bytes);
    } else if ('r' == kind && sizeof(double) == bytes) {
        memcpy(to, &(double){value}, bytes);
    } else if ('r' == kind) {
        memcpy(to, &(long double){value}, sizeof(long double));
    } else if ('c' == kind && sizeof(float _Complex) == bytes) {
        memcpy(to, &(float _Complex){(float) value + 2 * I}, bytes);
    } else if ('c' == kind && sizeof(double _Complex) == bytes) {
        memcpy(to, &(double _Complex){value + 2 * I}, bytes);
    } else if ('c' == kind) {
        memcpy(to, &(long double _Complex){value + 2 * I}, sizeof(long double _Complex));
    }
}

/* A long double may have bytes that mean nothing. */
static int is_same(const char *one, const char *other, char kind, size_t bytes)
{
    long double a[2] = {0}, b[2] = {0};

    if (('r' != kind || sizeof(long double) != bytes) && ('c' != kind || sizeof(a) != bytes)) {
        return 0 == memcmp(one, other, bytes);
    }
    memcpy(a, one, bytes);
    memcpy(b, other, bytes);
    return a[0] == b[0] && a[1] == b[1];
}

static int check(MPI_Win win, MPI_Datatype type, char kind, MPI_Op op, int which)
{
    char first[MOST], second[MOST], expected[MOST], got[MOST], name[MPI_MAX_OBJECT_NAME];
    int bytes, length, ret;

    OK(MPI_Type_size(type, &bytes));
    OK(MPI_Type_get_name(type, name, &length));
    if (0 == bytes) {
        return 0;
    }
    set(first, kind, (size_t) bytes, 5);
    set(second, kind, (size_t) bytes, 3);
    memcpy(expected, first, MOST);
    if (MPI_SUCCESS != MPI_Reduce_local(second, expected, 1, type, op)) {
        return 0;
    }
    memset(got, 0, MOST);
    OK(MPI_Accumulate(first, 1, type, 1, 0, 1, type, MPI_REPLACE, win));
    ret = MPI_Accumulate(second, 1, type, 1, 0, 1, type, op, win);
    CHECK(MPI_SUCCESS == ret, "%s, operation %d: error %d", name, which, ret);
    OK(MPI_Get_accumulate(NULL, 0, type, got, 1, type, 1, 0, 1, type, MPI_NO_OP, win));
    OK(MPI_Win_flush(1, win));
    CHECK(is_same(got, expected, kind, (size_t) bytes),
          "%s, operation %d: not what MPI_Reduce_local says", name, which);
    return 1;
}

int main(int argc, char **argv)
{
    const MPI_Op ops[] = {MPI_MAX,  MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_LOR,
                          MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    struct counters c;
    unsigned long checked = 0;
    MPI_Win win;
    char *base;

    test_init(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* MPI_Reduce_local's */
    win = test_win_make(NULL, MOST, 1, &base);
    counters_open(&c, &win);
    test_barrier(); /* what is done for others counts from now on */
    OK(MPI_Win_lock_all(0, win));
    if (1 == test_rank) {
        helper_rest_long();
    }
    if (0 == test_rank) {
        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
            for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); ++k) {
                checked +=
                    (unsigned long) check(win, types[i].type, types[i].kind, ops[k], (int) k);
            }
        }
        CHECK(200 < checked, "only %lu pairs of a type and an operation", checked);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Bcast(&checked, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD));
    helper_did(&c, 3 * checked);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
