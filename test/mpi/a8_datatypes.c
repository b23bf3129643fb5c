/* A8: origin and target datatypes are honoured on get and put; gaps are never written, on either
 * side.
 *
 * test: for=osc ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always" ranks=2 transport=shm,tcp limit=60
 * test: for=osc-cached cache="mode=always entries=16 window_memory=4K" ranks=2 limit=60
 *
 * Each layout moves 24 longs; every pair (origin layout, target layout) is got twice in one epoch,
 * then put, and every byte of both sides is compared with a model made by packing and unpacking.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"
#include <stddef.h>

enum { ITEMS = 24, SPAN = 256, LAYOUTS = 8 };

struct pair {
    long a;
    char gap[24];
    long b;
};

static struct {
    const char *name;
    MPI_Datatype type;
    int count;
} layout[LAYOUTS];

static void make(int n, const char *name, MPI_Datatype type, int count)
{
    layout[n].name = name;
    layout[n].type = type;
    layout[n].count = count;
    if (MPI_LONG != type) {
        OK(MPI_Type_commit(&layout[n].type));
    }
}

static void make_layouts(void)
{
    int lens[4] = {1, 5, 2, 4}, places[4] = {40, 0, 12, 20}, sizes[2] = {8, 9}, part[2] = {4, 6},
        first[2] = {2, 1};
    int ones[2] = {1, 1};
    MPI_Aint bytes[4] = {800, 16, 400, 600},
             fields[2] = {offsetof(struct pair, a), offsetof(struct pair, b)};
    MPI_Datatype longs[2] = {MPI_LONG, MPI_LONG}, t, u;

    make(0, "contiguous", MPI_LONG, ITEMS);
    OK(MPI_Type_vector(8, 3, 7, MPI_LONG, &t));
    make(1, "vector", t, 1);
    OK(MPI_Type_indexed(4, lens, places, MPI_LONG, &t));
    make(2, "indexed", t, 2);
    OK(MPI_Type_create_struct(2, ones, fields, longs, &t));
    OK(MPI_Type_create_resized(t, 0, sizeof(struct pair), &u));
    MPI_Type_free(&t);
    make(3, "struct", u, ITEMS / 2);
    OK(MPI_Type_create_subarray(2, sizes, part, first, MPI_ORDER_C, MPI_LONG, &t));
    make(4, "subarray", t, 1);
    OK(MPI_Type_create_hindexed(4, lens, bytes, MPI_LONG, &t));
    make(5, "hindexed", t, 2);
    OK(MPI_Type_create_resized(MPI_LONG, 0, 3 * sizeof(long), &t));
    make(6, "resized", t, ITEMS);
    OK(MPI_Type_contiguous(ITEMS / 2, MPI_LONG, &t));
    make(7, "contiguous type", t, 2);
}

/* What dst becomes when src's layout s is moved into its layout d. */
static void model(long *dst, int d, const long *src, int s)
{
    char packed[ITEMS * sizeof(long)];
    int at = 0;

    OK(MPI_Pack(src, layout[s].count, layout[s].type, packed, sizeof(packed), &at, MPI_COMM_SELF));
    at = 0;
    OK(MPI_Unpack(packed, sizeof(packed), &at, dst, layout[d].count, layout[d].type,
                  MPI_COMM_SELF));
}

static void fill(long *a, long start)
{
    for (int i = 0; i < SPAN; ++i) {
        a[i] = start + i;
    }
}

static void compare(const long *got, const long *want, const char *what, int o, int t)
{
    for (int i = 0; i < SPAN; ++i) {
        CHECK(want[i] == got[i], "%s, origin %s, target %s: [%d] = %ld, wanted %ld", what,
              layout[o].name, layout[t].name, i, got[i], want[i]);
    }
}

int main(int argc, char **argv)
{
    long mine[SPAN], *base, remote[SPAN], buf[2][SPAN], want[SPAN], back[SPAN];

    test_init(&argc, &argv);
    make_layouts();
    for (int allocate = 0; allocate < 2; ++allocate) {
        MPI_Win win = test_win_make(allocate ? NULL : mine, sizeof(mine), sizeof(long), &base);

        fill(base, 1000 * test_rank);
        fill(remote, 1000);
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        for (int pair = 0; 0 == test_rank && pair < LAYOUTS * LAYOUTS; ++pair) {
            int o = pair / LAYOUTS, t = pair % LAYOUTS;

            for (int k = 0; k < 2; ++k) {
                fill(buf[k], -5000);
                OK(MPI_Get(buf[k], layout[o].count, layout[o].type, 1, 0, layout[t].count,
                           layout[t].type, win));
            }
            OK(MPI_Win_flush(1, win));
            fill(want, -5000);
            model(want, o, remote, t);
            compare(buf[0], want, "get", o, t);
            compare(buf[1], want, "second get", o, t);

            fill(buf[0], 100000 + 1000 * pair);
            OK(MPI_Put(buf[0], layout[o].count, layout[o].type, 1, 0, layout[t].count,
                       layout[t].type, win));
            OK(MPI_Win_flush(1, win));
            model(remote, t, buf[0], o);
            OK(MPI_Get(back, SPAN, MPI_LONG, 1, 0, SPAN, MPI_LONG, win));
            OK(MPI_Win_flush(1, win));
            compare(back, remote, "put", o, t);
        }
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    for (int n = 1; n < LAYOUTS; ++n) {
        MPI_Type_free(&layout[n].type);
    }
    return test_done();
}
