/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "osc_cached_advise.h"

#include <math.h>
#include <string.h>

enum {
    KEYS = OSC_CACHED_ADVISE_KEYS,
    INDEX = OSC_CACHED_ADVISE_INDEX,
    PLACES = OSC_CACHED_ADVISE_PLACES,
    BUCKETS = OSC_CACHED_ADVISE_BUCKETS,
    FREE_WORK = 16384,  /* work for the sample, of 100 ns each, that is never too much: 2 ms */
    ROUND = 1024,       /* work between two decisions, */
    GETS_PER_WORK = 64, /* that may come with at least so many gets each */
    ALL_TIMED = 64,     /* batches that are measured at the start */
    TIMED = 32,         /* then one of these, on average */
    REST = 8192,        /* synchronisations whose gets are not watched, when they are cheap */
    /* what a hit takes, and a miss more than a get (bench/results/misses.md), and bytes that are
     * copied in a ns; the profit estimate of the cache measures them, here there is no cache */
    HIT_NS = 50,
    MISS_NS = 250,
    COPY_BYTES = 16,
    LEAST_DISTANCE = 8 /* of the first bucket: 2^8 bytes */
};

#define SUM(sums, name) ((sums)[OSC_CACHED_ADVISE_##name])

osc_cached_advise_t *osc_cached_advise_create(const osc_cached_alloc_t *alloc, uint64_t seed)
{
    osc_cached_advise_t *advise =
        alloc->alloc(alloc->context, _Alignof(osc_cached_advise_t), sizeof(*advise));

    if (NULL != advise) {
        memset(advise, 0, sizeof(*advise));
        advise->alloc = *alloc;
        advise->random = seed | 1;
        advise->timing = true;
    }
    return advise;
}

void osc_cached_advise_destroy(osc_cached_advise_t *advise)
{
    if (NULL != advise) {
        osc_cached_alloc_t alloc = advise->alloc;

        alloc.free(alloc.context, advise, sizeof(*advise));
    }
}

/* The order of gets */

static uint64_t size_of(const osc_cached_advise_entry_t *entry)
{
    return ((uint64_t) entry->bytes + 15) / 16 * 16 + OSC_CACHED_ADVISE_ENTRY;
}

static void tree_add(osc_cached_advise_t *advise, uint32_t place, uint64_t bytes)
{
    for (; place <= PLACES; place += place & -place) {
        advise->tree[place] += bytes; /* may be negative, modulo 2^64 */
    }
}

/* Bytes up to a place. */
static uint64_t tree_sum(const osc_cached_advise_t *advise, uint32_t place)
{
    uint64_t sum = 0;

    for (; 0 < place; place -= place & -place) {
        sum += advise->tree[place];
    }
    return sum;
}

/* Where an entry is in the index, or would be. */
static uint32_t slot_of(const osc_cached_advise_t *advise, uint64_t hash)
{
    uint32_t slot = (uint32_t) (hash >> 20) % INDEX;

    while (0 != advise->index[slot] && hash != advise->entries[advise->index[slot] - 1].hash) {
        slot = (slot + 1) % INDEX;
    }
    return slot;
}

/* Places from 1 on, without gaps, and only of keys that are still followed. */
static void renumber(osc_cached_advise_t *advise)
{
    uint32_t count = 0, last = 0;

    for (uint32_t place = 1; place <= advise->last; ++place) {
        osc_cached_advise_entry_t *entry = &advise->entries[advise->at[place]];

        if (place == entry->place) {
            entry->place = (0 == (entry->hash & advise->mask)) ? ++last : 0;
            advise->at[last] = advise->at[place];
        }
    }
    memset(advise->index, 0, sizeof(advise->index));
    memset(advise->tree, 0, sizeof(advise->tree));
    for (uint32_t i = 0; i < advise->count; ++i) {
        if (0 != advise->entries[i].place) {
            osc_cached_advise_entry_t *entry = &advise->entries[count++];

            *entry = advise->entries[i];
            advise->at[entry->place] = (uint16_t) (count - 1);
            advise->index[slot_of(advise, entry->hash)] = (uint16_t) count;
            tree_add(advise, entry->place, size_of(entry));
        }
    }
    advise->count = count;
    advise->last = last;
}

