/* H15: a local flush with an error of a helper has completed the gets of the cache: one that waited
 * for another one has its bytes, and that one's buffer is the program's again.
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { ROUNDS = 20, MOST = 100 * ROUNDS, N = 64 };

static int flush(MPI_Win win, int round)
{
    return (0 == round % 2) ? MPI_Win_flush_local(1, win) : MPI_Win_flush_local_all(win);
}

int main(int argc, char **argv)
{
    long *base, first[N], second[N], one = 1, result;
    struct counters c;
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, MOST * N * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    for (int i = 0; i < MOST * N; ++i) {
        base[i] = i;
    }
    test_barrier();
    if (0 == test_rank) {
        OK(MPI_Win_lock_all(0, win));
        /* whether a get waits for another one depends on when the owner's answer comes */
        for (int round = 0; round < ROUNDS || (round < MOST && 0 == counter(&c, "joins"));
             ++round) {
            OK(MPI_Get(first, N, MPI_LONG, 1, round * N, N, MPI_LONG, win));
            OK(MPI_Get(second, N, MPI_LONG, 1, round * N, N, MPI_LONG, win));
            OK(MPI_Fetch_and_op(&one, &result, MPI_LONG, 1, MOST * N, MPI_SUM, win));
            FAILS(flush(win, round), MPI_ERR_RMA_RANGE);
            memset(first, -1, sizeof(first));
            (void) MPI_Win_flush(1, win); /* may say so again */
            for (int i = 0; i < N; ++i) {
                CHECK(round * N + i == second[i], "round %d: [%d] is %ld", round, i, second[i]);
            }
        }
        OK(MPI_Win_unlock_all(win));
        CHECK(0 < counter(&c, "joins"), "no get has waited for another one");
    } else {
        helper_rest_long();
    }
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
