/*
 * What the tests of the hint mpi_assert_allow_overtaking share.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_OVERTAKING_H
#define OMPI_LOCALITY_OVERTAKING_H

#include "test.h"

static const char *const overtaking_key = "mpi_assert_allow_overtaking";

__attribute__((unused)) static MPI_Info overtaking_info(void)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, overtaking_key, "true"));
    return info;
}

__attribute__((unused)) static MPI_Comm with_overtaking(MPI_Comm parent)
{
    MPI_Comm comm;
    MPI_Info info = overtaking_info();

    OK(MPI_Comm_dup_with_info(parent, info, &comm));
    OK(MPI_Info_free(&info));
    return comm;
}

/* Collective messages stay in order, and are expected in the order in which they were sent. */
__attribute__((unused)) static void collectives(MPI_Comm comm, int round)
{
    for (int root = 0; root < test_size; ++root) {
        int value = 1000 * round + root, sum, mine = test_rank + round;

        if (test_rank != root) {
            value = -1;
        }
        OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
        CHECK(1000 * round + root == value, "round %d: broadcast of %d gave %d", round, root,
              value);
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(test_size * (test_size - 1) / 2 + test_size * round == sum, "round %d: sum %d", round,
              sum);
    }
}

#endif
