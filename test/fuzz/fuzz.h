/*
 * The RMA fuzzer: random programs without a race, checked byte for byte against a model.
 *
 *  - fuzz_layout.c: datatypes whose layout we know ourselves
 *  - fuzz_plan.c: windows, who may write what, what is written: the same on every rank
 *  - fuzz_actor.c, fuzz_write.c, fuzz_get.c, fuzz_round.c: one thread, its gets and writes, its
 *    buffers, their comparison with the model
 *  - fuzz_counters.c: the component's counters
 *  - rma_fuzz.c: rounds and their synchronisation, options, threads
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_FUZZ_H
#define OMPI_LOCALITY_FUZZ_H

#include "fuzz_random.h"
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RANKS = 8,
    MAX_THREADS = 4,
    MAX_ACTORS = MAX_RANKS * MAX_THREADS,
    MAX_WINDOWS = 4,
    BLOCK = 256,     /* bytes: what one actor owns */
    GRANULE = 8,     /* bytes: what an outstanding operation covers */
    MAX_SCRIPT = 256 /* writes of an actor per round */
};

#define OK(call)                                        \
    do {                                                \
        int rc_ = (call);                               \
        if (MPI_SUCCESS != rc_) {                       \
            fuzz_fatal(__FILE__, __LINE__, #call, rc_); \
        }                                               \
    } while (0)

enum { MODE_TRANSPARENT, MODE_ALWAYS, MODE_USER, MODE_MIXED, MODE_OFF };
enum { BREAK_NOTHING, BREAK_MODEL, BREAK_FOREIGN };
enum { SYNC_FENCE, SYNC_PSCW, SYNC_LOCK, SYNC_LOCK_ALL, SYNC_KINDS };

enum {
    WITHOUT_REQUESTS,
    WITHOUT_RGETS,
    WITHOUT_ACCUMULATES,
    WITHOUT_GET_ACCUMULATES,
    WITHOUT_ATOMICS,
    WITHOUT_PUTS,
    WITHOUT_TYPES,
    WITHOUT_FLUSH_LOCALS,
    WITHOUT_KINDS
};

struct options {
    uint64_t seed;
    long ops;      /* over all ranks */
    int seconds;   /* instead of ops; 0: ops */
    int per_round; /* operations of an actor, about */
    int threads, windows;
    int mode;
    int memory;                     /* 0: both, 1: MPI_Win_create, 2: MPI_Win_allocate */
    int sync;                       /* bit mask of SYNC_ */
    size_t window_bytes, get_bytes; /* the largest */
    bool scope_flush;               /* osc_cached_passive_scope=flush is set: obey its rule */
    int without;                    /* bit mask of WITHOUT_ */
    bool changes;                   /* change info keys in the middle of everything */
    bool flush_each;                /* complete each target on its own */
    const char *files;              /* folder for windows on files, instead of MPI_Win_allocate */
    bool cold;                      /* most of their bytes are not in memory */
    bool strided;                   /* accumulates with derived datatypes, too */
    bool room;                      /* accumulates have more room than data */
    int broken;
};
extern struct options options;
bool without(int what);
extern int fuzz_rank, fuzz_size;
void fuzz_fatal(const char *file, int line, const char *what, int rc) __attribute__((noreturn));

/* --- random numbers */

/* What stream of numbers it is, and for whom. */
enum { FOR_TYPES, FOR_ROUND, FOR_WINDOW, FOR_OWNERS, FOR_SCRIPT, FOR_ACTOR, FOR_DATA };
rng_t rng_make(int purpose, uint64_t a, uint64_t b);

/* --- datatypes */

enum { BASES = 3, BASE_BYTE = 0, BASE_INT = 1, BASE_LONG = 2 };

struct layout {
    MPI_Datatype type;
    int base, items;     /* elements of that base type */
    size_t extent, span; /* bytes from one to the next; bytes up to the end of the last block */
    size_t before;       /* bytes in front of the address that is given to MPI */
    int blocks;
    struct {
        uint32_t at, bytes;
    } * block;
};

extern const int base_bytes[BASES];
void layout_init(void);
void layout_finish(void);
const struct layout *layout_basic(int base);
/* A layout of this base type, at random, with a number of items that divides `items`. */
const struct layout *layout_pick(rng_t *rng, int base, int items);
/* A layout at random; `twice`: it may name bytes more than once, which is for reading only. */
const struct layout *layout_any(rng_t *rng, int base, bool twice);
size_t layout_bytes(const struct layout *l, int count);
size_t layout_span(const struct layout *l, int count);
void layout_pack(const struct layout *l, int count, const uint8_t *from, uint8_t *packed);
void layout_unpack(const struct layout *l, int count, const uint8_t *packed, uint8_t *to);
/* Calls visit(arg, offset, bytes) for each block until it returns false; false if one did. */
bool layout_visit(const struct layout *l, int count, bool (*visit)(void *, size_t, size_t),
                  void *arg);

/* --- the plan */

/* The part of a window that one rank offers. */
struct part {
    size_t bytes;
    int unit;        /* disp_unit */
    uint8_t *now;    /* the model: what it holds, as far as this process may know */
    int16_t *owner;  /* per block: the only actor that writes it, and reads it; -1: all read it */
    uint16_t *owned; /* blocks by actor: those of actor a start at first[a] */
    uint16_t first[MAX_ACTORS + 1];
    uint32_t *
        written; /* per granule: round + 1 of its last write in a round that writes nothing twice */
};

struct window {
    MPI_Win win;
    uint8_t *base, *memory; /* memory: kept for the next MPI_Win_create */
    bool allocated;
    int index, life, era, mode;
    struct part part[MAX_RANKS];
    /* this round */
    int sync;
    bool stores; /* ranks may change their own memory */
    bool read_only, exclusive,
        goes_on; /* goes_on: the next round has the same kind of synchronisation */
    bool fence_open, lock_all_open;
    uint8_t group[MAX_RANKS][MAX_RANKS]; /* start/complete: [origin][target] */
};

extern struct window windows[MAX_WINDOWS];

enum write_kind {
    PUT,
    RPUT,
    STORE,
    GET_HERE,
    ACC,
    RACC,
    GET_ACC,
    RGET_ACC,
    FETCH_OP,
    SWAP,
    WRITE_KINDS
};

struct write {
    int window, target;
    enum write_kind kind;
    size_t at;
    const struct layout *origin, *there;
    int origin_count, count;
    int op;        /* of an accumulate */
    uint64_t salt; /* its data */
    int source;    /* GET_HERE: bytes of this rank and place are got into the window's own memory */
    size_t source_at;
};

bool is_passive(int sync);
int plan_sync(const struct window *w, int round);
/* Does the window end its life after this round; may bytes change their owners? */
bool plan_ends_life(const struct window *w, int round);
bool plan_ends_era(const struct window *w, int round);
void plan_window(struct window *w);
void plan_owners(struct window *w);
void plan_forget(struct window *w);
void plan_round(struct window *w, int round);
int plan_script(int actor, int round, struct write *script);
/* The write's data, packed; its effect on the model. `fetched` (or NULL) gets what was there
 * before. */
void plan_data(const struct write *w, uint8_t *packed);
void plan_apply(const struct write *w, uint8_t *fetched);
extern const MPI_Op plan_ops[];
/* A compare-and-swap that finds what it expects. */
bool write_swaps(const struct write *w);

/* --- actors */

struct actor;
struct actor *actor_make(int thread);
void actor_free(struct actor *a);
void actor_new_window(struct actor *a, int window);
void actor_round(struct actor *a, int round);
/* All operations of this actor on the window are complete, here and at the targets, after `how`. */
void actor_window_done(struct actor *a, int window, const char *how);
long actor_ops(const struct actor *a, const char **names, long *count, int max, int *n);
long actor_wrong(const struct actor *a);

/* --- counters */

void counters_init(void);
void counters_open(int window);
void counters_close(int window); /* adds what the window counted to the sums */
long counters_print(FILE *out);  /* collective; number of windows whose counters do not add up */
void counters_finish(void);

#endif
