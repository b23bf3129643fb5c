/* Between the moment when a window's file is opened and the one when its bytes are locked, another
 * window may end: with it the file is removed, and the new window has a new one (removed); or it has
 * become longer, and a window that is refused does not cut it (cut).
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=removed
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=cut expect="text:There is no room for the file of a window: Disk quota exceeded"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum { SIZE = 8192, WAITING = 1, DONE = 2 };

static volatile int *state; /* of the second process */
static int pauses, full;

/* In the place of the C library's: the component locks with it. */
int fcntl(int file, int what, ...)
{
    va_list rest;
    void *argument;

    va_start(rest, what);
    argument = va_arg(rest, void *);
    va_end(rest);
    if (pauses && F_OFD_SETLK == what) {
        pauses = 0;
        *state = WAITING;
        while (DONE != *state) {
            usleep(1000);
        }
    }
    return (int) syscall(SYS_fcntl, file, what, argument);
}

int fcntl64(int file, int what, ...)
{
    va_list rest;
    void *argument;

    va_start(rest, what);
    argument = va_arg(rest, void *);
    va_end(rest);
    return fcntl(file, what, argument);
}

int posix_fallocate(int file, off_t from, off_t length)
{
    return full ? EDQUOT : (0 == syscall(SYS_fallocate, file, 0, from, length)) ? 0 : errno;
}

/* A window of this process alone. */
static int allocate(const char *name, const char *unlinks, char **base, MPI_Win *win)
{
    return storage_allocate_in(MPI_COMM_SELF, SIZE, 1, base, win, name, "storage_alloc_unlink",
                               unlinks, NULL);
}

int main(int argc, char **argv)
{
    int cut = 0 == strcmp(argv[1], "cut"), file;
    char shared[160], flag[160], got[8] = "", *base;
    MPI_Win win;

    test_init(&argc, &argv);
    test_needs_small_windows();
    storage_begin();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    strcpy(shared, storage_name("shared"));
    strcpy(flag, storage_name("flag"));
    OK(MPI_Bcast(shared, sizeof(shared), MPI_CHAR, 0, MPI_COMM_WORLD));
    OK(MPI_Bcast(flag, sizeof(flag), MPI_CHAR, 0, MPI_COMM_WORLD));
    file = open(flag, O_CREAT | O_RDWR, 0600);
    CHECK(0 == ftruncate(file, 4096), "ftruncate");
    state = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (0 == test_rank) {
        if (cut) {
            close(open(shared, O_CREAT | O_RDWR, 0600));
        } else {
            OK(allocate(shared, "true", &base, &win));
        }
    }
    test_barrier();
    if (0 == test_rank) {
        while (WAITING != *state) {
            usleep(1000);
        }
        if (cut) {
            OK(allocate(shared, "false", &base, &win));
        }
        strcpy(base, "first");
        OK(MPI_Win_free(&win));
        *state = DONE;
    } else {
        pauses = 1;
        full = cut;
        if (cut) {
            CHECK(MPI_SUCCESS != allocate(shared, "false", &base, &win), "there was room");
        } else {
            OK(allocate(shared, "false", &base, &win));
            strcpy(base, "second");
            OK(MPI_Win_free(&win));
        }
    }
    test_barrier();
    if (0 == test_rank) {
        file = open(shared, O_RDONLY);
        CHECK(-1 != file && 0 < read(file, got, sizeof(got)), "there is no file, or nothing in it");
        CHECK(0 == strcmp(got, cut ? "first" : "second"), "the file has %s", got);
        close(file);
    }
    storage_end();
    return test_done();
}
