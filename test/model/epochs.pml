/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When osc/cached may serve a get from its cache: a Spin model, see README.md.
 *
 * Every write adds one to its cell, so that a value says how old it is.  A get may return what the cell
 * held at any moment from the last synchronisation that covers it (`least`) until now (`memory`): an
 * uncached get of the same epoch could have returned each of these, and in a program without races
 * they are one and the same value.
 */

/* The configuration, chosen by test/model/run */

#ifndef MODE
#define MODE FENCE
#endif
#define FENCE  1 /* transparent, fence and start/complete epochs */
#define NONE   2 /* transparent, passive target, passive_scope=none */
#define FLUSH  3 /* transparent, passive target, passive_scope=flush */
#define ALWAYS 4
#define USER   5
#define SWITCH 6 /* between FLUSH and USER at any time */

#ifndef ORIGINS
#define ORIGINS 1 /* processes with a cache; the target and its stores come on top */
#endif
#ifndef THREADS
#define THREADS 1 /* of the first origin; 2 splits the calls where another thread can come between */
#endif
#ifndef CELLS
#define CELLS 2
#endif
#ifndef TARGETS
#define TARGETS 1 /* 2: each cell is at a target of its own */
#endif
#ifndef RECORDS
#define RECORDS 2 /* gets that an origin can have on their way */
#endif
#ifndef VERSIONS
#define VERSIONS 2 /* writes to one cell, by anybody */
#endif

/* The rule that is broken on purpose */

#ifndef BREAK
#define BREAK 0
#endif
#define A1       1  /* an own write makes no new generation */
#define DIRTY    2  /* gets are cached while an own write is on its way */
#define A3       3  /* a flush fills pending entries of other targets */
#define A4       4  /* flush_local does not fill what waits */
#define A6       5  /* a get that joined a pending entry is not filled */
#define A9       6  /* a pending entry is evicted */
#define PINNED   7  /* an entry is evicted while gets wait to be filled from it */
#define REUSE    8  /* an outdated entry is used for a new get while others wait to be filled from it */
#define S1       9  /* closing an epoch makes no new generation */
#define S3       10 /* passive target: the cache is used though passive_scope=none */
#define JOIN     11 /* a get joins a pending entry of an older generation */
#define FILL     12 /* a pending entry of an older generation becomes valid when it is filled */
#define LOCAL    13 /* flush_local takes own writes as complete at the target */
#define RESIZE   14 /* a resize makes pending entries cached */
#define PLACE    15 /* a resize moves entries, and records expect them at the old place */
#define INVALID  16 /* invalidate makes no new generation */
#define CHANGE   17 /* a change of the mode makes no new generation */
#define MARK     18 /* threads: a flush fills entries whose gets were issued after it began */
#define WMARK    19 /* threads: a flush takes own writes as complete that were issued after it began */
#define SKIP     20 /* threads: a flush does not go to the network after one that began too early */
#define STAMP    21 /* threads: the stamp is taken after the inner get */
#define SEQUENCE 22 /* threads: the sequence number is taken before the inner get */
#define WRITING  23 /* threads: the sequence number of a write is taken before the inner put */
#define EARLY    24 /* threads: the new generation of a write, and nothing more, before the inner put */

/* --- State ------------------------------------------------------------------------------------ */

#define UNKNOWN  15 /* what is in a buffer before the data arrives */
#define ALL      2  /* as the target of a synchronisation: both */
#define NOBODY   3

#if TARGETS == 2
#define TARGET(c) (c)
#else
#define TARGET(c) 0
#endif
#define COVERS(t, c) ((t) == ALL || (t) == TARGET(c))

/* states of an entry */
#define MISSING  0
#define PENDING  1
#define CACHED   2

typedef Entry {
    byte state;
    bit valid;      /* of the present generation */
    byte copy
}

typedef Record { /* a get on its way */
    bit called;     /* the record is in use */
    bit issued;     /* a real get: the network may read the target */
    bit registered; /* it has its sequence number */
    bit cell;
    byte buffer;    /* the user's */
    byte least;     /* the oldest value that it may return */
    bit named;      /* an entry: to be filled with the buffer or, without a real get, to fill it from */
    bit place;      /* of the entry */
    bit marked[THREADS]; /* the sequence number is below the mark of this thread's synchronisation ... */
    bit missed[THREADS]  /* ... whose inner call began before the inner get did */
}

