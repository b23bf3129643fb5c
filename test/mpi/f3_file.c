/* Files that cannot be used: an error on all processes, and a text that says why.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic args=missing expect="text:cannot be used: No such file or directory"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=symlink expect="text:cannot be used: No such file or directory"
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

#include <linux/capability.h>
#include <sys/syscall.h>

static int broken;

/* In the place of the C library's: the component calls it. */
int posix_fallocate(int file, off_t from, off_t length)
{
    return broken                                                 ? EIO
           : (0 == syscall(SYS_fallocate, file, 0, from, length)) ? 0
                                                                  : errno;
}

/* Root may open any file, unless it does without these. */
static void privileges(int effective)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    unsigned files = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;

    CHECK(0 == syscall(SYS_capget, &header, data), "capget");
    data[0].effective &= ~files;
    if (effective) {
        data[0].effective |= files & data[0].permitted;
    }
    CHECK(0 == syscall(SYS_capset, &header, data), "capset");
}

int main(int argc, char **argv)
{
    const char *kind = argv[1], *name = "good";
    char path[160], *base;
    MPI_Win win;
    int is;

    storage_begin();
    test_init(&argc, &argv);
    is = 0 != test_rank;
    if (is && 0 == strcmp(kind, "missing")) {
        name = "/tmp/no such directory/file";
    } else if (is && 0 == strcmp(kind, "symlink")) { /* to a file that is not there */
        name = "link";
        CHECK(0 == symlink("nowhere/file", storage_name(name)), "symlink");
    } else if (is && 0 == strcmp(kind, "directory")) {
        snprintf(path, sizeof(path), "%s", storage_folder);
        name = path;
    } else if (is && 0 == strcmp(kind, "device")) {
        name = "/dev/zero";
    } else if (is && 0 == strcmp(kind, "permission")) {
        name = "locked";
        close(open(storage_name(name), O_CREAT | O_RDWR, 0));
        privileges(0);
    }
    broken = is && 0 == strcmp(kind, "broken");
    FAILS(storage_allocate(100, 1, &base, &win, name, NULL), MPI_ERR_WIN);
    broken = 0;
    privileges(1);
    CHECK(0 != access(storage_name("good"), F_OK), "a file is left behind");
    OK(storage_allocate(100, 1, &base, &win, "good", NULL));
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
