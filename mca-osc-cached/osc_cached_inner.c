/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The inner components: finding, initialising and choosing them.
 *
 * `--mca osc cached` makes Open MPI drop every other osc component before we see it, whether it is
 * a DSO (4.1) or part of libmpi (5.0).  So the components that a window may get come from:
 *
 *   the framework's list   the user named them too (`--mca osc cached,ucx`); the framework
 *                          initialises and finalises them
 *   NAMED                  those of osc_cached_inner, loaded by us
 *   USUAL                  those that Open MPI would have without us: all that the `osc` value
 *                          allows that our flag hides, the one of a parameter file
 *   EXCLUDED               those that this value excludes, loaded when nothing else can serve a
 *                          window
 *
 * Ours are found, registered, opened and initialised through a private copy of the framework
 * structure that carries a selection of our own; the user's osc_ucx_... variables are honoured, the
 * user's `osc` value is not changed.
 *
 * osc_cached_inner is a list: the first word that can serve a window gets it.  `auto`, the default,
 * stands for the component that Open MPI itself would take: the usual one with the highest
 * priority.  A list of which none can serve a window is no error: the window goes to what it would
 * have without us, and is not cached.
 */

#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/argv.h"
#include "opal/util/keyval_parse.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "ompi/constants.h"
#include "ompi/mca/osc/base/base.h"

#include "osc_cached_compat.h"
#include "osc_cached_inner.h"
#include "osc_cached_params.h"
#include "osc_cached_spelling.h"

/* the component that wraps the others; bench/net has this file for one of its own */
#ifndef OSC_CACHED_INNER_OWNER
#define OSC_CACHED_INNER_OWNER "cached"
#endif

typedef enum { NAMED, USUAL, EXCLUDED, ORIGINS } origin_t;

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT; /* of what is loaded */
static opal_list_t loaded[ORIGINS];
static bool is_loaded[ORIGINS];
static bool with_progress_threads, with_mpi_threads;
static char **names = NULL;        /* of osc_cached_inner */
static char *hidden = NULL;        /* the `osc` value that our flag hides */
static char *hidden_file = NULL;   /* and the file that has it */
static const char *in_file = NULL; /* while a file is read */

int ompi_osc_cached_running_major = OMPI_MAJOR_VERSION;

/* Names of components */

static bool is_in(char **list, const char *name)
{
    for (int i = 0; NULL != list && NULL != list[i]; ++i) {
        if (0 == strcmp(name, list[i])) {
            return true;
        }
    }
    return false;
}

/* We do not wrap ourselves, and osc/monitoring would select us again. */
static char *wrappers[] = {"cached", "monitoring", NULL};

static bool is_wrapper(const char *name)
{
    return is_in(wrappers, name) || 0 == strcmp(name, OSC_CACHED_INNER_OWNER);
}

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

static ompi_osc_base_component_t *find(const char *name)
{
    /* the framework drops a component whose osc_init failed: looked up each time */
    ompi_osc_base_component_t *found =
        is_wrapper(name) ? NULL : find_in(&ompi_osc_base_framework.framework_components, name);

    for (int i = 0; NULL == found && i < ORIGINS; ++i) {
        found = find_in(&loaded[i], name);
    }
    return found;
}

/* The osc components of this Open MPI that could be an inner component; the caller frees it. */
static char **available(void)
{
    ompi_osc_cached_static_t linked = ompi_osc_base_framework.framework_static_components;
    mca_base_component_repository_item_t *item;
    opal_list_t *items = NULL;
    char **found = NULL;

    for (; NULL != linked && NULL != *linked; ++linked) {
        const char *name = ompi_osc_cached_static_component(linked, ompi_osc_cached_running_major)
                               ->mca_component_name;
        if (!is_wrapper(name)) {
            opal_argv_append_unique_nosize(&found, name, false);
        }
    }
    if (OPAL_SUCCESS
            == mca_base_component_repository_get_components(&ompi_osc_base_framework, &items)
        && NULL != items) {
        OPAL_LIST_FOREACH(item, items, mca_base_component_repository_item_t)
        {
            if (!is_wrapper(item->ri_name)) {
                opal_argv_append_unique_nosize(&found, item->ri_name, false);
            }
        }
    }
    return found;
}

/* Whether a value of the parameter `osc` lets a component take part. */
static bool allows(const char *selection, const char *name)
{
    bool exclusive = NULL != selection && '^' == selection[0];
    char **listed;
    bool is;

    if (NULL == selection || '\0' == selection[0]) {
        return true;
    }
    listed = opal_argv_split(selection + strspn(selection, "^"), ',');
    is = is_in(listed, name) != exclusive;
    opal_argv_free(listed);
    return is;
}