typedef Write { /* a put or another own write: one at a time by each thread */
    bit called;
    bit issued;
    bit registered;
    bit dirty;      /* gets from the target bypass the cache */
    bit cell;
    byte version;   /* what it wrote; 0 before it takes effect */
    bit marked[THREADS];
    bit missed[THREADS]
}

typedef Origin {
    Entry entry[2];
    bit swapped;    /* cell c is at place c ^ swapped: a resize moves the entries */
    Record record[RECORDS];
    Write write[THREADS];
    byte least[CELLS];
    bit fresh[THREADS]; /* no new generation since this thread took the stamp of its get */
    bit keeps;      /* closing an epoch keeps the entries: modes always and user */
    bit quiet       /* for SKIP: a flush need not go to the network */
}

Origin origin[ORIGINS];
byte memory[CELLS];
byte promised[CELLS]; /* writes issued so far */

/* for --trace */
#define SAY(text, a, b) printf("origin %d thread %d: ", self, thread); printf(text, a, b)

#define ME          origin[self]
#define REC         ME.record[r]
#define ENTRY(c)    ME.entry[(c) ^ ME.swapped]
#if MODE == NONE
#define LEAST(c)    memory[c]
#else
#define LEAST(c)    ME.least[c]
#endif

/* --- Parts of the calls; i is for loops -------------------------------------------------------- */

/* Never bytes that have not arrived; nothing older than the epoch, than a completed own write or than an
 * invalidation; nothing of another cell. */
#define CHECK(value, oldest, c) \
    assert((value) != UNKNOWN); \
    assert((oldest) <= (value)); \
    assert((value) <= memory[c])

/* No record names the entry at this place. */
#define NAMES(n, p) (ME.record[n].named && ME.record[n].place == (p))
#if RECORDS == 3
#define UNPINNED(p) (!NAMES(0, p) && !NAMES(1, p) && !NAMES(2, p))
#elif RECORDS == 2
#define UNPINNED(p) (!NAMES(0, p) && !NAMES(1, p))
#else
#define UNPINNED(p) (!NAMES(0, p))
#endif

#define DROP(p)     ME.entry[p].state = MISSING; ME.entry[p].valid = 0; ME.entry[p].copy = 0

/* A new generation.  The code adds one to a number that entries carry a copy of; this is the effect. */
inline new_generation(t)
{
    for (i : 0 .. CELLS - 1) {
        if
        :: COVERS(t, i) ->
            ENTRY(i).valid = 0;
            if
            :: UNPINNED(i ^ ME.swapped) -> DROP(i ^ ME.swapped)
            :: else
            fi
        :: else
        fi
    }
    for (i : 0 .. THREADS - 1) {
        ME.fresh[i] = 0
    }
}

/* From now on, gets return nothing older than what memory holds at this moment. */
inline new_epoch(t)
{
    for (i : 0 .. CELLS - 1) {
        if
        :: COVERS(t, i) -> ME.least[i] = memory[i]
        :: else
        fi
    }
}

/* get, first part: the stamp and the lookup.  r is then the record of the real get, or RECORDS: none needed. */
inline lookup(c)
{
    bypass = (MODE == NONE && BREAK != S3);
    for (i : 0 .. THREADS - 1) {
        if
        :: ME.write[i].dirty && TARGET(ME.write[i].cell) == TARGET(c) && BREAK != DIRTY -> bypass = 1
        :: else
        fi
    }
    r = 0;
    do
    :: r < RECORDS && REC.called -> r++
    :: else -> break
    od;
    if
    :: !bypass && ENTRY(c).state == CACHED && ENTRY(c).valid ->
        SAY("get of cell %d: hit, value %d\n", c, ENTRY(c).copy);
        CHECK(ENTRY(c).copy, LEAST(c), c);
        r = RECORDS
    :: r < RECORDS && !(!bypass && ENTRY(c).state == CACHED && ENTRY(c).valid) ->
        REC.called = 1;
        REC.cell = c;
        REC.least = LEAST(c);
        if
        :: !bypass && ENTRY(c).state == PENDING && (ENTRY(c).valid || BREAK == JOIN) ->
            SAY("get of cell %d: joins%c\n", c, '.');
            REC.registered = 1;
            REC.named = 1;
            REC.place = c ^ ME.swapped;
            ME.quiet = 0;
            r = RECORDS
        :: else ->
            SAY("get of cell %d: to be issued, bypass %d\n", c, bypass);
            REC.buffer = UNKNOWN;
            ME.fresh[thread] = 1
        fi
    :: else /* enough for this model */
    fi
}

