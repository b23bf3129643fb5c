/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a message costs that is found behind D others in the matching queues.
 *
 * --what=posted      D receives that do not match, then the one that does; half a round trip (both
 *                    ranks have the queue) and the time per message of 64 in flight
 * --what=unexpected  D messages that nobody asked for, then the one that is received: time of
 *                    MPI_Recv, and per message of 64 such
 * --what=self        the same as posted, of a process to itself: MPI_Send and MPI_Wait (1 rank; a
 *                    processor is free, for the heater)
 * --what=drain       N receives, and messages in reverse order; N messages, received in reverse
 * order
 * --what=ranks       some receives for each of many peers, all messages there: time of MPI_Waitall
 *                    per message (more than 2 ranks)
 * --what=probe       MPI_Iprobe of any source with an empty queue, in communicators of 2, 4, 8, ...
 *
 * --patterns: who the D others are, and what the last one asks for
 *   one     the same peer, other tags
 *   other   another source (posted: the process itself; with more than 2 ranks all ranks in turn)
 *   any     posted: any source, other tags, and the matching receive is for any source too;
 *           unexpected: the same peer, and the receive is for any source
 *   mixed   posted: the same peer, other tags, and the matching receive is for any source
 * --bytes --depths --clear=none,l2,llc --measures=latency,rate --batches --ms --name: see
 * bench/match
 */

#include "match.h"

#define WINDOW 64    /* messages in flight when the rate is measured */
#define TAG 1        /* of what matches */
#define OTHER_TAG 10 /* and up: of what does not */
#define MOST 8192    /* depth */
#define PER_PEER 3   /* receives per peer of "ranks"; UCX has room for 64 messages in all */

struct queue_case {
    const char *pattern;
    int depth;
    size_t bytes;
    struct match_clear clear;
    MPI_Request *others;  /* the D receives */
    unsigned char *other; /* what they would receive into */
    unsigned char *buffer;
};

static bool is(const char *a, const char *b)
{
    return 0 == strcmp(a, b);
}

/* Of the two that exchange messages; one alone talks to itself. */
static int peer(void)
{
    return 1 == match_size ? 0 : 1 - micro_rank;
}

static int source_of(const struct queue_case *c)
{
    return is(c->pattern, "any") || is(c->pattern, "mixed") ? MPI_ANY_SOURCE : peer();
}

static void post_others(struct queue_case *c)
{
    for (int i = 0; i < c->depth; ++i) {
        int source = peer();
        if (is(c->pattern, "any")) {
            source = MPI_ANY_SOURCE;
        } else if (is(c->pattern, "other")) {
            source = 2 == match_size ? micro_rank : 2 + i % (match_size - 2);
        }
        OK(MPI_Irecv(c->other + i, 1, MPI_BYTE, source, OTHER_TAG + i, match_comm, &c->others[i]));
    }
}

static void cancel_others(struct queue_case *c)
{
    for (int i = 0; i < c->depth; ++i) {
        OK(MPI_Cancel(&c->others[i]));
    }
    OK(MPI_Waitall(c->depth, c->others, MPI_STATUSES_IGNORE));
}

static void receive(struct queue_case *c, MPI_Request *request)
{
    OK(MPI_Irecv(c->buffer, (int) c->bytes, MPI_BYTE, source_of(c), TAG, match_comm, request));
}

static void send(struct queue_case *c)
{
    OK(MPI_Send(c->buffer, (int) c->bytes, MPI_BYTE, peer(), TAG, match_comm));
}

/* Half round trips. With a cleared cache: both have posted, both clear, rank 0 starts. */
static double posted_latency(void *context, long n)
{
    struct queue_case *c = context;
    double total = 0, start = micro_now_ns();

    for (long i = 0; i < n; ++i) {
        MPI_Request request;
        receive(c, &request);
        if (c->clear.bytes > 0) {
            match_clear(&c->clear);
            if (0 == micro_rank) {
                (void) match_hear(1);
                start = micro_now_ns();
            } else {
                match_tell(0, 1);
            }
        }
        if (0 == micro_rank) {
            send(c);
        }
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (1 == micro_rank) {
            send(c);
        }
        if (c->clear.bytes > 0) {
            total += micro_now_ns() - start;
        }
    }
    return (c->clear.bytes > 0 ? total : micro_now_ns() - start) / 2;
}

