/* Parameters that are numbers are numbers in MPI_T, with the value that the component read: from
 * the environment with a unit, and from a parameter file, in a form that Open MPI would take for 1.
 *
 * test: for=osc-cached transport=shm args=cached
 * test: for=pml-llamatch transport=shm args=llamatch
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "test.h"

#include <unistd.h>

static char file[] = "/tmp/x_cvars.XXXXXX";

/* Environment and file of this process alone; mpirun has its own. */
static void set(void)
{
    int at = mkstemp(file);

    CHECK(0 <= at && 0 < dprintf(at, "osc_cached_interval = 1e3\npml_llamatch_entries = 16\n"),
          "cannot write %s", file);
    close(at);
    setenv("OMPI_MCA_mca_base_param_files", file, 1);
    setenv("OMPI_MCA_osc_cached_window_memory", "64K", 1);
    setenv("OMPI_MCA_osc_cached_sparsity", "0.125", 1);
    setenv("OMPI_MCA_pml_llamatch_heater_max_bytes", "64K", 1);
    setenv("OMPI_MCA_pml_llamatch_heater_period", "5000", 1);
}

static void check(const char *name, MPI_Datatype type, double wanted)
{
    int index, name_length, desc_length, verbosity, bind, scope, count;
    MPI_T_cvar_handle handle;
    MPI_Datatype found;
    MPI_T_enum names;
    double value;

    OK(MPI_T_cvar_get_index(name, &index));
    name_length = desc_length = 0;
    OK(MPI_T_cvar_get_info(index, NULL, &name_length, &verbosity, &found, &names, NULL,
                           &desc_length, &bind, &scope));
    CHECK(type == found, "%s is of another type", name);
    CHECK(MPI_T_ENUM_NULL == names, "%s has names", name);
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    CHECK(1 == count, "%s has %d elements", name, count);
    if (MPI_DOUBLE == found) {
        OK(MPI_T_cvar_read(handle, &value));
    } else {
        int64_t number = 0; /* as large as an unsigned long */

        OK(MPI_T_cvar_read(handle, &number));
        value = (double) number;
    }
    CHECK(wanted == value, "%s is %g, not %g", name, value, wanted);
    OK(MPI_T_cvar_handle_free(&handle));
}

static void check_cached(int has_file)
{
    check("osc_cached_window_memory", MPI_UNSIGNED_LONG, 65536);
    check("osc_cached_sparsity", MPI_DOUBLE, 0.125);
    check("osc_cached_entries", MPI_UNSIGNED_LONG, 4096);
    check("osc_cached_memory_increase", MPI_DOUBLE, 2);
    if (has_file) {
        check("osc_cached_interval", MPI_UNSIGNED_LONG, 1000);
    }
}

static void check_llamatch(int has_file)
{
    check("pml_llamatch_heater_max_bytes", MPI_INT64_T, 65536);
    check("pml_llamatch_heater_period", MPI_INT64_T, 5000);
    check("pml_llamatch_heater_cpu", MPI_INT64_T, -1);
    if (has_file) {
        check("pml_llamatch_entries", MPI_INT64_T, 16);
    }
}

int main(int argc, char **argv)
{
    /* else mpirun has read its files for all */
    int provided, has_file = NULL == getenv("OPAL_USER_PARAMS_GIVEN");

    set();
    test_init(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    if (0 == strcmp("cached", argv[1])) {
        check_cached(has_file);
    } else {
        check_llamatch(has_file);
    }
    OK(MPI_T_finalize());
    unlink(file);
    return test_done();
}
