/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The heater of this process: where it may run, when it starts, pauses and ends.
 *
 * Each process tells the others where it may run (a list of processors, through the modex), so that
 * a heater takes nobody's processor. What the launcher did not bind, but somebody else did
 * (taskset, a batch system), stays within that: the rest of the machine may belong to others.
 */
#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/hwloc/base/base.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
#include "ompi/constants.h"
#include "ompi/proc/proc.h"
#if OMPI_MAJOR_VERSION < 5
#include "opal/mca/pmix/pmix.h"
#define MODEX_LOCAL OPAL_PMIX_LOCAL
/* ompi_rte_proc_is_bound is also true for what others have bound */
#define BOUND_BY_LAUNCHER (NULL != getenv("OMPI_MCA_orte_bound_at_launch"))
#else
#include "opal/mca/pmix/pmix-internal.h"
#include "ompi/runtime/ompi_rte.h"
#define MODEX_LOCAL PMIX_LOCAL
#define BOUND_BY_LAUNCHER opal_process_info.proc_is_bound
#endif

#include "llamatch_cores.h"
#include "pml_llamatch_glue.h"

/* When the size of the shared cache is not known. */
#define MAX_BYTES ((size_t) 1024 * 1024)

#define HELP_WIDTH 72

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static llamatch_heater_t *heater; /* NULL: none */
static llamatch_hot_t hot;
llamatch_hot_t *mca_pml_llamatch_hot;
static int num_pauses;

/* --- where ---------------------------------------------------------------------------------- */

/* @return the processors that this process may run on, or NULL; to be freed */
static hwloc_bitmap_t my_processors(void)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    if (NULL != set
        && (OPAL_SUCCESS != opal_hwloc_base_get_topology()
            || 0 > hwloc_get_cpubind(opal_hwloc_topology, set, HWLOC_CPUBIND_PROCESS)
            || hwloc_bitmap_iszero(set))) {
        hwloc_bitmap_free(set);
        set = NULL;
    }
    return set;
}

void mca_pml_llamatch_heater_publish(void)
{
    hwloc_bitmap_t mine;
    char *list = NULL;
    int rc;

    if (LLAMATCH_HEATER_OFF == mca_pml_llamatch_tuning.heater) {
        return;
    }
    mine = my_processors();
    if (NULL != mine && 0 <= hwloc_bitmap_list_asprintf(&list, mine)) {
        OPAL_MODEX_SEND(rc, MODEX_LOCAL, &mca_pml_llamatch_component.pmlm_version, list,
                        strlen(list) + 1);
        (void) rc; /* who does not find it takes everything for used */
        free(list);
    }
    hwloc_bitmap_free(mine);
}

/* Add what another process may run on. @return false when that is not known */
static bool add_processors(ompi_proc_t *proc, hwloc_bitmap_t used)
{
    hwloc_bitmap_t theirs = hwloc_bitmap_alloc();
    uint8_t *list = NULL;
    size_t size = 0;
    bool known = false;
    int rc;

    OPAL_MODEX_RECV(rc, &mca_pml_llamatch_component.pmlm_version, &proc->super.proc_name, &list,
                    &size);
    if (NULL != theirs && OPAL_SUCCESS == rc && 0 < size && '\0' == list[size - 1]
        && 0 == hwloc_bitmap_list_sscanf(theirs, (const char *) list)) {
        known = 0 == hwloc_bitmap_or(used, used, theirs);
    }
    if (0 < size) {
        free(list);
    }
    hwloc_bitmap_free(theirs);
    return known;
}

/* @return what the other processes of this node use, or NULL without memory; to be freed */
static hwloc_bitmap_t used_processors(void)
{
    hwloc_bitmap_t used = hwloc_bitmap_alloc();
    ompi_proc_t **procs;
    size_t count = 0;

    procs = ompi_proc_get_allocated(&count);
    if (NULL != used && NULL == procs) {
        hwloc_bitmap_fill(used);
    }
    for (size_t i = 0; NULL != procs && i < count; ++i) {
        if (NULL != used && ompi_proc_local() != procs[i]
            && OPAL_PROC_ON_LOCAL_NODE(procs[i]->super.proc_flags)
            && !add_processors(procs[i], used)) {
            hwloc_bitmap_fill(used);
        }
    }
    free(procs);
    return used;
}

