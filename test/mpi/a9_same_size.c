/* A9: a storage that grows step by step is told to have the size that it has: what is in it stays as
 * it is, also where others have left a hole before it.
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { BYTES = 65536, FILL = 0xab };

static MPI_Win win;

static void get(int at, int bytes)
{
    unsigned char got[8192] = {0};
    int wrong = 0;

    OK(MPI_Get(got, bytes, MPI_BYTE, 1, at, bytes, MPI_BYTE, win));
    OK(MPI_Win_flush(1, win));
    for (int i = 0; i < bytes; ++i) {
        wrong += FILL != got[i];
    }
    CHECK(0 == wrong, "%d of %d bytes at %d are wrong", wrong, bytes, at);
}

int main(int argc, char **argv)
{
    static const char *const sizes[] = {"8K", "8200", "16K", "8K"};
    unsigned char *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, BYTES, 1, &base);
    memset(base, FILL, BYTES);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; 0 == test_rank && i < 4; ++i) {
        get(0, 1024);
        get(16384, 4096);
        get(0, 2048); /* the longer one comes behind, and leaves a hole */
        test_set_key(win, "ompi_osc_cached_memory", sizes[i]);
        get(0, 2048);
        get(16384, 4096);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return test_done();
}
