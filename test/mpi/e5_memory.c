/* E5: without memory for the segment each process has its own cache, and a help text says so; with
 * little of it, or when the system has no more (full), what does not fit is fetched again. The same
 * where files must not be as large, which the segment is to the kernel. Info keys limit it. Many
 * windows leave the program descriptors. A timer of the program does not keep memory from coming, on
 * kernels that give up at any signal. What one process has used up, others of its node pay for.
 * Nobody but the user may open the segment.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on memory=64K" ranks=3 transport=shm limit=60 cflags=-rdynamic args=none expect="text:Each process keeps a cache"
 * test: for=osc-cached needs=cache cache="mode=always share=on memory=600K" ranks=3,4 transport=shm,tcp limit=60 cflags=-rdynamic args=little
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3 transport=shm limit=60 cflags=-rdynamic args=limit expect="text:Each process keeps a cache"
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3 transport=shm limit=60 cflags=-rdynamic args=keys
 * test: for=osc-cached needs=cache cache="mode=always share=on memory=1G" ranks=3 transport=shm,tcp limit=60 cflags=-rdynamic args=descriptors expect="text:Each process keeps a cache"
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3 transport=shm limit=60 cflags=-rdynamic args=signals
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3 transport=shm limit=60 cflags=-rdynamic args=full
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3 transport=shm limit=60 cflags=-rdynamic args="full soon" expect="text:Each process keeps a cache"
 * test: for=osc-cached needs=cache cache="mode=always share=on memory=1M" ranks=4 transport=shm limit=60 cflags=-rdynamic args=pool
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FEW = 400, POOLED = 450, MANY = 2000 /* pieces */, BYTES = 4096, ROUNDS = 6 };
enum { WINDOWS = 300, FILES = 256, KEYED = 65536 };

static int interrupted;
static off_t room = -1; /* bytes that the system has left, when it is full */

/* In the place of the C library's: as Linux of some years ago does it for files in memory, in a
 * program with a timer that is as fast as 1.5 MiB of memory come. */
int posix_fallocate(int file, off_t from, off_t length)
{
    if (interrupted && 3 << 19 < length) {
        return EINTR;
    }
    if (0 <= room) {
        if (room < length) {
            return ENOSPC;
        }
        room -= length;
    }
    return (0 == syscall(SYS_fallocate, file, 0, from, length)) ? 0 : errno;
}

