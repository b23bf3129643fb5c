/*
 * What this process writes to stderr until the end of MPI_Finalize, for programs that look at it.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_TOLD_H
#define OMPI_LOCALITY_TOLD_H

#include "test.h"

#include <unistd.h>

static FILE *told_file;
static char told[1 << 16];

/* Before MPI_Init, or later: from now on. */
__attribute__((unused)) static void told_begin(void)
{
    told_file = tmpfile();
    if (NULL == told_file || 0 > dup2(fileno(told_file), STDERR_FILENO)) {
        exit(1);
    }
}

/* With MPI_Finalize. */
__attribute__((unused)) static void told_end(void)
{
    MPI_Finalize();
    fflush(stderr);
    rewind(told_file);
    told[fread(told, 1, sizeof(told) - 1, told_file)] = '\0';
}

__attribute__((unused)) static int told_count(const char *wanted)
{
    int found = 0;

    for (const char *at = told; NULL != (at = strstr(at, wanted)); ++at) {
        ++found;
    }
    return found;
}

/* Whether it was told another number of times than it must have been; then the test fails. */
__attribute__((unused)) static int told_wrong(const char *wanted, int times)
{
    int found = told_count(wanted);

    if (times != found) {
        printf("rank %d: %d times \"%s\" in:\n%s\n", test_rank, found, wanted, told);
    }
    return times != found;
}

/* The same of what must have been told once. */
__attribute__((unused)) static int told_lacks(const char *wanted)
{
    return told_wrong(wanted, 1);
}

#endif
