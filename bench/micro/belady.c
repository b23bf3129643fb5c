/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Hits of our schemes beside other policies and beside what can be had at all with the same
 * storage, on the core alone (core.h): gets are replayed, of traces that osc_cached_trace wrote
 * (bench/traces records some), and made ones (gets.h).
 *
 *     belady [--traces=FILE,...] [--made=NAME,...] [--percent=P] [--unit=BYTES] [--before=FILE]
 *
 * The storage is P percent (50) of all different data in whole lines of 64 bytes; the index has
 * room for all.  Cases:
 *
 *     duel, full, temporal, positional  our schemes, sizes fixed
 *     LRU, S3-FIFO, SIEVE, W-TinyLFU    policy_*.h: they pack perfectly, in units of --unit (16, as
 *     Belady, by size; upper bound      our storage has)
 *     endless                           nothing ever leaves
 *
 * --before: a table of what former sources had (belady-before.tsv), for two cases more:
 *
 *     before                    its hits
 *     duel, same bytes in all   with as many bytes, bookkeeping included, as those sources needed
 *
 * Quantities, in percent: hits of all gets, and how much of the time of all gets is saved when a
 * miss takes 14 us and 1.1 bytes per ns (TCP), or 1.2 us and 10 bytes per ns (Aries), and a hit
 * nothing.
 */
#include "core.h"
#include "policy_belady.h"
#include "policy_lru.h"
#include "policy_s3fifo.h"
#include "policy_sieve.h"
#include "policy_wtinylfu.h"

enum { LINE = 64, BEFORE_SLOT = 144 /* bytes of bookkeeping per entry */ };

static struct gets gets;
static bool *hit;
static char *buffer;
static long percent;
static const char *trace; /* its name */

static void print(const char *what, const char *quantity, const char *unit, double value)
{
    int digits = 1e5 <= value ? 15 : 5; /* numbers are exact */

    printf("belady-%ld\t%s\t%s\t%s\t%s\t%.*g\t%.*g\t%.*g\t1\n", percent, what, trace, quantity,
           unit, digits, value, digits, value, digits, value);
}

/* @return the first quantity */
static double print_hits(const char *what)
{
    static const struct {
        const char *quantity;
        double get, byte; /* what they weigh */
    } quantities[] = {
        {"hits", 1, 0}, {"time saved, TCP", 14000, 1 / 1.1}, {"time saved, Aries", 1200, 1 / 10.}};

    double percents[sizeof(quantities) / sizeof(quantities[0])];

    for (size_t q = 0; q < sizeof(quantities) / sizeof(quantities[0]); ++q) {
        double all = 0, saved = 0;

        for (long i = 0; i < gets.num; ++i) {
            double weight = quantities[q].get + quantities[q].byte * (double) gets.get[i].bytes;

            all += weight;
            saved += hit[i] ? weight : 0;
        }
        percents[q] = 100 * saved / all;
        print(what, quantities[q].quantity, "%", percents[q]);
    }
    fflush(stdout);
    return percents[0];
}

/* Ours, with so many slots and bytes. */
static void replay(osc_cached_scheme_t scheme, uint32_t slots, uint64_t bytes)
{
    osc_cached_config_t config = core_fixed(slots, bytes, scheme);
    struct core core;

    core_open(&core, &config);
    for (long i = 0; i < gets.num; ++i) {
        const struct get *get = &gets.get[i];

        hit[i] = OSC_CACHED_HIT == core_get(&core, get->address, buffer, get->bytes);
    }
    core_close(&core);
}

/* Bytes that a cache with so many slots takes in all. */
static uint64_t footprint(uint32_t slots, uint64_t bytes)
{
    osc_cached_config_t config = core_fixed(slots, bytes, OSC_CACHED_SCHEME_DUEL);
    struct core core;
    uint64_t taken;

    core_open(&core, &config);
    taken = osc_cached_cache_footprint(&core.cache);
    core_close(&core);
    return taken;
}

/* As many bytes in all: the best of some ways to share them between index and storage. */
static void same_bytes(uint64_t all)
{
    enum { WAYS = 16 };
    bool *best = core_memory((size_t) gets.num * sizeof(best[0]));
    long most = -1;

    for (uint64_t way = 1; way <= WAYS; ++way) {
        /* for all data at last; the index is at most 7/8 full */
        uint32_t slots = (uint32_t) (way * gets.num_data * 8 / 7 / WAYS + 16);
        uint64_t bookkeeping = footprint(slots, LINE) - LINE;
        long hits = 0;

        if (all < bookkeeping + LINE) {
            break;
        }
        replay(OSC_CACHED_SCHEME_DUEL, slots, all - bookkeeping);
        for (long i = 0; i < gets.num; ++i) {
            hits += hit[i];
        }
        if (most < hits) {
            most = hits;
            memcpy(best, hit, (size_t) gets.num * sizeof(best[0]));
        }
    }
    memcpy(hit, best, (size_t) gets.num * sizeof(best[0]));
    free(best);
    (void) print_hits("duel, same bytes in all");
}

