/*
 * Where the time of an access goes (figure 7 of the paper), by its kind and size, on the core alone
 * (core.h): "lookup" finds the entry or finds none; "insert" makes room in index and storage, with
 * the victim selection; "copy" brings the bytes from the cache to the user (hitting), or from the
 * user's buffer into the cache when the get is complete.  What the whole costs over a network is
 * measured by hit.c and miss.c.
 *
 *     access [--rounds=N]
 *
 * Each phase of each get is timed; what reading the clock takes is subtracted.  A round is the
 * median of 256 gets.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core.h"

#define MEMORY ((uint64_t) 1 << 20)
#define LARGEST 65536
#define ROUND 256

enum { LOOKUP, INSERT, COPY, PHASES };

static const char *const phase_names[PHASES] = {"lookup", "insert", "copy"};
static char *buffer;
static double clock_ns;

static const struct kind {
    const char *name;
    osc_cached_access_t access;
    uint32_t entries; /* of the index; 0: half more than fit into the storage */
    size_t fill; /* bytes of each get that fills the cache first; 0: those of the measured ones */
    size_t smallest;
    uint64_t addresses; /* different ones; 0: none comes again */
} kinds[] = {
    {"hitting", OSC_CACHED_HIT, 0, 0, 1, 8},
    {"direct", OSC_CACHED_DIRECT, 0, 0, 1, 0},
    {"conflicting", OSC_CACHED_CONFLICTING, 64, 0, 1, 0},
    {"capacity", OSC_CACHED_CAPACITY, 0, 0, 1, 0},
    /* Full of small entries, more of which would have to go than one get may evict. */
    {"failing", OSC_CACHED_FAILING, 0, 64, 4096, 0},
};

static double median(double *values, long n)
{
    return micro_median(values, n).median;
}

/* The steps of core_get, timed. */
static osc_cached_access_t timed_get(struct core *core, uint64_t address, size_t bytes,
                                     double ns[PHASES])
{
    osc_cached_cache_t *cache = &core->cache;
    osc_cached_target_t *target = &core->target;
    osc_cached_key_t key = {.address = address};
    osc_cached_buffer_t to = {.address = buffer};
    osc_cached_access_t access = OSC_CACHED_HIT;
    osc_cached_entry_t *entry;
    double start, found, inserted;
    uint64_t hash;

    ++core->gets;
    start = micro_now_ns();
    hash = osc_cached_index_hash(&cache->index, key);
    entry = osc_cached_cache_find(cache, target, key, hash);
    found = inserted = micro_now_ns();
    ns[LOOKUP] = found - start - clock_ns;
    ns[INSERT] = 0;
    if (NULL != entry) {
        osc_cached_cache_hit(cache, entry, bytes);
        osc_cached_cache_copy(cache, entry, 0, &to, bytes);
    } else {
        size_t have;

        /* counts the get, as the owner would */
        (void) osc_cached_cache_get(cache, target, key, hash, &to, bytes, core->gets, &have);
        found = micro_now_ns();
        access = osc_cached_cache_insert(cache, target, key, hash, &to, bytes,
                                         osc_cached_cache_stamp(cache, target), core->gets, NULL);
        inserted = micro_now_ns();
        ns[INSERT] = inserted - found - clock_ns;
        osc_cached_cache_complete(cache, target, core->gets);
    }
    ns[COPY] = micro_now_ns() - inserted - clock_ns;
    return access;
}

static void open_full(struct core *core, const struct kind *kind, size_t bytes)
{
    size_t fill = 0 == kind->fill ? bytes : kind->fill, line = fill < 64 ? 64 : fill;
    bool room = OSC_CACHED_CAPACITY != kind->access && OSC_CACHED_FAILING != kind->access;
    uint64_t memory = room ? (ROUND + 64) * (uint64_t) line : MEMORY, fit = memory / line;
    osc_cached_config_t config =
        core_fixed(0 == kind->entries ? (uint32_t) (fit + fit / 2 + 16) : kind->entries, memory,
                   OSC_CACHED_SCHEME_FULL);

    core_open(core, &config);
    /* from another end of the addresses than the measured gets */
    for (uint64_t i = 0; i < fit && OSC_CACHED_DIRECT != kind->access; ++i) {
        uint64_t number = 0 == kind->addresses ? ~i : i % kind->addresses;
        (void) core_get(core, number * LARGEST, buffer, fill);
    }
}

static void measure(const struct kind *kind, size_t bytes, long rounds)
{
    double *results = core_memory((size_t) (PHASES * rounds) * sizeof(double));
    double share = 0;

    for (long round = 0; round < rounds; ++round) {
        double all[PHASES][ROUND], ns[PHASES];
        struct core core;

        open_full(&core, kind, bytes);
        for (uint64_t i = 0; i < ROUND; ++i) {
            uint64_t number = 0 == kind->addresses ? i : i % kind->addresses;

            share += kind->access == timed_get(&core, number * LARGEST, bytes, ns);
            for (int phase = 0; phase < PHASES; ++phase) {
                all[phase][i] = ns[phase];
            }
        }
        for (int phase = 0; phase < PHASES; ++phase) {
            results[phase * rounds + round] = median(all[phase], ROUND);
        }
        core_close(&core);
    }
    for (int phase = 0; phase < PHASES; ++phase) {
        if (INSERT != phase || OSC_CACHED_HIT != kind->access) {
            micro_print("access", kind->name, bytes, phase_names[phase], "ns",
                        results + phase * rounds, rounds);
        }
    }
    micro_print_one("access", kind->name, bytes, "share of this kind", "%",
                    100 * share / (double) (rounds * ROUND));
    free(results);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 64, 512, 4096, 16384, LARGEST};
    double clocks[1000];
    long rounds;

    core_arguments(argc, argv, "access [--rounds=N]");
    rounds = micro_positive("rounds", 101);
    buffer = core_memory(LARGEST);
    for (int i = 0; i < 1000; ++i) {
        double start = micro_now_ns();
        clocks[i] = micro_now_ns() - start;
    }
    clock_ns = median(clocks, 1000);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            if (kinds[k].smallest <= sizes[i]) {
                measure(&kinds[k], sizes[i], rounds);
            }
        }
    }
    free(buffer);
    return 0;
}
