/* A10, never slower: where nothing is cached and nobody reads the counters, a get and a flush go
 * straight to the component that serves the window: its own functions stand in the table.
 *
 * test: for=osc-cached ranks=2 transport=shm limit=60 devel=yes
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"

#include "counters.h"

/* The slots of operations and flushes. */
typedef struct {
    void (*slot[6])(void);
} slots_t;

static slots_t slots_of(MPI_Win win)
{
    const ompi_osc_base_module_t *m = ((struct ompi_win_t *) win)->w_osc_module;
    slots_t s = {{(void (*)(void)) m->osc_get, (void (*)(void)) m->osc_rget,
                  (void (*)(void)) m->osc_put, (void (*)(void)) m->osc_flush,
                  (void (*)(void)) m->osc_flush_all, (void (*)(void)) m->osc_flush_local}};

    return s;
}

/* How many differ from those of the inner component. */
static int ours(MPI_Win win, const slots_t *inner)
{
    slots_t now = slots_of(win);
    int n = 0;

    for (int i = 0; i < 6; ++i) {
        n += now.slot[i] != inner->slot[i];
    }
    return n;
}

#define EXPECT(count) CHECK((count) == ours(win, &inner), "%d slots are ours", ours(win, &inner))

#define MODE "ompi_osc_cached_mode"

/* A window whose gets can be cached. */
static void cacheable(MPI_Win win)
{
    slots_t inner = slots_of(win); /* outside of an epoch */
    int peer = (test_rank + 1) % test_size, got = -1;
    struct counters counters;

    OK(MPI_Win_lock_all(0, win));
    EXPECT(0); /* mode transparent, passive epoch */
    OK(MPI_Get(&got, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush(peer, win));
    CHECK(1000 + peer == got, "%d", got);
    test_set_key(win, MODE, "always");
    EXPECT(6);
    OK(MPI_Get(&got, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush_all(win));
    CHECK(1000 + peer == got, "%d", got);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
    EXPECT(6);
    OK(MPI_Win_unlock(peer, win));
    test_set_key(win, MODE, "off");
    OK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
    EXPECT(0);
    OK(MPI_Win_unlock(peer, win));
    OK(MPI_Win_fence(0, win));
    EXPECT(0);
    test_set_key(win, MODE, "transparent");
    OK(MPI_Win_fence(0, win));
    EXPECT(test_gets_are_late() ? 0 : 6);
    OK(MPI_Get(&got, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(1000 + peer == got, "%d", got);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
    EXPECT(0);
    OK(MPI_Win_unlock(peer, win));
    /* somebody wants to know: every call is counted from now on */
    counters_open(&counters, &win);
    OK(MPI_Win_lock_all(0, win));
    EXPECT(6);
    for (int i = 0; i < 5; ++i) {
        OK(MPI_Get(&got, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(peer, win));
    }
    OK(MPI_Win_unlock_all(win));
    COUNTS(&counters, "gets", 5, "in a passive epoch");
    COUNTS(&counters, "bypassed", 5, "in a passive epoch");
    COUNTS(&counters, "flushes", 5, "in a passive epoch");
    counters_close(&counters);
}

/* One whose gets are not: never ours, in any mode and epoch. */
static void uncacheable(MPI_Win win)
{
    slots_t inner = slots_of(win);
    int peer = (test_rank + 1) % test_size;

    test_set_key(win, MODE, "always");
    EXPECT(0);
    OK(MPI_Win_lock_all(0, win));
    EXPECT(0);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
    EXPECT(0);
    OK(MPI_Win_unlock(peer, win));
    OK(MPI_Win_fence(0, win));
    EXPECT(0);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

int main(int argc, char **argv)
{
    int memory = 0, *base = NULL;
    const char *inner;
    MPI_Win win;

    test_init(&argc, &argv);
    memory = 1000 + test_rank;
    OK(MPI_Win_create(&memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    test_barrier();
    cacheable(win);
    OK(MPI_Win_free(&win));

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    uncacheable(win);
    OK(MPI_Win_free(&win));

    OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                               &win));
    uncacheable(win);
    OK(MPI_Win_free(&win));

    /* on one node, Open MPI 5.0 serves this one by osc/sm */
    inner = getenv("OMPI_MCA_osc_cached_inner");
    if (0x0401 < test_openmpi() && NULL != inner && 0 == strcmp("auto", inner)) {
        OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        uncacheable(win);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
