/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The component: registration, selection and life cycle.
 *
 * It takes part only when the user's `osc` selection names it.  Otherwise it declines in
 * component_open, before anything is initialised, and a plain run behaves as if it were not there.
 */

#include "ompi_config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/base/base.h"
#include "opal/util/argv.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "ompi/constants.h"
#include "ompi/mca/osc/base/base.h"

#include "osc_cached_bounce.h"
#include "osc_cached_choose.h"
#include "osc_cached_compat.h"
#include "osc_cached_forward.h"
#include "osc_cached_hidden.h"
#include "osc_cached_info.h"
#include "osc_cached_inner.h"
#include "osc_cached_memory.h"
#include "osc_cached_pvar.h"
#include "osc_cached_summary.h"
#include "osc_cached_top.h"
#include "osc_cached_trace.h"
#include "osc_cached_type.h"
#include "osc_cached_window.h"
#include "osc_cached_withdraw.h"
#include "coherence/osc_cached_coherence.h"
#include "helper/osc_cached_helper.h"
#include "node/osc_cached_node.h"
#include "storage/osc_cached_storage.h"

static int component_register(void);
static int component_open(void);
static int component_init(bool enable_progress_threads, bool enable_mpi_threads);
static int component_finalize(void);
static int component_query(ompi_win_t *win, void **base, size_t size,
                           ompi_osc_cached_disp_unit_t disp_unit, ompi_communicator_t *comm,
                           opal_info_t *info, int flavor);
static int component_select(ompi_win_t *win, void **base, size_t size,
                            ompi_osc_cached_disp_unit_t disp_unit, ompi_communicator_t *comm,
                            opal_info_t *info, int flavor, int *model);

/* clang-format off */
OMPI_DECLSPEC ompi_osc_base_component_t mca_osc_cached_component = {
    .osc_version = {
        OSC_CACHED_BASE_VERSION,
        .mca_component_name = "cached",
        MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                              OMPI_RELEASE_VERSION),
        .mca_open_component = component_open,
        .mca_register_component_params = component_register,
    },
    .osc_data = {
        .param_field = MCA_BASE_METADATA_PARAM_NONE
    },
    .osc_init = component_init,
    .osc_query = component_query,
    .osc_select = component_select,
    .osc_finalize = component_finalize,
};

/* The release this file was compiled for; one string, so that a test can change it in a copy. */
#define STRING_OF_(x) #x
#define STRING_OF(x) STRING_OF_(x)
#define BUILT_FOR_TAG "osc/cached built for Open MPI v"
static const char built_for[] = BUILT_FOR_TAG STRING_OF(OMPI_MAJOR_VERSION) "."
    STRING_OF(OMPI_MINOR_VERSION) "." STRING_OF(OMPI_RELEASE_VERSION);
/* clang-format on */

/* built for another release: Open MPI gets what it would have without us */
static bool steps_aside = false;

/* Named in the user's `osc` selection. */
static bool is_asked_for(void)
{
    const char *selection = ompi_osc_base_framework.framework_selection;
    char **names;
    bool asked = false;

    if (NULL == selection || '^' == selection[0]) {
        return false;
    }
    names = opal_argv_split(selection, ',');
    for (int i = 0; i < opal_argv_count(names); ++i) {
        asked = asked || 0 == strcmp("cached", names[i]);
    }
    opal_argv_free(names);
    return asked;
}

/* Our internal structures follow one release of Open MPI exactly: with any other, stay away. */
static bool runs_in_its_release(void)
{
    const char *expected = built_for + strlen(BUILT_FOR_TAG);
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char running[32] = "unknown";
    char host[256] = "unknown";
    int length;

    (void) PMPI_Get_library_version(text, &length);
    (void) sscanf(text, "Open MPI v%31[^, ]", running);
    /* without what follows the number, as in 6.0.0rc2 */
    if (strlen(expected) == strspn(running, "0123456789.")
        && 0 == strncmp(running, expected, strlen(expected))) {
        return true;
    }
    ompi_osc_cached_running_major = atoi(running);
    if (is_asked_for()) {
        /* not from opal_process_info: another release has it laid out differently */
        (void) gethostname(host, sizeof(host) - 1);
        if (('6' <= expected[0]) == ('6' <= running[0])) {
            opal_show_help("help-mpi-osc-cached.txt", "wrong-release", true, expected, running,
                           host, expected, running);
        } else {
            /* opal_show_help is a variable until 5.0, a function since 6.0 */
            opal_output(0,
                        "osc/cached on host %s was built for Open MPI %s, but this is Open MPI %s. "
                        "It steps aside: nothing is cached. Build it for this release.",
                        host, expected, running);
        }
    }
    return false;
}

