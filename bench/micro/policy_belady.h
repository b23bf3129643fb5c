/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be had by those who know the future:
 *
 *     belady          what is asked for again last leaves until there is room, or is not kept (IBM
 *                     Systems Journal 5(2), 1966): the optimum when all data has the same size, and
 *                     not with several sizes
 *     belady_by_size  the same by size times distance, the largest of 256; also not the optimum,
 *                     which is NP-hard
 *     upper_bound     no policy has more hits: a hit takes its size in storage from the get before
 *                     to this one; the smallest of these areas that fit into storage times gets
 *                     (PFOO-L of Berger, Beckmann, Harchol-Balter, SIGMETRICS 2018)
 */
#ifndef OMPI_LOCALITY_POLICY_BELADY_H
#define OMPI_LOCALITY_POLICY_BELADY_H

#include "policy.h"

/* What is kept is in a heap, that which is asked for last on top. */
struct policy_heap {
    uint32_t *heap; /* data */
    uint32_t count;
    long *next;      /* get of each datum */
    uint32_t *place; /* of each datum in the heap, plus 1; 0: not kept */
};

static inline void heap_put(struct policy_heap *h, uint32_t place, uint32_t datum)
{
    h->heap[place] = datum;
    h->place[datum] = place + 1;
}

/* Lets the datum at a place find its own. */
static inline void heap_settle(struct policy_heap *h, uint32_t place)
{
    uint32_t datum = h->heap[place];
    long next = h->next[datum];

    while (0 < place && h->next[h->heap[(place - 1) / 2]] < next) {
        heap_put(h, place, h->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * place + 1;

        if (child + 1 < h->count && h->next[h->heap[child]] < h->next[h->heap[child + 1]]) {
            ++child;
        }
        if (h->count <= child || h->next[h->heap[child]] <= next) {
            break;
        }
        heap_put(h, place, h->heap[child]);
        place = child;
    }
    heap_put(h, place, datum);
}

static inline void heap_remove(struct policy_heap *h, uint32_t place)
{
    h->place[h->heap[place]] = 0;
    if (place < --h->count) {
        heap_put(h, place, h->heap[h->count]);
        heap_settle(h, place);
    }
}

/* Distances change with time, so no heap has the largest of size times distance on top. */
static inline uint32_t heap_largest(const struct policy_heap *h, const struct gets *gets, long now,
                                    uint64_t *seed)
{
    enum { SAMPLE = 256 };
    bool all = h->count <= SAMPLE;
    uint32_t worst = 0;
    double most = -1;

    for (uint32_t i = 0; i < (all ? h->count : SAMPLE); ++i) {
        /* that on top is among them: it is asked for last, or never */
        uint32_t place = all || 0 == i ? i : gets_below(seed, h->count);
        uint32_t datum = h->heap[place];
        double area = gets->num == h->next[datum]
                          ? INFINITY
                          : (double) gets->size[datum] * (double) (h->next[datum] - now);

        if (most < area) {
            most = area;
            worst = place;
        }
    }
    return worst;
}

static inline void belady(const struct gets *gets, uint64_t capacity, bool by_size, bool *hit)
{
    struct policy_heap h = {
        .heap = gets_memory(gets->num_data, sizeof(h.heap[0])),
        .next = gets_memory(gets->num_data, sizeof(h.next[0])),
        .place = gets_memory(gets->num_data, sizeof(h.place[0])),
    };
    uint64_t used = 0, seed = 1;

    for (long i = 0; i < gets->num; ++i) {
        uint32_t datum = gets->get[i].datum;

        hit[i] = 0 != h.place[datum];
        if (!hit[i]) {
            heap_put(&h, h.count++, datum);
            used += gets->size[datum];
        }
        h.next[datum] = gets->get[i].next;
        heap_settle(&h, h.place[datum] - 1);
        while (capacity < used) {
            uint32_t place = by_size ? heap_largest(&h, gets, i, &seed) : 0;

            used -= gets->size[h.heap[place]];
            heap_remove(&h, place);
        }
    }
    free(h.heap);
    free(h.next);
    free(h.place);
}

static inline void policy_belady(const struct gets *gets, uint64_t capacity, bool *hit)
{
    belady(gets, capacity, false, hit);
}

static inline void policy_belady_by_size(const struct gets *gets, uint64_t capacity, bool *hit)
{
    belady(gets, capacity, true, hit);
}

struct policy_area {
    double area;
    long get;
};

static inline int policy_by_area(const void *a, const void *b)
{
    const struct policy_area *x = a, *y = b;

    return (x->area > y->area) - (x->area < y->area);
}

static inline void policy_upper_bound(const struct gets *gets, uint64_t capacity, bool *hit)
{
    struct policy_area *areas = gets_memory((size_t) gets->num, sizeof(areas[0]));
    double room = (double) capacity * (double) gets->num;
    long n = 0;

    memset(hit, 0, (size_t) gets->num * sizeof(hit[0]));
    for (long i = 0; i < gets->num; ++i) {
        uint32_t size = gets->size[gets->get[i].datum];

        if (gets->get[i].next < gets->num && size <= capacity) {
            areas[n].area = (double) size * (double) (gets->get[i].next - i);
            areas[n++].get = gets->get[i].next;
        }
    }
    qsort(areas, (size_t) n, sizeof(areas[0]), policy_by_area);
    for (long i = 0; i < n && areas[i].area <= room; ++i) {
        room -= areas[i].area;
        hit[areas[i].get] = true;
    }
    free(areas);
}

#endif
