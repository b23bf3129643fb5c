/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Who keeps which block.
 */
#include "osc_cached_keep.h"

#include <string.h>

#define MOST_FRAMES (UINT32_MAX / 32) /* 16 bits each are counted */

static uint32_t power_of_two(uint32_t least)
{
    uint32_t power = 64;

    while (power < least) {
        power *= 2;
    }
    return power;
}

static uint64_t mix(uint64_t block)
{
    block *= UINT64_C(0x9e3779b97f4a7c15);
    return block ^ block >> 29;
}

/* Lists */

static uint32_t head(const osc_cached_keep_t *keep, uint32_t list)
{
    return keep->frames + list;
}

static void unlink_frame(osc_cached_keep_t *keep, uint32_t number)
{
    osc_cached_frame_t *frame = &keep->frame[number];

    keep->frame[frame->newer].older = frame->older;
    keep->frame[frame->older].newer = frame->newer;
    --keep->length[frame->list];
}

/* To the most recent end of a list. */
static void link_frame(osc_cached_keep_t *keep, uint32_t number, uint32_t list)
{
    osc_cached_frame_t *frame = &keep->frame[number], *top = &keep->frame[head(keep, list)];

    frame->list = (uint8_t) list;
    frame->newer = head(keep, list);
    frame->older = top->older;
    keep->frame[top->older].newer = number;
    top->older = number;
    ++keep->length[list];
}

static void move(osc_cached_keep_t *keep, uint32_t number, uint32_t list)
{
    unlink_frame(keep, number);
    link_frame(keep, number, list);
}

/* The least recent one of a list that is not empty. */
static uint32_t oldest(const osc_cached_keep_t *keep, uint32_t list)
{
    return keep->frame[head(keep, list)].newer;
}

/* Names */

static uint32_t *hash_of(const osc_cached_keep_t *keep, uint32_t target, uint64_t block)
{
    return &keep->first[(mix(block + ((uint64_t) target << 40)) >> 8) & (keep->hashes - 1)];
}

uint32_t osc_cached_keep_find(const osc_cached_keep_t *keep, uint32_t target, uint64_t block)
{
    uint32_t number = *hash_of(keep, target, block);

    while (OSC_CACHED_NO_FRAME != number
           && (block != keep->frame[number].block || target != keep->frame[number].target)) {
        number = keep->frame[number].chain;
    }
    return number;
}

static void forget_name(osc_cached_keep_t *keep, uint32_t number)
{
    osc_cached_frame_t *frame = &keep->frame[number];
    uint32_t *link = hash_of(keep, frame->target, frame->block);

    while (number != *link) {
        link = &keep->frame[*link].chain;
    }
    *link = frame->chain;
}

int osc_cached_keep_init(osc_cached_keep_t *keep, osc_cached_keep_policy_t policy, uint32_t frames,
                         const osc_cached_alloc_t *alloc)
{
    if (0 == frames || frames > MOST_FRAMES) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    *keep = (osc_cached_keep_t){
        .policy = policy, .alloc = alloc, .frames = frames, .hashes = power_of_two(frames)};
    keep->frame =
        alloc->alloc(alloc->context, 64, (frames + OSC_CACHED_KEEP_LISTS) * sizeof(keep->frame[0]));
    keep->first = alloc->alloc(alloc->context, 64, keep->hashes * sizeof(keep->first[0]));
    if (NULL == keep->frame || NULL == keep->first) {
        osc_cached_keep_fini(keep);
        return OSC_CACHED_NO_MEMORY;
    }
    memset(keep->first, 0xff, keep->hashes * sizeof(keep->first[0])); /* OSC_CACHED_NO_FRAME */
    for (uint32_t i = 0; i < OSC_CACHED_KEEP_LISTS; i++) {
        keep->frame[head(keep, i)] =
            (osc_cached_frame_t){.newer = head(keep, i), .older = head(keep, i)};
    }
    for (uint32_t i = 0; i < frames; i++) {
        keep->frame[i] = (osc_cached_frame_t){.block = 0};
        link_frame(keep, i, OSC_CACHED_KEEP_UNUSED);
    }
    return OSC_CACHED_OK;
}

void osc_cached_keep_fini(osc_cached_keep_t *keep)
{
    keep->alloc->free(keep->alloc->context, keep->frame,
                      (keep->frames + OSC_CACHED_KEEP_LISTS) * sizeof(keep->frame[0]));
    keep->alloc->free(keep->alloc->context, keep->first, keep->hashes * sizeof(keep->first[0]));
    keep->frame = NULL;
    keep->first = NULL;
}

/* The list of a block that is used. */
static uint32_t list_of(const osc_cached_keep_t *keep, bool alone)
{
    return OSC_CACHED_KEEP_LAST == keep->policy && alone ? OSC_CACHED_KEEP_SECOND_LIST
                                                         : OSC_CACHED_KEEP_FIRST_LIST;
}

void osc_cached_keep_use(osc_cached_keep_t *keep, uint32_t frame)
{
    move(keep, frame, list_of(keep, keep->frame[frame].alone));
}

void osc_cached_keep_set_alone(osc_cached_keep_t *keep, uint32_t frame, bool alone)
{
    if (alone != keep->frame[frame].alone) {
        keep->frame[frame].alone = alone;
        osc_cached_keep_use(keep, frame);
    }
}

