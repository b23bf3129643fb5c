/*
 * Every way to change a word of a target from its present value to the next one.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_WRITES_H
#define OMPI_LOCALITY_WRITES_H

#include "test.h"

enum {
    WRITE_WAYS = 8,
    WRITE_FETCHES = 4 /* ways from this one on fetch the old value, too */
};

/* Issues it; complete at the target after a flush. got is the old value, for ways that fetch. */
static void write_issue(MPI_Win win, int way, int t, int at, long now, long next, long *got)
{
    static long value, change, old; /* origin buffers, until the flush */
    MPI_Request req = MPI_REQUEST_NULL;

    value = next;
    change = next - now;
    old = now;
    if (7 == way && 0x0401 == test_openmpi() && (test_inner_is("rdma") || test_inner_is("sm+rdma"))) {
        way = 6; /* osc/rdma of 4.1 crashes in MPI_Compare_and_swap: btl/vader emulates it */
    }
    switch (way) {
    case 0:
        OK(MPI_Put(&value, 1, MPI_LONG, t, at, 1, MPI_LONG, win));
        break;
    case 1:
        OK(MPI_Rput(&value, 1, MPI_LONG, t, at, 1, MPI_LONG, win, &req));
        break;
    case 2:
        OK(MPI_Accumulate(&change, 1, MPI_LONG, t, at, 1, MPI_LONG, MPI_SUM, win));
        break;
    case 3:
        OK(MPI_Raccumulate(&change, 1, MPI_LONG, t, at, 1, MPI_LONG, MPI_SUM, win, &req));
        break;
    case 4:
        OK(MPI_Get_accumulate(&value, 1, MPI_LONG, got, 1, MPI_LONG, t, at, 1, MPI_LONG,
                              MPI_REPLACE, win));
        break;
    case 5:
        OK(MPI_Rget_accumulate(&change, 1, MPI_LONG, got, 1, MPI_LONG, t, at, 1, MPI_LONG, MPI_SUM,
                               win, &req));
        break;
    case 6:
        OK(MPI_Fetch_and_op(&change, got, MPI_LONG, t, at, MPI_SUM, win));
        break;
    case 7:
        OK(MPI_Compare_and_swap(&value, &old, got, MPI_LONG, t, at, win));
        break;
    }
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

#endif
