/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What "ompi-locality doctor" runs: a small program with windows of both kinds, whose gets repeat,
 * and messages.  All bytes are checked; the exit code is 1 if one is wrong.  With the argument
 * "facts", rank 0 prints one line per fact about the processes that mpirun starts:
 *
 *     release VERSION            of Open MPI
 *     hosts NUMBER               nodes that the processes are on
 *     library PATH               libmpi in use, and the components osc/cached and pml/llamatch
 *     ucx VERSION                of the libucp that can be loaded; none: no such line
 *     userfaultfd yes|REASON
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "osc_cached_uffd.h"

enum { VALUES = 1024, PIECE = 16, ROUNDS = 3 };

static long value(int rank, int i)
{
    return 1000003L * rank + 7L * i;
}

/* Read the neighbour's part of a window several times, in epochs of both kinds. */
static int gets_wrong(MPI_Win window, long *memory, int rank, int neighbour, const char *name)
{
    static long got[ROUNDS][VALUES];
    int wrong = 0;

    MPI_Win_set_name(window, name);
    MPI_Win_fence(0, window);
    for (int i = 0; i < VALUES; ++i) {
        memory[i] = value(rank, i);
    }
    for (int passive = 0; passive < 2; ++passive) {
        memset(got, 0, sizeof(got));
        if (passive) {
            MPI_Win_lock_all(0, window);
        } else {
            MPI_Win_fence(0, window);
        }
        for (int round = 0; round < ROUNDS; ++round) {
            for (int i = 0; i < VALUES; i += PIECE) {
                MPI_Get(&got[round][i], PIECE, MPI_LONG, neighbour, i, PIECE, MPI_LONG, window);
            }
            if (passive) {
                MPI_Win_flush(neighbour, window);
            }
        }
        if (passive) {
            MPI_Win_unlock_all(window);
        } else {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
        }
        for (int i = 0; i < ROUNDS * VALUES; ++i) {
            wrong += got[i / VALUES][i % VALUES] != value(neighbour, i % VALUES);
        }
    }
    MPI_Win_free(&window);
    return wrong;
}

static int messages_wrong(int rank, int size)
{
    long sent = value(rank, 1), got = 0;
    int from = (rank + size - 1) % size;

    MPI_Sendrecv(&sent, 1, MPI_LONG, (rank + 1) % size, 1, &got, 1, MPI_LONG, from, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return got != value(from, 1);
}

static int count_hosts(int size)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    char *names = malloc((size_t) size * sizeof(name));
    int length, hosts = 0;

    if (NULL == names) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Get_processor_name(name, &length);
    MPI_Allgather(name, sizeof(name), MPI_CHAR, names, sizeof(name), MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) {
        int j = 0;

        while (0 != strcmp(names + (size_t) i * sizeof(name), names + (size_t) j * sizeof(name))) {
            ++j;
        }
        hosts += i == j;
    }
    free(names);
    return hosts;
}

static void print_release(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char release[32] = "unknown";
    int length;

    MPI_Get_library_version(text, &length);
    (void) sscanf(text, "Open MPI v%31[^, ]", release);
    printf("release %s\n", release);
}

/* Files of /proc/self/maps that tell which Open MPI this is. */
static void print_libraries(void)
{
    static const char *const wanted[] = {"/libmpi.so", "/mca_osc_cached.so",
                                         "/mca_pml_llamatch.so"};
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4200];
    int printed[3] = {0};

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        char *path = strchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < 3; ++i) {
            if (NULL != path && !printed[i] && NULL != strstr(path, wanted[i])) {
                printf("library %s\n", path);
                printed[i] = 1;
            }
        }
    }
    if (NULL != maps) {
        (void) fclose(maps);
    }
}

static void print_ucx(void)
{
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_LOCAL);
    const char *(*version)(void);

    if (NULL != library) {
        *(void **) &version = dlsym(library, "ucp_get_version_string");
        printf("ucx %s\n", (NULL == version) ? "unknown" : version());
    }
}

/* Whether this process may have stores to its pages wait (mode coherent, osc_cached_stores). */
static void print_userfaultfd(void)
{
#if OSC_CACHED_UFFD
    int descriptor, error = ompi_osc_cached_uffd_open(0, &descriptor);

    if (0 == error) {
        error = ompi_osc_cached_uffd_api(descriptor, OSC_CACHED_UFFD_WP);
        (void) close(descriptor);
        printf("userfaultfd %s\n", (0 == error) ? "yes" : "has no write protection (Linux 5.7)");
    } else {
        printf("userfaultfd %s\n", strerror(error));
    }
#else
    printf("userfaultfd is unknown to this system\n");
#endif
}

int main(int argc, char **argv)
{
    static long memory[VALUES];
    long *allocated = NULL;
    int rank, size, hosts, wrong, all = 0;
    MPI_Win window;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(memory, sizeof(memory), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    wrong = gets_wrong(window, memory, rank, (rank + 1) % size, "created");
    MPI_Win_allocate(sizeof(memory), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated,
                     &window);
    wrong += gets_wrong(window, allocated, rank, (rank + 1) % size, "allocated");
    wrong += messages_wrong(rank, size);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    hosts = count_hosts(size);
    if (0 == rank && 1 < argc && 0 == strcmp(argv[1], "facts")) {
        print_release();
        printf("hosts %d\n", hosts);
        print_libraries();
        print_ucx();
        print_userfaultfd();
    }
    MPI_Finalize();
    return 0 < all;
}
