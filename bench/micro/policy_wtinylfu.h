/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * W-TinyLFU (Einziger, Friedman, Manes; ACM Transactions on Storage 13(4), 2017) by size (the same
 * and Eytan, 2021: aggregated victims).  What is new comes into a window, LRU, a hundredth of the
 * capacity.  What leaves the window is a candidate for the main part, where the least recently used
 * ones leave for it if it was asked for more often than all of them together; else it is gone.  The
 * main part is a segmented LRU: a hit moves to the protected segment, four fifths of it; what is
 * too much there goes back to the segment on probation, from which victims are taken first.
 *
 * How often: a count-min sketch of four rows with counts up to 15, all halved each time that it has
 * counted ten gets per datum that fits (by the mean size).
 */
#ifndef OMPI_LOCALITY_POLICY_WTINYLFU_H
#define OMPI_LOCALITY_POLICY_WTINYLFU_H

#include "policy.h"

enum { SKETCH_ROWS = 4, SKETCH_MOST = 15, SKETCH_PERIOD = 10 };

struct policy_sketch {
    uint8_t *count;
    uint32_t width; /* of a row, a power of two */
    uint64_t counted, period;
};

static inline struct policy_sketch sketch_create(uint64_t entries)
{
    struct policy_sketch sketch = {.width = 16, .period = SKETCH_PERIOD * (entries + 1)};

    while (sketch.width < 4 * entries) {
        sketch.width *= 2;
    }
    sketch.count = gets_memory(SKETCH_ROWS, sketch.width);
    return sketch;
}

static inline uint8_t *sketch_at(const struct policy_sketch *sketch, uint32_t datum, int row)
{
    uint64_t x = ((uint64_t) datum << 3 | (uint64_t) row) + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return &sketch->count[(uint64_t) row * sketch->width + ((x ^ (x >> 31)) & (sketch->width - 1))];
}

static inline uint32_t sketch_estimate(const struct policy_sketch *sketch, uint32_t datum)
{
    uint32_t least = SKETCH_MOST;

    for (int row = 0; row < SKETCH_ROWS; ++row) {
        uint32_t count = *sketch_at(sketch, datum, row);

        least = count < least ? count : least;
    }
    return least;
}

static inline void sketch_add(struct policy_sketch *sketch, uint32_t datum)
{
    for (int row = 0; row < SKETCH_ROWS; ++row) {
        uint8_t *count = sketch_at(sketch, datum, row);

        *count = (uint8_t) (*count < SKETCH_MOST ? *count + 1 : SKETCH_MOST);
    }
    if (++sketch->counted == sketch->period) {
        for (uint64_t i = 0; i < (uint64_t) SKETCH_ROWS * sketch->width; ++i) {
            sketch->count[i] /= 2;
        }
        sketch->counted /= 2;
    }
}

struct policy_wtinylfu {
    struct policy_queue window, probation, safe;
    uint64_t window_capacity, main_capacity;
    enum { WTINYLFU_NOWHERE, WTINYLFU_WINDOW, WTINYLFU_PROBATION, WTINYLFU_SAFE } * where;
    struct policy_sketch sketch;
};

/* What leaves the window. */
static inline void wtinylfu_admit(struct policy_wtinylfu *w, uint32_t candidate)
{
    uint64_t size = w->window.sizes[candidate], used = w->probation.size + w->safe.size;
    uint64_t freed = 0, worth = 0;
    uint32_t victim = POLICY_NONE == w->probation.tail ? w->safe.tail : w->probation.tail;

    w->where[candidate] = WTINYLFU_NOWHERE;
    if (w->main_capacity < size) {
        return;
    }
    while (w->main_capacity < used - freed + size) {
        freed += w->window.sizes[victim];
        worth += sketch_estimate(&w->sketch, victim);
        if (victim == w->probation.head) {
            victim = w->safe.tail;
        } else {
            victim = w->window.link[victim].before;
        }
    }
    if (0 < freed && sketch_estimate(&w->sketch, candidate) <= worth) {
        return;
    }
    while (w->main_capacity < w->probation.size + w->safe.size + size) {
        victim = policy_pop(POLICY_NONE == w->probation.tail ? &w->safe : &w->probation);
        w->where[victim] = WTINYLFU_NOWHERE;
    }
    w->where[candidate] = WTINYLFU_PROBATION;
    policy_push(&w->probation, candidate);
}

static inline void wtinylfu_hit(struct policy_wtinylfu *w, uint32_t datum)
{
    struct policy_queue *queue = WTINYLFU_WINDOW == w->where[datum]      ? &w->window
                                 : WTINYLFU_PROBATION == w->where[datum] ? &w->probation
                                                                         : &w->safe;

    policy_remove(queue, datum);
    if (&w->window == queue) {
        policy_push(&w->window, datum);
        return;
    }
    w->where[datum] = WTINYLFU_SAFE;
    policy_push(&w->safe, datum);
    while (4 * w->main_capacity / 5 < w->safe.size && w->safe.tail != datum) {
        uint32_t back = policy_pop(&w->safe);

        w->where[back] = WTINYLFU_PROBATION;
        policy_push(&w->probation, back);
    }
}

static inline void policy_wtinylfu(const struct gets *gets, uint64_t capacity, bool *hit)
{
    struct policy_link *links = policy_links(gets);
    struct policy_wtinylfu w = {
        .window = policy_queue(gets, links),
        .probation = policy_queue(gets, links),
        .safe = policy_queue(gets, links),
        .window_capacity = capacity / 100,
        .main_capacity = capacity - capacity / 100,
        .where = gets_memory(gets->num_data, sizeof(w.where[0])),
    };
    uint64_t all = 1;

    for (uint32_t i = 0; i < gets->num_data; ++i) {
        all += gets->size[i];
    }
    w.sketch = sketch_create(capacity * gets->num_data / all);
    for (long i = 0; i < gets->num; ++i) {
        uint32_t datum = gets->get[i].datum;

        sketch_add(&w.sketch, datum);
        hit[i] = WTINYLFU_NOWHERE != w.where[datum];
        if (hit[i]) {
            wtinylfu_hit(&w, datum);
            continue;
        }
        w.where[datum] = WTINYLFU_WINDOW;
        policy_push(&w.window, datum);
        while (w.window_capacity < w.window.size) {
            wtinylfu_admit(&w, policy_pop(&w.window));
        }
    }
    free(links);
    free(w.where);
    free(w.sketch.count);
}

#endif
