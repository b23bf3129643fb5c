/* H23: a process that vanishes, exits or aborts while others use its helper, or wait for a lock of
 * it: the job ends, as soon as with the inner component alone.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=40 mca="osc_cached_helper=on" args="vanish" ends=osc:inner expect="error:this is the end"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=40 mca="osc_cached_helper=on" args="exit" ends=osc:inner expect="error:this is the end"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=40 mca="osc_cached_helper=on" args="abort" ends=osc:inner expect="error:this is the end"
 * test: for=osc-cached needs=cache ranks=3 transport=shm limit=40 mca="osc_cached_helper=on osc_cached_helper_per=node" args="vanish" ends=osc:inner expect="error:this is the end"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <unistd.h>

enum { SUMS = 100 };

/* A target that is about to end knows that its helper has served it if its origins do. */
static void check_helper(struct counters *c, unsigned long given)
{
    COUNTS(c, "helper_operations", given, "not all sums were given to helpers");
    if (0 < test_failures) {
        MPI_Abort(MPI_COMM_WORLD, 1); /* without the words that are waited for */
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "vanish";
    struct counters c;
    long *base, one = 1;
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    *base = 0;
    test_barrier();
    if (1 == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)); /* and never gives it back */
        while (__atomic_load_n(base, __ATOMIC_ACQUIRE) < SUMS * (test_size - 1)) {
            int flag;

            if (test_is_plain()) { /* nobody else does it */
                OK(MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            }
        }
        fprintf(stderr, "this is the end\n");
        if (0 == strcmp("abort", how)) {
            MPI_Abort(MPI_COMM_WORLD, 5);
        } else if (0 == strcmp("exit", how)) {
            exit(3);
        }
        _exit(4);
    }
    for (int i = 0;; ++i) { /* at rank 1, then at rank 0 */
        int target = i < SUMS;

        if (SUMS - 1 == i) {
            check_helper(&c, SUMS - 1);
        }
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_unlock(target, win));
    }
}
