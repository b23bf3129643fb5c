/*
 * A hit: MPI_Get and MPI_Win_flush of data that is in the cache, beside the same without a cache,
 * and beside memcpy of the same size.  "hot": one address; "scattered": 4096 addresses in turn, so
 * that the entries are not in the first-level cache of the processor.
 *
 *     hit [--window=allocate|create] [--rounds=N] [--case=SUFFIX] [--baseline-only=1]
 *
 * --baseline-only: for a run with another component than osc/cached.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

enum { BASELINE, HIT, MEMCPY, SUBJECTS };

static struct micro_window windows[2];
static struct micro_subject subject[SUBJECTS];
static unsigned char *buffer, *source;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy; /* not inlined */

static void copy_run(void *argument, long n)
{
    struct micro_gets *g = argument;

    for (long i = 0; i < n; ++i) {
        copy(g->buffer, source + g->next * g->stride, g->bytes);
        g->next = (g->next + g->step) & (g->count - 1);
    }
}

static void measure(const char *name, size_t bytes, size_t count, long rounds, bool baseline_only)
{
    size_t stride = bytes < 64 ? 64 : bytes;
    struct micro_gets gets[SUBJECTS];
    char what[64];
    double hits, all;
    long n = rounds;

    snprintf(what, sizeof(what), "%s%s", name, micro_option("case", ""));
    for (int s = 0; s < SUBJECTS; ++s) {
        gets[s] = (struct micro_gets){&windows[s % 2], buffer, bytes, stride, count, 2029, 0};
        subject[s].run = MEMCPY == s ? copy_run : micro_get_flush;
        subject[s].argument = &gets[s];
        subject[s].batch = 0;
        /* Fills the cache, and shows it that these gets come again: by default a window whose first
         * thousands of gets are all different is not cached until a sample of them comes again. */
        subject[s].run(&gets[s], 1 == count ? 1 : 8 * (long) count);
    }
    hits = micro_count(&windows[HIT], MICRO_HITS);
    all = micro_count(&windows[HIT], MICRO_GETS);
    micro_interleave(subject, SUBJECTS, n);
    if (baseline_only) {
        micro_print("hit", what, bytes, "baseline", "ns", subject[BASELINE].ns, n);
        return;
    }
    hits = micro_count(&windows[HIT], MICRO_HITS) - hits;
    all = micro_count(&windows[HIT], MICRO_GETS) - all;
    micro_check(&gets[HIT]);

    const double *baseline = subject[BASELINE].ns, *hit = subject[HIT].ns,
                 *mem = subject[MEMCPY].ns;
    micro_print("hit", what, bytes, "baseline", "ns", baseline, n);
    micro_print("hit", what, bytes, "hit", "ns", hit, n);
    micro_print("hit", what, bytes, "memcpy", "ns", mem, n);
    micro_print_one("hit", what, bytes, "share of hits", "%", 100 * hits / all);
    micro_print_ratio("hit", what, bytes, "hit/baseline", hit, baseline, 1, 0, n);
    micro_print_ratio("hit", what, bytes, "baseline/hit", baseline, hit, 1, 0, n);
    if (bytes >= 4096) {
        micro_print_ratio("hit", what, bytes, "hit/(1.2 memcpy + 50 ns)", hit, mem, 1.2, 50, n);
    }
}

int main(int argc, char **argv)
{
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    static const char *const always[] = {"ompi_osc_cached_mode", "always", NULL};
    static const struct {
        const char *name;
        size_t bytes, addresses;
    } cases[] = {{"hot", 8, 1},     {"hot", 64, 1},    {"hot", 512, 1},        {"hot", 4096, 1},
                 {"hot", 16384, 1}, {"hot", 65536, 1}, {"scattered", 64, 4096}};
    const size_t bytes = 4096 * 64;
    bool baseline_only;

    micro_init(&argc, &argv);
    baseline_only = 0 != micro_number("baseline-only", 0);
    buffer = micro_memory(65536);
    source = micro_memory(bytes);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        micro_window_make(&windows[BASELINE], bytes, off);
        micro_window_make(&windows[HIT], bytes, always);
        MICRO_MEASURE(measure(cases[i].name, cases[i].bytes, cases[i].addresses,
                              micro_number("rounds", 401), baseline_only));
        micro_window_free(&windows[HIT]);
        micro_window_free(&windows[BASELINE]);
    }
    return micro_done();
}
