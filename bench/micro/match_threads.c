/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread decompositions of Table 1 of "The Case for Semi-Permanent Cache Occupancy" (ICPP'18).
 *
 * A process is cut into a box of threads. Each thread receives one message from each neighbour of
 * its stencil that lies outside of the box: these receives are the posted queue, and its length
 * follows from box and stencil; it must be the paper's. Rank 0 posts from as many threads as the
 * paper's t_r. Rank 1 stands for all neighbours. The paper's t_s sending threads would not run on a
 * few processors, so up to --senders threads take turns at sending what they would send, in the
 * order that a random scheduler would give them. Receiving threads yield at random, for the same
 * reason.
 *
 * Measured: time per message from the first send to the last receive; search depth, counted as the
 * entries that are in the queue before the one that matches, and that one, from the orders of
 * posting and sending (one queue per peer: what ob1 searches); beside the paper's depth.
 */

#include "match.h" /* first: it asks for the GNU functions */

#include <pthread.h>

#define MOST_THREADS 256
#define MOST_MESSAGES 6146
#define MOST_OFFSETS 26

static const struct decomposition {
    const char *name;
    int size[3];  /* 0: no such dimension */
    bool corners; /* 9pt, 27pt */
    int t_r, t_s, length;
    double depth; /* the paper's */
} decompositions[] = {
    {"32x32 5pt", {32, 32, 0}, false, 124, 128, 128, 32.51},
    {"64x32 5pt", {64, 32, 0}, false, 188, 192, 192, 48.22},
    {"32x32 9pt", {32, 32, 0}, true, 124, 132, 380, 85.18},
    {"64x32 9pt", {64, 32, 0}, true, 188, 196, 572, 127.24},
    {"8x8x4 7pt", {8, 8, 4}, false, 184, 256, 256, 65.85},
    {"1x1x128 7pt", {1, 1, 128}, false, 128, 514, 514, 132.27},
    {"1x1x256 7pt", {1, 1, 256}, false, 256, 1026, 1026, 259.08},
    {"8x8x4 27pt", {8, 8, 4}, true, 184, 344, 2072, 410.02},
    {"1x1x128 27pt", {1, 1, 128}, true, 128, 1042, 3074, 596.85},
    {"1x1x256 27pt", {1, 1, 256}, true, 256, 2066, 6146, 1294.49},
};

/* Messages, each with its number as tag: those of a receiver follow each other. */
static int receivers, senders, messages;
static int receiver_first[MOST_THREADS + 1]; /* number of a receiver's first message */
static int sender_of[MOST_MESSAGES];

static unsigned random_state = 1;

static unsigned random_below(unsigned limit, unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (unsigned) (((uint64_t) *state * limit) >> 32);
}

/* Number of an outside cell; cells from -1 to size. */
static int sender_number(const struct decomposition *d, const int *cell, int *numbers)
{
    int at = 0;

    for (int i = 0; i < 3; ++i) {
        at = at * (d->size[i] + 2) + cell[i] + 1;
    }
    if (numbers[at] < 0) {
        numbers[at] = senders++;
    }
    return numbers[at];
}

static bool inside(const struct decomposition *d, const int *cell)
{
    for (int i = 0; i < 3; ++i) {
        if (d->size[i] > 0 && (cell[i] < 0 || cell[i] >= d->size[i])) {
            return false;
        }
    }
    return true;
}

/* Neighbours of a cell in the order of their offsets; those outside of the box send to it. */
static void add_receiver(const struct decomposition *d, const int *cell, int *numbers)
{
    int before = messages;

    for (int o = 0; o <= MOST_OFFSETS; ++o) {
        int offset[3] = {o / 9 - 1, o / 3 % 3 - 1, o % 3 - 1}, other[3], distance = 0;
        for (int i = 0; i < 3; ++i) {
            other[i] = cell[i] + offset[i];
            distance += abs(offset[i]);
        }
        if (0 == distance || (!d->corners && 1 < distance) || (0 == d->size[2] && 0 != offset[2])
            || inside(d, other)) {
            continue;
        }
        sender_of[messages++] = sender_number(d, other, numbers);
    }
    if (messages > before) {
        receiver_first[receivers++] = before;
        receiver_first[receivers] = messages;
    }
}

static void decompose(const struct decomposition *d)
{
    static int numbers[66 * 66 * 258];

    receivers = senders = messages = 0;
    memset(numbers, -1, sizeof(numbers));
    for (int x = 0; x < d->size[0]; ++x) {
        for (int y = 0; y < d->size[1]; ++y) {
            for (int z = 0; z < (d->size[2] > 0 ? d->size[2] : 1); ++z) {
                add_receiver(d, (int[]){x, y, z}, numbers);
            }
        }
    }
    if (receivers != d->t_r || senders != d->t_s || messages != d->length) {
        fprintf(stderr, "%s: %d receivers, %d senders, %d messages; the paper has %d, %d, %d\n",
                d->name, receivers, senders, messages, d->t_r, d->t_s, d->length);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rank 0: one thread per receiver posts */

static MPI_Request requests[MOST_MESSAGES];
static unsigned char bytes[MOST_MESSAGES];
static int posted[MOST_MESSAGES]; /* in this order */
static int num_posted;
static int started;
static unsigned trial_seed;

static void *post(void *argument)
{
    int receiver = (int) (intptr_t) argument;
    unsigned state = trial_seed + (unsigned) receiver * 7919u;

    __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&started, __ATOMIC_RELAXED) < receivers) {
        sched_yield();
    }
    for (int m = receiver_first[receiver]; m < receiver_first[receiver + 1]; ++m) {
        while (0 != random_below(4, &state)) {
            sched_yield();
        }
        OK(MPI_Irecv(bytes + m, 1, MPI_BYTE, 1, m, match_comm, &requests[m]));
        posted[__atomic_fetch_add(&num_posted, 1, __ATOMIC_RELAXED)] = m;
    }
    return NULL;
}

static void post_all(void)
{
    pthread_t threads[MOST_THREADS];
    pthread_attr_t small;

    num_posted = started = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    for (int r = 0; r < receivers; ++r) {
        if (0 != pthread_create(&threads[r], &small, post, (void *) (intptr_t) r)) {
            fprintf(stderr, "cannot start %d threads\n", receivers);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int r = 0; r < receivers; ++r) {
        pthread_join(threads[r], NULL);
    }
    pthread_attr_destroy(&small);
}

/* Rank 1: threads that take what is next in the order of sending */

static int order[MOST_MESSAGES];
static int next_message;
static int busy_workers;
static bool workers_end;

/* Each sender sends in the order of its receivers; which sender is next is random. */
static void shuffle(void)
{
    static int first[MOST_MESSAGES + 1], list[MOST_MESSAGES], at[MOST_MESSAGES],
        live[MOST_MESSAGES];
    int num_live = senders, n = 0;

    memset(first, 0, sizeof(first));
    for (int m = 0; m < messages; ++m) {
        ++first[sender_of[m] + 1];
    }
    for (int s = 0; s < senders; ++s) {
        first[s + 1] += first[s];
        at[s] = first[s];
        live[s] = s;
    }
    /* A receiver's messages are in the order of its offsets, so the sender's offset to the receiver
     * is taken in the same order when receivers are walked from the last to the first. */
    for (int m = messages - 1; m >= 0; --m) {
        list[at[sender_of[m]]++] = m;
    }
    memcpy(at, first, sizeof(at));
    while (num_live > 0) {
        unsigned i = random_below((unsigned) num_live, &random_state);
        int s = live[i];
        order[n++] = list[at[s]++];
        if (at[s] == first[s + 1]) {
            live[i] = live[--num_live];
        }
    }
}

static void send_some(void)
{
    int i;

    while ((i = __atomic_fetch_add(&next_message, 1, __ATOMIC_ACQ_REL)) < messages) {
        OK(MPI_Send(bytes + i, 1, MPI_BYTE, 0, order[i], match_comm));
    }
}

static void *worker(void *unused)
{
    (void) unused;
    while (!__atomic_load_n(&workers_end, __ATOMIC_ACQUIRE)) {
        if (__atomic_load_n(&next_message, __ATOMIC_ACQUIRE) >= messages) {
            sched_yield();
            continue;
        }
        __atomic_fetch_add(&busy_workers, 1, __ATOMIC_ACQ_REL);
        send_some();
        __atomic_fetch_sub(&busy_workers, 1, __ATOMIC_ACQ_REL);
    }
    return NULL;
}

static void send_all(int num_workers)
{
    pthread_t threads[MOST_THREADS];

    next_message = messages; /* nothing to do yet */
    for (int w = 0; w < num_workers; ++w) {
        pthread_create(&threads[w], NULL, worker, NULL);
    }
    shuffle();
    match_tell(0, 1);
    (void) match_hear(0);
    __atomic_store_n(&next_message, 0, __ATOMIC_RELEASE);
    send_some();
    while (__atomic_load_n(&busy_workers, __ATOMIC_ACQUIRE) > 0) {
        sched_yield();
    }
    __atomic_store_n(&workers_end, true, __ATOMIC_RELEASE);
    for (int w = 0; w < num_workers; ++w) {
        pthread_join(threads[w], NULL);
    }
    workers_end = false;
    OK(MPI_Send(order, messages, MPI_INT, 0, 1, match_other));
}

/* Entries that pml/llamatch looked at in posted receives. */
static MPI_T_pvar_handle looked_at_handle = MPI_T_PVAR_HANDLE_NULL;

static void count_looked_at(void)
{
    int index = micro_find_pvar("pml_llamatch_posted_depth_sum"), count;

    if (index >= 0) {
        OK(MPI_T_pvar_handle_alloc(micro_session, index, &match_comm, &looked_at_handle, &count));
        (void) MPI_T_pvar_start(micro_session, looked_at_handle); /* may run all the time */
    }
}

/* NAN: another component, which does not count. */
static double looked_at_so_far(void)
{
    unsigned long value;

    if (MPI_T_PVAR_HANDLE_NULL == looked_at_handle) {
        return NAN;
    }
    OK(MPI_T_pvar_read(micro_session, looked_at_handle, &value));
    return (double) value;
}

/* Mean number of entries that a search of one list looks at: live ones up to the match, in a tree
 * of partial sums over the posting order. */
static double mean_depth(const int *sent)
{
    static int tree[MOST_MESSAGES + 1], place[MOST_MESSAGES];
    double total = 0;

    for (int i = 1; i <= messages; ++i) {
        tree[i] = i & -i; /* all live */
        place[posted[i - 1]] = i;
    }
    for (int i = 0; i < messages; ++i) {
        for (int at = place[sent[i]]; at > 0; at -= at & -at) {
            total += tree[at];
        }
        for (int at = place[sent[i]]; at <= messages; at += at & -at) {
            --tree[at];
        }
    }
    return total / messages;
}

static void measure(const struct decomposition *d, int num_workers, long trials)
{
    double ns[MATCH_MOST], depth[MATCH_MOST], ratio[MATCH_MOST], looked_at[MATCH_MOST];
    char what[64];

    decompose(d);
    for (long t = 0; t < trials; ++t) {
        static int sent[MOST_MESSAGES];
        double start;
        trial_seed = random_state += 12345;
        if (1 == micro_rank) {
            send_all(num_workers < senders ? num_workers - 1 : senders - 1);
            continue;
        }
        post_all();
        looked_at[t] = looked_at_so_far();
        (void) match_hear(1);
        start = micro_now_ns();
        match_tell(1, 1);
        OK(MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE));
        ns[t] = (micro_now_ns() - start) / messages;
        OK(MPI_Recv(sent, messages, MPI_INT, 1, 1, match_other, MPI_STATUS_IGNORE));
        looked_at[t] = (looked_at_so_far() - looked_at[t]) / messages;
        depth[t] = mean_depth(sent);
        ratio[t] = depth[t] / d->depth;
    }
    if (0 == micro_rank) {
        snprintf(what, sizeof(what), "%s, %d", d->name, messages);
        match_print("threads", what, 1, "drain", ns, trials);
        micro_print("threads", what, 1, "search depth", "entries", depth, trials);
        micro_print("threads", what, 1, "depth/Table 1", "x", ratio, trials);
        if (!isnan(looked_at[0])) {
            micro_print("threads", what, 1, "looked at", "entries", looked_at, trials);
        }
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    long trials;

    match_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    random_state = (unsigned) micro_number("seed", 1);
    trials = micro_number("trials", 10);
    count_looked_at();
    trials = trials < MATCH_MOST ? trials : MATCH_MOST;
    for (size_t i = 0; i < sizeof(decompositions) / sizeof(decompositions[0]); ++i) {
        measure(&decompositions[i], (int) micro_number("senders", 8), trials);
    }
    if (MPI_T_PVAR_HANDLE_NULL != looked_at_handle) {
        OK(MPI_T_pvar_handle_free(micro_session, &looked_at_handle));
    }
    return match_done();
}
