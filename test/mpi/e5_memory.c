/* E5: without memory for the segment each process has its own cache, and a help text says so; with
 * little of it, what does not fit is fetched again. The same where files must not be as large, which
 * the segment is to the kernel.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on memory=64K" ranks=3 transport=shm limit=60 args=none expect="text:Each process keeps a cache of"
 * test: for=osc-cached needs=cache cache="mode=always share=on memory=600K" ranks=3,4 transport=shm,tcp limit=60 args=little
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3 transport=shm limit=60 args=limit expect="text:Each process keeps a cache of"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <sys/resource.h>

enum { PIECES = 400, BYTES = 4096 };

int main(int argc, char **argv)
{
    static char got[BYTES];
    struct counters c;
    char *base;
    int last;
    MPI_Win win;

    test_init(&argc, &argv);
    last = test_size - 1;
    if (0 == strcmp("limit", argv[1])) {
        struct rlimit limit;

        CHECK(0 == getrlimit(RLIMIT_FSIZE, &limit), "getrlimit");
        limit.rlim_cur = 1 << 24; /* more than the window */
        CHECK(0 == setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
    }
    win = keyed_window(NULL, PIECES * BYTES, 1, &base, NULL);
    counters_open(&c, &win);
    for (int i = 0; i < PIECES * BYTES; ++i) {
        base[i] = (char) (i / BYTES * 7 + i + test_rank);
    }
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    for (int round = 0; round < 3 && last != test_rank; ++round) {
        for (int i = 0; i < PIECES; ++i) {
            OK(MPI_Get(got, BYTES, MPI_BYTE, last, (MPI_Aint) i * BYTES, BYTES, MPI_BYTE, win));
            OK(MPI_Win_flush(last, win));
            for (int j = 0; j < BYTES; j += 97) {
                CHECK((char) (i * 7 + i * BYTES + j + last) == got[j], "piece %d byte %d", i, j);
            }
        }
    }
    if (0 != strcmp("little", argv[1])) {
        COUNTS(&c, "node_hits", 0, "there is no segment");
    } else if (last != test_rank) {
        CHECK(0 < counter(&c, "node_bytes"), "there is no segment");
    }
    counters_add_up(&c);
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
