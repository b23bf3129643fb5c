/* MPI_Win_sync writes pages that were changed, and no others: by stores, by read(2), by puts of
 * others; the counters tell. It covers those of the last call, too: one of them may have been
 * changed again without being noticed. The first one and MPI_Win_free cover all pages: what others
 * have changed before the window knew is written. What the kernel is asked to write is seen here,
 * and a kernel that does not know changed pages (before Linux 6.7) is asked to write all. So it is
 * where others may write past it, through a device.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=120 cflags=-rdynamic args=sync expect="text:cannot be written to its file"
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=120 cflags=-rdynamic args=sync expect="text:cannot be written to its file" mca="osc_cached_helper=on"
 * test: for=osc-cached ranks=2 transport=shm limit=120 cflags=-rdynamic args=async mca="osc_cached_storage_sync=async"
 * test: for=osc-cached ranks=2 transport=shm limit=120 cflags=-rdynamic args=free mca="osc_cached_storage_sync=free"
 * test: for=osc-cached ranks=2 transport=shm limit=120 cflags=-rdynamic args="sync unknown" expect="text:cannot be written to its file"
 * test: for=osc-cached ranks=2 transport=shm limit=120 cflags=-rdynamic args="sync device" expect="text:cannot be written to its file" mca="osc_cached_storage_route=inner"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum { PAGES = 4096 };

static char *base;
static size_t page;
static int msyncs, starts;
static long was_dirty; /* 1: page 8 was when msync was called; -1: this kernel does not tell */
static unsigned char asked[PAGES + 1]; /* pages that were to be written */
static int fails, refuses, unknown, device, writes;

/* Whether the kernel has to write a page of the file: 1, 0, or -1: it does not tell (Linux 6.5), or
 * writes none because the file is in memory. */
static long is_dirty(int number)
{
    uint64_t range[2] = {(uint64_t) number * page, page}, counts[5] = {0};
    int file = open(storage_name("window"), O_RDONLY);
    long failed = syscall(451 /* cachestat */, file, range, counts, 0);
    struct statfs system;

    failed = failed || 0 != fstatfs(file, &system) || 0x01021994 /* tmpfs */ == system.f_type;
    close(file);
    return failed ? -1 : 0 < counts[1];
}

/* In the place of the C library's: the component calls these. */
int msync(void *from, size_t length, int flags)
{
    if (NULL != base && base <= (char *) from && (char *) from < base + PAGES * page) {
        ++msyncs;
        memset(asked + ((char *) from - base) / page, 1, (length + page - 1) / page);
        was_dirty = is_dirty(8);
        if (fails) {
            /* as the kernel does it: pages are clean then, whether they were written or not */
            (void) syscall(SYS_msync, from, length, flags);
            errno = EIO;
            return -1;
        }
    }
    return (int) syscall(SYS_msync, from, length, flags);
}

int sync_file_range(int file, off_t from, off_t length, unsigned flags)
{
    ++starts;
    (void) file;
    (void) flags;
    memset(asked + (size_t) from / page, 1, ((size_t) length + page - 1) / page);
    return 0;
}

int mincore(void *from, size_t length, unsigned char *present)
{
    if (refuses) { /* what was not written cannot be found */
        errno = ENOMEM;
        return -1;
    }
    return (int) syscall(SYS_mincore, from, length, present);
}

int access(const char *name, int mode)
{
    return device && 0 == strcmp("/dev/xpmem", name)
               ? 0
               : (int) syscall(SYS_faccessat, AT_FDCWD, name, mode);
}

int ioctl(int file, unsigned long request, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, request);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (unknown && !device && 'f' == (char) (request >> 8)) { /* PAGEMAP_SCAN */
        errno = ENOTTY;
        return -1;
    }
    return (int) syscall(SYS_ioctl, file, request, argument);
}

static int forget(void)
{
    int before = msyncs + starts;

    msyncs = starts = 0;
    memset(asked, 0, sizeof(asked));
    return before;
}

static int asked_for(void)
{
    int sum = 0;

    for (int i = 0; i < PAGES; ++i) {
        sum += asked[i];
    }
    return sum;
}

static unsigned long synced(struct counters *c)
{
    return counter(c, "file_synced");
}

/* MPI_Win_sync, after which the kernel knows these bytes: what it was asked for. */
static void sync_all(MPI_Win win, int least, int most)
{
    forget();
    OK(MPI_Win_sync(win));
    CHECK(unknown || (least <= asked_for() && asked_for() <= most), "asked for %d pages, not %d",
          asked_for(), least);
    CHECK(!unknown || (writes ? PAGES : 0) == asked_for(), "asked for %d pages", asked_for());
}

static int is_known(void)
{
    /* what the component asks itself: Linux 6.7, and no seccomp filter */
    long fd = syscall(SYS_userfaultfd, 1 | O_CLOEXEC);
    FILE *release = fopen("/proc/sys/kernel/osrelease", "r");
    int major = 0, minor = 0;

    if (0 <= fd) {
        close((int) fd);
    }
    if (NULL != release) {
        if (2 != fscanf(release, "%d.%d", &major, &minor)) {
            major = 0;
        }
        fclose(release);
    }
    return 0 <= fd && 607 <= major * 100 + minor;
}

