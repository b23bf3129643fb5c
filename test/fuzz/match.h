/*
 * The matching fuzzer: random receives, messages, probes and cancels, checked against a naive model
 * of MPI's order.
 *
 *   match_plan.c    what is sent, from the seed: sender and receiver compute it alike
 *   match_model.c   one communicator seen by its receiver: plain lists of what is posted and what
 *                   has arrived, and whether what was received can be explained
 *   match_actor.c   one thread: posts, sends, probes, cancels
 *   match_fuzz.c    communicators, threads, options
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A round is a few waves. A wave that is exact has the steps
 *   1. receives, probes and cancels: nothing is on its way, so the model knows which have to match
 *   2. a barrier
 *   3. sends, and as the last message of every sender to everybody a "fence"
 *   4. until there is an order of arrival that explains all receives: test them
 * The fences tell that everything has arrived: a receive of its own waits for each (a receive for
 * any tag that takes a fence is as good, the model knows what it took). The order of arrival of
 * different senders is free, and the model finds it: the next message of a sender must be what its
 * first posted receive got; if that one got a message of another sender, that sender is looked at
 * first; if it got nothing yet, it must soon. Nothing depends on which sender is tried first.
 * In a wave that is free, step 1 is mixed with step 3. Then only this is checked: each sender's
 * messages went, in the order of sending, to the first posted of the receives that got something
 * from this sender; and nothing that could match is left over.
 */
#ifndef OMPI_LOCALITY_MATCH_H
#define OMPI_LOCALITY_MATCH_H

#include "fuzz_random.h"
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 16, MAX_THREADS = 4, MAX_CHANNELS = 5, MAX_WAVES = 6, MAX_BYTES = 1 << 20 };
/* Tags of a channel that no planned message has. */
enum { FENCE = 1 << 20, NEVER_SENT = 1 << 21 };

#define OK(call)                                         \
    do {                                                 \
        int rc_ = (call);                                \
        if (MPI_SUCCESS != rc_) {                        \
            match_fatal(__FILE__, __LINE__, #call, rc_); \
        }                                                \
    } while (0)

enum { BREAK_NOTHING, BREAK_ORDER, BREAK_DATA, BREAKS };

struct options {
    uint64_t seed;
    long ops; /* over all ranks */
    int threads;
    int depth, bytes; /* the deepest queue, the largest message */
    int wild;         /* percent of receives with a wildcard, in rounds that have some */
    int free_waves;   /* percent */
    int limit;        /* seconds until a receive that has to complete must have completed */
    int broken;
    const char *info_key, *info_values; /* for communicators; values joined by commas */
};
extern struct options options;
extern int match_rank, match_size;
void match_fatal(const char *file, int line, const char *what, int rc) __attribute__((noreturn));

/* --- the plan */

enum { FOR_COMM, FOR_SHAPE, FOR_BATCH, FOR_WAVE, FOR_ACTOR };
enum { SEND, ISEND, ISSEND, PERSISTENT_SEND, READY_SEND };
enum { IRECV, PERSISTENT_RECV, RECV, PROBE_RECV, MPROBE, IMPROBE };
enum { AS_SENT, REVERSE, SHUFFLED };

struct message {
    int source; /* its rank in the communicator, or in the remote group */
    int tag, bytes;
    uint32_t number; /* wave and place in its batch */
    uint8_t mode;
    /* the receive that is made for it */
    int8_t receive_wave; /* MAX_WAVES: none */
    bool any_source, any_tag;
    uint8_t method;
};

/* What a round is like: the same on every rank. */
struct shape {
    int waves, depth, bytes, tags, order;
    int wild_source, wild_tag; /* percent */
    int busy;                  /* bit mask of channels */
    int free;                  /* bit mask of waves */
};

struct channel;
struct shape plan_shape(int thread, int round, int channels);
/* What `from` (a rank in MPI_COMM_WORLD) sends in a wave to `to`, the fence last; to be freed. */
struct message *plan_batch(const struct channel *ch, const struct shape *shape, int round, int wave,
                           int from, int to, int *n);
/* A stream of numbers that every rank has alike. */
rng_t plan_stream(int purpose, int thread, int round, int wave, int channel);
void plan_init(void);
/* The bytes of a message. */
void plan_fill(const struct channel *ch, int round, int from, int to, const struct message *m,
               uint8_t *data);
bool plan_is(const struct channel *ch, int round, int from, int to, const struct message *m,
             const uint8_t *data);
void plan_describe(const uint8_t *data, int bytes, char *text, size_t size);

/* --- the model */

struct receive {
    int source, tag; /* as posted */
    MPI_Request request;
    uint8_t *buffer;
    bool persistent, fence;
    bool done, taken;
    MPI_Status status;
};

struct channel {
    MPI_Comm comm;
    const char *kind;
    int thread, index; /* who uses it, which of its channels */
    int peers;
    int world[MAX_RANKS]; /* of the peers */
    bool shared;          /* with other threads: tags of its own, no collectives */
    int tag_step, tag_first;
    int round, wave;

    struct receive **posted; /* in the order of posting */
    int num_posted, max_posted;
    struct message *arrived[MAX_RANKS]; /* per peer, not yet matched */
    int num_arrived[MAX_RANKS];
    struct message *incoming[MAX_RANKS]; /* of this wave */
    int num_incoming[MAX_RANKS];
    struct receive **idle; /* persistent ones that are not started */
    int num_idle;
};

int channel_tag(const struct channel *ch, int tag);
bool accepts(int source, int tag, const struct message *m);
/* The first message of this peer that such a receive can have, or NULL. */
struct message *model_first(struct channel *ch, int peer, int source, int tag);
/* How many peers such a receive can have a message of; one of them. */
int model_available(struct channel *ch, int source, int tag, int *peer);
struct message model_take(struct channel *ch, struct message *m);
void model_post(struct channel *ch, struct receive *r);
void model_unpost(struct channel *ch, struct receive *r);
/* Says what is wrong and ends the job. */
void wrong(const struct channel *ch, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
/* Has the receive, which is complete, got this message? */
bool model_got(const struct channel *ch, const struct receive *r, const struct message *m);
void model_must_have(const struct channel *ch, const struct receive *r, const struct message *m);
/* Everything of this wave has arrived; the receives that got something are given to `finished`. */
void model_settle(struct channel *ch, bool exact,
                  void (*finished)(struct channel *ch, struct receive *r));

/* --- actors */

enum { SENDS, RECEIVES, PROBES, CANCELS, COLLECTIVES, OPS };

struct actor {
    int thread;
    MPI_Comm control;
    struct channel channels[MAX_CHANNELS];
    int num_channels;
    int first_round, rounds;
    long ops[OPS];
    long deepest[2]; /* posted, arrived */
};
void *actor_run(void *actor);
double match_now(void);

#endif
