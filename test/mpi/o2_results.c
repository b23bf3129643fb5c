/* O2: the result of an atomic operation of the process on its own memory may lie in a page that
 * others have copies of: of the same window (an atomic read), and of another one.
 *
 * test: for=osc-cached needs=cache ranks=2 transport=tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <sys/mman.h>

enum { WORDS = 1 << 14, SHARED = 600, RESULT = 601, COUNTER = 8192 };

static MPI_Win make(long **base)
{
    MPI_Win win;

    *base = mmap(NULL, WORDS * sizeof(long), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
    OK(MPI_Win_create(*base, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &win));
    return win;
}

int main(int argc, char **argv)
{
    const long one = 1, seven = 7;
    struct counters c;
    MPI_Win win, second;
    long *base, *other;

    test_init(&argc, &argv);
    win = make(&base);
    second = make(&other);
    if (!coherent_is(win)) {
        test_skip("stores cannot be detected here");
    }
    base[COUNTER] = 41;
    other[COUNTER] = 51;
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_lock_all(0, second));
    for (int way = 0; way < 3; ++way) {
        if (1 == test_rank) {
            CHECK(coherent_warm(win, &c, 0, SHARED, 0), "never a hit");
        }
        test_barrier();
        if (0 == test_rank && 0 == way) {
            OK(MPI_Fetch_and_op(NULL, &base[RESULT], MPI_LONG, 0, COUNTER, MPI_NO_OP, win));
            OK(MPI_Win_flush(0, win));
            CHECK(41 == base[RESULT], "read: %ld", base[RESULT]);
        } else if (0 == test_rank && 1 == way) {
            OK(MPI_Fetch_and_op(&one, &base[RESULT], MPI_LONG, 0, COUNTER, MPI_SUM, second));
            OK(MPI_Win_flush(0, second));
            CHECK(51 == base[RESULT] && 52 == other[COUNTER], "sum: %ld %ld", base[RESULT],
                  other[COUNTER]);
        } else if (0 == test_rank) {
            long was = 52;

            OK(MPI_Compare_and_swap(&seven, &was, &base[RESULT], MPI_LONG, 0, COUNTER, second));
            OK(MPI_Win_flush(0, second));
            CHECK(52 == base[RESULT] && 7 == other[COUNTER], "swap: %ld %ld", base[RESULT],
                  other[COUNTER]);
        }
        test_barrier();
        if (1 == test_rank) {
            long got = coherent_get(win, 0, RESULT);

            CHECK((0 == way ? 41 : 50 + way) == got, "way %d: %ld", way, got);
        }
        test_barrier();
    }
    OK(MPI_Win_unlock_all(second));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&second));
    OK(MPI_Win_free(&win));
    return test_done();
}
