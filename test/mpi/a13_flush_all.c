/* A13, A3: gets from windows of MPI_Win_create are complete after MPI_Win_flush_all, and what is
 * kept of them is right, also with MPI_THREAD_MULTIPLE: an osc/ucx that ends such a flush too early
 * is helped.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=120 cache="mode=always"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { ROUNDS = 120, MANY = 1000, LENGTH = 128, BYTES = 1 << 22 };

static unsigned char buf[MANY][LENGTH], mine[BYTES];

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

int main(int argc, char **argv)
{
    unsigned char *base;
    MPI_Win win;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_needs_threads_of_windows();
    for (int i = 0; i < BYTES; ++i) {
        mine[i] = byte_of(test_rank, i);
    }
    win = test_win_make(mine, BYTES, 1, &base);
    OK(MPI_Win_lock_all(0, win));
    test_barrier();
    for (int again = 0; again < 2; ++again) {
        for (int round = 0, at = 0; round < ROUNDS; ++round) {
            at = get(win, at, round, again ? "kept" : "fetched");
        }
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
