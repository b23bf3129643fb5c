/* osc_cached_advise of gets that are too cheap for a cache: most of them are not watched, and all are
 * counted, gets and requests in turns.
 *
 * test: for=osc-cached ranks=2 transport=shm limit=120 mca="osc_cached_mode=always osc_cached_bypass_below=1000000000"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "told.h"

enum { TURNS = 8, EACH = 5000 };

int main(int argc, char **argv)
{
    int target, wanted = 2 * 2 * TURNS * EACH;
    const char *found;
    char *base, got;
    MPI_Win win;
    long gets;

    setenv("OMPI_MCA_osc_cached_advise", "json", 1);
    test_init(&argc, &argv);
    target = 1 - test_rank;
    win = test_win_make(NULL, EACH, 1, &base);
    memset(base, 7, EACH);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int turn = 0; turn < 2 * TURNS; ++turn) {
        for (int i = 0; i < EACH; ++i) {
            MPI_Request request;

            got = 0;
            if (turn % 2) {
                OK(MPI_Rget(&got, 1, MPI_CHAR, target, i, 1, MPI_CHAR, win, &request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            } else {
                OK(MPI_Get(&got, 1, MPI_CHAR, target, i, 1, MPI_CHAR, win));
                OK(MPI_Win_flush(target, win));
            }
            CHECK(7 == got, "%d", got);
        }
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    fflush(stderr);
    told_begin();
    told_end();
    found = strstr(told, "\"gets\": ");
    gets = (NULL == found) ? 0 : strtol(found + 8, NULL, 10);
    if (0 == gets && !test_inner_is("ucx")) {
        return 0 < test_failures; /* windows of osc/sm are not watched */
    }
    if (0 == test_rank && (gets < wanted / 10 * 9 || wanted / 10 * 11 < gets)) {
        printf("%ld gets of %d in:\n%s\n", gets, wanted, told);
        return 1;
    }
    return 0 < test_failures;
}