/* get, last part: the sequence number, and a pending entry with the stamp that the lookup took. */
inline insert(c)
{
    SAY("get of cell %d: sequence number, record %d\n", c, r);
    REC.registered = 1;
    ME.quiet = 0;
    if
    :: !bypass && (ME.fresh[thread] || BREAK == STAMP) && (UNPINNED(c ^ ME.swapped) || BREAK == REUSE) ->
        REC.named = 1;
        REC.place = c ^ ME.swapped;
        ENTRY(c).state = PENDING;
        ENTRY(c).valid = 1;
        ENTRY(c).copy = UNKNOWN
    :: else
    fi;
    ME.fresh[thread] = 0
}

/* A real get has arrived in the user's buffer: the entry gets a copy. */
inline fill_entry()
{
    if
    :: REC.named ->
        i = REC.place;
        ME.entry[i].state = CACHED;
        ME.entry[i].copy = REC.buffer;
        REC.named = 0;
        REC.place = 0;
        if
        :: BREAK == FILL -> ME.entry[i].valid = 1
        :: BREAK != FILL && !ME.entry[i].valid && UNPINNED(i) -> DROP(i)
        :: else
        fi
    :: else
    fi
}

/* A get that joined is filled from the entry. */
inline fill_buffer()
{
    i = REC.place;
    REC.buffer = (BREAK == A6 -> UNKNOWN : ME.entry[i].copy);
    REC.named = 0;
    REC.place = 0;
    if
    :: !ME.entry[i].valid && UNPINNED(i) -> DROP(i)
    :: else
    fi
}

inline complete_record()
{
    SAY("record %d complete: value %d\n", r, REC.buffer);
    CHECK(REC.buffer, REC.least, REC.cell);
    REC.called = 0; REC.issued = 0; REC.registered = 0; REC.cell = 0; REC.buffer = 0; REC.least = 0;
    for (i : 0 .. THREADS - 1) {
        REC.marked[i] = 0;
        REC.missed[i] = 0
    }
}

inline complete_write(p)
{
    if
    :: ME.write[p].version > ME.least[ME.write[p].cell] -> ME.least[ME.write[p].cell] = ME.write[p].version
    :: else
    fi;
    ME.write[p].called = 0; ME.write[p].issued = 0; ME.write[p].registered = 0; ME.write[p].dirty = 0;
    ME.write[p].cell = 0; ME.write[p].version = 0;
    for (i : 0 .. THREADS - 1) {
        ME.write[p].marked[i] = 0;
        ME.write[p].missed[i] = 0
    }
}

/* A synchronisation, first part: the mark.  Then the inner call begins. */
inline mark(t, locally)
{
    SAY("synchronisation begins: target %d, local %d\n", t, locally);
    for (i : 0 .. RECORDS - 1) {
        if
        :: ME.record[i].registered && COVERS(t, ME.record[i].cell) ->
            assert(!ME.quiet); /* it would return before the get is complete */
            ME.record[i].marked[thread] = 1;
            ME.record[i].missed[thread] = (ME.record[i].buffer == UNKNOWN && !ME.record[i].issued)
        :: else
        fi
    }
    for (i : 0 .. THREADS - 1) {
        if
        :: !locally && ME.write[i].registered && COVERS(t, ME.write[i].cell) ->
            assert(!ME.quiet);
            ME.write[i].marked[thread] = 1;
            ME.write[i].missed[thread] = !ME.write[i].issued
        :: else
        fi
    }
}

/* The inner call returns when all that was issued before it is done; more may be. */
#define RECORD_DONE(n) (!ME.record[n].marked[thread] || ME.record[n].missed[thread] || ME.record[n].buffer != UNKNOWN)
#define WRITE_DONE(p)  (!ME.write[p].marked[thread] || ME.write[p].missed[thread] || ME.write[p].version)
#if RECORDS == 3
#define RECORDS_DONE   (RECORD_DONE(0) && RECORD_DONE(1) && RECORD_DONE(2))
#elif RECORDS == 2
#define RECORDS_DONE   (RECORD_DONE(0) && RECORD_DONE(1))
#else
#define RECORDS_DONE   RECORD_DONE(0)
#endif
#if THREADS == 2
#define WRITES_DONE    (WRITE_DONE(0) && WRITE_DONE(1))
#else
#define WRITES_DONE    WRITE_DONE(0)
#endif

