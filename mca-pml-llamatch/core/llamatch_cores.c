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

static const char *const reason_texts[] = {
    [LLAMATCH_CORES_OK] = "A processor that shares a cache with this process is free.",
    [LLAMATCH_CORES_UNBOUND] =
        "This process is not bound to a part of the machine, so no processor "
        "is near to it: run with --bind-to core.",
    [LLAMATCH_CORES_ONE_PU] = "There is only one processor that this process may use.",
    [LLAMATCH_CORES_NONE_FREE] = "Every processor that this process may use is taken by a process "
                                 "of the job: leave one core per process free, for example with "
                                 "--map-by slot:PE=2 --bind-to core, or start fewer processes.",
    [LLAMATCH_CORES_NO_SHARED_CACHE] =
        "No free processor shares a cache with this process: leave a "
        "core of the same socket free.",
    [LLAMATCH_CORES_NO_SUCH_PU] = "This machine has no processor of the number that was given.",
    [LLAMATCH_CORES_NOT_ALLOWED] = "This process may not use the processor that was given.",
    [LLAMATCH_CORES_NO_TOPOLOGY] =
        "hwloc does not tell which processors there are, or which of them this process may use.",
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

/* The smallest cache that serves the whole of the rank's binding and this PU. */
static hwloc_obj_t shared_cache(const llamatch_cores_input_t *input, hwloc_obj_t pu)
{
    hwloc_obj_t obj =
        (NULL == input->mine) ? NULL : hwloc_get_obj_covering_cpuset(input->topology, input->mine);

    while (NULL != obj
           && !(hwloc_obj_type_is_dcache(obj->type)
                && hwloc_bitmap_isincluded(pu->cpuset, obj->cpuset))) {
        obj = obj->parent;
    }
    return obj;
}

static llamatch_cores_inclusive_t inclusive_of(hwloc_obj_t cache)
{
    const char *text = (NULL == cache) ? NULL : hwloc_obj_get_info_by_name(cache, "Inclusive");

    if (NULL == text) {
        return LLAMATCH_CORES_INCLUSIVE_UNKNOWN;
    }
    return (0 == strcmp(text, "0")) ? LLAMATCH_CORES_NOT_INCLUSIVE : LLAMATCH_CORES_INCLUSIVE;
}

static bool intersects(hwloc_const_cpuset_t set, hwloc_const_cpuset_t other)
{
    return NULL != set && NULL != other && hwloc_bitmap_intersects(set, other);
}

/* How good a PU is; 0: it shares no cache. */
static unsigned worth(const llamatch_cores_input_t *input, hwloc_obj_t pu)
{
    hwloc_obj_t cache = shared_cache(input, pu);
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(input->topology, HWLOC_OBJ_CORE, pu);
    bool outside = !intersects(pu->cpuset, input->mine);
    bool undisturbed = NULL == core || !intersects(core->cpuset, input->used);

    if (NULL == cache) {
        return 0;
    }
    return 4 * ((unsigned) cache->depth + 1) + 2 * outside + undisturbed;
}

/* The best of these PUs. @return NULL when none shares a cache */
static hwloc_obj_t best_of(const llamatch_cores_input_t *input, hwloc_const_cpuset_t set)
{
    hwloc_obj_t pu = NULL, best = NULL;
    unsigned most = 1, num_best = 0, turn;

    while (NULL
           != (pu = hwloc_get_next_obj_inside_cpuset_by_type(input->topology, set, HWLOC_OBJ_PU,
                                                             pu))) {
        unsigned w = worth(input, pu);

        if (w > most) {
            most = w;
            num_best = 0;
        }
        num_best += w == most;
    }
    if (0 == num_best) {
        return NULL;
    }
    turn = input->turn % num_best;
    pu = NULL;
    while (NULL
           != (pu = hwloc_get_next_obj_inside_cpuset_by_type(input->topology, set, HWLOC_OBJ_PU,
                                                             pu))) {
        if (worth(input, pu) == most && 0 == turn--) {
            best = pu;
        }
    }
    return best;
}

/* Fill in what follows from the PU. */
static void describe(const llamatch_cores_input_t *input, hwloc_obj_t pu,
                     llamatch_cores_choice_t *choice)
{
    hwloc_obj_t cache = shared_cache(input, pu);

    choice->start = true;
    choice->pu = (int) pu->os_index;
    choice->inside = intersects(pu->cpuset, input->mine);
    choice->inclusive = inclusive_of(cache);
    if (NULL != cache) {
        choice->cache_level = cache->attr->cache.depth;
        choice->cache_bytes = (size_t) cache->attr->cache.size;
    }
    /* A shared L1 or L2 gets what another of its processors loads, inclusive or not. */
    if (3 <= choice->cache_level && LLAMATCH_CORES_NOT_INCLUSIVE == choice->inclusive
        && input->has_cldemote) {
        choice->how = LLAMATCH_HEAT_LOAD_DEMOTE;
    }
}

static void choose_named(const llamatch_cores_input_t *input, hwloc_const_cpuset_t allowed,
                         llamatch_cores_choice_t *choice)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(input->topology, input->pu);

    if (NULL == pu) {
        choice->reason = LLAMATCH_CORES_NO_SUCH_PU;
    } else if (!hwloc_bitmap_isset(allowed, input->pu)) {
        choice->reason = LLAMATCH_CORES_NOT_ALLOWED;
    } else {
        describe(input, pu, choice);
    }
}

