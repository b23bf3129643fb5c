/* One helper per node: the first process of the node has the only thread, which does all
 * accumulates and locks on the memory of all; puts and gets inside of a node are copies, and nothing
 * is left of the windows. Windows with other memory have a helper in each process, and so have all
 * when one process cannot share its memory.
 * test: for=osc-cached needs=cache ranks=2,4 transport=shm,tcp limit=60 args=allocate
 * test: for=osc-cached needs=cache ranks=2 transport=shm limit=60 args=create expect="text:not allocated by MPI_Win_allocate"
 * test: for=osc-cached needs=cache ranks=2 transport=tcp limit=60 args=limited expect="text:gives no memory that two processes can map"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <sys/resource.h>

enum { WINDOWS = 10, SUMS = 20 };

/* Has this process a thread of the helper? */
static int has_thread(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int found = 0;

    while (NULL != tasks && NULL != (entry = readdir(tasks))) {
        char path[300], name[64] = "";
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "r");
        found += NULL != file && NULL != fgets(name, sizeof(name), file)
                 && 0 == strcmp(name, "osc_cached\n");
        if (NULL != file) {
            fclose(file);
        }
    }
    if (NULL != tasks) {
        closedir(tasks);
    }
    return found;
}

/* Mappings of such memory. */
static int mapped(void)
{
    char line[1024];
    FILE *file = fopen("/proc/self/maps", "r");
    int found = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        found += NULL != strstr(line, "memfd:osc_cached");
    }
    if (NULL != file) {
        fclose(file);
    }
    return found;
}

/* Rank i has i + 1 words, but the last one has none. */
static int words_of(int rank)
{
    return (rank == test_size - 1 && 1 < rank) ? 0 : rank + 1;
}

/* Everybody adds to the last word of everybody, by sums and under locks. */
static void use(MPI_Win win, const long *base)
{
    long one = 1, now, more;

    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < SUMS; ++i) {
        for (int k = 0; k < test_size; ++k) {
            if (0 < words_of(k)) {
                OK(MPI_Accumulate(&one, 1, MPI_LONG, k, words_of(k) - 1, 1, MPI_LONG, MPI_SUM,
                                  win));
            }
        }
    }
    OK(MPI_Win_unlock_all(win));
    for (int k = 0; k < test_size; ++k) {
        if (0 < words_of(k)) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, k, 0, win));
            OK(MPI_Get(&now, 1, MPI_LONG, k, words_of(k) - 1, 1, MPI_LONG, win));
            OK(MPI_Win_flush(k, win));
            more = now + 1;
            OK(MPI_Put(&more, 1, MPI_LONG, k, words_of(k) - 1, 1, MPI_LONG, win));
            OK(MPI_Win_unlock(k, win));
        }
    }
    test_barrier();
    if (0 < words_of(test_rank)) {
        CHECK((SUMS + 1) * test_size == base[words_of(test_rank) - 1], "the sum is %ld",
              base[words_of(test_rank) - 1]);
    }
    test_barrier();
}

static MPI_Win make(int creates, long **base)
{
    MPI_Aint bytes = words_of(test_rank) * (MPI_Aint) sizeof(long);
    static long mine[16];
    MPI_Win win;

    if (creates) {
        *base = mine;
        OK(MPI_Win_create(mine, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
        OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, base, &win));
    }
    for (int i = 0; i < words_of(test_rank); ++i) {
        (*base)[i] = 0;
    }
    test_barrier();
    return win;
}

int main(int argc, char **argv)
{
    int creates = 0 == strcmp("create", argv[1]), limited = 0 == strcmp("limited", argv[1]);
    int alone = creates || limited, leads, here, files = 0, targets;
    struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    struct counters c;
    long *base;
    MPI_Comm node;
    MPI_Win win;

    setenv("OMPI_MCA_osc_cached_helper", "on", 1);
    setenv("OMPI_MCA_osc_cached_helper_per", "node", 1);
    test_init(&argc, &argv);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_rank(node, &leads));
    OK(MPI_Comm_size(node, &here));
    leads = 0 == leads;
    if (limited && here < test_size) {
        test_skip("UCX has shared memory inside of a node, which cannot grow either");
    }
    if (limited && 1 == test_rank) { /* no file, and no memory that is like one, can grow */
        CHECK(0 == setrlimit(RLIMIT_FSIZE, &none), "no limit");
    }
    win = make(creates, &base);
    counters_open(&c, &win);
    CHECK((alone || leads) == has_thread(), "threads: %d", has_thread());
    if (!alone) {
        targets = 0; /* with memory */
        for (int k = 0; k < test_size; ++k) {
            targets += 0 < words_of(k);
        }
        CHECK(here < test_size || targets == mapped(), "%d memories are mapped", mapped());
    }
    test_barrier();
    use(win, base);
    if (!alone && here == test_size) {
        COUNTS(&c, "helper_operations", SUMS * targets, "of this process");
        COUNTS(&c, "helper_locks", 2 * targets, "of this process");
        COUNTS(&c, "helper_copies", 2 * targets, "of this process");
        /* its sums on its own memory are nobody's */
        COUNTS(&c, "helper_served", leads ? SUMS * (test_size * targets - 1) : 0,
               "of this process");
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    for (int i = 0; i < WINDOWS; ++i) {
        win = make(creates, &base);
        use(win, base);
        OK(MPI_Win_free(&win));
        if (0 == i) {
            files = has_entries("/proc/self/fd");
        }
    }
    CHECK(0 == mapped(), "%d memories are still mapped", mapped());
    CHECK(has_entries("/proc/self/fd") <= files, "%d files, %d after the second window",
          has_entries("/proc/self/fd"), files);
    OK(MPI_Comm_free(&node));
    return test_done();
}
