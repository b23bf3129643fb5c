/* Memory becomes part of a window while gets into it are on their way: by MPI_Win_create, or by
 * MPI_Win_attach. Another process may write there as soon as the epoch of the gets ends. What is
 * kept of them must not be that, and must not be written over it.
 *
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp args=create
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp args=attach
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { GETS = 100, N = 64, ROUNDS = 40 };

/* Memory of rank 0 that is exposed after gets into it were issued. */
static struct {
    int fills[GETS][N]; /* first gets of some bytes */
    int joins[GETS][N]; /* gets of bytes that are on their way */
    int rows[2][N][2];  /* the same with a datatype here, */
    int half[N / 2];    /* and in the window */
} late;

static int garbage[sizeof(late) / sizeof(int)], safe_joins[GETS][N], safe_fills[GETS][N],
    safe_rows[2][N], safe_half[N / 2];

static int value(int block, int i)
{
    return 1000 * block + i;
}

static void check(const int *got, int block, const char *what, int round, int k)
{
    for (int i = 0; i < N; ++i) {
        CHECK(value(block, i) == got[i], "round %d, %s %d: [%d] = %x", round, what, k, i,
              (unsigned) got[i]);
    }
}

int main(int argc, char **argv)
{
    int attach = argc > 1 && 0 == strcmp(argv[1], "attach");
    int(*source)[N];
    MPI_Datatype column, every_other;
    MPI_Win win, mine = MPI_WIN_NULL;
    struct counters c;

    test_init(&argc, &argv);
    memset(garbage, 0xaa, sizeof(garbage));
    win = test_win_make(NULL, (MPI_Aint) ROUNDS * 3 * GETS * N * sizeof(int), sizeof(int), &source);
    counters_open(&c, &win);
    for (int k = 0; k < ROUNDS * 3 * GETS; ++k) {
        for (int i = 0; i < N; ++i) {
            source[k][i] = value(k, i);
        }
    }
    OK(MPI_Type_vector(N, 1, 2, MPI_INT, &column)); /* in the buffer */
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_vector(N / 2, 1, 2, MPI_INT, &every_other)); /* in the window */
    OK(MPI_Type_commit(&every_other));
    if (attach) {
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &mine));
        test_win(mine);
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, mine));
    }
    test_barrier();
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Aint at = 0;
        int first = round * 3 * GETS;
        unsigned long hits;

        OK(MPI_Win_fence(0, win));
        for (int k = 0; 0 == test_rank && k < GETS; ++k) {
            int a = first + k, b = first + GETS + k;

            OK(MPI_Get(late.fills[k], N, MPI_INT, 1, a * N, N, MPI_INT, win));
            OK(MPI_Get(safe_joins[k], N, MPI_INT, 1, a * N, N, MPI_INT, win));
            OK(MPI_Get(safe_fills[k], N, MPI_INT, 1, b * N, N, MPI_INT, win));
            OK(MPI_Get(late.joins[k], N, MPI_INT, 1, b * N, N, MPI_INT, win));
        }
        if (0 == test_rank) {
            int a = first + 2 * GETS, b = a + 1, d = a + 2;

            /* datatypes on both sides */
            OK(MPI_Get(late.rows[0], 1, column, 1, a * N, N, MPI_INT, win));
            OK(MPI_Get(safe_rows[0], N, MPI_INT, 1, a * N, N, MPI_INT, win));
            OK(MPI_Get(safe_rows[1], N, MPI_INT, 1, b * N, N, MPI_INT, win));
            OK(MPI_Get(late.rows[1], 1, column, 1, b * N, N, MPI_INT, win));
            OK(MPI_Get(late.half, N / 2, MPI_INT, 1, d * N, 1, every_other, win));
            OK(MPI_Get(safe_half, N / 2, MPI_INT, 1, d * N, 1, every_other, win));
        }
        if (attach) {
            if (0 == test_rank) {
                OK(MPI_Win_attach(mine, &late, sizeof(late)));
                OK(MPI_Get_address(&late, &at));
                OK(MPI_Send(&at, 1, MPI_AINT, 1, 0, MPI_COMM_WORLD));
            } else {
                OK(MPI_Recv(&at, 1, MPI_AINT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
        } else {
            OK(MPI_Win_create(&late, 0 == test_rank ? sizeof(late) : 0, 1, MPI_INFO_NULL,
                              MPI_COMM_WORLD, &mine));
            test_win(mine);
            OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, mine));
        }
        OK(MPI_Win_fence(0, win));
        if (1 == test_rank) { /* at once */
            OK(MPI_Put(garbage, sizeof(late) / sizeof(int), MPI_INT, 0, at,
                       sizeof(late) / sizeof(int), MPI_INT, mine));
            OK(MPI_Win_flush(0, mine));
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        if (0 == test_rank) {
            OK(MPI_Win_sync(mine));
            CHECK(0 == memcmp(&late, garbage, sizeof(late)), "round %d: written over", round);
            for (int k = 0; k < GETS; ++k) {
                check(safe_joins[k], first + k, "join", round, k);
                check(safe_fills[k], first + GETS + k, "fill", round, k);
            }
            check(safe_rows[0], first + 2 * GETS, "join of a row", round, 0);
            check(safe_rows[1], first + 2 * GETS + 1, "row", round, 0);
            for (int i = 0; i < N / 2; ++i) {
                CHECK(value(first + 2 * GETS + 2, 2 * i) == safe_half[i],
                      "round %d: half [%d] = %x", round, i, (unsigned) safe_half[i]);
            }
            /* again, from the cache or not; the first ones cannot be there */
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
            hits = counter(&c, "hits");
            for (int k = 0; k < 2 * GETS; ++k) {
                int got[N];

                memset(got, 0x55, sizeof(got));
                OK(MPI_Get(got, N, MPI_INT, 1, (first + k) * N, N, MPI_INT, win));
                OK(MPI_Win_flush(1, win));
                check(got, first + k, "get", round, k);
                if (GETS - 1 == k) {
                    COUNTS(&c, "hits", hits, "round %d: kept from exposed memory", round);
                }
            }
            OK(MPI_Win_unlock(1, win));
        }
        test_barrier();
        if (!attach) {
            OK(MPI_Win_unlock_all(mine));
            OK(MPI_Win_free(&mine));
        } else if (0 == test_rank) {
            OK(MPI_Win_detach(mine, &late));
        }
        test_barrier();
    }
    if (attach) {
        OK(MPI_Win_unlock_all(mine));
        OK(MPI_Win_free(&mine));
    }
    counters_add_up(&c);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&every_other));
    return test_done();
}
