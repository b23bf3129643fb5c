/* A15: a slot of the window's function table is NULL exactly when the inner component's is, for
 * every kind of window.
 *
 * test: for=osc ranks=2 transport=shm limit=60 devel=yes compare=osc:inner
 *
 * Prints one line per kind of window; the runner compares with the inner component alone.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"

#include "test.h"

#define SLOTS(S)                                                                                \
    S(win_shared_query)                                                                         \
    S(win_attach) S(win_detach) S(free) S(put) S(get) S(accumulate) S(compare_and_swap)         \
        S(fetch_and_op) S(get_accumulate) S(rput) S(rget) S(raccumulate) S(rget_accumulate)     \
            S(fence) S(start) S(complete) S(post) S(wait) S(test) S(lock) S(unlock) S(lock_all) \
                S(unlock_all) S(sync) S(flush) S(flush_all) S(flush_local) S(flush_local_all)

#define COUNT(name) +1
_Static_assert((0 SLOTS(COUNT)) * sizeof(void (*)(void)) == sizeof(ompi_osc_base_module_t),
               "a slot of ompi_osc_base_module_t is missing here");

static void report(const char *kind, MPI_Win win)
{
    const ompi_osc_base_module_t *module = ((struct ompi_win_t *) win)->w_osc_module;

    if (0 == test_rank) {
        printf("%s: NULL:", kind);
#define PRINT(name)                 \
    if (NULL == module->osc_##name) \
        printf(" " #name);
        SLOTS(PRINT)
        printf("\n");
    }
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int memory[4], *base;

    test_init(&argc, &argv);
    OK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    report("create", win);
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    report("create of nothing", win);
    OK(MPI_Win_allocate(sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    report("allocate", win);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    report("dynamic", win);
    /* the others have no shared windows to compare with */
    if (test_inner_is("sm+rdma") || test_inner_is("sm+ucx") || (test_inner_is("ucx") && 0x0401 != test_openmpi())) {
        OK(MPI_Win_allocate_shared(sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        report("shared", win);
    }
    return test_done();
}