static void choose(llamatch_cores_choice_t *choice)
{
    hwloc_bitmap_t mine = my_processors(), used = used_processors();
    llamatch_cores_input_t input = {.topology = opal_hwloc_topology,
                                    .mine = mine,
                                    .used = used,
                                    .turn = (unsigned) opal_process_info.my_local_rank,
                                    .has_cldemote = llamatch_cores_has_cldemote()};

    memset(choice, 0, sizeof(*choice));
    if (NULL == mine) {
        choice->reason = LLAMATCH_CORES_NO_TOPOLOGY;
    } else if (NULL == used) {
        choice->reason = LLAMATCH_CORES_NO_MEMORY;
    } else {
        if (!BOUND_BY_LAUNCHER) {
            input.allowed = mine;
            if (hwloc_bitmap_isequal(mine, hwloc_topology_get_allowed_cpuset(input.topology))) {
                input.mine = NULL;
                input.allowed = NULL;
            }
        }
        if (LLAMATCH_HEATER_FORCE == mca_pml_llamatch_tuning.heater) {
            input.wish = LLAMATCH_CORES_FORCE;
        }
        if (0 <= mca_pml_llamatch_tuning.heater_cpu) {
            input.wish = LLAMATCH_CORES_PU;
            input.pu = (unsigned) mca_pml_llamatch_tuning.heater_cpu;
        }
        llamatch_cores_choose(&input, choice);
    }
    hwloc_bitmap_free(mine);
    hwloc_bitmap_free(used);
}

/* --- when ----------------------------------------------------------------------------------- */

static void stay_off(const char *why)
{
    char lines[512];
    size_t start = 0, space = 0; /* of the line, in it */

    /* as wide as the rest of the help text */
    snprintf(lines, sizeof(lines), "%s", why);
    for (size_t i = 0; '\0' != lines[i]; ++i) {
        if (' ' == lines[i]) {
            space = i;
        } else if (HELP_WIDTH <= i - start && start < space) {
            lines[space] = '\n';
            start = space + 1;
        }
    }
    opal_show_help(LLAMATCH_HELP_FILE, "heater_off", true, lines, mca_pml_llamatch_host());
}

void mca_pml_llamatch_heater_start(void)
{
    llamatch_cores_choice_t choice;
    llamatch_cores_place_t place;
    llamatch_heater_config_t config = {
        .period_ns = (uint64_t) mca_pml_llamatch_tuning.heater_period,
        .max_bytes = (size_t) mca_pml_llamatch_tuning.heater_max_bytes,
        .begin = llamatch_cores_bind,
        .context = &place,
        .pool = mca_pml_llamatch_pool,
        .hot = &hot};
    llamatch_heater_t *started = NULL;

    if (LLAMATCH_HEATER_OFF == mca_pml_llamatch_tuning.heater) {
        return;
    }
    choose(&choice);
    if (!choice.start) {
        stay_off(llamatch_cores_reason_text(choice.reason));
        return;
    }
    place.topology = opal_hwloc_topology;
    place.pu = choice.pu;
    config.how = choice.how;
    if (0 == config.max_bytes) {
        config.max_bytes = (0 == choice.cache_bytes) ? MAX_BYTES : choice.cache_bytes / 2;
    }
    if (LLAMATCH_OK != llamatch_heater_create(&config, NULL, &started)) {
        stay_off("The system gave no thread for it, or did not bind the thread.");
        return;
    }
    mca_pml_llamatch_hot = &hot;
    opal_mutex_lock(&lock);
    if (0 < num_pauses) {
        llamatch_heater_pause(started);
    }
    heater = started;
    opal_mutex_unlock(&lock);
}

void mca_pml_llamatch_heater_stop(void)
{
    llamatch_heater_t *stopped;

    opal_mutex_lock(&lock);
    stopped = heater;
    heater = NULL;
    opal_mutex_unlock(&lock);
    mca_pml_llamatch_hot = NULL;
    llamatch_heater_destroy(stopped);
}

void mca_pml_llamatch_heater_pause(bool pause)
{
    opal_mutex_lock(&lock);
    num_pauses += pause ? 1 : -1;
    if (NULL != heater) {
        if (pause && 1 == num_pauses) {
            llamatch_heater_pause(heater);
        } else if (!pause && 0 == num_pauses) {
            llamatch_heater_resume(heater);
        }
    }
    opal_mutex_unlock(&lock);
}

mca_pml_llamatch_heater_state_t mca_pml_llamatch_heater_stats(llamatch_heater_stats_t *stats)
{
    mca_pml_llamatch_heater_state_t state = LLAMATCH_HEATER_NONE;

    memset(stats, 0, sizeof(*stats));
    opal_mutex_lock(&lock);
    if (NULL != heater) {
        llamatch_heater_stats(heater, stats);
        state = stats->paused        ? LLAMATCH_HEATER_PAUSED
                : stats->self_paused ? LLAMATCH_HEATER_IDLE
                                     : LLAMATCH_HEATER_RUNS;
    }
    opal_mutex_unlock(&lock);
    return state;
}
