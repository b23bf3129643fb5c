/* H23: a process with a helper forks: a child that exits, with all its exit handlers, or runs another program takes
 * nothing away from its parent, whose helper goes on.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static const long one = 1;

static void run_child(bool exits)
{
    int status = -1;
    pid_t child = fork();

    if (0 == child) {
        if (!exits) {
            execlp("true", "true", NULL);
            _exit(127);
        }
        exit(0);
    }
    CHECK(child == waitpid(child, &status, 0) && WIFEXITED(status) && 0 == WEXITSTATUS(status),
          "the child ended with %#x", status);
}

int main(int argc, char **argv)
{
    int target;
    struct counters c;
    MPI_Win win;
    long *base;

    test_init(&argc, &argv);
    target = 1 - test_rank;
    win = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    *base = 0;
    test_barrier();
    for (int i = 0; i < 10; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
        run_child(0 == i % 2);
        OK(MPI_Win_unlock(target, win));
    }
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    CHECK(10 == *base, "%ld", *base);
    OK(MPI_Win_unlock(test_rank, win));
    helper_did(&c, 20);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
