/* Nothing, nobody and NULL: zero counts, zero-size windows, MPI_PROC_NULL, windows freed unused.
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2,3 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

static int base[4], buf[4], res[4];

static void all_calls(MPI_Win win, int t, int count)
{
    MPI_Request req[4];

    memset(buf, 0x55, sizeof(buf));
    memset(res, 0x55, sizeof(res));
    OK(MPI_Get(buf, count, MPI_INT, t, 0, count, MPI_INT, win));
    OK(MPI_Put(buf, count, MPI_INT, t, 0, count, MPI_INT, win));
    OK(MPI_Accumulate(buf, count, MPI_INT, t, 0, count, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(buf, count, MPI_INT, res, count, MPI_INT, t, 0, count, MPI_INT, MPI_SUM,
                          win));
    OK(MPI_Rget(buf, count, MPI_INT, t, 0, count, MPI_INT, win, &req[0]));
    OK(MPI_Rput(buf, count, MPI_INT, t, 0, count, MPI_INT, win, &req[1]));
    OK(MPI_Raccumulate(buf, count, MPI_INT, t, 0, count, MPI_INT, MPI_SUM, win, &req[2]));
    OK(MPI_Rget_accumulate(buf, count, MPI_INT, res, count, MPI_INT, t, 0, count, MPI_INT, MPI_SUM,
                           win, &req[3]));
    OK(MPI_Waitall(4, req, MPI_STATUSES_IGNORE));
    if (MPI_PROC_NULL == t) {
        OK(MPI_Fetch_and_op(buf, res, MPI_INT, t, 0, MPI_SUM, win));
        OK(MPI_Compare_and_swap(buf, buf, res, MPI_INT, t, 0, win));
    } else {
        OK(MPI_Win_flush(t, win)); /* of MPI_PROC_NULL: osc/ucx of 4.1 and 5.0 index their tables
                                      with it and crash */
    }
    for (int i = 0; i < 4; ++i) {
        CHECK(0x55555555 == buf[i] && 0x55555555 == res[i], "[%d] was written: %x %x", i,
              (unsigned) buf[i], (unsigned) res[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int other, *memory, got = -1;

    test_init(&argc, &argv);
    other = (test_rank + 1) % test_size;

    /* Freed unused: every kind. */
    win = test_win_make(base, sizeof(base), 1, &memory);
    OK(MPI_Win_free(&win));
    win = test_win_make(NULL, 64, 1, &memory);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_free(&win));

    /* Nothing to move, and nobody to move it to. */
    win = test_win_make(base, sizeof(base), sizeof(int), &memory);
    OK(MPI_Win_lock_all(0, win));
    all_calls(win, other, 0);
    all_calls(win, MPI_PROC_NULL, 4);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(buf, 4, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, win));
    OK(MPI_Get(NULL, 0, MPI_INT, other, 0, 0, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_free(&win));

    /* Only rank 0 has memory. */
    base[0] = 4711;
    OK(MPI_Win_create(0 == test_rank ? base : NULL, 0 == test_rank ? sizeof(base) : 0, sizeof(int),
                      MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    test_win(win);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    OK(MPI_Get(NULL, 0, MPI_INT, test_size - 1, 0, 0, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(4711 == got, "got %d", got);
    OK(MPI_Win_free(&win));
    return test_done();
}
