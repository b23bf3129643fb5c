/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Holes in bins or in a tree: see the header for the contract and the invariants.
 */
#include "osc_cached_holes.h"
#include "osc_cached_bits.h"

#include <stdbool.h>

#define NONE OSC_CACHED_HOLES_NONE
#define BINS OSC_CACHED_HOLES_BINS

typedef osc_cached_avl_node_t node_t;

static node_t *at(const osc_cached_holes_t *holes, uint32_t index)
{
    return osc_cached_avl_node(&holes->tree, index);
}

/* The bin of a size of at least 1. */
static uint32_t bin_of(uint32_t size)
{
    uint32_t log = osc_cached_log2(size), bin;

    if (log < 2) {
        return size;
    }
    bin = 4 * (log - 1) + (size >> (log - 2) & 3);
    return (bin < BINS) ? bin : BINS - 1;
}

void osc_cached_holes_clear(osc_cached_holes_t *holes, osc_cached_holes_kind_t kind)
{
    osc_cached_avl_clear(&holes->tree);
    holes->kind = kind;
    holes->count = 0;
    holes->map = 0;
    for (uint32_t bin = 0; bin < BINS; ++bin) {
        holes->first[bin] = NONE;
    }
}

void osc_cached_holes_add(osc_cached_holes_t *holes, uint32_t index)
{
    node_t *node = at(holes, index);
    uint32_t bin;

    ++holes->count;
    if (OSC_CACHED_HOLES_BEST_FIT == holes->kind) {
        (void) osc_cached_avl_insert(&holes->tree, index);
        return;
    }
    bin = bin_of(node->size);
    node->child[0] = NONE;
    node->child[1] = holes->first[bin];
    if (NONE != node->child[1]) {
        at(holes, node->child[1])->child[0] = index;
    }
    holes->first[bin] = index;
    holes->map |= UINT64_C(1) << bin;
}

void osc_cached_holes_remove(osc_cached_holes_t *holes, uint32_t index)
{
    const node_t *node = at(holes, index);
    uint32_t bin;

    --holes->count;
    if (OSC_CACHED_HOLES_BEST_FIT == holes->kind) {
        (void) osc_cached_avl_remove(&holes->tree, index);
        return;
    }
    if (NONE != node->child[1]) {
        at(holes, node->child[1])->child[0] = node->child[0];
    }
    if (NONE != node->child[0]) {
        at(holes, node->child[0])->child[1] = node->child[1];
        return;
    }
    bin = bin_of(node->size);
    holes->first[bin] = node->child[1];
    if (NONE == node->child[1]) {
        holes->map &= ~(UINT64_C(1) << bin);
    }
}

void osc_cached_holes_cut(osc_cached_holes_t *holes, uint32_t index, uint32_t units)
{
    node_t *node = at(holes, index);
    bool moves = OSC_CACHED_HOLES_BEST_FIT == holes->kind
                 || bin_of(node->size) != bin_of(node->size - units);

    if (moves) {
        osc_cached_holes_remove(holes, index);
    }
    node->size -= units;
    node->address += units;
    if (moves) {
        osc_cached_holes_add(holes, index);
    }
}

uint32_t osc_cached_holes_find(const osc_cached_holes_t *holes, uint32_t size)
{
    uint32_t bin, index;
    uint64_t larger;

    if (OSC_CACHED_HOLES_BEST_FIT == holes->kind) {
        return osc_cached_avl_lower_bound(&holes->tree, size, 0);
    }
    bin = bin_of(size);
    /* all holes of a bin are as large as the smallest that belongs there */
    larger = holes->map & (~UINT64_C(0) << bin);
    if (bin == BINS - 1 || (1 < size && bin_of(size - 1) == bin)) {
        larger &= ~(UINT64_C(1) << bin);
    }
    if (0 != larger) {
        return holes->first[osc_cached_lowest_bit(larger)];
    }
    index = holes->first[bin];
    for (int i = 0; i < OSC_CACHED_HOLES_SCAN && NONE != index; ++i) {
        if (size <= at(holes, index)->size) {
            return index;
        }
        index = at(holes, index)->child[1];
    }
    return NONE;
}

int osc_cached_holes_verify(const osc_cached_holes_t *holes)
{
    uint32_t count = 0;

    if (OSC_CACHED_HOLES_BEST_FIT == holes->kind) {
        return (holes->count != holes->tree.count || 0 != osc_cached_avl_verify(&holes->tree));
    }
    for (uint32_t bin = 0; bin < BINS; ++bin) {
        uint32_t before = NONE;

        for (uint32_t i = holes->first[bin]; NONE != i; before = i, i = at(holes, i)->child[1]) {
            if (holes->tree.capacity <= i || at(holes, i)->child[0] != before
                || holes->count < ++count) {
                return 2;
            }
            if (0 == at(holes, i)->size || bin_of(at(holes, i)->size) != bin) {
                return 3;
            }
        }
        if ((NONE != holes->first[bin]) != (holes->map >> bin & 1)) {
            return 4;
        }
    }
    return (count == holes->count) ? 0 : 2;
}
