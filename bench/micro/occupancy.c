/*
 * How full the storage stays while entries come and go, by victim scheme (figure 10 of the paper):
 * Z = 100,000 of its gets (paper.h), 1,500 slots and 4 MiB that do not change, about half of all
 * data.  On the core alone (core.h).
 *
 *     occupancy [--gets=Z] [--every=N]
 *
 * x is the number of the get, every 500th from the first one that found the storage full.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core.h"
#include "paper.h"

#define ENTRIES 1500
#define MEMORY (4 << 20)

static struct paper_get gets[PAPER_DIFFERENT];
static char buffer[PAPER_LARGEST];

static void run(osc_cached_scheme_t scheme, const int *sequence, long z, long every)
{
    osc_cached_config_t config = core_fixed(ENTRIES, MEMORY, scheme);
    const char *name = core_schemes[scheme];
    double *full = core_memory((size_t) z * sizeof(double)), hits = 0, lowest = 100;
    bool filled = false;
    struct core core;
    long n = 0;

    core_open(&core, &config);
    for (long i = 0; i < z; ++i) {
        const struct paper_get *get = &gets[sequence[i]];
        osc_cached_access_t access = core_get(&core, get->offset, buffer, get->bytes);

        hits += OSC_CACHED_HIT == access;
        filled = filled || OSC_CACHED_CAPACITY == access || OSC_CACHED_FAILING == access;
        if (filled) {
            full[n] = 100. * (double) osc_cached_storage_used_bytes(&core.cache.storage)
                      / (double) osc_cached_storage_capacity(&core.cache.storage);
            lowest = fmin(lowest, full[n++]);
            if (0 == (i + 1) % every) {
                micro_print_one("occupancy", name, (size_t) i + 1, "storage used", "%",
                                full[n - 1]);
            }
        }
    }
    core_close(&core);
    if (0 < n) {
        micro_print("occupancy", name, 0, "storage used, median", "%", full, n);
        micro_print_one("occupancy", name, 0, "storage used, lowest", "%", lowest);
    }
    micro_print_one("occupancy", name, 0, "hits", "%", 100 * hits / (double) z);
    free(full);
}

int main(int argc, char **argv)
{
    long z, every;
    int *sequence;

    core_arguments(argc, argv, "occupancy [--gets=Z] [--every=N]");
    z = micro_positive("gets", 100000);
    every = micro_positive("every", 500);
    sequence = core_memory((size_t) z * sizeof(int));
    (void) paper_gets(gets, PAPER_SEED);
    paper_sequence(sequence, z, PAPER_SEED);
    for (int scheme = 0; scheme < 3; ++scheme) {
        run((osc_cached_scheme_t) scheme, sequence, z, every);
    }
    free(sequence);
    return 0;
}
