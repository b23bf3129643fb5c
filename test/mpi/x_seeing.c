/* What a user sees: the counters of each window and process on stderr (osc_cached_stats ranks), and one line per get in a
 * file per process (osc_cached_trace).
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "seeing.h"

#include <unistd.h>

enum { GETS = 8 };

static char folder[] = "/tmp/olseeing.XXXXXX";

/* Lines of a file of ours that contain a text; the file goes with the last look. */
static int lines_with(const char *name, const char *text, int last)
{
    char path[256], line[1024];
    int found = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "r");
    if (NULL == file) {
        printf("rank %d: no file %s\n", test_rank, name);
        return -1;
    }
    while (NULL != fgets(line, sizeof(line), file)) {
        found += NULL != strstr(line, text);
    }
    fclose(file);
    if (last) {
        unlink(path);
    }
    return found;
}

static int wrong(const char *what, int found, int wanted)
{
    if (found != wanted) {
        printf("rank %d: %d lines with %s, wanted %d\n", test_rank, found, what, wanted);
    }
    return found != wanted;
}

int main(int argc, char **argv)
{
    char trace[32], *base, buffer[64];
    int bad = 0;
    MPI_Win win;

    see(folder, "OMPI_MCA_osc_cached_stats");
    setenv("OMPI_MCA_osc_cached_stats", "ranks", 1);

    test_init(&argc, &argv);
    win = test_win_make(NULL, 64, 1, &base);
    OK(MPI_Win_set_name(win, "seen"));
    OK(MPI_Win_lock_all(0, win));
    test_barrier();
    for (int i = 0; i < GETS; ++i) {
        OK(MPI_Get(buffer, 16, MPI_BYTE, 1 - test_rank, 32, 16, MPI_BYTE, win));
        OK(MPI_Win_flush(1 - test_rank, win));
    }
    OK(MPI_Get(buffer, 8, MPI_BYTE, test_rank, 0, 8, MPI_BYTE, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    MPI_Finalize();
    fflush(stderr);

    bad |= wrong("a summary",
                 lines_with("stderr",
                            0 == test_rank ? "osc/cached: rank 0 window \"seen\""
                                           : "osc/cached: rank 1 window \"seen\"",
                            0),
                 1);
    bad |= wrong("the mode", lines_with("stderr", test_inner_is("ucx") ? "inner ucx mode always" : " mode always", 0), 1);
    bad |= wrong("7 hits", lines_with("stderr", " hits                          7", 1), 1);
    snprintf(trace, sizeof(trace), "trace.%d", test_rank);
    bad |= wrong("the format", lines_with(trace, "# osc_cached trace 1", 0), 1);
    bad |= wrong("a miss", lines_with(trace, " 32 16 direct", 0), 1);
    bad |= wrong("a hit", lines_with(trace, " 32 16 hit", 0), GETS - 1);
    bad |= wrong("a get from itself", lines_with(trace, " 0 8 bypassed", 1), 1);
    rmdir(folder);
    return bad;
}
