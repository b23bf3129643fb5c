/* A7: a get is decided on bytes: target, its own disp_unit, displacement, length; not on how they
 * are written down.
 *
 * test: for=osc ranks=2,3,4 transport=shm,tcp limit=60
 * test: for=osc-cached cache="passive_scope=flush" ranks=2,4 transport=shm,tcp limit=60
 *
 * Each rank has its own disp_unit. One epoch, many gets: the same bytes under other types, fewer
 * and more bytes at one address, overlaps, the same displacement at other targets, in a fixed order
 * and in a pseudo-random one.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { BYTES = 4096 };

static unsigned char value(int round, int rank, int at)
{
    return (unsigned char) (at * 7 + (at >> 8) * 3 + rank * 31 + round * 101);
}

static void get_and_check(MPI_Win win, int round, int t, int at, int n, MPI_Datatype type,
                          int complete)
{
    unsigned char buf[BYTES + 16];
    int size, unit = 1 << t;

    MPI_Type_size(type, &size);
    n = n / size * size;
    memset(buf, 0xa5, sizeof(buf));
    OK(MPI_Get(buf + 8, n / size, type, t, at / unit, n / size, type, win));
    if (complete) {
        OK(MPI_Win_flush(t, win));
    } else {
        OK(MPI_Win_flush_all(win));
    }
    for (int i = 0; i < n; ++i) {
        CHECK(value(round, t, at + i) == buf[8 + i],
              "round %d, target %d, %d bytes at %d: byte %d is %d, wanted %d", round, t, n, at, i,
              buf[8 + i], value(round, t, at + i));
    }
    for (int i = 0; i < 8; ++i) {
        CHECK(0xa5 == buf[i] && 0xa5 == buf[8 + n + i],
              "target %d, %d bytes at %d: written outside", t, n, at);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {64, 8, 64, 256, 128, 1024, 16, 2048, BYTES - 64, 8};
    MPI_Datatype types[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE, MPI_SHORT};
    unsigned char mine[BYTES], *base;
    unsigned seed = 12345;

    test_init(&argc, &argv);
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, BYTES, 1 << test_rank, &base);

        OK(MPI_Win_lock_all(0, win));
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < BYTES; ++i) {
                base[i] = value(round, test_rank, i);
            }
            OK(MPI_Win_sync(win));
            test_barrier();
            for (int t = 0; t < test_size; ++t) {
                for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
                    get_and_check(win, round, t, 64, sizes[k], types[k % 4], 1);
                }
            }
            for (int k = 0; k < 400; ++k) {
                int t, at, n;
                seed = seed * 1103515245u + 12345u;
                t = (seed >> 16) % test_size;
                seed = seed * 1103515245u + 12345u;
                at = (seed >> 12) % (BYTES / 8) * 8;
                seed = seed * 1103515245u + 12345u;
                n = 1 + (seed >> 12) % (BYTES - at);
                get_and_check(win, round, t, at, n, types[k % 4], k % 2);
            }
            test_barrier();
        }
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
