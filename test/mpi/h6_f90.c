/* H6: helpers know the types of MPI_Type_create_f90_real, integer and complex, and types made of
 * them.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { ITEMS = 8 };

int main(int argc, char **argv)
{
    const double ones[2] = {1, 1};
    const int two = 2;
    MPI_Datatype real, integer, complex, strided;
    double *base, old[2];
    struct counters c;
    MPI_Win win;
    int was, peer;

    test_init(&argc, &argv);
    peer = 1 - test_rank;
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real));
    OK(MPI_Type_create_f90_integer(9, &integer));
    OK(MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &complex));
    OK(MPI_Type_vector(2, 1, 2, real, &strided));
    OK(MPI_Type_commit(&strided));
    win = test_win_make(NULL, ITEMS * sizeof(double), sizeof(double), &base);
    for (int i = 0; i < ITEMS; ++i) {
        base[i] = 0;
    }
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    helper_rest();
    OK(MPI_Accumulate(ones, 1, real, peer, 0, 1, real, MPI_SUM, win));
    OK(MPI_Accumulate(ones, 2, real, peer, 1, 1, strided, MPI_SUM, win));
    OK(MPI_Get_accumulate(ones, 1, complex, old, 1, complex, peer, 4, 1, complex, MPI_SUM, win));
    OK(MPI_Fetch_and_op(&two, &was, integer, peer, 6, MPI_SUM, win));
    OK(MPI_Win_flush(peer, win));
    CHECK(0 == old[0] && 0 == old[1] && 0 == was, "was %g %g %d", old[0], old[1], was);
    CHECK(0 < counter(&c, "helper_operations"), "no helper did it");
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    CHECK(1 == base[0] && 1 == base[1] && 0 == base[2] && 1 == base[3] && 1 == base[4]
              && 1 == base[5] && 2 == *(int *) &base[6],
          "%g %g %g %g %g %g %d", base[0], base[1], base[2], base[3], base[4], base[5],
          *(int *) &base[6]);
    OK(MPI_Type_free(&strided));
    OK(MPI_Win_free(&win));
    return test_done();
}
