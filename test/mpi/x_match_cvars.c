/* Parameters that are numbers are numbers in MPI_T, with the value that pml/llamatch read: from the
 * environment, also with a unit, or from a parameter file.
 *
 * test: for=pml-llamatch transport=shm
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "test.h"

#include <unistd.h>

static char file[] = "/tmp/x_match_cvars.XXXXXX";

/* Environment and file of this process alone; mpirun has its own. */
static void set(void)
{
    int at = mkstemp(file);

    CHECK(0 <= at && 0 < dprintf(at, "pml_llamatch_entries = 16\n"), "cannot write %s", file);
    close(at);
    setenv("OMPI_MCA_mca_base_param_files", file, 1);
    setenv("OMPI_MCA_pml_llamatch_heater_max_bytes", "64K", 1);
    setenv("OMPI_MCA_pml_llamatch_heater_period", "5000", 1);
}

static void check(const char *name, int64_t wanted)
{
    int index, name_length = 0, desc_length = 0, verbosity, bind, scope, count;
    MPI_T_cvar_handle handle;
    MPI_Datatype type;
    MPI_T_enum names;
    int64_t value = 0;

    OK(MPI_T_cvar_get_index(name, &index));
    OK(MPI_T_cvar_get_info(index, NULL, &name_length, &verbosity, &type, &names, NULL, &desc_length,
                           &bind, &scope));
    CHECK(MPI_INT64_T == type, "%s is of another type", name);
    CHECK(MPI_T_ENUM_NULL == names, "%s has names", name);
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    CHECK(1 == count, "%s has %d elements", name, count);
    OK(MPI_T_cvar_read(handle, &value));
    CHECK(wanted == value, "%s is %lld, not %lld", name, (long long) value, (long long) wanted);
    OK(MPI_T_cvar_handle_free(&handle));
}

int main(int argc, char **argv)
{
    int provided;

    set();
    test_init(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    if (NULL == getenv("OPAL_USER_PARAMS_GIVEN")) { /* else mpirun has read its files for all */
        check("pml_llamatch_entries", 16);
    }
    check("pml_llamatch_heater_max_bytes", 65536);
    check("pml_llamatch_heater_period", 5000);
    check("pml_llamatch_heater_cpu", -1);
    OK(MPI_T_finalize());
    unlink(file);
    return test_done();
}
