/* An error of the network comes back to the program, nothing is kept from the operation that had
 * it, and the program goes on.
 *
 * Run by test/mpi/netem with osc_netem_fail_get or osc_netem_fail_flush. Arguments: what fails
 * (get, rget, flush, flush_all, unlock; late: a get whose data comes nevertheless; again: a flush,
 * with the same one once more), which one of these calls, and "cached" with osc/cached, for its
 * counters; "helper" where the window has one.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <stdbool.h>

enum { N = 32, CALLS = 6 };

static struct counters counts;
static bool cached;

static int value(int call, int i)
{
    return 1000 * call + i;
}

static bool right(const int *got, int call)
{
    for (int i = 0; i < N; ++i) {
        if (value(call, i) != got[i]) {
            return false;
        }
    }
    return true;
}

static int get(int *got, int call, MPI_Win win)
{
    for (int i = 0; i < N; ++i) {
        got[i] = -1;
    }
    return MPI_Get(got, N, MPI_INT, 1, call * N, N, MPI_INT, win);
}

static unsigned long hits(void)
{
    return cached ? counter(&counts, "hits") : 0;
}

/* A get that must be the real one. */
static void read_again(int call, MPI_Win win)
{
    unsigned long before = hits();
    int got[N];

    OK(get(got, call, win));
    OK(MPI_Win_flush(1, win));
    CHECK(right(got, call), "call %d: wrong data after the error", call);
    CHECK(before == hits(), "call %d: something was kept from an operation with an error", call);
    OK(get(got, call, win));
    OK(MPI_Win_flush(1, win));
    CHECK(right(got, call), "call %d: wrong data from the second get", call);
    CHECK(!cached || before + 1 == hits(), "call %d: the second get was no hit", call);
}

static void failing_get(int which, bool request, MPI_Win win)
{
    MPI_Request r;
    int got[N];

    for (int call = 0; call < CALLS; ++call) {
        int rc = MPI_SUCCESS;

        if (request) {
            for (int i = 0; i < N; ++i) {
                got[i] = -1;
            }
            rc = MPI_Rget(got, N, MPI_INT, 1, call * N, N, MPI_INT, win, &r);
        } else {
            rc = get(got, call, win);
        }
        if (call + 1 == which) {
            FAILS(rc, MPI_ERR_OTHER);
            CHECK(-1 == got[0], "a refused get wrote %d", got[0]);
            read_again(call, win);
            continue;
        }
        OK(rc);
        if (request) {
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Win_flush(1, win));
        }
        CHECK(right(got, call), "call %d: wrong data", call);
    }
}

/* What comes nevertheless has come when the flush returns. */
static void late_get(MPI_Win win)
{
    int got[N], other[N];

    FAILS(get(got, 1, win), MPI_ERR_OTHER);
    OK(MPI_Win_flush(1, win));
    memset(got, 0, sizeof(got));
    OK(get(other, 2, win));
    OK(MPI_Win_flush(1, win));
    CHECK(right(other, 2), "wrong data after the error");
    CHECK(0 == got[0], "a get before the flush wrote %d after it", got[0]);
    read_again(1, win);
}

static void failing_flush(int which, bool all, MPI_Win win)
{
    int got[N], again[N];

    for (int call = 0; call < CALLS; ++call) {
        unsigned long before = hits();

        OK(get(got, call, win));
        if (call + 1 == which) {
            FAILS(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win), MPI_ERR_OTHER);
            /* not complete: not to be served */
            OK(get(again, call, win));
            CHECK(before == hits(), "call %d: a hit on what is not complete", call);
            OK(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win));
            CHECK(right(again, call), "call %d: wrong data from the second get", call);
            /* kept from now on: the first one was on its way when the second one was issued */
            OK(get(again, call, win));
            OK(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win));
        } else {
            OK(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win));
        }
        CHECK(right(got, call), "call %d: wrong data", call);
        OK(get(got, call, win));
        OK(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win));
        CHECK(right(got, call), "call %d: wrong data from the next get", call);
        CHECK(!cached || before + 1 == hits(), "call %d: the next get was no hit", call);
    }
}

/* What a flush has not completed, the next one does: two gets of the same, and a put. */
static void flush_again(bool all, MPI_Win win)
{
    int got[N], same[N], written = -2, seen = -1;

    OK(get(got, 0, win));
    OK(get(same, 0, win));
    OK(MPI_Put(&written, 1, MPI_INT, 1, 2 * N, 1, MPI_INT, win));
    FAILS(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win), MPI_ERR_OTHER);
    OK(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win));
    CHECK(right(got, 0), "the first get: %d", got[0]);
    CHECK(right(same, 0), "the second get: %d", same[0]);
    OK(MPI_Get(&seen, 1, MPI_INT, 1, 2 * N, 1, MPI_INT, win));
    OK(MPI_Win_flush(1, win));
    CHECK(written == seen, "the put: %d", seen);
}

/* osc/cached flushes before it unlocks; when that fails, the lock is given back all the same, and
 * nothing is kept. */
static void failing_unlock(MPI_Win win)
{
    unsigned long before = hits();
    int got[N];

    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    OK(get(got, 0, win));
    FAILS(MPI_Win_unlock(1, win), MPI_ERR_OTHER);
    FAILS(MPI_Win_unlock(1, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_lock_all(0, win));
    OK(get(got, 0, win));
    OK(MPI_Win_flush(1, win));
    CHECK(before == hits(), "a hit on what an error told of");
    CHECK(right(got, 0), "wrong data after the error");
}

int main(int argc, char **argv)
{
    int which, *base;
    MPI_Win win;

    test_init(&argc, &argv);
    if (argc < 3) {
        fprintf(stderr, "what fails, and which one, is needed\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    which = atoi(argv[2]);
    cached = 3 < argc;
    win = test_win_make(NULL, CALLS * N * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < CALLS * N; ++i) {
        base[i] = value(i / N, i % N);
    }
    test_barrier();
    if (0 == test_rank) {
        if (cached) {
            counters_open(&counts, &win);
        }
        OK(MPI_Win_lock_all(0, win));
        if (0 == strcmp("unlock", argv[1])) {
            failing_unlock(win);
        } else if (NULL != strstr(argv[1], "again")) {
            flush_again(0 == strcmp("all_again", argv[1]), win);
        } else if (0 == strcmp("late", argv[1])) {
            late_get(win);
        } else if (NULL != strstr(argv[1], "get")) {
            failing_get(which, 'r' == argv[1][0], win);
        } else {
            failing_flush(which, 0 == strcmp("flush_all", argv[1]), win);
        }
        OK(MPI_Win_unlock_all(win));
        if (cached) {
            CHECK(0 != strcmp("helper", argv[3]) || 0 < counter(&counts, "helper_locks"),
                  "there is no helper");
            counters_close(&counts);
        }
    }
    test_barrier();
    OK(MPI_Win_free(&win));
    return test_done();
}
