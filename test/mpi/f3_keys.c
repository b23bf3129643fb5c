/* Bad keys and values: no window on any process, and a text; a bad alloc_type: one in memory.
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="alloc_type stoarge" expect="text:Info key: alloc_type Value: stoarge Allowed values: memory, storage"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_file x" expect="text:Info key: storage_alloc_file"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_offset 1K" expect="text:Info key: storage_alloc_offset Value: 1K"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_offset 512" expect="text:not a multiple of the page size"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_factor 1.5" expect="text:Value: 1.5 Allowed values: 0 to 1, auto"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_order random" expect="text:Allowed values: memory_first, storage_first"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_unlink yes" expect="text:Info key: storage_alloc_unlink Value: yes"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_discard 1" expect="text:Info key: storage_alloc_discard Value: 1"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="file_perm rw" expect="text:Allowed values: 0 to 777, octal"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="access_style fast" expect="text:Info key: access_style Value: fast"
 * test: for=osc-cached ranks=2 transport=shm limit=60 args="storage_alloc_filename" expect="text:storage_alloc_filename is missing"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "storage.h"

int main(int argc, char **argv)
{
    const char *key = argv[1], *value = (2 < argc) ? argv[2] : NULL;
    int is, ret;
    MPI_Win win;
    char *base;

    storage_begin();
    test_init(&argc, &argv);
    is = test_size - 1 == test_rank;
    ret = (0 == strcmp(key, "alloc_type"))
              ? storage_allocate(100, 1, &base, &win, "window", key, value, NULL)
          : (NULL == value)
              ? storage_allocate(100, 1, &base, &win, is ? NULL : "window", NULL)
              : storage_allocate(100, 1, &base, &win, "window", is ? key : NULL, value, NULL);
    if (0 == strcmp(key, "alloc_type")) {
        OK(ret);
        OK(MPI_Win_free(&win));
    } else {
        FAILS(ret, MPI_ERR_WIN);
    }
    CHECK(0 != access(storage_name("window"), F_OK), "a file is left behind");
    storage_end();
    return test_done();
}
