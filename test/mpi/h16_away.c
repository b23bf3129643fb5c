/* H16: a target that calls nothing of MPI: accumulates, fetches, swaps and locks at it end all the
 * same. It waits for their effect in its own memory, so that nobody else can have done them.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <time.h>

enum { ROUNDS = 20, STRIPE = 100, WORDS = 2 + 4 * STRIPE };

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Datatype stripe;
    MPI_Win win;
    long *base, one = 1, zero = 0, got, many[STRIPE];
    time_t limit;

    test_init(&argc, &argv);
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, WORDS * sizeof(long));
    OK(MPI_Type_vector(STRIPE, 1, 4, MPI_LONG, &stripe));
    OK(MPI_Type_commit(&stripe));
    for (int i = 0; i < STRIPE; ++i) {
        many[i] = 1;
    }
    test_barrier();
    if (0 == test_rank) {
        limit = time(NULL) + 40;
        while (__atomic_load_n(&base[0], __ATOMIC_ACQUIRE) < ROUNDS * (test_size - 1)
               && time(NULL) < limit) {
            struct timespec a_while = {.tv_nsec = 1000000};
            nanosleep(&a_while, NULL);
        }
        CHECK(ROUNDS * (test_size - 1) == base[0], "only %ld of the operations were done", base[0]);
    } else {
        for (int i = 0; i < ROUNDS; ++i) {
            OK(MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Accumulate(many, STRIPE, MPI_LONG, 0, 2, 1, stripe, MPI_SUM, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 1, MPI_SUM, win));
            OK(MPI_Win_flush(0, win));
            CHECK(i <= got && got < ROUNDS * (test_size - 1), "fetched %ld", got);
            OK(MPI_Compare_and_swap(&one, &zero, &got, MPI_LONG, 0, 3, win));
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
            OK(MPI_Win_unlock(0, win));
        }
    }
    test_barrier();
    if (0 == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        for (int i = 0; i < STRIPE; ++i) {
            CHECK(ROUNDS * (test_size - 1) == base[2 + 4 * i], "stripe %d: %ld", i,
                  base[2 + 4 * i]);
        }
        CHECK(1 == base[3], "the swap left %ld", base[3]);
        OK(MPI_Win_unlock(0, win));
    }
    helper_did(&c, 4 * ROUNDS * (unsigned long) (test_size - 1));
    OK(MPI_Type_free(&stripe));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
