/* MPI_Win_get_info has the keys of osc/cached where that caches, and none of them where it never
 * does, whatever the program gave when it created the window and later.
 *
 * test: for=osc-cached needs=cache ranks=2 transport=shm
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

/* How many of our keys a window has. */
static int keys_of(MPI_Win win)
{
    char key[MPI_MAX_INFO_KEY + 1];
    int count, found = 0;
    MPI_Info info;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get_nkeys(info, &count));
    for (int i = 0; i < count; ++i) {
        OK(MPI_Info_get_nthkey(info, i, key));
        found += NULL != strstr(key, "osc_cached") || 0 == strcmp(key, "CLAMPI_MODE");
    }
    OK(MPI_Info_free(&info));
    return found;
}

static void check(MPI_Win win, const char *kind, int has, MPI_Info info)
{
    CHECK(has ? 2 < keys_of(win) : 0 == keys_of(win), "%s has %d keys", kind, keys_of(win));
    OK(MPI_Win_set_info(win, info));
    CHECK(has ? 2 < keys_of(win) : 0 == keys_of(win), "%s has %d keys after MPI_Win_set_info", kind,
          keys_of(win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    char *base;
    MPI_Info info;
    MPI_Win win;

    test_init(&argc, &argv);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_mode", "always"));
    OK(MPI_Info_set(info, "CLAMPI_MODE", "2"));
    OK(MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, &win));
    check(win, "MPI_Win_allocate", 1, info);
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    check(win, "MPI_Win_allocate without info", 1, info);
    OK(MPI_Win_allocate_shared(64, 1, info, MPI_COMM_WORLD, &base, &win));
    check(win, "MPI_Win_allocate_shared", 0, info);
    OK(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win));
    check(win, "MPI_Win_create_dynamic", 0, info);
    OK(MPI_Info_free(&info));
    return test_done();
}
