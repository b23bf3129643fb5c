/* A process that has copies and is stopped: the writer's flush names it after
 * osc_cached_slow_seconds, goes on waiting, and ends when the process runs again, which then reads
 * what was written.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off slow_seconds=1" ranks=3 transport=shm,tcp limit=60 expect="text:process 2 of the window, which has to drop"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <signal.h>

enum { WORDS = 1024 };

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, word = 5;
    double since;
    int process;

    test_init(&argc, &argv);
    process = (int) getpid();
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &base));
    memset(base, 0, WORDS * sizeof(long));
    win = test_win_make(base, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    OK(MPI_Bcast(&process, 1, MPI_INT, 2, MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    if (2 == test_rank) {
        CHECK(coherent_warm(win, &c, 0, 7, 0), "never a hit");
        coherent_tell(0);
        raise(SIGSTOP);
        coherent_hear(1);
        CHECK(5 == coherent_get(win, 0, 7), "an old value");
    } else if (0 == test_rank) {
        coherent_hear(2);
        coherent_stopped(process);
        coherent_tell(1);
        for (since = MPI_Wtime(); MPI_Wtime() - since < 5;) { /* the put may need our progress */
            int flag;

            OK(MPI_Iprobe(1, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            since = (5 == *(volatile long *) &base[7]) ? since : MPI_Wtime(); /* it is there */
        }
        kill((pid_t) process, SIGCONT);
    } else {
        coherent_hear(0);
        OK(MPI_Put(&word, 1, MPI_LONG, 0, 7, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        coherent_tell(2);
    }
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
