/* A10: dynamic windows: memory comes and goes without notice, and addresses are used again for
 * other contents.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" args=coherent ranks=2,3 transport=shm,tcp limit=60
 *
 * Coherent: nothing is kept in passive epochs, in which a coherent window has hits.
 *
 * Blocks are attached in the order of their addresses; a10_dynamic_order does the opposite.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 128, READS = 1000 };

int main(int argc, char **argv)
{
    struct counters c;
    long *block[2], got[N], put[4];
    MPI_Aint at[2], theirs[2];
    MPI_Win win;
    int right;

    test_init(&argc, &argv);
    right = (test_rank + 1) % test_size;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    test_win(win);
    if (argc > 1) {
        counters_open(&c, &win);
    }
    block[0] = malloc(2 * sizeof(got) + 64);
    block[1] = block[0] + N + 8;
    for (int round = 0; round < 12; ++round) {
        int attached = round % 3 ? 2 : 1, reads = (argc > 1 && 0 == round) ? READS : 2;

        for (int b = 0; b < attached; ++b) {
            for (int i = 0; i < N; ++i) {
                block[b][i] = 10000 * round + 1000 * test_rank + 100 * b + i;
            }
            OK(MPI_Win_attach(win, block[b], sizeof(got)));
            OK(MPI_Get_address(block[b], &at[b]));
        }
        OK(MPI_Sendrecv(at, 2, MPI_AINT, (test_rank + test_size - 1) % test_size, 0, theirs, 2,
                        MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        for (int b = 0; b < attached; ++b) {
            for (int i = 0; i < reads; ++i) {
                memset(got, 0x55, sizeof(got));
                OK(MPI_Get(got, N, MPI_LONG, right, theirs[b], N, MPI_LONG, win));
                OK(MPI_Win_flush(right, win));
                for (int k = 0; k < N; ++k) {
                    CHECK(10000 * round + 1000 * right + 100 * b + k == got[k],
                          "round %d, block %d: [%d] = %ld", round, b, k, got[k]);
                }
            }
            for (int i = 0; i < 4; ++i) {
                put[i] = -got[i];
            }
            OK(MPI_Put(put, 4, MPI_LONG, right, MPI_Aint_add(theirs[b], 8 * 4), 4, MPI_LONG, win));
            OK(MPI_Win_flush(right, win));
            memset(got, 0x55, sizeof(got));
            OK(MPI_Get(got, 8, MPI_LONG, right, theirs[b], 8, MPI_LONG, win));
            OK(MPI_Win_flush(right, win));
            for (int i = 0; i < 4; ++i) {
                CHECK(put[i] == got[4 + i], "round %d, block %d, after the put: [%d] = %ld", round,
                      b, 4 + i, got[4 + i]);
            }
        }
        OK(MPI_Win_unlock_all(win));
        test_barrier();
        for (int b = 0; b < attached; ++b) {
            OK(MPI_Win_detach(win, block[b]));
        }
        /* Every fourth round other memory at the same or another address. */
        if (0 == round % 4) {
            free(block[0]);
            block[0] = malloc(2 * sizeof(got) + 64);
            block[1] = block[0] + N + 8;
        }
    }
    if (argc > 1) {
        CHECK(READS < counter(&c, "bypassed"), "%lu gets", counter(&c, "bypassed"));
        COUNTS(&c, "hits", 0, "a dynamic window");
        COUNTS(&c, "coherence_fills", 0, "a dynamic window");
        test_barrier();
        counters_close(&c);
    }
    OK(MPI_Win_free(&win));
    free(block[0]);
    return test_done();
}
