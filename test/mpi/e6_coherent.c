/* E6: in mode coherent the processes of a node share one cache, and are one sharer for the owner of
 * the memory: what one of them reads is a hit for all, a write is told to one of them, and then
 * nobody has it any more, whoever wrote.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=3,4,5 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync verify=2" ranks=4 transport=tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent" args=few ranks=4 transport=tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" args=private ranks=4 transport=tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <stdbool.h>

enum { WORDS = 4096, ROUNDS = 24, FEW = 6, USES = 100, DISP = 1024 + 17 };

static int owner; /* the last rank */
static bool near; /* on rank 0's node */
static bool one_node, together;

static void look_around(void)
{
    int zero = test_rank, all;
    MPI_Comm node;

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Bcast(&zero, 1, MPI_INT, 0, node));
    OK(MPI_Comm_free(&node));
    near = 0 == zero;
    all = near;
    OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    one_node = all;
}

static unsigned long sum(struct counters *c, const char *name)
{
    unsigned long all = counter(c, name);

    OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

/* Rank 0 reads until it has a copy, and the others of its node have it, too, without asking for it.
 */
static void read_in_turn(MPI_Win win, struct counters *c, long value)
{
    if (0 == test_rank) {
        CHECK(coherent_warm(win, c, owner, DISP, value), "%ld: never a hit", value);
        for (int i = 0; i < USES; ++i) { /* so that it pays */
            CHECK(value == coherent_get(win, owner, DISP), "%ld: once more", value);
        }
    }
    test_barrier();
    if (0 != test_rank && owner != test_rank) {
        unsigned long hits = counter(c, "node_hits"), fills = counter(c, "coherence_fills");

        CHECK(value == coherent_get(win, owner, DISP), "%ld: in rank %d", value, test_rank);
        if (near && together) {
            COUNTS(c, "node_hits", hits + 1, "what rank 0 has read");
            COUNTS(c, "coherence_fills", fills, "nobody was asked");
        }
    }
    test_barrier();
}

static void write_it(MPI_Win win, long *base, long value)
{
    if (owner == test_rank) {
        base[DISP] = value;
        OK(MPI_Win_sync(win));
        return;
    }
    OK(MPI_Put(&value, 1, MPI_LONG, owner, DISP, 1, MPI_LONG, win));
    OK(MPI_Win_flush(owner, win));
    CHECK(value == coherent_get(win, owner, DISP), "%ld: the writer's own", value);
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    unsigned long messages = 0;
    long *base, rounds;

    test_init(&argc, &argv);
    owner = test_size - 1;
    look_around();
    together = argc < 2 || 0 != strcmp("private", argv[1]);
    rounds = (1 < argc && 0 == strcmp("few", argv[1])) ? FEW : ROUNDS; /* of stores that trap */
    coherent_window(&win, WORDS, &base, &c);
    OK(MPI_Win_lock_all(0, win));
    if (owner != test_rank) { /* the first get of an epoch takes the lock */
        CHECK(0 == coherent_get(win, owner, WORDS - 1), "before all");
    }
    test_barrier();
    for (long value = 0; value < rounds; ++value) {
        int writer = (int) value % test_size;
        unsigned long told;

        read_in_turn(win, &c, value);
        told = sum(&c, "coherence_dropped");
        if (writer == test_rank) {
            write_it(win, base, value + 1);
        }
        test_barrier();
        CHECK(value + 1 == (owner == test_rank ? base[DISP] : coherent_get(win, owner, DISP)),
              "%ld: writer %d, reader %d", value, writer, test_rank);
        told = sum(&c, "coherence_dropped") - told;
        if (one_node && together) {
            CHECK(1 == told || (ROUNDS != rounds && 2 == told), "%ld: writer %d, %lu messages",
                  value, writer, told);
            messages += told;
        }
        test_barrier();
    }
    /* where a put traps before its hold is there, a request that was late may come between */
    CHECK(2 * (long) messages <= 3 * rounds, "%lu messages for %ld writes", messages, rounds);
    if (!together) {
        COUNTS(&c, "node_hits", 0, "private");
        COUNTS(&c, "node_bytes", 0, "private");
    }
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
