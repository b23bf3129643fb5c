/* H22: a helper that nobody asks for anything sleeps: it wakes up for requests only. Before it
 * sleeps it looks for more as long as osc_cached_helper_spin says, on a processor of its own only.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args=spins mca="osc_cached_helper=on osc_cached_helper_spin=1000"
 * test: for=osc-cached needs=cache ranks=2 transport=tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_spin=1000 osc_cached_helper_cpu=process"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "counters.h"

#include <sched.h>
#include <unistd.h>

enum { SUMS = 100, MOST = 100 * SUMS };

/* A processor for the helper. @return whether there is another one for who asks it */
static int name_processor(void)
{
    cpu_set_t set;
    char number[16];
    int cpu = 0;

    CHECK(0 == sched_getaffinity(0, sizeof(set), &set), "no affinity");
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set)) {
        ++cpu;
    }
    snprintf(number, sizeof(number), "%d", cpu);
    setenv("OMPI_MCA_osc_cached_helper_cpu", number, 1);
    return 1 < CPU_COUNT(&set);
}

int main(int argc, char **argv)
{
    struct counters c;
    unsigned long before, awake;
    int spins = 1 < argc, sums = 0, others_run = !spins || name_processor();
    long *base, one = 1;
    MPI_Win win;

    test_init(&argc, &argv);
    counters_open_all(&c, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    *base = 0;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    /* on a busy machine what follows may come too late for who spins */
    for (; sums < SUMS || (spins && sums < MOST && 0 == counter(&c, "helper_awake")); ++sums) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1 - test_rank, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(1 - test_rank, win));
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    CHECK(SUMS <= counter(&c, "helper_accumulate_requests"), "of the other process");
    before = counter(&c, "helper_wakeups");
    awake = counter(&c, "helper_awake");
    CHECK(0 < before, "it has never slept");
    CHECK(spins == (0 < awake) || !others_run, "%lu times it found more before it slept", awake);
    sleep(1);
    CHECK(counter(&c, "helper_wakeups") <= before + 5, "%lu times in a second",
          counter(&c, "helper_wakeups") - before);
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
