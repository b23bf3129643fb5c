/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of a process to itself: N receives and N messages, in all the ways that wildcards,
 * orders, probes and cancels make. ns per message; one process, so nothing waits.
 *
 * Arguments: --counts=1,2,4,... --patterns=NAME,... (default: all; blanks as _) --batches --ms
 */

#include "match.h"

#define NO_MESSAGE 999999 /* a tag that is never sent */
#define MOST 4096
#define WAITERS 2 /* at most */

enum order { FORWARD, REVERSE, SHUFFLED };
enum tags { EACH, SAME, ANY };
enum { SPECIFIC = 0, WILD = MPI_ANY_SOURCE, NOBODY = -1000 };

struct pattern {
    const char *name;
    double (*run)(void *pattern, long n);
    int even, odd;    /* sources of the receives with an even and an odd number */
    enum tags tags;   /* of the receives; EACH: its number */
    enum order order; /* of the second half of the round, tags against the first half */
    int waiting;      /* source of more receives that are posted first and get nothing, */
    int waiters;      /* and how many there are */
};

static int count, shuffled[MOST];
static MPI_Request requests[MOST];
static unsigned char bytes[MOST];

static int nth(const struct pattern *p, int i)
{
    return FORWARD == p->order ? i : REVERSE == p->order ? count - 1 - i : shuffled[i];
}

static int tag_of(const struct pattern *p, int i)
{
    return EACH == p->tags ? i : SAME == p->tags ? 0 : MPI_ANY_TAG;
}

static void send(const struct pattern *p, int i)
{
    unsigned char byte = micro_byte((size_t) i);

    MPI_Send(&byte, 1, MPI_BYTE, 0, SAME == p->tags ? 0 : i, match_comm);
}

static void post(const struct pattern *p, int i)
{
    MPI_Irecv(&bytes[i], 1, MPI_BYTE, 0 != i % 2 ? p->odd : p->even, tag_of(p, i), match_comm,
              &requests[i]);
}

static void receive(const struct pattern *p, int i)
{
    MPI_Recv(&bytes[i], 1, MPI_BYTE, 0 != i % 2 ? p->odd : p->even, tag_of(p, i), match_comm,
             MPI_STATUS_IGNORE);
}

