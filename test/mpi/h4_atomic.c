/* H1, H4: accumulates, fetches and swaps of all ranks at all ranks, in all kinds of epochs: sums
 * are exact, and each number is drawn once.
 * test: for=osc-cached needs=cache ranks=2,4 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=4 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { ROUNDS = 50 };

/* words of a window */
enum { SUM, DRAWN, SWAPPED, WORDS };

static char *seen; /* numbers drawn, by all */

static void add(MPI_Win win, int rounds)
{
    long one = 1;

    for (int i = 0; i < rounds; ++i) {
        if (0 == i % 10) {
            helper_rest();
        }
        for (int t = 0; t < test_size; ++t) {
            OK(MPI_Accumulate(&one, 1, MPI_LONG, t, SUM, 1, MPI_LONG, MPI_SUM, win));
        }
    }
}

static void draw(MPI_Win win)
{
    long one = 1, drawn[ROUNDS];

    helper_rest();
    for (int i = 0; i < ROUNDS; ++i) {
        OK(MPI_Fetch_and_op(&one, &drawn[i], MPI_LONG, 0, DRAWN, MPI_SUM, win));
    }
    OK(MPI_Win_flush(0, win));
    for (int i = 0; i < ROUNDS; ++i) {
        CHECK(0 <= drawn[i] && drawn[i] < ROUNDS * test_size, "drew %ld", drawn[i]);
        ++seen[drawn[i] % (ROUNDS * test_size)];
    }
}

static void swap(MPI_Win win)
{
    for (int i = 0; i < ROUNDS; ++i) {
        long old = 0, new, got;

        if (0 == i % 10) {
            helper_rest();
        }
        for (;;) {
            new = old + 1;
            OK(MPI_Compare_and_swap(&new, &old, &got, MPI_LONG, test_size - 1, SWAPPED, win));
            OK(MPI_Win_flush(test_size - 1, win));
            if (got == old) {
                break;
            }
            old = got;
        }
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Group world, all;
    MPI_Win win;
    long *base, now;

    test_init(&argc, &argv);
    seen = calloc((size_t) (ROUNDS * test_size), 1);
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, WORDS * sizeof(long));
    OK(MPI_Win_fence(0, win));
    add(win, ROUNDS);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(ROUNDS * test_size == base[SUM], "after a fence: %ld", base[SUM]);

    OK(MPI_Win_get_group(win, &world));
    OK(MPI_Group_excl(world, 0, NULL, &all));
    test_barrier();
    OK(MPI_Win_post(all, 0, win));
    OK(MPI_Win_start(all, 0, win));
    add(win, ROUNDS);
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK(2 * ROUNDS * test_size == base[SUM], "after complete and wait: %ld", base[SUM]);
    test_barrier();

    OK(MPI_Win_lock_all(0, win));
    add(win, ROUNDS);
    draw(win);
    swap(win);
    OK(MPI_Win_flush_all(win));
    test_barrier();
    OK(MPI_Fetch_and_op(NULL, &now, MPI_LONG, test_rank, SUM, MPI_NO_OP, win));
    OK(MPI_Win_flush(test_rank, win));
    CHECK(3 * ROUNDS * test_size == now, "after a flush: %ld", now);
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Allreduce(MPI_IN_PLACE, seen, ROUNDS * test_size, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < ROUNDS * test_size; ++i) {
        CHECK(1 == seen[i], "%d was drawn %d times", i, seen[i]);
    }
    if (test_size - 1 == test_rank) {
        CHECK(ROUNDS * test_size == base[SWAPPED], "swapped to %ld", base[SWAPPED]);
    }
    if (!test_is_plain()) {
        unsigned long given = counter(&c, "helper_operations"), did = counter(&c, "helper_served");
        unsigned long all; /* one helper may have done everything */
        /* where MPI_Win_start does not wait for MPI_Win_post, its epochs are the inner component's
         */
        unsigned long inner = test_inner_is("pt2pt") ? ROUNDS * (unsigned long) test_size : 0;

        CHECK(given + inner == counter(&c, "accumulates") + counter(&c, "fetches"),
              "%lu operations were given to helpers", given);
        OK(MPI_Allreduce(&did, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
        CHECK(all >= 2 * ROUNDS * (unsigned long) (test_size * (test_size - 1)),
              "helpers did %lu operations", all);
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&world));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    free(seen);
    return test_done();
}
