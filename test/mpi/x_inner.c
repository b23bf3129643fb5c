/* The component that serves a window: of a list the first one that can, with MPI_THREAD_MULTIPLE,
 * too, which osc/pt2pt refuses only when it is asked to make the window (threads). To look for it
 * takes no memory that stays (memory).
 *
 * test: for=osc-cached ranks=2 transport=shm limit=60 args=threads
 * test: for=osc-cached ranks=2 transport=shm limit=60 args=memory
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <malloc.h>

enum { WINDOWS = 1000, BYTES_EACH = 40 };

static void make(int windows)
{
    static long memory[16];
    MPI_Win win;

    for (int i = 0; i < windows; ++i) {
        OK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        OK(MPI_Win_free(&win));
    }
}

int main(int argc, char **argv)
{
    size_t before, after;

    /* before MPI_Init; 5.0 has no osc/pt2pt */
    if (0 == strcmp("memory", argv[1])) {
        setenv("OMPI_MCA_osc_cached_inner", "auto", 1);
        test_init(&argc, &argv);
        make(WINDOWS);
        before = mallinfo2().uordblks;
        make(WINDOWS);
        after = mallinfo2().uordblks;
        CHECK(after < before + WINDOWS * BYTES_EACH, "%zu bytes more", after - before);
    } else {
        setenv("OMPI_MCA_osc_cached_inner", (0x0500 > test_openmpi()) ? "pt2pt,rdma" : "rdma", 1);
        test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
        make(10);
    }
    return test_done();
}
