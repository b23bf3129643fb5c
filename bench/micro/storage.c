/*
 * Windows on files (alloc_type=storage), in turns with what they are compared with:
 *
 *     --what=warm     gets from a file that is in memory, beside a window in memory
 *     --what=sync     MPI_Win_sync of an unchanged window of 512 MiB, and of one page of it; beside
 *                     msync of the whole window
 *     --what=limited  random gets of 4 KiB from a target that may use a quarter of the window as
 *                     memory (control groups), beside the kernel's own read-ahead
 *     --what=blocks   vGASNet's Fig. 7: throughput of gets of several sizes from a window in memory
 *                     ("gasnet_get"), from a file that is in memory ("cache") and from one that is
 *                     not ("NVM")
 *
 *     storage [--rounds=N] [--window=create|allocate] [--megabytes=N] [--file=NAME] [--case=SUFFIX]
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "limit.h"
#include "micro.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20, FILE_BYTES = 64 * MIB };

static unsigned char buffer[4 * MIB];

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
    char name[64];

    snprintf(name, sizeof(name), "warm%s", micro_option("case", ""));
    for (int i = 0; i < 2; ++i) {
        micro_get_flush(&gets[i], 64);
        micro_check(&gets[i]);
    }
    micro_interleave(subjects, 2, rounds);
    micro_print("storage", name, bytes, "memory", "ns", subjects[0].ns, rounds);
    micro_print("storage", name, bytes, "file", "ns", subjects[1].ns, rounds);
    micro_print_ratio("storage", name, bytes, "file/memory", subjects[1].ns, subjects[0].ns, 1, 0,
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

    for (int i = 0; i < 3; ++i) {
        subjects[i].ns = malloc((size_t) rounds * sizeof(double));
    }
    for (long round = 0; round < rounds; ++round) {
        for (int turn = 0; turn < 3; ++turn) {
            struct micro_subject *s = &subjects[(round + turn) % 3];

            sync_unchanged(NULL, 2); /* each one writes again what the one before found */
            s->ns[round] = micro_time_batch(s, 1);
        }
    }
    for (int i = 0; i < 3; ++i) {
        micro_print("storage", "sync", synced_size, names[i], "ns", subjects[i].ns, rounds);
    }
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

/* What the kernel reads in advance is still on its way when a get returns, and the next reads wait
 * behind it: let that end, for at most so many gets. */
static void settle(struct micro_gets *gets)
{
    int quick = 0;

    for (int i = 0; i < 200 && quick < 3; ++i) {
        double start = micro_now_ns();

        micro_get_flush(gets, 1);
        quick = (micro_now_ns() - start < 1e6) ? quick + 1 : 0;
    }
}

enum { FIRST = 400, WINDOWS = 7 };

/* Linux reads far ahead of the first hundred pages of a file that are missed, and then gives that
 * up until there are hits again: the first gets of a window, and later ones. */
static void measure_first(struct micro_window *ahead, struct micro_window *random, size_t size,
                          int window)
{
    static const char *const names[] = {"read-ahead, bytes read per get",
                                        "random, bytes read per get"};
    static double ns[2][WINDOWS];
    struct micro_gets gets[] = {{ahead, buffer, PAGE, PAGE, size / PAGE, 20297, 0},
                                {random, buffer, PAGE, PAGE, size / PAGE, 20297, 0}};

    for (int turn = 0; turn < 2; ++turn) {
        int i = (turn + window) % 2;
        double before = bytes_read(), start = micro_now_ns();

        micro_get_flush(&gets[i], FIRST);
        ns[i][window] = (micro_now_ns() - start) / FIRST;
        if (0 == window) { /* a count, which other work on the machine does not change */
            micro_print_one("storage", "limited", PAGE, names[i], "B",
                            (bytes_read() - before) / FIRST);
            micro_check(&gets[i]);
        }
        settle(&gets[i]);
    }
    if (WINDOWS - 1 == window) {
        micro_print("storage", "limited", PAGE, "read-ahead", "ns", ns[0], WINDOWS);
        micro_print("storage", "limited", PAGE, "random", "ns", ns[1], WINDOWS);
        micro_print_ratio("storage", "limited", PAGE, "read-ahead/random", ns[0], ns[1], 1, 0,
                          WINDOWS);
    }
}

