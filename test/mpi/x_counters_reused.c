/* A window may get the address of one that was freed: counters of that one count nothing of it.
 * test: for=osc-cached ranks=2 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { TRIES = 16 };

int main(int argc, char **argv)
{
    static struct counters old, new;
    unsigned long value;
    MPI_Win first, win[TRIES];
    int *base, again = -1, found, anywhere = 0;

    test_init(&argc, &argv);
    first = test_win_make(NULL, sizeof(int), sizeof(int), &base);
    counters_open(&old, &first);
    CHECK(2 < old.n, "only %d performance variables", old.n);
    win[0] = first;
    OK(MPI_Win_free(&first));
    first = win[0]; /* its address, only to be compared */
    for (int i = 0; i < TRIES; ++i) {
        win[i] = test_win_make(NULL, sizeof(int), sizeof(int), &base);
        again = win[i] == first ? i : again;
        OK(MPI_Win_fence(0, win[i]));
    }
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < old.n; ++i) {
            CHECK(MPI_SUCCESS != MPI_T_pvar_read(counters_session, old.handle[i], &value),
                  "%s of a freed window can be read", old.name[i]);
        }
        if (0 == round && 0 <= again) { /* counters of its own, at the same address */
            counters_open(&new, &win[again]);
        }
    }
    for (int i = 0; i < TRIES; ++i) {
        OK(MPI_Win_fence(0, win[i]));
    }
    if (0 < new.n) {
        COUNTS(&new, "fences", 1, "the window at that address now");
    }
    counters_close(&old);
    counters_close(&new);
    for (int i = 0; i < TRIES; ++i) {
        OK(MPI_Win_free(&win[i]));
    }
    found = 0 <= again;
    OK(MPI_Allreduce(&found, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(anywhere, "no rank got the address again");
    return test_done();
}
