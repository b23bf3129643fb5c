/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What Open MPI knows of keys and processes, and help texts in 6.0.
 */

#include "ompi_config.h"

#include "osc_cached_compat.h"

#include <stdio.h>

bool ompi_osc_cached_read_key(opal_info_t *info, const char *key, char *value, size_t size)
{
    int flag = 0;

    if (NULL == info) {
        return false;
    }
#if OMPI_MAJOR_VERSION >= 5
    opal_cstring_t *text = NULL;

    if (OPAL_SUCCESS == opal_info_get(info, key, &text, &flag) && flag) {
        snprintf(value, size, "%s", text->string);
        OBJ_RELEASE(text);
    }
#else
    (void) opal_info_get(info, key, (int) size - 1, value, &flag);
    value[size - 1] = '\0';
#endif
    return 0 != flag;
}

/* Only processes of our node are known to Open MPI from the start: nothing is allocated for the
 * others. */
bool ompi_osc_cached_is_near(ompi_group_t *group, int rank)
{
    ompi_proc_t *proc = ompi_group_peer_lookup_existing(group, rank);

    return NULL != proc && OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
}

#ifdef OSC_CACHED_OWN_HELP

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/output.h"

/* 6.0 knows only those that were there when it was built: its function finds none of a component
 * that came later.  Ours are read from the file that is installed with the component, and are shown
 * by each process, not once for all. */
#undef opal_show_help

enum { TEXT_MAX = 4096 }; /* bytes */

static const char here; /* in this DSO */

/* Beside the component, or where Open MPI has its own. */
static FILE *open_texts(const char *name)
{
    Dl_info info;
    char path[PATH_MAX];
    char *slash = NULL;
    FILE *file = NULL;

    if (0 != dladdr(&here, &info) && NULL != info.dli_fname) {
        snprintf(path, sizeof(path), "%s", info.dli_fname);
        slash = strrchr(path, '/');
    }
    if (NULL != slash) {
        snprintf(slash + 1, sizeof(path) - (size_t) (slash + 1 - path), "%s", name);
        file = fopen(path, "r");
    }
    if (NULL == file) {
        snprintf(path, sizeof(path), "%s/%s", opal_install_dirs.opaldatadir, name);
        file = fopen(path, "r");
    }
    return file;
}

/* The lines of a topic, without comments; false: there is none. */
static bool read_topic(FILE *file, const char *topic, char *text, size_t size)
{
    char line[256], wanted[128];
    bool found = false;
    size_t used = 0;

    snprintf(wanted, sizeof(wanted), "[%s]\n", topic);
    text[0] = '\0';
    while (NULL != fgets(line, sizeof(line), file)) {
        if ('[' == line[0]) {
            if (found) {
                break;
            }
            found = 0 == strcmp(wanted, line);
        } else if (found && '#' != line[0] && used < size) {
            used += (size_t) snprintf(text + used, size - used, "%s", line);
        }
    }
    return found;
}

int ompi_osc_cached_show_help(const char *name, const char *topic, int want_header, ...)
{
    static const char dashes[] =
        "--------------------------------------------------------------------------";
    char format[TEXT_MAX], text[2 * TEXT_MAX];
    FILE *file = open_texts(name);
    bool found = NULL != file && read_topic(file, topic, format, sizeof(format));
    int ret = OPAL_SUCCESS;
    va_list arguments;

    if (NULL != file) {
        fclose(file);
    }
    va_start(arguments, want_header);
    if (found) {
        vsnprintf(text, sizeof(text), format, arguments);
        opal_output(0, "\n%s\n%s%s", dashes, text, dashes);
    } else {
        ret = opal_show_vhelp(name, topic, want_header, arguments);
    }
    va_end(arguments);
    return ret;
}

#endif
