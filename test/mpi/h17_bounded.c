/* H17: 10^5 operations without a flush: neither the origin nor the target needs more memory for
 * them than for a few.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=120 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <unistd.h>

enum { SUMS = 90000, FETCHES = 10000, FEW = 1000, TARGET = 0 };

#define MEGABYTE (1L << 20)

static long resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (NULL == file || 1 != fscanf(file, "%*s %ld", &pages)) {
        test_fail(__FILE__, __LINE__, "/proc/self/statm", "cannot be read");
    }
    if (NULL != file) {
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

static void operate(MPI_Win win, int sums, int fetches, long *old)
{
    long one = 1;

    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < sums && TARGET != test_rank; ++i) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, MPI_SUM, win));
    }
    for (int i = 0; i < fetches && TARGET != test_rank; ++i) {
        OK(MPI_Fetch_and_op(&one, &old[i], MPI_LONG, TARGET, 1, MPI_SUM, win));
    }
    OK(MPI_Win_unlock_all(win));
    if (TARGET == test_rank) {
        helper_rest_long();
    }
    test_barrier();
}

int main(int argc, char **argv)
{
    struct counters c, of_process;
    long *base, *old = calloc(FETCHES, sizeof(long)), before;
    MPI_Win win;

    test_init(&argc, &argv);
    counters_open_all(&of_process, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    win = test_win_make(NULL, 2 * sizeof(long), sizeof(long), &base);
    memset(base, 0, 2 * sizeof(long));
    counters_open(&c, &win);
    test_barrier();
    operate(win, FEW, FEW, old); /* connections, and what the libraries keep */
    before = resident();
    operate(win, SUMS, FETCHES, old);
    CHECK(resident() < before + 4 * MEGABYTE, "%ld bytes more for %d operations",
          resident() - before, SUMS + FETCHES);
    CHECK(counter(&of_process, "helper_memory_most") <= 64 * MEGABYTE, "%lu bytes for requests",
          counter(&of_process, "helper_memory_most"));
    if (TARGET == test_rank) {
        CHECK((long) (SUMS + FEW) * (test_size - 1) == base[0], "the sum is %ld", base[0]);
        CHECK((long) (FETCHES + FEW) * (test_size - 1) == base[1], "the other sum is %ld", base[1]);
    } else {
        CHECK(0 < counter(&of_process, "helper_waits"), "nobody waited for credit");
        for (int i = 1; i < FETCHES; ++i) {
            CHECK(old[i - 1] < old[i], "%ld was fetched before %ld", old[i - 1], old[i]);
        }
    }
    helper_did(&c, (unsigned long) (SUMS + FETCHES + 2 * FEW) * (unsigned long) (test_size - 1));
    counters_close(&c);
    counters_close(&of_process);
    OK(MPI_Win_free(&win));
    free(old);
    return test_done();
}
