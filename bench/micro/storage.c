/*
 * Windows on files (alloc_type=storage), in turns with what they are compared with:
 *
 *     storage --what=warm     gets from a file that is in memory, beside a window in memory
 *     storage --what=sync     MPI_Win_sync of an unchanged window of 512 MiB, and of one page of
 * it; beside msync of the whole window storage --what=limited  random gets of 4 KiB from a target
 * that may use a quarter of the window's size as memory (control groups), beside the kernel's own
 * read-ahead
 *
 *     storage [--rounds=N] [--window=create|allocate] [--megabytes=N] [--file=NAME] [--case=SUFFIX]
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "micro.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20 };

static unsigned char buffer[65536];

/* Collective: a window of the owner, on a file that nobody needs afterwards. */
static struct micro_window on_file(const char *name, size_t bytes, int owner, const char *style)
{
    struct micro_window w = {.created = NULL};
    char path[4096];
    MPI_Info info;

    snprintf(path, sizeof(path), "%s.%s.%d", micro_option("file", "/tmp/storage-bench"), name,
             micro_rank);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_mode", "off"));
    OK(MPI_Info_set(info, "alloc_type", "storage"));
    OK(MPI_Info_set(info, "storage_alloc_filename", path));
    OK(MPI_Info_set(info, "storage_alloc_unlink", "true"));
    OK(MPI_Info_set(info, "storage_alloc_discard", "true"));
    OK(MPI_Info_set(info, "access_style", style));
    OK(MPI_Win_allocate((MPI_Aint) (owner == micro_rank ? bytes : 0), 1, info, MPI_COMM_WORLD,
                        &w.base, &w.win));
    OK(MPI_Info_free(&info));
    for (size_t i = 0; owner == micro_rank && i < bytes; ++i) {
        w.base[i] = micro_byte(i);
    }
    for (int i = 0; i < MICRO_COUNTERS; ++i) {
        w.counter[i] = MPI_T_PVAR_HANDLE_NULL;
    }
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return w;
}

static void measure_warm(struct micro_window *memory, struct micro_window *file, size_t size,
                         size_t bytes, long rounds)
{
    struct micro_gets gets[] = {{memory, buffer, bytes, bytes, size / bytes, 2029, 0},
                                {file, buffer, bytes, bytes, size / bytes, 2029, 0}};
    struct micro_subject subjects[] = {{micro_get_flush, &gets[0], 0, NULL},
                                       {micro_get_flush, &gets[1], 0, NULL}};

    for (int i = 0; i < 2; ++i) {
        micro_get_flush(&gets[i], 64);
        micro_check(&gets[i]);
    }
    micro_interleave(subjects, 2, rounds);
    micro_print("storage", "warm", bytes, "memory", "ns", subjects[0].ns, rounds);
    micro_print("storage", "warm", bytes, "file", "ns", subjects[1].ns, rounds);
    micro_print_ratio("storage", "warm", bytes, "file/memory", subjects[1].ns, subjects[0].ns, 1, 0,
                      rounds);
}

static void warm(long rounds)
{
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    static const size_t sizes[] = {64, PAGE, 65536};
    struct micro_window memory, file = on_file("warm", 4 * MIB, MICRO_TARGET, "random");

    micro_window_make(&memory, 4 * MIB, off);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        MICRO_MEASURE(measure_warm(&memory, &file, 4 * MIB, sizes[i], rounds));
    }
    micro_window_free(&memory);
    micro_window_free(&file);
}

static struct micro_window synced;
static size_t synced_size;

static void sync_unchanged(void *argument, long n)
{
    (void) argument;
    for (long i = 0; i < n; ++i) {
        MPI_Win_sync(synced.win);
    }
}

static void sync_page(void *argument, long n)
{
    (void) argument;
    for (long i = 0; i < n; ++i) {
        synced.base[synced_size / 2] += 1;
        MPI_Win_sync(synced.win);
    }
}

static void msync_all(void *argument, long n)
{
    (void) argument;
    for (long i = 0; i < n; ++i) {
        (void) msync(synced.base, synced_size, MS_SYNC);
    }
}

static void measure_sync(long rounds)
{
    struct micro_subject subjects[] = {
        {sync_unchanged, NULL, 1, NULL}, {sync_page, NULL, 1, NULL}, {msync_all, NULL, 1, NULL}};
    static const char *const names[] = {"unchanged", "one page", "msync, unchanged"};

    sync_unchanged(NULL, 2);
    micro_interleave(subjects, 3, rounds);
    for (int i = 0; i < 3; ++i) {
        micro_print("storage", "sync", synced_size / MIB, names[i], "ns", subjects[i].ns, rounds);
    }
}

