/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The component: parameters, counters, selection and life cycle.
 */

#include "ompi_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/util/argv.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/osc/base/base.h"

#include "netem.h"
#include "osc_cached_inner.h"

static int component_register(void);
static int component_open(void);
static int component_init(bool enable_progress_threads, bool enable_mpi_threads);
static int component_finalize(void);
static int component_query(ompi_win_t *win, void **base, size_t size, int disp_unit,
                           ompi_communicator_t *comm, opal_info_t *info, int flavor);
static int component_select(ompi_win_t *win, void **base, size_t size, int disp_unit,
                            ompi_communicator_t *comm, opal_info_t *info, int flavor, int *model);

/* clang-format off */
OMPI_DECLSPEC ompi_osc_base_component_t mca_osc_netem_component = {
    .osc_version = {
        OMPI_OSC_BASE_VERSION_3_0_0,
        .mca_component_name = "netem",
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
/* clang-format on */

netem_settings_t netem_settings;

static const char file[] = "help-mpi-osc-netem.txt";
static char *preset_name = NULL;
static int job_rank = -1;

enum { BILLION = 1000000000 };

/* The numbers.  Strings to Open MPI, which takes "12x" for 12; without a value, the preset's. */
static struct {
    const char *name;
    uint64_t *setting;
    uint64_t most;
    const char *help;
    char *text;
} numbers[] = {
    {"latency", &netem_settings.network.latency, BILLION,
     "L: nanoseconds of a message from one NIC to the other (default: the preset's)", NULL},
    {"overhead", &netem_settings.network.overhead, BILLION,
     "o: nanoseconds of the processor for each operation (default: the preset's)", NULL},
    {"gap", &netem_settings.network.gap, BILLION,
     "g: nanoseconds between two messages of a NIC (default: the preset's)", NULL},
    {"bandwidth", &netem_settings.network.bandwidth, BILLION,
     "1 / G: megabytes (10^6) per second of a NIC; 0: no limit (default: the preset's)", NULL},
    {"delay", &netem_settings.delay, BILLION,
     "Fault: each operation is complete up to this many nanoseconds later, at random (default: 0)",
     NULL},
    {"reorder", &netem_settings.reorder, 1,
     "Fault: 1: the data of a get comes at the synchronisation that completes it, not before, and "
     "in another order than issued (default: 0)",
     NULL},
    {"fail_get", &netem_settings.fail_get, UINT32_MAX,
     "Fault: this MPI_Get or MPI_Rget of each process, counted from 1, returns an error; its data "
     "comes nevertheless with osc_netem_reorder; 0: none (default: 0)",
     NULL},
    {"fail_flush", &netem_settings.fail_flush, UINT32_MAX,
     "Fault: this flush of each process (MPI_Win_flush, _flush_all, _flush_local, "
     "_flush_local_all), counted from 1, returns an error and completes nothing; 0: none "
     "(default: 0)",
     NULL},
    {"seed", &netem_settings.seed, UINT32_MAX, "Seed of what is random (default: 0)", NULL},
    {"stats", &netem_settings.stats, 1,
     "1: print what each process did over the emulated network on stderr at its end (default: 0)",
     NULL},
};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static void register_text(const char *name, const char *help, char **storage)
{
    (void) mca_base_component_var_register(&mca_osc_netem_component.osc_version, name, help,
                                           MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_3,
                                           MCA_BASE_VAR_SCOPE_READONLY, storage);
}

static void register_counter(const char *name, const char *help, unsigned long *counter)
{
    (void) mca_base_component_pvar_register(
        &mca_osc_netem_component.osc_version, name, help, OPAL_INFO_LVL_4,
        MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
        NULL, NULL, NULL, counter);
}

static int component_register(void)
{
    (void) opal_show_help_add_dir(NETEM_HELP_DIR);
    preset_name = "aries";
    register_text("preset",
                  "Network whose numbers are used where no other is given: aries (Cray XC), hdr "
                  "(InfiniBand HDR) or none (default: aries)",
                  &preset_name);
    for (int i = 0; i < NUMBERS; ++i) {
        numbers[i].text = NULL;
        register_text(numbers[i].name, numbers[i].help, &numbers[i].text);
    }
    register_counter("operations", "Operations over the emulated network",
                     &netem_counts.operations);
    register_counter("bytes", "Bytes of these operations", &netem_counts.bytes);
    register_counter("waited_ns",
                     "Nanoseconds that synchronisations waited for the emulated network",
                     &netem_counts.waited_ns);
    return OMPI_SUCCESS;
}

static bool read_number(const char *text, uint64_t most, uint64_t *value)
{
    enum { DIGITS = 10 };
    uint64_t read;

    /* strtoull takes more: signs, white space, more than there is */
    if (0 == strlen(text) || DIGITS < strlen(text) || strlen(text) != strspn(text, "0123456789")) {
        return false;
    }
    read = strtoull(text, NULL, 10);
    if (most < read) {
        return false;
    }
    *value = read;
    return true;
}

/* Take the values; the first bad one is told to the user. */
static bool read_settings(void)
{
    const netem_preset_t *preset = netem_model_preset((NULL == preset_name) ? "" : preset_name);
    const netem_network_t *network = &netem_settings.network;
    bool changed = false;

    if (NULL == preset) {
        opal_show_help(file, "bad-value", true, opal_process_info.nodename, "preset",
                       (NULL == preset_name) ? "" : preset_name, "aries, hdr, none");
        return false;
    }
    netem_settings.network = preset->network;
    for (int i = 0; i < NUMBERS; ++i) {
        if (NULL == numbers[i].text) {
            continue;
        }
        if (!read_number(numbers[i].text, numbers[i].most, numbers[i].setting)) {
            char allowed[64];

            snprintf(allowed, sizeof(allowed), "whole numbers from 0 to %lu",
                     (unsigned long) numbers[i].most);
            opal_show_help(file, "bad-value", true, opal_process_info.nodename, numbers[i].name,
                           numbers[i].text, allowed);
            return false;
        }
        changed = changed || numbers[i].setting != &netem_settings.stats;
    }
    snprintf(netem_settings.label, sizeof(netem_settings.label),
             "emulated network: %s%s (L=%lu ns, o=%lu ns, g=%lu ns, G=%.3f ns/B)", preset->name,
             changed ? ", changed" : "", (unsigned long) network->latency,
             (unsigned long) network->overhead, (unsigned long) network->gap,
             (0 < network->bandwidth) ? 1000.0 / (double) network->bandwidth : 0);
    return true;
}

/* Open MPI, and osc/cached that looks for its inner component, open every component when the user
 * named none: then this one was not meant. */
static bool is_named_in(const char *list)
{
    char **names = opal_argv_split(list, ',');
    bool named = false;

    for (int i = 0; i < opal_argv_count(names); ++i) {
        named = named || 0 == strcmp("netem", names[i]);
    }
    opal_argv_free(names);
    return named;
}

static int component_open(void)
{
    int index = mca_base_var_find("ompi", "osc", "cached", "inner");
    char **inner = NULL;

    if (0 <= index) {
        (void) mca_base_var_get_value(index, &inner, NULL, NULL);
    }
    if (!is_named_in(ompi_osc_base_framework.framework_selection)
        && (NULL == inner || !is_named_in(*inner))) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    return read_settings() ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

static int component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
    return ompi_osc_cached_inner_init(enable_progress_threads, enable_mpi_threads);
}

static int component_finalize(void)
{
    if (0 < netem_settings.stats) {
        opal_output(0, "osc/netem: rank %d %s: operations %lu, bytes %lu, waited %lu ns", job_rank,
                    netem_settings.label, netem_counts.operations, netem_counts.bytes,
                    netem_counts.waited_ns);
    }
    netem_request_finalize();
    ompi_osc_cached_inner_finalize();
    return OMPI_SUCCESS;
}

/* osc/ucx, or for shared memory, which is no network, what can serve it */
static ompi_osc_base_component_t *find_inner(ompi_osc_cached_request_t *request)
{
    bool wraps;
    ompi_osc_base_component_t *inner = ompi_osc_cached_inner_find(request, &wraps);

    return (wraps || MPI_WIN_FLAVOR_SHARED == request->flavor) ? inner : NULL;
}

static int component_query(ompi_win_t *win, void **base, size_t size, int disp_unit,
                           ompi_communicator_t *comm, opal_info_t *info, int flavor)
{
    ompi_osc_cached_request_t request = {win, base, size, disp_unit, comm, info, flavor, 0};

    if (NULL == find_inner(&request)) {
        opal_show_help(file, "no-inner", true, opal_process_info.nodename);
        return OMPI_ERR_NOT_SUPPORTED;
    }
    return INT_MAX;
}

static int component_select(ompi_win_t *win, void **base, size_t size, int disp_unit,
                            ompi_communicator_t *comm, opal_info_t *info, int flavor, int *model)
{
    ompi_osc_cached_request_t request = {win, base, size, disp_unit, comm, info, flavor, 0};
    ompi_osc_base_component_t *inner = find_inner(&request);
    netem_window_t *window;
    int ret;

    if (NULL == inner) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    ret = inner->osc_select(win, base, size, disp_unit, comm, info, flavor, model);
    if (OMPI_SUCCESS != ret || MPI_WIN_FLAVOR_SHARED == flavor) {
        return ret;
    }
    job_rank = ompi_comm_rank(&ompi_mpi_comm_world.comm);
    window = netem_window_create(win);
    if (NULL == window) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    netem_ops_install(window);
    return OMPI_SUCCESS;
}
