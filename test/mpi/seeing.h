/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a user sees: stderr and the trace, in files of a directory of this process.
 */
#ifndef SEEING_H
#define SEEING_H

#include "test.h"

#include <unistd.h>

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

/* Lines of a file of ours that contain a text; NULL: print all of it. */
__attribute__((unused)) static int seen_lines(const char *folder, const char *name,
                                              const char *text)
{
    char path[256], line[1024];
    int found = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "r");
    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (NULL == text) {
            fputs(line, stdout);
        } else {
            found += NULL != strstr(line, text);
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return found;
}

/* Whether there are more or fewer of them. */
__attribute__((unused)) static int seen_wrong(const char *folder, const char *file,
                                              const char *text, int least, int most)
{
    int found = seen_lines(folder, file, text);

    if (found < least || most < found) {
        printf("rank %d: %d lines of %s with \"%s\", wanted %d to %d\n", test_rank, found, file,
               text, least, most);
        return 1;
    }
    return 0;
}

/* The directory goes; with `bad`, what was written to stderr is printed before. */
__attribute__((unused)) static void see_no_more(const char *folder, const char *trace, int bad)
{
    char path[256];

    if (bad) {
        (void) seen_lines(folder, "stderr", NULL);
    }
    snprintf(path, sizeof(path), "%s/stderr", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/%s", folder, trace);
    unlink(path);
    rmdir(folder);
}

#endif /* SEEING_H */
