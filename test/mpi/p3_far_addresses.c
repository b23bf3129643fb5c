/* P3: displacements 0 and 2^32 are different bytes (CLaMPI's code keeps 32 bits of them: a get at
 * 2^32 after one at 0 is a hit that returns 11 instead of 22).
 *
 * test: for=osc ranks=2 transport=shm,tcp
 * test: for=osc-cached cache="mode=always" ranks=2,3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"
#include <sys/mman.h>
#include <unistd.h>

#define FAR ((MPI_Aint) 1 << 32)

int main(int argc, char **argv)
{
    MPI_Aint bytes = 0;
    char *base = NULL;
    MPI_Win win;
    int fine, all;

    test_init(&argc, &argv);
    /* only one rank needs the address space; a real RDMA device would pin all of it */
    fine = 0 != access("/sys/class/infiniband", F_OK);
    if (1 == test_rank) {
        bytes = 2 * FAR + 4096;
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        fine = fine && MAP_FAILED != base;
    }
    OK(MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!all) {
        test_skip("needs 8 GiB of address space, and no RDMA device that would pin them");
    }
    OK(MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    test_win(win);
    if (1 == test_rank) {
        *(long *) base = 11;
        *(long *) (base + FAR) = 22;
        *(long *) (base + 2 * FAR) = 33;
    }
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int pass = 0; 1 != test_rank && pass < 6; ++pass) {
        long got[3] = {-1, -1, -1};

        for (int i = 0; i < 3; ++i) {
            OK(MPI_Get(&got[i], 1, MPI_LONG, 1, FAR * i, 1, MPI_LONG, win));
            if (pass % 2) {
                OK(MPI_Win_flush(1, win));
            }
        }
        OK(MPI_Win_flush(1, win));
        CHECK(11 == got[0] && 22 == got[1] && 33 == got[2], "pass %d: %ld %ld %ld", pass, got[0],
              got[1], got[2]);
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    if (NULL != base) {
        munmap(base, bytes);
    }
    return test_done();
}
