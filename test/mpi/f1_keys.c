/* The info keys of windows on files: part of a window in memory (factor, order, auto), the file
 * removed (unlink) or not written (discard) when the window is freed, permissions, access style;
 * what is not alloc_type=storage is an ordinary window; MPI_Win_get_info tells them.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 cflags=-rdynamic
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <sys/mman.h>

enum { SIZE = 1 << 20 };

static int advised;

/* In the place of the C library's: what the component says of the reads of helpers. */
int posix_fadvise(int file, off_t from, off_t length, int advice)
{
    (void) file;
    (void) from;
    (void) length;
    advised = advice;
    return 0;
}

/* Fill a window, read it at the neighbour; then the file has `bytes` from `start` on. */
static void parts(const char *name, const char *factor, const char *order, long start, long bytes)
{
    char *base, *got = malloc(SIZE), *wanted = malloc(SIZE);
    int right = (test_rank + 1) % test_size;
    MPI_Win win;
    long size;

    OK(storage_allocate(SIZE, 1, &base, &win, name, "storage_alloc_factor", factor,
                        "storage_alloc_order", order, NULL));
    for (int i = 0; i < SIZE; ++i) {
        wanted[i] = (char) (i * 7 + i / 4096);
        base[i] = wanted[i] + test_rank;
    }
    test_barrier();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    OK(MPI_Get(got, SIZE, MPI_CHAR, right, 0, SIZE, MPI_CHAR, win));
    OK(MPI_Win_unlock(right, win));
    for (int i = 0; i < SIZE; ++i) {
        CHECK((char) (wanted[i] + right) == got[i], "byte %d of the window", i);
    }
    OK(MPI_Win_free(&win));
    size = storage_read(name, got, SIZE);
    CHECK(size == ((0 == bytes) ? -1 : bytes), "%s: the file has %ld bytes", name, size);
    for (int i = 0; i < bytes; ++i) {
        CHECK((char) (wanted[start + i] + test_rank) == got[i], "%s: byte %d of the file", name, i);
    }
    free(got);
    free(wanted);
}

/* The file that is removed is the one of the window, wherever the process is by then. */
static void elsewhere(void)
{
    char folder[160], *base;
    int before = open(".", O_RDONLY);
    MPI_Win win;

    snprintf(folder, sizeof(folder), "%s", storage_name("elsewhere"));
    CHECK(0 == mkdir(folder, 0700) && 0 == chdir(storage_folder), "%s", folder);
    OK(storage_allocate(100, 1, &base, &win, "./ours", "storage_alloc_unlink", "true", NULL));
    CHECK(0 == access("ours", F_OK) && 0 == chdir(folder), "%s", folder);
    close(open("ours", O_CREAT | O_RDWR, 0600));
    OK(MPI_Win_free(&win));
    CHECK(0 == access("ours", F_OK), "another file was removed");
    CHECK(0 != access("../ours", F_OK), "the file is still there");
    unlink("ours");
    CHECK(0 == fchdir(before) && 0 == rmdir(folder), "%s", folder);
    close(before);
}

/* What the kernel was told of the pages: "rr" random, "sr" sequential. */
static int is_told(const char *base, const char *flag)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long from, to;
    int inside = 0, found = 0;
    char line[512];

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        if (2 == sscanf(line, "%lx-%lx ", &from, &to)) {
            inside = from <= (unsigned long) base && (unsigned long) base < to;
        } else if (inside && 0 == strncmp(line, "VmFlags:", 8)) {
            found = NULL != strstr(line, flag);
        }
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return found;
}

static void at_free(void)
{
    struct stat status;
    char *base, got[8] = "";
    mode_t mask = umask(0);
    MPI_Win win;

    OK(storage_allocate(100, 1, &base, &win, "gone", "storage_alloc_unlink", "true", NULL));
    strcpy(base, "abc");
    CHECK(3 < storage_read("gone", got, sizeof(got)), "no file");
    OK(MPI_Win_free(&win));
    CHECK(-1 == storage_read("gone", got, sizeof(got)), "the file is still there");
    elsewhere();

    OK(storage_allocate(100, 1, &base, &win, "left", "storage_alloc_discard", "true", "file_perm",
                        "0640", "access_style", "sequential,read_mostly", NULL));
    CHECK(0 == stat(storage_name("left"), &status) && 0640 == (status.st_mode & 0777),
          "permissions %o", status.st_mode);
    CHECK(is_told(base, " sr") && POSIX_FADV_SEQUENTIAL == advised,
          "the kernel does not read ahead");
    OK(MPI_Win_free(&win));
    OK(storage_allocate(100, 1, &base, &win, "private", NULL));
    CHECK(is_told(base, " rr") && POSIX_FADV_RANDOM == advised, "the kernel reads ahead");
    CHECK(0 == stat(storage_name("private"), &status) && 0600 == (status.st_mode & 0777),
          "permissions %o", status.st_mode);
    OK(MPI_Win_free(&win));
    umask(mask);
}

/* MPI_Win_get_info has the keys in force, also those that were not given. */
static void told(void)
{
    static const char *const keys[][2] = {
        {"alloc_type", "storage"},
        {"storage_alloc_offset", "65536"},
        {"storage_alloc_factor", "0.25"},
        {"storage_alloc_order", "memory_first"},
        {"storage_alloc_unlink", "true"},
        {"storage_alloc_discard", "false"},
        {"file_perm", "600"},
        {"access_style", "sequential"},
    };
    char *base, value[256] = "", *name = strdup(storage_name("told"));
    MPI_Info info;
    MPI_Win win;
    int flag;

    OK(storage_allocate(SIZE, 1, &base, &win, "told", "storage_alloc_unlink", "true",
                        "storage_alloc_offset", "65536", "storage_alloc_factor", ".25",
                        "access_style", "sequential,read_mostly", NULL));
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "storage_alloc_filename", sizeof(value) - 1, value, &flag));
    CHECK(flag && 0 == strcmp(value, name), "file name %s", flag ? value : "(none)");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        OK(MPI_Info_get(info, keys[i][0], sizeof(value) - 1, value, &flag));
        CHECK(flag && 0 == strcmp(value, keys[i][1]), "%s is %s", keys[i][0],
              flag ? value : "(none)");
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Win_free(&win));
    free(name);
}

/* Keys without alloc_type=storage mean nothing. */
static void in_memory(void)
{
    MPI_Info info;
    MPI_Win win;
    char *base;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "storage_alloc_filename", storage_name("never")));
    for (int i = 0; i < 2; ++i) {
        OK(MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win));
        OK(MPI_Win_free(&win));
        OK(MPI_Info_set(info, "alloc_type", "memory"));
    }
    OK(MPI_Info_free(&info));
    CHECK(0 != access(storage_name("never"), F_OK), "a file");
}

int main(int argc, char **argv)
{
    long page = sysconf(_SC_PAGESIZE);

    storage_begin();
    test_init(&argc, &argv);
    parts("all", "1", "memory_first", 0, SIZE);
    parts("half", "0.5", "memory_first", SIZE / 2, SIZE / 2);
    parts("first", "0.5", "storage_first", 0, SIZE / 2);
    parts("none", "0", "storage_first", 0, 0);
    parts("most", "0.999999", "memory_first", 0, SIZE);
    parts("least", "0.000001", "storage_first", 0, page);
    parts("auto", "auto", "memory_first", 0, 0);
    at_free();
    told();
    in_memory();
    storage_end();
    return test_done();
}
