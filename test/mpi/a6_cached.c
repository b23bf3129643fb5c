/* A6: of several gets of the same bytes that are outstanding together only one goes to the network.
 * test: for=osc-cached needs=cache cache="passive_scope=flush" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 300, K = 20 };

static int buf[K][N];

static void fetch(MPI_Win win)
{
    memset(buf, 0x55, sizeof(buf));
    for (int k = 0; k < K; ++k) {
        int n = k % 3 ? N : N / 2; /* the first is the shorter one: the second cannot wait for it */

        if (0 == k) {
            n = N;
        }
        OK(MPI_Get(buf[k], n, MPI_INT, 1, 0, n, MPI_INT, win));
    }
}

static void check(const char *how, int round)
{
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < N; ++i) {
            int want = 0 == k || k % 3 || i < N / 2 ? 1000 * round + i : 0x55555555;
            CHECK(want == buf[k][i], "%s, round %d, get %d: [%d] = %d", how, round, k, i,
                  buf[k][i]);
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const how[] = {"fence", "lock_all", "lock", "start"};
    MPI_Group world, zero, one;
    int *base, ranks[2] = {0, 1};

    test_init(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &ranks[0], &zero));
    OK(MPI_Group_incl(world, 1, &ranks[1], &one));
    for (int kind = 0; kind < 4; ++kind) {
        struct counters c;
        MPI_Win win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);

        counters_open(&c, &win);
        for (int round = 1; round <= 3; ++round) {
            for (int i = 0; i < N; ++i) {
                base[i] = 1000 * round + i;
            }
            test_barrier();
            if (0 == kind) {
                OK(MPI_Win_fence(0, win));
            } else if (3 == kind && 1 == test_rank) {
                OK(MPI_Win_post(zero, 0, win));
                OK(MPI_Win_wait(win));
            }
            if (0 == test_rank) {
                if (1 == kind) {
                    OK(MPI_Win_lock_all(0, win));
                } else if (2 == kind) {
                    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
                } else if (3 == kind) {
                    OK(MPI_Win_start(one, 0, win));
                }
                fetch(win);
                if (1 == kind) {
                    OK(MPI_Win_unlock_all(win));
                } else if (2 == kind) {
                    OK(MPI_Win_unlock(1, win));
                } else if (3 == kind) {
                    OK(MPI_Win_complete(win));
                }
            }
            if (0 == kind) {
                OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
            }
            if (0 == test_rank) {
                check(how[kind], round);
                if (!test_all_gets_are_late()) { /* else nothing is kept in active epochs */
                    COUNTS(&c, "direct", round, "%s", how[kind]);
                    COUNTS(&c, "joins", (K - 1) * round, "%s", how[kind]);
                    COUNTS(&c, "bytes_fetched", round * sizeof(buf[0]), "%s", how[kind]);
                }
                counters_add_up(&c);
            }
            test_barrier();
        }
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    MPI_Group_free(&world);
    MPI_Group_free(&zero);
    MPI_Group_free(&one);
    return test_done();
}
