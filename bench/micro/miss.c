/*
 * A miss: what caching adds to MPI_Get and MPI_Win_flush of data that is not in the cache, for each
 * kind of access that the cache counts (the paper's figure 7, with the hits of hit.c and the phases
 * of access.c).
 *
 *     miss [--window=allocate|create] [--rounds=N] [--case=SUFFIX]
 *
 * Warm: storage and index have been through all of their memory before.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "kinds.h"

static unsigned char *buffer;
static struct micro_window baseline;

static void measure(struct micro_window *cached, const struct kind *kind, size_t bytes, long rounds)
{
    struct micro_gets plain = kind_plain(&baseline, buffer, bytes);
    struct kind_gets gets;
    struct micro_subject subject[2] = {{.run = micro_get_flush, .argument = &plain},
                                       {.run = kind_get_flush, .argument = &gets}};
    double share;
    char what[64];

    snprintf(what, sizeof(what), "%s%s", kind->name, micro_option("case", ""));
    kind_begin(&gets, cached, kind, buffer, bytes);
    micro_interleave(subject, 2, rounds);
    share = kind_end(&gets, kind);
    micro_print("miss", what, bytes, "baseline", "ns", subject[0].ns, rounds);
    micro_print("miss", what, bytes, "cached", "ns", subject[1].ns, rounds);
    micro_print_one("miss", what, bytes, "share of this kind", "%", share);
    micro_print_difference("miss", what, bytes, "cached - baseline", subject[1].ns, subject[0].ns,
                           rounds);
    free(subject[0].ns);
    free(subject[1].ns);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 64, 512, 4096, 16384, KINDS_LARGEST};
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    struct micro_window cached;
    long rounds;

    micro_init(&argc, &argv);
    rounds = micro_number("rounds", 401);
    buffer = micro_memory(KINDS_LARGEST);
    micro_window_make(&baseline, KINDS_WINDOW_BYTES, off);
    for (size_t k = 0; k < KINDS; ++k) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            if (sizes[i] >= kinds[k].smallest) {
                kind_window_make(&cached, &kinds[k], sizes[i]);
                MICRO_MEASURE(measure(&cached, &kinds[k], sizes[i], rounds));
                micro_window_free(&cached);
            }
        }
    }
    micro_window_free(&baseline);
    free(buffer);
    return micro_done();
}
