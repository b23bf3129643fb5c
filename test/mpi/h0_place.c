/* Where the helper's thread runs: on a processor that no rank runs on, or else on those of its
 * process, as the system tells it; and that there it does what other processes ask for.
 * test: for=osc-cached needs=cache ranks=1 transport=shm cflags=-rdynamic bind=core args=bound
 * test: for=osc-cached needs=cache ranks=2 transport=shm cflags=-rdynamic bind=core:overload-allowed args=bound
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp cflags=-rdynamic args=auto
 * test: for=osc-cached needs=cache ranks=1 transport=shm cflags=-rdynamic bind=core args=process
 * test: for=osc-cached needs=cache ranks=2 transport=shm cflags=-rdynamic args=0
 * test: for=osc-cached needs=cache ranks=3 transport=shm cflags=-rdynamic args="0 pairs"
 * test: for=osc-cached needs=cache ranks=1 transport=shm cflags=-rdynamic args="0 foreign"
 * test: for=osc-cached needs=cache ranks=1 transport=shm cflags=-rdynamic args=1048575 expect="text:no processor of"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "helper.h"

#include <sched.h>
#include <unistd.h>

static int foreign;

/* Windows of two ranks each: no window has all, but all of them together have. */
static void make_pairs(MPI_Win *wins)
{
    long *base;
    int number = 0;

    for (int i = 0; i < test_size; ++i) {
        for (int k = i + 1; k < test_size; ++k) {
            MPI_Comm pair;
            int in = i == test_rank || k == test_rank;

            OK(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, 0, &pair));
            if (in) {
                OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, pair, &base,
                                    &wins[number++]));
                OK(MPI_Comm_free(&pair));
            }
        }
    }
}

/* In the place of hwloc's: the topology of Open MPI is of a hwloc that is not the component's. */
int hwloc_topology_abi_check(void *topology)
{
    (void) topology;
    return -foreign;
}

/* The rest of the line of a file of /proc/self that begins so. */
static int read_line(const char *path, const char *begin, char *rest, size_t size)
{
    char name[300], line[1024];
    int found = 0;
    FILE *file;

    snprintf(name, sizeof(name), "/proc/self/%s", path);
    file = fopen(name, "r");
    while (!found && NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (0 == strncmp(line, begin, strlen(begin))) {
            snprintf(rest, size, "%s", line + strlen(begin));
            rest[strcspn(rest, "\n")] = '\0';
            found = 1;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return found;
}

/* The processors of the helper's thread. @return its number; 0: there is none */
static int find_helper(char *list, size_t size)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    char path[280], name[64];
    int found = 0;

    while (0 == found && NULL != tasks && NULL != (entry = readdir(tasks))) {
        snprintf(path, sizeof(path), "task/%s/comm", entry->d_name);
        if (0 < atoi(entry->d_name) && read_line(path, "", name, sizeof(name))
            && 0 == strcmp(name, "osc_cached")) {
            snprintf(path, sizeof(path), "task/%s/status", entry->d_name);
            found = read_line(path, "Cpus_allowed_list:\t", list, size) ? atoi(entry->d_name) : 0;
        }
    }
    if (NULL != tasks) {
        closedir(tasks);
    }
    return found;
}

/* One operation at another process, if there is one. @return how many */
static unsigned long use(MPI_Win win)
{
    int rank, size, other;
    MPI_Group group;

    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Group_rank(group, &rank));
    OK(MPI_Group_size(group, &size));
    OK(MPI_Group_free(&group));
    other = (rank + 1) % size;
    if (rank == other) {
        return 0;
    }
    helper_add_one(win, other);
    return 1;
}

int main(int argc, char **argv)
{
    int bound = 0 == strcmp(argv[1], "bound");
    const char *cpu = bound ? "auto" : argv[1];
    char mine[512] = "", its[512] = "";
    cpu_set_t set, all, job, both, helper;
    long *base;
    MPI_Win wins[3] = {MPI_WIN_NULL, MPI_WIN_NULL, MPI_WIN_NULL};
    int id, own, spare, pairs;
    struct counters c[3];
    unsigned long given[3] = {0, 0, 0};

    foreign = 2 < argc && 0 == strcmp(argv[2], "foreign");
    pairs = 2 < argc && !foreign;
    setenv("OMPI_MCA_osc_cached_helper", "on", 1);
    setenv("OMPI_MCA_osc_cached_helper_cpu", cpu, 1);
    test_init(&argc, &argv);
    CHECK(0 == sched_getaffinity(0, sizeof(set), &set), "no affinity");
    CHECK(read_line("status", "Cpus_allowed_list:\t", mine, sizeof(mine)), "no status");
    if (pairs) {
        make_pairs(wins);
    } else {
        wins[0] = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    }
    id = find_helper(its, sizeof(its));
    if (0 == id || 0 != sched_getaffinity(id, sizeof(helper), &helper)) {
        CHECK(0, "there is no helper");
        return test_done();
    }
    OK(MPI_Allreduce(&set, &all, sizeof(all), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    CPU_AND(&both, &all, &helper);
    own = 0 == strcmp(mine, its);
    spare = 1 == CPU_COUNT(&helper) && 0 == CPU_COUNT(&both);
    if (0 == strcmp(cpu, "0") && !foreign) {
        CHECK(0 == strcmp("0", its), "processors %s, wanted 0", its);
    } else if (!bound || CPU_COUNT(&all) == sysconf(_SC_NPROCESSORS_ONLN)) {
        CHECK(own, "processors %s, those of the process are %s", its, mine);
    } else {
        /* the launcher's daemon has all that the job may use; 4.1 binds to others, too */
        CHECK(0 == sched_getaffinity(getppid(), sizeof(job), &job), "no affinity of the launcher");
        CPU_OR(&both, &all, &job);
        CHECK(spare || (own && (CPU_EQUAL(&all, &job) || !CPU_EQUAL(&both, &job))),
              "processors %s, those of the process are %s", its, mine);
    }
    for (int i = 0; i < 3; ++i) {
        if (MPI_WIN_NULL != wins[i]) {
            counters_open(&c[i], &wins[i]);
        }
    }
    test_barrier();
    for (int i = 0; i < 3; ++i) {
        if (MPI_WIN_NULL != wins[i]) {
            given[i] = use(wins[i]);
        }
    }
    test_barrier();
    for (int i = 0; i < 3; ++i) {
        if (MPI_WIN_NULL != wins[i]) {
            COUNTS(&c[i], "helper_served", given[i], "window %d", i); /* each is a target, too */
            counters_close(&c[i]);
            OK(MPI_Win_free(&wins[i]));
        }
    }
    return test_done();
}