void osc_cached_keep_remove(osc_cached_keep_t *keep, uint32_t frame)
{
    forget_name(keep, frame);
    move(keep, frame, OSC_CACHED_KEEP_UNUSED);
}

/* P1: who has another copy in memory leaves first; last copies have 9/10 of the pool. */
static uint32_t victim_of_last(const osc_cached_keep_t *keep)
{
    const uint64_t alone = keep->length[OSC_CACHED_KEEP_SECOND_LIST];
    bool too_many = 10 * alone > 9 * (uint64_t) keep->frames;

    return oldest(keep, 0 == keep->length[OSC_CACHED_KEEP_FIRST_LIST] || too_many
                            ? OSC_CACHED_KEEP_SECOND_LIST
                            : OSC_CACHED_KEEP_FIRST_LIST);
}

/* The paper: who is alone passes to the other list, until that is half of the pool. */
static uint32_t victim_of_halves(osc_cached_keep_t *keep)
{
    while (0 < keep->length[OSC_CACHED_KEEP_FIRST_LIST]) {
        uint32_t number = oldest(keep, OSC_CACHED_KEEP_FIRST_LIST);

        if (!keep->frame[number].alone) {
            return number;
        }
        move(keep, number, OSC_CACHED_KEEP_SECOND_LIST);
        if (keep->length[OSC_CACHED_KEEP_SECOND_LIST] > keep->frames / 2) {
            break;
        }
    }
    return oldest(keep, OSC_CACHED_KEEP_SECOND_LIST);
}

uint32_t osc_cached_keep_add(osc_cached_keep_t *keep, uint32_t target, uint64_t block, bool alone,
                             osc_cached_left_t *left, bool *full)
{
    osc_cached_frame_t *frame;
    uint32_t number, *first;

    *full = 0 == keep->length[OSC_CACHED_KEEP_UNUSED];
    if (*full) {
        number =
            OSC_CACHED_KEEP_LAST == keep->policy ? victim_of_last(keep) : victim_of_halves(keep);
        frame = &keep->frame[number];
        *left = (osc_cached_left_t){.target = frame->target, .block = frame->block};
        osc_cached_keep_remove(keep, number);
    }
    number = oldest(keep, OSC_CACHED_KEEP_UNUSED);
    frame = &keep->frame[number];
    frame->target = target;
    frame->block = block;
    frame->alone = alone;
    first = hash_of(keep, target, block);
    frame->chain = *first;
    *first = number;
    move(keep, number, list_of(keep, alone));
    return number;
}

/* Demand */

int osc_cached_demand_init(osc_cached_demand_t *demand, uint32_t frames,
                           const osc_cached_alloc_t *alloc)
{
    if (0 == frames || frames > MOST_FRAMES) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    *demand = (osc_cached_demand_t){
        .alloc = alloc, .frames = frames, .bits = power_of_two(16 * frames), .fits = true};
    demand->asked = alloc->alloc(alloc->context, 64, demand->bits / 8);
    if (NULL == demand->asked) {
        return OSC_CACHED_NO_MEMORY;
    }
    memset(demand->asked, 0, demand->bits / 8);
    return OSC_CACHED_OK;
}

void osc_cached_demand_fini(osc_cached_demand_t *demand)
{
    demand->alloc->free(demand->alloc->context, demand->asked, demand->bits / 8);
    demand->asked = NULL;
}

bool osc_cached_demand_ask(osc_cached_demand_t *demand, uint64_t block)
{
    uint32_t bit = (uint32_t) (mix(block) >> 8) & (demand->bits - 1);
    uint64_t *word = &demand->asked[bit / 64], mask = UINT64_C(1) << bit % 64;

    demand->blocks += 0 == (*word & mask);
    *word |= mask;
    if (++demand->requests >= 8 * demand->frames) {
        demand->fits = demand->blocks <= demand->frames;
        demand->requests = 0;
        demand->blocks = 0;
        memset(demand->asked, 0, demand->bits / 8);
    }
    return demand->fits;
}

/* Invariants */

int osc_cached_keep_verify(const osc_cached_keep_t *keep)
{
    uint32_t all = 0;

    for (uint32_t list = 0; list < OSC_CACHED_KEEP_LISTS; list++) {
        uint32_t length = 0;

        for (uint32_t i = keep->frame[head(keep, list)].older; head(keep, list) != i;
             i = keep->frame[i].older) {
            const osc_cached_frame_t *frame = &keep->frame[i];

            if (i >= keep->frames || list != frame->list || ++length > keep->frames
                || i != keep->frame[frame->older].newer) {
                return 1;
            }
            if (OSC_CACHED_KEEP_UNUSED == list) {
                continue;
            }
            if (i != osc_cached_keep_find(keep, frame->target, frame->block)) {
                return 2;
            }
            if (OSC_CACHED_KEEP_LAST == keep->policy
                    ? frame->alone != (OSC_CACHED_KEEP_SECOND_LIST == list)
                    : OSC_CACHED_KEEP_SECOND_LIST == list && !frame->alone) {
                return 3;
            }
        }
        if (length != keep->length[list]) {
            return 1;
        }
        all += length;
    }
    return all == keep->frames ? 0 : 1;
}
