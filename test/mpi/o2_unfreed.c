/* O2: a window that is never freed, whose pages are protected because others have copies: after
 * MPI_Finalize stores to its memory wait for nobody.
 *
 * test: for=osc-cached needs=cache cache="helper=on" ranks=2 transport=shm
 * test: for=osc-cached needs=cache cache="mode=coherent" ranks=3 transport=tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

_Alignas(65536) static long words[16384]; /* whole pages */

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    void *base;
    int failures;

    test_init(&argc, &argv);
    win = test_win_make(words, sizeof(words), sizeof(long), &base);
    if (!coherent_is(win)) {
        test_skip("stores cannot be detected here");
    }
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 != test_rank) {
        CHECK(coherent_warm(win, &c, 0, 9000, 0), "never a hit");
    }
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    test_barrier();
    failures = test_failures;
    MPI_Finalize();
    memset(words, 1, sizeof(words));
    return 0 != failures;
}