static void cancel(MPI_Request *request)
{
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static double posted(void *pattern, long n)
{
    const struct pattern *p = pattern;
    unsigned char none[WAITERS];
    MPI_Request waiting[WAITERS];
    double start = micro_now_ns();

    for (long round = 0; round < n; ++round) {
        for (int i = 0; i < p->waiters; ++i) {
            MPI_Irecv(&none[i], 1, MPI_BYTE, p->waiting, NO_MESSAGE, match_comm, &waiting[i]);
        }
        for (int i = 0; i < count; ++i) {
            post(p, i);
        }
        for (int i = 0; i < count; ++i) {
            send(p, nth(p, i));
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < p->waiters; ++i) {
            cancel(&waiting[i]);
        }
    }
    return micro_now_ns() - start;
}

static double unexpected(void *pattern, long n)
{
    const struct pattern *p = pattern;
    double start = micro_now_ns();

    for (long round = 0; round < n; ++round) {
        for (int i = 0; i < count; ++i) {
            send(p, i);
        }
        for (int i = 0; i < count; ++i) {
            receive(p, nth(p, i));
        }
    }
    return micro_now_ns() - start;
}

/* N receives stay posted: as one matches, it is posted again. */
static double reposted(void *pattern, long n)
{
    const struct pattern *p = pattern;
    double start;

    for (int i = 0; i < count; ++i) {
        post(p, i);
    }
    start = micro_now_ns();
    for (long round = 0; round < n; ++round) {
        for (int i = 0; i < count; ++i) {
            int which = nth(p, i);
            send(p, which);
            MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
            post(p, which);
        }
    }
    start = micro_now_ns() - start;
    for (int i = 0; i < count; ++i) {
        send(p, i);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    return start;
}

/* The probe finds nothing, behind N messages. */
static double missed_probe(void *pattern, long n)
{
    const struct pattern *p = pattern;
    int flag;
    double start;

    for (int i = 0; i < count; ++i) {
        send(p, i);
    }
    start = micro_now_ns();
    for (long i = 0; i < n * count; ++i) {
        MPI_Iprobe(p->even, NO_MESSAGE, match_comm, &flag, MPI_STATUS_IGNORE);
    }
    start = micro_now_ns() - start;
    for (int i = 0; i < count; ++i) {
        receive(p, i);
    }
    return start;
}

/* N messages are there, and each is probed before it is received. */
static double probed(void *pattern, long n)
{
    const struct pattern *p = pattern;
    MPI_Status status;
    double start = micro_now_ns();

    for (long round = 0; round < n; ++round) {
        for (int i = 0; i < count; ++i) {
            send(p, i);
        }
        for (int i = 0; i < count; ++i) {
            MPI_Probe(p->even, tag_of(p, i), match_comm, &status);
            MPI_Recv(&bytes[status.MPI_TAG], 1, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                     match_comm, MPI_STATUS_IGNORE);
        }
    }
    return micro_now_ns() - start;
}

static double canceled(void *pattern, long n)
{
    const struct pattern *p = pattern;
    double start = micro_now_ns();

    for (long round = 0; round < n; ++round) {
        for (int i = 0; i < count; ++i) {
            post(p, i);
        }
        for (int i = 0; i < count; ++i) {
            cancel(&requests[nth(p, i)]);
        }
    }
    return micro_now_ns() - start;
}

static const struct pattern patterns[] = {
    {"in order", posted, SPECIFIC, SPECIFIC, EACH, FORWARD, NOBODY, 0},
    {"reverse", posted, SPECIFIC, SPECIFIC, EACH, REVERSE, NOBODY, 0},
    {"shuffled", posted, SPECIFIC, SPECIFIC, EACH, SHUFFLED, NOBODY, 0},
    {"any tag", posted, SPECIFIC, SPECIFIC, ANY, FORWARD, NOBODY, 0},
    {"any source", posted, WILD, WILD, EACH, FORWARD, NOBODY, 0},
    {"any source and tag", posted, WILD, WILD, ANY, FORWARD, NOBODY, 0},
    {"in order beside a wildcard", posted, SPECIFIC, SPECIFIC, EACH, FORWARD, WILD, 1},
    {"one tag beside a wildcard", posted, SPECIFIC, SPECIFIC, SAME, FORWARD, WILD, 1},
    {"one tag behind two", posted, SPECIFIC, SPECIFIC, SAME, FORWARD, SPECIFIC, WAITERS},
    {"any tag beside a wildcard", posted, SPECIFIC, SPECIFIC, ANY, FORWARD, WILD, 1},
    {"any source beside a specific", posted, WILD, WILD, EACH, FORWARD, SPECIFIC, 1},
    {"every second any source", posted, WILD, SPECIFIC, SAME, FORWARD, NOBODY, 0},
    {"every second, reverse", posted, WILD, SPECIFIC, EACH, REVERSE, NOBODY, 0},
    {"reposted, shuffled", reposted, SPECIFIC, SPECIFIC, EACH, SHUFFLED, NOBODY, 0},
    {"post and cancel", canceled, SPECIFIC, SPECIFIC, EACH, FORWARD, NOBODY, 0},
    {"unexpected", unexpected, SPECIFIC, SPECIFIC, EACH, FORWARD, NOBODY, 0},
    {"unexpected, reverse", unexpected, SPECIFIC, SPECIFIC, EACH, REVERSE, NOBODY, 0},
    {"unexpected, shuffled", unexpected, SPECIFIC, SPECIFIC, EACH, SHUFFLED, NOBODY, 0},
    {"unexpected, any", unexpected, WILD, WILD, ANY, FORWARD, NOBODY, 0},
    {"unexpected, probed", probed, WILD, WILD, ANY, FORWARD, NOBODY, 0},
    {"missed probe", missed_probe, SPECIFIC, SPECIFIC, EACH, FORWARD, NOBODY, 0},
};

static bool wanted(const char *name)
{
    const char *list = micro_option("patterns", NULL);
    char item[64];

    if (NULL == list) {
        return true;
    }
    MATCH_EACH(item, list)
    {
        for (char *c = item; '\0' != *c; ++c) {
            *c = '_' == *c ? ' ' : *c;
        }
        if (0 == strncmp(item, name, strlen(item))) {
            return true;
        }
    }
    return false;
}

static void shuffle(void)
{
    uint64_t state = 1;

    for (int i = 0; i < count; ++i) {
        int j;
        state = state * 6364136223846793005u + 1442695040888963407u;
        j = (int) ((state >> 33) % (uint64_t) (i + 1));
        shuffled[i] = shuffled[j];
        shuffled[j] = i;
    }
}

static void measure(const struct pattern *p)
{
    char what[64];

    memset(bytes, 0, sizeof(bytes));
    snprintf(what, sizeof(what), "%s, %d", p->name, count);
    match_measure("patterns", what, 1, "per message", p->run, (void *) p, false, count);
    for (int i = 0; i < count && canceled != p->run; ++i) {
        if (bytes[i] != micro_byte((size_t) i)) {
            fprintf(stderr, "%s: wrong byte of receive %d\n", what, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv)
{
    char number[16];

    match_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); ++i) {
        MATCH_EACH(number, micro_option("counts", "1,2,4,8,16,32,64,128,256"))
        {
            count = atoi(number) < MOST ? atoi(number) : MOST;
            shuffle();
            if (wanted(patterns[i].name)) {
                measure(&patterns[i]);
            }
        }
    }
    return match_done();
}
