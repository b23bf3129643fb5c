/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Where the heater runs: see the header for the rules.
 */
#include "llamatch_cores.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Lines of at most 72 characters, as those of help texts. */
static const char *const reason_texts[] = {
    [LLAMATCH_CORES_OK] = "A processor that shares a cache with this process is free.",
    [LLAMATCH_CORES_UNBOUND] =
        "This process is not bound to a part of the machine, so no processor is\n"
        "near to it: run with --bind-to core.",
    [LLAMATCH_CORES_ONE_PU] = "There is only one processor that this process may use.",
    [LLAMATCH_CORES_NONE_FREE] =
        "Every processor that this process may use is taken by a process of the\n"
        "job or its heater: leave one core per process free, for example with\n"
        "--map-by slot:PE=2 --bind-to core, or start fewer processes.",
    [LLAMATCH_CORES_NO_SHARED_CACHE] =
        "No free processor shares a cache with this process: leave a core of the\n"
        "same socket free.",
    [LLAMATCH_CORES_NO_SUCH_PU] = "This machine has no processor of the number that was given.",
    [LLAMATCH_CORES_NOT_ALLOWED] = "This process may not use the processor that was given.",
    [LLAMATCH_CORES_NO_TOPOLOGY] =
        "hwloc does not tell which processors there are, or which of them this\n"
        "process may use.",
    [LLAMATCH_CORES_NO_MEMORY] = "There is not enough memory to look for a processor.",
};

const char *llamatch_cores_reason_text(llamatch_cores_reason_t reason)
{
    return reason_texts[reason];
}

bool llamatch_cores_has_cldemote(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && 0 != (c & 1U << 25);
#else
    return false;
#endif
}

hwloc_bitmap_t llamatch_cores_mine(hwloc_topology_t topology)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    if (NULL != set
        && (0 != hwloc_topology_abi_check(topology)
            || 0 != hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS)
            || hwloc_bitmap_iszero(set))) {
        hwloc_bitmap_free(set);
        set = NULL;
    }
    return set;
}

int llamatch_cores_bind(void *place)
{
    const llamatch_cores_place_t *p = place;
    hwloc_obj_t pu;

    if (p->pu < 0) {
        return 0;
    }
    /* hwloc only pretends to bind with the topology of another machine. */
    pu = hwloc_get_pu_obj_by_os_index(p->topology, (unsigned) p->pu);
    if (NULL == pu || !hwloc_topology_is_thissystem(p->topology)) {
        return -1;
    }
    return (0 == hwloc_set_cpubind(p->topology, pu->cpuset, HWLOC_CPUBIND_THREAD)) ? 0 : -1;
}

/* What is known about one rank while it chooses. */
typedef struct {
    hwloc_topology_t topology;
    hwloc_const_cpuset_t mine; /* NULL: not bound */
    hwloc_const_cpuset_t allowed;
    hwloc_cpuset_t used;  /* by other ranks */
    hwloc_cpuset_t taken; /* cores of heaters of the ranks before */
    hwloc_cpuset_t free;  /* what is left */
    bool spare;           /* LLAMATCH_CORES_SPARE */
} rank_t;

/* The smallest part of the machine that has the whole of the rank's binding and this PU. */
static hwloc_obj_t shared_part(const rank_t *rank, hwloc_obj_t pu)
{
    hwloc_obj_t obj =
        (NULL == rank->mine) ? NULL : hwloc_get_obj_covering_cpuset(rank->topology, rank->mine);

    while (NULL != obj && !hwloc_bitmap_isincluded(pu->cpuset, obj->cpuset)) {
        obj = obj->parent;
    }
    return obj;
}

/* The smallest cache that serves them. */
static hwloc_obj_t shared_cache(const rank_t *rank, hwloc_obj_t pu)
{
    hwloc_obj_t obj = shared_part(rank, pu);

    while (NULL != obj && !hwloc_obj_type_is_dcache(obj->type)) {
        obj = obj->parent;
    }
    return obj;
}

/* Does the topology tell that a cache does not hold all that the caches below it hold? */
static bool is_not_inclusive(hwloc_obj_t cache)
{
    const char *text = hwloc_obj_get_info_by_name(cache, "Inclusive");

    return NULL != text && 0 == strcmp(text, "0");
}

/* @return the PU itself when the topology tells of no cores */
static hwloc_obj_t core_of(hwloc_topology_t topology, hwloc_obj_t pu)
{
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);

    return (NULL == core) ? pu : core;
}

/* How good a PU is; 0: it shares no cache. */
static unsigned worth(const rank_t *rank, hwloc_obj_t pu)
{
    enum { DEEPER = 1000 }; /* than any topology */
    hwloc_obj_t cache = shared_cache(rank, pu);
    hwloc_obj_t core = core_of(rank->topology, pu);

    if (rank->spare) {
        hwloc_obj_t part = shared_part(rank, pu); /* NULL: another process sees other processors */
        bool idle = !hwloc_bitmap_intersects(core->cpuset, rank->used)
                    && !hwloc_bitmap_intersects(core->cpuset, rank->mine);

        return DEEPER * idle + ((NULL == part) ? 0 : (unsigned) part->depth) + 1;
    }
    if (NULL == cache) {
        return 0;
    }
    return 4 * ((unsigned) cache->depth + 1) + 2 * !hwloc_bitmap_intersects(pu->cpuset, rank->mine)
           + !hwloc_bitmap_intersects(core->cpuset, rank->used);
}

