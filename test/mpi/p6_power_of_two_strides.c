/* P6: 256 gets of 64 bytes at power-of-two strides are hits the second time (CLaMPI's code, with
 * 4096 entries: 1 to 3 of them), all but those whose places in the index, which are chosen at
 * random, were taken by others: once in some thousand windows one.
 *
 * test: for=osc-cached needs=cache cache="mode=always entries=4096" ranks=2,3,4 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=always entries=4096 adaptive=0" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { GETS = 256, BYTES = 64, LARGEST = 65536 };

static void pass(MPI_Win win, MPI_Aint stride)
{
    for (int k = 0; k < GETS; ++k) {
        unsigned char got[BYTES];

        memset(got, 0, sizeof(got));
        OK(MPI_Get(got, BYTES, MPI_BYTE, 1, k * stride, BYTES, MPI_BYTE, win));
        OK(MPI_Win_flush(1, win));
        for (int i = 0; i < BYTES; ++i) {
            MPI_Aint at = k * stride + i;
            CHECK((unsigned char) (at / 64 + at) == got[i], "stride %ld, get %d: byte %d is %d",
                  (long) stride, k, i, got[i]);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Aint size = (MPI_Aint) GETS * LARGEST;
    unsigned char *base;

    test_init(&argc, &argv);
    for (MPI_Aint stride = 64; stride <= LARGEST; stride *= 2) {
        unsigned long hits, missed;
        struct counters c;
        MPI_Win win = test_win_make(NULL, 1 == test_rank ? size : 0, 1, &base);

        counters_open(&c, &win);
        for (int k = 0; 1 == test_rank && k < GETS; ++k) {
            for (int i = 0; i < BYTES; ++i) {
                MPI_Aint at = k * stride + i;
                base[at] = (unsigned char) (at / 64 + at);
            }
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            pass(win, stride);
            COUNTS(&c, "hits", 0, "stride %ld, first pass", (long) stride);
            pass(win, stride);
            hits = counter(&c, "hits");
            missed = counter(&c, "conflicting");
            CHECK(test_is_plain() || (GETS <= hits + missed && missed <= 4),
                  "stride %ld, second pass: %lu hits, %lu missed", (long) stride, hits, missed);
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
