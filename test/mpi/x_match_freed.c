/* The numbers of a communicator that was freed: reading them is an error, not a crash.
 * test: for=pml-llamatch ranks=2 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

int main(int argc, char **argv)
{
    static struct counters counters;
    unsigned long values[COUNTERS_VALUES];
    MPI_Comm comm;

    test_init(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    counters_open_all(&counters, "pml_llamatch_", MPI_T_BIND_MPI_COMM, &comm);
    CHECK(2 < counters.n, "only %d performance variables", counters.n);
    OK(MPI_Comm_free(&comm));
    for (int i = 0; i < counters.n; ++i) {
        CHECK(MPI_SUCCESS != MPI_T_pvar_read(counters_session, counters.handle[i], values),
              "%s of a freed communicator is %lu", counters.name[i], values[0]);
    }
    counters_close(&counters);
    return test_done();
}