static void limit_files(void)
{
    struct rlimit limit;

    OK(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = FILES;
    OK(setrlimit(RLIMIT_NOFILE, &limit));
}

static void many(void)
{
    static MPI_Win win[WINDOWS];
    static long words[WINDOWS][8];
    int file;

    limit_files();
    for (int i = 0; i < WINDOWS; ++i) {
        OK(MPI_Win_create(words[i], sizeof(words[i]), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[i]));
    }
    file = open("/dev/null", O_RDONLY);
    CHECK(-1 != file && file < FILES * 3 / 4, "descriptor %d, errno %d", file, errno);
    close(file);
    for (int i = 0; i < WINDOWS; ++i) {
        OK(MPI_Win_free(&win[i]));
    }
}

/* The segments that this process has open. */
static void look_at_modes(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int seen = 0;

    CHECK(NULL != folder, "/proc/self/fd");
    while (NULL != (entry = readdir(folder))) {
        char path[300], name[300];
        struct stat status;
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        length = readlink(path, name, sizeof(name) - 1);
        name[0 < length ? length : 0] = '\0';
        if (NULL != strstr(name, "osc_cached_node") && 0 == stat(path, &status)) {
            CHECK(0600 == (status.st_mode & 07777), "mode %o", (unsigned) status.st_mode & 07777);
            ++seen;
        }
    }
    closedir(folder);
    CHECK(0 < seen, "no segment is open");
}

/* The second process reads more than it may keep by itself, and less than the four may, while two
 * others keep small pieces, other ones each round: they pay for memory that it needs. */
static void share_budgets(MPI_Win win, struct counters *c)
{
    static char got[BYTES];
    unsigned long hits = 0;

    for (int round = 0; round < ROUNDS; ++round) {
        hits = counter(c, "hits");
        for (int i = 0; i < POOLED; ++i) {
            int bytes = (1 == test_rank) ? BYTES : 8;
            int at = i * BYTES + ((1 == test_rank) ? 0 : 1000 + 8 * (ROUNDS * test_rank + round));

            if (3 != test_rank) {
                OK(MPI_Get(got, bytes, MPI_BYTE, 3, at, bytes, MPI_BYTE, win));
                OK(MPI_Win_flush(3, win));
                CHECK((char) (i * 7 + at + 3) == got[0], "piece %d", i);
            }
        }
        test_barrier();
    }
    hits = counter(c, "hits") - hits;
    CHECK(1 != test_rank || POOLED / 2 < hits, "%lu hits of %d", hits, POOLED);
    CHECK(7 << 18 < counter(c, "node_bytes"), "the segment has %lu bytes",
          counter(c, "node_bytes"));
}

int main(int argc, char **argv)
{
    static char got[BYTES];
    struct counters c;
    char *base;
    int last, pieces;
    MPI_Win win;

    test_init(&argc, &argv);
    last = test_size - 1;
    pieces = (0 == strcmp("signals", argv[1])) ? MANY
             : (0 == strcmp("pool", argv[1]))  ? POOLED
                                               : FEW;
    if (0 == strcmp("limit", argv[1])) {
        struct rlimit limit;

        CHECK(0 == getrlimit(RLIMIT_FSIZE, &limit), "getrlimit");
        limit.rlim_cur = 1 << 24; /* more than the window */
        CHECK(0 == setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
    }
    if (0 == strcmp("descriptors", argv[1])) {
        many();
        return test_done();
    }
    if (0 == strcmp("full", argv[1])) {
        room = (2 < argc) ? 1 << 17 : 3 << 18;
    }
    win = (0 == strcmp("keys", argv[1]))
              ? keyed_window(NULL, pieces * BYTES, 1, &base, "ompi_osc_cached_memory", "64K",
                             "ompi_osc_cached_adaptive", "false", NULL)
              : keyed_window(NULL, pieces * BYTES, 1, &base, NULL);
    counters_open(&c, &win);
    for (int i = 0; i < pieces * BYTES; ++i) {
        base[i] = (char) (i / BYTES * 7 + i + test_rank);
    }
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    if (0 == strcmp("pool", argv[1])) {
        look_at_modes();
        share_budgets(win, &c);
        OK(MPI_Win_unlock_all(win));
        counters_close(&c);
        OK(MPI_Win_free(&win));
        return test_done();
    }
    interrupted = 0 == strcmp("signals", argv[1]);
    for (int round = 0; round < 3 && last != test_rank; ++round) {
        for (int i = 0; i < pieces; ++i) {
            OK(MPI_Get(got, BYTES, MPI_BYTE, last, (MPI_Aint) i * BYTES, BYTES, MPI_BYTE, win));
            OK(MPI_Win_flush(last, win));
            for (int j = 0; j < BYTES; j += 97) {
                CHECK((char) (i * 7 + i * BYTES + j + last) == got[j], "piece %d byte %d", i, j);
            }
        }
    }
    if (0 == strcmp("none", argv[1]) || 0 == strcmp("limit", argv[1]) || 2 < argc) {
        COUNTS(&c, "node_hits", 0, "there is no segment");
    } else if (last != test_rank) {
        CHECK(0 < counter(&c, "node_bytes"), "there is no segment");
        CHECK(0 != strcmp("keys", argv[1]) || counter(&c, "node_bytes") < 16 * KEYED,
              "the segment has %lu bytes", counter(&c, "node_bytes"));
        CHECK(0 > room || counter(&c, "node_bytes") < 3 * (3 << 18), "the segment has %lu bytes",
              counter(&c, "node_bytes"));
    }
    counters_add_up(&c);
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
