/* osc_cached_advise looks at no buffer of MPI_Rget after the request is complete: it is the program's
 * again, and may be gone.
 * test: for=osc-cached ranks=2 transport=shm,tcp limit=60 mca="osc_cached_mode=always osc_cached_advise=1" allow="osc/cached: |^ "
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

#include <sys/mman.h>

enum { BYTES = 65536, PLACES = 16, GETS = 4000 };

int main(int argc, char **argv)
{
    MPI_Request request;
    char *base;
    MPI_Win win;

    test_init(&argc, &argv);
    win = test_win_make(NULL, BYTES * PLACES, 1, &base);
    memset(base, 1, BYTES * PLACES);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; 0 == test_rank && i < GETS; ++i) {
        char *buffer =
            mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        CHECK(MAP_FAILED != buffer, "no memory");
        OK(MPI_Rget(buffer, BYTES, MPI_BYTE, 1, i % PLACES * BYTES, BYTES, MPI_BYTE, win,
                    &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(1 == buffer[0] && 1 == buffer[BYTES - 1], "get %d", i);
        munmap(buffer, BYTES);
        if (7 == i % 8) {
            OK(MPI_Win_flush_all(win));
        }
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