static void measure_later(struct micro_window *ahead, struct micro_window *random, size_t size,
                          long rounds)
{
    struct micro_gets gets[] = {{ahead, buffer, PAGE, PAGE, size / PAGE, 20297, 2 * FIRST},
                                {random, buffer, PAGE, PAGE, size / PAGE, 20297, 2 * FIRST}};
    struct micro_subject subjects[] = {{micro_get_flush, &gets[0], 0, NULL},
                                       {micro_get_flush, &gets[1], 0, NULL}};

    micro_interleave(subjects, 2, rounds);
    micro_print("storage", "limited, later", PAGE, "read-ahead", "ns", subjects[0].ns, rounds);
    micro_print("storage", "limited, later", PAGE, "random", "ns", subjects[1].ns, rounds);
    micro_print_ratio("storage", "limited, later", PAGE, "read-ahead/random", subjects[0].ns,
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
    for (int window = 0; window < WINDOWS; ++window) {
        ahead = on_file("ahead", size, MICRO_TARGET, "reverse_sequential");
        random = on_file("random", size, MICRO_TARGET, "random");
        if (MICRO_TARGET == micro_rank) { /* nothing is to be written meanwhile */
            (void) msync(ahead.base, size, MS_SYNC);
            (void) msync(random.base, size, MS_SYNC);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        MICRO_MEASURE(measure_first(&ahead, &random, size, window));
        if (WINDOWS - 1 == window) {
            MICRO_MEASURE(measure_later(&ahead, &random, size, rounds));
        }
        micro_window_free(&ahead);
        micro_window_free(&random);
    }
    if (MICRO_TARGET == micro_rank) {
        leave_group(group);
    }
}

/* Forget what is in memory of the file of another process, which does not map it. */
static void forget(int file, size_t from, size_t bytes)
{
    (void) posix_fadvise(file, (off_t) from, (off_t) bytes, POSIX_FADV_DONTNEED);
}

static void measure_blocks(struct micro_window *memory, struct micro_window *file, int opened,
                           size_t bytes, long rounds)
{
    static const char *const names[] = {"memory (gasnet_get)", "file, in memory (cache)",
                                        "file, not in memory (NVM)"};
    struct micro_gets gets[] = {{memory, buffer, bytes, bytes, FILE_BYTES / bytes, 5, 0},
                                {file, buffer, bytes, bytes, FILE_BYTES / bytes, 5, 0}};
    double *rate = malloc(3 * (size_t) rounds * sizeof(*rate)), before, sum = 0;

    for (int i = 0; i < 2; ++i) {
        micro_check(&gets[i]);
    }
    for (long round = 0; round < rounds; ++round) {
        for (int i = 0; i < 3; ++i) {
            struct micro_gets *get = &gets[0 < i];
            double start;

            if (1 == i) { /* a first get brings it into memory, the second is measured */
                get->next = (get->next + get->step) & (get->count - 1);
                micro_get_flush(get, 1);
                get->next = (get->next - get->step) & (get->count - 1);
            } else if (2 == i) {
                forget(opened, get->next * bytes, bytes);
            }
            before = bytes_read();
            start = micro_now_ns();
            micro_get_flush(get, 1);
            rate[i * rounds + round] = (double) bytes / (micro_now_ns() - start) * 1e3;
            sum += (2 == i) ? bytes_read() - before : 0;
        }
    }
    for (int i = 0; i < 3; ++i) {
        micro_print("storage", "blocks", bytes, names[i], "MB/s", rate + i * rounds, rounds);
    }
    micro_print_one("storage", "blocks", bytes, "NVM, bytes read per get", "B",
                    sum / (double) rounds);
    free(rate);
}

static void blocks(long rounds)
{
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    struct micro_window memory, file = on_file("blocks", FILE_BYTES, MICRO_TARGET, "random");
    char path[4096];
    int opened = -1;

    target_pid = (int) getpid();
    OK(MPI_Bcast(&target_pid, 1, MPI_INT, MICRO_TARGET, MPI_COMM_WORLD));
    if (MICRO_TARGET == micro_rank) { /* from here on only helpers read it */
        (void) msync(file.base, FILE_BYTES, MS_SYNC);
        (void) madvise(file.base, FILE_BYTES, MADV_DONTNEED);
    } else {
        snprintf(path, sizeof(path), "%s.blocks.%d", micro_option("file", "/tmp/storage-bench"),
                 MICRO_TARGET);
        opened = open(path, O_RDONLY);
    }
    micro_window_make(&memory, FILE_BYTES, off);
    for (size_t bytes = PAGE; bytes <= 4 * MIB; bytes *= 4) {
        MICRO_MEASURE(measure_blocks(&memory, &file, opened, bytes, rounds));
    }
    if (-1 != opened) {
        close(opened);
    }
    micro_window_free(&memory);
    micro_window_free(&file);
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
    } else if (0 == strcmp(what, "blocks")) {
        blocks(rounds);
    } else { /* a power of two, so that all pages are asked for */
        limited((size_t) micro_positive("megabytes", 512) * MIB, rounds);
    }
    return micro_done();
}
