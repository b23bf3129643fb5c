/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Advice: what the queues of a communicator were like, what lists as ob1's would have cost, and
 * whether the engine, its heater or nothing is worth it.
 *
 * ob1 has a list of posted receives and one of unexpected messages per peer, and a list of the
 * receives for any source. A message passes all older receives of both lists; a receive passes all
 * older messages of its source; a receive for any source asks one peer after the other. How many
 * elements that are is counted here from the engine's arrays (seq, live bits), for a sample of the
 * searches. What an element costs is measured once, with lists of requests as far apart as ob1's
 * (llamatch_lists_measure): the longer a list, the less of it is in the caches. Where several peers
 * have entries, their lists push each other out, as if all were one list.
 *
 * Each search of the sample is made twice before it is really made. The second time everything is
 * in the caches, so the difference is what it costs that it was not: what a heater could save at
 * most.
 */
#ifndef LLAMATCH_ADVICE_H
#define LLAMATCH_ADVICE_H

#include "llamatch_engine.h"

/** A clock, in ns. */
typedef uint64_t (*llamatch_clock_fn_t)(void);

/** Lists of 16, 64, ... 16384 elements. */
#define LLAMATCH_LIST_SIZES 6

/** What it takes to walk a list. */
typedef struct llamatch_lists {
    llamatch_clock_fn_t clock;
    double clock_ns;                   /**< to read the clock */
    double ns[2][LLAMATCH_LIST_SIZES]; /**< per receive, and per message, by the list's length */
} llamatch_lists_t;

/** Measure it; takes some milliseconds. @return false when there is no memory */
bool llamatch_lists_measure(llamatch_lists_t *lists, llamatch_clock_fn_t clock);

/** ns to pass this many receives, or messages, of a list. @param among  so many elements that are
 * passed in turns, with those of other lists */
double llamatch_lists_ns(const llamatch_lists_t *lists, bool messages, uint64_t elements,
                         uint64_t among);

/** Searches that are all sampled at first, so that little is known of short programs, too; then one
 * of 128 to 383 at random, 255.5 on average. */
#define LLAMATCH_SAMPLED_FIRST 64

/** What samples tell of all searches of queues that were not empty. */
typedef struct llamatch_seen {
    uint64_t samples;
    uint64_t searches;   /**< that they stand for, as all below */
    uint64_t wildcards;  /**< searches for any source, or while a receive for any source waited */
    uint64_t passed;     /**< elements of lists, the match included */
    uint64_t passed_max; /**< by one search */
    double list_ns;      /**< to pass them but for the first of each search */
    double search_ns;    /**< the same search here, but for those that found the first entry */
    double cold_ns;      /**< longer than with all in the caches, of queues that are not small */
} llamatch_seen_t;

/** The watch of one communicator. */
typedef struct llamatch_watch {
    uint32_t left; /**< searches until the next sample; to be counted down by the caller */
    uint32_t interval;
    uint32_t random;
    uint32_t peers; /**< that ever had an entry, when they were last counted */
    const llamatch_lists_t *lists;
    llamatch_seen_t seen;
} llamatch_watch_t;

void llamatch_watch_init(llamatch_watch_t *watch, const llamatch_lists_t *lists);

/** Sample what a message, or a receive (peer NULL: for any source), is about to search, when left
 * has become 0. @param ranks  of the communicator */
void llamatch_watch_message(llamatch_watch_t *watch, llamatch_engine_t *engine,
                            llamatch_peer_t *peer, int32_t tag);
void llamatch_watch_receive(llamatch_watch_t *watch, llamatch_engine_t *engine,
                            llamatch_peer_t *peer, int32_t tag, size_t ranks);

enum {
    LLAMATCH_ADVICE_ROWS = 64,
    LLAMATCH_ADVICE_NAME = 64,  /**< bytes */
    LLAMATCH_ADVICE_SHOWN = 10, /**< rows of a text, those with the most to gain */
    /** bytes that are enough for any text, and for any JSON */
    LLAMATCH_ADVICE_BYTES = (LLAMATCH_ADVICE_ROWS + 2) * 1024
};

/** One communicator, or several of the same name; it can be sent to another process. */
typedef struct llamatch_row {
    char name[LLAMATCH_ADVICE_NAME];
    uint32_t processes;
    uint32_t peers;   /**< of a process at most */
    uint64_t waiting; /**< entries of a queue of a process at most */
    llamatch_seen_t seen;
    double saved_ns; /**< what the engine saves the process that it saves most */
    double cold_ns;  /**< what it costs such a process that queues were not in its caches */
} llamatch_row_t;

typedef struct llamatch_advice {
    uint32_t count; /**< all 0 at the start */
    bool heated;    /**< there was a heater */
    bool no_core;   /**< there are too few cores for one heater per process */
    double run_ns;  /**< of processor time, of the process that ran longest */
    llamatch_row_t rows[LLAMATCH_ADVICE_ROWS];
} llamatch_advice_t;

/** Add what was seen of a communicator of this process; nothing if no entry ever waited. */
void llamatch_advice_add(llamatch_advice_t *advice, const char *name, const llamatch_watch_t *watch,
                         const llamatch_engine_t *engine);

/** Add what another process of the job has. */
void llamatch_advice_join(llamatch_advice_t *advice, const llamatch_advice_t *other);

/** For people: one line per communicator, and what to type. */
void llamatch_advice_print(const llamatch_advice_t *advice, char *text, size_t size);

/** For programs: one JSON object in one line. */
void llamatch_advice_json(const llamatch_advice_t *advice, char *text, size_t size);

#endif /* LLAMATCH_ADVICE_H */
