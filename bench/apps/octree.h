/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One octree over the bodies of all processes.
 *
 * The cube around all bodies is cut into eight, again and again.  A body's key (Morton order) has
 * three bits for each cut, the first one on top, so a cell is a range of the sorted keys.  The tree
 * depends on the bodies only, never on who owns them: all cells of the upper levels are cut, and
 * from OCTREE_BRANCH_LEVEL on a cell is cut if it has more bodies than a leaf may have.
 *
 *     level 0 .. OCTREE_BRANCH_LEVEL    the top: every process has all of these cells
 *     deeper levels, and the points     in the memory of the process that owns the branch
 *
 * A process owns successive branches (cells of OCTREE_BRANCH_LEVEL).  Its memory, which others may
 * read, is an array of points followed by an array of cells:
 *
 *     | point 0 | point 1 | ... | cell 0 | cell 1 | ...      (the children of a cell side by side)
 */
#ifndef OMPI_LOCALITY_OCTREE_H
#define OMPI_LOCALITY_OCTREE_H

#include "app.h"
#include <math.h>

#define OCTREE_BITS 21 /* of a key, for each of x, y, z: the deepest level */
#define OCTREE_BRANCH_LEVEL 3
#define OCTREE_BRANCHES (1 << 3 * OCTREE_BRANCH_LEVEL)
#define OCTREE_FIRST_BRANCH (OCTREE_BRANCHES / 7) /* 1 + 8 + 64 + ...: cells above the branches */
#define OCTREE_LEAF_BODIES 8
#define OCTREE_TOP (-1) /* the owner of what every process has */

typedef struct {
    double position[3], velocity[3], mass;
    uint64_t key, number;
} body_t;

/* What others need to know about a body */
typedef struct {
    double position[3], mass;
} point_t;

/* 64 bytes, so that a get of one touches one line of the target's cache */
typedef struct {
    double center[3]; /* of mass */
    double mass;
    double edge;
    int64_t place;    /* first child or first point: bytes from the begin of the owner's memory */
    int32_t owner;    /* whose memory the children or points are in */
    int32_t children; /* 0: it is a leaf */
    int64_t bodies;   /* in it and all cells below */
} cell_t;
_Static_assert(64 == sizeof(cell_t), "gets of cells fill whole lines");

typedef struct {
    char *memory; /* of this process: points, then cells */
    int64_t room, used;
    double edge; /* of the whole cube, in the middle of which is the origin */
    int32_t owner[OCTREE_BRANCHES];
    cell_t top[OCTREE_FIRST_BRANCH + OCTREE_BRANCHES]; /* the children of i: 8 i + 1 .. 8 i + 8 */
} octree_t;

/* Where the cells begin in the memory of a process with so many bodies */
static int64_t octree_first_cell(int64_t bodies)
{
    int64_t points = bodies * (int64_t) sizeof(point_t), cell = (int64_t) sizeof(cell_t);

    return (points + cell - 1) / cell * cell;
}

/* Bytes of memory for at most so many bodies.  Real trees have about half as many cells as bodies.
 */
static int64_t octree_room(int64_t bodies)
{
    return bodies * (int64_t) (sizeof(point_t) + sizeof(cell_t)) + 4096;
}

static uint64_t octree_key(const octree_t *tree, const double *position)
{
    const double places = 1 << OCTREE_BITS;
    uint64_t key = 0, at[3];

    for (int d = 0; d < 3; ++d) {
        double place = (position[d] / tree->edge + 0.5) * places;
        at[d] = (uint64_t) (place < 0 ? 0 : place > places - 1 ? places - 1 : place);
    }
    for (int bit = OCTREE_BITS - 1; 0 <= bit; --bit) {
        key = key << 3 | (at[0] >> bit & 1) << 2 | (at[1] >> bit & 1) << 1 | (at[2] >> bit & 1);
    }
    return key;
}

static int octree_branch(uint64_t key)
{
    return (int) (key >> 3 * (OCTREE_BITS - OCTREE_BRANCH_LEVEL));
}

/* Give each process successive branches with about the same number of bodies. */
static void octree_share(octree_t *tree, const int64_t *bodies_of_branch, int processes)
{
    int64_t all = 0, before = 0;

    for (int b = 0; b < OCTREE_BRANCHES; ++b) {
        all += bodies_of_branch[b];
    }
    for (int b = 0; b < OCTREE_BRANCHES; ++b) {
        int64_t middle = before + bodies_of_branch[b] / 2;
        int64_t owner = middle * processes / (0 < all ? all : 1);

        tree->owner[b] = (int32_t) (owner < processes ? owner : processes - 1);
        before += bodies_of_branch[b];
    }
}