/* MPI_Win_free writes nothing: the file is removed then, and nobody can read it (unlink), or its
 * bytes are not needed (discard). */
static void unwritten(const char *key)
{
    MPI_Win win;
    char *mine;

    OK(storage_allocate((MPI_Aint) (PAGES * page), 1, &mine, &win, "gone", key, "true", NULL));
    base = mine;
    base[9 * page] = 1;
    forget();
    OK(MPI_Win_free(&win));
    CHECK(0 == asked_for() && 0 == starts, "asked for %d pages", asked_for());
    base = NULL;
}

int main(int argc, char **argv)
{
    const char *kind = argv[1];
    int other, waits;
    struct counters c;
    MPI_Win win;
    char *mine;

    storage_begin();
    unknown = 2 < argc || !is_known();
    device = 2 < argc && 0 == strcmp(argv[2], "device");
    page = (size_t) sysconf(_SC_PAGESIZE);
    test_init(&argc, &argv);
    other = 1 - test_rank;
    waits = 0 == strcmp(kind, "sync");
    writes = 0 != strcmp(kind, "free");
    OK(storage_allocate((MPI_Aint) (PAGES * page), 1, &mine, &win, "window", NULL));
    base = mine;
    counters_open(&c, &win);
    OK(MPI_Win_lock_all(0, win));
    sync_all(win, writes ? PAGES : 0, writes ? PAGES : 0);
    sync_all(win, writes ? PAGES : 0, writes ? PAGES : 0);
    sync_all(win, 0, 0);
    CHECK(!unknown ? 0 == synced(&c) : 1, "%lu bytes of an unchanged window", synced(&c));

    if (writes) {
        long before = (long) synced(&c);
        int zero = open("/dev/zero", O_RDONLY);
        char byte = 5;

        base[0] = 1;
        base[100 * page + 17] = 2;
        base[101 * page] = 3;
        CHECK(8 == read(zero, base + 200 * page + 8, 8), "read");
        close(zero);
        sync_all(win, 4, 4);
        CHECK(unknown || 3 == msyncs + starts, "%d system calls", msyncs + starts);
        CHECK(0 == (waits ? starts : msyncs), "waits: %d, %d", starts, msyncs);
        CHECK(unknown || 4 * page == synced(&c) - before, "%lu bytes", synced(&c) - before);
        sync_all(win, 4, 4);
        CHECK(unknown || 4 * page == synced(&c) - before, "%lu bytes", synced(&c) - before);
        sync_all(win, 0, 0);

        test_barrier();
        OK(MPI_Put(&byte, 1, MPI_CHAR, other, 300 * (MPI_Aint) page, 1, MPI_CHAR, win));
        OK(MPI_Win_flush(other, win));
        test_barrier();
        CHECK(5 == base[300 * page], "put %d", base[300 * page]);
        sync_all(win, 1, 1);
        CHECK(asked[300], "another page");

        /* many: few system calls */
        for (int i = 0; i < PAGES; i += 4) {
            base[i * page] = 9;
        }
        forget();
        OK(MPI_Win_sync(win));
        for (int i = 0; i < PAGES; i += 4) {
            CHECK(asked[i], "page %d is not written", i);
        }
        CHECK(msyncs + starts <= 8, "%d system calls", msyncs + starts);
        CHECK((0 < counter(&c, "file_waits")) == waits, "waits");
        CHECK((0 < counter(&c, "file_wait_ns")) == waits, "waits");
    } else {
        base[5 * page] = 1;
        sync_all(win, 0, 0);
        CHECK(0 == synced(&c), "%lu bytes", synced(&c));
    }
    if (waits && 0 == syscall(SYS_madvise, base, page, 23 /* MADV_POPULATE_WRITE: Linux 5.14 */)) {
        /* an error of the device is an error of the call; the next one writes again */
        fails = 1;
        base[8 * page] = 1;
        FAILS(MPI_Win_sync(win), MPI_ERR_IO);
        fails = 0;
        refuses = 1; /* and an error of the next one, when that cannot write it again */
        FAILS(MPI_Win_sync(win), MPI_ERR_IO);
        refuses = 0;
        forget();
        OK(MPI_Win_sync(win));
        CHECK(asked[8], "page 8 is not written again");
        CHECK(0 != was_dirty, "page 8 was clean: the kernel had nothing to write");
        CHECK(1 == base[8 * page], "page 8 has %d", base[8 * page]);
        sync_all(win, PAGES, PAGES);
        sync_all(win, 0, 0);
    }
    OK(MPI_Win_unlock_all(win));
    base[9 * page] = 1;
    forget();
    counters_close(&c);
    if (waits && 2 < argc) {
        fails = 1;
        FAILS(MPI_Win_free(&win), MPI_ERR_IO);
    } else {
        OK(MPI_Win_free(&win));
        CHECK(asked[9] && 0 == starts, "page 9 is not written");
        CHECK(PAGES == asked_for(), "asked for %d pages", asked_for());
    }
    base = NULL;
    fails = 0;
    unwritten("storage_alloc_unlink");
    unwritten("storage_alloc_discard");
    storage_end();
    return test_done();
}