/* The value of `osc` that our flag hides */

static void take_value(const char *key, const char *value)
{
    if (0 == strcmp(key, ompi_osc_base_framework.framework_name) && NULL != value) {
        free(hidden);
        free(hidden_file);
        hidden = strdup(value);
        hidden_file = strdup(in_file);
    }
}

/* A parameter file may select osc components, too; the value of the command line or the environment
 * that names us has replaced it.  One that names us hides those behind it in turn. */
static void read_hidden(void)
{
    char **files = ompi_osc_cached_parameter_files();

    for (int i = 0; i < opal_argv_count(files) && NULL == hidden; ++i) {
        in_file = files[i];
        (void) opal_util_keyval_parse(files[i], take_value);
        if (NULL != hidden && '^' != hidden[0] && allows(hidden, "cached")) {
            free(hidden);
            free(hidden_file);
            hidden = hidden_file = NULL;
        }
    }
    opal_argv_free(files);
}

/* Whether the user's own list names others beside us: then these are the usual ones. */
static bool is_list_of_user(void)
{
    char **listed = opal_argv_split(ompi_osc_base_framework.framework_selection, ',');
    bool is = false;

    for (int i = 0; i < opal_argv_count(listed); ++i) {
        is = is || !is_wrapper(listed[i]);
    }
    opal_argv_free(listed);
    return is;
}

/* Loading */

static bool belongs_to(origin_t origin, const char *name)
{
    bool usual = !is_list_of_user() && allows(hidden, name);

    return (NAMED == origin) ? is_in(names, name) : (USUAL == origin) == usual;
}

/* Initialise what was opened; give up what cannot run here. */
static void init_all(opal_list_t *components, int output)
{
    mca_base_component_list_item_t *item, *next;

    OPAL_LIST_FOREACH_SAFE(item, next, components, mca_base_component_list_item_t)
    {
        ompi_osc_base_component_t *component = (ompi_osc_base_component_t *) item->cli_component;

        if (OMPI_SUCCESS != component->osc_init(with_progress_threads, with_mpi_threads)) {
            opal_list_remove_item(components, &item->super);
            mca_base_component_close(&component->osc_version, output);
            OBJ_RELEASE(item);
        }
    }
}

/* Load the components of an origin that are not there yet, once. */
static void load(origin_t origin)
{
    mca_base_framework_t one;
    char **found, **unwanted;
    char *joined = NULL;
    int wanted = 0;

    if (is_loaded[origin]) {
        return;
    }
    is_loaded[origin] = true;
    unwanted = opal_argv_copy(wrappers);
    opal_argv_append_nosize(&unwanted, OSC_CACHED_INNER_OWNER);
    found = available();
    for (int i = 0; i < opal_argv_count(found); ++i) {
        if (belongs_to(origin, found[i]) && NULL == find(found[i])) {
            ++wanted;
        } else {
            opal_argv_append_nosize(&unwanted, found[i]);
        }
    }
    opal_argv_free(found);
    joined = opal_argv_join(unwanted, ',');
    opal_argv_free(unwanted);

    memset(&one, 0, sizeof(one));
    one.framework_project = ompi_osc_base_framework.framework_project;
    one.framework_name = ompi_osc_base_framework.framework_name;
    one.framework_static_components = ompi_osc_base_framework.framework_static_components;
    one.framework_output = ompi_osc_base_framework.framework_output;
    /* a list of those we want would make Open MPI complain about one that cannot be loaded */
    if (0 == wanted || NULL == joined || 0 > asprintf(&one.framework_selection, "^%s", joined)) {
        free(joined);
        return;
    }
    OBJ_CONSTRUCT(&one.framework_components, opal_list_t);
    OBJ_CONSTRUCT(&one.framework_failed_components, opal_list_t);
    if (OPAL_SUCCESS == mca_base_framework_components_register(&one, MCA_BASE_REGISTER_DEFAULT)
        && OPAL_SUCCESS == mca_base_framework_components_open(&one, MCA_BASE_OPEN_DEFAULT)) {
        init_all(&one.framework_components, one.framework_output);
        opal_list_join(&loaded[origin], opal_list_get_end(&loaded[origin]),
                       &one.framework_components);
    }
    OPAL_LIST_DESTRUCT(&one.framework_components);
    OPAL_LIST_DESTRUCT(&one.framework_failed_components);
    free(one.framework_selection);
    free(joined);
}

