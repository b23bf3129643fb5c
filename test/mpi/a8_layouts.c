/* A8: two datatypes that describe the same bytes in the same way are one layout to the cache,
 * whatever was in the memory that their descriptions were written to.
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 4096, SHAPES = 9 };

/* Leave a pattern in the memory that malloc gives out next. */
static void poison(int pattern)
{
    enum { EACH = 12 };
    void *blocks[EACH];

    for (size_t size = 16; size <= 2048; size += 16) {
        for (int i = 0; i < EACH; ++i) {
            blocks[i] = malloc(size);
            if (NULL != blocks[i]) {
                memset(blocks[i], pattern, size);
            }
        }
        for (int i = 0; i < EACH; ++i) {
            free(blocks[i]);
        }
    }
}

/* Odd numbers of integers before displacements of 8 bytes, again and again. */
static MPI_Datatype make(int shape)
{
    int lengths[3] = {1, 2, 1}, places[3] = {0, 3, 9}, sizes[2] = {8, 9}, parts[2] = {3, 2},
        starts[2] = {1, 4};
    MPI_Aint bytes[3] = {0, 12, 40};
    MPI_Datatype type, inner, types[3] = {MPI_INT, MPI_SHORT, MPI_CHAR};

    switch (shape) {
    case 0:
        OK(MPI_Type_vector(3, 1, 5, MPI_INT, &type));
        break;
    case 1:
        OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
        break;
    case 2:
        OK(MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type));
        break;
    case 3:
        OK(MPI_Type_create_struct(3, lengths, bytes, types, &type));
        break;
    case 4:
        OK(MPI_Type_create_hindexed_block(3, 1, bytes, MPI_INT, &type));
        break;
    case 5:
        OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
        break;
    case 6: /* within others */
        inner = make(3);
        OK(MPI_Type_create_hvector(3, 1, 100, inner, &type));
        OK(MPI_Type_free(&inner));
        break;
    case 7:
        types[0] = make(2);
        types[1] = make(6);
        types[2] = make(1);
        bytes[1] = 400;
        bytes[2] = 4000;
        OK(MPI_Type_create_struct(3, lengths, bytes, types, &type));
        for (int i = 0; i < 3; ++i) {
            OK(MPI_Type_free(&types[i]));
        }
        break;
    default:
        inner = make(7);
        OK(MPI_Type_create_resized(inner, 0, 6000, &types[0]));
        OK(MPI_Type_dup(types[0], &type));
        OK(MPI_Type_free(&types[0]));
        OK(MPI_Type_free(&inner));
        break;
    }
    return type;
}

int main(int argc, char **argv)
{
    static int got[2][N], wanted[N];
    struct counters c;
    MPI_Win win;
    int *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, N * sizeof(int), 1, &base);
    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = wanted[i] = 1000000 + i;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int shape = 0; 0 == test_rank && shape < SHAPES; ++shape) {
        for (int k = 0; k < 2; ++k) {
            unsigned long hits = counter(&c, "hits");
            char *packed = malloc(sizeof(wanted));
            int size, position = 0;
            MPI_Datatype type;

            poison(0 == k ? 0x55 : 0xee);
            type = make(shape);
            OK(MPI_Type_commit(&type));
            OK(MPI_Type_size(type, &size));
            memset(got[k], 0, sizeof(got[k]));
            OK(MPI_Get(got[k], size, MPI_BYTE, 1, 4 * shape, 1, type, win));
            OK(MPI_Win_flush(1, win));
            OK(MPI_Pack(&wanted[shape], 1, type, packed, (int) sizeof(wanted), &position,
                        MPI_COMM_SELF));
            CHECK(position == size && 0 == memcmp(packed, got[k], (size_t) size),
                  "shape %d, time %d: other bytes", shape, k);
            COUNTS(&c, "hits", hits + (unsigned long) k, "shape %d, time %d", shape, k);
            OK(MPI_Type_free(&type));
            free(packed);
        }
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
