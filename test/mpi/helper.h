/*
 * What the tests of the helper share: they count what helpers did, so that no test passes because
 * the inner component did the work.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_HELPER_H
#define OMPI_LOCALITY_HELPER_H

#include "counters.h"

#include <dirent.h>

__attribute__((unused)) static int has_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int n = 0;

    while (NULL != dir && NULL != (entry = readdir(dir))) {
        n += '.' != entry->d_name[0];
    }
    if (NULL != dir) {
        closedir(dir);
    }
    return n;
}

/* Are there several nodes, and no RDMA? Collective. */
__attribute__((unused)) static int helper_is_useful(void)
{
    int here, several_rdma[2];
    MPI_Comm node;

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &here));
    OK(MPI_Comm_free(&node));
    several_rdma[0] = here < test_size;
    several_rdma[1] = has_entries("/sys/class/infiniband") || has_entries("/sys/class/cxi");
    OK(MPI_Allreduce(MPI_IN_PLACE, several_rdma, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return several_rdma[0] && !several_rdma[1];
}

/* Sums over all ranks of what was given to helpers, and of what they did. Collective; all
 * operations must be complete, and none may have had the own rank as its target. */
__attribute__((unused)) static void helper_did(struct counters *c, unsigned long wanted)
{
    unsigned long mine[2] = {counter(c, "helper_operations"), counter(c, "helper_served")}, all[2];

    OK(MPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (test_is_plain()) {
        return;
    }
    CHECK(all[0] == wanted, "%lu operations were given to helpers, wanted %lu", all[0], wanted);
    CHECK(all[1] >= wanted, "helpers did %lu operations, wanted at least %lu", all[1], wanted);
}

#endif
