/* Two windows on the same bytes of a file are refused, of one process and of two; different bytes of
 * one file are not. On a network file system the processes of a file must be on one node. A freed
 * window has nothing any more, even if a process still writes; one that is freed has its bytes until
 * the last of its processes frees it.
 * test: for=osc-cached ranks=2,4 transport=shm,tcp limit=60 cflags=-rdynamic args=ranks expect="text:is on the same bytes of the file"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=windows expect="text:is on the same bytes of the file"
 * test: for=osc-cached ranks=2,4 transport=shm,tcp limit=60 cflags=-rdynamic args=offsets
 * test: for=osc-cached ranks=2,4 transport=shm,tcp limit=60 cflags=-rdynamic args=again
 * test: for=osc-cached ranks=3 transport=shm,tcp limit=60 cflags=-rdynamic args=late expect="text:is on the same bytes of the file"
 * test: for=osc-cached ranks=2 transport=tcp limit=60 cflags=-rdynamic args=network expect="text:is on a network file system, and processes on several nodes use it"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

static int network, slow;

/* In the place of the C library's: the component calls them. */
int msync(void *address, size_t bytes, int flags)
{
    usleep(slow ? 300000 : 0);
    return (int) syscall(SYS_msync, address, bytes, flags);
}

int fstatfs(int file, struct statfs *status)
{
    int ret = (int) syscall(SYS_fstatfs, file, status);

    if (network) {
        status->f_type = 0x6969; /* NFS */
    }
    return ret;
}

/* Each process has the bytes of another one in the next window, and the last one is late. */
static void again(const char *shared, const char *unlinks)
{
    char *base, offset[32], got = 0;
    int file;
    MPI_Win win;

    slow = test_size - 1 == test_rank;
    for (int i = 0; i < 2; ++i) {
        int part = (test_rank + i) % test_size;

        snprintf(offset, sizeof(offset), "%d", part << 16);
        OK(storage_allocate(1 << 16, 1, &base, &win, shared, "storage_alloc_offset", offset,
                            "storage_alloc_unlink", (0 == i) ? unlinks : "false", NULL));
        base[100] = (char) ('a' + test_rank);
        OK(MPI_Win_free(&win));
        if (1 == i) {
            file = open(shared, O_RDONLY);
            CHECK(-1 != file && 1 == pread(file, &got, 1, (part << 16) + 100)
                      && 'a' + test_rank == got,
                  "unlink %s: the file has %d", unlinks, got);
            close(file);
        }
    }
    slow = 0;
    test_barrier();
}

/* The first process frees the window, the second one does not yet, and puts to it. The third one
 * has none: may it have the bytes of the first one? */
static void late(const char *shared)
{
    char *base, put = 'a';
    MPI_Comm both;
    MPI_Win win;
    int ret;

    OK(MPI_Comm_split(MPI_COMM_WORLD, test_rank / 2, 0, &both));
    if (2 == test_rank) {
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        ret = storage_allocate_in(MPI_COMM_SELF, 1 << 16, 1, &base, &win, shared, NULL);
        if (MPI_SUCCESS == ret) {
            base[100] = 'b';
        }
        OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, 1, 0, NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        if (MPI_SUCCESS == ret) {
            CHECK('b' == base[100], "another window has written %c to this one", base[100]);
            OK(MPI_Win_free(&win));
            fprintf(stderr, "is on the same bytes of the file\n"); /* unless it came after all */
        }
        OK(MPI_Comm_free(&both));
        return;
    }
    OK(storage_allocate_in(both, 1 << 16, 1, &base, &win, (0 == test_rank) ? shared : "other",
                           NULL));
    if (1 == test_rank) {
        usleep(200000); /* the first one is in MPI_Win_free */
        OK(MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD));
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Put(&put, 1, MPI_CHAR, 0, 100, 1, MPI_CHAR, win));
        OK(MPI_Win_unlock(0, win));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD));
    }
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&both));
}

int main(int argc, char **argv)
{
    const char *kind = argv[1];
    char shared[160], offset[32], name[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME];
    int length, nodes = 0;
    MPI_Win win, second;
    char *base;

    test_init(&argc, &argv);
    /* where all nodes see it, if there are several */
    if (0 == access("/tmp/nodes", W_OK)) {
        strcpy(storage_folder, "/tmp/nodes/olfile.XXXXXX");
    }
    storage_begin();
    strcpy(shared, storage_name("shared"));
    OK(MPI_Bcast(shared, sizeof(shared), MPI_CHAR, 0, MPI_COMM_WORLD));
    OK(MPI_Get_processor_name(name, &length));
    strcpy(first, name);
    OK(MPI_Bcast(first, sizeof(first), MPI_CHAR, 0, MPI_COMM_WORLD));
    nodes = 0 != strcmp(first, name);
    OK(MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    snprintf(offset, sizeof(offset), "%d", test_rank << 16);

    if (0 == strcmp(kind, "ranks")) {
        FAILS(storage_allocate(100, 1, &base, &win, shared, NULL), MPI_ERR_WIN);
        test_barrier();
        CHECK(0 != access(shared, F_OK), "a file is left behind");
    } else if (0 == strcmp(kind, "windows")) {
        OK(storage_allocate(100, 1, &base, &win, "window", NULL));
        strcpy(base, "mine");
        FAILS(storage_allocate(10, 1, &base, &second, "window", NULL), MPI_ERR_WIN);
        OK(MPI_Win_free(&win));
        OK(storage_allocate(100, 1, &base, &win, "window", NULL));
        CHECK(0 == strcmp("mine", base), "another content");
        OK(MPI_Win_free(&win));
    } else if (0 == strcmp(kind, "offsets")) {
        for (int i = 0; i < 2; ++i) {
            OK(storage_allocate(1 << 16, 1, &base, &win, shared, "storage_alloc_offset", offset,
                                NULL));
            CHECK((0 == i) ? '\0' == base[100] : 'a' + test_rank == base[100], "another content");
            base[100] = (char) ('a' + test_rank);
            OK(MPI_Win_free(&win));
        }
    } else if (0 == strcmp(kind, "again")) {
        again(shared, "false");
        again(shared, "true");
    } else if (0 == strcmp(kind, "late")) {
        late(shared);
    } else {
        network = 1;
        if (nodes) {
            FAILS(
                storage_allocate(100, 1, &base, &win, shared, "storage_alloc_offset", offset, NULL),
                MPI_ERR_WIN);
        } else {
            OK(storage_allocate(100, 1, &base, &win, shared, "storage_alloc_offset", offset, NULL));
            OK(MPI_Win_free(&win));
            /* what only several nodes are told */
            fprintf(stderr, "is on a network file system, and processes on several nodes use it\n");
        }
        OK(storage_allocate(100, 1, &base, &win, "mine", NULL));
        OK(MPI_Win_free(&win));
    }
    storage_end();
    return test_done();
}
