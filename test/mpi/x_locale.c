/* Parameters and info keys are read as they are written, also in a program whose locale has 0,5 for a
 * half.
 * test: for=osc-cached ranks=2 transport=shm cflags=-rdynamic
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "storage.h"

#include <locale.h>

/* In the place of the C library's, as if setlocale had chosen such a locale: there may be none on
 * this machine. */
double strtod(const char *text, char **end)
{
    locale_t locale = uselocale((locale_t) 0);
    double value = 0;

    if (LC_GLOBAL_LOCALE != locale) {
        return strtod_l(text, end, locale);
    }
    for (; '0' <= *text && *text <= '9'; ++text) {
        value = 10 * value + (*text - '0');
    }
    if (NULL != end) { /* Open MPI wants only the value */
        *end = (char *) text;
    }
    return value;
}

int main(int argc, char **argv)
{
    struct stat status;
    char *base;
    MPI_Win win;

    setenv("OMPI_MCA_osc_cached_sparsity", "0.125", 1);
    test_init(&argc, &argv); /* which would complain about the defaults of parameters, too */
    storage_begin();
    OK(storage_allocate(1 << 20, 1, &base, &win, "half", "storage_alloc_factor", "0.5", NULL));
    CHECK(0 == stat(storage_name("half"), &status) && 1 << 19 == status.st_size, "%ld bytes",
          (long) status.st_size);
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
