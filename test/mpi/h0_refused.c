/* H: a window that cannot have a helper. Who asks for one is told why there is none, and the window
 * works; without a request, or with the parameter where processes reach each other's memory, nobody
 * is told anything.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 args="dynamic on" expect="text:has none: it is a dynamic one"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args="dynamic" mca="osc_cached_helper=on" expect="text:has none: it is a dynamic one"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args="dynamic off" mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args="dynamic on" mca="osc_cached_helper=off"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args="shared on" expect="text:nobody waits for a target there"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args="shared" mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

int main(int argc, char **argv)
{
    int dynamic = 0 == strcmp("dynamic", argv[1]);
    long *base = NULL, value = 0, one = 1;
    MPI_Aint at = 0;
    MPI_Info info;
    MPI_Win win;

    test_init(&argc, &argv);
    OK(MPI_Info_create(&info));
    if (2 < argc) {
        OK(MPI_Info_set(info, "ompi_osc_cached_helper", argv[2]));
    }
    if (dynamic) {
        OK(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win));
        base = &value;
        OK(MPI_Win_attach(win, base, sizeof(*base)));
        OK(MPI_Get_address(base, &at));
    } else {
        OK(MPI_Win_allocate_shared(sizeof(*base), (int) sizeof(*base), info, MPI_COMM_WORLD, &base,
                                   &win));
        *base = 0;
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD));
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, at, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock(0, win));
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CHECK(0 != test_rank || test_size == *base, "the sum is %ld", *base);
    OK(MPI_Win_unlock(0, win));
    test_barrier();
    if (dynamic) {
        OK(MPI_Win_detach(win, base));
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
