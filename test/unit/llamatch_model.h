/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The naive model of one communicator's matching: one list of receives in the order they were
 * posted, one list of messages in the order they arrived, and MPI's rules. No split by source, no
 * sequence numbers. The depth of a search is that of lists split by source.
 */
#ifndef LLAMATCH_MODEL_H
#define LLAMATCH_MODEL_H

#include "llamatch_test_engine.h"

#include <string.h>

#define MODEL_MAX 8192   /* entries of a list */
#define MODEL_SOURCES 64 /* of a communicator */

typedef struct {
    int32_t source; /* of a receive: or ANY */
    int32_t tag;    /* of a receive: or LLAMATCH_ANY_TAG */
    int item;
} model_entry_t;

typedef struct {
    model_entry_t entries[MODEL_MAX];
    size_t count;
    llamatch_stats_t stats;
} model_list_t;

typedef struct {
    model_list_t posted;
    model_list_t unexpected;
    int32_t order[MODEL_SOURCES]; /* sources with messages, as any-source receives serve them */
    size_t num_order;
} model_t;

static inline void model_add(model_list_t *list, int32_t source, int32_t tag, int item)
{
    model_entry_t entry = {source, tag, item};

    list->entries[list->count++] = entry;
    list->stats.length = list->count;
    if (list->count > list->stats.length_max) {
        list->stats.length_max = list->count;
    }
}

static inline void model_remove(model_list_t *list, size_t i)
{
    memmove(&list->entries[i], &list->entries[i + 1], (--list->count - i) * sizeof(model_entry_t));
    list->stats.length = list->count;
}

/* Count a search that looked at this many entries. */
static inline void model_searched(model_list_t *list, uint64_t depth)
{
    int class = 0;

    while (depth >> class > 1 && class < LLAMATCH_DEPTHS - 1) {
        ++class;
    }
    ++list->stats.searches;
    ++list->stats.depths[class];
    list->stats.depth_sum += depth;
    if (depth > list->stats.depth_max) {
        list->stats.depth_max = depth;
    }
}

static inline bool model_tags_match(int32_t receive, int32_t message)
{
    return (LLAMATCH_ANY_TAG == receive) ? 0 <= message : receive == message;
}

/* The receive that a message takes: its place, or list->count. */
static inline size_t model_match(const model_list_t *list, int32_t source, int32_t tag,
                                 uint64_t *depth)
{
    *depth = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const model_entry_t *receive = &list->entries[i];

        if (source == receive->source || ANY == receive->source) {
            ++*depth;
            if (model_tags_match(receive->tag, tag)) {
                return i;
            }
        }
    }
    return list->count;
}

/* The message that a receive takes: its place, or the count. Of several sources the first one of
 * the order serves. */
static inline size_t model_search(const model_t *model, int32_t source, int32_t tag,
                                  uint64_t *depth)
{
    const model_list_t *list = &model->unexpected;
    size_t first[MODEL_SOURCES];
    uint64_t depths[MODEL_SOURCES] = {0};

    for (size_t s = 0; s < MODEL_SOURCES; ++s) {
        first[s] = list->count;
    }
    *depth = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const model_entry_t *message = &list->entries[i];

        if (ANY != source && source != message->source) {
            continue;
        }
        if (first[message->source] == list->count) {
            ++depths[message->source];
            if (model_tags_match(tag, message->tag)) {
                first[message->source] = i;
                if (ANY != source || model->order[0] == message->source) {
                    *depth = depths[message->source];
                    return i;
                }
            }
        }
    }
    if (ANY != source) {
        *depth = depths[source];
        return list->count;
    }
    for (size_t o = 0; o < model->num_order; ++o) {
        *depth += depths[model->order[o]];
        if (first[model->order[o]] < list->count) {
            return first[model->order[o]];
        }
    }
    return list->count;
}

static inline bool model_has_messages(const model_t *model, int32_t source)
{
    for (size_t i = 0; i < model->unexpected.count; ++i) {
        if (source == model->unexpected.entries[i].source) {
            return true;
        }
    }
    return false;
}

static inline void model_order_remove(model_t *model, int32_t source)
{
    size_t kept = 0;

    for (size_t o = 0; o < model->num_order; ++o) {
        if (source != model->order[o]) {
            model->order[kept++] = model->order[o];
        }
    }
    model->num_order = kept;
}

static inline void model_arrive(model_t *model, int32_t source, int32_t tag, int item)
{
    size_t o = 0;

    while (o < model->num_order && source != model->order[o]) {
        ++o;
    }
    if (o == model->num_order) {
        model->order[model->num_order++] = source;
    }
    model_add(&model->unexpected, source, tag, item);
}

/* Take the message at a place; an any-source receive puts its source behind all others. */
static inline void model_take(model_t *model, size_t i, bool any_source)
{
    int32_t source = model->unexpected.entries[i].source;

    model_remove(&model->unexpected, i);
    ++model->unexpected.stats.matches;
    if (any_source) {
        model_order_remove(model, source);
        model->order[model->num_order++] = source;
    }
    if (!model_has_messages(model, source)) {
        model_order_remove(model, source);
    }
}

#endif
