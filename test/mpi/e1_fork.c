/* E1: a process that shares the cache of its node forks: a child that exits, with all its exit handlers, runs another
 * program, or is killed takes nothing away from anybody, and another program has nothing of the cache.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=4 transport=tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64, ROUNDS = 12, WARM = 100 };
enum { EXITS, EXECUTES, IS_KILLED, WAYS };

static int last; /* the target */

static void fetch_all(MPI_Win win)
{
    for (int i = 0; i < N; ++i) {
        long got = -1;

        OK(MPI_Get(&got, 1, MPI_LONG, last, i, 1, MPI_LONG, win));
        OK(MPI_Win_flush(last, win));
        CHECK(7000L * last + i == got, "%ld at %d", got, i);
    }
}

static void run_child(int way)
{
    int status = -1;
    pid_t child = fork();

    if (0 == child) {
        if (EXECUTES == way) {
            execlp("sh", "sh", "-c", "! ls -l /proc/self/fd | grep osc_cached", NULL);
            _exit(127);
        }
        if (IS_KILLED == way) {
            raise(SIGKILL);
        }
        exit(0);
    }
    CHECK(child == waitpid(child, &status, 0), "no child");
    CHECK(IS_KILLED == way ? WIFSIGNALED(status) : WIFEXITED(status) && 0 == WEXITSTATUS(status),
          "the child ended with %#x", status);
}

int main(int argc, char **argv)
{
    static long memory[N];
    unsigned long before;
    struct counters c;
    bool reads;
    int mate;
    MPI_Win win;
    long *base;

    test_init(&argc, &argv);
    last = test_size - 1;
    mate = test_mate();
    reads = 0 == test_rank || mate == test_rank;
    win = test_win_make(memory, sizeof(memory), sizeof(long), &base);
    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = 7000L * test_rank + i;
    }
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    for (int round = 0; round < 3 && 0 == test_rank; ++round) {
        fetch_all(win); /* mode coherent asks for a block that is missed again */
    }
    test_barrier();
    /* the first get of an epoch checks whether it may be one, and in mode coherent a block is kept
     * when its owner has answered */
    for (int round = 0; round < WARM && reads; ++round) {
        before = counter(&c, "node_hits");
        fetch_all(win);
        round = (counter(&c, "node_hits") - before == N) ? WARM : round;
    }
    test_barrier();
    before = counter(&c, "node_hits");
    for (int round = 0; round < ROUNDS && reads; ++round) {
        if (0 == test_rank) {
            run_child(round % WAYS);
        }
        fetch_all(win);
    }
    if (reads) {
        COUNTS(&c, "node_hits", before + ROUNDS * N, "all of them");
        COUNTS(&c, "node_recoveries", 0, "nobody had the lock");
    }
    test_barrier();
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
