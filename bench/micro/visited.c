/*
 * What an eviction looks at, hits, and free storage by the size of the index and by victim scheme
 * (figure 11 of the paper): Z = 100,000 of its gets (paper.h), a sample of M = 16 positions, 4 MiB
 * of storage that does not change, about half of all data.  On the core alone (core.h).
 *
 *     visited [--gets=Z] [--rounds=N]
 *
 * x is the number of slots.  Each round has its own gets.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core.h"
#include "paper.h"

#define MEMORY (4 << 20)

enum { VISITED, OCCUPIED, HITS, FREE, CONFLICTING, QUANTITIES };

static const struct {
    const char *name, *unit;
} quantities[QUANTITIES] = {{"visited per eviction", ""},
                            {"occupied of these", ""},
                            {"hits", "%"},
                            {"free storage", "%"},
                            {"conflicting", "%"}};

static struct paper_get gets[PAPER_DIFFERENT];
static char buffer[PAPER_LARGEST];

static void run(osc_cached_scheme_t scheme, uint32_t slots, const int *sequence, long z,
                double result[QUANTITIES])
{
    osc_cached_config_t config = core_fixed(slots, MEMORY, scheme);
    double number[OSC_CACHED_ACCESSES] = {0}, used = 0, full_gets = 0, evictions;
    struct core core;

    core_open(&core, &config);
    for (long i = 0; i < z; ++i) {
        const struct paper_get *get = &gets[sequence[i]];

        ++number[core_get(&core, get->offset, buffer, get->bytes)];
        if (0 < number[OSC_CACHED_CAPACITY] + number[OSC_CACHED_FAILING]) {
            used += (double) osc_cached_storage_used_bytes(&core.cache.storage);
            ++full_gets;
        }
    }
    /* each of them looks for one victim */
    evictions = fmax(number[OSC_CACHED_CAPACITY] + number[OSC_CACHED_FAILING], 1);
    result[VISITED] = (double) core.visited / evictions;
    result[OCCUPIED] = (double) core.occupied / evictions;
    result[HITS] = 100 * number[OSC_CACHED_HIT] / (double) z;
    result[FREE] = 100 - 100 * used / fmax(full_gets, 1) / MEMORY;
    result[CONFLICTING] = 100 * number[OSC_CACHED_CONFLICTING] / (double) z;
    core_close(&core);
}

int main(int argc, char **argv)
{
    static const uint32_t slots[] = {1000, 1500, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 32000};
    long z, rounds;
    double *results;
    int *sequence;

    core_arguments(argc, argv, "visited [--gets=Z] [--rounds=N]");
    z = micro_positive("gets", 100000);
    rounds = micro_positive("rounds", 7);
    sequence = core_memory((size_t) z * sizeof(int));
    results = core_memory((size_t) rounds * QUANTITIES * sizeof(double));
    for (int scheme = 0; scheme < 3; ++scheme) {
        for (size_t s = 0; s < sizeof(slots) / sizeof(slots[0]); ++s) {
            for (long round = 0; round < rounds; ++round) {
                double result[QUANTITIES];

                (void) paper_gets(gets, PAPER_SEED + (uint64_t) round);
                paper_sequence(sequence, z, PAPER_SEED + (uint64_t) round);
                run((osc_cached_scheme_t) scheme, slots[s], sequence, z, result);
                for (int q = 0; q < QUANTITIES; ++q) {
                    results[q * rounds + round] = result[q];
                }
            }
            for (int q = 0; q < QUANTITIES; ++q) {
                micro_print("visited", core_schemes[scheme], slots[s], quantities[q].name,
                            quantities[q].unit, results + q * rounds, rounds);
            }
        }
    }
    free(results);
    free(sequence);
    return 0;
}
