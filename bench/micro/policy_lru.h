/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * LRU, exact: the least recently used ones leave until there is room.
 */
#ifndef OMPI_LOCALITY_POLICY_LRU_H
#define OMPI_LOCALITY_POLICY_LRU_H

#include "policy.h"

static inline void policy_lru(const struct gets *gets, uint64_t capacity, bool *hit)
{
    struct policy_link *links = policy_links(gets);
    struct policy_queue queue = policy_queue(gets, links);
    bool *kept = gets_memory(gets->num_data, sizeof(bool));

    for (long i = 0; i < gets->num; ++i) {
        uint32_t datum = gets->get[i].datum;

        hit[i] = kept[datum];
        if (kept[datum]) {
            policy_remove(&queue, datum);
        } else if (capacity < gets->size[datum]) {
            continue;
        }
        while (capacity < queue.size + gets->size[datum]) {
            kept[policy_pop(&queue)] = false;
        }
        policy_push(&queue, datum);
        kept[datum] = true;
    }
    free(links);
    free(kept);
}

#endif
