/* H3, H7, H8, H9, H14: accumulates, get_accumulates and their R-forms by the helper: operations and
 * types, pairs with gaps, layouts of all kinds, parts of several messages in order, datatypes freed
 * after the call.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { WORDS = 40000 }; /* 312 KB: operations of many messages */

static unsigned long operations; /* that this rank gave to helpers */

/* What MPI_Reduce_local makes of it. */
static void check_reduce(MPI_Win win, void *base, int target, MPI_Datatype type, MPI_Op op,
                         const void *first, const void *second, size_t bytes, const char *name)
{
    char expected[64], got[64], old[64];

    memset(got, 0, sizeof(got));
    memset(old, 0, sizeof(old));
    memcpy(expected, first, bytes);
    OK(MPI_Reduce_local(second, expected, 1, type, op));
    OK(MPI_Accumulate(first, 1, type, target, 0, 1, type, MPI_REPLACE, win));
    OK(MPI_Get_accumulate(second, 1, type, old, 1, type, target, 0, 1, type, op, win));
    OK(MPI_Fetch_and_op(NULL, got, type, target, 0, MPI_NO_OP, win));
    OK(MPI_Win_flush(target, win));
    operations += 3;
    CHECK(0 == memcmp(old, first, bytes), "%s: not what was there", name);
    CHECK(0 == memcmp(got, expected, bytes), "%s: not what MPI_Reduce_local says", name);
    (void) base;
}

