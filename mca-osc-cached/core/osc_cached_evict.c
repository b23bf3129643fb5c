/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Victims: see the header for the scores and the contract.
 */
#include "osc_cached_evict.h"

double osc_cached_evict_score(const osc_cached_evict_query_t *query,
                              const osc_cached_evict_view_t *view)
{
    double score;

    if (OSC_CACHED_VICTIM_FIRST == view->victim) {
        return -1;
    }
    score = osc_cached_evict_rank(query, view);
    if (0 != query->average && OSC_CACHED_SCHEME_TEMPORAL != query->scheme) {
        score /= (double) query->average;
    }
    if (0 != query->now && OSC_CACHED_SCHEME_POSITIONAL != query->scheme) {
        score /= (double) query->now;
    }
    return (score < 1) ? score : 1;
}

uint32_t osc_cached_evict_sample(osc_cached_index_t *index, const osc_cached_evict_query_t *query,
                                 uint32_t *visited, uint32_t *occupied)
{
    return osc_cached_evict_sample_with(index, query, query->view, visited, occupied);
}

uint32_t osc_cached_evict_path(const osc_cached_index_t *index,
                               const osc_cached_evict_query_t *query)
{
    return osc_cached_evict_path_with(index, query, query->view);
}
