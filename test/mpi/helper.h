/*
 * What the tests of the helper share: they count what helpers did, so that no test passes because
 * the inner component did the work; and targets may compute meanwhile.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_HELPER_H
#define OMPI_LOCALITY_HELPER_H

#include "counters.h"

#include <dirent.h>
#include <time.h>

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

/* Shall all windows of this run have a helper?  Some programs run with the inner component, too. */
__attribute__((unused)) static int helper_is_on(void)
{
    const char *value = getenv("OMPI_MCA_osc_cached_helper");

    return NULL != value && 0 == strcmp("on", value) && !test_is_plain();
}

/* Must helpers do all puts and gets that they can? */
__attribute__((unused)) static int helper_moves_all(void)
{
    const char *value = getenv("OMPI_MCA_osc_cached_helper_transfers");

    return NULL != value && 0 == strcmp("helper", value);
}

/* With --rest of test/mpi/run: up to three times as many ms without a call of MPI, not the same on
 * all ranks, so that others meet a target that computes. */
__attribute__((unused)) static void helper_rest(void)
{
    static int calls;
    const char *rest = getenv("LOCALITY_TEST_REST");
    double ms = (NULL == rest) ? 0 : atof(rest) * ((3 * calls++ + test_rank) % 4);
    struct timespec begin, now;

    (void) clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        (void) clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double) (now.tv_sec - begin.tv_sec) * 1e3
                 + (double) (now.tv_nsec - begin.tv_nsec) * 1e-6
             < ms);
}

/* The same of a rank that is only a target, before it waits for the others. */
__attribute__((unused)) static void helper_rest_long(void)
{
    for (int i = 0; i < 8; ++i) {
        helper_rest();
    }
}

/* One operation at another process, in an epoch of its own. */
__attribute__((unused)) static void helper_add_one(MPI_Win win, int target)
{
    const long one = 1;

    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock(target, win));
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
