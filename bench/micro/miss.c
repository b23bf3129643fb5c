/*
 * A miss: what caching adds to MPI_Get and MPI_Win_flush of data that is not in the cache, for each
 * kind of access that the cache counts (the paper's figure 7).  No address is asked for again while
 * its entry can still be there.
 *
 *     miss [--window=allocate|create] [--rounds=N] [--case=SUFFIX]
 *
 * Warm: storage and index have been through all of their memory before.  The share of gets that
 * were of the kind is shown with each result; the cache decides, this program only makes it likely.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

#define WINDOW_BYTES \
    ((size_t) 8 << 20) /* of both windows together: fits into most last-level caches */

static unsigned char *buffer;
static struct micro_window baseline;

struct kind {
    const char *name;
    enum micro_counter counter;
    size_t memory;  /* bytes of storage */
    size_t entries; /* of the index; 0: a quarter more than fit into the storage */
    size_t fill; /* bytes of each get that fills the cache first; 0: those of the measured ones */
    size_t smallest; /* get for which this kind can be had */
};

static const struct kind kinds[] = {
    {"capacity", MICRO_CAPACITY, 1 << 20, 0, 0, 8},
    /* Much more storage than the entries of the index need. */
    {"conflicting", MICRO_CONFLICTING, 16 << 20, 128, 0, 8},
    /* Full of small entries, more of which would have to go than one get may evict. */
    {"failing", MICRO_FAILING, 1 << 20, 0, 64, 4096},
};

static void window_make(struct micro_window *w, const struct kind *kind, size_t bytes)
{
    size_t largest = 0 != kind->fill ? kind->fill : bytes;
    size_t fit = kind->memory / (largest < 64 ? 64 : largest);
    char memory[32], entries[32];
    const char *const info[] = {"ompi_osc_cached_mode",
                                "always",
                                "ompi_osc_cached_memory",
                                memory,
                                "ompi_osc_cached_entries",
                                entries,
                                "ompi_osc_cached_adaptive",
                                "false",
                                NULL};

    snprintf(memory, sizeof(memory), "%zu", kind->memory);
    snprintf(entries, sizeof(entries), "%zu", 0 != kind->entries ? kind->entries : fit + fit / 4);
    micro_window_make(w, WINDOW_BYTES, info);
}

static void gets_init(struct micro_gets *g, struct micro_window *w, size_t bytes)
{
    size_t stride = bytes < 64 ? 64 : bytes;

    *g = (struct micro_gets){w, buffer, bytes, stride, WINDOW_BYTES / stride, 1, 0};
}

static void measure(struct micro_window *cached, const struct kind *kind, size_t bytes, long rounds)
{
    struct micro_window *windows[2] = {&baseline, cached};
    struct micro_subject subject[2] = {{0}};
    struct micro_gets gets[2], fill;
    double kinds_before, gets_before, share;
    char what[64];

    snprintf(what, sizeof(what), "%s%s", kind->name, micro_option("case", ""));
    gets_init(&fill, cached, 0 != kind->fill ? kind->fill : bytes);
    /* Twice the storage, from the end of the window: the measured gets find none of it. */
    fill.next = fill.count - fill.count / 4;
    micro_get_flush(&fill, (long) (fill.count - fill.next));
    for (int s = 0; s < 2; ++s) {
        gets_init(&gets[s], windows[s], bytes);
        subject[s].run = micro_get_flush;
        subject[s].argument = &gets[s];
    }
    gets_before = micro_count(cached, MICRO_GETS);
    kinds_before = micro_count(cached, kind->counter);
    micro_interleave(subject, 2, rounds);
    share = (micro_count(cached, kind->counter) - kinds_before)
            / (micro_count(cached, MICRO_GETS) - gets_before);
    micro_check(&gets[1]);
    micro_print("miss", what, bytes, "baseline", "ns", subject[0].ns, rounds);
    micro_print("miss", what, bytes, "cached", "ns", subject[1].ns, rounds);
    micro_print_one("miss", what, bytes, "share of this kind", "%", 100 * share);
    micro_print_difference("miss", what, bytes, "cached - baseline", subject[1].ns, subject[0].ns,
                           rounds);
    free(subject[0].ns);
    free(subject[1].ns);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 64, 512, 4096, 16384, 65536};
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    struct micro_window cached;
    long rounds;

    micro_init(&argc, &argv);
    rounds = micro_number("rounds", 401);
    buffer = micro_memory(65536);
    micro_window_make(&baseline, WINDOW_BYTES, off);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            if (sizes[i] >= kinds[k].smallest) {
                window_make(&cached, &kinds[k], sizes[i]);
                MICRO_MEASURE(measure(&cached, &kinds[k], sizes[i], rounds));
                micro_window_free(&cached);
            }
        }
    }
    micro_window_free(&baseline);
    return micro_done();
}
