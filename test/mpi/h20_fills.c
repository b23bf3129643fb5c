/* H20: a get that a helper has done is served from the cache the next time, and what a helper puts
 * there is seen by the gets that follow.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper" cache="mode=user"
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper" cache="mode=always"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { BLOCKS = 100, STRIDE = 3, WORDS = BLOCKS * STRIDE, GETS = 5 };

static MPI_Win win;
static struct counters c;
static int target;

/* A word of the target's, after so many puts of ours. */
static long word(int i, long puts)
{
    return 1000000L * target + i + 10000L * puts;
}

/* The same blocks several times: the helper does the first get, the cache the others. */
static void get_again(MPI_Datatype every_third, long puts, unsigned long operations,
                      unsigned long hits)
{
    long got[BLOCKS];

    for (int k = 0; k < GETS; ++k) {
        memset(got, -1, sizeof(got));
        OK(MPI_Get(got, BLOCKS, MPI_LONG, target, 0, 1, every_third, win));
        OK(MPI_Win_flush(target, win));
        for (int i = 0; i < BLOCKS; ++i) {
            CHECK(word(STRIDE * i, puts) == got[i], "get %d: block %d is %ld", k, i, got[i]);
        }
    }
    COUNTS(&c, "helper_operations", operations, "after %ld puts", puts);
    COUNTS(&c, "hits", hits, "after %ld puts", puts);
}

int main(int argc, char **argv)
{
    MPI_Datatype every_third;
    long *base, mine[BLOCKS];

    test_init(&argc, &argv);
    target = (test_rank + 1) % test_size;
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    for (int i = 0; i < WORDS; ++i) {
        base[i] = 1000000L * test_rank + i;
    }
    OK(MPI_Type_vector(BLOCKS, 1, STRIDE, MPI_LONG, &every_third));
    OK(MPI_Type_commit(&every_third));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    helper_rest();
    get_again(every_third, 0, 1, GETS - 1);
    helper_rest();
    for (int i = 0; i < BLOCKS; ++i) {
        mine[i] = word(STRIDE * i, 1);
    }
    OK(MPI_Put(mine, BLOCKS, MPI_LONG, target, 0, 1, every_third, win));
    OK(MPI_Win_flush(target, win));
    get_again(every_third, 1, 3, 2 * (GETS - 1));
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Type_free(&every_third));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