/* A control group of this process alone; @return whether there is one */
static bool limit_memory(char *group, size_t size, size_t bytes)
{
    static const char *const roots[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};
    static const char *const limits[] = {"memory.limit_in_bytes", "memory.max"};
    char path[4096];

    for (int i = 0; i < 2; ++i) {
        FILE *file;
        bool good = false;

        snprintf(group, size, "%s/olbench.%d", roots[i], (int) getpid());
        if (0 != mkdir(group, 0755)) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", group, limits[i]);
        file = fopen(path, "w");
        if (NULL != file) {
            fprintf(file, "%zu\n", bytes);
            good = 0 == fclose(file);
        }
        snprintf(path, sizeof(path), "%s/cgroup.procs", group);
        file = good ? fopen(path, "w") : NULL;
        if (NULL != file) {
            fprintf(file, "%d\n", (int) getpid());
            good = 0 == fclose(file);
        }
        if (NULL != file && good) {
            return true;
        }
        rmdir(group);
    }
    return false;
}

/* Only an empty group can be removed. */
static void leave_group(const char *group)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%.*s/cgroup.procs", (int) (strrchr(group, '/') - group), group);
    file = fopen(path, "w");
    if (NULL != file) {
        fprintf(file, "%d\n", (int) getpid());
        fclose(file);
    }
    rmdir(group);
}

static int target_pid;

/* Bytes that the target has read from devices; NAN: this kernel does not tell. */
static double bytes_read(void)
{
    char path[64], line[128];
    double bytes = NAN;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/io", target_pid);
    file = fopen(path, "r");
    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        (void) sscanf(line, "read_bytes: %lf", &bytes);
    }
    if (NULL != file) {
        fclose(file);
    }
    return bytes;
}

static void measure_limited(struct micro_window *ahead, struct micro_window *random, size_t size,
                            long rounds)
{
    struct micro_gets gets[] = {{ahead, buffer, PAGE, PAGE, size / PAGE, 20297, 0},
                                {random, buffer, PAGE, PAGE, size / PAGE, 20297, 0}};
    struct micro_subject subjects[] = {{micro_get_flush, &gets[0], 16, NULL},
                                       {micro_get_flush, &gets[1], 16, NULL}};

    /* a count, which other work on the machine does not change */
    for (int i = 0; i < 2; ++i) {
        static const char *const names[] = {"read-ahead, bytes read per get",
                                            "random, bytes read per get"};
        const long n = 400;
        double before = bytes_read();

        micro_check(&gets[i]);
        micro_get_flush(&gets[i], n - 1);
        micro_print_one("storage", "limited", PAGE, names[i], "B",
                        (bytes_read() - before) / (double) n);
    }
    micro_interleave(subjects, 2, rounds);
    micro_print("storage", "limited", PAGE, "read-ahead", "ns", subjects[0].ns, rounds);
    micro_print("storage", "limited", PAGE, "random", "ns", subjects[1].ns, rounds);
    micro_print_ratio("storage", "limited", PAGE, "read-ahead/random", subjects[0].ns,
                      subjects[1].ns, 1, 0, rounds);
}

static void limited(size_t size, long rounds)
{
    struct micro_window ahead, random;
    char group[256];
    int pid = (int) getpid(),
        possible = MICRO_TARGET != micro_rank || limit_memory(group, sizeof(group), size / 4);

    OK(MPI_Allreduce(MPI_IN_PLACE, &possible, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (!possible) {
        if (MICRO_ORIGIN == micro_rank) {
            fprintf(stderr, "SKIP: no control group for memory can be created here\n");
        }
        return;
    }
    target_pid = pid;
    OK(MPI_Bcast(&target_pid, 1, MPI_INT, MICRO_TARGET, MPI_COMM_WORLD));
    ahead = on_file("ahead", size, MICRO_TARGET, "reverse_sequential");
    random = on_file("random", size, MICRO_TARGET, "random");
    MICRO_MEASURE(measure_limited(&ahead, &random, size, rounds));
    micro_window_free(&ahead);
    micro_window_free(&random);
    if (MICRO_TARGET == micro_rank) {
        leave_group(group);
    }
}

int main(int argc, char **argv)
{
    long rounds;
    const char *what;

    micro_init(&argc, &argv);
    rounds = micro_positive("rounds", 101);
    what = micro_option("what", "warm");
    if (0 == strcmp(what, "warm")) {
        warm(rounds);
    } else if (0 == strcmp(what, "sync")) {
        synced_size = (size_t) micro_positive("megabytes", 512) * MIB;
        synced = on_file("sync", synced_size, MICRO_ORIGIN, "random");
        MICRO_MEASURE(measure_sync(rounds));
        micro_window_free(&synced);
    } else {
        limited((size_t) micro_positive("megabytes", 384) * MIB, rounds);
    }
    return micro_done();
}
