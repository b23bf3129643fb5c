/* O3: memory that is in a second window, made by MPI_Win_create or attached to a dynamic one, is
 * not cached any more, in neither: a write by one window is seen by the other. Copies are gone when
 * the second window is there. This process itself is not cached either (shared and dynamic windows:
 * a10_shared, a10_dynamic).
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync verify=2" ranks=2,3 transport=shm,tcp limit=60 allow="Mode coherent was asked for"
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=tcp limit=60 allow="Mode coherent was asked for"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 2048 };

/* A write by the second window, by the last rank, is seen by the first rank but 0. */
static void look(MPI_Win first, MPI_Win second, MPI_Aint disp, long value, struct counters *c)
{
    int last = test_size - 1;

    if (last == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, second));
        OK(MPI_Put(&value, 1, MPI_LONG, 0, disp, 1, MPI_LONG, second));
        OK(MPI_Win_unlock(0, second));
    }
    test_barrier();
    if (0 != test_rank) {
        unsigned long hits = counter(c, "hits");

        OK(MPI_Win_lock_all(0, first));
        for (int i = 0; i < 20; ++i) {
            CHECK(value == coherent_get(first, 0, 7), "an old value");
        }
        COUNTS(c, "hits", hits, "memory that is in two windows");
        OK(MPI_Win_unlock_all(first));
    }
    test_barrier();
}

int main(int argc, char **argv)
{
    struct counters c, d;
    MPI_Win win, other;
    MPI_Aint address = 0;
    long *base, *more;

    test_init(&argc, &argv);
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &base));
    memset(base, 0, WORDS * sizeof(long));
    for (int dynamic = 0; dynamic < 2; ++dynamic) {
        base[7] = 0;
        win = test_win_make(base, WORDS * sizeof(long), sizeof(long), &base);
        counters_open(&c, &win);
        test_barrier();
        if (0 != test_rank) {
            OK(MPI_Win_lock_all(0, win));
            CHECK(coherent_warm(win, &c, 0, 7, 0), "never a hit");
            OK(MPI_Win_unlock_all(win));
        }
        test_barrier();
        if (dynamic) {
            OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other));
            test_win(other);
            OK(MPI_Win_attach(other, base, WORDS * sizeof(long)));
            OK(MPI_Get_address(base + 7, &address));
            OK(MPI_Bcast(&address, sizeof(address), MPI_BYTE, 0, MPI_COMM_WORLD));
        } else {
            OK(MPI_Win_create(base + 4, 64, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &other));
            test_win(other);
            address = 3;
        }
        test_barrier();
        if (0 == test_rank) {
            CHECK(0 < counter(&c, "coherence_invalidations"), "copies were not called back");
        }
        look(win, other, address, 5 + dynamic, &c);
        if (!dynamic) { /* and the other way round */
            counters_open(&d, &other);
            if (0 != test_rank) {
                OK(MPI_Win_lock_all(0, other));
                for (int i = 0; i < 20; ++i) {
                    (void) coherent_get(other, 0, 0);
                }
                COUNTS(&d, "hits", 0, "memory that was in another window before");
                OK(MPI_Win_unlock_all(other));
            }
            test_barrier();
            counters_close(&d);
        } else {
            OK(MPI_Win_detach(other, base));
        }
        OK(MPI_Win_free(&other));
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }

    /* ourselves */
    win = test_win_make(NULL, 4096, sizeof(long), &more);
    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, win));
    for (long i = 0; i < 20; ++i) {
        *(volatile long *) more = i;
        CHECK(i == coherent_get(win, test_rank, 0), "an old value");
    }
    COUNTS(&c, "hits", 0, "our own memory");
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
