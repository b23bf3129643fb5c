/* A3: flush(t) and unlock(t) make the gets from t hits, and leave those from others pending.
 * test: for=osc-cached needs=cache cache="mode=always" ranks=3,4 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 64 };

static long got[8][N];
static int used;

static long *fetch(MPI_Win win, int t, int at)
{
    long *buf = got[used++];

    memset(buf, 0x55, sizeof(got[0]));
    OK(MPI_Get(buf, N / 2, MPI_LONG, t, at, N / 2, MPI_LONG, win));
    return buf;
}

static void check(const long *buf, int t, int at)
{
    for (int i = 0; i < N / 2; ++i) {
        CHECK(1000 * t + at + i == buf[i], "target %d: [%d] = %ld", t, at + i, buf[i]);
    }
}

int main(int argc, char **argv)
{
    long *base;
    int ways;

    test_init(&argc, &argv);
    /* osc/pt2pt waits for ever in MPI_Win_unlock of one of several targets */
    ways = test_inner_is("pt2pt") ? 1 : 2;
    for (int locks = 0; locks < ways; ++locks) {
        struct counters c;
        MPI_Win win = test_win_make(NULL, N * sizeof(long), sizeof(long), &base);

        counters_open(&c, &win);
        for (int i = 0; i < N; ++i) {
            base[i] = 1000 * test_rank + i;
        }
        test_barrier();
        if (0 == test_rank) {
            long *one, *two, *one_again, *two_again;

            used = 0;
            if (locks) {
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
            } else {
                OK(MPI_Win_lock_all(0, win));
            }
            one = fetch(win, 1, 8);
            two = fetch(win, 2, 8);
            if (locks) {
                OK(MPI_Win_unlock(1, win));
                OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
            } else {
                OK(MPI_Win_flush(1, win));
            }
            check(one, 1, 8);
            memset(one, 0, sizeof(got[0])); /* ours again */
            one_again = fetch(win, 1, 8);
            COUNTS(&c, "hits", 1, "after the completion of target 1");
            check(one_again, 1, 8);
            two_again = fetch(win, 2, 8);
            COUNTS(&c, "hits", 1, "target 2 is not complete");
            COUNTS(&c, "joins", 1, "target 2 is not complete");
            if (locks) {
                OK(MPI_Win_unlock(2, win));
            } else {
                OK(MPI_Win_flush(2, win));
            }
            check(two, 2, 8);
            check(two_again, 2, 8);
            if (locks) {
                OK(MPI_Win_unlock(1, win));
            } else {
                OK(MPI_Win_unlock_all(win));
            }
            counters_add_up(&c);
        }
        test_barrier();
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
