/* F5: an error of the device while a helper reads is MPI_ERR_IO of the origin's synchronisation, and
 * of a request; the target lives. What a failed get brought is not kept, and operations after it are
 * as before. A file that others have cut is such an error, too.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic mca="osc_cached_storage_route=helper"
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic cache="mode=always storage_route=helper"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <sys/syscall.h>
#include <sys/uio.h>

static int fails, later; /* the second: when the device was asked for it */

/* In the place of the C library's: the helper calls these. */
ssize_t preadv2(int file, const struct iovec *vector, int count, off_t from, int flags)
{
    if (fails) {
        errno = later ? EAGAIN : EIO;
        return -1;
    }
    return (ssize_t) syscall(SYS_preadv2, file, vector, count, from, 0, flags);
}

ssize_t pread(int file, void *to, size_t bytes, off_t from)
{
    if (fails) {
        errno = EIO;
        return -1;
    }
    return (ssize_t) syscall(SYS_pread64, file, to, bytes, from);
}

/* Rank 0 has the file; rank 1 asks, between two changes of the device. */
static void device(int state)
{
    test_barrier();
    fails = state;
    test_barrier();
}

int main(int argc, char **argv)
{
    const char *inner = getenv("OMPI_MCA_osc_cached_inner");
    long *base, got[4] = {0}, one = 1, old;
    MPI_Request request;
    MPI_Status status;
    MPI_Win win;
    int asks;

    storage_begin();
    test_init(&argc, &argv);
    asks = 1 == test_rank;
    OK(storage_allocate(65536, sizeof(long), &base, &win, "window", NULL));
    for (int i = 0; i < 8192; ++i) {
        base[i] = i;
    }
    test_barrier();
    for (later = 0; later < 2 && NULL != inner && NULL == strstr(inner, "pt2pt"); ++later) {
        device(1);
        if (asks) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            OK(MPI_Get(got, 4, MPI_LONG, 0, 100, 4, MPI_LONG, win));
            FAILS(MPI_Win_flush(0, win), MPI_ERR_IO);
            OK(MPI_Get(got, 4, MPI_LONG, 0, 200, 4, MPI_LONG, win));
            FAILS(MPI_Win_flush_all(win), MPI_ERR_IO);
            OK(MPI_Get(got, 4, MPI_LONG, 0, 600, 4, MPI_LONG, win));
            FAILS(MPI_Win_flush_local(0, win), MPI_ERR_IO);
            OK(MPI_Get(got, 4, MPI_LONG, 0, 700, 4, MPI_LONG, win));
            FAILS(MPI_Win_flush_local_all(win), MPI_ERR_IO);
            OK(MPI_Get(got, 4, MPI_LONG, 0, 300, 4, MPI_LONG, win));
            FAILS(MPI_Win_unlock(0, win), MPI_ERR_IO);
            OK(MPI_Win_lock_all(0, win));
            OK(MPI_Rget(got, 4, MPI_LONG, 0, 400, 4, MPI_LONG, win, &request));
            FAILS(MPI_Wait(&request, &status), MPI_ERR_IO);
            FAILS(MPI_Win_unlock_all(win), MPI_ERR_IO);
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            OK(MPI_Put(&one, 1, MPI_LONG, 0, 100, 1, MPI_LONG, win));
            FAILS(MPI_Win_flush(0, win), MPI_ERR_IO);
            OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 101, MPI_SUM, win));
            FAILS(MPI_Win_unlock(0, win), MPI_ERR_IO);
        }
        device(0);
        CHECK(100 == base[100] && 101 == base[101], "changed in spite of the error");
        if (asks) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            for (int at = 100; at < 800; at += (400 == at) ? 200 : 100) { /* 500: below */
                OK(MPI_Get(got, 4, MPI_LONG, 0, at, 4, MPI_LONG, win));
                OK(MPI_Win_flush(0, win));
                CHECK(at == got[0] && at + 3 == got[3], "at %d: %ld %ld", at, got[0], got[3]);
            }
            OK(MPI_Win_unlock(0, win));
        }
        device(1);
        OK(MPI_Win_fence(0, win));
        if (asks) {
            OK(MPI_Get(got, 4, MPI_LONG, 0, 500, 4, MPI_LONG, win));
            FAILS(MPI_Win_fence(0, win), MPI_ERR_IO);
        } else {
            OK(MPI_Win_fence(0, win));
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        device(0);
    }
    if (NULL != inner && NULL == strstr(inner, "pt2pt")) {
        CHECK(asks || 0 == truncate(storage_name("window"), 4096), "truncate");
        test_barrier();
        if (asks) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            OK(MPI_Get(got, 4, MPI_LONG, 0, 1000, 4, MPI_LONG, win));
            FAILS(MPI_Win_unlock(0, win), MPI_ERR_IO);
        }
    }
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
