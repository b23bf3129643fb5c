/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A user's copy of a component that is not used: Open MPI looks into its own directory before the
 * user's.  pml/llamatch has this file, too.
 */

#ifndef OSC_CACHED_HIDDEN_H
#define OSC_CACHED_HIDDEN_H

#include "ompi_config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_var.h"
#include "ompi/constants.h"

/** Whether a file has a string, with its end. It never goes back: no file of ours has the beginning
 * of the string inside of another one. */
static inline bool ompi_osc_cached_file_has(const char *path, const char *string)
{
    FILE *file = fopen(path, "r");
    size_t found = 0;
    int letter;

    if (NULL == file) {
        return false;
    }
    while (found <= strlen(string) && EOF != (letter = fgetc(file))) {
        found = (letter == string[found]) ? found + 1 : (letter == string[0]);
    }
    (void) fclose(file);
    return strlen(string) < found;
}

/** Whether the user has another copy (file) of the component with this object, for the same release
 * (built_for, a string in both), and has named no directories. Sets both paths. */
static inline bool ompi_osc_cached_hides_copy(const void *object, const char *file,
                                              const char *built_for, char used[PATH_MAX],
                                              char hidden[PATH_MAX])
{
    int index = mca_base_var_find("opal", "mca", "base", "component_path");
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_MAX;
    const char *home = getenv("HOME");
    char copy[PATH_MAX];
    char **value;
    Dl_info info;

    if (0 > index || OPAL_SUCCESS != mca_base_var_get_value(index, &value, &source, NULL)
        || MCA_BASE_VAR_SOURCE_DEFAULT != source || NULL == home || 0 == dladdr(object, &info)
        || NULL == info.dli_fname) {
        return false;
    }
    snprintf(copy, sizeof(copy), "%s/.openmpi/components/%s", home, file);
    return NULL != realpath(copy, hidden) && NULL != realpath(info.dli_fname, used)
           && 0 != strcmp(used, hidden) && ompi_osc_cached_file_has(hidden, built_for);
}

#endif /* OSC_CACHED_HIDDEN_H */
