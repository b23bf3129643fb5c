/*
 * Datatypes whose layout we know ourselves: packing, unpacking and the bytes a get may touch do not
 * depend on the library under test.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"

enum { VARIANTS = 6, TWICE = VARIANTS, BEFORE = 240 /* a multiple of all disp_units */ };
static const int items_of[] = {1, 2, 3, 4, 6, 8, 12, 24};
enum { GROUPS = sizeof(items_of) / sizeof(items_of[0]) };

const int base_bytes[BASES] = {1, 4, 8};
static MPI_Datatype base_type[BASES];
static struct layout basic[BASES], pool[BASES][GROUPS][VARIANTS + 1];

static void add_block(struct layout *l, size_t at, size_t bytes)
{
    l->block = realloc(l->block, (l->blocks + 1) * sizeof(l->block[0]));
    l->block[l->blocks].at = (uint32_t) at;
    l->block[l->blocks].bytes = (uint32_t) bytes;
    ++l->blocks;
    if (at + bytes > l->span) {
        l->span = at + bytes;
    }
}

static void make_contiguous(struct layout *l, size_t one)
{
    OK(MPI_Type_contiguous(l->items, base_type[l->base], &l->type));
    add_block(l, 0, l->items * one);
    l->extent = l->items * one;
}

static void make_vector(struct layout *l, size_t one, rng_t *rng)
{
    int len = l->items % 3 || rng_chance(rng, 50) ? 1 : 3, n = l->items / len,
        stride = len + (int) rng_below(rng, 4);

    OK(MPI_Type_vector(n, len, stride, base_type[l->base], &l->type));
    for (int i = 0; i < n; ++i) {
        add_block(l, i * stride * one, len * one);
    }
    l->extent = ((n - 1) * stride + len) * one;
}

/* Blocks in any order, with a gap at the front; before the address, or some of them more than once.
 */
static void make_indexed(struct layout *l, size_t one, bool before, bool twice, rng_t *rng)
{
    MPI_Aint bytes[24];
    int len[24], at[24], n = 0, place = (int) rng_below(rng, 4), low;
    size_t end = 0;

    for (int left = l->items; left > 0; ++n) {
        len[n] = 1 + (int) rng_below(rng, left < 5 ? left : 5);
        left -= len[n];
        at[n] = place;
        place += len[n] + (int) rng_below(rng, 4);
    }
    for (int i = n - 1; i > 0; --i) { /* shuffle */
        int j = (int) rng_below(rng, i + 1), t = at[i], u = len[i];
        at[i] = at[j];
        at[j] = t;
        len[i] = len[j];
        len[j] = u;
    }
    for (int i = 1; twice && i < n; i += 2) {
        at[i] = at[i - 1];
    }
    l->before = before ? BEFORE : 0;
    low = at[0];
    for (int i = 0; i < n; ++i) {
        bytes[i] = (MPI_Aint) (at[i] * one) - (MPI_Aint) l->before;
        add_block(l, at[i] * one, len[i] * one);
        low = at[i] < low ? at[i] : low;
        end = (at[i] + len[i]) * one > end ? (at[i] + len[i]) * one : end;
    }
    l->extent = end - low * one;
    if (before) {
        OK(MPI_Type_create_hindexed(n, len, bytes, base_type[l->base], &l->type));
    } else {
        OK(MPI_Type_indexed(n, len, at, base_type[l->base], &l->type));
    }
}

/* One element at a time, far apart: a resized base type or a resized structure. */
static void make_resized(struct layout *l, size_t one, rng_t *rng)
{
    int lens[2] = {l->items - l->items / 2, l->items / 2};
    MPI_Aint at[2] = {0, (lens[0] + 2) * one};
    MPI_Datatype types[2] = {base_type[l->base], base_type[l->base]}, inner;
    MPI_Aint extent = (l->items + 2 + rng_below(rng, 5)) * one;

    OK(MPI_Type_create_struct(lens[1] ? 2 : 1, lens, at, types, &inner));
    OK(MPI_Type_create_resized(inner, -(MPI_Aint) (rng_below(rng, 3) * one), extent, &l->type));
    OK(MPI_Type_free(&inner));
    add_block(l, 0, lens[0] * one);
    if (lens[1]) {
        add_block(l, at[1], lens[1] * one);
    }
    l->extent = extent;
}

static void make_subarray(struct layout *l, size_t one, rng_t *rng)
{
    int rows = l->items % 4 ? 1 : 4, columns = l->items / rows;
    int part[2] = {rows, columns}, first[2], whole[2];

    first[0] = (int) rng_below(rng, 3);
    first[1] = (int) rng_below(rng, 3);
    whole[0] = rows + first[0] + 1;
    whole[1] = columns + first[1] + (int) rng_below(rng, 3);
    OK(MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, base_type[l->base], &l->type));
    for (int r = 0; r < rows; ++r) {
        add_block(l, ((first[0] + r) * whole[1] + first[1]) * one, columns * one);
    }
    l->extent = whole[0] * whole[1] * one;
}

