/* P5: any number of gets outstanding (CLaMPI's code ends the job at the 65th).
 * test: for=osc ranks=2,3 transport=shm,tcp limit=120
 * test: for=osc-cached cache="mode=always" ranks=2,3 transport=shm,tcp limit=120
 * test: for=osc-cached cache="passive_scope=flush" ranks=2 transport=shm,tcp limit=120
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 100000 };

int main(int argc, char **argv)
{
    static const int many[] = {64, 65, 127, 129, 1000, N};
    int *base, *got = malloc(2 * N * sizeof(int));
    MPI_Win win;

    test_init(&argc, &argv);
    if (test_inner_is("pt2pt") && !test_over_tcp()) {
        test_skip("osc/pt2pt waits for ever over shared memory: too many gets outstanding");
    }
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < N; ++i) {
        base[i] = 7 * i + test_rank;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int k = 0; 0 == test_rank && k < 6; ++k) {
        memset(got, 0x55, 2 * N * sizeof(int));
        for (int i = 0; i < 2 * many[k]; ++i) { /* each word twice */
            OK(MPI_Get(&got[i], 1, MPI_INT, 1, i / 2, 1, MPI_INT, win));
        }
        OK(MPI_Win_flush(1, win));
        for (int i = 0; i < 2 * many[k]; ++i) {
            CHECK(7 * (i / 2) + 1 == got[i], "%d gets: [%d] = %d", 2 * many[k], i, got[i]);
        }
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    free(got);
    return test_done();
}
