/* Atomics on a window with the info key no_locks: fence and PSCW epochs, and the key changed later;
 * H6: a helper does them all the same, whatever the keys say of accumulates (keys).
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on" args=keys
 *
 * osc/ucx of a stock Open MPI 5.0 looks for an exclusive lock in a hash table that such a window
 * does not have, and crashes; ompi-patches mends it.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

static int *base;
static MPI_Win win;

static void set_no_locks(const char *value)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", value));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Info_free(&info));
}

/* Each of the four atomics, once from every rank to its right neighbour's four integers. */
static void atomics(int round)
{
    const int one = 1, seven = 7;
    int right = (test_rank + 1) % test_size, got[3] = {-1, -1, -1};

    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(&one, 1, MPI_INT, &got[0], 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM,
                          win));
    OK(MPI_Fetch_and_op(&one, &got[1], MPI_INT, right, 2, MPI_SUM, win));
    OK(MPI_Compare_and_swap(&seven, &round, &got[2], MPI_INT, right, 3, win));
    helper_rest();
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 3; ++i) {
        CHECK(round == got[i], "round %d: fetched [%d] = %d", round, i, got[i]);
        CHECK(round + 1 == base[i], "round %d: base[%d] = %d", round, i, base[i]);
    }
    CHECK(7 == base[3], "round %d: swapped in %d", round, base[3]);
    base[3] = round + 1;
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void atomics_pscw(void)
{
    const int hundred = 100;
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    int before = base[0];
    MPI_Group world, to, from;

    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &right, &to));
    OK(MPI_Group_incl(world, 1, &left, &from));
    OK(MPI_Win_post(from, 0, win));
    OK(MPI_Win_start(to, 0, win));
    OK(MPI_Accumulate(&hundred, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK(before + 100 == base[0], "PSCW: base[0] = %d", base[0]);
    base[0] = before;
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&world));
    test_barrier();
}

int main(int argc, char **argv)
{
    const int thousand = 1000;
    struct counters c;
    MPI_Info info;
    int right, locked;

    test_init(&argc, &argv);
    if (test_inner_is("ucx") && test_stock_5_0()) {
        test_skip("osc/ucx of a stock Open MPI 5.0 crashes: MPI_Accumulate and no_locks");
    }
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "true"));
    if (1 < argc) {
        OK(MPI_Info_set(info, "acc_single_intrinsic", "true"));
        OK(MPI_Info_set(info, "accumulate_ordering", "none"));
    }
    OK(MPI_Win_allocate(4 * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Info_free(&info));
    test_win(win);
    if (helper_is_on()) {
        counters_open(&c, &win);
    }
    memset(base, 0, 4 * sizeof(int));
    test_barrier();
    atomics(0);
    atomics_pscw();
    set_no_locks("false");
    atomics(1);
    right = (test_rank + 1) % test_size;
    locked = MPI_SUCCESS == MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    CHECK(locked || !test_inner_is("ucx"), "no lock"); /* others keep the key of the creation */
    if (locked) {
        OK(MPI_Accumulate(&thousand, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_unlock(right, win));
        test_barrier();
        CHECK(1002 == base[0], "under a lock: base[0] = %d", base[0]);
    }
    base[0] = 2;
    test_barrier();
    set_no_locks("true");
    atomics(2);
    atomics_pscw();
    if (helper_is_on()) {
        /* osc/pt2pt does what is in epochs of MPI_Win_start itself */
        int pscw = test_inner_is("pt2pt") ? 0 : 2;

        helper_did(&c, (unsigned long) ((12 + pscw + locked) * test_size));
        counters_close(&c);
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
