/* H22: by default (osc_cached_helper=auto) a window has a helper where its processes are on several
 * nodes without RDMA, and none on one node; all its processes say the same, and it does what it is
 * for.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=auto"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

/* Is the helper on for a window of these processes? */
static int is_on(MPI_Comm comm)
{
    char value[16] = "";
    int flag = 0;
    MPI_Info info;
    MPI_Win win;
    long *base;

    OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &base, &win));
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "ompi_osc_cached_helper", sizeof(value) - 1, value, &flag));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_free(&win));
    return 0 == strcmp(value, "on");
}

/* One operation of each process: a helper does it, or none does. */
static void use(int on)
{
    struct counters c;
    MPI_Win win;
    long *base;

    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    test_barrier();
    helper_add_one(win, (test_rank + 1) % test_size);
    test_barrier();
    helper_did(&c, on ? (unsigned long) test_size : 0);
    counters_close(&c);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    int wanted;
    MPI_Comm node;

    test_init(&argc, &argv);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    wanted = helper_is_useful();
    CHECK(wanted == is_on(MPI_COMM_WORLD), "the helper is %s", wanted ? "off" : "on");
    CHECK(!is_on(node), "one node has a helper");
    OK(MPI_Comm_free(&node));
    use(wanted);
    return test_done();
}
