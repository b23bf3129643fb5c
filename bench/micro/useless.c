/*
 * A cache that cannot help must not cost: gets that never ask for the same data twice, and gets of
 * one address from a target that is as fast as a hit, with the parameters as they are.  The first
 * 10,000 gets, in which the cache may learn, are timed apart.
 *
 *     useless [--window=allocate|create] [--rounds=N] [--mode=MODE] [--patterns=1|2]
 *             [--megabytes=N] [--case=SUFFIX]
 *
 * Without reuse, each get needs an address of its own: the window must be large.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

#define LEARNING 10000

static struct micro_window windows[2];
static unsigned char *buffer;
static size_t window_bytes;

static void measure(const char *pattern, size_t bytes, size_t count, long rounds)
{
    size_t stride = bytes < 64 ? 64 : bytes;
    size_t addresses = 0 == count ? window_bytes / stride : count;
    /* No address comes again. */
    long longest = 0 == count ? ((long) addresses - LEARNING - 1) / rounds : 512;
    struct micro_subject subject[2] = {{0}};
    struct micro_gets gets[2];
    double before[MICRO_COUNTERS], all, learning[2];
    char what[96];

    snprintf(what, sizeof(what), "%s, mode %s%s", pattern, micro_option("mode", "always"),
             micro_option("case", ""));
    for (int s = 0; s < 2; ++s) {
        gets[s] = (struct micro_gets){&windows[s], buffer, bytes, stride, addresses, 1, 0};
        subject[s].run = micro_get_flush;
        subject[s].argument = &gets[s];
        subject[s].batch = longest < 512 ? longest : 512;
        learning[s] = micro_time_batch(&subject[s], LEARNING) / LEARNING;
        if (learning[s] * (double) subject[s].batch > MICRO_BATCH_NS) {
            subject[s].batch = 1 + (long) (MICRO_BATCH_NS / learning[s]);
        }
    }
    for (int c = 0; c < MICRO_COUNTERS; ++c) {
        before[c] = micro_count(&windows[1], c);
    }
    micro_interleave(subject, 2, rounds);
    micro_check(&gets[1]);
    all = micro_count(&windows[1], MICRO_GETS) - before[MICRO_GETS];
    micro_print_one("useless", what, bytes, "first 10000, baseline", "ns", learning[0]);
    micro_print_one("useless", what, bytes, "first 10000, cached", "ns", learning[1]);
    micro_print("useless", what, bytes, "baseline", "ns", subject[0].ns, rounds);
    micro_print("useless", what, bytes, "cached", "ns", subject[1].ns, rounds);
    micro_print_ratio("useless", what, bytes, "cached/baseline", subject[1].ns, subject[0].ns, 1, 0,
                      rounds);
    for (int c = MICRO_HITS; c <= MICRO_DECLINED; ++c) {
        double share = 100 * (micro_count(&windows[1], c) - before[c]) / all;
        if (share >= 0.05) {
            char quantity[64];
            snprintf(quantity, sizeof(quantity), "share of %s", micro_counter_names[c]);
            micro_print_one("useless", what, bytes, quantity, "%", share);
        }
    }
    free(subject[0].ns);
    free(subject[1].ns);
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

    micro_init(&argc, &argv);
    buffer = micro_memory(4096);
    window_bytes = (size_t) micro_number("megabytes", 256) << 20;
    const char *const mode[] = {"ompi_osc_cached_mode", micro_option("mode", "always"), NULL};
    pattern_count = (int) micro_number("patterns", 1);
    for (int p = 0; p < pattern_count; ++p) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            micro_window_make(&windows[0], window_bytes, off);
            micro_window_make(&windows[1], window_bytes, mode);
            MICRO_MEASURE(measure(patterns[p].name, sizes[i], patterns[p].count,
                                  micro_number("rounds", 1001)));
            micro_window_free(&windows[1]);
            micro_window_free(&windows[0]);
        }
    }
    return micro_done();
}