/* Lines "trace percent hits entries", and comments. */
static void compare_with_before(const char *name, double duel)
{
    FILE *file = fopen(name, "r");
    char line[256], of[64];
    double hits;
    long at, entries;

    if (NULL == file) {
        gets_die(name, strerror(errno));
    }
    while (NULL != fgets(line, sizeof(line), file)) {
        if ('#' == line[0]) {
            continue;
        }
        if (4 != sscanf(line, "%63s %ld %lf %ld", of, &at, &hits, &entries)) {
            gets_die(name, line);
        }
        if (0 == strcmp(of, trace) && at == percent) {
            uint64_t storage = gets_measure(&gets, LINE) * (uint64_t) percent / 100 * LINE;

            print("before", "hits", "%", hits);
            print("duel", "hits over before", "points", duel - hits);
            same_bytes(storage + (uint64_t) entries * BEFORE_SLOT);
        }
    }
    fclose(file);
}

/* Nothing ever leaves. */
static void endless(void)
{
    memset(hit, 0, (size_t) gets.num * sizeof(hit[0]));
    for (long i = 0; i < gets.num; ++i) {
        if (gets.get[i].next < gets.num) {
            hit[gets.get[i].next] = true;
        }
    }
    (void) print_hits("endless");
}

static double ours(osc_cached_scheme_t scheme, uint64_t storage)
{
    replay(scheme, gets.num_data + gets.num_data / 2 + 16, storage);
    return print_hits(core_schemes[scheme]);
}

static void compare(void)
{
    static const struct {
        const char *name;
        void (*policy)(const struct gets *gets, uint64_t capacity, bool *hit);
    } policies[] = {{"LRU", policy_lru},
                    {"S3-FIFO", policy_s3fifo},
                    {"SIEVE", policy_sieve},
                    {"W-TinyLFU", policy_wtinylfu},
                    {"Belady", policy_belady},
                    {"Belady by size", policy_belady_by_size},
                    {"upper bound", policy_upper_bound}};
    uint32_t unit = (uint32_t) micro_positive("unit", 16);
    uint64_t data = gets_measure(&gets, LINE), storage = data * (uint64_t) percent / 100 * LINE;
    const char *before = micro_option("before", NULL);
    double duel = ours(OSC_CACHED_SCHEME_DUEL, storage);

    (void) ours(OSC_CACHED_SCHEME_FULL, storage);
    if (NULL != before) {
        compare_with_before(before, duel);
    }
    (void) gets_measure(&gets, unit);
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); ++i) {
        policies[i].policy(&gets, storage / unit, hit);
        (void) print_hits(policies[i].name);
    }
    (void) ours(OSC_CACHED_SCHEME_TEMPORAL, storage);
    (void) ours(OSC_CACHED_SCHEME_POSITIONAL, storage);
    endless();
    print("gets", "number", "", (double) gets.num);
    print("gets", "different", "", gets.num_data);
    print("gets", "all data", "bytes", (double) (data * LINE));
}

/* One of a list of names or files, separated by commas. */
static void one(char *name, void (*fill)(struct gets *gets, const char *name))
{
    uint32_t longest = 0;
    char *dot, *slash;

    fill(&gets, name);
    gets_number(&gets);
    for (uint32_t i = 0; i < gets.num_data; ++i) {
        longest = longest < gets.bytes[i] ? gets.bytes[i] : longest;
    }
    hit = core_memory((size_t) gets.num * sizeof(hit[0]));
    buffer = core_memory(longest);
    slash = strrchr(name, '/');
    trace = NULL == slash ? name : slash + 1;
    dot = strrchr(trace, '.');
    if (gets_read == fill && NULL != dot) {
        *dot = '\0';
    }
    compare();
    free(hit);
    free(buffer);
    gets_free(&gets);
}

static void each(const char *list, void (*fill)(struct gets *gets, const char *name))
{
    char *copy = strdup(list), *end = copy;

    for (char *name = strtok_r(copy, ",", &end); NULL != name; name = strtok_r(NULL, ",", &end)) {
        one(name, fill);
    }
    free(copy);
}

int main(int argc, char **argv)
{
    core_arguments(argc, argv,
                   "belady [--traces=FILE,...] [--made=NAME,...] [--percent=P] [--unit=BYTES] "
                   "[--before=FILE]");
    percent = micro_positive("percent", 50);
    each(micro_option("traces", ""), gets_read);
    each(micro_option("made", GETS_MADE_ALL), gets_make);
    return 0;
}
