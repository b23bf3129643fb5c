/* F5: a window on a file that helpers serve alone: puts, gets, atomics and their R-forms in all
 * epochs, of one block, of several, and larger than a message; to oneself, too; windows partly in
 * memory; what is not in the page cache. Stores of the owner are seen by gets, puts by its loads.
 * test: for=osc-cached ranks=2,4 transport=shm,tcp limit=60 cflags=-rdynamic mca="osc_cached_storage_route=helper"
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic args=cold mca="osc_cached_storage_route=helper"
 * test: for=osc-cached ranks=3 transport=shm limit=60 cflags=-rdynamic args=cold cache="mode=always storage_route=helper"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "cold.h"
#include "storage.h"

enum { LONGS = 40000 }; /* more than a message of a helper */

static long big[LONGS], got[LONGS];

static long value(int rank, int i)
{
    return 1000000L * (rank + 1) + i;
}

static void fill(int rank)
{
    for (int i = 0; i < LONGS; ++i) {
        big[i] = value(rank, i);
    }
}

/* Lines of a square, so that the target has many blocks. */
static void columns(MPI_Win win, long *base, int right)
{
    MPI_Datatype column;

    OK(MPI_Type_vector(100, 2, 100, MPI_LONG, &column));
    OK(MPI_Type_commit(&column));
    memset(got, 0, sizeof(got));
    fill(test_rank);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(big, 200, MPI_LONG, right, 7, 1, column, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(got, 200, MPI_LONG, right, 7, 1, column, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 200; ++i) {
        int left = (test_rank + test_size - 1) % test_size;

        CHECK(big[i] == got[i], "column %d: %ld", i, got[i]);
        CHECK(value(left, i) == base[7 + i / 2 * 100 + i % 2], "column %d", i);
    }
    OK(MPI_Type_free(&column));
}

/* All of it at once, in an epoch of MPI_Win_start. */
static void whole(MPI_Win win, long *base, int right, int left)
{
    MPI_Group all, to, from;

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &right, &to));
    OK(MPI_Group_incl(all, 1, &left, &from));
    fill(test_rank);
    for (int puts = 1; puts >= 0; --puts) {
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_start(to, 0, win));
        if (puts) {
            OK(MPI_Put(big, LONGS, MPI_LONG, right, 0, LONGS, MPI_LONG, win));
        } else {
            OK(MPI_Get(got, LONGS, MPI_LONG, right, 0, LONGS, MPI_LONG, win));
        }
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        if (puts) {
            for (int i = 0; i < LONGS; ++i) {
                CHECK(value(left, i) == base[i], "%d: %ld", i, base[i]);
                base[i] += 5;
            }
            OK(MPI_Win_fence(0, win)); /* what was stored is public */
        }
    }
    for (int i = 0; i < LONGS; ++i) {
        CHECK(big[i] + 5 == got[i], "%d: %ld, not %ld", i, got[i], big[i] + 5);
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
}

/* R-forms and atomics; all add to one place. */
static void passive(MPI_Win win, long *base, int right)
{
    long one = 1, old = -1, zero = 0, sum = 0;
    MPI_Request request;

    base[10] = base[11] = base[12] = 0;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rput(&one, 1, MPI_LONG, right, 10, 1, MPI_LONG, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(right, win));
    OK(MPI_Rget(&old, 1, MPI_LONG, right, 10, 1, MPI_LONG, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(1 == old, "rget: %ld", old);
    OK(MPI_Get(&old, 1, MPI_LONG, right, LONGS - 1, 1, MPI_LONG, win));
    OK(MPI_Win_flush_local(right, win));
    for (int i = 0; i < 50; ++i) { /* the own rank adds there, too */
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 11, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 11, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
    }
    OK(MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG, right, 12, win));
    OK(MPI_Win_flush_all(win));
    CHECK(0 == old, "swap: %ld", old);
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, &sum, 1, MPI_LONG, 0, 11, 1, MPI_LONG, MPI_NO_OP,
                          win));
    OK(MPI_Win_unlock(0, win));
    CHECK(100L * test_size == sum, "sum: %ld", sum);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win));
    OK(MPI_Put(&sum, 1, MPI_LONG, test_rank, 13, 1, MPI_LONG, win));
    OK(MPI_Get(&old, 1, MPI_LONG, test_rank, 12, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(test_rank, win));
    CHECK(1 == old && sum == base[13], "oneself: %ld %ld", old, base[13]);
}

int main(int argc, char **argv)
{
    const char *inner = getenv("OMPI_MCA_osc_cached_inner");
    static const char *const factors[] = {"1", "0.4"};
    int right, left;

    storage_begin();
    cold = 1 < argc;
    test_init(&argc, &argv);
    right = (test_rank + 1) % test_size;
    left = (test_rank + test_size - 1) % test_size;
    for (int f = 0; f < 2; ++f) {
        struct counters c;
        MPI_Win win;
        long *base;

        OK(storage_allocate(sizeof(big), sizeof(long), &base, &win, f ? "part" : "window",
                            "storage_alloc_factor", factors[f], NULL));
        counters_open(&c, &win);
        columns(win, base, right);
        whole(win, base, right, left);
        passive(win, base, right);
        if (NULL != inner && NULL == strstr(inner, "pt2pt")) {
            CHECK(sizeof(big) <= counter(&c, "file_bytes_read"), "%lu bytes were read",
                  counter(&c, "file_bytes_read"));
            /* a page cache may have lost some */
            CHECK(!cold || 0 < counter(&c, "file_read_waits"), "no read waited");
        }
        counters_close(&c);
        memcpy(big, base, sizeof(big));
        OK(MPI_Win_free(&win));
        if (0 == f) {
            CHECK(sizeof(got) == storage_read("window", got, sizeof(got)), "another file");
            CHECK(0 == memcmp(got, big, sizeof(big)), "the file holds other bytes");
        }
    }
    storage_end();
    return test_done();
}
