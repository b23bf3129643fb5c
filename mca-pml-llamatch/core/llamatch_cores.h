/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * On which processor should the heater run, and how should it heat?
 *
 * A heater helps when it shares a cache with its rank, and harms when it takes a processor from
 * somebody. From a topology, bindings and a wish this decides, without side effects, for a PU
 * (hwloc's word for what the system calls a processor: a core, or a hardware thread of one):
 *
 *  1. PUs that other local ranks are bound to are out, and so is the rank's own one if it has only
 *     one. The other hardware thread of the rank's own core counts as free: a rank bound to a core
 *     has it to itself.
 *  2. Of the others, the one that shares the deepest cache with the whole of the rank's binding
 *     wins: the hardware thread beside it (L1) before a neighbour core (L2 or L3). Among equals,
 *     one outside of the binding, then one whose core nobody else uses, then the first.
 *  3. A core has one heater at most: the ranks of a node choose in their order, and each knows what
 *     those before it chose, because it knows their bindings.
 *  4. Heating is reading. A last-level cache that does not include what the cores' own caches hold
 *     (Intel since Skylake-SP, AMD) does not get a line that another core reads: there the line is
 *     demoted after the load (CLDEMOTE) where the processor can. Where it cannot, it is only read:
 *     then the rank finds the line in the caches of the heater's core, still before memory.
 *     Unless the topology tells (the attribute "Inclusive", x86 only), a plain load is used.
 *
 * A heater does not start when the rank is not bound (there is no place near to it), or when
 * nothing is free: llamatch_cores_choice_t::reason tells. A PU that the user named is taken as it
 * is, if it exists and is allowed. With LLAMATCH_CORES_FORCE it starts whatever happens: near to
 * the rank and at somebody's cost, or unbound when the rank is.
 *
 * osc/cached places its helper thread with the same code (LLAMATCH_CORES_SPARE). A helper works for
 * other ranks: a core that nobody runs on is better than a hardware thread beside a rank, only then
 * the nearest one wins, and it is good without a shared cache, too. The rank's own PUs are out.
 */
#ifndef LLAMATCH_CORES_H
#define LLAMATCH_CORES_H

#include "llamatch_touch.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>

/** What the user wants. */
typedef enum {
    LLAMATCH_CORES_AUTO = 0, /**< start where it helps */
    LLAMATCH_CORES_PU,       /**< start on this PU */
    LLAMATCH_CORES_FORCE,    /**< start in any case */
    LLAMATCH_CORES_SPARE     /**< start where no rank runs, near or far */
} llamatch_cores_wish_t;

/** Why a heater does not start, or started only because the user insisted. */
typedef enum {
    LLAMATCH_CORES_OK = 0,
    LLAMATCH_CORES_UNBOUND,
    LLAMATCH_CORES_ONE_PU,
    LLAMATCH_CORES_NONE_FREE,
    LLAMATCH_CORES_NO_SHARED_CACHE,
    LLAMATCH_CORES_NO_SUCH_PU,
    LLAMATCH_CORES_NOT_ALLOWED,
    LLAMATCH_CORES_NO_TOPOLOGY,
    LLAMATCH_CORES_NO_MEMORY
} llamatch_cores_reason_t;

typedef struct llamatch_cores_input {
    hwloc_topology_t topology; /**< only read */
    /** Bindings of the ranks on this node; NULL: not known, or not bound. */
    const hwloc_const_cpuset_t *ranks;
    unsigned num_ranks;
    unsigned me;   /**< which of them is this one */
    bool confined; /**< only PUs of the own binding are allowed; else what the topology says */
    llamatch_cores_wish_t wish;
    unsigned pu;       /**< for LLAMATCH_CORES_PU: number that the system gives it */
    bool has_cldemote; /**< llamatch_cores_has_cldemote() */
} llamatch_cores_input_t;

typedef struct llamatch_cores_choice {
    bool start;                     /**< shall there be a heater? */
    llamatch_cores_reason_t reason; /**< why not; with FORCE also what is against it */
    int pu;                         /**< number that the system gives it; -1: not bound */
    unsigned cache_level;           /**< of the cache shared with the rank; 0: none */
    size_t cache_bytes;             /**< of that cache; 0: none, or not known */
    unsigned sharers;               /**< ranks that run on its processors, this one too */
    llamatch_heat_t how;
} llamatch_cores_choice_t;

/** Decide. Every field of @p choice is set. */
void llamatch_cores_choose(const llamatch_cores_input_t *input, llamatch_cores_choice_t *choice);

/** One sentence about a reason, with what to do. */
const char *llamatch_cores_reason_text(llamatch_cores_reason_t reason);

/**
 * The processors that this process may run on.
 *
 * @param topology  of an Open MPI that may have another hwloc inside
 * @return NULL: not known, or no memory; to be freed
 */
hwloc_bitmap_t llamatch_cores_mine(hwloc_topology_t topology);

/** Can the processor that this runs on demote a line to the shared cache? */
bool llamatch_cores_has_cldemote(void);

/** For llamatch_cores_bind. */
typedef struct llamatch_cores_place {
    hwloc_topology_t topology;
    int pu; /**< -1: leave the thread as it is */
} llamatch_cores_place_t;

/**
 * Bind the calling thread; to be used as llamatch_heater_config_t::begin.
 *
 * @param place  a llamatch_cores_place_t
 * @return 0, or -1 when the system refuses, or when the topology is of another machine
 */
int llamatch_cores_bind(void *place);

#endif /* LLAMATCH_CORES_H */
