/*
 * A process with less memory: control groups.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_LIMIT_H
#define OMPI_LOCALITY_LIMIT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results.h"

/* A control group of this process alone; @return whether there is one */
MICRO_UNUSED static bool limit_memory(char *group, size_t size, size_t bytes)
{
    static const char *const roots[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};
    static const char *const limits[] = {"memory.limit_in_bytes", "memory.max"};
    char path[4096];

    for (int i = 0; i < 2; ++i) {
        FILE *file;
        bool good = false;

        snprintf(group, size, "%s/olbench.%d", roots[i], (int) getpid());
        if (0 != mkdir(group, 0755)) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", group, limits[i]);
        file = fopen(path, "w");
        if (NULL != file) {
            fprintf(file, "%zu\n", bytes);
            good = 0 == fclose(file);
        }
        snprintf(path, sizeof(path), "%s/cgroup.procs", group);
        file = good ? fopen(path, "w") : NULL;
        if (NULL != file) {
            fprintf(file, "%d\n", (int) getpid());
            good = 0 == fclose(file);
        }
        if (NULL != file && good) {
            return true;
        }
        rmdir(group);
    }
    return false;
}

/* Only an empty group can be removed. */
MICRO_UNUSED static void leave_group(const char *group)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%.*s/cgroup.procs", (int) (strrchr(group, '/') - group), group);
    file = fopen(path, "w");
    if (NULL != file) {
        fprintf(file, "%d\n", (int) getpid());
        fclose(file);
    }
    rmdir(group);
}

#endif