static void thin_out(osc_cached_advise_t *advise)
{
    advise->mask = 2 * advise->mask + 1;
    renumber(advise);
}

/* Whether the sample is too much work; a large get is more of it. */
static bool is_costly(osc_cached_advise_t *advise, uint32_t bytes)
{
    uint64_t work = 2 + bytes / 512;
    bool costly = false;

    advise->work += work;
    advise->round_work += work;
    if (ROUND <= advise->round_work) {
        costly = FREE_WORK < advise->work
                 && advise->gets - advise->round_gets < GETS_PER_WORK * advise->round_work;
        advise->round_work = 0;
        advise->round_gets = advise->gets;
    }
    return costly;
}

/* Gets */

static uint32_t *written_of(osc_cached_advise_t *advise, int target)
{
    return &advise->written[(uint32_t) target % OSC_CACHED_ADVISE_TARGETS];
}

static bool lives(const osc_cached_advise_moment_t *then, const osc_cached_advise_moment_t *now,
                  osc_cached_advise_life_t life)
{
    return OSC_CACHED_ADVISE_REPEATS == life
           || (then->written == now->written
               && (OSC_CACHED_ADVISE_USER != life || then->invalidated == now->invalidated)
               && (OSC_CACHED_ADVISE_TRANSPARENT != life
                   || (0 != now->epoch && then->epoch == now->epoch)));
}

static int bucket_of(double bytes)
{
    int exponent;
    double fraction = frexp(bytes, &exponent);
    int bucket = 2 * (exponent - LEAST_DISTANCE) - (fraction <= 0.70710678);

    return (bucket < 0) ? 0 : (BUCKETS <= bucket) ? BUCKETS - 1 : bucket;
}

/* Bytes that are enough for what is in a bucket. */
static double bytes_of(int bucket)
{
    return exp2(LEAST_DISTANCE + 0.5 * bucket);
}

void osc_cached_advise_get(osc_cached_advise_t *advise, uint64_t hash, int target, uint32_t bytes)
{
    osc_cached_advise_moment_t now = {advise->epoch, *written_of(advise, target),
                                      advise->invalidated};
    double weight = (double) advise->mask + 1;
    osc_cached_advise_entry_t *entry;
    uint32_t slot;

    if (PLACES == advise->last) {
        renumber(advise);
    }
    slot = slot_of(advise, hash);
    SUM(advise->sums, REFERENCES) += weight;
    if (0 == advise->index[slot]) {
        entry = &advise->entries[advise->count++];
        *entry = (osc_cached_advise_entry_t){.hash = hash, .bytes = bytes};
        advise->index[slot] = (uint16_t) advise->count;
        SUM(advise->sums, DISTINCT) += weight;
        SUM(advise->sums, MEMORY) += weight * (double) size_of(entry);
    } else {
        uint64_t between = 0;

        entry = &advise->entries[advise->index[slot] - 1];
        if (bytes <= entry->bytes) {
            between = tree_sum(advise, advise->last) - tree_sum(advise, entry->place - 1);
            for (int life = 0; life < OSC_CACHED_ADVISE_LIVES; ++life) {
                if (lives(&entry->asked, &now, life)) {
                    advise->sums[OSC_CACHED_ADVISE_SERVED + life * BUCKETS
                                 + bucket_of(weight * (double) between)] += weight;
                }
            }
        }
        tree_add(advise, entry->place, -size_of(entry));
        entry->bytes = (entry->bytes < bytes) ? bytes : entry->bytes;
    }
    entry->asked = now;
    entry->place = ++advise->last;
    advise->at[entry->place] = (uint16_t) (entry - advise->entries);
    tree_add(advise, entry->place, size_of(entry));
    if (is_costly(advise, bytes) || KEYS == advise->count) {
        thin_out(advise);
    }
}

