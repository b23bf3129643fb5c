/* Info, names, attributes and groups of a window work as always, and keys nobody knows do no harm.
 *
 * test: for=osc ranks=2 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

int main(int argc, char **argv)
{
    MPI_Info info, out;
    MPI_Win win;
    MPI_Group group, world;
    int *base, flag, same, *kind, *unit, *model, got = -1;
    void *at;
    MPI_Aint *size;
    char name[MPI_MAX_OBJECT_NAME];

    test_init(&argc, &argv);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "same_size", "true"));
    OK(MPI_Info_set(info, "same_disp_unit", "true"));
    OK(MPI_Info_set(info, "accumulate_ordering", "none"));
    OK(MPI_Info_set(info, "nobody_knows_this", "7"));
    OK(MPI_Win_allocate(64, sizeof(int), info, MPI_COMM_WORLD, &base, &win));
    test_win(win);
    base[0] = 100 + test_rank;

    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &at, &flag));
    CHECK(flag && at == (void *) base, "base %p, wanted %p", at, (void *) base);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && 64 == *size, "size %ld", (long) *size);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && sizeof(int) == *unit, "disp_unit %d", *unit);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &kind, &flag));
    CHECK(flag && MPI_WIN_FLAVOR_ALLOCATE == *kind, "flavour %d", *kind);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag && MPI_WIN_UNIFIED == *model, "model %d", *model);
    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &same));
    CHECK(MPI_IDENT == same, "group compares %d", same);
    OK(MPI_Win_set_name(win, "my window"));
    OK(MPI_Win_get_name(win, name, &flag));
    CHECK(0 == strcmp(name, "my window"), "name %s", name);

    OK(MPI_Info_set(info, "accumulate_ordering", "rar,raw,war,waw"));
    for (int i = 0; i < 100; ++i) {
        OK(MPI_Win_set_info(win, info));
        OK(MPI_Win_get_info(win, &out));
        OK(MPI_Info_free(&out));
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&got, 1, MPI_INT, 1 - test_rank, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(101 - test_rank == got, "got %d", got);

    /* What the caching component listens to must be harmless where nobody does: bytes are fetched
     * anew. */
    OK(MPI_Info_free(&info));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_invalidate", "true"));
    for (int round = 0; round < 3; ++round) {
        base[0] = 1000 * round + test_rank;
        OK(MPI_Win_fence(0, win));
        OK(MPI_Win_set_info(win, info));
        OK(MPI_Get(&got, 1, MPI_INT, 1 - test_rank, 0, 1, MPI_INT, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK(1000 * round + 1 - test_rank == got, "round %d: %d", round, got);
        test_barrier();
    }
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    OK(MPI_Win_free(&win));
    return test_done();
}
