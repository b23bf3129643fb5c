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
 * a heater takes nobody's processor, no core has two, and all that share a cache share it. What the
 * launcher did not bind, but somebody else did (taskset, a batch system), stays within that: the
 * rest of the machine may belong to others.
 */
#include "ompi_config.h"

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

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static llamatch_heater_t *heater; /* NULL: none */
static llamatch_hot_t hot;
llamatch_hot_t *mca_pml_llamatch_hot;
static int num_pauses;

/* --- where ---------------------------------------------------------------------------------- */

/* @return the processors that this process may run on, or NULL; to be freed */
static hwloc_bitmap_t my_processors(void)
{
    return (OPAL_SUCCESS == opal_hwloc_base_get_topology())
               ? llamatch_cores_mine(opal_hwloc_topology)
               : NULL;
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

/* @return what another process may run on, or NULL when that is not known; to be freed */
static hwloc_bitmap_t their_processors(ompi_proc_t *proc)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    uint8_t *list = NULL;
    size_t size = 0;
    int rc;

    OPAL_MODEX_RECV(rc, &mca_pml_llamatch_component.pmlm_version, &proc->super.proc_name, &list,
                    &size);
    if (NULL != set
        && (OPAL_SUCCESS != rc || 0 == size || '\0' != list[size - 1]
            || 0 != hwloc_bitmap_list_sscanf(set, (const char *) list))) {
        hwloc_bitmap_free(set);
        set = NULL;
    }
    if (0 < size) {
        free(list);
    }
    return set;
}

/* The processes of this node come first, in the order that all of them know. */
static int compare_procs(const void *a, const void *b)
{
    const opal_proc_t *x = &(*(ompi_proc_t *const *) a)->super;
    const opal_proc_t *y = &(*(ompi_proc_t *const *) b)->super;
    bool local = OPAL_PROC_ON_LOCAL_NODE(x->proc_flags);

    if (local != OPAL_PROC_ON_LOCAL_NODE(y->proc_flags)) {
        return local ? -1 : 1;
    }
    return (x->proc_name.vpid > y->proc_name.vpid) - (x->proc_name.vpid < y->proc_name.vpid);
}

static void choose_among(ompi_proc_t **procs, size_t count, hwloc_const_bitmap_t mine,
                         llamatch_cores_input_t *input, llamatch_cores_choice_t *choice)
{
    hwloc_bitmap_t *sets = calloc(count, sizeof(hwloc_bitmap_t));

    if (NULL == sets) {
        choice->reason = LLAMATCH_CORES_NO_MEMORY;
        return;
    }
    qsort(procs, count, sizeof(*procs), compare_procs);
    while (input->num_ranks < count
           && OPAL_PROC_ON_LOCAL_NODE(procs[input->num_ranks]->super.proc_flags)) {
        unsigned i = input->num_ranks++;

        if (ompi_proc_local() == procs[i]) {
            input->me = i;
            sets[i] = hwloc_bitmap_dup(mine);
        } else {
            sets[i] = their_processors(procs[i]);
        }
    }
    input->ranks = (hwloc_const_cpuset_t *) sets;
    llamatch_cores_choose(input, choice);
    for (unsigned i = 0; i < input->num_ranks; ++i) {
        hwloc_bitmap_free(sets[i]);
    }
    free(sets);
}

static void choose(llamatch_cores_choice_t *choice)
{
    hwloc_bitmap_t mine = my_processors();
    llamatch_cores_input_t input = {.topology = opal_hwloc_topology,
                                    .confined = !BOUND_BY_LAUNCHER,
                                    .has_cldemote = llamatch_cores_has_cldemote()};
    size_t count = 0;
    ompi_proc_t **procs = ompi_proc_get_allocated(&count);

    memset(choice, 0, sizeof(*choice));
    if (LLAMATCH_HEATER_FORCE == mca_pml_llamatch_tuning.heater) {
        input.wish = LLAMATCH_CORES_FORCE;
    }
    if (0 <= mca_pml_llamatch_tuning.heater_cpu) {
        input.wish = LLAMATCH_CORES_PU;
        input.pu = (unsigned) mca_pml_llamatch_tuning.heater_cpu;
    }
    if (NULL == mine) {
        choice->reason = LLAMATCH_CORES_NO_TOPOLOGY;
    } else if (NULL == procs) {
        choice->reason = LLAMATCH_CORES_NO_MEMORY;
    } else {
        choose_among(procs, count, mine, &input, choice);
    }
    hwloc_bitmap_free(mine);
    free(procs);
}

/* --- when ----------------------------------------------------------------------------------- */

static void stay_off(const char *why)
{
    opal_show_help(LLAMATCH_HELP_FILE, "heater_off", true, why, mca_pml_llamatch_host());
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
        config.max_bytes =
            (0 == choice.cache_bytes) ? MAX_BYTES : choice.cache_bytes / 2 / choice.sharers;
    }
    if (LLAMATCH_OK != llamatch_heater_create(&config, &started)) {
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
