/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi; SOSP 2023): three queues in the order of arrival.  What
 * is new comes into the small one, a tenth of the capacity; what the ghost queue remembers, into
 * the main one.  Each hit counts, up to 3.  At the tail of the small queue, what had more than one
 * hit goes on to the main queue, its count cleared; else it leaves, and its name goes to the ghost
 * queue, which remembers as much data as the main queue may hold.  At the tail of the main queue,
 * what had a hit goes round once more, with one hit less; else it leaves.
 */
#ifndef OMPI_LOCALITY_POLICY_S3FIFO_H
#define OMPI_LOCALITY_POLICY_S3FIFO_H

#include "policy.h"

struct policy_s3fifo {
    struct policy_queue small, main, ghost;
    uint64_t small_capacity, ghost_capacity;
    enum { S3FIFO_NOWHERE, S3FIFO_SMALL, S3FIFO_MAIN, S3FIFO_GHOST } * where;
    uint8_t *count;
};

static inline void s3fifo_evict_main(struct policy_s3fifo *s)
{
    for (;;) {
        uint32_t datum = policy_pop(&s->main);

        if (0 == s->count[datum]) {
            s->where[datum] = S3FIFO_NOWHERE;
            return;
        }
        --s->count[datum];
        policy_push(&s->main, datum);
    }
}

static inline void s3fifo_evict_small(struct policy_s3fifo *s)
{
    while (POLICY_NONE != s->small.tail) {
        uint32_t datum = policy_pop(&s->small);

        if (s->count[datum] < 2) {
            s->where[datum] = S3FIFO_GHOST;
            policy_push(&s->ghost, datum);
            while (s->ghost_capacity < s->ghost.size) {
                s->where[policy_pop(&s->ghost)] = S3FIFO_NOWHERE;
            }
            return;
        }
        s->count[datum] = 0;
        s->where[datum] = S3FIFO_MAIN;
        policy_push(&s->main, datum);
    }
}

static inline void policy_s3fifo(const struct gets *gets, uint64_t capacity, bool *hit)
{
    struct policy_link *links = policy_links(gets);
    struct policy_s3fifo s = {
        .small = policy_queue(gets, links),
        .main = policy_queue(gets, links),
        .ghost = policy_queue(gets, links),
        .small_capacity = capacity / 10,
        .ghost_capacity = capacity - capacity / 10,
        .where = gets_memory(gets->num_data, sizeof(s.where[0])),
        .count = gets_memory(gets->num_data, sizeof(s.count[0])),
    };

    for (long i = 0; i < gets->num; ++i) {
        uint32_t datum = gets->get[i].datum;
        bool known;

        hit[i] = S3FIFO_SMALL == s.where[datum] || S3FIFO_MAIN == s.where[datum];
        if (hit[i]) {
            s.count[datum] = (uint8_t) (s.count[datum] < 3 ? s.count[datum] + 1 : 3);
            continue;
        }
        if (capacity < gets->size[datum]) {
            continue;
        }
        known = S3FIFO_GHOST == s.where[datum];
        if (known) {
            policy_remove(&s.ghost, datum);
            s.where[datum] = S3FIFO_NOWHERE;
        }
        while (capacity < s.small.size + s.main.size + gets->size[datum]) {
            if (POLICY_NONE == s.main.tail
                || (POLICY_NONE != s.small.tail && s.small_capacity <= s.small.size)) {
                s3fifo_evict_small(&s);
            } else {
                s3fifo_evict_main(&s);
            }
        }
        s.count[datum] = 0;
        s.where[datum] = known ? S3FIFO_MAIN : S3FIFO_SMALL;
        policy_push(known ? &s.main : &s.small, datum);
    }
    free(links);
    free(s.where);
    free(s.count);
}

#endif
