/* F5: a read that waits for the device holds up who asked for it, and nobody else: the helper does
 * the atomics of others meanwhile, on windows in memory and gets from the window whose file is being
 * read. The device ends its read when it sees what they did.
 * test: for=osc-cached ranks=3 transport=shm,tcp limit=60 cflags=-rdynamic mca="osc_cached_storage_route=helper osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

enum { READS = 1, FAR = 1 << 20 };

static long *memory; /* of the second window */
static int slow;     /* the part of the file from FAR on */

ssize_t preadv2(int file, const struct iovec *vector, int count, off_t from, int flags)
{
    if (slow && FAR <= from) {
        errno = EAGAIN;
        return -1;
    }
    (void) flags; /* the rest is in memory; a file system in memory does not know them */
    return (ssize_t) syscall(SYS_preadv2, file, vector, count, from, 0, 0);
}

/* Ends when others have added to the memory of this process. */
ssize_t pread(int file, void *to, size_t bytes, off_t from)
{
    time_t limit = time(NULL) + 40;

    while (slow && FAR <= from && 20 > __atomic_load_n(memory, __ATOMIC_ACQUIRE)) {
        struct timespec a_while = {.tv_nsec = 1000000};

        nanosleep(&a_while, NULL);
        if (limit < time(NULL)) {
            fprintf(stderr, "nothing was done while a read waited\n");
            _exit(1);
        }
    }
    return (ssize_t) syscall(SYS_pread64, file, to, bytes, from);
}

int main(int argc, char **argv)
{
    const char *inner = getenv("OMPI_MCA_osc_cached_inner");
    long *base, one = 1, old, got = -1;
    struct counters c;
    MPI_Win win, other;

    storage_begin();
    test_init(&argc, &argv);
    if (NULL == inner || NULL != strstr(inner, "pt2pt")) {
        storage_end();
        return test_done(); /* the inner component serves it */
    }
    OK(storage_allocate(FAR + 4096, 1, &base, &win, "window", NULL));
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                        &other));
    test_win(other);
    *memory = 0;
    base[FAR / sizeof(long)] = 42;
    counters_open(&c, &win);
    slow = 0 == test_rank;
    test_barrier();
    if (1 == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Get(&got, 1, MPI_LONG, 0, FAR, 1, MPI_LONG, win));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD));
        OK(MPI_Win_unlock(0, win));
        CHECK(42 == got, "got %ld", got);
    } else if (2 == test_rank) {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 20; ++i) {
            /* and what is in memory of the file that is being read */
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            OK(MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
            OK(MPI_Win_unlock(0, win));
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, other));
            OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, other));
            OK(MPI_Win_unlock(0, other));
            CHECK(i == old && 0 == got, "fetched %ld, got %ld", old, got);
        }
    }
    test_barrier();
    slow = 0;
    if (0 == test_rank) {
        CHECK(READS == counter(&c, "file_read_waits"), "%lu reads waited",
              counter(&c, "file_read_waits"));
    }
    counters_close(&c);
    OK(MPI_Win_free(&other));
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
