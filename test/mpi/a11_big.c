/* A11: gets far larger or far more numerous than any cache: correct data, never an error.
 * test: for=osc ranks=2 transport=shm,tcp limit=90
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#define BYTES ((MPI_Aint) 16 << 20)

static unsigned value(int round, MPI_Aint i)
{
    return (unsigned) (i * 2654435761u + round);
}

static void origin(MPI_Win win, int round, unsigned *buf)
{
    MPI_Aint words = BYTES / sizeof(unsigned), bad = 0;

    /* All of it at once. */
    memset(buf, 0, BYTES);
    OK(MPI_Get(buf, words, MPI_UNSIGNED, 1, 0, words, MPI_UNSIGNED, win));
    OK(MPI_Win_flush(1, win));
    for (MPI_Aint i = 0; i < words; ++i) {
        bad += value(round, i) != buf[i];
    }
    CHECK(0 == bad, "round %d: %ld words of one large get are wrong", round, (long) bad);

    /* In 2048 pieces of 8 KiB, some twice, backwards. */
    memset(buf, 0, BYTES);
    for (MPI_Aint at = words - 2048; at >= 0; at -= 2048) {
        unsigned again[2048];
        OK(MPI_Get(buf + at, 2048, MPI_UNSIGNED, 1, at, 2048, MPI_UNSIGNED, win));
        OK(MPI_Win_flush(1, win));
        if (0 == at % (2048 * 8)) {
            OK(MPI_Get(again, 2048, MPI_UNSIGNED, 1, at, 2048, MPI_UNSIGNED, win));
            OK(MPI_Win_flush(1, win));
            bad += 0 != memcmp(again, buf + at, sizeof(again));
        }
    }
    for (MPI_Aint i = 0; i < words; ++i) {
        bad += value(round, i) != buf[i];
    }
    CHECK(0 == bad, "round %d: %ld words of small gets are wrong", round, (long) bad);
}

int main(int argc, char **argv)
{
    unsigned *base, *buf;

    test_init(&argc, &argv);
    buf = malloc(BYTES);
    for (int allocate = 0; allocate < 2; ++allocate) {
        void *mine = allocate ? NULL : malloc(BYTES);
        MPI_Win win = test_win_make(mine, BYTES, sizeof(unsigned), &base);

        for (int round = 0; round < 2; ++round) {
            for (MPI_Aint i = 0; i < BYTES / (MPI_Aint) sizeof(unsigned); ++i) {
                base[i] = value(round, i);
            }
            test_barrier();
            OK(MPI_Win_lock_all(0, win));
            if (0 == test_rank) {
                origin(win, round, buf);
            }
            OK(MPI_Win_unlock_all(win));
            test_barrier();
        }
        OK(MPI_Win_free(&win));
        free(mine);
    }
    free(buf);
    return test_done();
}
