/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a user sees: stderr and the trace, in files of a directory of this process.
 */
#ifndef SEEING_H
#define SEEING_H

#include "test.h"

/* Before MPI_Init. */
static void see(char *folder, const char *summary)
{
    char path[256];

    if (NULL == mkdtemp(folder)) {
        exit(1);
    }
    snprintf(path, sizeof(path), "%s/stderr", folder);
    if (NULL == freopen(path, "w", stderr)) {
        exit(1);
    }
    snprintf(path, sizeof(path), "%s/trace", folder);
    setenv("OMPI_MCA_osc_cached_trace", path, 1);
    setenv(summary, "1", 1);
}

#endif /* SEEING_H */
