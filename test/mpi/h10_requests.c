/* H10: R-forms of the helper: the request of a get or a fetch completes by MPI_Test alone and not
 * before its data is there, that of a put or an accumulate when its buffer may be overwritten; all
 * are complete after a flush. The target calls nothing of MPI meanwhile, so that nobody but its
 * helper can have done them.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node osc_cached_helper_transfers=helper"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <time.h>

enum { BLOCKS = 400, STEP = 3, WORDS = BLOCKS * STEP, ROUNDS = 10, REQUESTS = 40 };

static long mine[WORDS], got[REQUESTS][WORDS];
static unsigned long operations; /* that this rank gave to helpers */

static void fill(long first)
{
    for (int i = 0; i < WORDS; ++i) {
        mine[i] = first + i;
    }
}

/* Words of a vector are what they were when this was called with them, the gaps are untouched. */
static int count_wrong(const long *words, long first)
{
    int wrong = 0;

    for (int i = 0; i < WORDS; ++i) {
        wrong += words[i] != (0 == i % STEP ? first + i : -1);
    }
    return wrong;
}

static void test_until_done(MPI_Request *request)
{
    int flag = 0;

    while (!flag) {
        OK(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
    }
    CHECK(MPI_REQUEST_NULL == *request, "a complete request is still there");
}

/* Puts and gets: buffers are overwritten, and read, as soon as a request allows it. */
static void put_and_get(MPI_Win win, MPI_Datatype stripe)
{
    MPI_Request request;

    for (int i = 0; i < ROUNDS; ++i) {
        fill(1000 * i);
        OK(MPI_Rput(mine, 1, stripe, 0, 0, 1, stripe, win, &request));
        test_until_done(&request);
        fill(-5);
        OK(MPI_Win_flush(0, win));
        memset(got[0], -1, sizeof(got[0]));
        OK(MPI_Rget(got[0], 1, stripe, 0, 0, 1, stripe, win, &request));
        test_until_done(&request);
        CHECK(0 == count_wrong(got[0], 1000 * i), "round %d: %d words are wrong", i,
              count_wrong(got[0], 1000 * i));
    }
    operations += 2 * ROUNDS;
}

/* Several at a time, completed in any order, some by the flush. */
static void many(MPI_Win win, MPI_Datatype stripe)
{
    MPI_Request request[REQUESTS];
    int number, flags = 0;

    memset(got, -1, sizeof(got));
    for (int i = 0; i < REQUESTS; ++i) {
        OK(MPI_Rget(got[i], 1, stripe, 0, 0, 1, stripe, win, &request[i]));
    }
    for (int i = 0; i < REQUESTS / 2; ++i) {
        OK(MPI_Waitany(REQUESTS, request, &number, MPI_STATUS_IGNORE));
        CHECK(0 == count_wrong(got[number], 1000 * (ROUNDS - 1)), "get %d is not complete", number);
    }
    OK(MPI_Win_flush(0, win));
    OK(MPI_Testall(REQUESTS, request, &flags, MPI_STATUSES_IGNORE));
    CHECK(flags, "requests are not complete after a flush");
    for (int i = 0; i < REQUESTS; ++i) {
        CHECK(0 == count_wrong(got[i], 1000 * (ROUNDS - 1)), "get %d is wrong", i);
    }
    operations += REQUESTS;
}

/* Accumulates and fetches; the last word is this rank's own. */
static void add(MPI_Win win)
{
    MPI_Request request;
    MPI_Status status;
    long one, old;

    for (int i = 0; i < ROUNDS; ++i) {
        one = 1;
        OK(MPI_Raccumulate(&one, 1, MPI_LONG, 0, WORDS + test_rank, 1, MPI_LONG, MPI_SUM, win,
                           &request));
        test_until_done(&request);
        one = 2;
        old = -1;
        OK(MPI_Rget_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, 0, WORDS + test_rank, 1,
                               MPI_LONG, MPI_SUM, win, &request));
        OK(MPI_Wait(&request, &status));
        CHECK(3 * i + 1 == old, "round %d: %ld", i, old);
    }
    OK(MPI_Rget_accumulate(NULL, 0, MPI_LONG, NULL, 0, MPI_LONG, 0, 0, 0, MPI_LONG, MPI_NO_OP, win,
                           &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    operations += 2 * ROUNDS;
}

int main(int argc, char **argv)
{
    struct counters c;
    unsigned long all;
    MPI_Datatype stripe;
    MPI_Win win;
    long *base, one = 1;
    int finished;

    test_init(&argc, &argv);
    finished = WORDS + test_size; /* the word of those who have */
    win = test_win_make(NULL, (WORDS + test_size + 1) * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, (WORDS + test_size + 1) * sizeof(long));
    OK(MPI_Type_vector(BLOCKS, 1, STEP, MPI_LONG, &stripe));
    OK(MPI_Type_commit(&stripe));
    test_barrier();
    if (0 == test_rank) {
        time_t begin = time(NULL);

        while (__atomic_load_n(&base[finished], __ATOMIC_ACQUIRE) < test_size - 1
               && time(NULL) < begin + 30) {
            struct timespec a_while = {.tv_nsec = 1000000};

            nanosleep(&a_while, NULL);
        }
        CHECK(test_size - 1 == base[finished], "only %ld ranks have finished", base[finished]);
    } else {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        if (1 == test_rank) {
            put_and_get(win, stripe);
            many(win, stripe);
        }
        add(win);
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, finished, 1, MPI_LONG, MPI_SUM, win));
        ++operations;
        OK(MPI_Win_unlock(0, win));
    }
    test_barrier();
    OK(MPI_Type_free(&stripe));
    OK(MPI_Allreduce(&operations, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    helper_did(&c, all);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
