/* Files that cannot be used: an error on all processes, and a text that says why.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic args=missing expect="text:cannot be used: No such file or directory"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=permission expect="text:cannot be used: Permission denied"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=directory expect="text:is not a regular file"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=device expect="text:is not a regular file"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=broken expect="text:cannot be used: Input/output error"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <sys/syscall.h>

static int broken;

/* In the place of the C library's: the component calls it. */
int posix_fallocate(int file, off_t from, off_t length)
{
    return broken                                                 ? EIO
           : (0 == syscall(SYS_fallocate, file, 0, from, length)) ? 0
                                                                  : errno;
}

int main(int argc, char **argv)
{
    const char *kind = argv[1], *name = "good";
    char path[160], *base;
    uid_t user = geteuid();
    MPI_Win win;
    int is;

    storage_begin();
    test_init(&argc, &argv);
    is = 0 != test_rank;
    if (is && 0 == strcmp(kind, "missing")) {
        name = "/tmp/no such folder/file";
    } else if (is && 0 == strcmp(kind, "directory")) {
        snprintf(path, sizeof(path), "%s", storage_folder);
        name = path;
    } else if (is && 0 == strcmp(kind, "device")) {
        name = "/dev/zero";
    } else if (is && 0 == strcmp(kind, "permission")) {
        name = "locked";
        close(open(storage_name(name), O_CREAT | O_RDWR, 0));
        if (0 == user) {
            CHECK(0 == seteuid(65534), "seteuid"); /* who may do everything is refused nothing */
        }
    }
    broken = is && 0 == strcmp(kind, "broken");
    FAILS(storage_allocate(100, 1, &base, &win, name, NULL), MPI_ERR_WIN);
    broken = 0;
    if (0 == user && 0 != geteuid()) {
        CHECK(0 == seteuid(user), "seteuid");
    }
    CHECK(0 != access(storage_name("good"), F_OK), "a file is left behind");
    OK(storage_allocate(100, 1, &base, &win, "good", NULL));
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
