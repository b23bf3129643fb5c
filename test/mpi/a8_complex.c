/* A8: complex numbers whose distance is no multiple of their size, as the first member of a struct:
 * the same bytes are got twice in an epoch, with such a datatype and without, in both orders, and
 * again later.
 *
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=transparent" ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { ITEMS = 4, BYTES = 4096, SPAN = 512, EACH = 400 };

static unsigned char byte_of(int rank, int i)
{
    return (unsigned char) (1 + (7 * i + 3 * rank) % 120);
}

/* Twice from the same place: with a distance, and without. */
static void get_both(MPI_Win win, MPI_Datatype type, int size, int distance, int at, int first)
{
    unsigned char apart[SPAN] = {0}, together[SPAN] = {0};
    int peer = 1 - test_rank;
    MPI_Datatype strided;

    OK(MPI_Type_create_hvector(ITEMS, 1, distance, type, &strided));
    OK(MPI_Type_commit(&strided));
    for (int i = 0; i < 2; ++i) {
        if (i == first) {
            OK(MPI_Get(apart, 1, strided, peer, at, ITEMS, type, win));
        } else {
            OK(MPI_Get(together, ITEMS * size, MPI_BYTE, peer, at, ITEMS * size, MPI_BYTE, win));
        }
    }
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < ITEMS * size; ++i) {
        unsigned char wanted = byte_of(peer, at + i);

        CHECK(wanted == together[i], "size %d distance %d: byte %d", size, distance, i);
        CHECK(wanted == apart[i / size * distance + i % size],
              "size %d distance %d first %d: byte %d of the strided get", size, distance, first, i);
    }
    OK(MPI_Type_free(&strided));
}

int main(int argc, char **argv)
{
    static unsigned char memory[BYTES];
    MPI_Win win;

    test_init(&argc, &argv);
    for (int i = 0; i < BYTES; ++i) {
        memory[i] = byte_of(test_rank, i);
    }
    OK(MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    for (int round = 0; round < 3; ++round) {
        int at = (1 == round) ? 2 * EACH : 0; /* the third one repeats the first */

        for (int first = 0; first < 2; ++first, at += EACH) {
            get_both(win, MPI_C_DOUBLE_COMPLEX, 16, 24, at, first);
            get_both(win, MPI_C_FLOAT_COMPLEX, 8, 12, at + 100, first);
            get_both(win, MPI_DOUBLE, 8, 24, at + 200, first);
            get_both(win, MPI_INT, 4, 6, at + 300, first);
        }
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
