/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What a cache would do for the gets of one window, found out without one. Pure: the owner tells of
 * gets, writes and synchronisations, and measures times.
 *
 * Three samples, each of what it costs least to sample:
 *
 *   keys     A get's key is hashed; those whose hash ends in enough zeros are followed, as in
 *            "Efficient MRC construction with SHARDS" (FAST 2015). A sample by keys sees every
 *            reuse of its keys, and the bytes between two gets of a key, times the sample's rate,
 *            are what a cache must hold to serve the second one. Gets are counted exactly, so that
 *            it does not matter whether a key that is asked for all the time is in the sample:
 *            what is not a miss is a hit. When there are too many keys, or too many gets of them,
 *            half of the keys are dropped.
 *   bytes    Of the gets of these keys, a checksum: whether it changed since the last one.
 *   batches  The gets up to the next synchronisation, and that: some are measured. A flush returns
 *            at once only when all gets before it would have been hits, so a bit per key, of all
 *            keys, tells which batches are.
 *
 * I1  count <= KEYS, and every entry is in the index once; places are different, 1 <= place <= last
 * I2  at[place of an entry] is the entry
 * I3  the tree has the bytes of each entry at its place, and 0 elsewhere
 */
#ifndef OSC_CACHED_ADVISE_H
#define OSC_CACHED_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "osc_cached_alloc.h"

enum {
    OSC_CACHED_ADVISE_KEYS = 2048, /**< that are followed at a time: about 2 % off */
    OSC_CACHED_ADVISE_INDEX = 2 * OSC_CACHED_ADVISE_KEYS,
    OSC_CACHED_ADVISE_PLACES = 4 * OSC_CACHED_ADVISE_KEYS,
    OSC_CACHED_ADVISE_TARGETS = 256,      /**< groups of targets; a write to one is one to all */
    OSC_CACHED_ADVISE_WORDS = 16384,      /**< of 64 bits: whether a key was seen */
    OSC_CACHED_ADVISE_SEEN_MAX = 1 << 17, /**< keys for which these bits are enough */
    OSC_CACHED_ADVISE_BUCKETS = 64,       /**< of distances, two per power of two */
    OSC_CACHED_ADVISE_ENTRY = 160,        /**< bytes that a cache needs beside the data of a get */
};

/** How long data would live. */
typedef enum {
    OSC_CACHED_ADVISE_REPEATS,     /**< for ever: what a coherent cache could serve at best */
    OSC_CACHED_ADVISE_ALWAYS,      /**< until an own write to the target */
    OSC_CACHED_ADVISE_USER,        /**< until that, or until the program invalidates */
    OSC_CACHED_ADVISE_TRANSPARENT, /**< until that, or until the end of an active epoch */
    OSC_CACHED_ADVISE_LIVES
} osc_cached_advise_life_t;

