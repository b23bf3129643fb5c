/* A process that has copies and is stopped: a store of their owner names it, and where it waits,
 * after osc_cached_slow_seconds, goes on waiting, and ends when the process runs again, which then
 * reads what was stored.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent share=off slow_seconds=1" ranks=3 transport=shm,tcp limit=60 expect="text:process 2 of the window, which has to drop its copies of that data"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <signal.h>

enum { WORDS = 1 << 16, AT = WORDS / 2 }; /* away from the ends, whose pages are not shared */

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base;
    int process;

    test_init(&argc, &argv);
    process = (int) getpid();
    coherent_window(&win, WORDS, &base, &c);
    if (!coherent_is(win)) {
        test_skip("stores cannot be detected here");
    }
    OK(MPI_Bcast(&process, 1, MPI_INT, 2, MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    if (2 == test_rank) {
        CHECK(coherent_warm(win, &c, 0, AT, 0), "never a hit");
        coherent_tell(0);
        raise(SIGSTOP);
        coherent_hear(0);
        CHECK(5 == coherent_get(win, 0, AT), "an old value");
    } else if (0 == test_rank) {
        coherent_hear(2);
        coherent_stopped(process);
        coherent_tell(1);
        *(volatile long *) &base[AT] = 5;
        CHECK(1 == counter(&c, "coherence_traps"), "the store did not wait");
        coherent_tell(2);
    } else {
        coherent_hear(0);
        sleep(7);
        kill((pid_t) process, SIGCONT);
    }
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
