/* A7: displacements and byte addresses of more than 32 bits are told apart.
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp limit=60
 *
 * A window of 9 GiB of untouched (so never backed) memory with marks whose addresses agree in their
 * low 32 bits; reached with disp_unit 1 (64-bit displacement) and 4096 (small displacement, large
 * byte address).
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"
#include <sys/mman.h>
#include <unistd.h>

#define GIB ((MPI_Aint) 1 << 30)

int main(int argc, char **argv)
{
    static const MPI_Aint at[] = {0,       4 * GIB,        8 * GIB,       GIB,
                                  5 * GIB, 9 * GIB - 4096, 4 * GIB - 4096};
    enum { N = sizeof(at) / sizeof(at[0]) };
    char *base;
    int fine, all;

    test_init(&argc, &argv);
    /* A real RDMA device would pin all of it. */
    fine = 0 != access("/sys/class/infiniband", F_OK);
    base = mmap(NULL, 9 * GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
    fine = fine && MAP_FAILED != base;
    OK(MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!all) {
        test_skip("needs 9 GiB of address space per rank, and no RDMA device that would pin them");
    }
    for (int unit = 1; unit <= 4096; unit *= 4096) {
        MPI_Win win;
        OK(MPI_Win_create(base, 9 * GIB, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        test_win(win);
        for (int i = 0; i < N; ++i) {
            *(long *) (base + at[i]) = 1000 * unit + 100 * test_rank + i;
        }
        OK(MPI_Win_fence(0, win));
        for (int pass = 0; pass < 2; ++pass) {
            long got[2][N];
            memset(got, 0x55, sizeof(got));
            for (int i = 0; i < N; ++i) {
                OK(MPI_Get(&got[0][i], 1, MPI_LONG, 0, at[i] / unit, 1, MPI_LONG, win));
                OK(MPI_Get(&got[1][i], 1, MPI_LONG, 1, at[i] / unit, 1, MPI_LONG, win));
            }
            OK(MPI_Win_fence(0, win));
            for (int i = 0; i < N; ++i) {
                for (int t = 0; t < 2; ++t) {
                    CHECK(1000 * unit + 100 * t + i == got[t][i],
                          "unit %d, target %d, mark %d: %ld", unit, t, i, got[t][i]);
                }
            }
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        OK(MPI_Win_free(&win));
    }
    munmap(base, 9 * GIB);
    return test_done();
}
