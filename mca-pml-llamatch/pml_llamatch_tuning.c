/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Parameters: registration, checks, and the texts that go with them.
 */
#include "ompi_config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mpi.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/argv.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"
#include "ompi/constants.h"
#include "ompi/mca/pml/base/base.h"
#if OMPI_MAJOR_VERSION < 5
#include "ompi/mca/rte/rte.h"
#else
#include "ompi/runtime/ompi_rte.h"
#endif

#include "llamatch_queue.h"
#include "pml_llamatch.h"
#include "pml_llamatch_component.h"
#include "pml_llamatch_tuning.h"

#define LLAMATCH_HELP_FILE "help-mpi-pml-llamatch.txt"

#define LLAMATCH_PARAM(name, type, value, level, scope, help) .name = value,
#define LLAMATCH_INHERITED(name, help)
static const mca_pml_llamatch_tuning_t defaults = {
#include "pml_llamatch_params.def"
};

#define LLAMATCH_PARAM(name, type, value, level, scope, help) .name = value,
#define LLAMATCH_INHERITED(name, help)
mca_pml_llamatch_tuning_t mca_pml_llamatch_tuning = {
#include "pml_llamatch_params.def"
};

/* Not from Open MPI's structures: a wrong release may have moved the name in them. */
static const char *local_host(void)
{
    static char host[256];

    if ('\0' == host[0] && 0 != gethostname(host, sizeof(host) - 1)) {
        strcpy(host, "unknown");
    }
    return host;
}

/* Is this component named in the list of PMLs that the user gave? */
static bool asked_for(void)
{
    char **selection = NULL, **names;
    bool found = false;
    int index = mca_base_var_find("ompi", "pml", NULL, NULL);

    if (0 > index || OPAL_SUCCESS != mca_base_var_get_value(index, &selection, NULL, NULL)
        || NULL == selection || NULL == selection[0]) {
        return false;
    }
    names = opal_argv_split(selection[0], ',');
    for (int i = 0; NULL != names && NULL != names[i]; ++i) {
        found = found || 0 == strcmp(names[i], "llamatch");
    }
    opal_argv_free(names);
    return found;
}

static bool same_release(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, major = -1, minor = -1, release = -1;

    /* Allowed before MPI_Init; the P name, because a tool may have put itself before the other. */
    (void) PMPI_Get_library_version(version, &length);
    if (3 == sscanf(version, "Open MPI v%d.%d.%d", &major, &minor, &release)
        && OMPI_MAJOR_VERSION == major && OMPI_MINOR_VERSION == minor
        && OMPI_RELEASE_VERSION == release) {
        return true;
    }
    /* Unasked it stays silent: then it is only a left-over file in the component folder. */
    if (asked_for()) {
        version[strcspn(version, ",")] = '\0';
        opal_show_help(LLAMATCH_HELP_FILE, "wrong_release", true, local_host(), OMPI_MAJOR_VERSION,
                       OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION, version);
    }
    return false;
}

int mca_pml_llamatch_tuning_register(void)
{
    const mca_base_component_t *component = &mca_pml_llamatch_component.pmlm_version;

#if defined(LLAMATCH_HELP_DIR)
    /* Dropped into an installed Open MPI, our texts are not in its data folder. */
    opal_show_help_add_dir(LLAMATCH_HELP_DIR);
#endif
    if (!same_release()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mca_pml_llamatch_tuning = defaults;
#define LLAMATCH_PARAM(name, type, value, level, scope, help)                                \
    (void) mca_base_component_var_register(                                                  \
        component, #name, help, MCA_BASE_VAR_TYPE_##type, NULL, 0, 0, OPAL_INFO_LVL_##level, \
        MCA_BASE_VAR_SCOPE_##scope, &mca_pml_llamatch_tuning.name);
#define LLAMATCH_INHERITED(name, help)
#include "pml_llamatch_params.def"
    return OMPI_SUCCESS;
}

void mca_pml_llamatch_tuning_init(void)
{
    int entries = mca_pml_llamatch_tuning.entries;

    if (entries < LLAMATCH_ENTRIES_MIN || entries > LLAMATCH_ENTRIES_MAX
        || 0 != (entries & (entries - 1))) {
        opal_show_help(LLAMATCH_HELP_FILE, "bad_entries", true, LLAMATCH_ENTRIES_MIN,
                       LLAMATCH_ENTRIES_MAX, local_host(), entries, defaults.entries);
        mca_pml_llamatch_tuning.entries = defaults.entries;
    }
    if (mca_pml_llamatch_tuning.heater) {
        opal_show_help(LLAMATCH_HELP_FILE, "no_heater", true, local_host(), "true");
        mca_pml_llamatch_tuning.heater = false;
    }
}

const char *mca_pml_llamatch_inherited_help(const char *name)
{
    static const struct {
        const char *name;
        const char *help;
    } texts[] = {
#define LLAMATCH_PARAM(param, type, value, level, scope, text)
#define LLAMATCH_INHERITED(param, text) {#param, text},
#include "pml_llamatch_params.def"
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        if (0 == strcmp(name, texts[i].name)) {
            return texts[i].help;
        }
    }
    return NULL;
}

void mca_pml_llamatch_out_of_memory(const char *what)
{
    opal_show_help(LLAMATCH_HELP_FILE, "out_of_memory", true, what, local_host());
    ompi_rte_abort(1, "pml/llamatch: out of memory for %s", what);
    abort(); /* not reached; some run-time layers return */
}
