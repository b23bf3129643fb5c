/* H1: operations of helpers with less data than the target has room for, or with a result that has
 * room for more, do what there is to do: accumulates and their kin, and transfers that end within
 * an element of a datatype with gaps.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 args=file mca="osc_cached_storage_route=helper"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"
#include "storage.h"

/* more runs than one message describes, not all of them as far apart */
enum { RUNS = 300, GAP = 3, SPAN = GAP * RUNS, COUNT = 3, N = COUNT * SPAN, TAIL = 7 };

static int base[N], now[N], got[N + TAIL], data[N];
static MPI_Win win;
static int target;

/* Where the i-th number of a datatype with RUNS runs lies. */
static int place(int i, int gapped)
{
    return gapped ? i / RUNS * SPAN + i % RUNS * GAP + i % RUNS % 2 : i;
}

static void set(void)
{
    for (int i = 0; i < N; ++i) {
        base[i] = 3 * i;
        data[i] = 1000000 + i;
    }
    memset(got, -1, sizeof(got));
    OK(MPI_Put(base, N, MPI_INT, target, 0, N, MPI_INT, win));
    OK(MPI_Win_flush(target, win));
}

/* The target has these numbers of data more, or instead; the rest is as it was. */
static void check_target(const char *what, int changed, int gapped, int sum)
{
    OK(MPI_Win_flush(target, win)); /* a request completes at the origin only */
    OK(MPI_Get(now, N, MPI_INT, target, 0, N, MPI_INT, win));
    OK(MPI_Win_flush(target, win));
    for (int i = 0; i < changed; ++i) {
        base[place(i, gapped)] = data[i] + (sum ? base[place(i, gapped)] : 0);
    }
    for (int i = 0; i < N; ++i) {
        CHECK(base[i] == now[i], "%s %d: number %d is %d, expected %d", what, changed, i, now[i],
              base[i]);
    }
}

/* The result has these numbers of the target as it was, and nothing behind them. */
static void check_result(const char *what, int fetched, int gapped)
{
    for (int i = 0; i < N + TAIL; ++i) {
        int want = (i < fetched) ? 3 * place(i, gapped) : -1;

        CHECK(want == got[i], "%s: result %d is %d, expected %d", what, i, got[i], want);
    }
}

static void accumulates(int less, int room, MPI_Datatype type, int gapped)
{
    int all = room * (gapped ? RUNS : 1);
    MPI_Request request;

    set();
    OK(MPI_Accumulate(data, less, MPI_INT, target, 0, room, type, MPI_SUM, win));
    check_target("MPI_Accumulate", less, gapped, 1);
    set();
    OK(MPI_Raccumulate(data, less, MPI_INT, target, 0, room, type, MPI_REPLACE, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_target("MPI_Raccumulate", less, gapped, 0);
    set();
    OK(MPI_Get_accumulate(data, less, MPI_INT, got, all + TAIL, MPI_INT, target, 0, room, type,
                          MPI_SUM, win));
    OK(MPI_Win_flush(target, win));
    check_result("MPI_Get_accumulate", all, gapped);
    check_target("MPI_Get_accumulate", less, gapped, 1);
    set();
    OK(MPI_Rget_accumulate(data, less, MPI_INT, got, all, MPI_INT, target, 0, room, type,
                           MPI_REPLACE, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_result("MPI_Rget_accumulate", all, gapped);
    check_target("MPI_Rget_accumulate", less, gapped, 0);
    set();
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, got, all + TAIL, MPI_INT, target, 0, room, type,
                          MPI_NO_OP, win));
    OK(MPI_Win_flush(target, win));
    check_result("MPI_NO_OP", all, gapped);
    check_target("MPI_NO_OP", 0, gapped, 1);
}

/* Puts into more room, and gets into more. */
static void transfers(int less, int room, MPI_Datatype type)
{
    set();
    OK(MPI_Put(data, less, MPI_INT, target, 0, room, type, win));
    OK(MPI_Win_flush(target, win));
    check_target("MPI_Put", less, 1, 0);
    set();
    OK(MPI_Get(got, room, type, target, 0, less, MPI_INT, win));
    OK(MPI_Win_flush(target, win));
    for (int i = 0; i < less; ++i) {
        CHECK(3 * i == got[place(i, 1)], "MPI_Get: number %d is %d", i, got[place(i, 1)]);
        got[place(i, 1)] = -1;
    }
    check_result("MPI_Get", 0, 1);
}

int main(int argc, char **argv)
{
    static const int some[] = {0, 1, 5, RUNS - 1, RUNS, RUNS + 1, 2 * RUNS + 7, COUNT * RUNS - 1};
    int places[RUNS];
    struct counters c;
    MPI_Datatype runs;
    void *memory;

    storage_begin();
    test_init(&argc, &argv);
    if (argc > 1) {
        OK(storage_allocate(N * sizeof(int), sizeof(int), &memory, &win, "less", NULL));
    } else {
        win = test_win_make(NULL, N * sizeof(int), sizeof(int), &memory);
    }
    counters_open(&c, &win);
    for (int i = 0; i < RUNS; ++i) {
        places[i] = place(i, 1);
    }
    OK(MPI_Type_create_indexed_block(RUNS, 1, places, MPI_INT, &runs));
    OK(MPI_Type_create_resized(runs, 0, SPAN * sizeof(int), &runs));
    OK(MPI_Type_commit(&runs));
    test_barrier();
    if (0 == test_rank) {
        helper_rest_long();
    }
    for (target = 0; target < 2 && 1 == test_rank; ++target) { /* the second one is this process */
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        for (int i = 0; i < (int) (sizeof(some) / sizeof(some[0])); ++i) {
            accumulates(some[i], N, MPI_INT, 0);
            accumulates(some[i], COUNT, runs, 1);
            if (test_rank != target) { /* else they are the inner component's */
                transfers(some[i], COUNT, runs);
            }
        }
        OK(MPI_Win_unlock(target, win));
    }
    CHECK(0 == test_rank || 0 < counter(&c, "helper_operations"), "no helper did anything");
    counters_close(&c);
    test_barrier();
    OK(MPI_Type_free(&runs));
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
