/* H22: too few descriptors are left when a window is made, for a helper or for its connections: it
 * works without a helper, on all processes, and who asked for one is told. When there are some again,
 * the next window has one. And so have windows after the first one, whose helper has its descriptors;
 * not one whose processes would now be asked themselves, or by others than before. Nor is a window
 * coherent where there are too few for notes between its helpers, which run already.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 expect="text:are there file descriptors left"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args=18 expect="text:are there file descriptors left"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="26 enough"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="26 enough" mca="osc_cached_helper_per=node"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="10 asked" mca="osc_cached_helper_per=node" expect="text:are there file descriptors left"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="2 coherent" cache="share=off" expect="text:file descriptors"
 * test: for=osc-cached needs=cache ranks=4 transport=tcp limit=60 args="10 coherent enough" cache="share=off"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"
#include "helper.h"

#include <sys/resource.h>
#include <unistd.h>

enum { LEFT = 4, MOST = 64 }; /* with fewer, UCX of the inner component does not work, either */

static const long one = 1, nothing = 0;
static long words[512];

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

/* Each process has a connection to each other one, by messages and in this window. */
static void connect_all(MPI_Win win)
{
    OK(MPI_Win_lock_all(0, win));
    for (int i = 1; i < test_size; ++i) {
        int next = (test_rank + i) % test_size, last = (test_rank + test_size - i) % test_size;

        OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, next, 0, NULL, 0, MPI_BYTE, last, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        (void) coherent_get(win, next, 0);
        OK(MPI_Accumulate(&nothing, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(next, win));
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
}

/* A window that asks for coherence, whose processes read from each other.
 *
 * @param wanted  it is coherent, and all share what they have read */
static void share(int wanted)
{
    MPI_Win win;
    struct counters c;
    long *base;

    win = keyed_window(words, sizeof(words), sizeof(long), &base, "ompi_osc_cached_mode",
                       "coherent", "ompi_osc_cached_stores", "sync", NULL);
    CHECK(wanted == coherent_is(win), "coherent: %d", !wanted);
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int i = 1; i < test_size; ++i) {
        int target = (test_rank + i) % test_size;

        if (coherent_is(win)) {
            CHECK(coherent_warm(win, &c, target, 0, 0), "never a hit of process %d", target);
        } else {
            (void) coherent_get(win, target, 0);
        }
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
}

/* Whether this word is among the arguments. */
static int has(int argc, char **argv, const char *word)
{
    int found = 0;

    for (int i = 2; i < argc; ++i) {
        found = found || 0 == strcmp(word, argv[i]);
    }
    return found;
}

int main(int argc, char **argv)
{
    struct rlimit limit, none;
    unsigned long operations;
    int left = LEFT, asked, enough, coherent;
    long *base;
    MPI_Win win;

    test_init(&argc, &argv);
    asked = has(argc, argv, "asked");
    enough = has(argc, argv, "enough");
    coherent = has(argc, argv, "coherent");
    if (argc > 1) {
        left = atoi(argv[1]);
    }
    win = make("off", &base); /* connects the inner component */
    if (coherent) {
        connect_all(win);
    }
    operations = use(win, base);
    CHECK(0 == operations, "%lu", operations);
    if (asked) { /* only the first process has a helper */
        win = make("on", &base);
        operations = use(win, base);
        CHECK(1 == operations, "%lu", operations);
    }
    if (coherent) { /* the helpers have all connections but those for notes */
        win = make("on", &base);
        connect_all(win);
        OK(MPI_Win_free(&win));
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
    if (coherent) {
        share(enough);
    }
    for (int i = 0; !coherent && i < 1 + 2 * enough; ++i) {
        win = asked ? make_created(&base) : make("on", &base);
        operations = use(win, base);
        CHECK((unsigned long) enough == operations, "window %d: %lu", i, operations);
    }
    if (1 == test_rank) {
        CHECK(0 == setrlimit(RLIMIT_NOFILE, &limit), "the limit cannot be set");
    }
    test_barrier();
    if (coherent) {
        share(1);
    }
    win = asked ? make_created(&base) : make("on", &base);
    operations = use(win, base);
    CHECK(1 == operations, "%lu", operations);
    return test_done();
}