uint64_t osc_cached_advise_checksum(const void *data, size_t bytes)
{
    const char *at = data;
    uint64_t lanes[4] = {bytes, 1, 2, 3}, word;

    for (; 32 <= bytes; at += 32, bytes -= 32) {
        for (int i = 0; i < 4; ++i) {
            memcpy(&word, at + 8 * i, 8);
            lanes[i] = (lanes[i] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            lanes[i] ^= lanes[i] >> 32;
        }
    }
    for (; 0 < bytes; at += 8) {
        size_t some = (bytes < 8) ? bytes : 8;

        word = 0;
        memcpy(&word, at, some);
        lanes[0] = (lanes[0] ^ word) * UINT64_C(0xc2b2ae3d27d4eb4f);
        lanes[0] ^= lanes[0] >> 29;
        bytes -= some;
    }
    for (int i = 1; i < 4; ++i) {
        lanes[0] = (lanes[0] ^ lanes[i]) * UINT64_C(0xbf58476d1ce4e5b9);
        lanes[0] ^= lanes[0] >> 31;
    }
    return lanes[0];
}

void osc_cached_advise_compare(osc_cached_advise_t *advise, uint64_t hash, int target,
                               uint32_t bytes, uint64_t checksum)
{
    osc_cached_advise_moment_t now = {advise->epoch, *written_of(advise, target),
                                      advise->invalidated};
    uint32_t slot = slot_of(advise, hash);
    osc_cached_advise_entry_t *entry;

    if (0 == advise->index[slot]) {
        return; /* not followed any more */
    }
    entry = &advise->entries[advise->index[slot] - 1];
    if (bytes == entry->summed) {
        for (int life = 0; life < OSC_CACHED_ADVISE_LIVES; ++life) {
            if (lives(&entry->compared, &now, life)) {
                ++advise->sums[OSC_CACHED_ADVISE_CHECKED + life];
                advise->sums[OSC_CACHED_ADVISE_DIFFERED + life] += checksum != entry->checksum;
            }
        }
    }
    entry->summed = bytes;
    entry->checksum = checksum;
    entry->compared = now;
}

/* Times */

static double ratio(double part, double whole)
{
    return (0 < whole) ? part / whole : 0;
}

/* What a get takes, of these sums. */
static double get_ns_of(const double sums[OSC_CACHED_ADVISE_SUMS], double gets, double batches)
{
    return ratio(SUM(sums, GET_NS), SUM(sums, TIMED_GETS))
           + ratio(SUM(sums, BATCH_NS), SUM(sums, TIMED_BATCHES)) * ratio(batches, gets);
}

/* After a batch that was measured: there is nothing to save. */
static void rest_if_cheap(osc_cached_advise_t *advise)
{
    if (ALL_TIMED <= SUM(advise->sums, TIMED_BATCHES)
        && get_ns_of(advise->sums, (double) advise->gets, (double) advise->batches)
               < advise->cheap_ns) {
        advise->resting = REST;
        advise->rests += REST;
        advise->untimed = TIMED;
        advise->timing = false;
    }
}

void osc_cached_advise_issued(osc_cached_advise_t *advise, uint32_t bytes, uint64_t ns)
{
    ++SUM(advise->sums, TIMED_GETS);
    SUM(advise->sums, GET_NS) += (double) ns;
    SUM(advise->sums, GET_BYTES) += bytes;
}

void osc_cached_advise_measured(osc_cached_advise_t *advise, uint64_t ns)
{
    double gets = advise->batch_gets;
    double new_keys = (double) (advise->new_keys - advise->batch_new_keys);

    if (0 == advise->batch_gets) {
        return;
    }
    ++SUM(advise->sums, TIMED_BATCHES);
    SUM(advise->sums, BATCH_GETS) += gets;
    SUM(advise->sums, BATCH_SQUARES) += gets * gets;
    SUM(advise->sums, BATCH_NS) += (double) ns;
    SUM(advise->sums, BATCH_PRODUCT) += gets * (double) ns;
    if (advise->new_keys - advise->forgotten_keys <= OSC_CACHED_ADVISE_SEEN_MAX) {
        SUM(advise->sums, KNOWN_NS) += (double) ns;
        SUM(advise->sums, KNOWN_GETS) += gets;
        SUM(advise->sums, KNOWN_SEEN) += gets - new_keys;
        SUM(advise->sums, SPARED_NS) += (0 == new_keys) ? (double) ns : 0;
        SUM(advise->sums, SPARED_GETS) += (0 == new_keys) ? gets : 0;
    }
    /* not every so many, which may be what the program repeats itself after */
    advise->random ^= advise->random << 13;
    advise->random ^= advise->random >> 7;
    advise->random ^= advise->random << 17;
    advise->untimed =
        (advise->batches < ALL_TIMED) ? 1 : 1 + (uint32_t) (advise->random >> 32) % (2 * TIMED - 1);
    (void) osc_cached_advise_pass(advise);
    rest_if_cheap(advise);
}

void osc_cached_advise_written(osc_cached_advise_t *advise, int target, bool atomic)
{
    SUM(advise->sums, ATOMICS) += atomic;
    ++*written_of(advise, target);
}

void osc_cached_advise_invalidated(osc_cached_advise_t *advise)
{
    ++advise->invalidated;
    memset(advise->seen, 0, sizeof(advise->seen));
    advise->forgotten_keys = advise->new_keys;
}

/* What follows from it */

void osc_cached_advise_read(const osc_cached_advise_t *advise, double sums[OSC_CACHED_ADVISE_SUMS])
{
    /* those that were not watched are taken to be like the others */
    double all =
        1 + ratio((double) (advise->rests - advise->resting), (double) advise->synchronisations);

    memcpy(sums, advise->sums, sizeof(advise->sums));
    SUM(sums, GETS) = all * (double) advise->gets;
    SUM(sums, BATCHES) = all * (double) advise->batches;
    SUM(sums, REFERENCES) *= all;
    SUM(sums, DISTINCT) *= all;
    for (int i = OSC_CACHED_ADVISE_SERVED; i < OSC_CACHED_ADVISE_SUMS; ++i) {
        sums[i] *= all;
    }
    SUM(sums, INVALIDATIONS) = advise->invalidated;
}

static double between(double least, double value, double most)
{
    return (value < least) ? least : (most < value) ? most : value;
}

/* The part of the gets that are hits when so many of those of the sample are: what is not a miss
 * of the sample is a hit. */
static double part_of(const double sums[OSC_CACHED_ADVISE_SUMS], double hits)
{
    return between(0, 1 - ratio(SUM(sums, REFERENCES) - hits, SUM(sums, GETS)), 1);
}

double osc_cached_advise_repeated(const double sums[OSC_CACHED_ADVISE_SUMS])
{
    return part_of(sums, SUM(sums, REFERENCES) - SUM(sums, DISTINCT));
}

/* ns of a synchronisation that completes gets. */
static double batch_ns(const double sums[OSC_CACHED_ADVISE_SUMS])
{
    return ratio(SUM(sums, BATCH_NS), SUM(sums, TIMED_BATCHES));
}

double osc_cached_advise_get_ns(const double sums[OSC_CACHED_ADVISE_SUMS])
{
    return get_ns_of(sums, SUM(sums, GETS), SUM(sums, BATCHES));
}

/* ns that one get more in a batch adds to its synchronisation: the slope of a line through the
 * measured ones, or a half when all batches are alike. */
static double slope(const double sums[OSC_CACHED_ADVISE_SUMS])
{
    double n = SUM(sums, TIMED_BATCHES), gets = ratio(SUM(sums, BATCH_GETS), n);
    double spread = ratio(SUM(sums, BATCH_SQUARES), n) - gets * gets;
    double common = ratio(SUM(sums, BATCH_PRODUCT), n) - gets * batch_ns(sums);

    return (0.1 * gets * gets < spread) ? between(0, common / spread, ratio(batch_ns(sums), gets))
                                        : ratio(batch_ns(sums), 2 * gets);
}

/* ns of all synchronisations that remain when a part of the gets are hits. */
static double remaining_ns(const double sums[OSC_CACHED_ADVISE_SUMS], double hit_rate)
{
    double batches = SUM(sums, BATCHES), whole = batches * batch_ns(sums);
    double seen = ratio(SUM(sums, KNOWN_SEEN), SUM(sums, KNOWN_GETS));
    /* batches that would have nothing to wait for */
    double spared = (0 < SUM(sums, KNOWN_NS)) ? ratio(SUM(sums, SPARED_NS), SUM(sums, KNOWN_NS))
                                              : pow(hit_rate, ratio(SUM(sums, GETS), batches));
    double spared_gets =
        (0 < SUM(sums, KNOWN_NS)) ? ratio(SUM(sums, SPARED_GETS), SUM(sums, KNOWN_GETS)) : spared;

    if (hit_rate < seen) { /* some were seen, and would not have been served */
        spared *= ratio(hit_rate, seen);
        spared_gets *= ratio(hit_rate, seen);
    }
    return between(0,
                   whole * (1 - spared)
                       - slope(sums) * SUM(sums, GETS) * between(0, hit_rate - spared_gets, 1),
                   whole);
}

osc_cached_prediction_t osc_cached_advise_predict(const double sums[OSC_CACHED_ADVISE_SUMS],
                                                  osc_cached_advise_life_t life, double memory)
{
    double gets = SUM(sums, GETS), call_ns = ratio(SUM(sums, GET_NS), SUM(sums, TIMED_GETS));
    double copy_ns = ratio(SUM(sums, GET_BYTES), SUM(sums, TIMED_GETS)) / COPY_BYTES;
    const double *served = &sums[OSC_CACHED_ADVISE_SERVED + life * BUCKETS];
    double hits = 0, some = 0, after;
    osc_cached_prediction_t told = {0};
    int most = 0;

    for (int i = 0; i < BUCKETS && bytes_of(i) <= memory; ++i) {
        hits += served[i];
        most = i;
    }
    told.hit_rate = part_of(sums, hits);
    if (OSC_CACHED_ADVISE_REPEATS == life) { /* bytes that have changed are fetched again */
        told.hit_rate *= 1
                         - ratio(sums[OSC_CACHED_ADVISE_DIFFERED + life],
                                 sums[OSC_CACHED_ADVISE_CHECKED + life]);
    }
    told.total_ns = gets * call_ns + SUM(sums, BATCHES) * batch_ns(sums);
    after = gets
                * (told.hit_rate * (HIT_NS + copy_ns)
                   + (1 - told.hit_rate) * (call_ns + MISS_NS + copy_ns))
            + remaining_ns(sums, told.hit_rate);
    told.saving_ns = told.total_ns - after;
    for (int i = 0; i <= most && some < 0.98 * hits; ++i) {
        some += served[i];
        told.memory = bytes_of(i);
    }
    return told;
}

/* For tests */

bool osc_cached_advise_verify(const osc_cached_advise_t *advise)
{
    uint64_t bytes = 0;

    if (KEYS < advise->count || PLACES < advise->last) {
        return false;
    }
    for (uint32_t place = 1; place <= advise->last; ++place) {
        const osc_cached_advise_entry_t *entry = &advise->entries[advise->at[place]];

        bytes += (place == entry->place) ? size_of(entry) : 0;
        if (bytes != tree_sum(advise, place)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < advise->count; ++i) {
        const osc_cached_advise_entry_t *entry = &advise->entries[i];

        if (0 == entry->place || advise->last < entry->place || i != advise->at[entry->place]
            || i + 1 != advise->index[slot_of(advise, entry->hash)]
            || 0 != (entry->hash & advise->mask)) {
            return false;
        }
    }
    return true;
}