/* A synchronisation, last part.  In the order of the sequence numbers: what joined comes after what fills. */
inline finish(t, locally)
{
    SAY("synchronisation ends: target %d, local %d\n", t, locally);
    for (r : 0 .. RECORDS - 1) {
        if
        :: REC.marked[thread] && REC.missed[thread] ->
            fill_entry();
            REC.marked[thread] = 0;
            REC.missed[thread] = 0
        :: REC.issued && REC.registered && !REC.marked[thread] &&
            (BREAK == A3 || (BREAK == MARK && COVERS(t, REC.cell))) -> fill_entry()
        :: REC.issued && REC.marked[thread] && !REC.missed[thread] ->
            fill_entry();
            complete_record()
        :: else
        fi
    }
    for (r : 0 .. RECORDS - 1) {
        if
        :: !REC.issued && REC.marked[thread] ->
            if
            :: locally && BREAK == A4 -> REC.buffer = UNKNOWN
            :: else -> fill_buffer()
            fi;
            complete_record()
        :: else
        fi
    }
    for (r : 0 .. THREADS - 1) {
        if
        :: ME.write[r].marked[thread] && !ME.write[r].missed[thread] -> complete_write(r)
        :: ME.write[r].marked[thread] && ME.write[r].missed[thread] ->
            ME.write[r].dirty = 0;
            ME.write[r].marked[thread] = 0;
            ME.write[r].missed[thread] = 0
        :: ME.write[r].registered && !ME.write[r].marked[thread] && COVERS(t, ME.write[r].cell) &&
            ((BREAK == LOCAL && locally) || (BREAK == WMARK && !locally)) -> ME.write[r].dirty = 0
        :: else
        fi
    }
    if
    :: !locally && !ME.keeps ->
        new_epoch(t);
        if
        :: BREAK != S1 -> new_generation(t)
        :: else
        fi
    :: else
    fi;
    ME.quiet = (BREAK == SKIP);
    r = 0;
    i = 0
}

/* --- The calls --------------------------------------------------------------------------------- */

/* Where another thread can come between the parts of a call. */
#if THREADS == 2
#define THEN } d_step {
#else
#define THEN ;
#endif

/* Weak caching: an entry may be declined, or find no room. */
inline get(c, insertable)
{
    d_step {
        lookup(c);
        if
        :: !insertable -> bypass = 1
        :: else
        fi;
        if
        :: BREAK == SEQUENCE && r < RECORDS -> insert(c)
        :: else
        fi;
        i = 0
        THEN
        if
        :: r < RECORDS -> REC.issued = 1; SAY("get of cell %d: issued, record %d\n", c, r)
        :: else
        fi
        THEN
        if
        :: BREAK != SEQUENCE && r < RECORDS -> insert(c)
        :: else
        fi;
        r = 0;
        i = 0;
        bypass = 0
    }
}

inline put(c)
{
    d_step {
        !ME.write[thread].called && promised[c] < VERSIONS ->
        SAY("put to cell %d, new generation: %d\n", c, BREAK != A1);
        promised[c]++;
        ME.write[thread].called = 1;
        ME.write[thread].cell = c;
        ME.write[thread].registered = (BREAK == WRITING);
        ME.write[thread].dirty = (BREAK != EARLY);
        if
        :: BREAK != A1 -> new_generation(TARGET(c))
        :: else
        fi;
        i = 0
        THEN
        ME.write[thread].issued = 1;
        SAY("put to cell %d: issued%c\n", c, '.')
        THEN
        SAY("put to cell %d: sequence number%c\n", c, '.');
        ME.write[thread].registered = 1;
        ME.write[thread].dirty = ME.write[thread].dirty || BREAK == EARLY;
        ME.quiet = 0
    }
}

/* flush, flush_local, unlock, fence, complete: of one target or all */
inline synchronise(t, locally)
{
    d_step {
        mark(t, locally);
        i = 0
    }
    d_step {
        RECORDS_DONE && WRITES_DONE -> finish(t, locally)
    }
}

/* MPI_Wait for one MPI_Rget */
inline wait(n)
{
    d_step {
        ME.record[n].registered && ME.record[n].issued -> ME.record[n].marked[thread] = 1
    }
    d_step {
        RECORDS_DONE -> finish(NOBODY, 1)
    }
}

/* Of all targets; MPI_Win_sync does the same where passive_scope=flush. */
inline invalidate()
{
    d_step {
        SAY("invalidate%c%c\n", '.', ' ');
        new_epoch(ALL);
        if
        :: BREAK != INVALID -> new_generation(ALL)
        :: else
        fi;
        i = 0
    }
}

inline change_mode()
{
    d_step {
        ME.keeps = !ME.keeps;
        new_epoch(ALL);
        if
        :: BREAK != CHANGE -> new_generation(ALL)
        :: else
        fi;
        i = 0
    }
}

