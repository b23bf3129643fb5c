/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The inner components: finding, initialising and choosing them.
 *
 * `--mca osc cached` makes Open MPI drop every other osc component before we see it, whether it is
 * a DSO (4.1) or part of libmpi (5.0).  So an inner component comes from one of two places:
 *
 *   borrowed  the user named it too (`--mca osc cached,ucx`): it is in the list of the framework,
 *             which initialises and finalises it
 *   loaded    found, registered, opened and initialised by us through a private copy of the
 *             framework structure that carries our own selection instead of the user's; the user's
 *             osc_ucx_... variables are honoured, the user's `osc` value is not changed
 *
 * An inner component that cannot be had is no error until a window is made: a program without
 * windows runs undisturbed.
 */

#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/util/argv.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
#include "ompi/constants.h"
#include "ompi/mca/osc/base/base.h"

#include "osc_cached.h"

/* Serves MPI_Win_allocate_shared where the components of the list cannot (osc/ucx of 4.1). */
static const char shared_fallback[] = "sm";

typedef enum {
    INNER_LOADED,
    INNER_BORROWED,
    INNER_UNKNOWN, /* no such component in this Open MPI */
    INNER_WRAPPER,  /* it would select us again */
    INNER_UNUSABLE, /* it is there, but does not run here */
} inner_state_t;

typedef struct {
    const char *name;
    inner_state_t state;
    ompi_osc_base_component_t *component; /* INNER_LOADED */
    bool only_shared;                     /* asked for MPI_WIN_FLAVOR_SHARED only */
    int refusal;                          /* last negative result of osc_query, or 0 */
} inner_t;

static mca_base_framework_t framework; /* the private copy; holds the loaded components */
static char **names = NULL;
static inner_t *inners = NULL;
static int num_inners = 0;

static ompi_osc_base_component_t *find_in(opal_list_t *components, const char *name)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, components, mca_base_component_list_item_t)
    {
        if (0 == strcmp(name, item->cli_component->mca_component_name)) {
            return (ompi_osc_base_component_t *) item->cli_component;
        }
    }
    return NULL;
}

/* We do not wrap ourselves, and osc/monitoring would select us again. */
static bool is_wrapper(const char *name)
{
    return 0 == strcmp(name, mca_osc_cached_component.osc_version.mca_component_name)
           || 0 == strcmp(name, "monitoring");
}

/* The osc components of this Open MPI that could be an inner component, "rdma, sm, ucx", up to
 * length characters. */
static void list_available(char *text, size_t length)
{
    const mca_base_component_t **component = ompi_osc_base_framework.framework_static_components;
    mca_base_component_repository_item_t *item;
    opal_list_t *items = NULL;
    char **found = NULL;
    char *joined;

    for (; NULL != component && NULL != *component; ++component) {
        opal_argv_append_unique_nosize(&found, (*component)->mca_component_name, false);
    }
    if (OPAL_SUCCESS
            == mca_base_component_repository_get_components(&ompi_osc_base_framework, &items)
        && NULL != items) {
        OPAL_LIST_FOREACH(item, items, mca_base_component_repository_item_t)
        {
            opal_argv_append_unique_nosize(&found, item->ri_name, false);
        }
    }
    for (int i = opal_argv_count(found) - 1; 0 <= i; --i) {
        if (is_wrapper(found[i])) {
            int count = opal_argv_count(found);
            opal_argv_delete(&count, &found, i, 1);
        }
    }
    joined = opal_argv_join(found, ',');
    snprintf(text, length, "%s", NULL == joined ? "" : joined);
    free(joined);
    opal_argv_free(found);
}

static bool is_available(const char *name)
{
    char text[512];
    char **available;
    bool is = false;

    list_available(text, sizeof(text));
    available = opal_argv_split(text, ',');
    for (int i = 0; i < opal_argv_count(available); ++i) {
        is = is || 0 == strcmp(name, available[i]);
    }
    opal_argv_free(available);
    return is;
}

/* Load one component into the private framework and initialise it. */
static ompi_osc_base_component_t *load(const char *name, bool enable_progress_threads,
                                       bool enable_mpi_threads)
{
    ompi_osc_base_component_t *component = NULL;
    mca_base_component_list_item_t *item;
    mca_base_framework_t one = framework;

    OBJ_CONSTRUCT(&one.framework_components, opal_list_t);
    OBJ_CONSTRUCT(&one.framework_failed_components, opal_list_t);
    one.framework_selection = (char *) name;
    if (OPAL_SUCCESS == mca_base_framework_components_register(&one, MCA_BASE_REGISTER_DEFAULT)
        && OPAL_SUCCESS == mca_base_framework_components_open(&one, MCA_BASE_OPEN_DEFAULT)) {
        component = find_in(&one.framework_components, name);
    }
    if (NULL != component
        && OMPI_SUCCESS != component->osc_init(enable_progress_threads, enable_mpi_threads)) {
        item = (mca_base_component_list_item_t *) opal_list_remove_first(&one.framework_components);
        mca_base_component_close(&component->osc_version, one.framework_output);
        OBJ_RELEASE(item);
        component = NULL;
    }
    opal_list_join(&framework.framework_components,
                   opal_list_get_end(&framework.framework_components), &one.framework_components);
    OBJ_DESTRUCT(&one.framework_components);
    OPAL_LIST_DESTRUCT(&one.framework_failed_components);
    return component;
}

