/* alloc_type=storage on some processes only: an error on all of them, and a text; nobody waits.
 * test: for=osc-cached ranks=2,3 transport=shm,tcp limit=60 expect="text:have the info key alloc_type=storage, and others do"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "storage.h"

int main(int argc, char **argv)
{
    char *base;
    MPI_Win win;

    storage_begin();
    test_init(&argc, &argv);
    if (0 == test_rank) {
        FAILS(MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_WIN);
    } else {
        FAILS(storage_allocate(100, 1, &base, &win, "window", NULL), MPI_ERR_WIN);
        CHECK(0 != access(storage_name("window"), F_OK), "a file is left behind");
    }
    OK(storage_allocate(100, 1, &base, &win, "window", NULL));
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