inline evict(c)
{
    d_step {
        (ENTRY(c).state == CACHED && (UNPINNED(c ^ ME.swapped) || BREAK == PINNED)) ||
            (ENTRY(c).state == PENDING && BREAK == A9) ->
        DROP(c ^ ME.swapped);
        for (r : 0 .. RECORDS - 1) { /* nobody when the rules hold */
            if
            :: NAMES(r, c ^ ME.swapped) && REC.issued -> REC.named = 0; REC.place = 0
            :: NAMES(r, c ^ ME.swapped) && !REC.issued -> ENTRY(c).copy = UNKNOWN
            :: else
            fi
        }
        r = 0
    }
}

/* Index and storage get another size: entries move, and records must follow. */
inline resize()
{
    d_step {
        for (r : 0 .. 1) {
            if
            :: BREAK == RESIZE && ME.entry[r].state == PENDING -> ME.entry[r].state = CACHED
            :: else
            fi
        }
        for (r : 0 .. RECORDS - 1) {
            if
            :: REC.named && BREAK != PLACE -> REC.place = !REC.place
            :: else
            fi
        }
        r = ME.entry[0].state; ME.entry[0].state = ME.entry[1].state; ME.entry[1].state = r;
        r = ME.entry[0].valid; ME.entry[0].valid = ME.entry[1].valid; ME.entry[1].valid = r;
        r = ME.entry[0].copy; ME.entry[0].copy = ME.entry[1].copy; ME.entry[1].copy = r;
        ME.swapped = !ME.swapped;
        r = 0
    }
}

/* --- Processes --------------------------------------------------------------------------------- */

proctype Thread(bit self; bit thread)
{
    byte i, r;
    bit bypass;

end:
    do
    :: get(0, 1)
    :: get(0, 0)
    :: put(0)
    :: synchronise(ALL, 0)
    :: evict(0)
#if CELLS == 2
    :: get(1, 1)
    :: get(1, 0)
    :: put(1)
    :: evict(1)
#endif
#if MODE != FENCE
    :: synchronise(0, 1)
#if TARGETS == 2
    :: synchronise(0, 0)
    :: synchronise(1, 0)
    :: synchronise(1, 1)
#endif
#endif
    :: wait(0)
#if RECORDS > 1
    :: wait(1)
#endif
#if MODE == USER || MODE == SWITCH || MODE == FLUSH
    :: invalidate()
#endif
#if MODE == SWITCH
    :: change_mode()
#endif
#ifdef RESIZES
    :: resize()
#endif
    od
}

/* The network does what was issued at any moment; the target stores at any moment. */
proctype Network()
{
#define ARRIVE(o, r) \
    :: d_step { r < RECORDS && origin[o].record[r].issued && origin[o].record[r].buffer == UNKNOWN -> \
           origin[o].record[r].buffer = memory[origin[o].record[r].cell]; \
           printf("network: origin %d record %d reads %d\n", o, r, origin[o].record[r].buffer) }
#define APPLY(o, p) \
    :: d_step { origin[o].write[p].issued && origin[o].write[p].version == 0 -> \
           memory[origin[o].write[p].cell]++; \
           origin[o].write[p].version = memory[origin[o].write[p].cell]; \
           printf("network: put of origin %d thread %d takes effect\n", o, p) }
#define STORE(c) \
    :: d_step { promised[c] < VERSIONS -> promised[c]++; memory[c]++; \
           printf("target: store to cell %d\n", c) }

end:
    do
    ARRIVE(0, 0)
#if RECORDS > 1
    ARRIVE(0, 1)
#endif
#if RECORDS > 2
    ARRIVE(0, 2)
#endif
    APPLY(0, 0)
#if THREADS == 2
    APPLY(0, 1)
#endif
#if ORIGINS == 2
    ARRIVE(1, 0)
#if RECORDS > 1
    ARRIVE(1, 1)
#endif
    APPLY(1, 0)
#endif
    STORE(0)
#if CELLS == 2
    STORE(1)
#endif
    od
}

init
{
    atomic {
#if MODE == ALWAYS || MODE == USER || MODE == SWITCH
        origin[0].keeps = 1;
#if ORIGINS == 2
        origin[1].keeps = 1;
#endif
#endif
        run Network();
        run Thread(0, 0)
#if THREADS == 2
        ; run Thread(0, 1)
#endif
#if ORIGINS == 2
        ; run Thread(1, 0)
#endif
    }
}