/* Help texts lie next to the component when it was dropped into an installed Open MPI. */
static void add_help_folder(void)
{
    Dl_info info;
    char folder[PATH_MAX];
    char *slash;

    if (0 == dladdr(&mca_osc_cached_component, &info) || NULL == info.dli_fname) {
        return;
    }
    snprintf(folder, sizeof(folder), "%s", info.dli_fname);
    slash = strrchr(folder, '/');
    if (NULL != slash) {
        *slash = '\0';
        (void) opal_show_help_add_dir(folder);
    }
}

static void tell_of_hidden_copy(void)
{
    char used[PATH_MAX], hidden[PATH_MAX];

    if (ompi_osc_cached_hides_copy(&mca_osc_cached_component, "mca_osc_cached.so", built_for, used,
                                   hidden)) {
        opal_show_help("help-mpi-osc-cached.txt", "hidden-copy", true, used, hidden,
                       opal_process_info.nodename);
    }
}

static int component_register(void)
{
    const mca_base_component_t *component = &mca_osc_cached_component.osc_version;
    int ret;

    add_help_folder();
    steps_aside = !runs_in_its_release();
    if (steps_aside) {
        /* asked for: a missing component would end the job, so it goes in component_init */
        return is_asked_for() ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
    }
    if (is_asked_for()) {
        tell_of_hidden_copy();
    }
    ret = ompi_osc_cached_params_register(component, is_asked_for());
    if (OMPI_SUCCESS == ret) {
        ret = ompi_osc_cached_pvar_register(component);
    }
    return (OMPI_SUCCESS == ret) ? ompi_osc_cached_helper_register(component) : ret;
}

static int component_open(void)
{
    return is_asked_for() ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

static int component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
    if (steps_aside) {
        ompi_osc_cached_inner_step_aside(enable_progress_threads, enable_mpi_threads);
        return OMPI_ERR_NOT_AVAILABLE;
    }
    ompi_osc_cached_memory_init();
    ompi_osc_cached_devices_init();
    ompi_osc_cached_clock_init();
    ompi_osc_cached_choose_init();
    return ompi_osc_cached_inner_init(enable_progress_threads, enable_mpi_threads);
}

static int component_finalize(void)
{
    ompi_osc_cached_summary_finalize();
    ompi_osc_cached_choose_finalize();
    ompi_osc_cached_top_finalize();
    ompi_osc_cached_helper_finalize();
    ompi_osc_cached_inner_finalize();
    ompi_osc_cached_window_finalize();
    ompi_osc_cached_info_finalize();
    ompi_osc_cached_memory_finalize();
    ompi_osc_cached_pvar_finalize();
    ompi_osc_cached_trace_finalize();
    return OMPI_SUCCESS;
}

/* What the inner component sees: memory that is a file is not its own. */
static int inner_flavor(opal_info_t *info, int flavor)
{
    return ompi_osc_cached_storage_is_wanted(info, flavor) ? MPI_WIN_FLAVOR_CREATE : flavor;
}

static int component_query(ompi_win_t *win, void **base, size_t size,
                           ompi_osc_cached_disp_unit_t disp_unit, ompi_communicator_t *comm,
                           opal_info_t *info, int flavor)
{
    ompi_osc_cached_request_t request = {
        win, base, size, disp_unit, comm, info, inner_flavor(info, flavor), 0};
    bool wraps;
    ompi_osc_base_component_t *inner = ompi_osc_cached_inner_find(&request, &wraps);

    if (!wraps) {
        ompi_osc_cached_inner_explain(&request, inner);
    }
    /* the user asked for us by name: win over every other component of the list */
    return (NULL != inner)          ? INT_MAX
           : (0 != request.refusal) ? request.refusal
                                    : OMPI_ERR_NOT_SUPPORTED;
}

