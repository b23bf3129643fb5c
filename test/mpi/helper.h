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
