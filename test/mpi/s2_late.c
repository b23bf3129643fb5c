/* S2: gets that the inner component completes after the end of the fence (osc/ucx over shared
 * memory, without our patches; with UCX 1.18 from memory of MPI_Win_allocate, too) come all the
 * same: two gets of the same bytes, and each has its own. Nor is what has not come yet kept for later rounds, which get the same bytes.
 *
 * test: for=osc ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=transparent" ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=none" args=again ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=always" args=again ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=transparent" args=allocate ranks=3 transport=shm limit=60
 * test: for=osc-cached needs=cache cache="mode=always" args="allocate again" ranks=3 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { BYTES = 8 << 20, LONGEST = 256, GETS = 1000, ROUNDS = 50, BARRIERS = 50 };

static unsigned char memory[BYTES], got[GETS][LONGEST];
static int target[GETS], at[GETS], length[GETS];

static unsigned char byte_of(int rank, int i)
{
    return (unsigned char) (7 * i + (i >> 8) + 13 * rank);
}

/* The second half repeats the first. */
static void get_all(int round, MPI_Win win)
{
    unsigned seed = (unsigned) (1000 * test_rank + round + 1);

    memset(got, 0xee, sizeof(got));
    for (int i = 0; i < GETS; ++i) {
        int first = i % (GETS / 2);

        if (i == first) {
            target[i] = (test_rank + 1 + rand_r(&seed) % (test_size - 1)) % test_size;
            at[i] = (round * GETS / 2 + i) * LONGEST;
            length[i] = 1 + rand_r(&seed) % LONGEST;
        } else {
            target[i] = target[first];
            at[i] = at[first];
            length[i] = length[first];
        }
        OK(MPI_Get(got[i], length[i], MPI_BYTE, target[i], at[i], length[i], MPI_BYTE, win));
    }
}

static int count_wrong(void)
{
    int wrong = 0;

    for (int i = 0; i < GETS; ++i) {
        int j = 0;

        while (j < length[i] && byte_of(target[i], at[i] + j) == got[i][j]) {
            ++j;
        }
        wrong += j < length[i];
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int allocate = argc > 1 && 0 == strcmp("allocate", argv[1]), again = argc > 1 + allocate;
    unsigned char *base = memory;
    MPI_Win win;
    int wrong = 0;

    test_init(&argc, &argv);
    if (allocate) {
        OK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    } else {
        OK(MPI_Win_create(base, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    }
    for (int i = 0; i < BYTES; ++i) {
        base[i] = byte_of(test_rank, i);
    }
    OK(MPI_Win_fence(0, win));
    for (int round = 0; round < ROUNDS; ++round) {
        get_all(again ? 0 : round, win);
        OK(MPI_Win_fence(0, win));
        for (int i = 0; test_gets_are_late() && i < BARRIERS; ++i) {
            test_barrier();
        }
        wrong += count_wrong();
    }
    CHECK(0 == wrong, "%d of %d gets", wrong, ROUNDS * GETS);
    OK(MPI_Win_free(&win));
    return test_done();
}
