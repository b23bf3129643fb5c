/* What a user sees of a job: one table, or JSON, from the first process of a window only, with the
 * sums of all processes. Rules that no window has matched are named.
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2,3 args="job"
 * test: for=osc-cached needs=cache cache="mode=always" transport=shm args="json"
 * test: for=osc-cached needs=cache cache="" transport=shm args="1"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "told.h"

enum { GETS = 8, WINDOWS = 3 };

int main(int argc, char **argv)
{
    const char *kind = argv[1];
    char *base, buffer[64], wanted[256];
    int bad = 0, transparent = 0 == strcmp(kind, "1"), gets;
    MPI_Win win;

    told_begin();
    setenv("OMPI_MCA_osc_cached_helper_stats", "0", 1); /* asked for between nodes */
    setenv("OMPI_MCA_osc_cached_stats", kind, 1);
    setenv("OMPI_MCA_osc_cached_rules",
           "name=\"first\": sample=7; name=l*: sample=8; kind=dynamic: sample=9; processes>0: sample=10",
           1);
    test_init(&argc, &argv);
    for (int i = 0; i < WINDOWS; ++i) {
        win = test_win_make(NULL, 64, 1, &base);
        OK(MPI_Win_set_name(win, (2 == i) ? "last" : "first"));
        OK(MPI_Win_lock_all(0, win));
        test_barrier();
        for (int k = 0; k < GETS; ++k) {
            OK(MPI_Get(buffer, 16, MPI_BYTE, (test_rank + 1) % test_size, 32, 16, MPI_BYTE, win));
            OK(MPI_Win_flush((test_rank + 1) % test_size, win));
        }
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    told_end();

    gets = GETS * test_size;
    if (0 != test_rank) {
        return told_wrong("cached", 0);
    }
    if (0 == strcmp(kind, "json")) {
        bad |= told_lacks("{\"osc_cached\": {\"total\": {\"windows\": 3, \"processes\": 2, "
                          "\"hit_rate\": 0.8750, \"gets\": 48,");
        bad |= told_lacks("{\"name\": \"last\", \"mode\": \"always\", ");
        bad |= told_lacks("\"windows\": 2, \"processes\": 2, \"hit_rate\": 0.8750, \"gets\": 32, "
                          "\"rgets\": 0, \"hits\": 28,");
        bad |= told_wrong("rule", 0);
        return bad;
    }
    snprintf(wanted, sizeof(wanted),
             "osc/cached: %d gets of %d processes in 3 windows, %s %% from the cache; ",
             WINDOWS * gets, test_size, transparent ? "0.0" : "87.5");
    bad |= told_lacks(wanted);
    snprintf(wanted, sizeof(wanted), "\n  first                      2 %-11s ",
             transparent ? "transparent" : "always");
    bad |= told_lacks(wanted);
    bad |= told_lacks("\n  last                       1 ");
    bad |= told_lacks("\nosc/cached: rule 1 of osc_cached_rules, name=\"first\" matched no window\n");
    bad |= told_lacks("\nosc/cached: rule 3 of osc_cached_rules matched no window\n");
    bad |= told_wrong("matched no window", 2);
    if (transparent) {
        snprintf(wanted, sizeof(wanted),
                 "\n    %d bypassed: mode transparent keeps nothing between lock and unlock",
                 2 * gets);
        bad |= told_lacks(wanted);
    }
    return bad;
}
