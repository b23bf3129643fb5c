/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of a process to itself, for bench/instructions to count with callgrind: no waiting, so
 * the same instructions every time. Per message:
 *
 *   posted one      MPI_Irecv behind D receives with other tags, MPI_Send, MPI_Wait
 *   posted other    the same behind D receives of another source
 *   posted any      the same, all receives of any source
 *   unexpected one  MPI_Send, MPI_Recv behind D messages with other tags
 *   unexpected any  the same, received from any source
 *   iprobe any      MPI_Iprobe of any source, nothing there
 */

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

#define TAG 1
#define OTHER_TAG 10
#define MOST 1024

static MPI_Comm comm;
static MPI_Request others[MOST];
static char byte, other[MOST];

static void posted(int source, int n)
{
    for (int i = 0; i < n; ++i) {
        MPI_Request request;
        MPI_Irecv(&byte, 1, MPI_BYTE, source, TAG, comm, &request);
        MPI_Send(&byte, 1, MPI_BYTE, 0, TAG, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void unexpected(int source, int n)
{
    for (int i = 0; i < n; ++i) {
        MPI_Send(&byte, 1, MPI_BYTE, 0, TAG, comm);
        MPI_Recv(&byte, 1, MPI_BYTE, source, TAG, comm, MPI_STATUS_IGNORE);
    }
}

static void post_others(int source, int depth)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Irecv(&other[i], 1, MPI_BYTE, source, OTHER_TAG + i, comm, &others[i]);
    }
}

static void cancel_others(int depth)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Cancel(&others[i]);
        MPI_Wait(&others[i], MPI_STATUS_IGNORE);
    }
}

static void send_others(int depth)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Send(&other[i], 1, MPI_BYTE, 0, OTHER_TAG + i, comm);
    }
}

static void receive_others(int depth)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Recv(&other[i], 1, MPI_BYTE, 0, OTHER_TAG + i, comm, MPI_STATUS_IGNORE);
    }
}

static void iprobe(int source, int n)
{
    for (int i = 0; i < n; ++i) {
        int flag;
        MPI_Iprobe(source, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    }
}

/* Some before the count: free lists and queues have then grown to their size. */
static void count(const char *name, int depth, void (*run)(int source, int n), int source, int n)
{
    char label[64];

    snprintf(label, sizeof(label), "%s %d", name, depth);
    run(source, 100);
    CALLGRIND_ZERO_STATS;
    run(source, n);
    CALLGRIND_DUMP_STATS_AT(label);
}

int main(int argc, char **argv)
{
    static const int depths[] = {0, 1, 4, 16, 64, 1024};
    int n = 2 == argc ? atoi(argv[1]) : 1000, rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]) && 0 == rank; ++i) {
        int depth = depths[i];
        post_others(0, depth);
        count("posted one", depth, posted, 0, n);
        cancel_others(depth);
        post_others(1, depth);
        count("posted other", depth, posted, 0, n);
        cancel_others(depth);
        post_others(MPI_ANY_SOURCE, depth);
        count("posted any", depth, posted, MPI_ANY_SOURCE, n);
        cancel_others(depth);
        send_others(depth);
        count("unexpected one", depth, unexpected, 0, n);
        count("unexpected any", depth, unexpected, MPI_ANY_SOURCE, n);
        receive_others(depth);
    }
    if (0 == rank) {
        count("iprobe any", 0, iprobe, MPI_ANY_SOURCE, n);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
