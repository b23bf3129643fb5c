/* A window with helpers is created without asking Open MPI for processes of other nodes, for each of
 * which it would allocate memory. On one node there are none.
 * test: for=osc-cached needs=cache ranks=2,4 transport=tcp cflags="-rdynamic -ldl" args=process
 * test: for=osc-cached needs=cache ranks=4 transport=tcp cflags="-rdynamic -ldl" args=node
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "helper.h"

#include <dlfcn.h>

typedef struct {
    unsigned jobid, vpid;
} name_t;

static int lookups;

/* In the place of Open MPI's, which allocates. */
void *ompi_proc_for_name(name_t name)
{
    void *(*real)(name_t);
    Dl_info caller;

    if (0 != dladdr(__builtin_return_address(0), &caller)
        && NULL != strstr(caller.dli_fname, "mca_osc_cached")) {
        ++lookups;
    }
    *(void **) &real = dlsym(RTLD_NEXT, "ompi_proc_for_name");
    return real(name);
}

int main(int argc, char **argv)
{
    long *base;
    struct counters c;
    MPI_Win win;

    setenv("OMPI_MCA_osc_cached_helper", "on", 1);
    setenv("OMPI_MCA_osc_cached_helper_per", argv[1], 1);
    test_init(&argc, &argv);
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    CHECK(0 == lookups, "%d lookups", lookups);
    counters_open(&c, &win);
    test_barrier();
    helper_add_one(win, (test_rank + 1) % test_size);
    test_barrier();
    helper_did(&c, (unsigned long) test_size);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