#define REDUCE(ctype, mpitype, op, ...)                                                   \
    do {                                                                                  \
        ctype pair_[2];                                                                   \
        memset(pair_, 0, sizeof(pair_)); /* gaps, too */                                  \
        memcpy(pair_, (ctype[2]){__VA_ARGS__}, sizeof(pair_));                            \
        check_reduce(win, base, target, mpitype, op, &pair_[0], &pair_[1], sizeof(ctype), \
                     #mpitype " " #op);                                                   \
    } while (0)

struct short_int {
    short value;
    int index;
};
struct double_int {
    double value;
    int index;
};

static void predefined(MPI_Win win, long *base, int target)
{
    struct short_int si[2];
    struct double_int di[2];

    REDUCE(int, MPI_INT, MPI_SUM, 5, -7);
    REDUCE(int, MPI_INT, MPI_MAX, 5, -7);
    REDUCE(int, MPI_INT, MPI_LAND, 5, 0);
    REDUCE(int, MPI_INT, MPI_BXOR, 5, 12);
    REDUCE(unsigned char, MPI_UNSIGNED_CHAR, MPI_MIN, 250, 3);
    REDUCE(signed char, MPI_CHAR, MPI_SUM, 100, -3); /* Open MPI allows it */
    REDUCE(signed char, MPI_CHAR, MPI_MAX, 5, -7);
    REDUCE(unsigned char, MPI_BYTE, MPI_BOR, 1, 6);
    REDUCE(short, MPI_SHORT, MPI_PROD, 7, -3);
    REDUCE(long, MPI_LONG, MPI_LXOR, 1, 1);
    REDUCE(unsigned long, MPI_UNSIGNED_LONG, MPI_BAND, ~0ul, 77);
    REDUCE(float, MPI_FLOAT, MPI_PROD, 1.5f, -2);
    REDUCE(double, MPI_DOUBLE, MPI_MIN, 1.5, -2);
    REDUCE(double, MPI_DOUBLE, MPI_SUM, 1.5, -2);
    REDUCE(double _Complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, 1.5, -2);
    REDUCE(_Bool, MPI_C_BOOL, MPI_LOR, 0, 1);
    memset(si, 0, sizeof(si));
    memset(di, 0, sizeof(di));
    si[0].value = 4, si[0].index = 9, si[1].value = 4, si[1].index = 2;
    check_reduce(win, base, target, MPI_SHORT_INT, MPI_MINLOC, &si[0], &si[1], sizeof(si[0]),
                 "SHORT_INT MINLOC");
    di[0].value = 4, di[0].index = 9, di[1].value = 5, di[1].index = 2;
    check_reduce(win, base, target, MPI_DOUBLE_INT, MPI_MAXLOC, &di[0], &di[1], 12,
                 "DOUBLE_INT MAXLOC");
}

/* All of a window, in parts, one after the other: each is done before the next one. */
static void large(MPI_Win win, int target)
{
    long *more = malloc(WORDS * sizeof(long)), *got = malloc(WORDS * sizeof(long));
    MPI_Request request;
    int wrong = 0;

    for (long i = 0; i < WORDS; ++i) {
        more[i] = i;
    }
    OK(MPI_Accumulate(more, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, MPI_REPLACE, win));
    OK(MPI_Raccumulate(more, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, MPI_SUM, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (long i = 0; i < WORDS; ++i) {
        more[i] = 3; /* the buffer is ours again */
    }
    OK(MPI_Accumulate(more, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, MPI_PROD, win));
    OK(MPI_Rget_accumulate(NULL, 0, MPI_LONG, got, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG,
                           MPI_NO_OP, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (long i = 0; i < WORDS; ++i) {
        wrong += got[i] != 6 * i;
    }
    CHECK(0 == wrong, "%d words of a large operation are wrong", wrong);
    operations += 4;
    free(more);
    free(got);
}

/* The same layout at the origin, at the target and for the result, freed before the flush. */
static void layout(MPI_Win win, int target, MPI_Datatype type, int count, const char *name)
{
    long *one = malloc(WORDS * sizeof(long)), *got = malloc(WORDS * sizeof(long));
    char *mark = calloc(WORDS, 1);
    int bytes, position = 0, wrong = 0;
    long *packed;
    MPI_Aint lb, extent;

    OK(MPI_Type_size(type, &bytes));
    OK(MPI_Type_get_extent(type, &lb, &extent));
    packed = malloc((size_t) bytes * (size_t) count);
    memset(packed, 1, (size_t) bytes * (size_t) count);
    for (long i = 0; i < WORDS; ++i) {
        one[i] = 0;
        got[i] = -1;
    }
    OK(MPI_Unpack(packed, bytes * count, &position, one, count, type, MPI_COMM_WORLD));
    for (long i = 0; i < WORDS; ++i) { /* where its words are */
        mark[i] = 0 != one[i];
        one[i] = i;
    }
    OK(MPI_Accumulate(one, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, MPI_REPLACE, win));
    OK(MPI_Accumulate(one, count, type, target, 0, count, type, MPI_SUM, win));
    OK(MPI_Get_accumulate(one, count, type, got, count, type, target, 0, count, type, MPI_SUM,
                          win));
    OK(MPI_Type_free(&type));
    OK(MPI_Win_flush(target, win));
    for (long i = 0; i < WORDS; ++i) {
        wrong += got[i] != (mark[i] ? 2 * i : -1);
    }
    CHECK(0 == wrong, "%s: %d words of the result are wrong", name, wrong);
    OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, got, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG,
                          MPI_NO_OP, win));
    OK(MPI_Win_flush_local(target, win));
    wrong = 0;
    for (long i = 0; i < WORDS; ++i) {
        wrong += got[i] != (mark[i] ? 3 * i : i);
    }
    CHECK(0 == wrong, "%s: %d words of the target are wrong", name, wrong);
    operations += 4;
    free(one);
    free(got);
    free(mark);
    free(packed);
}

static void layouts(MPI_Win win, int target)
{
    int places[300];
    MPI_Datatype type, inner;

    OK(MPI_Type_vector(100, 3, 7, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    layout(win, target, type, 5, "vector");
    for (int i = 0; i < 300; ++i) { /* nothing regular: more blocks than a message describes */
        places[i] = i * 10 + i * i % 7;
    }
    OK(MPI_Type_create_indexed_block(300, 2, places, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    layout(win, target, type, 3, "indexed");
    OK(MPI_Type_vector(4, 1, 3, MPI_LONG, &inner));
    OK(MPI_Type_create_hvector(20, 1, 200 * sizeof(long), inner, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_free(&inner));
    layout(win, target, type, 1, "nested");
    OK(MPI_Type_create_resized(MPI_LONG, 0, 4 * sizeof(long), &type));
    OK(MPI_Type_commit(&type));
    layout(win, target, type, 1000, "resized");
    places[0] = 50;
    OK(MPI_Type_create_indexed_block(1, 8, places, MPI_LONG, &type)); /* lb is not 0 */
    OK(MPI_Type_commit(&type));
    layout(win, target, type, 1, "with a lower bound");
}

int main(int argc, char **argv)
{
    struct counters c;
    unsigned long all;
    MPI_Win win;
    long *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    test_barrier();
    for (int origin = 0; origin < test_size; ++origin) {
        if (origin == test_rank) {
            int target = (origin + 1) % test_size;

            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
            predefined(win, base, target);
            large(win, target);
            layouts(win, target);
            OK(MPI_Win_unlock(target, win));
        } else {
            helper_rest_long();
        }
        test_barrier();
    }
    OK(MPI_Allreduce(&operations, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    helper_did(&c, all);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
