/*
 * The inside of an actor: one thread of a rank with its own buffers. It carries out its writes of
 * the round (the script that all ranks know) and as many gets of its own choice, completes them in
 * all legal ways, and compares.
 *
 * Every operation has a place of its own in two arenas of the same shape: `real`, which MPI is
 * given, and `want`, what it must look like when the operation is complete: data where the datatype
 * says, and the random bytes from before in its gaps and around it.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_FUZZ_ACTOR_H
#define OMPI_LOCALITY_FUZZ_ACTOR_H

#include "fuzz.h"

enum {
    ARENA = 2 << 20,      /* bytes */
    ARENA_GETS = 1 << 20, /* bytes of it that gets may fill: the writes must be done */
    GUARD = 24,           /* bytes around a buffer */
    MAX_RECORDS = 4096,
    MAX_GETS = 3000,   /* records of gets */
    MAX_REQUESTS = 24, /* UCX of 5.0 aborts with 255 of a process over TCP */
    RECENT = 12
};

/* remote: those of the accumulates and atomics that went to another process */
enum { OP_GETS, OP_RGETS, OP_PUTS, OP_ACCS, OP_ATOMICS, OP_STORES, OP_SYNCS, OP_REMOTE, OP_NAMES };

/* Bytes of a target. */
struct spot {
    size_t at;
    const struct layout *there;
    int count;
};

struct record {
    int window, target, request; /* request: -1 for none */
    int round, kind;             /* kind: of enum write_kind, or -1 for a get */
    struct spot spot;
    size_t start, bytes; /* in the arenas, with guards */
};

/* What an actor knows of one target of one window. */
struct peer {
    uint32_t *read,
        *wrote; /* per granule: equal to ..._now when such an operation is outstanding */
    uint32_t read_now, wrote_now;
    struct spot recent[RECENT];
    int recents, outstanding;
    bool unflushed; /* has writes that may not have reached the target */
    int lock;       /* 0: not locked, else the lock type */
};

struct actor {
    int id, thread, round;
    rng_t rng;
    uint8_t *real, *want;
    size_t used;
    struct record record[MAX_RECORDS];
    int records, requests, locks;
    MPI_Request request[MAX_REQUESTS];
    struct peer peer[MAX_WINDOWS][MAX_RANKS];
    struct write script[MAX_SCRIPT];
    int script_length;
    long count[OP_NAMES], wrong;
    int quiet;   /* 1, 2: no synchronisation that is not needed, so that what is wrongly kept lives
                    long;   2: by flushes of one target */
    bool spoilt; /* BREAK_MODEL has done its work */
};

static inline uint8_t *real_of(struct actor *a, const struct record *r)
{
    return a->real + r->start + GUARD;
}

static inline uint8_t *want_of(struct actor *a, const struct record *r)
{
    return a->want + r->start + GUARD;
}

/* --- fuzz_actor.c: what is outstanding */

/* Operations on the target are complete here; `remote`: and there. */
void actor_target_done(struct actor *a, int window, int target, bool remote, const char *how);
void actor_finish_requests(struct actor *a, bool all);
int actor_free_request(struct actor *a);
void actor_unlock_all(struct actor *a, bool only_exclusive);
/* The epoch that an access to this target needs is open. */
void actor_need_epoch(struct actor *a, int window, int target);
bool actor_is_locked(const struct actor *a, int window, int target);
/* Complete the operations on this target, at the target too if `remote`, in one of the ways. */
void actor_flush(struct actor *a, int window, int target, bool remote);
/* A record with a buffer for `bytes`, both arenas filled with the same noise. */
struct record *actor_take_buffer(struct actor *a, int window, int target, size_t bytes);
/* Room for a get of so many bytes; completes what is outstanding when there is none. */
bool actor_has_room(struct actor *a, size_t bytes);
bool actor_may_read(const struct actor *a, int w, int t, const struct spot *s);
/* No such operation of these bytes is outstanding. */
bool actor_no_read(struct actor *a, int w, int t, const struct spot *s);
bool actor_no_write(struct actor *a, int w, int t, const struct spot *s);
void actor_mark_read(struct actor *a, int w, int t, const struct spot *s);
void actor_mark_wrote(struct actor *a, int w, int t, const struct spot *s);

/* --- fuzz_write.c, fuzz_get.c */

void actor_write(struct actor *a, const struct write *w);
/* A get of its own choice; false: none was found. */
bool actor_get(struct actor *a);

#endif
