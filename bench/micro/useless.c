/*
 * A cache that cannot help must not cost: gets that never ask for the same data twice, and gets of
 * one address from a target that is as fast as a hit, with the parameters as they are.  The first
 * 10,000 gets, in which the cache may learn, are timed apart.
 *
 *     useless [--window=allocate|create] [--rounds=N] [--mode=MODE] [--patterns=1|2]
 *             [--megabytes=N] [--case=SUFFIX]
 *
 * Without reuse, each get needs an address of its own: the window must be large.  Where a window
 * lies in memory alone makes a difference of up to 2.5 % (seen with two windows of mode off): 16
 * pairs of windows are measured, the cached one is made first in every other pair, and the ratio is
 * the median of those of the pairs.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

#define LEARNING 10000

enum { BASELINE, CACHED, PAIRS = 16 };

static struct micro_window windows[2];
static unsigned char *buffer;
static size_t window_bytes;

/* Of all pairs of windows. */
static struct {
    double *ns[2]; /* per get, one value per round */
    long rounds;
    double learning[2][PAIRS]; /* ns per get */
    double ratio[PAIRS];       /* cached / baseline */
    double counted[MICRO_COUNTERS];
} all;

static void measure(int pair, size_t bytes, size_t count, long rounds)
{
    size_t stride = bytes < 64 ? 64 : bytes;
    size_t addresses = 0 == count ? window_bytes / stride : count;
    /* No address comes again. */
    long longest = 0 == count ? ((long) addresses - LEARNING - 1) / rounds : 512;
    struct micro_subject subject[2] = {{0}};
    struct micro_gets gets[2];
    double before[MICRO_COUNTERS], *ratios = malloc((size_t) rounds * sizeof(double));

    for (int s = 0; s < 2; ++s) {
        gets[s] = (struct micro_gets){&windows[s], buffer, bytes, stride, addresses, 1, 0};
        subject[s].run = micro_get_flush;
        subject[s].argument = &gets[s];
        subject[s].batch = longest < 512 ? longest : 512;
        all.learning[s][pair] = micro_time_batch(&subject[s], LEARNING) / LEARNING;
        if (all.learning[s][pair] * (double) subject[s].batch > MICRO_BATCH_NS) {
            subject[s].batch = 1 + (long) (MICRO_BATCH_NS / all.learning[s][pair]);
        }
    }
    for (int c = 0; c < MICRO_COUNTERS; ++c) {
        before[c] = micro_count(&windows[CACHED], c);
    }
    micro_interleave(subject, 2, rounds);
    for (int c = 0; c < MICRO_COUNTERS; ++c) {
        all.counted[c] += micro_count(&windows[CACHED], c) - before[c];
    }
    micro_check(&gets[CACHED]);
    for (long i = 0; i < rounds; ++i) {
        ratios[i] = subject[CACHED].ns[i] / subject[BASELINE].ns[i];
    }
    all.ratio[pair] = micro_median(ratios, rounds).median;
    free(ratios);
    for (int s = 0; s < 2; ++s) {
        memcpy(all.ns[s] + all.rounds, subject[s].ns, (size_t) rounds * sizeof(double));
        free(subject[s].ns);
    }
    all.rounds += rounds;
}

static void print(const char *pattern, size_t bytes)
{
    char what[96], quantity[64];

    snprintf(what, sizeof(what), "%s, mode %s%s", pattern, micro_option("mode", "always"),
             micro_option("case", ""));
    micro_print("useless", what, bytes, "first 10000, baseline", "ns", all.learning[0], PAIRS);
    micro_print("useless", what, bytes, "first 10000, cached", "ns", all.learning[1], PAIRS);
    micro_print("useless", what, bytes, "baseline", "ns", all.ns[0], all.rounds);
    micro_print("useless", what, bytes, "cached", "ns", all.ns[1], all.rounds);
    micro_print("useless", what, bytes, "cached/baseline", "x", all.ratio, PAIRS);
    for (int c = MICRO_HITS; c <= MICRO_DECLINED; ++c) {
        double share = 100 * all.counted[c] / all.counted[MICRO_GETS];
        if (share >= 0.05) {
            snprintf(quantity, sizeof(quantity), "share of %s", micro_counter_names[c]);
            micro_print_one("useless", what, bytes, quantity, "%", share);
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    static const size_t sizes[] = {8, 512, 4096};
    static const struct {
        const char *name;
        size_t count; /* addresses, 0: all of the window */
    } patterns[] = {{"no reuse", 0}, {"one address", 1}};
    int pattern_count;
    long rounds;

    micro_init(&argc, &argv);
    buffer = micro_memory(4096);
    window_bytes = (size_t) micro_number("megabytes", 64) << 20;
    const char *const mode[] = {"ompi_osc_cached_mode", micro_option("mode", "always"), NULL};
    pattern_count = (int) micro_number("patterns", 1);
    rounds = micro_number("rounds", 1001) / PAIRS + 1;
    all.ns[0] = micro_memory((size_t) rounds * PAIRS * sizeof(double));
    all.ns[1] = micro_memory((size_t) rounds * PAIRS * sizeof(double));
    for (int p = 0; p < pattern_count; ++p) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            all.rounds = 0;
            memset(all.counted, 0, sizeof(all.counted));
            for (int pair = 0; pair < PAIRS; ++pair) {
                int first = pair % 2;
                micro_window_make(&windows[first], window_bytes, BASELINE == first ? off : mode);
                micro_window_make(&windows[!first], window_bytes, BASELINE == first ? mode : off);
                MICRO_MEASURE(measure(pair, sizes[i], patterns[p].count, rounds));
                micro_window_free(&windows[!first]);
                micro_window_free(&windows[first]);
            }
            if (MICRO_ORIGIN == micro_rank) {
                print(patterns[p].name, sizes[i]);
            }
        }
    }
    return micro_done();
}
