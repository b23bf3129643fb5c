/* O2: many windows that others read again and again leave the process file descriptors for its own
 * use, and take little memory each.
 *
 * test: for=osc-cached needs=cache ranks=2 transport=tcp limit=120 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { WINDOWS = 150, BYTES = 8192, FILES = 256, KIB_EACH = 200 };

static long resident_kib(void)
{
    long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");

    while (NULL != file && NULL != fgets(line, sizeof(line), file)
           && 1 != sscanf(line, "VmRSS: %ld", &kib)) {
    }
    if (NULL != file) {
        (void) fclose(file);
    }
    return kib;
}

int main(int argc, char **argv)
{
    const struct timespec moment = {.tv_nsec = 500000};
    static MPI_Win win[WINDOWS];
    struct counters c;
    struct rlimit files;
    long before, after;
    char *memory;
    int file, peer;

    test_init(&argc, &argv);
    peer = 1 - test_rank;
    memory = mmap(NULL, WINDOWS * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                  0);
    memset(memory, 1, WINDOWS * BYTES);
    OK(getrlimit(RLIMIT_NOFILE, &files));
    files.rlim_cur = FILES;
    OK(setrlimit(RLIMIT_NOFILE, &files));
    OK(MPI_Win_create(memory, BYTES, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win[0]));
    if (!coherent_is(win[0])) {
        test_skip("stores cannot be detected here");
    }
    before = resident_kib();
    for (int i = 1; i < WINDOWS; ++i) {
        OK(MPI_Win_create(memory + (size_t) i * BYTES, BYTES, sizeof(long), MPI_INFO_NULL,
                          MPI_COMM_WORLD, &win[i]));
    }
    after = resident_kib();
    CHECK((after - before) / WINDOWS < KIB_EACH, "%ld KiB each", (after - before) / WINDOWS);
    counters_open(&c, &win[0]);
    test_barrier();
    for (int i = 0; i < WINDOWS; ++i) {
        OK(MPI_Win_lock_all(0, win[i]));
        CHECK(0 < i || coherent_warm(win[i], &c, peer, 3, 0x0101010101010101), "never a hit");
        for (int k = 0; k < 5; ++k) {
            CHECK(0x0101010101010101 == coherent_get(win[i], peer, 3), "window %d", i);
            nanosleep(&moment, NULL);
        }
        OK(MPI_Win_unlock_all(win[i]));
    }
    test_barrier();
    file = open("/dev/null", O_RDONLY);
    CHECK(-1 != file && file < 3 * FILES / 4, "descriptor %d (%s)", file, strerror(errno));
    (void) close(file);
    for (int i = 0; i < WINDOWS; ++i) {
        OK(MPI_Win_free(&win[i]));
    }
    return test_done();
}