/* @param free  a set to work with */
static void choose_near(const llamatch_cores_input_t *input, hwloc_const_cpuset_t allowed,
                        hwloc_cpuset_t free, llamatch_cores_choice_t *choice)
{
    hwloc_obj_t best = NULL;

    hwloc_bitmap_copy(free, allowed);
    if (NULL != input->used) {
        hwloc_bitmap_andnot(free, free, input->used);
    }
    if (NULL != input->mine && 1 == hwloc_bitmap_weight(input->mine)) {
        hwloc_bitmap_andnot(free, free, input->mine);
    }
    if (hwloc_bitmap_weight(allowed) <= 1) {
        choice->reason = LLAMATCH_CORES_ONE_PU;
    } else if (NULL == input->mine || hwloc_bitmap_isincluded(allowed, input->mine)) {
        choice->reason = LLAMATCH_CORES_UNBOUND;
    } else if (hwloc_bitmap_iszero(free)) {
        choice->reason = LLAMATCH_CORES_NONE_FREE;
    } else {
        best = best_of(input, free);
        choice->reason = (NULL == best) ? LLAMATCH_CORES_NO_SHARED_CACHE : LLAMATCH_CORES_OK;
    }
    if (NULL == best && LLAMATCH_CORES_FORCE == input->wish) {
        choice->start = true;
        best = (LLAMATCH_CORES_UNBOUND == choice->reason) ? NULL : best_of(input, allowed);
    }
    if (NULL != best) {
        describe(input, best, choice);
    }
}

void llamatch_cores_choose(const llamatch_cores_input_t *input, llamatch_cores_choice_t *choice)
{
    static const llamatch_cores_choice_t none = {.pu = -1, .how = LLAMATCH_HEAT_LOAD};
    hwloc_const_cpuset_t allowed = (NULL != input->allowed)
                                       ? input->allowed
                                       : hwloc_topology_get_allowed_cpuset(input->topology);
    hwloc_cpuset_t free;

    *choice = none;
    if (LLAMATCH_CORES_PU == input->wish) {
        choose_named(input, allowed, choice);
        return;
    }
    free = hwloc_bitmap_alloc();
    if (NULL == free) {
        choice->reason = LLAMATCH_CORES_NO_MEMORY;
        return;
    }
    choose_near(input, allowed, free, choice);
    hwloc_bitmap_free(free);
}