static double self_latency(void *context, long n)
{
    struct queue_case *c = context;
    double total = 0;

    for (long i = 0; i < n; ++i) {
        MPI_Request request;
        double start;
        receive(c, &request);
        match_clear(&c->clear);
        start = micro_now_ns();
        send(c);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        total += micro_now_ns() - start;
    }
    return total;
}

static double posted_rate(void *context, long n)
{
    struct queue_case *c = context;
    MPI_Request requests[WINDOW];
    double total = 0;

    for (long i = 0; i < n; ++i) {
        double start;
        if (1 == micro_rank) {
            (void) match_hear(0);
            for (int w = 0; w < WINDOW; ++w) {
                OK(MPI_Isend(c->buffer, (int) c->bytes, MPI_BYTE, 0, TAG, match_comm,
                             &requests[w]));
            }
            OK(MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE));
            continue;
        }
        for (int w = 0; w < WINDOW; ++w) {
            receive(c, &requests[w]);
        }
        match_clear(&c->clear);
        start = micro_now_ns();
        match_tell(1, 1);
        OK(MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE));
        total += micro_now_ns() - start;
    }
    return total;
}

static void send_others(struct queue_case *c)
{
    int to = 0, sender = is(c->pattern, "other") ? 0 : 1;

    if (micro_rank == sender) {
        for (int i = 0; i < c->depth; ++i) {
            OK(MPI_Send(c->other + i, 1, MPI_BYTE, to, OTHER_TAG + i, match_comm));
        }
    }
}

static void receive_others(struct queue_case *c)
{
    int source = is(c->pattern, "other") ? 0 : 1;

    for (int i = 0; i < c->depth && 0 == micro_rank; ++i) {
        OK(MPI_Recv(c->other + i, 1, MPI_BYTE, source, OTHER_TAG + i, match_comm,
                    MPI_STATUS_IGNORE));
    }
}

/* Messages that are there when they are asked for: a token that was sent after them has come. */
static double unexpected(struct queue_case *c, long n, int messages)
{
    double total = 0;

    for (long i = 0; i < n; ++i) {
        double start;
        if (1 == micro_rank) {
            MPI_Request
                requests[WINDOW]; /* what is not eager is complete only when it is received */
            (void) match_hear(0);
            for (int m = 0; m < messages; ++m) {
                OK(MPI_Isend(c->buffer, (int) c->bytes, MPI_BYTE, 0, TAG, match_comm,
                             &requests[m]));
            }
            match_tell(0, 1);
            OK(MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE));
            continue;
        }
        match_tell(1, 1);
        (void) match_hear(1);
        match_clear(&c->clear);
        start = micro_now_ns();
        for (int m = 0; m < messages; ++m) {
            OK(MPI_Recv(c->buffer, (int) c->bytes, MPI_BYTE, source_of(c), TAG, match_comm,
                        MPI_STATUS_IGNORE));
        }
        total += micro_now_ns() - start;
    }
    return total;
}

static double unexpected_latency(void *context, long n)
{
    return unexpected(context, n, 1);
}

static double unexpected_rate(void *context, long n)
{
    return unexpected(context, n, WINDOW);
}

static void measure_queues(bool posted)
{
    struct queue_case c = {.depth = 0};
    char pattern[16], bytes[16], depth[16], clear[16], measure[16], what[128];

    c.others = micro_memory(MOST * sizeof(MPI_Request));
    c.other = micro_memory(MOST);
    MATCH_EACH(clear, micro_option("clear", "none"))
    {
        c.clear = match_clear_make(clear);
        MATCH_EACH(pattern, micro_option("patterns", "one,other,any,mixed"))
        {
            c.pattern = pattern;
            MATCH_EACH(bytes, micro_option("bytes", "1,4096"))
            {
                c.bytes = (size_t) atol(bytes);
                c.buffer = micro_memory(c.bytes);
                MATCH_EACH(depth, micro_option("depths", "0,1,4,16,64,128,1024,8192"))
                {
                    c.depth = atoi(depth) < MOST ? atoi(depth) : MOST;
                    if (1 < micro_rank) {
                        continue;
                    }
                    if (posted) {
                        post_others(&c);
                    } else {
                        send_others(&c);
                    }
                    MATCH_EACH(measure, micro_option("measures", "latency,rate"))
                    {
                        bool rate = is(measure, "rate");
                        match_iterations_fn run = rate ? unexpected_rate : unexpected_latency;
                        if (posted) {
                            run = rate              ? posted_rate
                                  : 1 == match_size ? self_latency
                                                    : posted_latency;
                        }
                        snprintf(what, sizeof(what), "%s, %d, %s", pattern, c.depth, c.clear.name);
                        match_measure(micro_option("name", posted ? "posted" : "unexpected"), what,
                                      c.bytes, measure, run, &c, c.clear.bytes > 0,
                                      rate ? WINDOW : 1);
                    }
                    if (posted) {
                        cancel_others(&c);
                    } else {
                        receive_others(&c);
                    }
                }
                free(c.buffer);
            }
        }
        free(c.clear.memory);
    }
    free(c.others);
    free(c.other);
}

