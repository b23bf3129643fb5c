/* H22: too few descriptors are left when a window is made, for a helper or for its connections: it
 * works without a helper, on all processes, and who asked for one is told. When there are some again,
 * the next window has one. And so have windows after the first one, whose helper has its descriptors;
 * not one whose processes would now be asked themselves, or by others than before.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 expect="text:are there file descriptors left"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args=18 expect="text:are there file descriptors left"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="26 enough"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="26 enough" mca="osc_cached_helper_per=node"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="10 asked" mca="osc_cached_helper_per=node" expect="text:are there file descriptors left"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <sys/resource.h>
#include <unistd.h>

enum { LEFT = 4, MOST = 64 }; /* with fewer, UCX of the inner component does not work, either */

static const long one = 1;

static MPI_Win make_created(long **base)
{
    static long created;
    MPI_Info info;
    MPI_Win win;

    *base = &created;
    created = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_helper", "on"));
    OK(MPI_Win_create(&created, sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &win));
    OK(MPI_Info_free(&info));
    test_barrier();
    return win;
}

static MPI_Win make(const char *helper, long **base)
{
    MPI_Info info;
    MPI_Win win;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_helper", helper));
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), info, MPI_COMM_WORLD, base, &win));
    OK(MPI_Info_free(&info));
    **base = 0;
    test_barrier();
    return win;
}

/* @return operations that helpers did */
static unsigned long use(MPI_Win win, long *base)
{
    int target = (test_rank + 1) % test_size;
    unsigned long operations;
    struct counters c;

    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    CHECK(1 == *base, "%ld", *base);
    OK(MPI_Win_unlock(test_rank, win));
    operations = counter(&c, "helper_operations");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return operations;
}

int main(int argc, char **argv)
{
    struct rlimit limit, none;
    unsigned long operations;
    int left = LEFT, asked, enough;
    long *base;
    MPI_Win win;

    test_init(&argc, &argv);
    asked = argc > 2 && 0 == strcmp("asked", argv[2]);
    enough = argc > 2 && !asked;
    if (argc > 1) {
        left = atoi(argv[1]);
    }
    win = make("off", &base); /* connects the inner component */
    operations = use(win, base);
    CHECK(0 == operations, "%lu", operations);
    if (asked) { /* only the first process has a helper */
        win = make("on", &base);
        operations = use(win, base);
        CHECK(1 == operations, "%lu", operations);
    }
    CHECK(0 == getrlimit(RLIMIT_NOFILE, &limit), "no limit");
    none = limit;
    if (1 == test_rank) {
        /* the lowest; between them may be others that are in use */
        int free_ones[MOST] = {0};

        for (int i = 0; i <= left; ++i) {
            free_ones[i] = dup(0);
        }
        none.rlim_cur = (rlim_t) free_ones[left];
        for (int i = 0; i <= left; ++i) {
            close(free_ones[i]);
        }
        CHECK(0 == setrlimit(RLIMIT_NOFILE, &none), "the limit cannot be set");
    }
    for (int i = 0; i < 1 + 2 * enough; ++i) {
        win = asked ? make_created(&base) : make("on", &base);
        operations = use(win, base);
        CHECK((unsigned long) enough == operations, "window %d: %lu", i, operations);
    }
    if (1 == test_rank) {
        CHECK(0 == setrlimit(RLIMIT_NOFILE, &limit), "the limit cannot be set");
    }
    test_barrier();
    win = asked ? make_created(&base) : make("on", &base);
    operations = use(win, base);
    CHECK(1 == operations, "%lu", operations);
    return test_done();
}
