/* H1: a put into more room than it has bytes, and a get into a larger buffer, bring what there is,
 * whoever does them; h1_less has the others.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 args=file mca="osc_cached_storage_route=helper"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"
#include "storage.h"

enum { ROUNDS = 100, PUTS = 4 /* of a round */, ROOM = 16, SENT = 6 };

/* Put all of `sent` into room for more, and read the memory again. */
static void put(const int *sent, int count, MPI_Datatype type, MPI_Win win)
{
    int now[ROOM];

    memset(now, -1, sizeof(now));
    OK(MPI_Put(now, ROOM, MPI_INT, 0, 0, ROOM, MPI_INT, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Put(sent, SENT, MPI_INT, 0, 0, count, type, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Get(now, ROOM, MPI_INT, 0, 0, ROOM, MPI_INT, win));
    OK(MPI_Win_flush(0, win));
    for (int i = 0; i < ROOM; ++i) {
        int want = (i < SENT) ? sent[i] : -1;

        CHECK(want == now[i], "number %d is %d, expected %d", i, now[i], want);
    }
}

int main(int argc, char **argv)
{
    int *base, sent[SENT], got[2 * ROOM];
    struct counters c;
    unsigned long did, copies;
    MPI_Datatype four;
    MPI_Win win;

    storage_begin();
    test_init(&argc, &argv);
    if (argc > 1) {
        OK(storage_allocate(ROOM * sizeof(int), sizeof(int), &base, &win, "room", NULL));
    } else {
        win = test_win_make(NULL, ROOM * sizeof(int), sizeof(int), &base);
    }
    OK(MPI_Type_contiguous(4, MPI_INT, &four)); /* six do not fill two of them */
    OK(MPI_Type_commit(&four));
    counters_open(&c, &win);
    test_barrier();
    if (0 == test_rank) {
        helper_rest_long();
    }
    for (int round = 0; 1 == test_rank && round < ROUNDS; ++round) {
        for (int i = 0; i < SENT; ++i) {
            sent[i] = 10 * round + i;
        }
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        put(sent, ROOM, MPI_INT, win);
        put(sent, ROOM / 4, four, win);
        /* what lies behind the bytes that come is not looked at: osc/ucx alone writes there */
        memset(got, 0, sizeof(got));
        OK(MPI_Get(got, 2 * ROOM, MPI_INT, 0, 0, SENT, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        CHECK(0 == memcmp(got, sent, sizeof(sent)), "get: %d and %d", got[0], got[SENT - 1]);
        memset(got, 0, sizeof(got));
        OK(MPI_Get(got, 2 * ROOM / 4, four, 0, 0, SENT, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
        CHECK(0 == memcmp(got, sent, sizeof(sent)), "get: %d and %d", got[0], got[SENT - 1]);
    }
    COUNTS(&c, "helper_locks", 0 == test_rank ? 0 : ROUNDS, "not all locks came from helpers");
    copies = counter(&c, "helper_copies");
    if (0 != test_rank && (helper_moves_all() || 1 < argc || 0 < copies)) { /* no other way */
        did = counter(&c, "helper_operations") + copies;
        CHECK(PUTS * ROUNDS <= did, "helpers did %lu operations", did);
    }
    counters_close(&c);
    OK(MPI_Type_free(&four));
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
