/* H15, A14: a synchronisation that tells of an operation outside of the target's memory has
 * happened all the same. Gets that it completed have their bytes, their buffers are the program's
 * again, and nothing of them is served later.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 cache="helper=on mode=transparent"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 cache="helper=on mode=always"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 cache="helper=on helper_transfers=helper mode=always" args=requests
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <sys/mman.h>

enum { WORDS = 512, LONGS = 4096 };

static MPI_Win win;
static const long one = 1;
static unsigned long refusals; /* that rank 0 has asked for */

/* Two gets of the same word, and an operation that the target refuses. */
static void get_and_fail(long *first, long *second, int word)
{
    OK(MPI_Get(first, 1, MPI_LONG, 1, word, 1, MPI_LONG, win));
    OK(MPI_Get(second, 1, MPI_LONG, 1, word, 1, MPI_LONG, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, WORDS, 1, MPI_LONG, MPI_SUM, win));
    ++refusals;
}

/* What came, in memory that is nobody's afterwards: whoever looks there again crashes. */
static void take(long *buffers, int word)
{
    CHECK(1000 + word == buffers[0], "got %ld", buffers[0]);
    CHECK(1000 + word == buffers[1], "the get that waited for it got %ld", buffers[1]);
    munmap(buffers, LONGS * sizeof(long));
}

static long *make(void)
{
    long *buffers = mmap(NULL, LONGS * sizeof(long), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(MAP_FAILED != (void *) buffers, "no memory");
    return buffers;
}

static void get_again(int word)
{
    long got = -1;

    OK(MPI_Get(&got, 1, MPI_LONG, 1, word, 1, MPI_LONG, win));
    OK(MPI_Win_flush(1, win));
    CHECK(1000 + word == got, "got %ld", got);
}

static void in_fences(void)
{
    long *buffers = make(), got = -1;

    OK(MPI_Win_fence(0, win));
    if (0 == test_rank) {
        get_and_fail(buffers, buffers + 1, 0);
        FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
        take(buffers, 0);
        OK(MPI_Get(&got, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    } else {
        OK(MPI_Win_fence(0, win));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(0 != test_rank || 1000 == got, "got %ld", got);
}

static void in_start(void)
{
    MPI_Group all, other;
    int rank = 1 - test_rank;
    long *buffers;

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &rank, &other));
    for (int i = 0; i < 2; ++i) {
        if (0 == test_rank) {
            buffers = make();
            OK(MPI_Win_start(other, 0, win));
            get_and_fail(buffers, buffers + 1, 1);
            FAILS(MPI_Win_complete(win), MPI_ERR_RMA_RANGE);
            take(buffers, 1);
        } else {
            OK(MPI_Win_post(other, 0, win));
            OK(MPI_Win_wait(win));
        }
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Group_free(&all));
}

/* One way to complete operations: the next word has another one. */
static void in_lock_all(int word, int (*flush)(MPI_Win))
{
    long *buffers = make();

    get_and_fail(buffers, buffers + 1, word);
    FAILS(flush(win), MPI_ERR_RMA_RANGE);
    take(buffers, word);
}

static int flush_one(MPI_Win w)
{
    return MPI_Win_flush(1, w);
}

static void in_locks(void)
{
    for (int i = 0; i < 2; ++i) {
        OK(MPI_Win_lock_all(0, win));
        in_lock_all(2, flush_one);
        get_again(2);
        get_again(2);
        in_lock_all(3, MPI_Win_flush_all);
        get_again(3);
        in_lock_all(4, MPI_Win_unlock_all);
        FAILS(MPI_Win_flush(1, win), MPI_ERR_RMA_SYNC);

        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        in_lock_all(5, flush_one);
        get_again(5);
        long *buffers = make();
        get_and_fail(buffers, buffers + 1, 6);
        FAILS(MPI_Win_unlock(1, win), MPI_ERR_RMA_RANGE);
        take(buffers, 6);
        FAILS(MPI_Win_flush(1, win), MPI_ERR_RMA_SYNC);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        get_again(6);
        OK(MPI_Win_unlock(1, win));
    }
}

/* What a get that failed has left in its buffer is not served. */
static void in_requests(void)
{
    long first = 4711, second = -1;
    MPI_Request request;

    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rget(&first, 1, MPI_LONG, 1, WORDS, 1, MPI_LONG, win, &request));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
    OK(MPI_Get(&second, 1, MPI_LONG, 1, WORDS, 1, MPI_LONG, win));
    FAILS(MPI_Win_flush(1, win), MPI_ERR_RMA_RANGE);
    CHECK(-1 == second, "got %ld", second);
    refusals += 2;
    OK(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv)
{
    struct counters of_process;
    long *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open_all(&of_process, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    for (int i = 0; i < WORDS; ++i) {
        base[i] = 1000 + i;
    }
    test_barrier();
    if (1 < argc) {
        if (0 == test_rank) {
            in_requests();
        }
    } else {
        in_fences();
        if (!test_inner_is("pt2pt")) { /* which does everything itself in such epochs */
            in_start();
        }
        if (0 == test_rank) {
            in_locks();
        }
    }
    test_barrier();
    OK(MPI_Bcast(&refusals, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD));
    if (1 == test_rank) {
        COUNTS(&of_process, "helper_refused", refusals, "not by the helper");
    }
    counters_close(&of_process);
    OK(MPI_Win_free(&win));
    return test_done();
}