static void prepare(bool enable_progress_threads, bool enable_mpi_threads)
{
    with_progress_threads = enable_progress_threads;
    with_mpi_threads = enable_mpi_threads;
    for (int i = 0; i < ORIGINS; ++i) {
        OBJ_CONSTRUCT(&loaded[i], opal_list_t);
        is_loaded[i] = false;
    }
    read_hidden();
}

int ompi_osc_cached_inner_init(bool enable_progress_threads, bool enable_mpi_threads)
{
    prepare(enable_progress_threads, enable_mpi_threads);
    names = opal_argv_split(ompi_osc_cached_params.inner, ',');
    load(NAMED);
    if (is_in(names, "auto")) {
        load(USUAL);
    }
    return OMPI_SUCCESS;
}

void ompi_osc_cached_inner_step_aside(bool enable_progress_threads, bool enable_mpi_threads)
{
    prepare(enable_progress_threads, enable_mpi_threads);
    if (!is_list_of_user()) {
        load(USUAL);
        if (opal_list_is_empty(&loaded[USUAL])) {
            load(EXCLUDED);
        }
        /* to the front: Open MPI is on its way through this list to initialise what follows */
        opal_list_join(&ompi_osc_base_framework.framework_components,
                       opal_list_get_first(&ompi_osc_base_framework.framework_components),
                       &loaded[opal_list_is_empty(&loaded[USUAL]) ? EXCLUDED : USUAL]);
    }
    ompi_osc_cached_inner_finalize();
}

void ompi_osc_cached_inner_finalize(void)
{
    opal_list_item_t *item;

    for (int i = 0; i < ORIGINS; ++i) {
        /* like ompi_osc_base_finalize: finalised, not closed (osc/ucx 5.0 drops the same reference
         * in both) */
        while (NULL != (item = opal_list_remove_first(&loaded[i]))) {
            ((ompi_osc_base_component_t *) ((mca_base_component_list_item_t *) item)->cli_component)
                ->osc_finalize();
            OBJ_RELEASE(item);
        }
        OBJ_DESTRUCT(&loaded[i]);
    }
    opal_argv_free(names);
    free(hidden);
    free(hidden_file);
    names = NULL;
    hidden = hidden_file = NULL;
}

/* Choosing */

/* osc/pt2pt says yes to osc_query, and with MPI_THREAD_MULTIPLE no to osc_select. */
static bool is_late_to_refuse(const ompi_osc_base_component_t *component)
{
    return with_mpi_threads && 0 == strcmp("pt2pt", component->osc_version.mca_component_name);
}

static int ask(ompi_osc_base_component_t *component, ompi_osc_cached_request_t *r)
{
    int priority =
        is_late_to_refuse(component)
            ? OMPI_ERR_NOT_SUPPORTED
            : component->osc_query(r->win, r->base, r->size, r->disp_unit, r->comm, r->info,
                                   r->flavor);

    opal_output_verbose(MCA_BASE_VERBOSE_INFO, ompi_osc_base_framework.framework_output,
                        "osc/cached: component %s answers priority %d",
                        component->osc_version.mca_component_name, priority);
    if (MPI_WIN_FLAVOR_SHARED == r->flavor && OMPI_ERR_RMA_SHARED == priority) {
        r->refusal = priority; /* as in ompi_osc_base_select */
    }
    return priority;
}

/* The component of a list that Open MPI would take, if it is better than the best so far. */
static void best_of(opal_list_t *components, origin_t origin, ompi_osc_cached_request_t *request,
                    ompi_osc_base_component_t **best, int *highest)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, components, mca_base_component_list_item_t)
    {
        ompi_osc_base_component_t *component = (ompi_osc_base_component_t *) item->cli_component;
        const char *name = component->osc_version.mca_component_name;
        int priority = (is_wrapper(name) || (ORIGINS != origin && !belongs_to(origin, name)))
                           ? -1
                           : ask(component, request);

        if (*highest < priority) {
            *highest = priority;
            *best = component;
        }
    }
}

