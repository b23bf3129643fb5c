/* No room for the file of one process, or no memory to map it: an error on all of them, never a
 * signal, and nothing is left behind: a limit of the process, a full file system (a small tmpfs,
 * where one can be mounted), and one that says so. What cannot fit is not asked for: others would
 * have no room meanwhile.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic args=limit expect="text:There is no room for the file of a window: File too large"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=tmpfs expect="text:There is no room for the file of a window: No space left on device"
 * test: for=osc-cached ranks=3 transport=shm limit=60 cflags=-rdynamic args=quota expect="text:There is no room for the file of a window: Disk quota exceeded"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=asked expect="text:There is no room for the file of a window: No space left on device"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=memory expect="text:There is not enough memory or address space"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

enum { SIZE = 8 << 20, LARGE = 128 << 20 };

static int full;
static long long asked;

/* In the place of the C library's: the component calls it. */
int posix_fallocate(int file, off_t from, off_t length)
{
    asked = length;
    /* disks give what they have before they say that it is not enough */
    length = full ? length / 2 : length;
    return (0 == syscall(SYS_fallocate, file, 0, from, length)) ? (full ? EDQUOT : 0) : errno;
}

/* From now on this process gets half as much address space as the window needs. */
static void limit_memory(void)
{
    long pages = 0;
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");

    OK(NULL == file || 1 != fscanf(file, "%ld", &pages));
    fclose(file);
    OK(getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = (rlim_t) pages * (rlim_t) sysconf(_SC_PAGESIZE) + LARGE / 2;
    OK(setrlimit(RLIMIT_AS, &limit));
}

int main(int argc, char **argv)
{
    const char *kind = argv[1];
    int is_tmpfs = 0 == strcmp(kind, "tmpfs"), mounted = 0, size = SIZE;
    struct rlimit limit = {SIZE - 1, RLIM_INFINITY}, old, old_memory;
    char name[160], *base;
    MPI_Win win = MPI_WIN_NULL;

    storage_begin();
    if (is_tmpfs) {
        mounted = 0 == unshare(CLONE_NEWNS)
                  && 0 == mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)
                  && 0 == mount("none", storage_folder, "tmpfs", 0, "size=1m");
    }
    test_init(&argc, &argv);
    if (is_tmpfs) {
        OK(MPI_Allreduce(MPI_IN_PLACE, &mounted, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        if (!mounted) {
            rmdir(storage_folder);
            test_skip("no tmpfs can be mounted here");
        }
    }
    snprintf(name, sizeof(name), "%s", storage_name("old"));
    if (0 == strcmp(kind, "asked")) {
        struct statvfs status;

        OK(statvfs(storage_folder, &status));
        asked = 0;
        FAILS(storage_allocate((MPI_Aint) (status.f_bavail * status.f_bsize + (1 << 30)), 1, &base,
                               &win, "new", NULL),
              MPI_ERR_WIN);
        CHECK(0 == asked, "asked for %lld bytes", asked);
        CHECK(0 != access(storage_name("new"), F_OK), "a file is left behind");
        storage_end();
        return test_done();
    }
    /* the last one has no room */
    if (test_size - 1 == test_rank) {
        OK(getrlimit(RLIMIT_FSIZE, &old));
        if (0 == strcmp(kind, "limit")) {
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        full = 0 == strcmp(kind, "quota");
        OK(getrlimit(RLIMIT_AS, &old_memory));
        if (0 == strcmp(kind, "memory")) {
            size = LARGE;
            limit_memory();
        }
    }
    FAILS(storage_allocate((test_size - 1 == test_rank) ? size : 4096, 1, &base, &win, "new", NULL),
          MPI_ERR_WIN);
    CHECK(MPI_WIN_NULL == win, "a window");
    CHECK(0 != access(storage_name("new"), F_OK), "a file is left behind");
    if (test_size - 1 == test_rank) {
        setrlimit(RLIMIT_FSIZE, &old);
        setrlimit(RLIMIT_AS, &old_memory);
        full = 0;
    }
    /* and after it there can be windows, on files that were there before */
    OK(storage_allocate(4096, 1, &base, &win, name, NULL));
    strcpy(base, "kept");
    OK(MPI_Win_free(&win));
    full = 0 == strcmp(kind, "quota");
    if (full) {
        char got[4097] = "";

        FAILS(storage_allocate(SIZE, 1, &base, &win, name, NULL), MPI_ERR_WIN);
        CHECK(4096 == storage_read("old", got, sizeof(got)) && 0 == strcmp("kept", got),
              "a file of the user is gone, or longer");
    }
    if (mounted) {
        umount2(storage_folder, MNT_DETACH);
    }
    storage_end();
    return test_done();
}
