/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi; NSDI 2024): a queue in the order of arrival.  A hit
 * marks its datum and moves nothing.  A hand goes from the tail to the head, and begins anew there:
 * it takes the marks away, and the first one without a mark leaves.
 */
#ifndef OMPI_LOCALITY_POLICY_SIEVE_H
#define OMPI_LOCALITY_POLICY_SIEVE_H

#include "policy.h"

static inline void policy_sieve(const struct gets *gets, uint64_t capacity, bool *hit)
{
    struct policy_link *links = policy_links(gets);
    struct policy_queue queue = policy_queue(gets, links);
    bool *kept = gets_memory(gets->num_data, sizeof(bool));
    bool *visited = gets_memory(gets->num_data, sizeof(bool));
    uint32_t hand = POLICY_NONE;

    for (long i = 0; i < gets->num; ++i) {
        uint32_t datum = gets->get[i].datum;

        hit[i] = visited[datum] = kept[datum];
        if (kept[datum] || capacity < gets->size[datum]) {
            continue;
        }
        while (capacity < queue.size + gets->size[datum]) {
            uint32_t victim = POLICY_NONE == hand ? queue.tail : hand;

            while (visited[victim]) {
                visited[victim] = false;
                victim = links[victim].before;
                victim = POLICY_NONE == victim ? queue.tail : victim;
            }
            hand = links[victim].before;
            policy_remove(&queue, victim);
            kept[victim] = false;
        }
        policy_push(&queue, datum);
        kept[datum] = true;
    }
    free(links);
    free(kept);
    free(visited);
}

#endif
