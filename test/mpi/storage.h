/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows on files, in a directory of this process.
 */
#ifndef STORAGE_H
#define STORAGE_H

#include "counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static char storage_folder[64] = "/tmp/olfile.XXXXXX", storage_path[128];

__attribute__((unused)) static void storage_begin(void)
{
    if (NULL == mkdtemp(storage_folder)) {
        perror(storage_folder);
        exit(1);
    }
}

/* Before the end of the test. */
__attribute__((unused)) static void storage_end(void)
{
    DIR *folder = opendir(storage_folder);
    struct dirent *entry;

    test_barrier();
    while (NULL != (entry = readdir(folder))) {
        if ('.' != entry->d_name[0]) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    closedir(folder);
    rmdir(storage_folder);
}

/* The path of a file of this process. */
__attribute__((unused)) static const char *storage_name(const char *name)
{
    snprintf(storage_path, sizeof(storage_path), "%s/%s", storage_folder, name);
    return storage_path;
}

/* A window on a file: pairs of key and value, ended by NULL; a name without a slash is one of this
 * process. */
#define storage_allocate(...) storage_allocate_in(MPI_COMM_WORLD, __VA_ARGS__)
__attribute__((unused, sentinel)) static int storage_allocate_in(MPI_Comm comm, MPI_Aint bytes,
                                                                 int unit, void *base, MPI_Win *win,
                                                                 const char *name, ...)
{
    va_list pairs;
    const char *key;
    MPI_Info info;
    int ret;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_type", "storage"));
    if (NULL != name) {
        OK(MPI_Info_set(info, "storage_alloc_filename",
                        (NULL != strchr(name, '/')) ? name : storage_name(name)));
    }
    va_start(pairs, name);
    while (NULL != (key = va_arg(pairs, const char *))) {
        OK(MPI_Info_set(info, key, va_arg(pairs, const char *)));
    }
    va_end(pairs);
    ret = MPI_Win_allocate(bytes, unit, info, comm, base, win);
    OK(MPI_Info_free(&info));
    if (MPI_SUCCESS == ret) {
        test_win(*win);
    }
    return ret;
}

/* Does any process share its node with another one? Collective. */
__attribute__((unused)) static int storage_is_any_near(void)
{
    MPI_Comm node;
    int size;

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &size));
    OK(MPI_Comm_free(&node));
    OK(MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return 1 < size;
}

/* Over shared memory osc/ucx without our patches returns before gets have arrived: then helpers
 * serve windows on files.  Collective. */
__attribute__((unused)) static int storage_gets_are_late(void)
{
    const char *ways = getenv("UCX_TLS");

#if defined(__x86_64__)
    if ((test_inner_is("rdma") || test_inner_is("sm+rdma")) && 0x0500 == test_openmpi()) {
        return 1; /* and its accumulates are wrong */
    }
#endif
    return storage_is_any_near() && test_inner_is("ucx")
           && (NULL == ways || NULL != strstr(ways, "posix"))
           && (test_stock_5_0() || test_openmpi() < 0x0500 || 0x0600 == test_openmpi());
}

/* What a file of this process holds: bytes, or -1. */
__attribute__((unused)) static long storage_read(const char *name, void *buffer, size_t bytes)
{
    int file = open(storage_name(name), O_RDONLY);
    long got = (-1 == file) ? -1 : pread(file, buffer, bytes, 0);

    if (-1 != file) {
        close(file);
    }
    return got;
}

#endif /* STORAGE_H */