/** What is counted; may be added up over processes. */
typedef enum {
    OSC_CACHED_ADVISE_GETS,
    OSC_CACHED_ADVISE_BATCHES,       /**< synchronisations that completed gets */
    OSC_CACHED_ADVISE_TIMED_GETS,    /**< gets that were measured: */
    OSC_CACHED_ADVISE_GET_NS,        /**< the calls */
    OSC_CACHED_ADVISE_GET_BYTES,     /**< what they asked for */
    OSC_CACHED_ADVISE_TIMED_BATCHES, /**< batches that were measured: */
    OSC_CACHED_ADVISE_BATCH_GETS,    /**< their gets, */
    OSC_CACHED_ADVISE_BATCH_SQUARES, /**< the squares of these numbers, */
    OSC_CACHED_ADVISE_BATCH_NS,      /**< their synchronisations, */
    OSC_CACHED_ADVISE_BATCH_PRODUCT, /**< gets times ns */
    OSC_CACHED_ADVISE_KNOWN_NS,      /**< of batches for which the bits were enough, */
    OSC_CACHED_ADVISE_KNOWN_GETS,
    OSC_CACHED_ADVISE_KNOWN_SEEN, /**< of these, gets of keys that were seen */
    OSC_CACHED_ADVISE_SPARED_NS,  /**< the same of batches in which all were seen */
    OSC_CACHED_ADVISE_SPARED_GETS,
    OSC_CACHED_ADVISE_REFERENCES, /**< gets that the sample stands for */
    OSC_CACHED_ADVISE_DISTINCT,   /**< of these, the first ones of their keys */
    OSC_CACHED_ADVISE_MEMORY,     /**< bytes that a cache needs for all of these */
    OSC_CACHED_ADVISE_INVALIDATIONS,
    OSC_CACHED_ADVISE_ATOMICS, /**< accumulates and what fetches and changes, which helpers execute
                                */
    OSC_CACHED_ADVISE_CHECKED, /**< for each life: gets compared with the one before */
    OSC_CACHED_ADVISE_DIFFERED = OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_LIVES,
    /** for each life and distance: gets that would have been hits */
    OSC_CACHED_ADVISE_SERVED = OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_LIVES,
    OSC_CACHED_ADVISE_SUMS =
        OSC_CACHED_ADVISE_SERVED + OSC_CACHED_ADVISE_LIVES * OSC_CACHED_ADVISE_BUCKETS
} osc_cached_advise_sum_t;

/** A moment in the life of data. */
typedef struct {
    uint32_t epoch; /**< 0: passive */
    uint32_t written, invalidated;
} osc_cached_advise_moment_t;

typedef struct {
    uint64_t hash;
    uint64_t checksum;
    uint32_t bytes;  /**< of the largest get */
    uint32_t place;  /**< in the order of gets */
    uint32_t summed; /**< bytes of the checksum; 0: there is none */
    osc_cached_advise_moment_t asked, compared;
} osc_cached_advise_entry_t;

typedef struct {
    uint32_t resting;          /**< synchronisations until gets are watched again */
    uint64_t rests;            /**< synchronisations of all rests, */
    uint64_t synchronisations; /**< and of the time between them */
    double cheap_ns; /**< gets that take less are watched now and then; set by the owner */
    /* of every get that is watched */
    uint64_t mask; /**< keys are followed whose hash has none of these bits */
    uint64_t gets, batches;
    uint64_t new_keys; /**< gets of keys that were not seen before */
    uint32_t batch_gets;
    uint32_t untimed;        /**< batches until one is measured */
    bool timing;             /**< this batch is measured */
    uint64_t batch_new_keys; /**< new_keys when the batch began, */
    uint64_t forgotten_keys; /**< and when the program invalidated */
    uint32_t epoch;          /**< 0: passive */
    uint32_t invalidated;    /**< times */
    uint64_t random;         /**< which batches are measured */
    uint64_t round_gets;     /**< gets when this round of the sample began */
    uint64_t round_work;     /**< work for the sample in this round, */
    uint64_t work;           /**< and in all, in units of about 100 ns */
    uint32_t count, last;    /**< entries; the last place given */
    osc_cached_alloc_t alloc;
    double sums[OSC_CACHED_ADVISE_SUMS];
    uint64_t seen[OSC_CACHED_ADVISE_WORDS];
    uint64_t tree[OSC_CACHED_ADVISE_PLACES + 1]; /**< Fenwick tree of bytes by place */
    uint16_t at[OSC_CACHED_ADVISE_PLACES + 1];   /**< entries by place */
    uint16_t index[OSC_CACHED_ADVISE_INDEX];     /**< entries by hash, + 1; 0: none */
    uint32_t written[OSC_CACHED_ADVISE_TARGETS]; /**< times */
    osc_cached_advise_entry_t entries[OSC_CACHED_ADVISE_KEYS];
} osc_cached_advise_t;

/** What a cache is predicted to do. */
typedef struct {
    double hit_rate;
    double saving_ns;
    double total_ns; /**< of gets and of what completes them, without a cache */
    double memory;   /**< bytes, of all processes */
} osc_cached_prediction_t;

