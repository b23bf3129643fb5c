/* Windows on files (alloc_type=storage) are windows of MPI_Win_allocate: attributes, puts, gets,
 * atomics, loads and stores; what was written is in the file, and in the next window on it.
 * test: for=osc-cached ranks=2,4 transport=shm,tcp limit=60
 * test: for=osc-cached ranks=3 transport=shm,tcp limit=60 cache="mode=always"
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "storage.h"

enum { LONGS = 3000 };

static void attributes(MPI_Win win, const void *base)
{
    void *value;
    int flag;

    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
    CHECK(flag && MPI_WIN_FLAVOR_ALLOCATE == *(int *) value, "another flavour");
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
    CHECK(flag && base == value, "another base");
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
    CHECK(flag && LONGS * sizeof(long) == (size_t) * (MPI_Aint *) value, "another size");
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
    CHECK(flag && sizeof(long) == *(int *) value, "another unit");
}

/* One after the other to the right neighbour: a put, a sum, a get of both and of a store. */
static void use(MPI_Win win, long *base)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    long mine = 100 + test_rank, one = 1, old = -1, got[3] = {0};

    base[7] = 1000 + test_rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&mine, 1, MPI_LONG, right, 5, 1, MPI_LONG, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, right, 6, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(got, 3, MPI_LONG, right, 5, 3, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK(mine == got[0] && 1 == got[1] && 1000 + right == got[2], "got %ld %ld %ld", got[0],
          got[1], got[2]);
    CHECK(100 + left == base[5] && 1 == base[6], "has %ld %ld", base[5], base[6]);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, right, LONGS - 1, MPI_SUM, win));
    OK(MPI_Win_flush(right, win));
    CHECK(0 == old, "fetched %ld", old);
    OK(MPI_Win_sync(win));
    OK(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv)
{
    static long wanted[LONGS], got[LONGS + 1];
    int left;
    long *base;
    MPI_Win win;

    storage_begin();
    test_init(&argc, &argv);
    left = (test_rank + test_size - 1) % test_size;
    OK(storage_allocate(sizeof(wanted), sizeof(long), &base, &win, "window", NULL));
    attributes(win, base);
    for (int i = 0; i < LONGS; ++i) {
        CHECK(0 == base[i], "a new file is not empty");
    }
    use(win, base);
    OK(MPI_Win_free(&win));

    wanted[5] = 100 + left;
    wanted[6] = 1;
    wanted[7] = 1000 + test_rank;
    wanted[LONGS - 1] = 1;
    CHECK(sizeof(wanted) == storage_read("window", got, sizeof(got)), "another file");
    CHECK(0 == memcmp(wanted, got, sizeof(wanted)), "the file holds other bytes");

    /* the next window has them, behind what its own offset leaves alone */
    OK(storage_allocate(sizeof(wanted), sizeof(long), &base, &win, "window", NULL));
    CHECK(0 == memcmp(wanted, base, sizeof(wanted)), "the next window has other bytes");
    OK(MPI_Win_free(&win));
    OK(storage_allocate(sizeof(long), sizeof(long), &base, &win, "window", "storage_alloc_offset",
                        "65536", NULL));
    *base = 77;
    OK(MPI_Win_free(&win));
    CHECK(sizeof(got) == storage_read("window", got, sizeof(got)), "another file");
    CHECK(0 == memcmp(wanted, got, sizeof(wanted)), "bytes before the offset have changed");

    /* some have nothing */
    OK(storage_allocate((0 == test_rank) ? 0 : 8, 1, &base, &win, "some", NULL));
    OK(MPI_Win_free(&win));
    CHECK((0 == test_rank) == (0 != access(storage_name("some"), F_OK)), "a file for nothing");
    storage_end();
    return test_done();
}