static void make(struct layout *l, int base, int items, int variant, rng_t *rng)
{
    MPI_Aint low, extent;
    size_t one = base_bytes[base];

    memset(l, 0, sizeof(*l));
    l->base = base;
    l->items = items;
    switch (variant) {
    case 0:
        make_contiguous(l, one);
        break;
    case 1:
        make_vector(l, one, rng);
        break;
    case 2:
    case 3:
    case TWICE:
        make_indexed(l, one, 3 == variant, TWICE == variant, rng);
        break;
    case 4:
        make_resized(l, one, rng);
        break;
    default:
        make_subarray(l, one, rng);
    }
    OK(MPI_Type_commit(&l->type));
    OK(MPI_Type_get_extent(l->type, &low, &extent));
    if (extent != (MPI_Aint) l->extent) {
        fprintf(stderr, "rma_fuzz: variant %d, %d items: extent %ld, computed %zu\n", variant,
                items, (long) extent, l->extent);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

void layout_init(void)
{
    rng_t rng = rng_make(FOR_TYPES, 0, 0);

    base_type[BASE_BYTE] = MPI_BYTE;
    base_type[BASE_INT] = MPI_UNSIGNED;
    base_type[BASE_LONG] = MPI_UNSIGNED_LONG;
    for (int b = 0; b < BASES; ++b) {
        basic[b].type = base_type[b];
        basic[b].base = b;
        basic[b].items = 1;
        basic[b].extent = base_bytes[b];
        add_block(&basic[b], 0, base_bytes[b]);
        for (int g = 0; g < GROUPS; ++g) {
            for (int v = 0; v <= VARIANTS; ++v) {
                make(&pool[b][g][v], b, items_of[g], v, &rng);
            }
        }
    }
}

void layout_finish(void)
{
    for (int b = 0; b < BASES; ++b) {
        free(basic[b].block);
        for (int g = 0; g < GROUPS; ++g) {
            for (int v = 0; v <= VARIANTS; ++v) {
                OK(MPI_Type_free(&pool[b][g][v].type));
                free(pool[b][g][v].block);
            }
        }
    }
}

const struct layout *layout_basic(int base)
{
    return &basic[base];
}

const struct layout *layout_pick(rng_t *rng, int base, int items)
{
    for (int try = 0; try < 4; ++try) {
        int g = (int) rng_below(rng, GROUPS);
        if (0 == items % items_of[g]) {
            return &pool[base][g][rng_below(rng, VARIANTS)];
        }
    }
    return &basic[base];
}

const struct layout *layout_any(rng_t *rng, int base, bool twice)
{
    return &pool[base][rng_below(rng, GROUPS)][rng_below(rng, VARIANTS + twice)];
}

size_t layout_bytes(const struct layout *l, int count)
{
    return (size_t) count * l->items * base_bytes[l->base];
}

size_t layout_span(const struct layout *l, int count)
{
    return 0 == count ? 0 : (count - 1) * l->extent + l->span;
}

bool layout_visit(const struct layout *l, int count, bool (*visit)(void *, size_t, size_t),
                  void *arg)
{
    if (1 == l->blocks && l->block[0].bytes == l->extent && 0 < count) {
        return visit(arg, l->block[0].at, count * l->extent);
    }
    for (int i = 0; i < count; ++i) {
        for (int b = 0; b < l->blocks; ++b) {
            if (!visit(arg, i * l->extent + l->block[b].at, l->block[b].bytes)) {
                return false;
            }
        }
    }
    return true;
}

struct copy {
    const uint8_t *from;
    uint8_t *to;
};

static bool pack_block(void *arg, size_t at, size_t bytes)
{
    struct copy *c = arg;

    memcpy(c->to, c->from + at, bytes);
    c->to += bytes;
    return true;
}

static bool unpack_block(void *arg, size_t at, size_t bytes)
{
    struct copy *c = arg;

    memcpy(c->to + at, c->from, bytes);
    c->from += bytes;
    return true;
}

void layout_pack(const struct layout *l, int count, const uint8_t *from, uint8_t *packed)
{
    struct copy c = {from, packed};

    (void) layout_visit(l, count, pack_block, &c);
}

void layout_unpack(const struct layout *l, int count, const uint8_t *packed, uint8_t *to)
{
    struct copy c = {packed, to};

    (void) layout_visit(l, count, unpack_block, &c);
}
