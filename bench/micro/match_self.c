/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of a process to itself, for bench/match to count with callgrind: no waiting, so
 * the same instructions every time. Per message:
 *
 *   posted one      MPI_Irecv behind D receives with other tags, MPI_Send, MPI_Wait
 *   posted other    the same behind D receives of another source
 *   posted any      the same, all receives of any source
 *   unexpected one  MPI_Send, MPI_Recv behind D messages with other tags
 *   unexpected any  the same, received from any source
 *   iprobe any      MPI_Iprobe of any source, nothing there
 */

#include "match.h"

#define TAG 1
#define OTHER_TAG 10
#define MOST 1024

static MPI_Request others[MOST];
static char byte, other[MOST];

static void posted(int source, int n)
{
    for (int i = 0; i < n; ++i) {
        MPI_Request request;
        MPI_Irecv(&byte, 1, MPI_BYTE, source, TAG, match_comm, &request);
        MPI_Send(&byte, 1, MPI_BYTE, 0, TAG, match_comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void unexpected(int source, int n)
{
    for (int i = 0; i < n; ++i) {
        MPI_Send(&byte, 1, MPI_BYTE, 0, TAG, match_comm);
        MPI_Recv(&byte, 1, MPI_BYTE, source, TAG, match_comm, MPI_STATUS_IGNORE);
    }
}

static void post_others(int source, int depth)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Irecv(&other[i], 1, MPI_BYTE, source, OTHER_TAG + i, match_comm, &others[i]);
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
        MPI_Send(&other[i], 1, MPI_BYTE, 0, OTHER_TAG + i, match_comm);
    }
}

static void receive_others(int depth)
{
    for (int i = 0; i < depth; ++i) {
        MPI_Recv(&other[i], 1, MPI_BYTE, 0, OTHER_TAG + i, match_comm, MPI_STATUS_IGNORE);
    }
}

static void iprobe(int source, int n)
{
    for (int i = 0; i < n; ++i) {
        int flag;
        MPI_Iprobe(source, MPI_ANY_TAG, match_comm, &flag, MPI_STATUS_IGNORE);
    }
}

/* Some before: free lists and queues have then grown to their size. */
static void measure(const char *name, int depth, void (*run)(int source, int n), int source)
{
    int n = (int) micro_number("messages", 1000);
    double ns[MATCH_MOST];
    char what[64];

    snprintf(what, sizeof(what), "%s, %d", name, depth);
    run(source, 100);
    if (RUNNING_ON_VALGRIND) {
        CALLGRIND_ZERO_STATS;
        run(source, n);
        match_counted(what, n);
        return;
    }
    for (int batch = 0; batch < 31; ++batch) {
        double start = micro_now_ns();
        run(source, n);
        ns[batch] = (micro_now_ns() - start) / n;
    }
    match_print("self", what, 1, "per message", ns, 31);
}

int main(int argc, char **argv)
{
    static const int depths[] = {0, 1, 4, 16, 64, 1024};

    match_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]) && 0 == micro_rank; ++i) {
        int depth = depths[i];
        post_others(0, depth);
        measure("posted one", depth, posted, 0);
        cancel_others(depth);
        post_others(1, depth);
        measure("posted other", depth, posted, 0);
        cancel_others(depth);
        post_others(MPI_ANY_SOURCE, depth);
        measure("posted any", depth, posted, MPI_ANY_SOURCE);
        cancel_others(depth);
        send_others(depth);
        measure("unexpected one", depth, unexpected, 0);
        measure("unexpected any", depth, unexpected, MPI_ANY_SOURCE);
        receive_others(depth);
    }
    if (0 == micro_rank) {
        measure("iprobe any", 0, iprobe, MPI_ANY_SOURCE);
    }
    return match_done();
}
