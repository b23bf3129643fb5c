/* H2, H9, H20: puts and gets of many blocks, each by the way that is cheaper: the bytes are right
 * whichever it is, complete at the flush and at the fence, and gaps are left alone; the helper did
 * some of them, and heard of each datatype once.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on" cache="mode=user"
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { WORDS = 3000, ROUNDS = 60 };
enum { LAYOUTS = 4 }; /* of the datatypes: the irregular one has more blocks than a message */

static long mine[WORDS], got[WORDS];

/* Where a datatype has words, from the start of a buffer. */
static void find(MPI_Datatype type, int count, char *mark)
{
    long *packed, *there = calloc(WORDS, sizeof(long));
    int bytes, position = 0;

    OK(MPI_Type_size(type, &bytes));
    packed = malloc((size_t) bytes * (size_t) count);
    memset(packed, 1, (size_t) bytes * (size_t) count);
    OK(MPI_Unpack(packed, bytes * count, &position, there, count, type, MPI_COMM_WORLD));
    for (int i = 0; i < WORDS; ++i) {
        mark[i] = 0 != there[i];
    }
    free(packed);
    free(there);
}

static void complete(MPI_Win win, int target, int fences)
{
    if (fences) {
        OK(MPI_Win_fence(0, win));
    } else {
        OK(MPI_Win_flush(target, win));
    }
}

/* Put words, and get them and their neighbours back. */
static void round_trip(MPI_Win win, MPI_Datatype type, int count, const char *mark, long *expected,
                       int target, int number, int fences)
{
    int wrong = 0;

    for (int i = 0; i < WORDS; ++i) {
        mine[i] = 1000000L * test_rank + 1000L * number + i;
        expected[i] = mark[i] ? mine[i] : expected[i];
        got[i] = -1;
    }
    OK(MPI_Put(mine, count, type, target, 0, count, type, win));
    complete(win, target, fences);
    if (0 == number % 2) { /* other words, and into the same places */
        OK(MPI_Get(got, count, type, target, 0, count, type, win));
    } else {
        OK(MPI_Get(got, WORDS, MPI_LONG, target, 0, WORDS, MPI_LONG, win));
    }
    complete(win, target, fences);
    for (int i = 0; i < WORDS; ++i) {
        wrong += got[i] != ((0 == number % 2 && !mark[i]) ? -1 : expected[i]);
    }
    CHECK(0 == wrong, "round %d: %d words are wrong", number, wrong);
}

int main(int argc, char **argv)
{
    struct counters c, of_process;
    unsigned long layouts, most;
    MPI_Datatype type[3];
    char mark[3][WORDS];
    int count[3] = {1, 3, 200}, target, places[200];
    long *base, *expected = calloc(WORDS, sizeof(long));
    MPI_Win win;

    test_init(&argc, &argv);
    target = (test_rank + 1) % test_size;
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    counters_open_all(&of_process, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    memset(base, 0, WORDS * sizeof(long));
    test_barrier();
    for (int i = 0; i < 200; ++i) {
        places[i] = 4 * i + i % 3;
    }
    OK(MPI_Type_vector(500, 2, 5, MPI_LONG, &type[0]));
    OK(MPI_Type_create_indexed_block(200, 1, places, MPI_LONG, &type[1]));
    OK(MPI_Type_create_resized(MPI_LONG, 0, 9 * sizeof(long), &type[2]));
    for (int k = 0; k < 3; ++k) {
        OK(MPI_Type_commit(&type[k]));
        find(type[k], count[k], mark[k]);
    }
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < ROUNDS; ++i) {
        if (0 == i % 4) {
            helper_rest();
        }
        round_trip(win, type[i % 3], count[i % 3], mark[i % 3], expected, target, i, 0);
    }
    OK(MPI_Win_unlock_all(win));
    CHECK(test_is_plain() || 0 < counter(&c, "helper_operations") + counter(&c, "helper_copies"),
          "the helper did nothing");
    test_barrier();
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < ROUNDS / 4; ++i) {
        helper_rest();
        round_trip(win, type[i % 3], count[i % 3], mark[i % 3], expected, target, ROUNDS + i, 1);
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int k = 0; k < 3; ++k) {
        OK(MPI_Type_free(&type[k]));
    }
    layouts = counter(&of_process, "helper_layout_requests");
    OK(MPI_Allreduce(MPI_IN_PLACE, &layouts, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    most = LAYOUTS * (unsigned long) test_size; /* each rank has one target */
    CHECK(helper_moves_all() ? most == layouts : layouts <= most,
          "%lu descriptions of datatypes, wanted %lu", layouts, most);
    counters_close(&of_process);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    free(expected);
    return test_done();
}
