/* O1: where the kernel tells which pages were stored to, an owner's synchronisation drops copies of
 * these alone (osc_cached_stores=sync): copies of other blocks are hits afterwards, and an owner
 * that has only read drops none.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync verify=2" ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <sys/mman.h>
#include <sys/utsname.h>

enum { WORDS = 64 * 1024, APART = 16 * 1024, ROUNDS = 5 }; /* words that are never in one page */

/* Linux 6.7 */
static int kernel_tells(void)
{
    struct utsname system;
    int major = 0, minor = 0;

    return 0 == uname(&system) && 2 == sscanf(system.release, "%d.%d", &major, &minor)
           && (6 < major || (6 == major && 7 <= minor));
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, value = 0;
    unsigned long hits;

    test_init(&argc, &argv);
    base = mmap(NULL, WORDS * sizeof(long), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0);
    win = test_win_make(base, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; ++round) {
        int reads = 2 == round; /* this owner stores nothing */

        if (0 != test_rank) { /* copies of both */
            CHECK(coherent_warm(win, &c, 0, 5, value), "round %d: never a hit", round);
            CHECK(coherent_warm(win, &c, 0, APART, 0), "round %d: never a hit", round);
            CHECK(value == coherent_get(win, 0, 5), "round %d: an old value", round);
        }
        test_barrier();
        value += !reads;
        if (0 == test_rank) {
            if (!reads) {
                *(volatile long *) &base[5] = value;
            }
            OK(MPI_Win_sync(win));
        }
        test_barrier();
        if (0 != test_rank) {
            hits = counter(&c, "hits");
            CHECK(value == coherent_get(win, 0, 5), "round %d: an old value", round);
            CHECK(0 == coherent_get(win, 0, APART), "round %d: another value", round);
            if (0 < round && kernel_tells()) { /* since the first one */
                COUNTS(&c, "hits", hits + 1 + (unsigned) reads, "round %d", round);
            }
        }
        test_barrier();
    }
    OK(MPI_Win_unlock_all(win));
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    munmap(base, WORDS * sizeof(long));
    return test_done();
}
