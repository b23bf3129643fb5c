/* Patch 0017: the lines that ompi_info shows of a performance variable have an end.
 * test: for=pml-llamatch ranks=1 transport=shm limit=60 devel=yes cflags="-Wl,--no-as-needed -lopen-pal"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A variable with a text and names of its values has three; behind them is a NULL, where the one
 * who prints them stops. Ours avoid the third one, so that ompi_info of a stock Open MPI does not
 * crash.
 */
#include "test.h"

#if defined(OMPI_HAVE_MPI_EXT_CACHED)
#include <malloc.h>

#include "ompi_config.h"
#include "opal/mca/base/mca_base_pvar.h"

static int read_state(const mca_base_pvar_t *pvar, void *value, void *object)
{
    *(int *) value = 1;
    return OPAL_SUCCESS;
}
#endif

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
#if defined(OMPI_HAVE_MPI_EXT_CACHED)
    static const mca_base_var_enum_value_t values[] = {{0, "off"}, {1, "on"}, {0, NULL}};
    mca_base_var_enum_t *names;
    char **lines;
    int index;

    OK(mca_base_var_enum_create("test_info_lines", values, &names));
    index = mca_base_pvar_register(
        "ompi", "test", "info", "lines", "What it is", OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_STATE,
        MCA_BASE_VAR_TYPE_INT, names, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_state, NULL, NULL, NULL);
    CHECK(0 <= index, "not registered: %d", index);
    OK(mca_base_pvar_dump(index, &lines, MCA_BASE_VAR_DUMP_READABLE));
    CHECK(4 * sizeof(lines[0]) <= malloc_usable_size(lines), "room for %zu bytes",
          malloc_usable_size(lines));
    for (int i = 0; i < 3; ++i) {
        CHECK(NULL != lines[i], "only %d lines", i);
        free(lines[i]);
    }
    CHECK(NULL == lines[3], "no end");
    free(lines);
    OBJ_RELEASE(names);
    return test_done();
#else
    test_skip("an Open MPI without patch 0017");
    return 0;
#endif
}
