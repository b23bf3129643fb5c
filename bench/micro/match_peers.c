/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a message costs in a process with many peers. As many processes would not fit on a machine,
 * so each peer is a communicator of this process with itself: one more pair of matching queues, as
 * one more process is. Per message of a round through P of them:
 *
 *   posted      P times MPI_Irecv, P times MPI_Send, MPI_Waitall
 *   unexpected  P times MPI_Send, P times MPI_Recv
 *
 * The same with six messages for each of them. And bytes that the process grows by per
 * communicator that is made, that then has a receive posted, or an unexpected message (its request
 * or buffer included).
 *
 * Arguments: --counts=16,64,... --batches --ms, and --gaps=BYTES: up to so many between one
 * communicator and the next. At equal distances, some of them (two pages) put all communicators
 * into the same sets of caches.
 */

#include "match.h"

#define TAG 1
#define MANY 6 /* more than the four entries that a peer of pml/llamatch holds itself */

static MPI_Comm *comms;
static MPI_Request *requests;
static unsigned char *bytes;
static int peers, each = 1; /* messages of each */

static void send_all(void)
{
    unsigned char byte;

    for (int i = 0; i < peers * each; ++i) {
        byte = micro_byte((size_t) i);
        MPI_Send(&byte, 1, MPI_BYTE, 0, TAG + i / peers, comms[i % peers]);
    }
}

static void post_all(void)
{
    for (int i = 0; i < peers * each; ++i) {
        MPI_Irecv(&bytes[i], 1, MPI_BYTE, 0, TAG + i / peers, comms[i % peers], &requests[i]);
    }
}

static void receive_all(void)
{
    for (int i = 0; i < peers * each; ++i) {
        MPI_Recv(&bytes[i], 1, MPI_BYTE, 0, TAG + i / peers, comms[i % peers], MPI_STATUS_IGNORE);
    }
}

static double posted(void *context, long n)
{
    double start = micro_now_ns();

    (void) context;
    for (long i = 0; i < n; ++i) {
        post_all();
        send_all();
        MPI_Waitall(peers * each, requests, MPI_STATUSES_IGNORE);
    }
    return micro_now_ns() - start;
}

static double unexpected(void *context, long n)
{
    double start = micro_now_ns();

    (void) context;
    for (long i = 0; i < n; ++i) {
        send_all();
        receive_all();
    }
    return micro_now_ns() - start;
}

static void measure(const char *kind, match_iterations_fn run)
{
    char what[64];

    memset(bytes, 0, (size_t) (peers * each));
    snprintf(what, sizeof(what), "%s%s, %d", kind, 1 < each ? " 6 each" : "", peers);
    match_measure("peers", what, 1, "per message", run, NULL, false, peers * each);
    for (int i = 0; i < peers * each; ++i) {
        if (bytes[i] != micro_byte((size_t) i)) {
            fprintf(stderr, "wrong byte of peer %d\n", i % peers);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (NULL == file || 1 != fscanf(file, "%*d %ld", &pages)) {
        pages = 0;
    }
    if (NULL != file) {
        fclose(file);
    }
    return (double) pages * (double) sysconf(_SC_PAGESIZE);
}

static void print_growth(const char *what, double before)
{
    double growth = (resident_bytes() - before) / peers;

    micro_print_one("memory", what, (size_t) peers, "per communicator", "B", growth);
}

int main(int argc, char **argv)
{
    const char *counts;
    char count[16];
    long most_gap;
    void **gaps;
    int most = 0;
    double before;

    match_init(&argc, &argv, MPI_THREAD_SINGLE);
    most_gap = micro_number("gaps", 1);
    counts = micro_option("counts", "16,64,256,512,1024,2048,4096");
    MATCH_EACH(count, counts)
    {
        most = atoi(count) > most ? atoi(count) : most;
    }
    comms = micro_memory((size_t) most * sizeof(MPI_Comm));
    requests = micro_memory((size_t) most * MANY * sizeof(MPI_Request));
    bytes = micro_memory((size_t) most * MANY);
    gaps = micro_memory((size_t) most * sizeof(*gaps));
    peers = most;
    before = resident_bytes();
    for (int i = 0; i < most; ++i) {
        OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[i]));
        gaps[i] = malloc(1 + (size_t) (i * 7919L % most_gap));
    }
    print_growth("idle", before);
    before = resident_bytes();
    post_all();
    print_growth("receive posted", before);
    send_all();
    OK(MPI_Waitall(peers, requests, MPI_STATUSES_IGNORE));
    before = resident_bytes();
    send_all();
    print_growth("unexpected message", before);
    receive_all();
    MATCH_EACH(count, counts)
    {
        peers = atoi(count);
        for (each = 1; each <= MANY; each += MANY - 1) {
            measure("posted", posted);
            measure("unexpected", unexpected);
        }
    }
    for (int i = 0; i < most; ++i) {
        OK(MPI_Comm_free(&comms[i]));
        free(gaps[i]);
    }
    free(gaps);
    free(comms);
    free(requests);
    free(bytes);
    return match_done();
}
