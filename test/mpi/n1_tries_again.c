/* N1: a target that is passed through, because its gets are cheap, is measured again from time to
 * time, whatever synchronisation the program uses: its gets may have become slow.
 *
 * test: for=osc-cached ranks=2 limit=240 mca="osc_cached_mode=always osc_cached_bypass_below=1000000000"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { FIRST = 64, GETS = 3 * 4096 + 64, BYTES = 8 };

static void flush(MPI_Win win)
{
    OK(MPI_Win_flush(1 - test_rank, win));
}

static void flush_all(MPI_Win win)
{
    OK(MPI_Win_flush_all(win));
}

static void flush_local_all(MPI_Win win)
{
    OK(MPI_Win_flush_local_all(win));
}

static void fence(MPI_Win win)
{
    OK(MPI_Win_fence(0, win));
}

static void get_some(MPI_Win win, int first, int end, void (*synchronise)(MPI_Win))
{
    char buffer[BYTES];

    for (int i = first; i < end; ++i) {
        OK(MPI_Get(buffer, BYTES, MPI_BYTE, 1 - test_rank, (MPI_Aint) i * BYTES, BYTES, MPI_BYTE,
                   win));
        synchronise(win);
    }
}

static void look(const char *name, void (*synchronise)(MPI_Win))
{
    char *mine = calloc(FIRST + GETS, BYTES), *base;
    MPI_Win win = test_win_make(mine, (MPI_Aint) (FIRST + GETS) * BYTES, 1, &base);
    struct counters c;
    unsigned long looked;

    if (fence == synchronise) {
        OK(MPI_Win_fence(0, win));
    } else {
        OK(MPI_Win_lock_all(0, win));
    }
    get_some(win, 0, FIRST, synchronise);
    counters_open(&c, &win);
    get_some(win, FIRST, FIRST + GETS, synchronise);
    looked = counter(&c, "gets") - counter(&c, "bypassed");
    CHECK(3 <= looked && looked <= 64, "%s: %lu of %d gets were looked up", name, looked, GETS);
    counters_close(&c);
    if (fence == synchronise) {
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    } else {
        OK(MPI_Win_unlock_all(win));
    }
    OK(MPI_Win_free(&win));
    free(mine);
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    look("flush", flush);
    look("flush_all", flush_all);
    look("flush_local_all", flush_local_all);
    if (!test_gets_are_late()) { /* else nothing is cached in fence epochs */
        look("fence", fence);
    }
    return test_done();
}
