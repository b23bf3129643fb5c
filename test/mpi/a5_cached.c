/* A5: an MPI_Rget that hits returns a completed request; one that misses fills its entry when it is
 * complete.
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 200 };

static void check(const int *buf, int at, int n)
{
    for (int i = 0; i < n; ++i) {
        CHECK(at + i == buf[i], "[%d] = %d", at + i, buf[i]);
    }
}

static void origin(MPI_Win win, struct counters *c)
{
    int buf[4][N], flag = 0;
    MPI_Request req[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;

    /* a hit: complete at once, nothing to wait for, and an empty status */
    OK(MPI_Get(buf[0], N, MPI_INT, 1, 0, N, MPI_INT, win));
    OK(MPI_Win_flush(1, win));
    memset(buf, 0x55, sizeof(buf));
    OK(MPI_Rget(buf[0], N, MPI_INT, 1, 0, N, MPI_INT, win, &req[0]));
    COUNTS(c, "hits", 1, "a hit of MPI_Rget");
    OK(MPI_Test(&req[0], &flag, &status));
    CHECK(flag, "the request of a hit is not complete");
    CHECK(MPI_REQUEST_NULL == req[0], "the request is still there");
    check(buf[0], 0, N);

    /* fewer bytes; two hits and a miss completed together */
    OK(MPI_Rget(buf[0], N / 2, MPI_INT, 1, 0, N / 2, MPI_INT, win, &req[0]));
    OK(MPI_Rget(buf[1], N, MPI_INT, 1, 0, N, MPI_INT, win, &req[1]));
    COUNTS(c, "hits", 3, "hits of MPI_Rget");
    OK(MPI_Rget(buf[2], N, MPI_INT, 1, N, N, MPI_INT, win, &req[2]));
    COUNTS(c, "hits", 3, "a miss of MPI_Rget");
    OK(MPI_Waitall(4, req, MPI_STATUSES_IGNORE));
    check(buf[0], 0, N / 2);
    check(buf[1], 0, N);
    check(buf[2], N, N);

    /* what the miss left behind, if it did, is right; its buffer is the user's again */
    memset(buf, 0x55, sizeof(buf));
    OK(MPI_Rget(buf[3], N, MPI_INT, 1, N, N, MPI_INT, win, &req[3]));
    OK(MPI_Wait(&req[3], MPI_STATUS_IGNORE));
    check(buf[3], N, N);

    /* the same bytes on their way twice, by either call */
    memset(buf, 0x55, sizeof(buf));
    OK(MPI_Rget(buf[0], N, MPI_INT, 1, 2 * N, N, MPI_INT, win, &req[0]));
    OK(MPI_Rget(buf[1], N, MPI_INT, 1, 2 * N, N, MPI_INT, win, &req[1]));
    OK(MPI_Get(buf[2], N, MPI_INT, 1, 2 * N, N, MPI_INT, win));
    OK(MPI_Wait(&req[1], MPI_STATUS_IGNORE));
    check(buf[1], 2 * N, N);
    OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
    check(buf[0], 2 * N, N);
    OK(MPI_Win_flush(1, win));
    check(buf[2], 2 * N, N);

    memset(buf, 0x55, sizeof(buf));
    OK(MPI_Get(buf[0], N, MPI_INT, 1, 3 * N, N, MPI_INT, win));
    OK(MPI_Rget(buf[1], N, MPI_INT, 1, 3 * N, N, MPI_INT, win, &req[1]));
    OK(MPI_Wait(&req[1], MPI_STATUS_IGNORE));
    check(buf[1], 3 * N, N);
    OK(MPI_Win_flush_local(1, win));
    check(buf[0], 3 * N, N);

    /* requests that are completed after a flush has completed their gets */
    memset(buf, 0x55, sizeof(buf));
    OK(MPI_Rget(buf[0], N, MPI_INT, 1, 4 * N, N, MPI_INT, win, &req[0]));
    OK(MPI_Rget(buf[1], N, MPI_INT, 1, 5 * N, N, MPI_INT, win, &req[1]));
    OK(MPI_Win_flush(1, win));
    check(buf[1], 5 * N, N);
    OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
    check(buf[0], 4 * N, N);
    OK(MPI_Wait(&req[1], MPI_STATUS_IGNORE));
    counters_add_up(c);
}

int main(int argc, char **argv)
{
    int *base;

    test_init(&argc, &argv);
    for (int round = 0; round < 3; ++round) {
        struct counters c;
        MPI_Win win = test_win_make(NULL, 6 * N * sizeof(int), sizeof(int), &base);

        counters_open(&c, &win);
        for (int i = 0; i < 6 * N; ++i) {
            base[i] = i;
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            origin(win, &c);
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
