/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory limits of control groups.  /proc/self/cgroup has a line "number:controllers:path" for each
 * hierarchy that the process is in:
 *
 *     0::/user.slice/job_7                 version 2: memory.max
 *     4:hugetlb,memory:/slurm/job_7        version 1: memory.limit_in_bytes
 *
 * A limit holds for all groups below, so those of the parents count, too.  In a container without
 * a namespace of its own the path is the host's and does not exist: what is left then is the
 * directory at the top, which is the container's.
 *
 * Needs nothing of Open MPI: test/unit/test_osc_cached_cgroup.c.
 */

#include "osc_cached_cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number in a file; without one ("max"), or without the file, there is no limit. */
static uint64_t read_limit(const char *name)
{
    unsigned long long value;
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(name, "r");

    if (NULL == file) {
        return limit;
    }
    if (1 == fscanf(file, "%llu", &value)) {
        limit = value;
    }
    fclose(file);
    return limit;
}

/* The smallest limit from a path up to the top of its hierarchy. */
static uint64_t least_limit(const char *root, const char *mount, const char *path, const char *file)
{
    int length = (int) strlen(path);
    uint64_t least = UINT64_MAX;
    char name[PATH_MAX];

    for (;;) {
        uint64_t limit;

        if (snprintf(name, sizeof(name), "%s%s%.*s/%s", root, mount, length, path, file)
            < (int) sizeof(name)) {
            limit = read_limit(name);
            least = (limit < least) ? limit : least;
        }
        if (0 == length) {
            return least;
        }
        do {
            --length;
        } while (0 < length && '/' != path[length]);
    }
}

/* Whether a list of names has this one. */
static int has_name(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (;;) {
        size_t item = strcspn(list, ",");

        if (item == length && 0 == strncmp(list, name, length)) {
            return 1;
        }
        if ('\0' == list[item]) {
            return 0;
        }
        list += item + 1;
    }
}

/* The limit that a line of /proc/self/cgroup leads to. */
static uint64_t limit_of(const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *path;
    uint64_t limit, other;

    if (NULL == controllers) {
        return UINT64_MAX;
    }
    *controllers++ = '\0';
    path = strchr(controllers, ':');
    if (NULL == path) {
        return UINT64_MAX;
    }
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    if ('\0' == *controllers) {
        limit = least_limit(root, "/sys/fs/cgroup", path, "memory.max");
        /* where both versions are in use */
        other = least_limit(root, "/sys/fs/cgroup/unified", path, "memory.max");
        return (other < limit) ? other : limit;
    }
    return has_name(controllers, "memory")
               ? least_limit(root, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
               : UINT64_MAX;
}

uint64_t ompi_osc_cached_cgroup_limit(const char *root)
{
    char name[PATH_MAX], line[PATH_MAX];
    uint64_t least = UINT64_MAX;
    FILE *file;

    if ((int) sizeof(name) <= snprintf(name, sizeof(name), "%s/proc/self/cgroup", root)) {
        return least;
    }
    file = fopen(name, "r");
    if (NULL == file) {
        return least;
    }
    while (NULL != fgets(line, sizeof(line), file)) {
        uint64_t limit = limit_of(root, line);

        least = (limit < least) ? limit : least;
    }
    fclose(file);
    return least;
}
