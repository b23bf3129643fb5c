/*
 * What the tests of gets that are complete after MPI_Win_flush_all share: many gets per flush, of
 * bytes that are known, all of them twice.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_FLUSH_ALL_H
#define OMPI_LOCALITY_FLUSH_ALL_H

#include "test.h"

enum { ROUNDS = 120, MANY = 1000, LENGTH = 128, BYTES = 1 << 22 };

static unsigned char buf[MANY][LENGTH];

static unsigned char byte_of(int rank, int i)
{
    return (unsigned char) (7 * i + (i >> 8) + 13 * rank);
}

/* Gets of bytes that no other one has fetched, behind `at`; returns where they end. */
static int get(MPI_Win win, int at, int round, const char *what)
{
    int gets = 0 == round % 10 ? MANY : 1 + 7 * round % 60, wrong = 0;

    memset(buf, 0xee, sizeof(buf));
    for (int i = 0; i < gets; ++i) {
        OK(MPI_Get(buf[i], LENGTH, MPI_BYTE, (test_rank + 1 + i % (test_size - 1)) % test_size,
                   at + i * LENGTH, LENGTH, MPI_BYTE, win));
    }
    OK(MPI_Win_flush_all(win));
    for (int i = 0; i < gets; ++i) {
        int rank = (test_rank + 1 + i % (test_size - 1)) % test_size, j = 0;

        while (j < LENGTH && byte_of(rank, at + i * LENGTH + j) == buf[i][j]) {
            ++j;
        }
        wrong += j < LENGTH;
    }
    CHECK(0 == wrong, "round %d, %s: %d of %d gets", round, what, wrong, gets);
    return at + gets * LENGTH;
}

static void fill(unsigned char *base)
{
    for (int i = 0; i < BYTES; ++i) {
        base[i] = byte_of(test_rank, i);
    }
}

/* In an epoch of MPI_Win_lock_all. */
static void get_twice(MPI_Win win)
{
    for (int again = 0; again < 2; ++again) {
        for (int round = 0, at = 0; round < ROUNDS; ++round) {
            at = get(win, at, round, again ? "kept" : "fetched");
        }
    }
}

#endif /* OMPI_LOCALITY_FLUSH_ALL_H */
