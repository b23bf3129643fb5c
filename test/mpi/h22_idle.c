/* H22: a helper that nobody asks for anything sleeps: it wakes up for requests only. Before it
 * sleeps it looks for more as long as osc_cached_helper_spin says, on a processor of its own only.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args=spins mca="osc_cached_helper=on osc_cached_helper_spin=1000 osc_cached_helper_cpu=0"
 * test: for=osc-cached needs=cache ranks=2 transport=tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_spin=1000 osc_cached_helper_cpu=process"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <unistd.h>

enum { SUMS = 100 };

int main(int argc, char **argv)
{
    struct counters c;
    unsigned long before, awake;
    int spins = 1 < argc;
    long *base, one = 1;
    MPI_Win win;

    test_init(&argc, &argv);
    counters_open_all(&c, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    *base = 0;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < SUMS; ++i) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1 - test_rank, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(1 - test_rank, win));
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    COUNTS(&c, "helper_accumulate_requests", SUMS, "of the other process");
    before = counter(&c, "helper_wakeups");
    awake = counter(&c, "helper_awake");
    CHECK(0 < before, "it has never slept");
    /* on a single processor it spins in the place of who would send something */
    CHECK(spins == (0 < awake) || 1 == sysconf(_SC_NPROCESSORS_ONLN),
          "%lu times it found more before it slept", awake);
    sleep(1);
    CHECK(counter(&c, "helper_wakeups") <= before + 5, "%lu times in a second",
          counter(&c, "helper_wakeups") - before);
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