/** NULL: no memory. */
osc_cached_advise_t *osc_cached_advise_create(const osc_cached_alloc_t *alloc, uint64_t seed);
void osc_cached_advise_destroy(osc_cached_advise_t *advise);

/** The key of a get: every bit of the address counts in the highest and in the lowest ones. */
static inline uint64_t osc_cached_advise_hash(int target, uint64_t address)
{
    uint64_t hash = (address + 1) * UINT64_C(0x9e3779b97f4a7c15)
                    + (uint64_t) (uint32_t) target * UINT64_C(0xc2b2ae3d27d4eb4f);

    return hash ^ (hash >> 32);
}

/** Whether gets are not watched: they are so cheap that there is nothing to save, and that watching
 * them would be felt. */
static inline bool osc_cached_advise_rests(const osc_cached_advise_t *advise)
{
    return 0 < advise->resting;
}

/** A get that is watched. @return whether its key is followed, for osc_cached_advise_get */
static inline bool osc_cached_advise_count(osc_cached_advise_t *advise, uint64_t hash, int target)
{
    /* after a write to the target its keys are others */
    uint32_t written = advise->written[(uint32_t) target % OSC_CACHED_ADVISE_TARGETS];
    uint64_t key = hash + ((uint64_t) written << 40);
    uint64_t bit = UINT64_C(1) << (key >> 58);
    uint64_t *word = &advise->seen[(key >> 40) % OSC_CACHED_ADVISE_WORDS];

    ++advise->gets;
    ++advise->batch_gets;
    advise->new_keys += 0 == (*word & bit);
    *word |= bit;
    return 0 == (hash & advise->mask);
}

/** Gets are complete, if there were any, of a batch that is not measured. @return whether a rest
 * ends with it */
static inline bool osc_cached_advise_pass(osc_cached_advise_t *advise)
{
    if (osc_cached_advise_rests(advise)) {
        return 0 == --advise->resting;
    }
    ++advise->synchronisations;
    if (0 < advise->batch_gets) {
        ++advise->batches;
        advise->batch_gets = 0;
        advise->batch_new_keys = advise->new_keys;
        advise->timing = 0 == --advise->untimed;
    }
    return false;
}

/** The same get, of a key that is followed. */
void osc_cached_advise_get(osc_cached_advise_t *advise, uint64_t hash, int target, uint32_t bytes);
/** What it brought. */
void osc_cached_advise_compare(osc_cached_advise_t *advise, uint64_t hash, int target,
                               uint32_t bytes, uint64_t checksum);
uint64_t osc_cached_advise_checksum(const void *data, size_t bytes);

/** A call of a get was measured. */
void osc_cached_advise_issued(osc_cached_advise_t *advise, uint32_t bytes, uint64_t ns);
/**
 * Gets are complete: a batch that was measured has ended.
 *
 * @param ns  that the synchronisation took for them
 */
void osc_cached_advise_measured(osc_cached_advise_t *advise, uint64_t ns);

/** An own write to a target.  @param atomic  no put */
void osc_cached_advise_written(osc_cached_advise_t *advise, int target, bool atomic);
/** The program has invalidated what it got. */
void osc_cached_advise_invalidated(osc_cached_advise_t *advise);

/** What was counted up to now. */
void osc_cached_advise_read(const osc_cached_advise_t *advise, double sums[OSC_CACHED_ADVISE_SUMS]);

/** The part of the gets whose data was asked for before, at any time. */
double osc_cached_advise_repeated(const double sums[OSC_CACHED_ADVISE_SUMS]);
/** ns of a get, with its part of the synchronisation. */
double osc_cached_advise_get_ns(const double sums[OSC_CACHED_ADVISE_SUMS]);
/** @param memory  bytes that a process may use */
osc_cached_prediction_t osc_cached_advise_predict(const double sums[OSC_CACHED_ADVISE_SUMS],
                                                  osc_cached_advise_life_t life, double memory);

/** For tests: whether I1 to I3 hold. */
bool osc_cached_advise_verify(const osc_cached_advise_t *advise);

#endif /* OSC_CACHED_ADVISE_H */