/* The best of these PUs. @return NULL when none shares a cache */
static hwloc_obj_t best_of(const rank_t *rank, hwloc_const_cpuset_t set)
{
    hwloc_obj_t pu = NULL, best = NULL;
    unsigned most = 0;

    while (
        NULL
        != (pu = hwloc_get_next_obj_inside_cpuset_by_type(rank->topology, set, HWLOC_OBJ_PU, pu))) {
        unsigned w = worth(rank, pu);

        if (w > most) {
            most = w;
            best = pu;
        }
    }
    return best;
}

/* Fill in what follows from the PU. */
static void describe(const llamatch_cores_input_t *input, const rank_t *rank, hwloc_obj_t pu,
                     llamatch_cores_choice_t *choice)
{
    hwloc_obj_t cache = shared_cache(rank, pu);

    choice->start = true;
    choice->pu = (int) pu->os_index;
    if (NULL != cache) {
        choice->cache_level = cache->attr->cache.depth;
        choice->cache_bytes = (size_t) cache->attr->cache.size;
        choice->sharers = 0;
        for (unsigned i = 0; i < input->num_ranks; ++i) {
            choice->sharers +=
                NULL == input->ranks[i] || hwloc_bitmap_intersects(input->ranks[i], cache->cpuset);
        }
    }
    /* A shared L1 or L2 gets what another of its processors loads, inclusive or not. */
    if (3 <= choice->cache_level && input->has_cldemote && is_not_inclusive(cache)) {
        choice->how = LLAMATCH_HEAT_LOAD_DEMOTE;
    }
}

static void choose_named(const llamatch_cores_input_t *input, const rank_t *rank,
                         llamatch_cores_choice_t *choice)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(input->topology, input->pu);

    if (NULL == pu) {
        choice->reason = LLAMATCH_CORES_NO_SUCH_PU;
    } else if (!hwloc_bitmap_isset(rank->allowed, input->pu)) {
        choice->reason = LLAMATCH_CORES_NOT_ALLOWED;
    } else {
        describe(input, rank, pu, choice);
    }
}

/* What this rank has to know before it chooses. */
static void look_at(const llamatch_cores_input_t *input, unsigned number, rank_t *rank)
{
    rank->mine = input->ranks[number];
    rank->allowed = (input->confined && NULL != rank->mine)
                        ? rank->mine
                        : hwloc_topology_get_allowed_cpuset(input->topology);
    hwloc_bitmap_zero(rank->used);
    for (unsigned i = 0; i < input->num_ranks; ++i) {
        if (i != number && NULL == input->ranks[i]) {
            hwloc_bitmap_fill(rank->used);
        } else if (i != number) {
            hwloc_bitmap_or(rank->used, rank->used, input->ranks[i]);
        }
    }
    hwloc_bitmap_andnot(rank->free, rank->allowed, rank->used);
    hwloc_bitmap_andnot(rank->free, rank->free, rank->taken);
    if (NULL != rank->mine && (rank->spare || 1 == hwloc_bitmap_weight(rank->mine))) {
        hwloc_bitmap_andnot(rank->free, rank->free, rank->mine);
    }
}

/* The rules, but for a wish. @return NULL: there is no such PU, and why */
static hwloc_obj_t choose_near(const rank_t *rank, llamatch_cores_reason_t *reason)
{
    hwloc_obj_t best = NULL;

    if (hwloc_bitmap_weight(rank->allowed) <= 1) {
        *reason = LLAMATCH_CORES_ONE_PU;
    } else if (NULL == rank->mine || hwloc_bitmap_isincluded(rank->allowed, rank->mine)) {
        *reason = LLAMATCH_CORES_UNBOUND;
    } else if (hwloc_bitmap_iszero(rank->free)) {
        *reason = LLAMATCH_CORES_NONE_FREE;
    } else {
        best = best_of(rank, rank->free);
        *reason = (NULL == best) ? LLAMATCH_CORES_NO_SHARED_CACHE : LLAMATCH_CORES_OK;
    }
    return best;
}

static void choose(const llamatch_cores_input_t *input, rank_t *rank,
                   llamatch_cores_choice_t *choice)
{
    hwloc_obj_t best;

    for (unsigned i = 0; i < input->me && LLAMATCH_CORES_PU != input->wish; ++i) {
        look_at(input, i, rank);
        best = choose_near(rank, &choice->reason);
        if (NULL != best) {
            hwloc_bitmap_or(rank->taken, rank->taken, core_of(input->topology, best)->cpuset);
        }
    }
    look_at(input, input->me, rank);
    choice->reason = LLAMATCH_CORES_OK;
    if (LLAMATCH_CORES_PU == input->wish) {
        choose_named(input, rank, choice);
        return;
    }
    best = choose_near(rank, &choice->reason);
    if (NULL == best && LLAMATCH_CORES_FORCE == input->wish) {
        choice->start = true;
        best = (LLAMATCH_CORES_UNBOUND == choice->reason) ? NULL : best_of(rank, rank->allowed);
    }
    if (NULL != best) {
        describe(input, rank, best, choice);
    }
}

void llamatch_cores_choose(const llamatch_cores_input_t *input, llamatch_cores_choice_t *choice)
{
    static const llamatch_cores_choice_t none = {.pu = -1, .how = LLAMATCH_HEAT_LOAD, .sharers = 1};
    rank_t rank = {.topology = input->topology,
                   .spare = LLAMATCH_CORES_SPARE == input->wish,
                   .used = hwloc_bitmap_alloc(),
                   .taken = hwloc_bitmap_alloc(),
                   .free = hwloc_bitmap_alloc()};

    *choice = none;
    if (NULL == rank.used || NULL == rank.taken || NULL == rank.free) {
        choice->reason = LLAMATCH_CORES_NO_MEMORY;
    } else {
        choose(input, &rank, choice);
    }
    hwloc_bitmap_free(rank.used);
    hwloc_bitmap_free(rank.taken);
    hwloc_bitmap_free(rank.free);
}