/* Reverse order */

struct drain_case {
    int count;
    MPI_Request *requests;
    unsigned char *bytes;
};

static double drain_posted(void *context, long n)
{
    struct drain_case *c = context;
    double total = 0;

    for (long i = 0; i < n; ++i) {
        double start;
        if (1 == micro_rank) {
            (void) match_hear(0);
            for (int tag = c->count - 1; tag >= 0; --tag) {
                OK(MPI_Send(c->bytes + tag, 1, MPI_BYTE, 0, tag, match_comm));
            }
            continue;
        }
        for (int tag = 0; tag < c->count; ++tag) {
            OK(MPI_Irecv(c->bytes + tag, 1, MPI_BYTE, 1, tag, match_comm, &c->requests[tag]));
        }
        start = micro_now_ns();
        match_tell(1, 1);
        OK(MPI_Waitall(c->count, c->requests, MPI_STATUSES_IGNORE));
        total += micro_now_ns() - start;
    }
    return total;
}

static double drain_unexpected(void *context, long n)
{
    struct drain_case *c = context;
    double total = 0;

    for (long i = 0; i < n; ++i) {
        double start;
        if (1 == micro_rank) {
            (void) match_hear(0);
            for (int tag = 0; tag < c->count; ++tag) {
                OK(MPI_Send(c->bytes + tag, 1, MPI_BYTE, 0, tag, match_comm));
            }
            match_tell(0, 1);
            continue;
        }
        match_tell(1, 1);
        (void) match_hear(1);
        start = micro_now_ns();
        for (int tag = c->count - 1; tag >= 0; --tag) {
            OK(MPI_Recv(c->bytes + tag, 1, MPI_BYTE, 1, tag, match_comm, MPI_STATUS_IGNORE));
        }
        total += micro_now_ns() - start;
    }
    return total;
}

static void measure_drain(void)
{
    struct drain_case c = {.requests = micro_memory(MOST * sizeof(MPI_Request)),
                           .bytes = micro_memory(MOST)};
    char what[64];

    for (c.count = 16; c.count <= MOST; c.count *= 2) {
        snprintf(what, sizeof(what), "posted, %d", c.count);
        match_measure("drain", what, 1, "per message", drain_posted, &c, false, c.count);
        snprintf(what, sizeof(what), "unexpected, %d", c.count);
        match_measure("drain", what, 1, "per message", drain_unexpected, &c, false, c.count);
    }
    free(c.requests);
    free(c.bytes);
}

/* Many ranks. Those that do not measure sleep outside of MPI and look at shared memory. */

struct shared {
    long turn;
    long done[];
};

static struct shared *shared;
static MPI_Win shared_window;