/* The memory of the other processes in a shared window, which this one sees too. */
static void expose_shared(const ompi_osc_cached_window_t *window)
{
    for (int i = 0; i < ompi_group_size(window->win->w_group); ++i) {
        size_t size = 0;
        void *base = NULL;
        ompi_osc_cached_disp_unit_t unit;

        if (NULL != window->inner.osc_win_shared_query
            && OMPI_SUCCESS
                   == window->inner.osc_win_shared_query(window->win, i, &size, &unit, &base)
            && NULL != base && 0 < size) {
            ompi_osc_cached_expose(window->win, base, size); /* nobody had it before */
        }
    }
}

/* In osc/sm and in shared windows a get is a copy, as cheap as a hit; what a dynamic window holds
 * is changed by its target without notice (rule A10). */
static bool can_be_cached(const ompi_osc_base_component_t *inner, int flavor)
{
    return (MPI_WIN_FLAVOR_CREATE == flavor || MPI_WIN_FLAVOR_ALLOCATE == flavor)
           && 0 != strcmp("sm", inner->osc_version.mca_component_name);
}

/* The cache of a window, from the parameters. */
static osc_cached_config_t make_config(const ompi_win_t *win)
{
    const ompi_osc_cached_numbers_t *numbers = &ompi_osc_cached_numbers;
    osc_cached_config_t config = {
        .entries = (uint32_t) numbers->entries,
        .memory = (uint64_t) numbers->window_memory,
        .gradual = true,
        .block = (uint32_t) numbers->block_fetch,
        .max_entry = (uint64_t) numbers->max_entry,
        .evictions = (uint32_t) numbers->evictions,
        .sample = (uint32_t) numbers->sample,
        .scheme = (osc_cached_scheme_t) ompi_osc_cached_params.scheme,
        .adaptive = ompi_osc_cached_params.adaptive,
        .seed = (0 < numbers->seed) ? (uint64_t) numbers->seed
                                    : ompi_osc_cached_now() ^ (uint64_t) (uintptr_t) win,
        .adapt =
            {
                .interval = (uint32_t) numbers->interval,
                .conflict_threshold = numbers->conflict_threshold,
                .index_increase = numbers->index_increase,
                .index_decrease = numbers->index_decrease,
                .sparsity = numbers->sparsity,
                .capacity_threshold = numbers->capacity_threshold,
                .memory_increase = numbers->memory_increase,
                .memory_decrease = numbers->memory_decrease,
                .stable_threshold = numbers->stable_threshold,
                .free_threshold = numbers->free_threshold,
            },
        .copy = ompi_osc_cached_type_copy,
        .done = ompi_osc_cached_bounce_done,
        .budget = ompi_osc_cached_budget,
    };

    ompi_osc_cached_info_sizes(win->super.s_info, &config);
    return config;
}

/* Let the inner component make a window, with its memory or, where the helpers serve it alone, with
 * none. */
static int select_inner(ompi_osc_base_component_t *inner, const ompi_osc_cached_request_t *request,
                        int *model, bool alone)
{
    void *nothing = NULL;

    return inner->osc_select(request->win, alone ? &nothing : request->base,
                             alone ? 0 : request->size, request->disp_unit, request->comm,
                             request->info, request->flavor, model);
}

/* A window on a file that only helpers can serve has none, on no process. */
static int give_up(ompi_win_t *win)
{
    ompi_osc_cached_storage_give_up(win);
    (void) win->w_osc_module->osc_free(win);
    win->w_osc_module = NULL;
    return OMPI_ERROR;
}

/* Make a window coherent, and let the processes of a node share its cache, as far as that is agreed
 * on. */
