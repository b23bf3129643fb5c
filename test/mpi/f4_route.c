/* F4: who serves puts and gets of a window on a file: the inner component, or the helper where that
 * is asked for, where there is RDMA, and where gets would be late. A file system in memory is memory.
 * Who cannot serve it is an error on all processes, and a text.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic args=auto
 * test: for=osc-cached ranks=2,3 transport=shm limit=60 cflags=-rdynamic args=off mca="osc_cached_helper=off" expect="text:gets have arrived"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=off mca="osc_cached_helper=off osc_cached_storage_route=helper" expect="text:gets have arrived"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args="unwrapped off" expect="text:gets have arrived"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args=inner mca="osc_cached_helper=on osc_cached_storage_route=inner"
 * test: for=osc-cached ranks=2,3 transport=shm,tcp limit=60 cflags=-rdynamic args=helper mca="osc_cached_storage_route=helper"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args="rdma helper"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args="rdma inner" mca="osc_cached_storage_route=inner"
 * test: for=osc-cached ranks=2 transport=shm limit=60 cflags=-rdynamic args="rdma auto memory"
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic args="threadless none" mca="osc_cached_storage_route=helper" expect="text:there is no memory or no thread"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/vfs.h>

enum { LONGS = 77777 };

static int has_rdma, refused, threadless;

/* In the place of the C library's: the component looks for network adapters with it. */
DIR *opendir(const char *name)
{
    DIR *(*real)(const char *) = (DIR * (*) (const char *) ) dlsym(RTLD_NEXT, "opendir");

    if (0 == strcmp(name, "/sys/class/infiniband") || 0 == strcmp(name, "/sys/class/cxi")) {
        return has_rdma ? real("/") : NULL;
    }
    return real(name);
}

/* In the place of the C library's: the second thread of osc/cached, after its helper, is not there.
 */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    typedef int (*create_t)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
    Dl_info info;

    /* osc/cached may be part of libmpi */
    if (threadless && 0 != dladdr((void *) run, &info)
        && (NULL != strstr(info.dli_fname, "cached") || NULL != strstr(info.dli_fname, "libmpi."))
        && 0 == --threadless) {
        ++refused;
        return EAGAIN;
    }
    return ((create_t) dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, run, argument);
}

static int is_in_memory(void)
{
    struct statfs status;

    return 0 == statfs(storage_folder, &status) && 0x01021994 == status.f_type; /* tmpfs */
}

/* A put to the right neighbour, and a get of it and of a store. */
static void use(MPI_Win win, long *base)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    long mine = 100 + test_rank, got[2] = {0};

    base[LONGS - 1] = 1000 + test_rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&mine, 1, MPI_LONG, right, LONGS - 2, 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(got, 2, MPI_LONG, right, LONGS - 2, 2, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK(mine == got[0] && 1000 + right == got[1], "got %ld %ld", got[0], got[1]);
    CHECK(100 + left == base[LONGS - 2], "has %ld", base[LONGS - 2]);
}

/* The same when all have parts of one file. */
static void refuse_shared(void)
{
    char shared[160], offset[32], *base;
    MPI_Win win;

    strcpy(shared, storage_name("shared"));
    OK(MPI_Bcast(shared, sizeof(shared), MPI_CHAR, 0, MPI_COMM_WORLD));
    snprintf(offset, sizeof(offset), "%d", test_rank << 16);
    for (int i = 0; i < 10; ++i) {
        FAILS(
            storage_allocate(1 << 16, 1, &base, &win, shared, "storage_alloc_offset", offset, NULL),
            MPI_ERR_WIN);
        test_barrier();
        CHECK(0 != access(shared, F_OK), "the file of all is left behind");
        test_barrier();
    }
}

int main(int argc, char **argv)
{
    const char *inner = getenv("OMPI_MCA_osc_cached_inner"), *who = argv[argc - 1];
    char name[64] = "window", *base;
    int has, in_memory, served, file, unwrapped;
    struct counters c;
    MPI_Win win;

    storage_begin();
    unwrapped = 0 == strcmp(argv[1], "unwrapped");
    if (unwrapped && test_inner_is("ucx")) { /* what would serve it alone */
        setenv("OMPI_MCA_osc", "cached,ucx", 1);
        setenv("OMPI_MCA_osc_cached_inner", "sm", 1);
    }
    has_rdma = 0 == strcmp(argv[1], "rdma");
    threadless = (0 == strcmp(argv[1], "threadless")) ? 2 : 0;
    in_memory = 0 == strcmp(who, "memory");
    who = in_memory ? argv[argc - 2] : who;
    test_init(&argc, &argv);
    if (in_memory) {
        snprintf(name, sizeof(name), "/dev/shm/olfile.%d", (int) getpid());
    }
    /* osc/pt2pt has epochs of its own, and needs no registration */
    served = NULL != inner && NULL == strstr(inner, "pt2pt");
    if (0 == strcmp(who, "auto")) {
        who = storage_gets_are_late() ? "helper" : "inner";
    }
    if (0 == strcmp(who, "off")) {
        if (storage_gets_are_late() && (!unwrapped || test_inner_is("ucx"))) {
            FAILS(storage_allocate(LONGS * sizeof(long), sizeof(long), &base, &win, name, NULL),
                  MPI_ERR_WIN);
            CHECK(0 != access(storage_name(name), F_OK), "a file is left behind");
            refuse_shared();
            storage_end();
            return test_done();
        }
        fprintf(stderr, "gets have arrived\n");
        who = unwrapped ? "nobody" : "inner";
    }
    if (0 == strcmp(who, "none") && !served) {
        fprintf(stderr, "there is no memory or no thread\n"); /* for nothing */
        who = "inner";
    } else if (0 == strcmp(who, "none")) {
        FAILS(storage_allocate(LONGS * sizeof(long), sizeof(long), &base, &win, name, NULL),
              MPI_ERR_WIN);
        CHECK(0 < refused, "nobody asked");
        CHECK(0 != access(storage_name(name), F_OK), "a file is left behind");
        threadless = 1; /* the helper is there */
        file = open(storage_name(name), O_CREAT | O_RDWR, 0600);
        CHECK(4 == write(file, "user", 4), "write");
        FAILS(storage_allocate(LONGS * sizeof(long), sizeof(long), &base, &win, name, NULL),
              MPI_ERR_WIN);
        CHECK(4 == lseek(file, 0, SEEK_END), "a file of the user is longer now");
        close(file);
        threadless = 0;
        OK(storage_allocate(LONGS * sizeof(long), sizeof(long), &base, &win, name, NULL));
        OK(MPI_Win_free(&win));
        storage_end();
        return test_done();
    }
    OK(storage_allocate(LONGS * sizeof(long), sizeof(long), &base, &win, name, NULL));
    if (0 == strcmp(who, "nobody")) { /* it has no counters */
        use(win, (long *) base);
        OK(MPI_Win_free(&win));
        storage_end();
        return test_done();
    }
    counters_open(&c, &win);
    use(win, (long *) base);
    has = served && 0 == strcmp(who, "helper")
          && !(has_rdma && is_in_memory() && !storage_gets_are_late());
    CHECK(has == (1 < counter(&c, "file_reads")), "%lu reads of the file",
          counter(&c, "file_reads"));
    CHECK(has == (15 < counter(&c, "file_bytes_read")), "%lu bytes of the file",
          counter(&c, "file_bytes_read"));
    CHECK(has == (0 < counter(&c, "helper_operations")), "the helper did %lu operations",
          counter(&c, "helper_operations"));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    if (in_memory) {
        unlink(name);
    }
    storage_end();
    return test_done();
}
