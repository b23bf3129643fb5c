/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters that were set and that nobody knows.  Open MPI ignores them without a word.
 * pml/llamatch has this file, too.
 */

#ifndef OSC_CACHED_SPELLING_H
#define OSC_CACHED_SPELLING_H

#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/argv.h"
#include "opal/util/keyval_parse.h"
#include "ompi/constants.h"

#include "core/osc_cached_nearest.h"

extern char **environ;

/** The parameter files, of the user and of the site, the first of which counts. mpirun of 5.0 reads
 * them for its processes and then keeps them from doing so again. */
static inline char **ompi_osc_cached_parameter_files(void)
{
    int index = mca_base_var_find("opal", "mca", "base", "param_files");
    const char *home = getenv("HOME");
    char **value = NULL, **files = NULL;
    char *file;

    if (0 <= index && OPAL_SUCCESS == mca_base_var_get_value(index, &value, NULL, NULL)
        && NULL != value) {
        files = opal_argv_split(*value, ',');
    }
    if (NULL != getenv("OPAL_USER_PARAMS_GIVEN") && NULL != home
        && 0 <= asprintf(&file, "%s/.openmpi/mca-params.conf", home)) {
        opal_argv_prepend_nosize(&files, file);
        free(file);
    }
    if (NULL != getenv("OPAL_SYS_PARAMS_GIVEN")
        && 0 <= asprintf(&file, "%s/openmpi-mca-params.conf", opal_install_dirs.sysconfdir)) {
        opal_argv_append_nosize(&files, file);
        free(file);
    }
    return files;
}

/** What is looked for, and what was found. Static: the parser of parameter files hands no argument
 * on. */
static struct {
    const char *prefix; /* of the names */
    const char *file;   /* that is read; NULL: the environment */
    char text[1024];    /* one line for each name that is not known */
} ompi_osc_cached_spelling;

/** The known name that is most like another one; NULL: half of its letters would have to
 * change, or more. */
static inline const char *ompi_osc_cached_nearest(const char *name, const char *prefix)
{
    const char *nearest = NULL;
    unsigned edits = (unsigned) (strlen(name) - strlen(prefix)) / 2 + 1;

    for (int i = 0; i < mca_base_var_get_count(); ++i) {
        const mca_base_var_t *var;
        unsigned more;

        if (OPAL_SUCCESS != mca_base_var_get(i, &var) || NULL == var->mbv_full_name
            || 0 != strncmp(var->mbv_full_name, prefix, strlen(prefix))) {
            continue;
        }
        more = osc_cached_distance(name, var->mbv_full_name);
        if (more < edits) {
            edits = more;
            nearest = var->mbv_full_name;
        }
    }
    return nearest;
}

static inline void ompi_osc_cached_spell(const char *name, const char *value)
{
    const char *prefix = ompi_osc_cached_spelling.prefix, *file = ompi_osc_cached_spelling.file;
    char *text = ompi_osc_cached_spelling.text, key[128], where[128];
    const char *nearest;
    size_t used = strlen(text), size = sizeof(ompi_osc_cached_spelling.text);
    int index;

    (void) value;
    snprintf(key, sizeof(key), "%s: there is", name);
    if (0 == strncmp(name, prefix, strlen(prefix))
        && OPAL_SUCCESS != mca_base_var_find_by_name(name, &index) && NULL == strstr(text, key)) {
        nearest = ompi_osc_cached_nearest(name, prefix);
        /* "osc_cached_" */
        snprintf(where, sizeof(where), "ompi_info --param %.*s %.*s --level 9 lists all",
                 (int) strcspn(prefix, "_"), prefix, (int) strcspn(strchr(prefix, '_') + 1, "_"),
                 strchr(prefix, '_') + 1);
        snprintf(text + used, size - used, "%s%s no such parameter; %s%s%s%s%s",
                 (0 == used) ? "" : "\n", key, (NULL == nearest) ? "" : "the nearest name is ",
                 (NULL == nearest) ? where : nearest, (NULL == file) ? "" : " (",
                 (NULL == file) ? "" : file, (NULL == file) ? "" : ")");
    }
}

/** Names with this prefix in the environment, where mpirun puts those of its command line, and in
 * parameter files, which no variable has: one line each, or "". */
static inline const char *ompi_osc_cached_misspelt(const char *prefix)
{
    static const char mca[] = "OMPI_MCA_";
    char **files = ompi_osc_cached_parameter_files();

    ompi_osc_cached_spelling.prefix = prefix;
    ompi_osc_cached_spelling.text[0] = '\0';
    for (int i = 0; i < opal_argv_count(files); ++i) {
        ompi_osc_cached_spelling.file = files[i];
        (void) opal_util_keyval_parse(files[i], ompi_osc_cached_spell);
    }
    opal_argv_free(files);
    ompi_osc_cached_spelling.file = NULL;
    for (char **variable = environ; NULL != variable && NULL != *variable; ++variable) {
        char name[128];

        if (0 == strncmp(*variable, mca, strlen(mca))) {
            snprintf(name, sizeof(name), "%s", *variable + strlen(mca));
            name[strcspn(name, "=")] = '\0';
            ompi_osc_cached_spell(name, NULL);
        }
    }
    return ompi_osc_cached_spelling.text;
}

#endif /* OSC_CACHED_SPELLING_H */
