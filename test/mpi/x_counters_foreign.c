/* A window of another component than osc/cached has no counters osc_cached_*: a tool that asks for
 * them gets an error, and the program goes on. (Run without osc: another component is chosen.)
 * test: for=pml ranks=2 transport=shm limit=60 allow="OSC UCX component priority|^ *$"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

int main(int argc, char **argv)
{
    MPI_T_pvar_session session;
    int provided, n, *memory;
    MPI_Win win;

    test_init(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_num(&n));
    for (int i = 0; i < n; ++i) {
        char name[256];
        int len = sizeof(name), verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Datatype datatype;
        MPI_T_enum enumtype;
        MPI_T_pvar_handle handle;
        unsigned long value = 0;

        if (MPI_SUCCESS
                != MPI_T_pvar_get_info(i, name, &len, &verbosity, &class, &datatype, &enumtype,
                                       NULL, NULL, &bind, &readonly, &continuous, &atomic)
            || 0 != strncmp(name, "osc_cached_", 11)) {
            continue;
        }
        if (MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, i, &win, &handle, &count)) {
            CHECK(MPI_SUCCESS != MPI_T_pvar_read(session, handle, &value),
                  "%s of another component's window is %lu", name, value);
            OK(MPI_T_pvar_handle_free(session, &handle));
        }
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_Win_free(&win));
    OK(MPI_T_finalize());
    return test_done();
}