static void attach_coherence(ompi_osc_cached_window_t *window, opal_info_t *info, const void *base,
                             size_t size, bool shared, ompi_communicator_t *comm,
                             const int64_t votes[OSC_CACHED_VOTES])
{
    ompi_osc_cached_together_t together = ompi_osc_cached_node_attach(
        window, comm, votes, ompi_osc_cached_coherence_together(comm, votes));

    ompi_osc_cached_coherence_attach(window, info, base, size, shared, comm, votes, &together);
    free(together.first);
    if (NULL != window) {
        ompi_osc_cached_node_begin(window, votes);
    }
}

static int component_select(ompi_win_t *win, void **base, size_t size,
                            ompi_osc_cached_disp_unit_t disp_unit, ompi_communicator_t *comm,
                            opal_info_t *info, int flavor, int *model)
{
    int seen = inner_flavor(info, flavor);
    bool on_file = seen != flavor;
    ompi_osc_cached_request_t request = {win, base, size, disp_unit, comm, info, seen, 0};
    ompi_osc_base_component_t *inner;
    ompi_osc_cached_window_t *window;
    osc_cached_config_t config;
    bool wraps, cached, coherent, traced, alone = false, refused = false, shared = false;
    bool together = ompi_osc_cached_summary_wanted();
    int64_t votes[OSC_CACHED_VOTES] = {0};
    struct ompi_osc_cached_node_t *memory = NULL;
    ompi_osc_cached_own_memory_t own = {NULL, 0, false};
    ompi_osc_cached_disp_unit_t unit = 0, *units = NULL;
    uint64_t reach = 0, largest = size;
    int ret;

    inner = ompi_osc_cached_inner_found(&request, &wraps);
    if (NULL == inner) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    cached = wraps && can_be_cached(inner, flavor);
    if (MPI_WIN_FLAVOR_ALLOCATE == flavor && !ompi_osc_cached_storage_is_agreed(comm, on_file)) {
        return OMPI_ERROR;
    }
    if (on_file) {
        ret = ompi_osc_cached_storage_open(win, base, size, comm, info);
        if (OMPI_SUCCESS != ret) {
            return ret;
        }
    }
    if (MPI_WIN_FLAVOR_CREATE == flavor && 0 < size) {
        ompi_osc_cached_expose(win, *base, size);
        shared = ompi_osc_cached_is_exposed_twice(win, *base, size);
        if (shared) {
            ompi_osc_cached_coherence_exposed(*base, size);
        }
        /* with an error these gets wait as before: the others are here, too, and wait for us */
        (void) ompi_osc_cached_withdraw();
    }
    /* its own: what is given to us may be the program's (4.1) */
    ompi_osc_cached_choose(win->super.s_info, flavor, ompi_comm_size(comm), 0, true);
    /* osc/sm has nothing for a helper to do: its processes reach each other's memory */
    if (cached) {
        coherent = ompi_osc_cached_coherence_vote(comm, win->super.s_info, on_file, votes);
        ompi_osc_cached_node_vote(win->super.s_info, coherent, on_file, votes);
        ompi_osc_cached_helper_vote(win, comm, win->super.s_info, seen, *base,
                                    inner->osc_version.mca_component_name, coherent, votes);
        (void) ompi_osc_cached_window_units(comm, disp_unit, size, &unit, &units, &reach, &largest,
                                            &together, votes);
        memory = ompi_osc_cached_helper_allocate(comm, size, votes, on_file, base);
        if (MPI_WIN_FLAVOR_ALLOCATE == seen && NULL == memory) {
            own = ompi_osc_cached_coherence_allocate(comm, size, votes);
            *base = own.ours ? own.base : *base;
        }
    } else if (wraps || MPI_WIN_FLAVOR_SHARED == flavor) { /* else another text says more */
        ompi_osc_cached_helper_refuse(win->super.s_info, flavor);
    }
    ompi_osc_cached_choose(win->super.s_info, flavor, ompi_comm_size(comm), largest, false);
    seen = request.flavor = (NULL == memory && !own.ours) ? seen : MPI_WIN_FLAVOR_CREATE;
    /* the epochs of osc/pt2pt are not known to helpers */
    alone = on_file && cached && 0 != strcmp("pt2pt", inner->osc_version.mca_component_name)
            && ompi_osc_cached_helper_serves_alone(comm, votes);
    refused = on_file && !alone
              && (cached ? ompi_osc_cached_helper_must_serve(votes)
                         : !ompi_osc_cached_helper_is_right_with(
                             win, comm, inner->osc_version.mca_component_name));
    ret = refused ? OMPI_ERR_NOT_SUPPORTED : select_inner(inner, &request, model, alone);
    if (on_file) {
        ompi_osc_cached_storage_attach(win, ret, refused ? "storage-late" : "storage-inner",
                                       refused ? comm : NULL,
                                       alone || !ompi_osc_cached_coherence_has_device());
    }
    if (OMPI_SUCCESS != ret) {
        ompi_osc_cached_conceal(win, NULL);
        ompi_osc_cached_helper_release(memory);
        ompi_osc_cached_coherence_release(&own);
        free(units);
        return ret;
    }
    /* for their names the rank must be known, which it is not in component_init */
    traced = ompi_osc_cached_trace_init();
    ompi_osc_cached_top_init();
    window = ompi_osc_cached_window_create(win, inner->osc_version.mca_component_name, traced,
                                           ompi_osc_cached_has_devices
                                               || 0 < ompi_osc_cached_numbers.verify);
    if (cached && together) {
        ompi_osc_cached_summary_begin(window, comm);
    }
    if (NULL == window) {
        /* rule A11: without memory the window works, just without us */
        if (cached) {
            (void) ompi_osc_cached_helper_attach(NULL, memory, *base, size, comm, votes, alone);
            attach_coherence(NULL, win->super.s_info, *base, size, shared, comm, votes);
        }
        if (on_file && cached && !alone) {
            ompi_osc_cached_storage_attach_near(NULL, comm, false);
        }
        free(units); /* its memory stays exposed: nobody tells when it is not any more */
        return alone ? give_up(win) : OMPI_SUCCESS;
    }
    config = make_config(win);
    config.reach = reach;
    ompi_osc_cached_window_prepare(window, &config, &ompi_osc_cached_alloc, unit, units);
    window->memory = memory;
    window->own = own;
    window->inner_flavor = seen;
    window->largest = largest;
    window->is_late =
        !own.ours
        && ompi_osc_cached_helper_is_late(comm, inner->osc_version.mca_component_name, seen);
    window->all_are_late = window->is_late && ompi_osc_cached_helper_all_are_near(comm);
    if (MPI_WIN_FLAVOR_CREATE != flavor && MPI_WIN_FLAVOR_DYNAMIC != flavor && 0 < size) {
        ompi_osc_cached_expose(win, *base, size); /* nobody had it before */
    }
    if (cached && !ompi_osc_cached_helper_attach(window, memory, *base, size, comm, votes, alone)
        && alone) {
        ompi_osc_cached_conceal(win, NULL);
        ompi_osc_cached_window_unlink(window);
        ompi_osc_cached_window_destroy(window);
        return give_up(win);
    }
    if (cached) {
        attach_coherence(window, win->super.s_info, *base, size, shared, comm, votes);
    }
    if (on_file && cached && !alone) {
        ompi_osc_cached_storage_attach_near(
            window, comm,
            ompi_osc_cached_helper_lets_copy(inner->osc_version.mca_component_name, votes));
    }
    ompi_osc_cached_forward_install(window);
    if (MPI_WIN_FLAVOR_SHARED == flavor) {
        expose_shared(window);
    }
    opal_output_verbose(MCA_BASE_VERBOSE_COMPONENT, ompi_osc_base_framework.framework_output,
                        "osc/cached: window over inner component %s", window->inner_name);
    if (OMPI_SUCCESS != ompi_osc_cached_info_subscribe(window)) {
        /* the window is made on all processes by now: it works, without info keys on this one */
        opal_output_verbose(MCA_BASE_VERBOSE_WARN, ompi_osc_base_framework.framework_output,
                            "osc/cached: no memory for the info keys of a window");
    }
    ompi_osc_cached_choose_by_name(window);
    if (on_file) {
        ompi_osc_cached_storage_tell(win);
    }
    return OMPI_SUCCESS;
}
