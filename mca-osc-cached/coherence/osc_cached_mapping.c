/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * /proc/self/maps has a line for each mapping, in order:
 *
 *     ffff8b800000-ffff8b900000 rw-s 00000000 00:01 1027      /dev/shm/ucx_shm_posix_7a1 (deleted)
 *
 * Needs nothing of Open MPI: test/unit/test_osc_cached_mapping.c.
 */

#include "osc_cached_mapping.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return 0 == strncmp(text, with, strlen(with));
}

static ompi_osc_cached_mapping_t kind_of(bool shared, unsigned long inode, const char *name)
{
    if (begins(name, "/anon_hugepage")) {
        return OSC_CACHED_MAPPING_HUGE;
    }
    if (!shared) {
        return (0 == inode) ? OSC_CACHED_MAPPING_PRIVATE : OSC_CACHED_MAPPING_FILE;
    }
    if (begins(name, "/dev/zero") || begins(name, "[anon_shmem:")) {
        return OSC_CACHED_MAPPING_ANONYMOUS;
    }
    if (begins(name, "/memfd:")) {
        return OSC_CACHED_MAPPING_MEMFD;
    }
    if (begins(name, "/dev/shm/")) {
        return OSC_CACHED_MAPPING_POSIX;
    }
    return begins(name, "/SYSV") ? OSC_CACHED_MAPPING_SYSV : OSC_CACHED_MAPPING_FILE;
}

ompi_osc_cached_mapping_t ompi_osc_cached_mapping(const void *base, size_t size)
{
    ompi_osc_cached_mapping_t kind = OSC_CACHED_MAPPING_NONE;
    uintptr_t at = (uintptr_t) base, end = at + size;
    char line[PATH_MAX + 128];
    FILE *file = fopen("/proc/self/maps", "r");

    while (NULL != file && at < end && NULL != fgets(line, sizeof(line), file)) {
        unsigned long from, to, inode;
        ompi_osc_cached_mapping_t mine;
        char shared;
        int name = 0;

        if (4 != sscanf(line, "%lx-%lx %*3c%c %*s %*s %lu %n", &from, &to, &shared, &inode, &name)
            || to <= at) {
            continue;
        }
        if (at < from) {
            break; /* a hole */
        }
        mine = kind_of('s' == shared, inode, line + name);
        if (OSC_CACHED_MAPPING_NONE != kind && mine != kind) {
            mine = OSC_CACHED_MAPPING_MIXED;
        }
        kind = mine;
        at = to;
    }
    if (NULL != file) {
        (void) fclose(file);
    }
    return (at < end) ? OSC_CACHED_MAPPING_NONE : kind;
}