/* The same of an origin: also those that were loaded because osc_cached_inner names them. */
static ompi_osc_base_component_t *best_loaded(origin_t origin, ompi_osc_cached_request_t *request)
{
    ompi_osc_base_component_t *best = NULL;
    int highest = -1;

    load(origin);
    for (int i = 0; i < ORIGINS; ++i) {
        best_of(&loaded[i], origin, request, &best, &highest);
    }
    return best;
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

/* The one that the window would have without us. */
static ompi_osc_base_component_t *usual(ompi_osc_cached_request_t *request)
{
    static bool told = false;
    ompi_osc_base_component_t *best = NULL;
    int highest = -1;

    best_of(&ompi_osc_base_framework.framework_components, ORIGINS, request, &best, &highest);
    if (NULL != best) {
        return best;
    }
    best = best_loaded(USUAL, request);
    if (NULL == best) {
        best = best_loaded(EXCLUDED, request);
        /* a shared window is never cached: nothing is lost */
        if (NULL != best && !told && MPI_WIN_FLAVOR_SHARED != request->flavor) {
            bool of_user = is_list_of_user();

            told = true;
            opal_show_help("help-mpi-osc-cached.txt", "inner-excluded", true,
                           best->osc_version.mca_component_name, opal_process_info.nodename,
                           flavor_name(request->flavor),
                           of_user          ? ompi_osc_base_framework.framework_selection
                           : NULL == hidden ? ""
                                            : hidden,
                           (of_user || NULL == hidden) ? "this run" : hidden_file);
        }
    }
    return best;
}

/* Why a word of osc_cached_inner did not get a window. */
static const char *reason(const char *name, char **there)
{
    if (0 == strcmp(name, "auto")) {
        return "all that Open MPI could choose from refused this window";
    }
    if (is_wrapper(name)) {
        return "it wraps other components itself";
    }
    if (!is_in(there, name)) {
        return "this Open MPI has no such component";
    }
    return (NULL == find(name)) ? "it did not initialise on this host" : "it refused this window";
}

/* The last answer: Open MPI selects us right after it has asked us. */
static struct {
    const ompi_win_t *win;
    int flavor;
    ompi_osc_base_component_t *component;
    bool wraps;
} answer;

ompi_osc_base_component_t *ompi_osc_cached_inner_find(ompi_osc_cached_request_t *request,
                                                      bool *wraps)
{
    ompi_osc_base_component_t *component = NULL;

    opal_mutex_lock(&lock);
    for (int i = 0; i < opal_argv_count(names) && NULL == component; ++i) {
        component = (0 == strcmp("auto", names[i])) ? usual(request) : find(names[i]);
        if (NULL != component && 0 != strcmp("auto", names[i]) && 0 > ask(component, request)) {
            component = NULL;
        }
    }
    *wraps = NULL != component;
    if (NULL == component) {
        component = usual(request);
    }
    answer.win = request->win;
    answer.flavor = request->flavor;
    answer.component = component;
    answer.wraps = *wraps;
    opal_mutex_unlock(&lock);
    return component;
}

ompi_osc_base_component_t *ompi_osc_cached_inner_found(ompi_osc_cached_request_t *request,
                                                       bool *wraps)
{
    ompi_osc_base_component_t *component;
    bool known;

    opal_mutex_lock(&lock);
    known = request->win == answer.win && request->flavor == answer.flavor;
    component = answer.component;
    *wraps = answer.wraps;
    answer.win = NULL;
    opal_mutex_unlock(&lock);
    return known ? component : ompi_osc_cached_inner_find(request, wraps);
}

void ompi_osc_cached_inner_explain(const ompi_osc_cached_request_t *request,
                                   const ompi_osc_base_component_t *served_by)
{
    static bool told = false;
    char tried[1024] = "  (none: osc_cached_inner is empty)";
    char **there = available();
    char *joined = opal_argv_join(there, ',');
    int used = 0;

    opal_mutex_lock(&lock); /* another thread may load components for its window */
    for (int i = 0; i < opal_argv_count(names) && used < (int) sizeof(tried); ++i) {
        used += snprintf(tried + used, sizeof(tried) - used, "%s  %-10s %s", 0 < used ? "\n" : "",
                         names[i], reason(names[i], there));
    }
    opal_mutex_unlock(&lock);
    /* a shared window is never cached: nothing is lost */
    if (!told && MPI_WIN_FLAVOR_SHARED != request->flavor) {
        const char *value =
            (NULL == ompi_osc_cached_params.inner) ? "" : ompi_osc_cached_params.inner;
        const char *allowed = (NULL == joined) ? "" : joined;

        told = true;
        if (NULL == served_by) {
            opal_show_help("help-mpi-osc-cached.txt", "no-component", true, tried,
                           opal_process_info.nodename, flavor_name(request->flavor), value,
                           allowed);
        } else {
            opal_show_help("help-mpi-osc-cached.txt", "no-inner", true, tried,
                           served_by->osc_version.mca_component_name, opal_process_info.nodename,
                           flavor_name(request->flavor), value, allowed);
        }
    }
    free(joined);
    opal_argv_free(there);
}