/* One process' share of the tree while it is built */
typedef struct {
    octree_t *tree;
    const body_t *bodies; /* sorted by key */
    int32_t rank;
} octree_builder_t;

static void octree_add_mass(cell_t *cell, const double *center, double mass)
{
    for (int d = 0; d < 3; ++d) {
        cell->center[d] += mass * center[d];
    }
    cell->mass += mass;
}

static void octree_finish_mass(cell_t *cell)
{
    for (int d = 0; d < 3; ++d) {
        cell->center[d] /= cell->mass;
    }
}

/* The cell of the bodies begin .. end - 1, and all cells below it. */
static void octree_build_cell(octree_builder_t *builder, cell_t *cell, int64_t begin, int64_t end,
                              int level)
{
    octree_t *tree = builder->tree;
    int64_t part[9] = {begin};
    int shift = 3 * (OCTREE_BITS - 1 - level);

    *cell =
        (cell_t){.edge = ldexp(tree->edge, -level), .owner = builder->rank, .bodies = end - begin};
    if (end - begin <= OCTREE_LEAF_BODIES || OCTREE_BITS == level) {
        cell->place = begin * (int64_t) sizeof(point_t);
        for (int64_t i = begin; i < end; ++i) {
            octree_add_mass(cell, builder->bodies[i].position, builder->bodies[i].mass);
        }
        octree_finish_mass(cell);
        return;
    }
    for (int child = 0; child < 8; ++child) {
        int64_t i = part[child];
        while (i < end && (int) (builder->bodies[i].key >> shift & 7) == child) {
            ++i;
        }
        part[child + 1] = i;
        cell->children += part[child] < i;
    }
    cell->place = tree->used;
    tree->used += cell->children * (int64_t) sizeof(cell_t);
    if (tree->used > tree->room) {
        app_die("too many cells: many bodies are at nearly the same place", NULL);
    }
    cell_t *next = (cell_t *) (tree->memory + cell->place);
    for (int child = 0; child < 8; ++child) {
        if (part[child] < part[child + 1]) {
            octree_build_cell(builder, next, part[child], part[child + 1], level + 1);
            octree_add_mass(cell, next->center, next->mass);
            ++next;
        }
    }
    octree_finish_mass(cell);
}

/* This process' points, cells and branches, from its bodies sorted by key. */
static void octree_build(octree_t *tree, const body_t *bodies, int64_t count, int rank)
{
    octree_builder_t builder = {tree, bodies, rank};
    point_t *points = (point_t *) tree->memory;
    int64_t begin = 0, end;

    tree->used = octree_first_cell(count);
    if (tree->used > tree->room) {
        app_die("too many bodies in one part of space for one process", NULL);
    }
    for (int64_t i = 0; i < count; ++i) {
        memcpy(points[i].position, bodies[i].position, sizeof(points[i].position));
        points[i].mass = bodies[i].mass;
    }
    for (int b = 0; b < OCTREE_BRANCHES; ++b) {
        if (rank != tree->owner[b]) {
            continue;
        }
        for (end = begin; end < count && octree_branch(bodies[end].key) == b; ++end) {
        }
        cell_t *branch = &tree->top[OCTREE_FIRST_BRANCH + b];
        if (begin < end) {
            octree_build_cell(&builder, branch, begin, end, OCTREE_BRANCH_LEVEL);
        } else {
            *branch = (cell_t){.owner = rank};
        }
        begin = end;
    }
}

static void octree_build_top_cell(octree_t *tree, int i, int level)
{
    cell_t *cell = &tree->top[i];

    *cell = (cell_t){.edge = ldexp(tree->edge, -level),
                     .place = (8 * i + 1) * (int64_t) sizeof(cell_t),
                     .owner = OCTREE_TOP,
                     .children = 8};
    for (const cell_t *child = cell + 7 * i + 1; child <= cell + 7 * i + 8; ++child) {
        if (0 < child->bodies) {
            octree_add_mass(cell, child->center, child->mass);
            cell->bodies += child->bodies;
        }
    }
    if (0 < cell->bodies) {
        octree_finish_mass(cell);
    }
}

/* The cells above the branches, once the branches of all processes are there. */
static void octree_build_top(octree_t *tree)
{
    for (int level = OCTREE_BRANCH_LEVEL - 1; 0 <= level; --level) {
        int cells = 1 << 3 * level, first = cells / 7;

        for (int i = first; i < first + cells; ++i) {
            octree_build_top_cell(tree, i, level);
        }
    }
}

#endif