static long load(long *value)
{
    return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static void store(long *value, long to)
{
    __atomic_store_n(value, to, __ATOMIC_RELEASE);
}

static void share(void)
{
    MPI_Aint bytes = (MPI_Aint) (sizeof(*shared) + (size_t) match_size * sizeof(long));
    int unit;

    OK(MPI_Win_allocate_shared(0 == micro_rank ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                               &shared, &shared_window));
    OK(MPI_Win_shared_query(shared_window, 0, &bytes, &unit, &shared));
    if (0 == micro_rank) {
        memset(shared, 0, (size_t) bytes);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0: the others go on. */
static void wake(long turn)
{
    store(&shared->turn, turn);
}

static long sleep_until_woken(long turn, useconds_t us)
{
    long now;

    while (turn == (now = load(&shared->turn))) {
        usleep(us);
    }
    return now;
}

/* Each has talked to rank 0: it is connected, and has state there. */
static void meet(MPI_Comm comm, int size)
{
    char byte = 0;

    if (0 != micro_rank) {
        OK(MPI_Send(&byte, 1, MPI_BYTE, 0, 0, comm));
        OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    }
    for (int peer = 1; peer < size && 0 == micro_rank; ++peer) {
        OK(MPI_Recv(&byte, 1, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE));
        OK(MPI_Send(&byte, 1, MPI_BYTE, peer, 0, comm));
    }
}

static void measure_ranks(void)
{
    enum { END = -1 };
    long rounds = micro_number("batches", 31) * 8, turn = 0;
    int peers = match_size - 1, count = peers * PER_PEER;
    MPI_Request *requests = micro_memory((size_t) count * sizeof(MPI_Request));
    unsigned char *bytes = micro_memory((size_t) count);
    double *ns = micro_memory((size_t) rounds * sizeof(double));
    char what[64];

    meet(match_comm, match_size);
    if (0 != micro_rank) {
        while (END != (turn = sleep_until_woken(turn, 100))) {
            for (int i = 0; i < PER_PEER; ++i) {
                OK(MPI_Send(bytes + i, 1, MPI_BYTE, 0, i, match_comm));
            }
            store(&shared->done[micro_rank], turn);
        }
    } else {
        for (turn = 1; turn <= rounds; ++turn) {
            double start;
            for (int i = 0; i < count; ++i) {
                OK(MPI_Irecv(bytes + i, 1, MPI_BYTE, 1 + i % peers, i / peers, match_comm,
                             &requests[i]));
            }
            wake(turn);
            for (int peer = 1; peer <= peers; ++peer) {
                while (turn != load(&shared->done[peer])) {
                    usleep(20);
                }
            }
            start = micro_now_ns();
            OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
            ns[turn - 1] = (micro_now_ns() - start) / count;
        }
        wake(END);
        snprintf(what, sizeof(what), "%d peers, %d receives each", peers, PER_PEER);
        match_print("ranks", what, 1, "per message", ns, rounds);
    }
    free(requests);
    free(bytes);
    free(ns);
}

static void iprobe(void *comm, long n)
{
    int flag;

    for (long i = 0; i < n; ++i) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, *(MPI_Comm *) comm, &flag, MPI_STATUS_IGNORE);
    }
}

static void measure_probe(void)
{
    long rounds = micro_number("batches", 31), turn = 0;
    char what[64];

    for (int size = 2; size <= match_size; size *= 2, ++turn) {
        MPI_Comm comm;
        OK(MPI_Comm_split(MPI_COMM_WORLD, micro_rank < size ? 0 : MPI_UNDEFINED, micro_rank,
                          &comm));
        if (micro_rank < size) {
            meet(comm, size);
        }
        if (0 != micro_rank) {
            (void) sleep_until_woken(turn, 10000);
        } else {
            struct micro_subject subject = {.run = iprobe, .argument = &comm, .batch = 256};
            micro_interleave(&subject, 1, rounds);
            snprintf(what, sizeof(what), "%d ranks", size);
            match_print("probe", what, 0, "MPI_Iprobe", subject.ns, rounds);
            free(subject.ns);
            wake(turn + 1);
        }
        if (MPI_COMM_NULL != comm) {
            OK(MPI_Comm_free(&comm));
        }
    }
}

int main(int argc, char **argv)
{
    const char *what;

    match_init(&argc, &argv, MPI_THREAD_SINGLE);
    what = micro_option("what", "posted");
    if (match_size > 2) {
        match_bind();
        share();
    }
    if (is(what, "self") ? 1 == match_size
                         : match_size > 1 && (is(what, "posted") || is(what, "unexpected"))) {
        measure_queues(!is(what, "unexpected"));
        if (match_size > 2 && 0 == micro_rank) {
            wake(1);
        } else if (match_size > 2 && 1 < micro_rank) {
            (void) sleep_until_woken(0, 10000);
        }
    } else if (is(what, "drain") && match_size > 1) {
        measure_drain();
    } else if (is(what, "ranks") && match_size > 2) {
        measure_ranks();
    } else if (is(what, "probe") && match_size > 2) {
        measure_probe();
    } else {
        fprintf(stderr, "%s: --what=%s is not possible with %d ranks\n", argv[0], what, match_size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (match_size > 2) {
        OK(MPI_Win_free(&shared_window));
    }
    return match_done();
}
