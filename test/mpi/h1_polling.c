/* H1: a process that polls its own memory, or that of a process of its node, by operations that need
 * nobody else, makes progress: what another process does before it sets the flag may need it.
 *
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=90 mca="osc_cached_helper=on osc_cached_stores=off"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=90 mca="osc_cached_helper=on osc_cached_stores=off osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { BYTES = 1 << 22, WAYS = 4, SECONDS = 20 };

static long read_flag(int way, int target, MPI_Win win)
{
    long value = 0, none = 0;
    MPI_Request request;

    switch (way) {
    case 0:
        OK(MPI_Fetch_and_op(&none, &value, MPI_LONG, target, 0, MPI_NO_OP, win));
        OK(MPI_Win_flush(target, win));
        break;
    case 1:
        OK(MPI_Compare_and_swap(&none, &none, &value, MPI_LONG, target, 0, win));
        OK(MPI_Win_flush_local(target, win));
        break;
    case 2:
        OK(MPI_Fetch_and_op(&none, &value, MPI_LONG, target, 0, MPI_NO_OP, win));
        OK(MPI_Win_flush_all(win));
        break;
    default:
        OK(MPI_Rget_accumulate(&none, 1, MPI_LONG, &value, 1, MPI_LONG, target, 0, 1, MPI_LONG,
                               MPI_NO_OP, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    return value;
}

int main(int argc, char **argv)
{
    static char large[BYTES];
    struct counters c;
    long *base, one = 1;
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, BYTES, sizeof(long), &base);
    counters_open(&c, &win);
    for (int way = 0; way < WAYS; ++way) {
        *base = 0;
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        test_barrier();
        if (0 == test_rank) {
            double begin = MPI_Wtime();
            MPI_Request request;

            OK(MPI_Isend(large, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request));
            while (1 != read_flag(way, 0, win) && MPI_Wtime() - begin < SECONDS) {
            }
            CHECK(MPI_Wtime() - begin < SECONDS, "way %d: no flag", way);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Recv(large, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Put(large, 8, MPI_BYTE, 0, 1, 8, MPI_BYTE, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
            OK(MPI_Win_flush(0, win));
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
    }
    test_barrier();
    if (0 == test_rank) {
        CHECK(WAYS <= counter(&c, "helper_served"), "the helper did %lu of %d flags",
              counter(&c, "helper_served"), WAYS);
        CHECK(WAYS <= counter(&c, "helper_operations"), "the reads were not the helper's");
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
