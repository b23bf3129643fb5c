/* H1: the helper gets all bytes of complex numbers whose distance is no multiple of their size, and
 * brings them back to such places.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { ITEMS = 4, DOUBLES = 2 * ITEMS, EACH = 20 };

static void check(MPI_Win win, int peer, int at, const char *what)
{
    static const double wanted[DOUBLES] = {1, 2, 4, 5, 7, 8, 10, 11};
    double got[DOUBLES] = {0};

    OK(MPI_Win_flush(peer, win));
    OK(MPI_Get(got, DOUBLES, MPI_DOUBLE, peer, at, DOUBLES, MPI_DOUBLE, win));
    OK(MPI_Win_flush(peer, win));
    for (int i = 0; i < DOUBLES; ++i) {
        CHECK(wanted[i] == got[i], "%s: number %d is %g", what, i, got[i]);
    }
}

int main(int argc, char **argv)
{
    double origin[3 * ITEMS], result[3 * ITEMS] = {0}, *memory;
    MPI_Datatype strided, complex = MPI_C_DOUBLE_COMPLEX;
    struct counters c;
    MPI_Win win;
    int peer;

    test_init(&argc, &argv);
    peer = 1 - test_rank;
    for (int i = 0; i < 3 * ITEMS; ++i) {
        origin[i] = i + 1;
    }
    memory = calloc(4 * EACH, sizeof(*memory));
    OK(MPI_Type_create_hvector(ITEMS, 1, 3 * sizeof(double), complex, &strided));
    OK(MPI_Type_commit(&strided));
    OK(MPI_Win_create(memory, 4 * EACH * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL,
                      MPI_COMM_WORLD, &win));
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    helper_rest();
    OK(MPI_Put(origin, 1, strided, peer, 0, ITEMS, complex, win));
    check(win, peer, 0, "put");
    helper_rest();
    OK(MPI_Accumulate(origin, 1, strided, peer, EACH, ITEMS, complex, MPI_SUM, win));
    check(win, peer, EACH, "accumulate");
    helper_rest();
    OK(MPI_Get_accumulate(origin, 1, strided, result, 1, strided, peer, 2 * EACH, ITEMS, complex,
                          MPI_SUM, win));
    check(win, peer, 2 * EACH, "get_accumulate");
    helper_rest();
    OK(MPI_Get_accumulate(NULL, 0, complex, result, 1, strided, peer, EACH, ITEMS, complex,
                          MPI_NO_OP, win));
    OK(MPI_Win_flush(peer, win));
    for (int i = 0; i < 3 * ITEMS; ++i) {
        CHECK(((2 == i % 3) ? 0 : i + 1) == result[i], "result %d is %g", i, result[i]);
    }
    OK(MPI_Win_unlock_all(win));
    if (0 < counter(&c, "helper_operations") || test_inner_is("ucx")) {
        CHECK(2 < counter(&c, "helper_operations"), "no helper did it");
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&strided));
    free(memory);
    return test_done();
}
