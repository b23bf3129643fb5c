/* S1: the closing fence ends the life of what its epoch fetched, whatever is asserted.
 * test: for=osc-cached needs=cache cache="" ranks=2,4 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 128, EPOCHS = 24 };

int main(int argc, char **argv)
{
    static const int asserts[] = {0, MPI_MODE_NOPUT, MPI_MODE_NOSTORE | MPI_MODE_NOPUT, 0};
    int *base, got[2][N], right, kept;
    struct counters c;
    MPI_Win win;

    test_init(&argc, &argv);
    right = (test_rank + 1) % test_size;
    kept = !test_all_gets_are_late();
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = 1000 * test_rank + i;
    }
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int epoch = 0; epoch < EPOCHS; ++epoch) {
        memset(got, 0x55, sizeof(got));
        OK(MPI_Get(got[0], N, MPI_INT, right, 0, N, MPI_INT, win));
        OK(MPI_Get(got[1], N, MPI_INT, right, 0, N, MPI_INT, win));
        OK(MPI_Win_fence(asserts[epoch % 4], win));
        for (int i = 0; i < N; ++i) {
            int want = 1000 * right + i + (0 == i ? epoch / 2 : 0);
            CHECK(want == got[0][i] && want == got[1][i], "epoch %d: [%d] = %d and %d, wanted %d",
                  epoch, i, got[0][i], got[1][i], want);
        }
        COUNTS(&c, "direct", kept ? epoch + 1 : 0, "epoch %d", epoch);
        COUNTS(&c, "joins", kept ? epoch + 1 : 0, "epoch %d", epoch);
        COUNTS(&c, "hits", 0, "epoch %d", epoch);
        if (epoch % 2) { /* changed in every second epoch */
            base[0] += 1;
            OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        }
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    counters_add_up(&c);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
