/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the policies of policy_*.h share.  A policy is a function of a sequence of gets and a
 * capacity, in the units of gets->size, that says which of the gets are hits:
 *
 *     policy_NAME(gets, capacity, hit)
 *
 * All of them pack perfectly: they know no holes.  Each is written from its paper.
 */
#ifndef OMPI_LOCALITY_POLICY_H
#define OMPI_LOCALITY_POLICY_H

#include "gets.h"

#define POLICY_NONE UINT32_MAX

/* A queue of data. Links are by datum, so that no datum is in two queues of the same links. */
struct policy_link {
    uint32_t before, after; /* before: nearer to the head */
};

struct policy_queue {
    uint32_t head, tail;
    uint64_t size; /* of all in it */
    struct policy_link *link;
    const uint32_t *sizes;
};

static inline struct policy_queue policy_queue(const struct gets *gets, struct policy_link *link)
{
    struct policy_queue queue = {POLICY_NONE, POLICY_NONE, 0, link, gets->size};

    return queue;
}

static inline struct policy_link *policy_links(const struct gets *gets)
{
    return gets_memory(gets->num_data, sizeof(struct policy_link));
}

static inline void policy_push(struct policy_queue *queue, uint32_t datum)
{
    queue->link[datum] = (struct policy_link){POLICY_NONE, queue->head};
    if (POLICY_NONE == queue->head) {
        queue->tail = datum;
    } else {
        queue->link[queue->head].before = datum;
    }
    queue->head = datum;
    queue->size += queue->sizes[datum];
}

static inline void policy_remove(struct policy_queue *queue, uint32_t datum)
{
    struct policy_link link = queue->link[datum];

    if (POLICY_NONE == link.before) {
        queue->head = link.after;
    } else {
        queue->link[link.before].after = link.after;
    }
    if (POLICY_NONE == link.after) {
        queue->tail = link.before;
    } else {
        queue->link[link.after].before = link.before;
    }
    queue->size -= queue->sizes[datum];
}

/* @return what was at the tail */
static inline uint32_t policy_pop(struct policy_queue *queue)
{
    uint32_t datum = queue->tail;

    policy_remove(queue, datum);
    return datum;
}

#endif