static void add_inner(const char *name, bool only_shared, bool enable_progress_threads,
                      bool enable_mpi_threads)
{
    inner_t *inner = &inners[num_inners];

    for (int i = 0; i < num_inners; ++i) {
        if (0 == strcmp(name, inners[i].name)) {
            return;
        }
    }
    inner->name = name;
    inner->only_shared = only_shared;
    if (is_wrapper(name)) {
        inner->state = INNER_WRAPPER;
    } else if (NULL != find_in(&ompi_osc_base_framework.framework_components, name)) {
        inner->state = INNER_BORROWED;
    } else if (!is_available(name)) {
        inner->state = INNER_UNKNOWN;
    } else {
        inner->component = load(name, enable_progress_threads, enable_mpi_threads);
        inner->state = NULL == inner->component ? INNER_UNUSABLE : INNER_LOADED;
    }
    if (only_shared && INNER_UNKNOWN == inner->state) {
        return; /* nobody asked for it by name: nothing to tell */
    }
    ++num_inners;
}

int ompi_osc_cached_inner_init(bool enable_progress_threads, bool enable_mpi_threads)
{
    memset(&framework, 0, sizeof(framework));
    framework.framework_project = ompi_osc_base_framework.framework_project;
    framework.framework_name = ompi_osc_base_framework.framework_name;
    framework.framework_static_components = ompi_osc_base_framework.framework_static_components;
    framework.framework_output = ompi_osc_base_framework.framework_output;
    OBJ_CONSTRUCT(&framework.framework_components, opal_list_t);

    names = opal_argv_split(ompi_osc_cached_params.inner, ',');
    num_inners = 0;
    inners = calloc(opal_argv_count(names) + 1, sizeof(*inners));
    if (NULL == inners) {
        opal_argv_free(names);
        names = NULL;
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int i = 0; i < opal_argv_count(names); ++i) {
        add_inner(names[i], false, enable_progress_threads, enable_mpi_threads);
    }
    add_inner(shared_fallback, true, enable_progress_threads, enable_mpi_threads);
    return OMPI_SUCCESS;
}

void ompi_osc_cached_inner_finalize(void)
{
    opal_list_item_t *item;

    /* like ompi_osc_base_finalize: finalised, not closed (osc/ucx 5.0 drops the same reference in
     * both) */
    while (NULL != (item = opal_list_remove_first(&framework.framework_components))) {
        ompi_osc_base_component_t *component =
            (ompi_osc_base_component_t *) ((mca_base_component_list_item_t *) item)->cli_component;
        component->osc_finalize();
        OBJ_RELEASE(item);
    }
    OBJ_DESTRUCT(&framework.framework_components);
    opal_argv_free(names);
    names = NULL;
    free(inners);
    inners = NULL;
    num_inners = 0;
}

ompi_osc_base_component_t *ompi_osc_cached_inner_find(ompi_win_t *win, void **base, size_t size,
                                                      int disp_unit, ompi_communicator_t *comm,
                                                      opal_info_t *info, int flavor, int *priority)
{
    *priority = OMPI_ERR_NOT_SUPPORTED;
    /* the order of the list decides, not the priorities: osc/sm would win over osc/ucx on one
     * node, and the user said what to use */
    for (int i = 0; i < num_inners; ++i) {
        inner_t *inner = &inners[i];
        ompi_osc_base_component_t *component = inner->component;

        if (inner->only_shared && MPI_WIN_FLAVOR_SHARED != flavor) {
            continue;
        }
        if (INNER_BORROWED == inner->state) {
            /* looked up now: the framework drops a component whose osc_init failed */
            component = find_in(&ompi_osc_base_framework.framework_components, inner->name);
        }
        if (NULL == component) {
            continue;
        }
        *priority = component->osc_query(win, base, size, disp_unit, comm, info, flavor);
        opal_output_verbose(MCA_BASE_VERBOSE_INFO, ompi_osc_base_framework.framework_output,
                            "osc/cached: inner component %s answers priority %d", inner->name,
                            *priority);
        if (0 <= *priority) {
            return component;
        }
        inner->refusal = *priority;
    }
    return NULL;
}

static const char *flavor_name(int flavor)
{
    switch (flavor) {
    case MPI_WIN_FLAVOR_CREATE:
        return "MPI_Win_create";
    case MPI_WIN_FLAVOR_ALLOCATE:
        return "MPI_Win_allocate";
    case MPI_WIN_FLAVOR_DYNAMIC:
        return "MPI_Win_create_dynamic";
    case MPI_WIN_FLAVOR_SHARED:
        return "MPI_Win_allocate_shared";
    default:
        return "unknown";
    }
}

static const char *reason(const inner_t *inner)
{
    switch (inner->state) {
    case INNER_UNKNOWN:
        return "this Open MPI has no such component";
    case INNER_WRAPPER:
        return "it wraps other components itself";
    case INNER_UNUSABLE:
        return "it did not initialise on this host";
    default:
        return 0 > inner->refusal ? "it refused this window" : "it did not initialise on this host";
    }
}

void ompi_osc_cached_inner_explain(int flavor)
{
    char available[512], tried[1024] = "  (none: osc_cached_inner is empty)";
    int used = 0;

    list_available(available, sizeof(available));
    for (int i = 0; i < num_inners && used < (int) sizeof(tried); ++i) {
        if (inners[i].only_shared && MPI_WIN_FLAVOR_SHARED != flavor) {
            continue;
        }
        used += snprintf(tried + used, sizeof(tried) - used, "%s  %-10s %s", 0 < used ? "\n" : "",
                         inners[i].name, reason(&inners[i]));
    }
    opal_show_help("help-mpi-osc-cached.txt", "no-inner", true, tried, opal_process_info.nodename,
                   flavor_name(flavor),
                   NULL == ompi_osc_cached_params.inner ? "" : ompi_osc_cached_params.inner,
                   available);
}
