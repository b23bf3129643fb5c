/* H19: a put that was flushed is there before the next one, also where a put is a copy to memory
 * that both processes map: the target, which looks at its memory, sees them in this order.
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <stdatomic.h>

enum { TIMES = 500000, FLAG = 1024, WORDS = 2048 }; /* in other cache lines */

static void put(MPI_Win win, long value, int word)
{
    OK(MPI_Put(&value, 1, MPI_LONG, 1, word, 1, MPI_LONG, win));
    OK(MPI_Win_flush(1, win));
}

static void watch(const volatile long *base)
{
    long flag = 0, wrong = 0;

    while (flag < TIMES) {
        (void) base[0]; /* have the line, so that its store takes longer than the other one's */
        flag = base[FLAG];
        /* what MPI_Win_sync does, which would take too long here to see anything */
        atomic_thread_fence(memory_order_acquire);
        wrong += base[0] < flag;
    }
    CHECK(0 == wrong, "%ld times the second put was there before the first one", wrong);
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base;

    test_init(&argc, &argv);
    OK(MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    test_win(win);
    memset(base, 0, WORDS * sizeof(long));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    if (0 == test_rank) {
        for (long i = 1; i <= TIMES; ++i) {
            put(win, i, 0);
            put(win, i, FLAG);
        }
        counters_open(&c, &win); /* not before: a call that is counted takes longer */
        put(win, TIMES, 0);
        COUNTS(&c, "helper_copies", 1, "puts inside of a node are copies");
        counters_close(&c);
    } else {
        watch(base);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
