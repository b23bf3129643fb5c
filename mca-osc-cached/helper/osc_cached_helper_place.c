/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "osc_cached_compat.h"
#include "osc_cached_params.h"
#include "osc_cached_helper_place.h"

/* Both directories are in an Open MPI tree, and both in ours; who has only this one has no
 * placement.
 */
#if OSC_CACHED_HWLOC && defined(__has_include)
#if __has_include("llamatch_cores.c")
/* The same source in two components, which may be linked into one library: other names. */
#define llamatch_cores_bind ompi_osc_cached_cores_bind
#define llamatch_cores_choose ompi_osc_cached_cores_choose
#define llamatch_cores_has_cldemote ompi_osc_cached_cores_has_cldemote
#define llamatch_cores_mine ompi_osc_cached_cores_mine
#define llamatch_cores_reason_text ompi_osc_cached_cores_reason_text
#include "llamatch_cores.c"
#endif
#endif

#ifndef LLAMATCH_CORES_H

void ompi_osc_cached_helper_look_around(void)
{
}

const char *ompi_osc_cached_helper_processors(void)
{
    return "";
}

ompi_osc_cached_place_t ompi_osc_cached_helper_place(pthread_t thread,
                                                     const char *const *processors, unsigned count,
                                                     unsigned me)
{
    return OSC_CACHED_PLACE_FIXED;
}

void ompi_osc_cached_helper_move_on(void)
{
}

void ompi_osc_cached_helper_where(pthread_t thread, char *list, size_t bytes)
{
    *list = '\0';
}

#else

#include "opal/mca/hwloc/base/base.h"
#include "opal/util/proc.h"
#include "ompi/constants.h"
#if OMPI_MAJOR_VERSION < 5
/* what others have bound is bound, too, but not by the launcher */
#define BOUND_BY_LAUNCHER (NULL != getenv("OMPI_MCA_orte_bound_at_launch"))
#else
#define BOUND_BY_LAUNCHER opal_process_info.proc_is_bound
#endif

static char mine[4096]; /* processors; "": not known */
static int last = -1;   /* processor that the thread has moved to; -1: that of its process */

const char *ompi_osc_cached_helper_processors(void)
{
    return mine;
}

void ompi_osc_cached_helper_look_around(void)
{
    hwloc_bitmap_t set = (OPAL_SUCCESS == opal_hwloc_base_get_topology())
                             ? llamatch_cores_mine(opal_hwloc_topology)
                             : NULL;

    if (NULL != set && (int) sizeof(mine) <= hwloc_bitmap_list_snprintf(mine, sizeof(mine), set)) {
        mine[0] = '\0';
    }
    hwloc_bitmap_free(set);
}

/* @return NULL: not known; to be freed */
static hwloc_bitmap_t read_list(const char *list)
{
    hwloc_bitmap_t set = ('\0' == *list) ? NULL : hwloc_bitmap_alloc();

    if (NULL != set && 0 != hwloc_bitmap_list_sscanf(set, list)) {
        hwloc_bitmap_free(set);
        set = NULL;
    }
    return set;
}

static void bind_thread(pthread_t thread, hwloc_const_bitmap_t set)
{
    /* hwloc only pretends to bind with the topology of another machine; without it, and where the
     * system refuses, the thread stays where its creator was */
    if (NULL != set && hwloc_topology_is_thissystem(opal_hwloc_topology)) {
        (void) hwloc_set_thread_cpubind(opal_hwloc_topology, thread, set, 0);
    }
}

/* What the user has named is not to be had. */
static void refuse(const llamatch_cores_input_t *input, const llamatch_cores_choice_t *choice)
{
    if (LLAMATCH_CORES_PU == input->wish) {
        opal_show_help("help-mpi-osc-cached.txt", "helper-cpu", true,
                       llamatch_cores_reason_text(choice->reason), opal_process_info.nodename,
                       (int) input->pu);
    }
}

ompi_osc_cached_place_t ompi_osc_cached_helper_place(pthread_t thread,
                                                     const char *const *processors, unsigned count,
                                                     unsigned me)
{
    int cpu = (int) ompi_osc_cached_numbers.helper_cpu;
    hwloc_bitmap_t *sets = calloc(count, sizeof(*sets));
    llamatch_cores_input_t input = {
        .topology = opal_hwloc_topology,
        .ranks = (hwloc_const_cpuset_t *) sets,
        .num_ranks = count,
        .me = me,
        .confined = !BOUND_BY_LAUNCHER,
        .wish = (0 <= cpu) ? LLAMATCH_CORES_PU : LLAMATCH_CORES_SPARE,
        .pu = (unsigned) cpu,
    };
    llamatch_cores_choice_t choice = {.start = false};

    if (NULL == sets || '\0' == mine[0]) { /* no memory, or no topology */
        free(sets);
        return OSC_CACHED_PLACE_FIXED;
    }
    for (unsigned i = 0; i < count; ++i) {
        sets[i] = read_list(processors[i]);
    }
    if (OSC_CACHED_CPU_PROCESS == cpu) {
        bind_thread(thread, sets[me]);
    } else {
        llamatch_cores_choose(&input, &choice);
        if (choice.start) {
            bind_thread(
                thread,
                hwloc_get_pu_obj_by_os_index(opal_hwloc_topology, (unsigned) choice.pu)->cpuset);
        } else {
            refuse(&input, &choice);
            bind_thread(thread, sets[me]);
        }
    }
    for (unsigned i = 0; i < count; ++i) {
        hwloc_bitmap_free(sets[i]);
    }
    free(sets);
    return choice.start                 ? OSC_CACHED_PLACE_OWN
           : OSC_CACHED_CPU_AUTO == cpu ? OSC_CACHED_PLACE_SHARED
                                        : OSC_CACHED_PLACE_FIXED;
}

/* Round robin over all processors that we may use.  What the launcher has not bound, but somebody
 * else, stays within that: the rest of the node may belong to others. */
void ompi_osc_cached_helper_move_on(void)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(opal_hwloc_topology);
    hwloc_bitmap_t own = read_list(mine);

    if (NULL != own) {
        if (0 > last) {
            last = hwloc_bitmap_first(own);
        }
        if (!BOUND_BY_LAUNCHER) {
            allowed = own;
        }
        last = hwloc_bitmap_next(allowed, last);
        if (0 > last) {
            last = hwloc_bitmap_first(allowed);
        }
        hwloc_bitmap_only(own, (unsigned) last);
        bind_thread(pthread_self(), own);
    }
    hwloc_bitmap_free(own);
}

void ompi_osc_cached_helper_where(pthread_t thread, char *list, size_t bytes)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    *list = '\0';
    if (NULL != set && '\0' != mine[0]
        && 0 == hwloc_get_thread_cpubind(opal_hwloc_topology, thread, set, 0)) {
        (void) hwloc_bitmap_list_snprintf(list, bytes, set);
    }
    hwloc_bitmap_free(set);
}

#endif
