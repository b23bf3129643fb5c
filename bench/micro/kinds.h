/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets of data that is not in the cache, of each kind that the cache counts (the paper's section
 * III-B2).  No address is asked for again while its entry can still be there.  The cache decides,
 * this file only makes the kind likely: show the share that was of it with each result.
 */
#ifndef OMPI_LOCALITY_KINDS_H
#define OMPI_LOCALITY_KINDS_H

#include "micro.h"

/* Of two windows together: fits into most last-level caches. */
#define KINDS_WINDOW_BYTES ((size_t) 8 << 20)
#define KINDS_LARGEST 65536
#define KINDS_DIRECT 32768 /* most addresses, so that over TCP they can be filled in a second */

struct kind {
    const char *name;
    enum micro_counter counter;
    size_t memory;  /* bytes of storage */
    size_t entries; /* of the index; 0: a quarter more than fit into the storage */
    size_t fill; /* bytes of each get that fills the cache first; 0: those of the measured ones */
    size_t smallest; /* get for which this kind can be had */
    bool forgets;    /* all that was fetched, before the addresses come again */
    long uses;       /* of each address that fills the cache */
};

enum { KIND_DIRECT, KIND_CONFLICTING, KIND_CAPACITY, KIND_FAILING, KIND_DECLINED, KINDS };

static const struct kind kinds[KINDS] = {
    {"direct", MICRO_DIRECT, 2 * KINDS_WINDOW_BYTES, 0, 0, 8, true, 0},
    /* Much more storage than the entries of the index need. */
    {"conflicting", MICRO_CONFLICTING, 16 << 20, 64, 0, 8, false, 1},
    {"capacity", MICRO_CAPACITY, 1 << 20, 0, 0, 8, false, 1},
    /* Full of small entries, more of which would have to go than one get may evict. */
    {"failing", MICRO_FAILING, 1 << 20, 0, 64, 4096, false, 1},
    /* Full of entries that are used more often than what is asked for. */
    {"declined", MICRO_DECLINED, 1 << 20, 0, 0, 8, false, 8},
};

/* Gets of one kind. */
struct kind_gets {
    struct micro_gets gets;
    bool forgets;
    MPI_Info forget;
    double before[2]; /* gets, and those of the kind, when it began */
};

static void kind_window_make(struct micro_window *w, const struct kind *kind, size_t bytes)
{
    size_t largest = 0 != kind->fill ? kind->fill : bytes;
    size_t fit = kind->memory / (largest < 64 ? 64 : largest);
    char memory[32], entries[32];
    const char *const info[] = {"ompi_osc_cached_mode",
                                kind->forgets ? "user" : "always",
                                "ompi_osc_cached_memory",
                                memory,
                                "ompi_osc_cached_entries",
                                entries,
                                "ompi_osc_cached_adaptive",
                                "false",
                                NULL};

    snprintf(memory, sizeof(memory), "%zu", kind->memory);
    snprintf(entries, sizeof(entries), "%zu", 0 != kind->entries ? kind->entries : fit + fit / 4);
    micro_window_make(w, KINDS_WINDOW_BYTES, info);
}

static struct micro_gets kind_plain(struct micro_window *w, unsigned char *buffer, size_t bytes)
{
    size_t stride = bytes < 64 ? 64 : bytes;

    return (struct micro_gets){w, buffer, bytes, stride, KINDS_WINDOW_BYTES / stride, 1, 0};
}

/* Storage and index go through all of their memory here. */
static void kind_begin(struct kind_gets *k, struct micro_window *w, const struct kind *kind,
                       unsigned char *buffer, size_t bytes)
{
    struct micro_gets fill = kind_plain(w, buffer, 0 != kind->fill ? kind->fill : bytes);

    k->gets = kind_plain(w, buffer, bytes);
    if (kind->forgets && KINDS_DIRECT < k->gets.count) {
        k->gets.count = KINDS_DIRECT;
    }
    k->forgets = kind->forgets;
    OK(MPI_Info_create(&k->forget));
    OK(MPI_Info_set(k->forget, "ompi_osc_cached_invalidate", "true"));
    if (kind->forgets) {
        micro_get_flush(&k->gets, (long) k->gets.count);
        OK(MPI_Win_set_info(w->win, k->forget));
    } else {
        /* More than the storage, from the end of the window: the measured gets find none of it. */
        for (long use = 0; use < kind->uses; ++use) {
            fill.next = fill.count - fill.count / 4;
            micro_get_flush(&fill, (long) (fill.count - fill.next));
        }
    }
    k->before[0] = micro_count(w, MICRO_GETS);
    k->before[1] = micro_count(w, kind->counter);
}

/* @return percent of the gets that were of the kind */
static double kind_end(struct kind_gets *k, const struct kind *kind)
{
    struct micro_window *w = k->gets.window;
    double share = 100 * (micro_count(w, kind->counter) - k->before[1])
                   / (micro_count(w, MICRO_GETS) - k->before[0]);

    micro_check(&k->gets);
    OK(MPI_Info_free(&k->forget));
    return share;
}

/* Before a get: have all addresses been asked for? */
static inline void kind_wrap(struct kind_gets *k)
{
    if (k->forgets && 0 == k->gets.next) {
        MPI_Win_set_info(k->gets.window->win, k->forget);
    }
}

MICRO_UNUSED static void kind_get_flush(void *argument, long n)
{
    struct kind_gets *k = argument;

    while (0 < n) {
        long left = (long) (k->gets.count - k->gets.next), now = n < left ? n : left;

        kind_wrap(k);
        micro_get_flush(&k->gets, now);
        n -= now;
    }
}

#endif
