/* S2: MPI_Win_complete ends the life of what the epoch fetched, for every target of any epoch.
 * test: for=osc-cached needs=cache cache="" ranks=3,4 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 100, EPOCHS = 20 };

int main(int argc, char **argv)
{
    int *base, got[2][4][N], zero = 0;
    MPI_Group world, first;
    struct counters c;
    MPI_Win win;

    test_init(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &zero, &first));
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (int epoch = 0, gets = 0; epoch < EPOCHS; ++epoch) {
        /* one target less in every second epoch: another one each time */
        int absent = epoch % 2 ? 1 + epoch / 2 % (test_size - 1) : 0, ranks[4], n = 0;

        for (int r = 1; r < test_size; ++r) {
            if (r != absent) {
                ranks[n++] = r;
            }
        }
        for (int i = 0; i < N; ++i) {
            base[i] = 1000 * epoch + 100000 * test_rank + i;
        }
        if (0 == test_rank) {
            MPI_Group some;
            OK(MPI_Group_incl(world, n, ranks, &some));
            memset(got, 0x55, sizeof(got));
            OK(MPI_Win_start(some, 0, win));
            for (int k = 0; k < 2; ++k) {
                for (int i = 0; i < n; ++i) {
                    OK(MPI_Get(got[k][ranks[i]], N, MPI_INT, ranks[i], 0, N, MPI_INT, win));
                }
            }
            OK(MPI_Win_complete(win));
            OK(MPI_Group_free(&some));
            gets += test_all_gets_are_late() ? 0 : n;
            for (int k = 0; k < 2; ++k) {
                for (int i = 0; i < n * N; ++i) {
                    int t = ranks[i / N];
                    CHECK(1000 * epoch + 100000 * t + i % N == got[k][t][i % N],
                          "epoch %d, target %d: [%d] = %d", epoch, t, i % N, got[k][t][i % N]);
                }
            }
            COUNTS(&c, "direct", gets, "epoch %d", epoch);
            COUNTS(&c, "joins", gets, "epoch %d", epoch);
            COUNTS(&c, "hits", 0, "epoch %d", epoch);
        } else if (test_rank != absent) {
            OK(MPI_Win_post(first, 0, win));
            OK(MPI_Win_wait(win));
        }
    }
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
    MPI_Group_free(&world);
    MPI_Group_free(&first);
    return test_done();
}
